"""Folds of all training rows, shared by every binary of a fit, and the parameter ``cv``.

If all binaries leave out the same rows, all scores of a row come from models that have not seen it,
whether it is in their problem or not. A final calibration can learn from such scores, because the
source of a score says nothing about the class of its row.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.rows import count_rows, group_rows, take_values
from polytomy.inputs.seeds import borrow_generator

AUTO_FOLDS = "auto"
"""The value of ``cv`` that chooses between folds and one held-out part."""

MANY_ROWS = 100_000
"""From this number of rows, ``cv="auto"`` holds out one part."""

_FOLDS = 5
_LARGEST_SHARE = 0.1
_MOST_ROWS = 20_000

# Rare classes have a larger share of their rows held out, up to this many rows and up to a fifth.
_ENOUGH_OF_CLASS = 20
_LARGEST_SHARE_OF_CLASS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Folds:
    """One fold for each training row, the same for every binary of a fit.

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
    >>> folds = Folds.from_numbers(np.array([0, 1, 0, 1]))
    >>> folds.is_trained_on
    array([[False,  True, False,  True],
           [ True, False,  True, False]])
    """

    fold_of: NDArray[np.intp]
    is_trained_on: NDArray[np.bool_]
    scored: NDArray[np.intp]
    is_only_part: bool = False
    weight: NDArray[np.float64] | None = None

    @classmethod
    def from_numbers(cls, fold_of: NDArray[np.intp]) -> Folds:
        """Return folds that train on all rows except their own, and score all rows."""
        is_trained_on = np.arange(fold_of.max(initial=-1) + 1)[:, np.newaxis] != fold_of
        return cls(fold_of, is_trained_on, np.flatnonzero(fold_of >= 0))

    def first(self, n_rows: int) -> Folds:
        """Return as few of the first folds as hold out `n_rows` rows; all if there are too few."""
        sizes = np.bincount(self.fold_of[self.fold_of >= 0], minlength=self.n_folds)
        n_folds = 1 + int(np.searchsorted(np.cumsum(sizes), n_rows))
        if n_folds >= self.n_folds:
            return self
        fold_of = np.where(self.fold_of < n_folds, self.fold_of, -1)
        return Folds(fold_of, self.is_trained_on[:n_folds], np.flatnonzero(fold_of >= 0))

    def keep_scored(self, is_kept: NDArray[np.bool_], most_rows: int, seed: int | None) -> Folds:
        """Return the same folds with fewer scored rows: a random subset if there are too many.

        Parameters
        ----------
        is_kept : bool array of shape (n_rows,), which rows may be scored
        most_rows : maximum number of scored rows
        seed : int, optional
        """
        scored = self.scored[is_kept[self.scored]]
        if len(scored) > most_rows:
            generator = borrow_generator(seed)
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

    def without_scores(self) -> Folds:
        """Return the same folds for calibrators alone: no row is scored by every binary."""
        return replace(self, scored=self.scored[:0])

    def trained_on(self, rows: NDArray[np.intp]) -> NDArray[np.bool_] | None:
        """Return which rows the model of a binary is trained on; None for all of them."""
        return self.is_trained_on[0][rows] if self.is_only_part else None


def make_folds(X: Any, class_indices: NDArray[np.intp], cv: Any, seed: int | None) -> Folds:
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
        mask, weight = cv.choose(class_indices, seed)
        fold_of = np.where(mask, 0, -1)
        return Folds(fold_of, ~mask[np.newaxis], np.flatnonzero(mask), True, weight)
    if isinstance(cv, int | np.integer):
        return Folds.from_numbers(deal_rows(class_indices, min(int(cv), n_rows), seed))
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
    return Folds(fold_of, is_trained_on, np.flatnonzero(fold_of >= 0))


def deal_rows(class_indices: NDArray[np.intp], n_folds: int, seed: int | None) -> NDArray[np.intp]:
    """Return the fold of each row; each class is shuffled and dealt out evenly.

    A class continues at the fold after the previous class's last, so that folds have equal sizes.
    A class with fewer rows than folds starts at the first fold, so that rare classes lose rows in
    the same folds: a model of two rows against one would say nothing about one of two against two.

    Examples
    --------
    >>> fold_of = deal_rows(np.array([0, 0, 0, 1, 1, 2, 2]), 3, seed=0)
    >>> for fold in range(3):
    ...     print(np.flatnonzero(fold_of == fold))
    [2 3 6]
    [1 4 5]
    [0]
    """
    order = np.argsort(class_indices, kind="stable")
    sizes = np.bincount(class_indices)
    fold_of = np.empty(len(order), dtype=np.intp)
    fold_of[order] = np.concatenate([order[:0], *deal_classes(sizes, n_folds, seed)])
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
    generator = borrow_generator(seed)
    folds: list[NDArray[Any]] = []
    start = 0
    for size in sizes:
        first = start if size >= n_folds else 0
        dealt = np.arange(first, first + size, dtype=np.intp) % n_folds
        generator.shuffle(dealt)
        folds.append(dealt.astype(dtype, copy=False))
        start += int(size) if size >= n_folds else 0
    return folds


@dataclass(frozen=True, slots=True)
class HoldOut:
    """Holds out one part of the rows, stratified by class.

    Parameters
    ----------
    share : float, the fraction of the rows to hold out

    Examples
    --------
    >>> labels = np.repeat([0, 1], [90, 10])
    >>> mask, weight = HoldOut(0.1).choose(labels, seed=0)
    >>> np.bincount(labels[mask])  # at least a fifth of a rare class, or 20 rows
    array([18,  2])
    """

    share: float

    def choose(
        self, labels: NDArray[Any], seed: int | None = None
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64] | None]:
        """Choose the rows to hold out.

        Parameters
        ----------
        labels : array of shape (n_rows,)
        seed : int, optional

        Returns
        -------
        mask : bool array of shape (n_rows,)
        weight : array of shape (n_rows,), optional
            Weights that restore each class's share of the data; None if all are one.
        """
        mask = np.zeros(len(labels), dtype=np.bool_)
        weight = np.ones(len(labels))
        classes, class_indices = np.unique(labels, return_inverse=True)
        rows_of_class = group_rows(class_indices, len(classes))
        sizes = [len(rows) for rows in rows_of_class]
        for rows, positions in zip(rows_of_class, self.choose_of_classes(sizes, seed), strict=True):
            mask[rows[positions]] = True
            weight[rows[positions]] = self.weight_of(len(rows))
        return mask, None if (weight == 1.0).all() else weight

    def choose_of_classes(
        self, sizes: Sequence[int], seed: int | None = None
    ) -> Iterator[NDArray[np.intp]]:
        """Yield the positions of the rows to hold out, among the rows of each class.

        Parameters
        ----------
        sizes : number of rows of each class
        seed : int, optional
        """
        from sklearn.utils import check_random_state  # here, so that the help is quick

        generator = check_random_state(seed)  # not borrowed: others may draw between the classes
        for size in sizes:
            # The first rows of a permutation, so that each choice contains every smaller one.
            yield generator.permutation(size)[: self.count_of(size)]

    def count_of(self, size: int) -> int:
        """Return how many rows to hold out from a class of this size."""
        n_least = min(_ENOUGH_OF_CLASS, size // _LARGEST_SHARE_OF_CLASS)
        return min(max(round(self.share * size), n_least), size - 1)

    def weight_of(self, size: int) -> float:
        """Return the weight of the rows held out from a class of this size.

        It corrects for the larger share held out from rare classes.
        """
        n_held_out = self.count_of(size)
        return self.share * size / n_held_out if n_held_out > round(self.share * size) else 1.0


@dataclass(frozen=True, slots=True)
class RoutedSplitter:
    """A splitter and further arguments of its ``split``, such as groups, with one value per row."""

    splitter: Any
    parameters: Mapping[str, Any]

    def take(self, rows: NDArray[np.intp], n_rows: int) -> RoutedSplitter:
        """Return the same splitter with the arguments of some of the `n_rows` rows."""
        cut = {name: take_values(value, rows, n_rows) for name, value in self.parameters.items()}
        return RoutedSplitter(self.splitter, cut)


def check_folds(cv: Any) -> None:
    """Raise an ArgumentError unless `cv` is a value that the parameter may have."""
    if isinstance(cv, RoutedSplitter):
        cv = cv.splitter
    is_number = isinstance(cv, int | np.integer) and not isinstance(cv, bool)
    is_share = isinstance(cv, float | np.floating) and 0 < cv < 1
    is_default = cv is None or (isinstance(cv, str) and cv == AUTO_FOLDS)
    if is_share or is_default or (is_number and cv >= 2):
        return
    if not is_number and not isinstance(cv, str):
        if hasattr(cv, "split"):
            return
        if _is_list(cv):
            _check_splits(list(cv), cv)
            return
    raise ArgumentError(
        Argument("cv", cv),
        " must be a number of folds, two or more, None for five, a fraction of the rows to hold "
        'out, "auto", an object with split(X, y), or a list of (training rows, held-out rows).',
    )


def _check_splits(splits: list[Any], cv: Any) -> None:
    """Raise an ArgumentError unless the splits are pairs of lists of rows."""
    if not splits:
        raise ArgumentError(Argument("cv", cv), " has no splits. Give at least one.")
    for number, split in enumerate(splits):
        is_pair = isinstance(split, list | tuple) and len(split) == 2
        if not is_pair or any(np.ndim(part) != 1 or isinstance(part, str) for part in split):
            raise ArgumentError(
                f"split {number} of ",
                Argument("cv"),
                " is not a pair of lists: (training rows, held-out rows).",
            )


def _is_list(cv: Any) -> bool:
    # A generator would be exhausted after the first of many binary problems.
    return isinstance(cv, Iterable) and not isinstance(cv, Iterator)


def choose_folds(cv: Any, n_rows: int) -> Any:
    """Return the folds that a value of ``cv`` means for a number of rows.

    Examples
    --------
    >>> choose_folds("auto", 1000), choose_folds("auto", 1_000_000), choose_folds(0.25, 1000)
    (5, HoldOut(share=0.02), HoldOut(share=0.25))
    """
    if isinstance(cv, str) and cv == AUTO_FOLDS:
        if n_rows < MANY_ROWS:
            return _FOLDS
        return HoldOut(min(_LARGEST_SHARE, _MOST_ROWS / n_rows))
    if cv is None:  # as in scikit-learn
        return _FOLDS
    return HoldOut(float(cv)) if isinstance(cv, float | np.floating) else cv


def is_splitter(cv: Any) -> bool:
    """Return whether a value of ``cv`` is an object with ``split``."""
    return hasattr(cv, "split") and not isinstance(cv, str)


def splits_within(cv: Any, rows: NDArray[np.intp], n_rows: int) -> Any:
    """Return the value of ``cv`` for some of the rows: lists and routed arguments are cut."""
    if isinstance(cv, RoutedSplitter):
        return cv.take(rows, n_rows)
    if isinstance(cv, int | np.integer | HoldOut) or hasattr(cv, "split"):  # "auto" has one too
        return cv
    place = np.full(n_rows, -1)
    place[rows] = np.arange(len(rows))
    found = []
    for split in cv:
        kept = [place[row_numbers(part, n_rows)] for part in split]
        found.append(tuple([part[part >= 0] for part in kept]))
    return found


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
    splitter = _copy_splitter(cv, most_folds, seed)
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


def row_numbers(rows: Any, n_rows: int) -> NDArray[np.intp]:
    """Return the rows of a split, given as numbers or as a mask, as valid row numbers."""
    rows = np.asarray(rows)
    if rows.dtype == np.bool_ and len(rows) == n_rows:
        rows = np.flatnonzero(rows)
    is_whole = rows.dtype.kind in "iu" or not len(rows)
    if not is_whole or np.any((rows < 0) | (rows >= n_rows)):
        raise ArgumentError(
            Argument("cv"),
            f" has a split with rows that X, of {n_rows} rows, does not have. Give row numbers "
            "from 0, or a mask.",
        )
    return np.asarray(rows, dtype=np.intp)


def _copy_splitter(cv: Any, most_folds: float, seed: int | None) -> Any:
    """Return a copy of a splitter with at most `most_folds` folds, and a seed if it has none."""
    # Copied because folds would depend on the order of training if problems shared a generator.
    splitter = copy.deepcopy(cv)
    if getattr(splitter, "random_state", seed) is None:
        splitter.random_state = seed
    if getattr(splitter, "n_splits", 0) > most_folds:
        splitter.n_splits = int(most_folds)
    return splitter
