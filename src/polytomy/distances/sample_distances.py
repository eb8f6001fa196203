"""Distances between classes from the distances between their samples."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from polytomy.distances.class_distances import ClassDistances
from polytomy.errors import Argument, ArgumentError, DataError, PythonOnly
from polytomy.inputs.arguments import as_count, did_you_mean
from polytomy.inputs.class_samples import ClassSamples, Rows, check_two_classes, group_samples
from polytomy.inputs.seeds import RandomState, as_generator
from polytomy.routines.dispatch import routine
from polytomy.routines.reference.distances import hausdorff_matrix as small_hausdorff_matrix

METRICS = (
    "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "dice",
    "euclidean", "hamming", "jaccard", "jensenshannon", "mahalanobis", "minkowski",
    "rogerstanimoto", "russellrao", "seuclidean", "sokalsneath", "sqeuclidean", "yule",
)  # fmt: skip

_ON_TRUTH_VALUES = {"dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"}

_BLOCK_BYTES = 2**24
# |x|² + |y|² − 2xy loses digits if it is small compared with |x|² + |y|². Below this fraction, the
# distance is computed from x − y instead.
_CANCELLED = 1e-3
# Pairs of samples times features. Less work than this does not justify loading compiled routines.
_LEAST_WORK = 2 * 10**7


def check_metric(metric: str) -> None:
    """Raise ArgumentError that suggests a similar name unless a metric is one of METRICS."""
    if not isinstance(metric, str) or metric not in METRICS:
        raise ArgumentError(
            Argument("metric", metric),
            f" is not one of {', '.join(METRICS)}.{did_you_mean(metric, METRICS)}",
        )


class SampleMetric:
    """A metric between samples, with its parameters estimated from all samples.

    Variances ("seuclidean") and covariances ("mahalanobis") are estimated from all classes, so that
    the distances between different pairs of classes can be compared.
    """

    def __init__(self, metric: str, samples: ClassSamples) -> None:
        self.name = metric
        self._parameters: dict[str, Any] = {}
        self._dtype = np.bool_ if metric in _ON_TRUTH_VALUES else np.float64
        if samples.is_sparse:
            if metric != "euclidean":
                raise ArgumentError(
                    Argument("metric", metric),
                    " needs dense data. Use ",
                    Argument("metric", "euclidean"),
                    PythonOnly(", or X.toarray() if it fits in memory"),
                    ".",
                )
        elif metric == "seuclidean":
            variances = samples.rows.var(axis=0, ddof=1) if len(samples.rows) > 1 else 1.0
            # A constant feature adds nothing to a distance, whatever its scale.
            self._parameters["V"] = np.where(variances > 0, variances, 1.0)
        elif metric == "mahalanobis":
            covariance = np.atleast_2d(np.cov(samples.rows, rowvar=False))
            self._parameters["VI"] = np.linalg.pinv(covariance, hermitian=True)

    def blocks(self, A: Rows, B: Rows) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield blocks of rows of A with their distances to all rows of B, in bounded memory."""
        n_rows, n_columns = A.shape[0], B.shape[0]
        step = max(1, _BLOCK_BYTES // (8 * n_columns))
        for start in range(0, n_rows, step):
            block = slice(start, min(n_rows, start + step))
            distances = self._between(A[block], B)
            if not np.isfinite(distances).all():
                raise DataError(
                    Argument("metric", self.name),
                    " is not defined for some of these samples, such as all zeros. Use ",
                    Argument("metric", "euclidean"),
                    ".",
                )
            yield block, distances

    def _between(self, A: Rows, B: Rows) -> NDArray[np.float64]:
        if scipy.sparse.issparse(A):
            return _sparse_euclidean(A, B)
        parts = A.astype(self._dtype, copy=False), B.astype(self._dtype, copy=False)
        distances = scipy.spatial.distance.cdist(*parts, metric=self.name, **self._parameters)  # type: ignore[call-overload]
        return np.asarray(distances)


def _sparse_euclidean(A: Rows, B: Rows) -> NDArray[np.float64]:
    norms = np.add.outer(_squared_norms(A), _squared_norms(B))
    squares = norms - 2 * (A @ B.T).toarray()
    rows, columns = np.nonzero(squares <= _CANCELLED * norms)
    width = max(1, int(A.nnz / max(1, A.shape[0])) + int(B.nnz / max(1, B.shape[0])))
    step = max(1, _BLOCK_BYTES // (16 * width))
    for start in range(0, len(rows), step):
        few = slice(start, start + step)
        squares[rows[few], columns[few]] = _squared_norms(A[rows[few]] - B[columns[few]])
    distances: NDArray[np.float64] = np.sqrt(squares)
    return distances


def _squared_norms(rows: Rows) -> NDArray[np.float64]:
    return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()


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


def energy(
    X: Any,
    y: ArrayLike,
    *,
    metric: str = "euclidean",
    max_samples: int | None = 1000,
    random_state: RandomState = 0,
) -> ClassDistances:
    """Return the energy distances between the classes (Székely and Rizzo 2013).

    The energy distance is the square root of ``2 E|a − b| − E|a − a'| − E|b − b'|``, with means
    over all pairs of samples. It compares whole distributions, and is zero only if they are equal.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels of any kind
    metric : name of a metric of scipy.spatial.distance.cdist; a negative sum is replaced by zero
    max_samples : size of the random subsample of each class, or None to use all samples; the work
        grows with its square
    random_state : int, generator or None, for the subsample

    Examples
    --------
    >>> energy([[0.0], [2.0]], ["a", "b"])["a", "b"]
    2.0
    """
    check_metric(metric)
    most = None if max_samples is None else as_count("max_samples", max_samples)
    samples = check_two_classes(group_samples(X, y))
    random = as_generator(random_state)
    if most is not None:
        samples = samples.take(np.flatnonzero(samples.draw_ranks(random) < most))
    parts = list(samples)
    distance = SampleMetric(metric, samples)
    means = np.array([[_mean_distance(distance, a, b) if j <= i else 0.0
                       for j, b in enumerate(parts)] for i, a in enumerate(parts)])  # fmt: skip
    means += np.tril(means, -1).T
    own = np.diag(means)
    matrix = np.sqrt(np.maximum(2 * means - own - own[:, np.newaxis], 0))
    return ClassDistances(samples.classes, matrix, "energy")


def _mean_distance(distance: SampleMetric, A: Rows, B: Rows) -> float:
    total = sum(float(distances.sum()) for _, distances in distance.blocks(A, B))
    return float(total / (A.shape[0] * B.shape[0]))
