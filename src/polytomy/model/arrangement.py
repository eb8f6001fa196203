"""Which trained binaries answer for the partitions of a scheme, and how they are asked."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError, SchemeError
from polytomy.inputs.rows import count_rows, take_rows
from polytomy.learners.bank import Bank
from polytomy.learners.problems import Dichotomy
from polytomy.model.dichotomies import bind_classes, sides_key
from polytomy.onnx_graph import Graph, Value
from polytomy.scheme import BinaryName, ClassRef, Partition, Scheme, SchemeEnsemble
from polytomy.scheme.partitions import compact_classes, iterate_sides, set_key
from polytomy.solvers import check_applicable, decode
from polytomy.solvers.divergence import is_flat_one_vs_rest
from polytomy.solvers.solving import export_decoding, find_method

Solver = str | Callable[[Scheme, NDArray[np.float64]], NDArray[np.float64]]

# Tolerance for the probabilities that a user's function returns.
_SUM_TOLERANCE = 1e-6

AUTO = "auto"
"""The solver that suits the scheme; see `resolve_solver`."""


# How much slower an inner product is in a walk, which gathers rows and evaluates node by node.
_WALK_OVERHEAD = 1.5


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

    def walk(self, bank: Bank, X: Any) -> NDArray[np.float64]:
        """Return the scores of ``solver="greedy"``, using only the binaries on a sample's path."""
        scores = walk_down_tree(self.scheme, bank, self.columns, self.signs, X)
        return self._for_data(scores, "greedy")

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
        names = by_sides.setdefault(sides_key(each), {})
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


# -- walking down a tree, evaluating only the binaries on the path of a sample ---------------------


def is_walk_cheaper(
    walks: Iterable[tuple[Scheme, NDArray[np.intp]]],
    bank: Bank,
) -> bool:
    """Return whether evaluating the nodes on each sample's path is cheaper than evaluating all.

    Binaries that share support vectors cost little more together than alone, so walking down a tree
    can take longer than evaluating all nodes.

    Parameters
    ----------
    walks : trees, each with the binaries that answer at its nodes
    bank : trained binaries
    """
    alone = bank.efforts_alone
    expected = 0.0
    for scheme, columns in walks:
        # Assumes that all classes are equally frequent.
        reach = [sum(map(len, each.side_arrays)) for each in scheme.partitions]
        expected += float(np.array(reach) @ alone[columns]) / len(scheme.classes)
    return _WALK_OVERHEAD * expected < bank.effort


def walk_down_tree(
    scheme: Scheme,
    bank: Bank,
    columns: NDArray[np.intp],
    signs: NDArray[np.float64],
    X: Any,
) -> NDArray[np.float64]:
    """Return the winner of each sample in a tree, with the probability of its path.

    A node is evaluated only for the samples that reach it.

    Parameters
    ----------
    scheme : a tree
    bank : trained binaries
    columns, signs : the binary that answers at each node, and −1 if its sides are swapped
    X : samples

    Returns
    -------
    array of shape (n_samples, n_classes), zero except for the winner
    """
    n_rows = count_rows(X)
    probabilities = np.zeros((n_rows, len(scheme.classes)))
    # In preorder a parent comes before its children, so it is known which samples reach a node.
    reached: dict[int, tuple[NDArray[np.intp], NDArray[np.float64]]] = {
        0: (np.arange(n_rows), np.ones(n_rows))
    }
    for position, node in enumerate(scheme.nodes):
        rows, path = reached.pop(position)
        if len(rows):
            here = bank.alone(int(columns[position])).decisions(take_rows(X, rows))
            answers = np.nan_to_num(signs[position] * here[:, 0])
        else:
            answers = np.empty(0)
        # Ties go to the first branch, as in `polytomy.solvers.decoding`.
        goes_right = answers > 0
        for branch, mask in zip(node.branches, (~goes_right, goes_right), strict=True):
            below, mass = rows[mask], path[mask] * (1 + np.abs(answers[mask])) / 2
            if isinstance(branch, ClassRef):
                # A product of many factors may underflow; the class still wins.
                probabilities[below, branch.index] = np.maximum(mass, np.finfo(np.float64).tiny)
            else:
                reached[branch.index] = (below, mass)
    return probabilities


# -- the argument solver ---------------------------------------------------------------------------


def resolve_solver(
    solver: Solver, scheme: Scheme | SchemeEnsemble, *, is_calibrated: bool
) -> Solver:
    """Return the solver that "auto" stands for; any other is returned unchanged.

    That is least squares, except for one-vs-rest with a final calibration: there, least squares
    gives zero to many classes, and loses what the binaries know about them. The divergence keeps
    it.

    Parameters
    ----------
    solver : name of a method, "auto", or function of (scheme, decisions)
    scheme : Scheme or SchemeEnsemble
    is_calibrated : whether there is a final calibration
    """
    if not (isinstance(solver, str) and solver == AUTO):
        return solver
    return "divergence" if is_calibrated and is_flat_one_vs_rest(scheme) else "least-squares"


def check_solver(scheme: Scheme, solver: Solver) -> None:
    """Raise an ArgumentError if a solver does not exist or cannot solve a scheme."""
    if not callable(solver) and solver != AUTO:
        check_applicable(solver, scheme, parameter="solver")


def gives_probabilities(solver: Solver) -> bool:
    """Return whether a solver gives probabilities; a user's function is assumed to."""
    if callable(solver) or solver == AUTO:
        return True
    return find_method(solver, "solver").gives_probabilities


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
