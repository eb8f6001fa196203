"""Problems that are trained together: their samples, one problem after the other.

A few operations on the samples of all problems replace many operations on each problem. For small
problems, the latter would take longer than the training.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.folds import CannotCalibrateError, SharedFolds, fold_masks
from polytomy.learners.options import TrainingOptions
from polytomy.learners.problems import BinaryProblem

__all__ = ["Batch", "BatchFolds", "divide_into_batches"]

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


# -- Folds of binary problems: which machines to train, and which of them score which samples --


_Floats = NDArray[np.float64]


class BatchFolds(NamedTuple):
    """The folds of a batch of problems.

    Machine 0 is trained on all samples, and machine f + 1 without those that fold f holds out.

    Attributes
    ----------
    is_kept : bool array of shape (n_machines, n_samples), the samples to train each machine on
    is_trained : bool array of shape (n_folds, n_problems)
        False if the fold keeps all samples of a problem, so that machine 0 serves as its machine,
        or if the fold gives a constant score.
    constants : array of shape (n_folds, n_problems)
        The score that the fold gives to every row if a side has no samples; otherwise NaN.
    samples : array of shape (n_held_out,), the samples that are held out, ascending by problem
    fold_of : array of shape (n_held_out,), the fold that holds out each of them
    reasons : list of str
        Why a problem's folds are not enough for a calibrator, as a clause; empty if they are.
    """

    is_kept: NDArray[np.bool_]
    is_trained: NDArray[np.bool_]
    constants: _Floats
    samples: NDArray[np.intp]
    fold_of: NDArray[np.intp]
    reasons: list[str]

    @classmethod
    def of(cls, batch: Batch, X: Any, options: TrainingOptions, seed: int | None) -> BatchFolds:
        """Return the folds that problems share, or the folds of a single problem.

        Parameters
        ----------
        batch : Batch, of one problem unless the options have shared folds
        X : the training data as passed by the user, for splitters that use it
        options : TrainingOptions
        seed : int, optional, the seed of the single problem
        """
        if options.folds is not None:
            folds = cls._of_shared(batch, options.folds)
        elif options.calibration is None:
            return cls._of_masks(batch, [])
        else:
            try:
                masks = list(fold_masks(batch.rows, batch.is_positive, X, options.cv, seed))
            except CannotCalibrateError as error:
                return cls._of_masks(batch, [])._replace(reasons=[str(error)])
            folds = cls._of_masks(batch, masks)
        return folds if options.calibration is None else folds._checked(batch)

    @classmethod
    def _of_shared(cls, batch: Batch, shared: SharedFolds) -> BatchFolds:
        is_kept = shared.is_trained_on[:, batch.rows]
        n_kept, n_positive = batch.count(is_kept), batch.count(is_kept & batch.is_positive)
        is_constant = (n_positive == 0) | (n_positive == n_kept)
        constants = np.where(is_constant, np.sign(2.0 * n_positive - n_kept), np.nan)
        is_trained = ~is_constant & (n_kept < batch.sizes)
        if is_constant.any():
            # These machines are not used. Keeping all samples is the least work.
            is_kept = is_kept | is_constant[:, batch.problem_of]
        fold_of = shared.fold_of[batch.rows]
        (samples,) = (fold_of >= 0).nonzero()
        return cls(
            np.concatenate([np.ones((1, len(batch.rows)), dtype=np.bool_), is_kept]),
            is_trained,
            constants,
            samples,
            fold_of[samples],
            [""] * len(batch.sizes),
        )

    @classmethod
    def _of_masks(
        cls, batch: Batch, masks: list[tuple[NDArray[np.bool_], NDArray[np.intp]]]
    ) -> BatchFolds:
        n_folds = len(masks)
        tests = [test for _, test in masks]
        return cls(
            np.array([np.ones(len(batch.rows), dtype=np.bool_), *(mask for mask, _ in masks)]),
            np.ones((n_folds, 1), dtype=np.bool_),
            np.full((n_folds, 1), np.nan),
            np.concatenate([np.empty(0, dtype=np.intp), *tests]),
            np.repeat(np.arange(n_folds), [len(test) for test in tests]),
            [""],
        )

    def _checked(self, batch: Batch) -> BatchFolds:
        """Return the same folds, with a reason if they do not hold out samples of both sides."""
        problems, n_problems = batch.problem_of[self.samples], len(batch.sizes)
        n_all = np.bincount(problems, minlength=n_problems)
        n_positive = np.bincount(problems, batch.is_positive[self.samples], n_problems)
        has_both = (n_positive > 0) & (n_positive < n_all)
        reason = "cv holds out no samples, or only samples of one side"
        return self._replace(reasons=["" if each else reason for each in has_both.tolist()])

    def machine_of(self, batch: Batch) -> NDArray[np.intp]:
        """Return the machine that scores each held-out sample.

        If a fold has only one side to train on, its constant score says nothing about how scores
        relate to sides. For the calibrator, the machine of all samples is used instead.
        """
        is_trained = self.is_trained[self.fold_of, batch.problem_of[self.samples]]
        return np.where(is_trained, self.fold_of + 1, 0)
