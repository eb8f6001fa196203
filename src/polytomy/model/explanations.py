"""Explanations of predictions: what each partition adds to the winner's lead over the runner-up.

There are three methods:

- "linear terms", for least squares on a single code. The solution is linear in the decisions r, as
  long as no probability is zero: row i of the code adds h_i (r_i − n_i) T_i to the difference of
  two classes. T_i is the probability of all classes that the row divides, n_i the decision of a
  binary that knows nothing, and h_i the influence of the row, from the pseudo-inverse of the code.
- "path", for trees. The probability of a class is the product of the answers on the path to it, so
  each partition adds the difference of two logarithms.
- "leave one out", for everything else. A partition adds the difference between the result with and
  without its answer; what remains is "not attributed".

The final calibration and the prior come after the solver. Their parts are listed separately. A
final calibration works on logits, s·log(p + ε) + b + z·W. A difference of probabilities divided by
their logarithmic mean is a difference of logarithms, so the linear terms stay exact. The weighted
answers z·W, if it has any, are added to their partitions.
"""

from __future__ import annotations

from collections import UserList
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from polytomy.calibration.final import clip_decisions
from polytomy.errors import ArgumentError
from polytomy.inputs.arguments import count_things, make_frame
from polytomy.inputs.rows import count_rows, take_block
from polytomy.inputs.sparse import check_sparse
from polytomy.inputs.training_data import blocks_of_rows
from polytomy.learners.problems import group_sides
from polytomy.model.arrangement import Arrangement, ClassTranslation, first_rows, solve_by
from polytomy.model.composition import Composition
from polytomy.scheme import CodingMatrix, Scheme
from polytomy.scheme.structure import NO_CHILD
from polytomy.solvers.nested import join_trees

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Numbers of labels of a side, lines of an explanation and characters of a line that are shown.
_MOST_LABELS, _MOST_LINES, _LONGEST_SIDES = 3, 10, 60

# Smaller probabilities are treated as this value, as in `Composition.decision_values`.
_SMALLEST = float(np.finfo(np.float64).eps)

_SCALES = {
    "log-odds": "log-odds",
    "probability": "difference of probabilities",
    "score": "difference of scores",
}


class Term(NamedTuple):
    """One partition in an explanation.

    Attributes
    ----------
    name : str, the name of the partition
    sides : tuple with the labels on each side
    answers : tuple with the probability of each side, as the partition answered
    adds : float, what that adds to the winner's lead over the runner-up
    """

    name: str
    sides: tuple[tuple[Any, ...], ...]
    answers: tuple[float, ...]
    adds: float

    def describe(self) -> str:
        """Return the sides and their probabilities as text.

        Examples
        --------
        >>> Term("m", (("a",), ("b", "c")), (0.25, 0.75), 0.1).describe()
        'a: 0.25 / b c: 0.75'
        """
        parts = [
            f"{_name_side(labels)}: {answer:.2f}"
            for labels, answer in zip(self.sides, self.answers, strict=True)
        ]
        text = " / ".join(parts)
        return text if len(text) <= _LONGEST_SIDES else f"{text[: _LONGEST_SIDES - 1]}…"


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Why a sample's likeliest class beats the second.

    The numbers that `terms` and `rest` add sum to `difference`.

    Attributes
    ----------
    sample : int, the row of the sample
    winner, runner_up : labels of the classes with the largest and the second largest score
    scores : tuple of float, their probabilities, or scores if the solver gives scores
    scale : {"log-odds", "probability", "score"}
        What `difference` is: log P(winner) − log P(runner-up), the difference of the two
        probabilities, or that of two scores.
    method : {"linear terms", "path", "leave one out"}
        How the terms were found. "linear terms" and "path" are exact.
    difference : float
    terms : tuple of Term, the largest first
        The partitions that decided: all, or in a tree those on the paths to the two classes.
    rest : dict of str to float
        Other contributions. "interaction": answers that contradict each other, and probabilities
        that must not be negative. "final calibration" and "prior": the effect of these. "not
        attributed": what remains after leaving out one partition at a time.
    prediction : label that `predict` returns; not `winner` if costs favour another class
    """

    sample: int
    winner: Any
    runner_up: Any
    scores: tuple[float, float]
    scale: str
    method: str
    difference: float
    terms: tuple[Term, ...]
    rest: Mapping[str, float]
    prediction: Any

    def __str__(self) -> str:
        letter = "score" if self.scale == "score" else "P"
        first, second = (f"{letter} = {each:.3g}" for each in self.scores)
        lines = [
            f"sample {self.sample}: {self.winner} ({first}) over {self.runner_up} ({second}), "
            f"{_SCALES[self.scale]} {self.difference:.3g}"
        ]
        if self.prediction != self.winner:
            lines.append(f"  {self.prediction} is predicted, because of the costs")
        lines.append("     adds  partition")
        shown = self.terms[:_MOST_LINES]
        width = max([len(term.name) for term in shown], default=0)
        lines += [_line(term.adds, f"{term.name:{width}}  {term.describe()}") for term in shown]
        others = self.terms[_MOST_LINES:]
        if others:
            more = count_things(len(others), "more partition")
            lines.append(_line(sum(term.adds for term in others), more))
        return "\n".join([*lines, *(_line(adds, name) for name, adds in self.rest.items())])

    def records(self) -> list[dict[str, Any]]:
        """Return a dict for each contribution to the winner's lead, partitions first."""
        names = ("sample", "winner", "runner_up", "difference", "scale", "method")
        same = {name: getattr(self, name) for name in names}
        rest = [Term(name, (), (), adds) for name, adds in self.rest.items()]
        kinds = ["partition"] * len(self.terms) + ["rest"] * len(rest)
        return [
            {**same, "kind": kind, **each._asdict()}
            for kind, each in zip(kinds, [*self.terms, *rest], strict=True)
        ]


class Explanations(UserList[Explanation]):
    """The explanations of several samples.

    Examples
    --------
    >>> term = Term("m", (("a",), ("b",)), (0.25, 0.75), 1.0)
    >>> one = Explanation(0, "b", "a", (0.7, 0.3), "log-odds", "path", 0.9, (term,),
    ...                   {"final calibration": -0.1}, "b")
    >>> print(Explanations([one]))
    sample 0: b (P = 0.7) over a (P = 0.3), log-odds 0.9
         adds  partition
       +1.000  m  a: 0.25 / b: 0.75
       -0.100  final calibration
    """

    def __str__(self) -> str:
        return "\n\n".join(map(str, self))

    def __repr__(self) -> str:
        return f"<Explanations of {count_things(len(self), 'sample')}; print them to read them>"

    def records(self) -> list[dict[str, Any]]:
        """Return the records of all samples."""
        return [record for each in self for record in each.records()]

    def to_frame(self) -> Any:
        """Return the records as a pandas frame."""
        return make_frame(self.records(), "records() has the same values.")


def _line(adds: float, text: str) -> str:
    return f"{adds:+9.3f}  {text}"


def _name_side(labels: Sequence[Any]) -> str:
    shown = [str(label) for label in labels[:_MOST_LABELS]]
    more = len(labels) - _MOST_LABELS
    return " ".join(shown) + (f" and {more} more" if more > 0 else "")


# -- contributions of the partitions ---------------------------------------------------------------


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
    groups = list(group_columns(composition))
    found: list[Explanation] = []
    for block in blocks_of_rows(count_rows(X), 4 * len(composition.binaries)):
        samples = composition.preprocess(take_block(X, block))
        answers = composition.bank.decisions(samples, n_jobs=n_jobs)
        found += _explain_block(composition, answers, groups, block.start)
    return Explanations(found)


class PartitionColumns(NamedTuple):
    """A partition: the columns of its binaries, and what they separate."""

    name: str
    columns: list[int]
    signs: list[float]
    sides: tuple[tuple[Any, ...], ...]

    def side_chances(self, answers: Floats) -> Floats:
        """Return the probability of each side, of shape (n_samples, n_sides)."""
        own = np.nan_to_num(answers[:, self.columns] * np.array(self.signs))
        shares = 1 + own if own.shape[1] > 1 else np.column_stack([1 - own, 1 + own])
        return np.asarray(np.maximum(shares / shares.sum(axis=1, keepdims=True), _SMALLEST))

    def term(self, answers: Floats, adds: float) -> Term:
        """Return the partition's term, given a row of answers of all binaries, and what it adds."""
        own = [sign * float(answers[k]) for k, sign in zip(self.columns, self.signs, strict=True)]
        if len(own) == 1:
            own = [-own[0], own[0]]
        return Term(self.name, self.sides, tuple((1 + each) / 2 for each in own), float(adds))


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


def group_columns(composition: Composition) -> Iterator[PartitionColumns]:
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
            yield PartitionColumns(
                str(partition.binary), columns, arrangement.signs[rows].tolist(), sides
            )
        return
    dichotomies = composition.dichotomies
    for columns in group_sides(dichotomies, range(len(dichotomies))):
        first = dichotomies[columns[0]]
        sides = tuple(tuple(labels[k] for k in side) for side in first.partition.sides)
        yield PartitionColumns(first.name, columns, [1.0] * len(columns), sides)


def _explain_block(
    composition: Composition, answers: Floats, groups: list[PartitionColumns], start: int
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
        is_shown = shares.is_shown[i, order]
        terms = [groups[k].term(answers[i], shares.adds[i, k]) for k in order[is_shown]]
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


def _divide(composition: Composition, duel: _Duel, groups: list[PartitionColumns]) -> _Shares:
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
    composition: Composition, duel: _Duel, groups: list[PartitionColumns], arrangement: Arrangement
) -> _Shares:
    code = arrangement.scheme.code
    decisions = arrangement.decisions(duel.answers)
    whole = solve_by(composition.solver, arrangement.scheme, decisions)
    linear = find_linear_terms(code, decisions, whole, *_places(arrangement, duel))
    # Classes without samples end up with no probability.
    linear /= np.maximum(whole[:, arrangement.positions].sum(axis=1, keepdims=True), _SMALLEST)
    by_partition = np.add.reduceat(linear, first_rows(arrangement.scheme), axis=1)
    first, second = duel.pick(composition.couple(duel.answers))
    missing = first - second - by_partition.sum(axis=1)
    is_shown = np.ones(by_partition.shape, dtype=np.bool_)
    if composition.final is None and composition.prior is None:
        rest = {"interaction": missing}
        return _Shares("linear terms", "probability", first - second, by_partition, is_shown, rest)
    scale, floor = _scale_and_floor(composition)
    factor = scale / logarithmic_mean(first + floor, second + floor)
    adds = by_partition * factor[:, None]
    adds += _weigh_terms(composition, duel, groups)
    return _finish(composition, duel, "linear terms", adds, is_shown, missing * factor)


def find_linear_terms(
    code: CodingMatrix, decisions: Floats, probabilities: Floats, winners: Indices, runners: Indices
) -> Floats:
    """Return h_i (r_i − n_i) T_i, what each row of a code adds to the winner's lead.

    Least squares minimise Σ_i w_i (a_i·p − r_i T_i)², with T_i the probability of the classes in
    row i. With the T_i fixed at their solution, the minimum with sum one is linear:

        p − 1/k = (ΠAᵀWAΠ)⁺ AᵀW (t − A1/k),     t_i = r_i T_i,  Π = I − 11ᵀ/k,

    for k classes. So a row adds h_i (r_i − n_i) T_i to the difference of two probabilities, where
    n_i is the answer that equal probabilities would give. What is missing from the difference comes
    from rows that leave out classes and contradict each other, and from the constraint that
    probabilities are not negative.

    Parameters
    ----------
    code : CodingMatrix
    decisions : array of shape (n_samples, n_rows), r
    probabilities : array of shape (n_samples, n_classes), the solution
    winners, runners : arrays of shape (n_samples,), two classes of each sample

    Returns
    -------
    array of shape (n_samples, n_rows)

    Examples
    --------
    >>> code = CodingMatrix([[1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    >>> answers, solution = np.array([[0.0, -0.4, -0.6]]), np.array([[0.5, 0.3, 0.2]])
    >>> find_linear_terms(code, answers, solution, np.array([0]), np.array([1])).round(3)
    array([[0.167, 0.033, 0.   ]])
    """
    matrix: Any = csr_matrix(code.matrix).astype(np.float64)
    weighted = matrix.copy()
    weighted.data *= np.repeat(code.row_weights, np.diff(matrix.indptr))
    centre = np.eye(code.n_classes) - 1.0 / code.n_classes
    gram = np.asarray((matrix.T @ weighted).todense())
    inverse = np.linalg.pinv(centre @ gram @ centre, hermitian=True)
    influence = (weighted @ (inverse[winners] - inverse[runners]).T).T
    members = abs(matrix)
    neutral = np.asarray(matrix.sum(axis=1)).ravel() / np.asarray(members.sum(axis=1)).ravel()
    masses = (members @ probabilities.T).T
    return np.asarray(np.nan_to_num(influence * (decisions - neutral) * masses))


def logarithmic_mean(first: Floats, second: Floats) -> Floats:
    """Return (a − b) / (log a − log b), the divisor that turns a − b into log a − log b.

    Examples
    --------
    >>> logarithmic_mean(np.array([np.e, 2.0]), np.array([1.0, 2.0])).round(4)
    array([1.7183, 2.    ])
    """
    logarithms = np.log(first) - np.log(second)
    is_different = np.abs(logarithms) > 1e-8
    means = np.divide(first - second, logarithms, out=(first + second) / 2, where=is_different)
    return np.asarray(means)


def _places(arrangement: Arrangement, duel: _Duel) -> tuple[Indices, Indices]:
    """Return the positions of the winners and the runners-up in the scheme."""
    return arrangement.positions[duel.winners], arrangement.positions[duel.runners]


# -- trees -----------------------------------------------------------------------------------------


def _follow_paths(
    composition: Composition, duel: _Duel, groups: list[PartitionColumns], arrangement: Arrangement
) -> _Shares:
    chances = [each.side_chances(duel.answers) for each in groups]
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
    weighed = _weigh_terms(composition, duel, groups)
    return _finish(composition, duel, "path", adds + weighed, is_shown | (weighed != 0), None)


class TreePaths:
    """The partitions and sides on the path to each class of a tree."""

    def __init__(self, scheme: Scheme) -> None:
        children = join_trees(scheme).children
        self._above: dict[int, tuple[int, int]] = {}
        for partition, side in zip(*np.nonzero(children != NO_CHILD), strict=True):
            self._above[int(children[partition, side])] = int(partition), int(side)

    def to_class(self, place: int) -> Iterator[tuple[int, int]]:
        """Yield the partition and the side of each step, from the class up to the root."""
        step = self._above.get(~place)
        while step is not None:
            yield step
            step = self._above.get(step[0])


# -- other solvers ---------------------------------------------------------------------------------


def _leave_one_out(
    composition: Composition, duel: _Duel, groups: list[PartitionColumns]
) -> _Shares:
    scale = "log-odds" if composition.gives_probabilities else "score"
    difference = _difference(duel, duel.scores, scale)
    adds = np.empty((len(duel.winners), len(groups)))
    # A user's solver may not know that NaN means no answer.
    left_out = 0.0 if callable(composition.solver) else np.nan
    for k, group in enumerate(groups):
        answers = duel.answers.copy()
        answers[:, group.columns] = left_out
        solved = composition.solve_members(answers)
        scores = composition.finish((each, np.nan_to_num(own)) for each, own in solved)
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
    return getattr(map_, "scale", 1.0), max(getattr(map_, "floor", 0.0), _SMALLEST)


def _weigh_terms(composition: Composition, duel: _Duel, groups: list[PartitionColumns]) -> Floats:
    """Return a final calibration's own term for each partition: the winner's minus the other's."""
    weighed = np.zeros((len(duel.winners), len(groups)))
    map_: Any = None if composition.final is None else composition.final.map
    if not hasattr(map_, "terms"):
        return weighed
    terms, samples = map_.terms(duel.answers), np.arange(len(duel.winners))
    of_columns = terms[samples, :, duel.winners] - terms[samples, :, duel.runners]
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
