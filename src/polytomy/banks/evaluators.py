"""Evaluation of kernel machines on one pool of vectors, dense or sparse.

Both evaluators add Σ_v coefficient[v, machine] · K(vector v, sample) to the scores of all machines,
in one pass of a compiled routine. Apart from the scores, their memory is bounded, whatever the
number of samples and vectors, and they keep no second copy of the vectors in double precision.

BLAS does not compute the inner products: its threads and the routine's threads would wait for each
other, and writing and reading a matrix of products was slower overall, even with hundreds of
features.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from polytomy.inputs.samples import blocks_of
from polytomy.inputs.sparse import is_sparse
from polytomy.routines.runtime.dispatch import routine
from polytomy.svm.kernel_functions import LARGEST_EXPONENT, KernelFunction, squared_lengths

__all__ = ["DenseEvaluator", "Evaluator", "SparseEvaluator", "Weights", "make_evaluator"]

# Smallest number of features for which inner products are faster than differences.
_WIDE = 32
# Block size for converting samples to dense or sparse, and for centring vectors.
_BLOCK_BYTES = 2**24

Weights = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]


class Evaluator(Protocol):
    """Adds the scores of samples."""

    def add_scores(self, X: Any, scores: NDArray[np.float64]) -> None:
        """Add the machines' sums over the vectors to scores of shape (n_samples, n_machines)."""
        ...


def make_evaluator(
    function: KernelFunction, vectors: Any, rows: NDArray[np.intp], weights: Weights, dtype: Any
) -> Evaluator:
    """Return the evaluator of dense or of sparse vectors.

    Parameters
    ----------
    function : the kernel
    vectors : array or CSR array of shape (n_stored, n_features)
    rows : the rows of `vectors` that are used
    weights : (starts, machines, coefficients)
        The coefficients of the n-th of these rows, and the machines they belong to, are at
        starts[n] to starts[n + 1].
    dtype : float64 or float32, precision of inner products and distances
    """
    if is_sparse(vectors):
        return SparseEvaluator(function, vectors, rows, weights, dtype)
    return DenseEvaluator(function, vectors, rows, weights, dtype)


class DenseEvaluator:
    """Evaluates dense vectors; sparse samples are converted to dense ones.

    The rbf kernel computes distances from differences or, if there are many features, from inner
    products by |x|² + |y|² − 2x·y, which is faster. The rounding error of the latter is relative to
    the squared lengths, so the mean of the vectors is subtracted from vectors and samples first,
    and differences are used if some vector is still too long. In single precision, the mean is
    always subtracted before rounding, so that large values keep the digits that differ.
    """

    def __init__(
        self,
        function: KernelFunction,
        vectors: NDArray[np.float64],
        rows: NDArray[np.intp],
        weights: Weights,
        dtype: Any,
    ) -> None:
        self._function, self._rows, self._weights = function, rows, weights
        self._vectors = np.ascontiguousarray(vectors, dtype=np.float64)
        self._centre = np.zeros(vectors.shape[1], dtype)
        self._squares = np.empty(0, dtype)
        if function.kind != "rbf" or not len(rows):
            return
        centre = self._vectors.mean(axis=0).astype(dtype)
        squares = _squared_distances(self._vectors, rows, centre)
        is_fast = len(centre) >= _WIDE and function.gamma * squares.max() <= LARGEST_EXPONENT
        if is_fast:
            self._squares = squares.astype(dtype)
        if is_fast or dtype != np.float64:
            self._centre = centre

    def add_scores(self, X: Any, scores: NDArray[np.float64]) -> None:
        """Add the machines' sums over the vectors."""
        add = routine("add_dense_scores", "banks")
        for block in _converted_blocks(X, is_converted=is_sparse(X)):
            samples = X[block].toarray() if is_sparse(X) else X[block]
            vectors, code = self._vectors, self._function.code
            more = self._centre, self._squares, code, self._weights
            add(samples, vectors, self._rows, *more, scores[block])


class SparseEvaluator:
    """Evaluates sparse vectors; dense samples are converted to sparse ones, as in SVC."""

    def __init__(
        self,
        function: KernelFunction,
        vectors: csr_array,
        rows: NDArray[np.intp],
        weights: Weights,
        dtype: Any,
    ) -> None:
        self._function, self._rows, self._weights = function, rows, weights
        self._vectors = vectors.astype(dtype, copy=False)

    def add_scores(self, X: Any, scores: NDArray[np.float64]) -> None:
        """Add the machines' sums over the vectors."""
        add = routine("add_sparse_scores", "banks")
        vectors = self._vectors
        for block in _converted_blocks(X, is_converted=not is_sparse(X)):
            samples = csr_array(X[block]).astype(vectors.dtype, copy=False)
            add(
                (samples.data, samples.indices, samples.indptr),
                (vectors.data, vectors.indices, vectors.indptr),
                self._rows,
                vectors.shape[1],
                self._function.code,
                self._weights,
                scores[block],
            )


def _converted_blocks(X: Any, *, is_converted: bool) -> Any:
    """Return the blocks of samples to evaluate: a single block unless they are converted."""
    n_rows, n_features = X.shape
    return blocks_of(n_rows, 8 * n_features, _BLOCK_BYTES) if is_converted else [slice(0, n_rows)]


def _squared_distances(
    vectors: NDArray[np.float64], rows: NDArray[np.intp], centre: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the squared distances of vectors from a point."""
    blocks = blocks_of(len(rows), 8 * len(centre), _BLOCK_BYTES)
    return np.concatenate([squared_lengths(vectors[rows[block]] - centre) for block in blocks])
