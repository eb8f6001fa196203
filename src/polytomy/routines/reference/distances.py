"""Distances between sets of points, in plain NumPy: the oracle of the compiled twin."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from polytomy.routines.dispatch import spend

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
    n_sets = len(starts) - 1
    spend(1e-5 * n_sets**2 + 1e-9 * len(rows) ** 2 * (2.0 + rows.shape[1]))
    matrix = np.zeros((n_sets, n_sets))
    for i in range(n_sets - 1):
        own, others = rows[starts[i] : starts[i + 1]], rows[starts[i + 1] :]
        distances = _distances_from(own, others, starts[i + 1 : -1] - starts[i + 1])
        matrix[i, i + 1 :] = matrix[i + 1 :, i] = distances
    return matrix


def _distances_from(
    own: NDArray[np.float64], others: NDArray[np.float64], starts: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the distances from one set to each of several, which start at these rows."""
    step = max(1, _BLOCK_BYTES // (8 * len(others)))
    farthest, from_others = np.zeros(len(starts)), np.full(len(others), np.inf)
    for start in range(0, len(own), step):
        distances = scipy.spatial.distance.cdist(own[start : start + step], others)
        nearest = np.minimum.reduceat(distances, starts, axis=1)  # in each of the other sets
        np.maximum(farthest, nearest.max(axis=0), out=farthest)
        np.minimum(from_others, distances.min(axis=0), out=from_others)
    return np.maximum(farthest, np.maximum.reduceat(from_others, starts))
