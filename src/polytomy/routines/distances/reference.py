"""Distances between sets of points, in plain NumPy: the oracle of the compiled twin."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

__all__ = ["hausdorff_matrix"]

_BLOCK_BYTES = 2**24


def hausdorff_matrix(rows: NDArray[np.float64], starts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the Euclidean Hausdorff distances between sets of points.

    Parameters
    ----------
    rows : array of shape (n_points, n_features), one set after the other
    starts : array of shape (n_sets + 1,); set i is rows[starts[i]:starts[i + 1]], not empty

    Returns
    -------
    array of shape (n_sets, n_sets), symmetric

    Examples
    --------
    >>> hausdorff_matrix(np.array([[0.0], [1.0], [4.0]]), np.array([0, 2, 3]))
    array([[0., 4.],
           [4., 0.]])
    """
    sets = np.split(rows, starts[1:-1])
    matrix = np.zeros((len(sets), len(sets)))
    for i, j in combinations(range(len(sets)), 2):
        matrix[i, j] = matrix[j, i] = _hausdorff(sets[i], sets[j])
    return matrix


def _hausdorff(A: NDArray[np.float64], B: NDArray[np.float64]) -> float:
    step = max(1, _BLOCK_BYTES // (8 * len(B)))
    farthest, from_b = 0.0, np.full(len(B), np.inf)
    for start in range(0, len(A), step):
        distances = cdist(A[start : start + step], B)
        farthest = max(farthest, float(distances.min(axis=1).max()))
        np.minimum(from_b, distances.min(axis=0), out=from_b)
    return max(farthest, float(from_b.max()))
