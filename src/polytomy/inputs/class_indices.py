"""The rows of each class."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["group_rows"]


def group_rows(class_indices: NDArray[np.integer], n_classes: int) -> tuple[NDArray[np.intp], ...]:
    """Return the rows of each class.

    Parameters
    ----------
    class_indices : array of shape (n_samples,)
        Index of each sample's class; −1 for a sample whose class is not in the scheme.
    n_classes : int

    Returns
    -------
    tuple of n_classes arrays, each ascending

    Examples
    --------
    >>> group_rows(np.array([1, 0, 1, -1]), 3)
    (array([1]), array([0, 2]), array([], dtype=int64))
    """
    # A stable sort keeps the rows of each class in ascending order.
    by_class = np.argsort(class_indices, kind="stable")
    starts = np.searchsorted(class_indices[by_class], np.arange(n_classes + 1))
    return tuple(by_class[a:b] for a, b in pairwise(starts))
