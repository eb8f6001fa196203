"""What each partition adds to the winner's lead over the runner-up.

**Least squares** of a code A minimises Σ_i w_i (a_i·p − r_i T_i)², with T_i the probability of the
classes in partition i. With the T_i fixed at their solution, the minimum with sum one is linear:
p − 1/k = (ΠAᵀWAΠ)⁺ AᵀW (t − A1/k), with t_i = r_i T_i and Π = I − 11ᵀ/k. So a partition adds
h_i (r_i − n_i) T_i to the difference of two probabilities, where n_i is the answer that equal
probabilities would give. The remainder comes from partitions that leave out classes and
contradict each other, and from the constraint that probabilities are not negative.

**A tree** multiplies the probabilities along the path to a class, so a partition adds the log
probability of the winner's side minus that of the runner-up's.

**A final calibration** works on logits, s·log(p + ε) + b + z·W. A difference of probabilities
divided by their logarithmic mean is a difference of logarithms, so the linear terms stay exact.
The weighted answers of a decoder are added to their partitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.final import (
    LARGEST_LOG_ODDS,
    BiasMap,
    DecoderMap,
    ProvidedMap,
    clip_decisions,
)
from polytomy.composition.arrangement import Arrangement, ClassTranslation
from polytomy.composition.composition import Composition
from polytomy.composition.contributions import TreePaths, find_linear_terms, logarithmic_mean
from polytomy.composition.explanation import Explanation, Explanations, Term
from polytomy.composition.prediction_blocks import blocks_of_rows
from polytomy.composition.shared_preprocessing import preprocess
from polytomy.composition.solver_option import solve_by
from polytomy.errors import ArgumentError
from polytomy.inputs.rows import count_rows, take_block
from polytomy.inputs.sparse import check_sparse

__all__ = ["explain_samples"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Smaller probabilities are treated as this value, as in `Composition.decision_values`.
_SMALLEST = float(np.finfo(np.float64).eps)


def explain_samples(composition: Composition, X: Any, n_jobs: int | None = None) -> Explanations:
    """Explain why the winner of each sample beats the runner-up.

    Parameters
    ----------
    composition : Composition
    X : samples
    n_jobs : int, optional
    """
    if len(composition.classes) < 2:
        raise ArgumentError("there is nothing to explain: the classifier has only one class")
    X = check_sparse(X)
    groups = list(_group_columns(composition))
    found: list[Explanation] = []
    for block in blocks_of_rows(count_rows(X), 4 * len(composition.binaries)):
        samples = preprocess(composition.preprocessing, take_block(X, block))
        answers = composition.bank.decisions(samples, n_jobs=n_jobs)
        found += _explain_block(composition, answers, groups, block.start)
    return Explanations(found)


class _Group(NamedTuple):
    """A partition: the columns of its binaries, and what they separate."""

    name: str
    columns: list[int]
    signs: list[float]
    sides: tuple[tuple[Any, ...], ...]

    def answers(self, answers: Floats) -> tuple[float, ...]:
        """Return the probability of each side, given a row of answers of all binaries."""
        own = [sign * float(answers[k]) for k, sign in zip(self.columns, self.signs, strict=True)]
        if len(own) == 1:
            return (1 - own[0]) / 2, (1 + own[0]) / 2
        return tuple([(1 + each) / 2 for each in own])


class _Duel(NamedTuple):
    """The winner and the runner-up of each sample, and the scores that decided."""

    answers: Floats
    scores: Floats
    winners: Indices
    runners: Indices

    def pick(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the winner's and the runner-up's values, given values for all classes."""
        rows = np.arange(len(self.winners))
        return values[rows, self.winners], values[rows, self.runners]


class _Shares(NamedTuple):
    """The contributions of the partitions and of everything else.

    `adds` has shape (n_samples, n_partitions); `is_shown` says which partitions decided.
    """

    method: str
    scale: str
    difference: Floats
    adds: Floats
    is_shown: NDArray[np.bool_]
    rest: dict[str, Floats]


def _group_columns(composition: Composition) -> Iterator[_Group]:
    """Yield the partitions of the scheme; for an ensemble, what its binaries separate."""
    labels = composition.classes.tolist()
    if len(composition.arrangements) == 1:
        (arrangement,) = composition.arrangements
        translate = ClassTranslation(arrangement.positions, len(arrangement.scheme.classes))
        start = 0
        for partition in arrangement.scheme.partitions:
            rows = slice(start, start + partition.n_rows)
            start = rows.stop
            sides = tuple(tuple(labels[k] for k in translate(side)) for side in partition.sides)
            columns = arrangement.columns[rows].tolist()
            yield _Group(str(partition.binary), columns, arrangement.signs[rows].tolist(), sides)
        return
    wholes: dict[Any, list[int]] = {}
    for column, each in enumerate(composition.dichotomies):
        wholes.setdefault(column if each.whole is None else each.whole, []).append(column)
    for columns in wholes.values():
        first = composition.dichotomies[columns[0]]
        indices = (first.negative, first.positive) if first.whole is None else first.whole.sides
        sides = tuple(tuple(labels[k] for k in side) for side in indices)
        yield _Group(first.name, columns, [1.0] * len(columns), sides)


def _explain_block(
    composition: Composition, answers: Floats, groups: list[_Group], start: int
) -> list[Explanation]:
    scores = composition.solve(answers)
    answers = answers if composition.final is None else clip_decisions(answers)
    rows = np.arange(len(scores))
    winners = composition.winners(scores)
    others = scores.copy()
    others[rows, winners] = -np.inf
    duel = _Duel(answers, scores, winners, np.asarray(np.argmax(others, axis=1)))
    shares = _divide(composition, duel, groups)
    first, second = duel.pick(scores)
    predicted = composition.labels(scores).tolist()
    labels = composition.classes.tolist()
    found = []
    for i in range(len(scores)):
        order = np.argsort(-np.abs(shares.adds[i]), kind="stable")
        terms = [
            Term(
                groups[k].name, groups[k].sides, groups[k].answers(answers[i]),
                float(shares.adds[i, k]),
            )
            for k in order[shares.is_shown[i, order]].tolist()
        ]  # fmt: skip
        found.append(
            Explanation(
                start + i,
                labels[duel.winners[i]],
                labels[duel.runners[i]],
                (float(first[i]), float(second[i])),
                shares.scale,
                shares.method,
                float(shares.difference[i]),
                tuple(terms),
                {name: float(values[i]) for name, values in shares.rest.items()},
                predicted[i],
            )
        )
    return found


def _divide(composition: Composition, duel: _Duel, groups: list[_Group]) -> _Shares:
    arrangement = composition.arrangements[0]
    scheme, solver = arrangement.scheme, composition.solver
    if len(composition.arrangements) == 1 and isinstance(solver, str):
        is_exact = solver == "least-squares"
        has_trees = all(node.code.tree is not None for node in scheme.nodes)
        if composition.gives_probabilities and (scheme.is_tree or (is_exact and has_trees)):
            return _follow_paths(composition, duel, groups, arrangement)
        if is_exact and scheme.is_flat:
            return _take_linear_terms(composition, duel, groups, arrangement)
    return _leave_one_out(composition, duel, groups)


# -- least squares ---------------------------------------------------------------------------------


def _take_linear_terms(
    composition: Composition, duel: _Duel, groups: list[_Group], arrangement: Arrangement
) -> _Shares:
    code = arrangement.scheme.code
    decisions = arrangement.decisions(duel.answers)
    whole = solve_by(composition.solver, arrangement.scheme, decisions)
    linear = find_linear_terms(code, decisions, whole, *_places(arrangement, duel))
    # Classes without samples end up with no probability.
    linear /= np.maximum(whole[:, arrangement.positions].sum(axis=1, keepdims=True), _SMALLEST)
    by_partition = np.add.reduceat(linear, np.cumsum(code.rows_per_partition) -
                                   code.rows_per_partition, axis=1)  # fmt: skip
    first, second = duel.pick(composition.couple(duel.answers))
    missing = first - second - by_partition.sum(axis=1)
    is_shown = np.ones(by_partition.shape, dtype=np.bool_)
    if composition.final is None and composition.prior is None:
        rest = {"interaction": missing}
        return _Shares("linear terms", "probability", first - second, by_partition, is_shown, rest)
    scale, floor = _scale_and_floor(composition)
    factor = scale / logarithmic_mean(first + floor, second + floor)
    adds = by_partition * factor[:, None]
    adds += _weigh_decoder(composition, duel, groups)
    return _finish(composition, duel, "linear terms", adds, is_shown, missing * factor)


def _places(arrangement: Arrangement, duel: _Duel) -> tuple[Indices, Indices]:
    """Return the positions of the winners and the runners-up in the scheme."""
    return arrangement.positions[duel.winners], arrangement.positions[duel.runners]


# -- trees -----------------------------------------------------------------------------------------


def _follow_paths(
    composition: Composition, duel: _Duel, groups: list[_Group], arrangement: Arrangement
) -> _Shares:
    chances = [_side_chances(each, duel.answers) for each in groups]
    paths = TreePaths(arrangement.scheme)
    shape = len(duel.winners), len(groups)
    adds, is_shown = np.zeros(shape), np.zeros(shape, dtype=np.bool_)
    for sign, classes in zip((1.0, -1.0), _places(arrangement, duel), strict=True):
        for place in np.unique(classes).tolist():
            samples = np.flatnonzero(classes == place)
            for partition, side in paths.to_class(place):
                adds[samples, partition] += sign * np.log(chances[partition][samples, side])
                is_shown[samples, partition] = True
    if composition.final is None and composition.prior is None:
        return _Shares("path", "log-odds", adds.sum(axis=1), adds, is_shown, {})
    adds *= _scale_and_floor(composition)[0]
    weighed = _weigh_decoder(composition, duel, groups)
    return _finish(composition, duel, "path", adds + weighed, is_shown | (weighed != 0), None)


def _side_chances(group: _Group, answers: Floats) -> Floats:
    """Return the probability of each side of a partition, of shape (n_samples, n_sides)."""
    own = np.nan_to_num(answers[:, group.columns] * np.array(group.signs))
    shares = 1 + own if own.shape[1] > 1 else np.column_stack([1 - own, 1 + own])
    return np.asarray(np.maximum(shares / shares.sum(axis=1, keepdims=True), _SMALLEST))


# -- other solvers ---------------------------------------------------------------------------------


def _leave_one_out(composition: Composition, duel: _Duel, groups: list[_Group]) -> _Shares:
    scale = "log-odds" if composition.gives_probabilities else "score"
    difference = _difference(duel, duel.scores, scale)
    adds = np.empty((len(duel.winners), len(groups)))
    # A user's solver may not know that NaN means no answer.
    left_out = 0.0 if callable(composition.solver) else np.nan
    for k, group in enumerate(groups):
        answers = duel.answers.copy()
        answers[:, group.columns] = left_out
        scores = composition.couple(answers)
        if composition.final is not None:
            scores = composition.final.map.apply(scores, np.nan_to_num(answers))
        if composition.prior is not None:
            scores = composition.prior.apply(scores)
        adds[:, k] = difference - _difference(duel, scores, scale)
    is_shown = np.ones(adds.shape, dtype=np.bool_)
    rest = {"not attributed": difference - adds.sum(axis=1)}
    return _Shares("leave one out", scale, difference, adds, is_shown, rest)


# -- final calibration and prior -------------------------------------------------------------------


def _difference(duel: _Duel, scores: Floats, scale: str) -> Floats:
    first, second = duel.pick(scores)
    if scale == "log-odds":
        first, second = (np.log(np.maximum(each, _SMALLEST)) for each in (first, second))
    return np.asarray(first - second)


def _scale_and_floor(composition: Composition) -> tuple[float, float]:
    """Return s and ε of the final calibration."""
    map_ = None if composition.final is None else composition.final.map
    if isinstance(map_, DecoderMap):
        map_ = map_.base
    if isinstance(map_, BiasMap):
        return map_.scale, max(map_.floor, _SMALLEST)
    return 1.0, max(map_.floor, _SMALLEST) if isinstance(map_, ProvidedMap) else _SMALLEST


def _weigh_decoder(composition: Composition, duel: _Duel, groups: list[_Group]) -> Floats:
    """Return a decoder's term for each partition: z·W of the winner minus the runner-up."""
    weighed = np.zeros((len(duel.winners), len(groups)))
    map_ = None if composition.final is None else composition.final.map
    if not isinstance(map_, DecoderMap):
        return weighed
    limit = LARGEST_LOG_ODDS
    log_odds = np.clip(2.0 * np.arctanh(clip_decisions(duel.answers)), -limit, limit)
    weights = map_.weights.T
    of_columns = log_odds * (weights[duel.winners] - weights[duel.runners])
    seen: set[int] = set()
    for k, group in enumerate(groups):
        # A binary that answers for two partitions counts once.
        columns = [column for column in group.columns if column not in seen]
        seen.update(columns)
        weighed[:, k] = of_columns[:, columns].sum(axis=1)
    return weighed


def _finish(
    composition: Composition,
    duel: _Duel,
    method: str,
    adds: Floats,
    is_shown: NDArray[np.bool_],
    interaction: Floats | None,
) -> _Shares:
    """Return the shares on the log-odds scale, including the effect of the last steps."""
    difference = _difference(duel, duel.scores, "log-odds")
    rest: dict[str, Floats] = {} if interaction is None else {"interaction": interaction}
    before = difference
    if composition.prior is not None:
        plain = composition.with_prior(None).solve(duel.answers)
        before = _difference(duel, plain, "log-odds")
    missing = before - adds.sum(axis=1) - sum(rest.values())
    last = "interaction" if composition.final is None else "final calibration"
    rest[last] = rest.get(last, 0.0) + missing
    if composition.prior is not None:
        rest["prior"] = difference - before
    return _Shares(method, "log-odds", difference, adds, is_shown, rest)
