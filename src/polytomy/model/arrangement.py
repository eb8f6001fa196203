"""From a scheme to what answers for its partitions: dichotomies, trained binaries, the solver.

Before training, `bind_classes` matches the labels of a scheme with the classes of the data, and
`make_dichotomies` finds the estimator or trained model of each partition. After training, an
`Arrangement` knows which binaries answer for the partitions, and computes the scores of the classes
from their answers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from polytomy.errors import Argument, ArgumentError, ControlWarning, SchemeError, warn_caller
from polytomy.inputs.arguments import did_you_mean
from polytomy.learners.bank import Bank
from polytomy.learners.problems import Dichotomy, divide_partition
from polytomy.learners.sides import adopt_model, find_wholes
from polytomy.learners.specification import estimator_from
from polytomy.learners.trained import METHODS, TrainedBinary, is_fitted
from polytomy.model.scheme_argument import members_of
from polytomy.onnx_graph import Graph, Value
from polytomy.scheme import BinaryName, Label, Partition, Scheme, SchemeEnsemble
from polytomy.scheme.nodes import compact_classes, iterate_sides, normalize_labels, set_key
from polytomy.solvers import check_applicable, decode
from polytomy.solvers.solving import export_decoding, find_method
from polytomy.states import State

_MOST_NAMED = 10


def bind_classes(scheme: Scheme, classes: Iterable[Any]) -> NDArray[np.intp]:
    """Return the position in the scheme of each class of the data.

    A label of the scheme matches the class that equals it, or else the one that is written the
    same: ``3`` in a control text matches ``"3"`` in the data. A class of the data that the scheme
    does not name is an error. A class of the scheme without data causes a warning, and gets no
    probability.

    Examples
    --------
    >>> from polytomy.scheme import parse
    >>> bind_classes(parse("m {2 n {1 3}}"), ["1", "2", "3"])
    array([1, 0, 2])
    """
    positions = {_kind_and_value(label): i for i, label in enumerate(scheme.classes)}
    by_text: dict[str, list[int]] = {}
    for i, label in enumerate(scheme.classes):
        by_text.setdefault(str(label), []).append(i)
    labels = normalize_labels(classes)
    bound, missing = [], []
    for label in labels:
        same_text = by_text.get(str(label), [])
        position = positions.get(_kind_and_value(label))
        if position is None and len(same_text) == 1:
            position = same_text[0]
        if position is None:
            missing.append(label)
        else:
            bound.append(position)
    if missing:
        raise SchemeError(
            f"the scheme does not name {_list_classes(missing)}; it names "
            f"{_list_classes(scheme.classes)}. Add the missing classes, or use the labels of the "
            "data in the scheme."
        )
    if len(set(bound)) < len(bound):
        raise SchemeError(
            f"two classes of the data match the same class of the scheme; the data has "
            f"{_list_classes(labels)}"
        )
    if len(bound) < len(scheme.classes):
        absent = [scheme.classes[i] for i in sorted(set(range(len(scheme.classes))) - set(bound))]
        warn_caller(
            f"{_list_classes(absent)} of the scheme "
            + ("has no samples and gets" if len(absent) == 1 else "have no samples and get")
            + " no probability",
            ControlWarning,
        )
    return np.array(bound, dtype=np.intp)


def _kind_and_value(label: Label) -> tuple[bool, Label]:
    # Python treats 1, 1.0 and True as equal, and the data may too; "1" is different.
    return isinstance(label, str), label


def _list_classes(labels: Sequence[Label]) -> str:
    shown = [repr(label) for label in labels[:_MOST_NAMED]]
    more = len(labels) - len(shown)
    word = "class" if len(labels) == 1 else "classes"
    return f"{word} {', '.join(shown)}" + (f" and {more} more" if more else "")


# -- dichotomies: the estimator or trained model of each partition ---------------------------------


def make_dichotomies(
    scheme: Scheme,
    default: Any,
    models: Mapping[str, Any] | None,
    estimators: dict[BinaryName, Any] | None = None,
) -> list[Dichotomy]:
    """Return the dichotomy of each partition of the scheme, or of each side if it has more than 2.

    A name refers to the fitted model or the estimator given under it, or else to the default
    estimator; a specification describes its own estimator. A default in a FrozenEstimator is a
    fitted model too. `estimators` stores the estimator of each name and specification, so that
    several schemes get the same objects. Models that the scheme does not name are ignored;
    `check_models` rejects them.
    """
    models = {} if models is None else models
    estimators = {} if estimators is None else estimators
    adopted: dict[str | None, Partition] = {}
    wanted = []
    binaries = [binary for node in scheme.nodes for binary in node.binaries]
    for number, (binary, sides) in enumerate(zip(binaries, iterate_sides(scheme), strict=True)):
        name = (
            _describe_partition(scheme.partitions[number])
            if binary.is_specification
            else binary.text
        )
        model = None if binary.is_specification else models.get(binary.text)
        given = None if model is None else binary.text
        is_default = model is None and not (binary.is_specification and binary.text)
        if is_default and isinstance(default, FrozenEstimator):
            model = default
        if isinstance(model, FrozenEstimator):
            model = model.estimator
            if not is_fitted(model):
                raise ArgumentError(
                    f"the {type(model).__name__} in the FrozenEstimator is not fitted. Fit it, or "
                    "pass it without FrozenEstimator."
                )
        if model is not None and is_fitted(model):
            partition = scheme.partitions[number]
            earlier = adopted.setdefault(given, partition)
            if earlier.sides != partition.sides:
                which = "in the FrozenEstimator" if given is None else f'"{given}"'
                raise SchemeError(
                    f"the trained model {which} is used for different partitions, "
                    f"{_describe_sides(earlier)} and {_describe_sides(partition)}. Give each its "
                    'own name, or use scheme="direct".'
                )
            trained = adopt_model(model, partition.side_classes, name=name)
            wanted += divide_partition(name, sides, binary, model, trained, given)
            continue
        if binary not in estimators:
            if binary.is_specification:
                estimators[binary] = estimator_from(binary.text, default)
            else:
                estimators[binary] = default if model is None else model
        wanted += divide_partition(name, sides, binary, estimators[binary], None, given)
    return wanted


def check_models(schemes: Sequence[Scheme], models: Mapping[str, Any] | None) -> None:
    """Raise an ArgumentError unless all names in `models` occur in the schemes."""
    if models is None:
        return
    nothing = [name for name, model in models.items() if model is None]
    if nothing:
        raise ArgumentError(
            Argument("models"),
            f" has no estimator for {nothing[0]!r}. Provide one, or remove the name.",
        )
    known = set[str]().union(*map(names_in, schemes))
    unknown = set(models).difference(known)
    if unknown:
        name = min(unknown, key=str)
        raise ArgumentError(
            Argument("models"),
            f" has {name!r}, which the scheme does not name.{did_you_mean(name, sorted(known))} "
            "Use the names in the scheme's text.",
        )


def names_in(scheme: Scheme) -> set[str]:
    """Return the names of a scheme's binaries, without specifications."""
    binaries = [binary for node in scheme.nodes for binary in node.binaries]
    return {binary.text for binary in binaries if not binary.is_specification}


def _describe_partition(partition: Partition) -> str:
    return f"{partition.binary} {_describe_sides(partition)}"


def _describe_sides(partition: Partition) -> str:
    return " / ".join(
        " ".join(map(str, side[:5])) + " …" * (len(side) > 5) for side in partition.side_classes
    )


# -- states --------------------------------------------------------------------------------------


def dichotomies_state(dichotomies: Sequence[Dichotomy]) -> dict[str, Any]:
    """Return the state of dichotomies: their names and estimators, without their sides."""
    estimators = {id(each.estimator): each.estimator for each in dichotomies}
    numbers = {key: number for number, key in enumerate(estimators)}
    return {
        "names": [each.binary.text for each in dichotomies],
        "specifications": _positions([each.binary.is_specification for each in dichotomies]),
        "models": {k: each.model for k, each in enumerate(dichotomies) if each.model is not None},
        "estimators": list(estimators.values()),
        "estimator_of": np.array([numbers[id(each.estimator)] for each in dichotomies], np.int64),
        "given": _positions([each.trained is not None for each in dichotomies]),
    }


def _positions(mask: Sequence[bool]) -> NDArray[np.int64]:
    return np.flatnonzero(np.array(mask, dtype=bool))


def read_dichotomies(
    state: State, binaries: Sequence[TrainedBinary], sides: Sequence[Sequence[int]]
) -> list[Dichotomy]:
    """Return the dichotomies of a state.

    Parameters
    ----------
    state : State with the values of `dichotomies_state`
    binaries : the trained binaries
    sides : class indices of the −1 and the +1 side of each binary, one after the other
    """
    n_binaries, names = len(binaries), state.texts("names")
    if len(names) != n_binaries:
        raise state.fault("names", f"a name for each of {n_binaries} binaries")
    specifications = set(state.indices("specifications", n_binaries).tolist())
    given = set(state.indices("given", n_binaries).tolist())
    estimators = state.items("estimators")
    estimator_of = state.indices("estimator_of", len(estimators), n_binaries).tolist()
    models, wholes = state.value("models"), find_wholes(state, binaries, sides)
    if not isinstance(models, dict) or not all(isinstance(name, str) for name in models.values()):
        raise state.fault("models", "a dict of names")
    for each in estimators:
        if not any(hasattr(each, method) for method in ("fit", *METHODS.values())):
            raise state.fault("estimators", "a list of estimators")
    return [
        Dichotomy(
            binary.name,
            sides[2 * k],
            sides[2 * k + 1],
            BinaryName(names[k], k in specifications),
            estimators[estimator_of[k]],
            binary if k in given else None,
            models.get(k),
            *wholes.get(k, (None, 0)),
        )
        for k, binary in enumerate(binaries)
    ]


# -- arrangements: which trained binaries answer for the partitions --------------------------------


Solver = str | Callable[[Scheme, NDArray[np.float64]], NDArray[np.float64]]

# Tolerance for the probabilities that a user's function returns.
_SUM_TOLERANCE = 1e-6

AUTO = "auto"
"""The solver that suits the scheme; see `resolve_solvers`."""


class Arrangement(NamedTuple):
    """A scheme, and which of a list of trained binaries answer for its partitions.

    Attributes
    ----------
    scheme : Scheme
    positions : array of int, the position in the scheme of each class of the data
    columns : array of int, the binary that answers for each row of the scheme's codes
        A partition has one row, or one for each side if it has more than two.
    signs : array of ±1, −1 if the binary has the sides of the partition swapped
    """

    scheme: Scheme
    positions: NDArray[np.intp]
    columns: NDArray[np.intp]
    signs: NDArray[np.float64]

    def uses_all_in_order(self, n_binaries: int) -> bool:
        """Return whether the binaries are exactly those of the partitions, in the same order."""
        is_whole = len(self.columns) == n_binaries and bool((self.signs == 1).all())
        return is_whole and bool((self.columns == np.arange(n_binaries)).all())

    def decisions(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the answers for the scheme's partitions, given those of all binaries."""
        if self.uses_all_in_order(answers.shape[1]):
            return answers
        return answers[:, self.columns] * self.signs

    def solve(self, answers: NDArray[np.float64], solver: Solver) -> NDArray[np.float64]:
        """Return scores or probabilities of the data's classes, given the answers of all binaries.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        if not self.scheme.n_partitions:
            return np.ones((len(answers), 1))
        return self._for_data(solve_by(solver, self.scheme, self.decisions(answers)), solver)

    def to_onnx(self, graph: Graph, answers: Value, solver: str) -> Value:
        """Return `solve` as a graph, given the answers of all binaries."""
        if not self.scheme.n_partitions:
            return graph.repeat(np.ones(1), answers)
        decisions = answers.take(self.columns, axis=1)
        if (self.signs != 1).any():
            decisions = decisions * self.signs
        n_classes = len(self.scheme.classes)
        own = graph.pick(
            export_decoding(graph, decisions, self.scheme, solver), self.positions, n_classes
        )
        if len(self.positions) == n_classes or not gives_probabilities(solver):
            return own
        # The same as in `_for_data`.
        total = own.sum(axis=1)
        is_lost = graph.add("Equal", total, 0.0)
        shares = own / graph.add("Where", is_lost, 1.0, total)
        return graph.add("Where", is_lost, 1.0 / len(self.positions), shares)

    def pair_votes(self, bank: Bank, X: Any) -> NDArray[np.float64] | None:
        """Return the votes of one-vs-one, using only the signs of the binaries, or None.

        None means that the scheme is not a code of pairs, or that its binaries are not linear.
        """
        if not (self.scheme.is_flat and self.uses_all_in_order(len(bank.binaries))):
            return None
        pairs = self.scheme.code.pairs
        if pairs is None:
            return None
        votes = bank.pair_votes(X, *pairs, len(self.scheme.classes))
        return None if votes is None else votes[:, self.positions]

    def _for_data(self, scores: NDArray[np.float64], solver: Solver) -> NDArray[np.float64]:
        """Return the scores of the data's classes, in their order."""
        own: NDArray[np.float64] = scores[:, self.positions]
        if len(self.positions) == len(self.scheme.classes) or not gives_probabilities(solver):
            return own
        # The probability of classes without samples is divided among the others.
        total = own.sum(axis=1, keepdims=True)
        even = np.full_like(own, 1 / own.shape[1])
        return np.asarray(np.divide(own, total, out=even, where=total > 0))


def arrange_trained(
    scheme: Scheme, classes: Sequence[Any] | NDArray[Any], trained: Sequence[Dichotomy]
) -> Arrangement:
    """Return how binaries that are already trained answer for another scheme.

    Each partition must have a binary, with its sides in either order; SchemeError names one that
    has none.
    """
    by_sides: dict[tuple[Hashable, Hashable], dict[BinaryName, int]] = {}
    for column, each in enumerate(trained):
        names = by_sides.setdefault(each.sides_key, {})
        names.setdefault(each.binary, column)
    positions = bind_classes(scheme, classes)
    translate = ClassTranslation(positions, len(scheme.classes))
    columns, signs = [], []
    for partition, own in _rows_to_arrange(scheme, translate):
        either: list[tuple[tuple[Hashable, Hashable], float]] = [(own, 1.0)]
        if partition.n_sides == 2:
            either.append(((own[1], own[0]), -1.0))
        found = [
            (binary, column, sign)
            for sides, sign in either
            for binary, column in by_sides.get(sides, {}).items()
        ]
        # If several binaries have these sides, take the one of this name or specification. A
        # different name will do too, because designs make up names; a specification must match.
        named = [each for each in found if each[0] == partition.binary]
        if not named and partition.binary.is_specification:
            found = []
        if not found:
            raise SchemeError(
                f"no binary was trained for {partition!r}; fit the new scheme instead"
            )
        _, column, sign = (named or found)[0]
        columns.append(column)
        signs.append(sign)
    return Arrangement(scheme, positions, np.array(columns, dtype=np.intp), np.array(signs))


def _rows_to_arrange(
    scheme: Scheme, translate: ClassTranslation
) -> Iterator[tuple[Partition, tuple[Hashable, Hashable]]]:
    """Yield the partition of each row of a scheme, and its `sides_key`."""
    for partition, own in zip(scheme.partitions, iterate_sides(scheme), strict=True):
        sides = [set_key(translate(side)) for side in own]
        if len(sides) == 2:
            yield partition, (sides[0], sides[1])
        else:
            yield from [(partition, (frozenset(sides), side)) for side in sides]


class ClassTranslation:
    """Translates positions in a scheme to class indices of the data, skipping absent classes."""

    def __init__(self, positions: NDArray[np.intp], n_classes: int) -> None:
        self._class_at = np.full(n_classes, -1, dtype=np.intp)
        self._class_at[positions] = np.arange(len(positions))
        self.is_identity = bool((self._class_at == np.arange(n_classes)).all())

    def __call__(self, positions: Sequence[int]) -> Sequence[int]:
        """Return the class indices at some positions of the scheme."""
        if self.is_identity:
            return positions
        found = self._class_at[np.asarray(positions, dtype=np.intp)]
        return compact_classes(found[found >= 0])


def first_rows(scheme: Scheme) -> NDArray[np.intp]:
    """Return the column of decisions where each partition of a scheme starts."""
    counts = np.array([partition.n_rows for partition in scheme.partitions], dtype=np.intp)
    return np.cumsum(counts) - counts


# -- the argument solver ---------------------------------------------------------------------------


def resolve_solvers(
    solver: Solver | Sequence[Solver], scheme: Scheme | SchemeEnsemble, *, is_calibrated: bool
) -> tuple[Solver, ...]:
    """Return the solver of a scheme, or of each member of an ensemble, with "auto" resolved.

    That is least squares, except for one-vs-rest with a final calibration: there, least squares
    gives zero to many classes, and loses what the binaries know about them. The divergence keeps
    it.

    Parameters
    ----------
    solver : name of a method, "auto", or function of (scheme, decisions); or one for each member
    scheme : Scheme or SchemeEnsemble
    is_calibrated : whether there is a final calibration
    """

    def resolve(own: Solver, member: Scheme) -> Solver:
        if not (isinstance(own, str) and own == AUTO):
            return own
        is_code = is_calibrated and member.is_flat and member.n_partitions > 0
        return "divergence" if is_code and member.code.is_one_vs_rest else "least-squares"

    members = members_of(scheme)
    each = [solver] * len(members) if isinstance(solver, str) or callable(solver) else solver
    return tuple([resolve(*pair) for pair in zip(each, members, strict=True)])


def check_solver(scheme: Scheme, solver: Solver) -> None:
    """Raise an ArgumentError if a solver does not exist or cannot solve a scheme."""
    if not callable(solver) and solver != AUTO:
        check_applicable(solver, scheme, parameter="solver")


def gives_probabilities(solver: Solver) -> bool:
    """Return whether a solver gives probabilities; a user's function is assumed to."""
    if callable(solver) or solver == AUTO:
        return True
    return find_method(solver, "solver").gives_probabilities


def facts_from(solver: Solver) -> frozenset[str]:
    """Return what a metric can know of a solver's predictions; see `JudgedSamples`."""
    if gives_probabilities(solver):
        return frozenset({"labels", "confidence", "probabilities"})
    has_confidence = find_method(str(solver), "solver").gives_confidence
    return frozenset({"labels", "confidence"} if has_confidence else {"labels"})


def solve_by(solver: Solver, scheme: Scheme, decisions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores or probabilities of the scheme's classes.

    Parameters
    ----------
    solver : name of a method, or function of (scheme, decisions)
    scheme : Scheme
    decisions : array of shape (n_samples, n_partitions)

    Returns
    -------
    array of shape (n_samples, n_classes)
    """
    if not callable(solver):
        return decode(scheme, decisions, solver)
    scores = np.asarray(solver(scheme, decisions), dtype=np.float64)
    expected = (len(decisions), len(scheme.classes))
    if scores.shape != expected:
        raise ArgumentError(
            Argument("solver", solver),
            f" returned an array of shape {scores.shape}; {expected[0]} samples and {expected[1]} "
            f"classes need {expected}.",
        )
    totals = scores.sum(axis=1)
    is_wrong = ~(np.abs(totals - 1) <= _SUM_TOLERANCE) | (scores < -_SUM_TOLERANCE).any(axis=1)
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        raise ArgumentError(
            Argument("solver", solver),
            f" did not return probabilities: row {row} is {scores[row].tolist()}. The values of "
            "each row must not be negative, and must sum to one.",
        )
    return scores
