"""Holding out one part of the rows, which is enough for calibration if there are many rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from polytomy.inputs.class_indices import group_rows

__all__ = ["AUTO_FOLDS", "MANY_ROWS", "HeldOutRows", "HoldOut", "choose_folds", "is_splitter"]

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
class HeldOutRows:
    """The rows of one held-out part.

    Attributes
    ----------
    mask : bool array of shape (n_rows,)
    weight : array of shape (n_rows,), optional
        Weights that restore each class's share of the data; None if all are one.
    """

    mask: NDArray[np.bool_]
    weight: NDArray[np.float64] | None


@dataclass(slots=True)
class HoldOut:
    """Holds out one part of the rows, stratified by class. It is also a scikit-learn splitter.

    Parameters
    ----------
    share : float, the fraction of the rows to hold out
    random_state : int, optional

    Examples
    --------
    >>> labels = np.repeat([0, 1], [90, 10])
    >>> held_out = HoldOut(0.1, random_state=0).choose(labels)
    >>> np.bincount(labels[held_out.mask])  # at least a fifth of a rare class, or 20 rows
    array([18,  2])
    """

    share: float
    random_state: int | None = None

    def choose(self, labels: NDArray[Any], seed: int | None = None) -> HeldOutRows:
        """Return the rows to hold out.

        Parameters
        ----------
        labels : array of shape (n_rows,)
        seed : int, optional, if there is no `random_state`
        """
        mask = np.zeros(len(labels), dtype=np.bool_)
        weight = np.ones(len(labels))
        classes, class_indices = np.unique(labels, return_inverse=True)
        rows_of_class = group_rows(class_indices, len(classes))
        sizes = [len(rows) for rows in rows_of_class]
        for rows, positions in zip(rows_of_class, self.choose_of_classes(sizes, seed), strict=True):
            mask[rows[positions]] = True
            weight[rows[positions]] = self.weight_of(len(rows))
        return HeldOutRows(mask, None if (weight == 1.0).all() else weight)

    def choose_of_classes(
        self, sizes: Sequence[int], seed: int | None = None
    ) -> Iterator[NDArray[np.intp]]:
        """Yield the positions of the rows to hold out, among the rows of each class.

        Parameters
        ----------
        sizes : number of rows of each class
        seed : int, optional, if there is no `random_state`
        """
        generator = check_random_state(seed if self.random_state is None else self.random_state)
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

    def split(
        self, X: Any, y: NDArray[Any], groups: Any = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield once the rows to train on and the rows to hold out."""
        mask = self.choose(np.asarray(y)).mask
        yield np.flatnonzero(~mask), np.flatnonzero(mask)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return 1."""
        return 1


def choose_folds(cv: Any, n_rows: int) -> Any:
    """Return the folds that a value of ``cv`` means for a number of rows.

    Examples
    --------
    >>> choose_folds("auto", 1000), choose_folds("auto", 1_000_000), choose_folds(0.25, 1000)
    (5, HoldOut(share=0.02, random_state=None), HoldOut(share=0.25, random_state=None))
    """
    if isinstance(cv, str) and cv == AUTO_FOLDS:
        if n_rows < MANY_ROWS:
            return _FOLDS
        return HoldOut(min(_LARGEST_SHARE, _MOST_ROWS / n_rows))
    return HoldOut(float(cv)) if isinstance(cv, float | np.floating) else cv


def is_splitter(cv: Any) -> bool:
    """Return whether a value of ``cv`` is an object with ``split``."""
    return hasattr(cv, "split") and not isinstance(cv, str)
