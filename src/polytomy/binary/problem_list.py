"""The problems of many dichotomies, each created on demand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from polytomy.binary.problems import BinaryProblem, binary_problem

__all__ = ["ProblemList"]

# Problems with at most this many samples on average are created together: at least 16, or it saves
# no time, and at most 1024, to bound memory.
_FEW_SAMPLES = 200
_FEWEST_TOGETHER, _MOST_TOGETHER = 16, 1024


class ProblemList:
    """The binary problems of dichotomies, created on demand: together they may exceed memory.

    All problems that contain all rows share one array of row numbers.

    Parameters
    ----------
    rows_of_class : sequence of arrays, as `polytomy.inputs.class_indices.group_rows` returns them
    names : names of the partitions
    negative, positive : for each partition the class indices of its two sides

    Attributes
    ----------
    sizes : array of shape (n_problems,), number of samples of each problem

    Examples
    --------
    >>> from polytomy.inputs.class_indices import group_rows
    >>> rows_of_class = group_rows(np.array([2, 0, 1, 0]), 3)
    >>> problems = ProblemList(rows_of_class, ["a", "b"], [[0], [0, 1]], [[1], [2]])
    >>> problems.sizes
    array([3, 4])
    >>> problems[1].is_positive
    array([ True, False, False, False])
    """

    def __init__(
        self,
        rows_of_class: Sequence[NDArray[np.intp]],
        names: Sequence[str],
        negative: Sequence[Sequence[int]],
        positive: Sequence[Sequence[int]],
    ) -> None:
        self._rows_of_class = rows_of_class
        self._names, self._negative, self._positive = names, negative, positive
        self._counts = np.array([len(rows) for rows in rows_of_class], dtype=np.intp)
        self.n_rows = int(self._counts.sum())
        self._all_rows = np.arange(self.n_rows)
        self._all_rows.flags.writeable = False

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """Number of samples of each problem."""
        return np.array(
            [
                self._counts[np.asarray(below, dtype=np.intp)].sum()
                + self._counts[np.asarray(above, dtype=np.intp)].sum()
                for below, above in zip(self._negative, self._positive, strict=True)
            ],
            dtype=np.intp,
        )

    def __len__(self) -> int:
        return len(self._names)

    def name(self, number: int) -> str:
        """Return the name of a problem."""
        return self._names[number]

    def __getitem__(self, number: int) -> BinaryProblem:
        name, negative, positive = (
            self._names[number],
            self._negative[number],
            self._positive[number],
        )
        if len(negative) + len(positive) < len(self._counts):
            return binary_problem(self._rows_of_class, negative, positive, name=name)
        # Either side determines which rows are on it; the smaller one is faster.
        is_positive = np.zeros(self.n_rows, dtype=np.bool_)
        is_swapped = len(negative) < len(positive)
        for k in negative if is_swapped else positive:
            is_positive[self._rows_of_class[k]] = True
        if is_swapped:
            np.logical_not(is_positive, out=is_positive)
        return BinaryProblem(name, self._all_rows, is_positive)

    def take(self, numbers: Sequence[int]) -> list[BinaryProblem]:
        """Return several problems; small ones are created together, in a third less time."""
        taken: list[BinaryProblem] = []
        for first in range(0, len(numbers), _MOST_TOGETHER):
            taken += self._take_together(numbers[first : first + _MOST_TOGETHER])
        return taken

    def _take_together(self, numbers: Sequence[int]) -> list[BinaryProblem]:
        if len(numbers) < _FEWEST_TOGETHER:
            return [self[k] for k in numbers]
        pairs = [(self._negative[k], self._positive[k]) for k in numbers]
        # Problems with all classes share their row numbers, and those with many are not small.
        most_classes = max(len(below) + len(above) for below, above in pairs)
        if most_classes >= min(len(self._counts), _FEW_SAMPLES):
            return [self[k] for k in numbers]
        counts = self._counts.tolist()
        sizes = np.array([[sum([counts[i] for i in side]) for side in pair] for pair in pairs])
        starts = np.concatenate([[0], np.cumsum(sizes.sum(axis=1))])
        if not 0 < starts[-1] <= _FEW_SAMPLES * len(numbers):
            return [self[k] for k in numbers]
        rows = np.concatenate(
            [self._rows_of_class[i] for pair in pairs for side in pair for i in side]
        )
        problem_of = np.repeat(np.arange(len(numbers)), np.diff(starts))
        # Sorting keeps the problems apart, and restores the order of the data within each.
        order = np.argsort(problem_of * (int(rows.max()) + 1) + rows, kind="stable")
        rows, is_positive = rows[order], order >= (starts[:-1] + sizes[:, 0])[problem_of]
        return [
            BinaryProblem(self._names[k], rows[start:end], is_positive[start:end])
            for k, (start, end) in zip(numbers, pairwise(starts.tolist()), strict=True)
        ]
