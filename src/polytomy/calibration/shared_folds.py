"""Folds of all training rows, shared by every binary of a fit.

If all binaries leave out the same rows, all scores of a row come from models that have not seen it,
whether it is in their problem or not. A final calibration can learn from such scores, because the
source of a score says nothing about the class of its row.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from polytomy.calibration.folds import RoutedSplitter, copy_splitter, row_numbers
from polytomy.calibration.hold_out import HoldOut
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.rows import count_rows

__all__ = ["FoldPart", "SharedFolds", "deal_classes", "deal_rows", "make_shared_folds"]

_thread = threading.local()


class FoldPart(NamedTuple):
    """The part of a binary problem that the model of one fold is trained on.

    Attributes
    ----------
    is_kept : bool array of shape (n_samples,), which samples of the problem to train on
    held_out : array of int, the samples of the problem that the fold holds out
    constant : float or None
        The score of every row if a side has no samples to train on: 1 if only the +1 side has
        some, −1 if only the −1 side has, 0 if neither has. LIBSVM does the same.
    """

    is_kept: NDArray[np.bool_]
    held_out: NDArray[np.intp]
    constant: float | None

    @property
    def is_whole(self) -> bool:
        """Whether the model is trained on all samples of the problem."""
        return bool(self.is_kept.all())


@dataclass(frozen=True, slots=True, eq=False)
class SharedFolds:
    """One fold for each training row.

    Attributes
    ----------
    fold_of : array of shape (n_rows,)
        The fold that holds out each row; −1 for rows that are never held out.
    is_trained_on : bool array of shape (n_folds, n_rows)
    scored : array of int, ascending
        The rows that every binary scores, even if they are outside its problem.
    is_only_part : bool
            Whether the only fold is a part that is held out permanently: the model that is trained
            without it is the model of the binary.
        weight : array of shape (n_rows,), optional
            Weights of held-out rows for calibration, in addition to those of training.

    Examples
    --------
    >>> folds = SharedFolds.from_numbers(np.array([0, 1, 0, 1]))
    >>> for part in folds.parts(np.arange(3), np.array([True, False, True])):
    ...     print(part.held_out, part.constant)
    [0 2] -1.0
    [1] 1.0
    """

    fold_of: NDArray[np.intp]
    is_trained_on: NDArray[np.bool_]
    scored: NDArray[np.intp]
    is_only_part: bool = False
    weight: NDArray[np.float64] | None = None

    @classmethod
    def from_numbers(cls, fold_of: NDArray[np.intp]) -> SharedFolds:
        """Return folds that train on all rows except their own, and score all rows."""
        is_trained_on = np.arange(fold_of.max(initial=-1) + 1)[:, np.newaxis] != fold_of
        return cls(fold_of, is_trained_on, np.flatnonzero(fold_of >= 0))

    def first(self, n_rows: int) -> SharedFolds:
        """Return as few of the first folds as hold out `n_rows` rows; all if there are too few."""
        sizes = np.bincount(self.fold_of[self.fold_of >= 0], minlength=self.n_folds)
        n_folds = 1 + int(np.searchsorted(np.cumsum(sizes), n_rows))
        if n_folds >= self.n_folds:
            return self
        fold_of = np.where(self.fold_of < n_folds, self.fold_of, -1)
        return SharedFolds(fold_of, self.is_trained_on[:n_folds], np.flatnonzero(fold_of >= 0))

    def keep_scored(
        self, is_kept: NDArray[np.bool_], most_rows: int, seed: int | None
    ) -> SharedFolds:
        """Return the same folds with fewer scored rows: a random subset if there are too many.

        Parameters
        ----------
        is_kept : bool array of shape (n_rows,), which rows may be scored
        most_rows : maximum number of scored rows
        seed : int, optional
        """
        scored = self.scored[is_kept[self.scored]]
        if len(scored) > most_rows:
            generator = check_random_state(seed)
            scored = np.sort(generator.choice(scored, size=most_rows, replace=False))
        return replace(self, scored=scored)

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.is_trained_on)

    def weigh(
        self, weight: NDArray[np.float64] | None, rows: NDArray[np.intp]
    ) -> NDArray[np.float64] | None:
        """Return the weights of some rows for calibration, given those of training."""
        if self.weight is None:
            return weight
        return self.weight[rows] if weight is None else weight * self.weight[rows]

    def trained_on(self, rows: NDArray[np.intp]) -> NDArray[np.bool_] | None:
        """Return which rows the model of a binary is trained on; None for all of them."""
        return self.is_trained_on[0][rows] if self.is_only_part else None

    def parts(self, rows: NDArray[np.intp], is_positive: NDArray[np.bool_]) -> Iterator[FoldPart]:
        """Yield the part of a binary problem that belongs to each fold.

        Parameters
        ----------
        rows : array of shape (n_samples,), the rows of the problem
        is_positive : bool array of shape (n_samples,), their sides
        """
        own = self.fold_of[rows]
        for fold, is_trained_on in enumerate(self.is_trained_on):
            is_kept = is_trained_on[rows]
            sides = is_positive[is_kept]
            constant = None
            if sides.all() or not sides.any():
                constant = float(np.sign(2 * np.count_nonzero(sides) - len(sides)))
            yield FoldPart(is_kept, np.flatnonzero(own == fold), constant)


def make_shared_folds(
    X: Any, class_indices: NDArray[np.intp], cv: Any, seed: int | None
) -> SharedFolds:
    """Return the folds of all training rows for a value of ``cv``.

    Parameters
    ----------
    X : the training data, for splitters that use it
    class_indices : array of shape (n_rows,), the index of each row's class
    cv : int, HoldOut, splitter, RoutedSplitter or list of splits
        A number of shuffled folds, stratified by class; one part to hold out permanently; an object
        with ``split(X, y)``; or pairs of training and held-out rows. A row that several splits hold
        out belongs to the first.
    seed : int, optional
        Makes the folds reproducible.
    """
    n_rows = len(class_indices)
    if isinstance(cv, HoldOut):
        part = cv.choose(class_indices, seed)
        held_out = np.flatnonzero(part.mask)
        fold_of = np.where(part.mask, 0, -1)
        return SharedFolds(fold_of, ~part.mask[np.newaxis], held_out, True, part.weight)
    if isinstance(cv, int | np.integer):
        return SharedFolds.from_numbers(deal_rows(class_indices, min(int(cv), n_rows), seed))
    fold_of = np.full(n_rows, -1, dtype=np.intp)
    trained_on: list[NDArray[np.bool_]] = []
    for training, held_out in _splits(X, class_indices, cv, seed):
        held_out = held_out[fold_of[held_out] < 0]
        if len(held_out):
            fold_of[held_out] = len(trained_on)
            mask = np.zeros(n_rows, dtype=np.bool_)
            mask[training] = True
            trained_on.append(mask)
    is_trained_on = np.array(trained_on, dtype=np.bool_).reshape(-1, n_rows)
    return SharedFolds(fold_of, is_trained_on, np.flatnonzero(fold_of >= 0))


def deal_rows(class_indices: NDArray[np.intp], n_folds: int, seed: int | None) -> NDArray[np.intp]:
    """Return the fold of each row; each class is shuffled and dealt out evenly.

    Each class continues at the fold after the previous class's last, so that folds have equal sizes
    even if many classes have few rows.

    Examples
    --------
    >>> fold_of = deal_rows(np.array([0, 0, 0, 1, 1, 2]), 3, seed=0)
    >>> for fold in range(3):
    ...     print(np.flatnonzero(fold_of == fold))
    [2 3]
    [1 4]
    [0 5]
    """
    order = np.argsort(class_indices, kind="stable")
    starts = np.flatnonzero(np.diff(class_indices[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    fold_of = np.empty(len(order), dtype=np.intp)
    fold_of[order] = np.concatenate([starts[:0], *deal_classes(sizes, n_folds, seed)])
    return fold_of


def deal_classes(
    sizes: Sequence[int] | NDArray[np.intp],
    n_folds: int,
    seed: int | None,
    dtype: npt.DTypeLike = np.intp,
) -> list[NDArray[Any]]:
    """Return the folds of the rows of each class, given the number of rows in each class.

    `deal_rows` gives the same folds to rows in any order.

    Examples
    --------
    >>> deal_classes([3, 2], 3, seed=0)
    [array([2, 1, 0]), array([0, 1])]
    """
    generator = _seeded_generator(seed)
    folds: list[NDArray[Any]] = []
    start = 0
    for size in sizes:
        dealt = np.arange(start, start + size, dtype=np.intp) % n_folds
        generator.shuffle(dealt)
        folds.append(dealt.astype(dtype, copy=False))
        start += int(size)
    return folds


def _seeded_generator(seed: int | None) -> np.random.RandomState:
    """Return NumPy's global generator, or one that is seeded: the same in each call of a thread.

    Creating a generator takes far longer than seeding one.
    """
    generator: np.random.RandomState
    if seed is None:
        generator = check_random_state(None)
        return generator
    if not hasattr(_thread, "generator"):
        _thread.generator = np.random.RandomState()
    generator = _thread.generator
    generator.seed(seed)
    return generator


def _splits(
    X: Any, class_indices: NDArray[np.intp], cv: Any, seed: int | None
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    parameters = {}
    if isinstance(cv, RoutedSplitter):
        cv, parameters = cv.splitter, dict(cv.parameters)
    n_rows = count_rows(X)
    if not hasattr(cv, "split"):
        for training, held_out in cv:
            yield row_numbers(training, n_rows), row_numbers(held_out, n_rows)
        return
    most_folds = int(np.bincount(class_indices).max())
    if "groups" in parameters:
        most_folds = min(most_folds, len(np.unique(parameters["groups"])))
    splitter = copy_splitter(cv, most_folds, seed)
    with warnings.catch_warnings():
        # A class may have fewer samples than folds: some folds hold out none of it.
        warnings.filterwarnings("ignore", "The least populated class in y", UserWarning)
        try:
            splits = list(splitter.split(X, class_indices, **parameters))
        except ValueError as error:
            raise ArgumentError(
                Argument("cv", cv),
                f" cannot split the training data ({error}). Use a number of folds, or a list of "
                "(training rows, held-out rows).",
            ) from error
    yield from splits
