"""Holding out one part of the rows: all that calibration needs if there are many rows."""

from __future__ import annotations

from collections.abc import Iterator
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

# A rare class has more of its rows held out than others, up to this many and to a fifth of them.
_ENOUGH_OF_CLASS = 20
_LARGEST_SHARE_OF_CLASS = 5


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutRows:
    """The rows of one held-out part.

    Attributes
    ----------
    mask : bool array of shape (n_rows,)
    weight : array of shape (n_rows,), optional
        Weights that give each class its share of the data again; None if all are one.
    """

    mask: NDArray[np.bool_]
    weight: NDArray[np.float64] | None


@dataclass(slots=True)
class HoldOut:
    """Holds out one part of the rows, stratified by class. It is also a splitter of scikit-learn.

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
        generator = check_random_state(seed if self.random_state is None else self.random_state)
        mask = np.zeros(len(labels), dtype=np.bool_)
        weight = np.ones(len(labels))
        classes, class_indices = np.unique(labels, return_inverse=True)
        for rows in group_rows(class_indices, len(classes)):
            n_usual = round(self.share * len(rows))
            n_least = min(_ENOUGH_OF_CLASS, len(rows) // _LARGEST_SHARE_OF_CLASS)
            # The first rows of a permutation, so that a choice is part of each larger one.
            n_held_out = min(max(n_usual, n_least), len(rows) - 1)
            chosen = generator.permutation(rows)[:n_held_out]
            mask[chosen] = True
            if n_held_out > n_usual:
                weight[chosen] = self.share * len(rows) / n_held_out
        return HeldOutRows(mask, None if (weight == 1.0).all() else weight)

    def split(
        self, X: Any, y: NDArray[Any], groups: Any = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the rows to train on and those to hold out, once."""
        mask = self.choose(np.asarray(y)).mask
        yield np.flatnonzero(~mask), np.flatnonzero(mask)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return 1."""
        return 1


def choose_folds(cv: Any, n_rows: int) -> Any:
    """Return what a value of ``cv`` stands for with a number of rows.

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
