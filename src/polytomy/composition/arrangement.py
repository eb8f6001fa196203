"""Which trained binaries a scheme needs, and how their answers become scores of the classes.

Several schemes over the same classes can share binaries: each dichotomy that occurs in any of them
is trained once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.banks import Bank
from polytomy.composition.binding import bind_classes
from polytomy.composition.dichotomies import Dichotomy, check_models, dichotomies
from polytomy.composition.tree_walk import follow_winners, is_walk_cheaper
from polytomy.errors import ArgumentError, SchemeError
from polytomy.inputs.rows import count_rows
from polytomy.scheme import BinaryName, Scheme
from polytomy.solvers import decode, find_method

__all__ = [
    "Arrangement",
    "Solver",
    "arrange",
    "check_solver",
    "gives_probabilities",
    "mean_scores",
    "rearrange",
]

Solver = str | Callable[[Scheme, NDArray[np.float64]], NDArray[np.float64]]


# Of the probabilities that a function of the user's returns.
_SUM_TOLERANCE = 1e-6


class Arrangement(NamedTuple):
    """A scheme, and which of a list of trained binaries answer for its partitions.

    Attributes
    ----------
    scheme : Scheme
    positions : for each class of the data its position in the scheme
    columns : for each partition of the scheme the binary that answers
    signs : −1 where the binary has the sides of the partition the other way round, else 1
    """

    scheme: Scheme
    positions: NDArray[np.intp]
    columns: NDArray[np.intp]
    signs: NDArray[np.float64]

    def decisions(self, answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the answers to the scheme's partitions, given those of all the binaries."""
        is_whole = len(self.columns) == answers.shape[1] and (self.signs == 1).all()
        if is_whole and (self.columns == np.arange(len(self.columns))).all():
            return answers
        return answers[:, self.columns] * self.signs

    def scores(
        self, bank: Bank, X: Any, solver: Solver, n_jobs: int | None = None
    ) -> NDArray[np.float64]:
        """Return the scores or probabilities of the classes of the data, asking the binaries."""
        if not self.scheme.n_partitions:
            return np.ones((count_rows(X), 1))
        if solver == "greedy" and is_walk_cheaper([(self.scheme, self.columns)], bank):
            return self.walk(bank, X)
        if solver == "hamming" and (votes := self._pair_votes(bank, X)) is not None:
            return votes[:, self.positions]
        return self.solve(bank.decisions(X, n_jobs=n_jobs), solver)

    def walk(self, bank: Bank, X: Any) -> NDArray[np.float64]:
        """Return the scores of ``solver="greedy"``, asking the binaries on a sample's way alone."""
        scores = follow_winners(self.scheme, bank, self.columns, self.signs, X)
        return self._of_data(scores, "greedy")

    def _pair_votes(self, bank: Bank, X: Any) -> NDArray[np.float64] | None:
        """Return the votes of pairs by the binaries' signs alone, where that is all it takes."""
        is_whole = len(self.columns) == len(bank.binaries) and (self.signs == 1).all()
        is_plain = is_whole and (self.columns == np.arange(len(self.columns))).all()
        if not (is_plain and self.scheme.is_flat and self.scheme.code.pairs is not None):
            return None
        return bank.pair_votes(X, *self.scheme.code.pairs, len(self.scheme.classes))

    def solve(self, answers: NDArray[np.float64], solver: Solver) -> NDArray[np.float64]:
        """Return the scores or probabilities of the classes of the data, given all answers."""
        if not self.scheme.n_partitions:
            return np.ones((len(answers), 1))
        decisions = self.decisions(answers)
        if not callable(solver):
            return self._of_data(decode(self.scheme, decisions, solver), solver)
        scores = np.asarray(solver(self.scheme, decisions), dtype=np.float64)
        expected = (len(decisions), len(self.scheme.classes))
        if scores.shape != expected:
            raise ArgumentError(
                f"solver={solver!r} returned an array of shape {scores.shape}; for {expected[0]} "
                f"samples and {expected[1]} classes it must be {expected}."
            )
        totals = scores.sum(axis=1)
        is_wrong = ~(np.abs(totals - 1) <= _SUM_TOLERANCE) | (scores < -_SUM_TOLERANCE).any(axis=1)
        if is_wrong.any():
            row = int(np.argmax(is_wrong))
            raise ArgumentError(
                f"solver={solver!r} returned no probabilities: row {row} is "
                f"{scores[row].tolist()}. Each row must be positive and sum to one."
            )
        return self._of_data(scores, solver)

    def _of_data(self, scores: NDArray[np.float64], solver: Solver) -> NDArray[np.float64]:
        """Return the columns of the data's classes, in their order."""
        own: NDArray[np.float64] = scores[:, self.positions]
        if len(self.positions) == len(self.scheme.classes) or not gives_probabilities(solver):
            return own
        # What went to classes that were never seen belongs to the others.
        total = own.sum(axis=1, keepdims=True)
        even = np.full_like(own, 1 / own.shape[1])
        return np.asarray(np.divide(own, total, out=even, where=total > 0))


def mean_scores(
    arrangements: Sequence[Arrangement],
    bank: Bank,
    X: Any,
    solver: Solver,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Return the scores of the classes, the mean over arrangements of the same binaries."""
    if len(arrangements) == 1:
        return arrangements[0].scores(bank, X, solver, n_jobs)
    walks = [(each.scheme, each.columns) for each in arrangements]
    if solver == "greedy" and is_walk_cheaper(walks, bank):
        each = (arrangement.walk(bank, X) for arrangement in arrangements)
    else:
        answers = bank.decisions(X, n_jobs=n_jobs)
        each = (arrangement.solve(answers, solver) for arrangement in arrangements)
    total = next(each).copy()
    for scores in each:
        total += scores
    return total / len(arrangements)


def check_solver(scheme: Scheme, solver: Solver) -> None:
    """Raise an ArgumentError, before anything is trained, if a solver cannot do a scheme."""
    if not callable(solver):
        decode(scheme, np.empty((0, scheme.n_partitions)), solver)


def gives_probabilities(solver: Solver) -> bool:
    """Return whether a solver gives probabilities; a function of the user's is taken to."""
    return callable(solver) or find_method(solver).gives_probabilities


def arrange(
    schemes: Iterable[Scheme],
    classes: Sequence[Any] | NDArray[Any],
    estimator: Any,
    models: Mapping[str, Any] | None = None,
) -> tuple[list[Dichotomy], list[Arrangement]]:
    """Return the dichotomies that schemes need, each once, and how each scheme is put together.

    A partition that stands in one scheme several times has a binary for each place. Dichotomies
    of different schemes are the same if they are trained from the same estimator and tell the same
    classes apart, the sides in either order.

    Parameters
    ----------
    schemes : schemes that name all the classes
    classes : the labels of the data
    estimator : the default estimator
    models : estimators, or fitted models, for names in the schemes

    Returns
    -------
    wanted : list of Dichotomy, sides as positions in `classes`
    arrangements : one for each scheme
    """
    schemes = tuple(schemes)
    check_models(schemes, models)
    wanted: list[Dichotomy] = []
    known: dict[tuple[frozenset[int], frozenset[int], int, int], int] = {}
    specified: dict[BinaryName, Any] = {}
    arrangements = []
    for scheme in schemes:
        positions = bind_classes(scheme, classes)
        places: Counter[tuple[frozenset[frozenset[int]], int]] = Counter()
        columns, signs = [], []
        translated = _Translation(positions, len(scheme.classes))
        for dichotomy in dichotomies(scheme, estimator, models, specified):
            negative, positive = translated(dichotomy.negative), translated(dichotomy.positive)
            own = frozenset(negative), frozenset(positive)
            source = id(dichotomy.estimator)
            place = frozenset(own), source
            number = places[place]
            places[place] += 1
            column = known.get((*own, source, number))
            sign = 1.0
            if column is None and dichotomy.trained is None:
                column = known.get((*own[::-1], source, number))
                sign = 1.0 if column is None else -1.0
            if column is None:
                column = known[*own, source, number] = len(wanted)
                wanted.append(dichotomy._replace(negative=negative, positive=positive))
            columns.append(column)
            signs.append(sign)
        arrangements.append(
            Arrangement(scheme, positions, np.array(columns, dtype=np.intp), np.array(signs))
        )
    return wanted, arrangements


def rearrange(
    scheme: Scheme, classes: Sequence[Any] | NDArray[Any], trained: Sequence[Dichotomy]
) -> Arrangement:
    """Return how trained binaries are put together to another scheme.

    Each partition must be that of a binary, the sides in either order, or SchemeError names it.
    """
    by_sides: dict[tuple[frozenset[int], frozenset[int]], dict[BinaryName, int]] = {}
    for column, each in enumerate(trained):
        names = by_sides.setdefault((frozenset(each.negative), frozenset(each.positive)), {})
        names.setdefault(each.binary, column)
    positions = bind_classes(scheme, classes)
    translated = _Translation(positions, len(scheme.classes))
    columns, signs = [], []
    for partition in scheme.partitions:
        own = frozenset(translated(partition.negative)), frozenset(translated(partition.positive))
        found = [
            (binary, column, sign)
            for sides, sign in ((own, 1.0), (own[::-1], -1.0))
            for binary, column in by_sides.get(sides, {}).items()
        ]
        # Of several binaries with these sides, the one of this name or specification. Any name
        # will do otherwise, for designs name as they like, but no other specification.
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


class _Translation:
    """From positions in a scheme to classes of the data; those without data are left out."""

    def __init__(self, positions: NDArray[np.intp], n_classes: int) -> None:
        self._class_at = [-1] * n_classes
        for index, position in enumerate(positions.tolist()):
            self._class_at[position] = index

    def __call__(self, positions: Iterable[int]) -> tuple[int, ...]:
        return tuple([self._class_at[p] for p in positions if self._class_at[p] >= 0])
