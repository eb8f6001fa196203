"""Problems that are trained together: their samples, one problem after the other.

A few operations on the samples of all problems replace many operations on each problem. For small
problems, the latter would take longer than the training.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from polytomy.binary.problems import BinaryProblem

__all__ = ["Batch", "divide_into_batches"]

_Task = TypeVar("_Task")

# Most samples in a batch, and most scores (rows of the data times problems). Larger batches save
# nothing, and leave too few batches for the threads.
_MOST_SAMPLES = 2**12
_MOST_SCORES = 2**21


@dataclass(frozen=True, eq=False)
class Batch:
    """The samples of several problems, one problem after the other.

    Attributes
    ----------
    rows : array of shape (n_samples,), the rows of the data
    is_positive : bool array of shape (n_samples,), their sides
    starts : array of shape (n_problems + 1,), the first sample of each problem, and the end
    sizes : array of shape (n_problems,), number of samples of each problem

    Examples
    --------
    >>> pair = BinaryProblem("pair", np.array([4, 7]), np.array([True, False]))
    >>> Batch.of([pair, pair]).starts
    array([0, 2, 4])
    """

    rows: NDArray[np.intp]
    is_positive: NDArray[np.bool_]
    starts: NDArray[np.intp]
    sizes: NDArray[np.intp]

    @classmethod
    def of(cls, problems: Sequence[BinaryProblem]) -> Batch:
        """Return the samples of several problems. No problem may be empty."""
        sizes = np.array([problem.n_samples for problem in problems], dtype=np.intp)
        return cls(
            np.concatenate([problem.rows for problem in problems]),
            np.concatenate([problem.is_positive for problem in problems]),
            np.concatenate([[0], np.cumsum(sizes)]),
            sizes,
        )

    @cached_property
    def problem_of(self) -> NDArray[np.intp]:
        """The problem of each sample."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def count(self, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return how many samples of each problem a mask selects.

        Parameters
        ----------
        mask : bool array of shape (..., n_samples)

        Returns
        -------
        array of shape (..., n_problems)
        """
        counts: NDArray[np.intp] = np.add.reduceat(mask, self.starts[:-1], axis=-1, dtype=np.intp)
        return counts


def divide_into_batches(
    tasks: Sequence[_Task], problems: Sequence[BinaryProblem], n_rows: int
) -> Iterator[list[_Task]]:
    """Yield consecutive tasks whose problems fit in one batch; a batch has at least one task.

    Parameters
    ----------
    tasks : tasks, one for each problem
    problems : the problems, in the same order
    n_rows : number of rows of the data
    """
    batch: list[_Task] = []
    n_samples = 0
    for task, problem in zip(tasks, problems, strict=True):
        n_samples += problem.n_samples
        is_full = n_samples > _MOST_SAMPLES or (1 + len(batch)) * n_rows > _MOST_SCORES
        if batch and is_full:
            yield batch
            batch, n_samples = [], problem.n_samples
        batch.append(task)
    if batch:
        yield batch
