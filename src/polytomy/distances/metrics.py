"""Distances between samples, in blocks: SciPy's metrics, and Euclidean for sparse data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError, DataError, PythonOnly
from polytomy.inputs.arguments import did_you_mean
from polytomy.inputs.class_samples import ClassSamples, Rows

__all__ = ["METRICS", "SampleMetric", "check_metric"]

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


def check_metric(metric: str) -> str:
    """Return the name of a metric, or raise ArgumentError that suggests a similar one."""
    if not isinstance(metric, str) or metric not in METRICS:
        raise ArgumentError(
            Argument("metric", metric),
            f" is not one of {', '.join(METRICS)}.{did_you_mean(metric, METRICS)}",
        )
    return metric


class SampleMetric:
    """A metric between samples, with its parameters estimated from all samples.

    Variances ("seuclidean") and covariances ("mahalanobis") are estimated from all classes, so that
    the distances between different pairs of classes can be compared.
    """

    def __init__(self, metric: str, samples: ClassSamples) -> None:
        self.name = check_metric(metric)
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
