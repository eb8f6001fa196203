"""Folds of binary problems: which machines to train, and which of them score which samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.binary.options import TrainingOptions
from polytomy.calibration.folds import CannotCalibrateError, fold_masks
from polytomy.calibration.shared_folds import SharedFolds
from polytomy.svm.batches import Batch

__all__ = ["BatchFolds"]

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
