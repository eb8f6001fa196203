"""Problems that are trained together: their samples, one problem after the other, and folds.

A few operations on the samples of all problems replace many operations on each problem. For small
problems, the latter would take longer than the training.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.folds import Folds
from polytomy.learners.problems import BinaryProblem

_Task = TypeVar("_Task")


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
    tasks: Sequence[_Task], sizes: Sequence[int], most_samples: int, most_tasks: int
) -> Iterator[list[_Task]]:
    """Yield consecutive tasks whose problems fit in one batch; a batch has at least one task.

    Parameters
    ----------
    tasks : tasks, one for each problem
    sizes : number of samples of each problem
    most_samples, most_tasks : largest size of a batch
    """
    batch: list[_Task] = []
    n_samples = 0
    for task, size in zip(tasks, sizes, strict=True):
        if batch and (n_samples + size > most_samples or len(batch) >= most_tasks):
            yield batch
            batch, n_samples = [], 0
        batch.append(task)
        n_samples += size
    if batch:
        yield batch


class BatchFolds(NamedTuple):
    """The folds of a batch of problems: which models to train, and which of them score what.

    Model 0 is trained on all samples, and model f + 1 without those that fold f holds out.

    Attributes
    ----------
    is_kept : bool array of shape (n_models, n_samples), the samples to train each model on
    is_trained : bool array of shape (n_folds, n_problems)
        False if the fold keeps all samples of a problem, so that model 0 serves as its model, or if
        the fold gives a constant score.
    constants : array of shape (n_folds, n_problems)
        The score that the fold gives to every row if a side has no samples to train on: 1 if only
        the +1 side has some, −1 if only the −1 side has, 0 if neither has, as in LIBSVM. Otherwise
        NaN.
    samples : array of shape (n_held_out,), the samples that are held out, ascending
    fold_of : array of shape (n_held_out,), the fold that holds out each of them
    """

    is_kept: NDArray[np.bool_]
    is_trained: NDArray[np.bool_]
    constants: NDArray[np.float64]
    samples: NDArray[np.intp]
    fold_of: NDArray[np.intp]

    @classmethod
    def of(cls, batch: Batch, folds: Folds | None) -> BatchFolds:
        """Return the folds of the problems of a batch; without folds, only model 0 is trained."""
        if folds is None:
            folds = Folds.from_numbers(np.full(int(batch.rows.max()) + 1, -1))
        is_kept = folds.is_trained_on[:, batch.rows]
        n_kept, n_positive = batch.count(is_kept), batch.count(is_kept & batch.is_positive)
        is_constant = (n_positive == 0) | (n_positive == n_kept)
        constants = np.where(is_constant, np.sign(2.0 * n_positive - n_kept), np.nan)
        is_trained = ~is_constant & (n_kept < batch.sizes)
        if is_constant.any():
            # These models are not used. Keeping all samples is the least work.
            is_kept = is_kept | is_constant[:, batch.problem_of]
        fold_of = folds.fold_of[batch.rows]
        (samples,) = (fold_of >= 0).nonzero()
        return cls(
            np.concatenate([np.ones((1, len(batch.rows)), dtype=np.bool_), is_kept]),
            is_trained,
            constants,
            samples,
            fold_of[samples],
        )

    def hold_out_both_sides(self, batch: Batch) -> NDArray[np.bool_]:
        """Return whether samples of both sides of each problem are held out."""
        problems, n_problems = batch.problem_of[self.samples], len(batch.sizes)
        n_all = np.bincount(problems, minlength=n_problems)
        n_positive = np.bincount(problems, batch.is_positive[self.samples], n_problems)
        return np.asarray((n_positive > 0) & (n_positive < n_all))

    def model_of(self, batch: Batch) -> NDArray[np.intp]:
        """Return the model that scores each held-out sample for a calibrator.

        If a fold has only one side to train on, its constant score says nothing about how scores
        relate to sides. The model of all samples is used instead.
        """
        is_trained = self.is_trained[self.fold_of, batch.problem_of[self.samples]]
        return np.where(is_trained, self.fold_of + 1, 0)
