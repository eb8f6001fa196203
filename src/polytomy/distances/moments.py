"""Distances between classes from their means and spreads alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from polytomy.distances.class_distances import ClassDistances
from polytomy.inputs.class_samples import ClassSamples, Rows, check_two_classes, group_samples

__all__ = ["centroid"]


def centroid(X: Any, y: ArrayLike) -> ClassDistances:
    """Return the distances between class means, relative to the spreads of the classes.

    This is ``|μ_i − μ_j| / sqrt(σ_i σ_j)`` with ``σ² = Σ|x − μ|² / (n − 1)`` (Mills 2019). A class
    without spread, such as a single sample, gets the pooled spread of all classes. If no class has
    spread, the distances are those between the means.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels of any kind

    Examples
    --------
    >>> round(centroid([[0.0], [2.0], [7.0], [9.0]], ["a", "a", "b", "b"])["a", "b"], 4)  # 7 / √2
    4.9497
    """
    samples = check_two_classes(group_samples(X, y))
    means = samples.means()
    spreads = _spreads(samples, means)
    matrix = scipy.spatial.distance.cdist(means, means) / np.sqrt(np.outer(spreads, spreads))
    return ClassDistances(samples.classes, matrix, "centroid")


def _spreads(samples: ClassSamples, means: NDArray[np.float64]) -> NDArray[np.float64]:
    squares = np.array(
        [_squares_about(part, mean) for part, mean in zip(samples, means, strict=True)]
    )
    degrees = samples.counts - 1
    within = np.sqrt(squares.sum() / max(1, degrees.sum())) or 1.0
    own = np.sqrt(squares / np.maximum(1, degrees))
    return np.where(own > 0, own, within)


def _squares_about(rows: Rows, mean: NDArray[np.float64]) -> float:
    """Return Σ|x − μ|²; exactly zero for equal rows, however their mean is rounded."""
    if not (rows.max(axis=0) != rows.min(axis=0)).sum():
        return 0.0
    if isinstance(rows, np.ndarray):
        return float(((rows - mean) ** 2).sum())
    # Stored entries deviate by x − μ, and entries that are not stored by μ.
    n_stored = np.bincount(rows.indices, minlength=len(mean))
    deviations = rows.data - mean[rows.indices]
    return float((deviations**2).sum() + ((rows.shape[0] - n_stored) * mean**2).sum())
