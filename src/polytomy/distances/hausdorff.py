"""Hausdorff distances between classes."""

from __future__ import annotations

from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.distances.class_distances import ClassDistances
from polytomy.distances.metrics import SampleMetric, check_metric
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.class_samples import ClassSamples, Rows, check_two_classes, group_samples
from polytomy.routines.dispatch import routine
from polytomy.routines.reference.distances import hausdorff_matrix as small_hausdorff_matrix

__all__ = ["hausdorff", "robust_hausdorff"]

# Pairs of samples times features. Less work than this does not justify loading compiled routines.
_LEAST_WORK = 2 * 10**7


def hausdorff(X: Any, y: ArrayLike, *, metric: str = "euclidean") -> ClassDistances:
    """Return the Hausdorff distances between the classes, exact and symmetric.

    This is the largest distance from a sample of either class to the nearest sample of the other:
    max(max_a min_b d(a, b), max_b min_a d(a, b)).

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        Sparse data needs the Euclidean metric.
    y : array of shape (n_samples,), labels of any kind
    metric : name of a metric of scipy.spatial.distance.cdist

    Examples
    --------
    >>> print(hausdorff([[0.0], [1.0], [4.0], [9.0]], ["a", "a", "b", "c"]))
    hausdorff  a  b  c
            a  0  4  9
            b  4  0  5
            c  9  5  0
    """
    check_metric(metric)
    samples = check_two_classes(group_samples(X, y))
    if metric == "euclidean" and not samples.is_sparse:
        matrix = _euclidean(samples)
    else:
        matrix = _quantiles(samples, metric, 1.0)
    return ClassDistances(samples.classes, matrix, "hausdorff")


def robust_hausdorff(
    X: Any, y: ArrayLike, *, quantile: float = 0.95, metric: str = "euclidean"
) -> ClassDistances:
    """Return Hausdorff distances with a quantile instead of the outer maximum.

    So the distance is not determined by a few outliers (Huttenlocher, Klanderman and Rucklidge
    1993).
    ``quantile=1`` gives the Hausdorff distance.

    Parameters
    ----------
    X, y, metric : see `hausdorff`
    quantile : quantile of the samples' distances to the other class, above 0 and at most 1

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [90.0], [3.0]]
    >>> robust_hausdorff(X, [0, 0, 0, 0, 1], quantile=0.5)[0, 1]
    2.5
    """
    if not (isinstance(quantile, Real) and 0 < quantile <= 1):
        raise ArgumentError(
            Argument("quantile", quantile),
            " is not above 0 and at most 1. Use ",
            Argument("quantile", 0.95),
            ".",
        )
    check_metric(metric)
    samples = check_two_classes(group_samples(X, y))
    return ClassDistances(
        samples.classes, _quantiles(samples, metric, quantile), "robust hausdorff"
    )


def _euclidean(samples: ClassSamples) -> NDArray[np.float64]:
    counts = samples.counts.astype(np.float64)
    pairs = (counts.sum() ** 2 - (counts**2).sum()) / 2
    is_small = pairs * samples.rows.shape[1] < _LEAST_WORK
    compiled = routine("hausdorff_matrix", "distances")
    run = small_hausdorff_matrix if is_small else compiled
    matrix: NDArray[np.float64] = run(np.ascontiguousarray(samples.rows), samples.starts)
    return matrix


def _quantiles(samples: ClassSamples, metric: str, quantile: float) -> NDArray[np.float64]:
    parts = list(samples)
    distance = SampleMetric(metric, samples)
    matrix = np.zeros((len(parts), len(parts)))
    for i, j in combinations(range(len(parts)), 2):
        to_other = _nearest(distance, parts[i], parts[j])
        matrix[i, j] = matrix[j, i] = max(np.quantile(nearest, quantile) for nearest in to_other)
    return matrix


def _nearest(
    distance: SampleMetric, A: Rows, B: Rows
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distance from each row of A to the nearest row of B, and vice versa."""
    from_a, from_b = np.empty(A.shape[0]), np.full(B.shape[0], np.inf)
    for block, distances in distance.blocks(A, B):
        from_a[block] = distances.min(axis=1)
        np.minimum(from_b, distances.min(axis=0), out=from_b)
    return from_a, from_b
