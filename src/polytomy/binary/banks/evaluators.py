"""Kernel machines on one pool of vectors: dense or sparse.

Both evaluators add Σ_v coefficient[v, machine] · K(vector v, sample) to the scores of all machines
at once, in one compiled pass. Beyond the scores they take bounded memory, whatever the number of
samples and vectors, and they make no second copy of the vectors.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from polytomy.binary.banks.samples import blocks_of, is_sparse
from polytomy.binary.kernel_functions import KernelFunction
from polytomy.kernels.dispatch import kernel

__all__ = ["DenseEvaluator", "Evaluator", "SparseEvaluator", "Weights", "choose_evaluator"]

# Bytes of a block of samples that are made dense, or sparse.
_BLOCK_BYTES = 2**24

Weights = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]


class Evaluator(Protocol):
    """What adds the scores of samples."""

    def add_scores(self, X: Any, scores: NDArray[np.float64]) -> None:
        """Add the machines' sums over the vectors to scores of shape (n_samples, n_machines)."""
        ...


def choose_evaluator(
    function: KernelFunction, vectors: Any, rows: NDArray[np.intp], weights: Weights, dtype: Any
) -> Evaluator:
    """Return the evaluator of dense or of sparse vectors.

    Parameters
    ----------
    function : the kernel
    vectors : array or CSR array of shape (n_stored, n_features)
    rows : the rows of `vectors` that are used
    weights : (starts, machines, coefficients)
        The coefficients of the n-th of these rows, and the machines they belong to, stand between
        starts[n] and starts[n + 1].
    dtype : float64 or float32, precision of inner products and distances
    """
    if is_sparse(vectors):
        return SparseEvaluator(function, vectors, rows, weights, dtype)
    return DenseEvaluator(function, vectors, rows, weights, dtype)


class DenseEvaluator:
    """Dense vectors. Distances are taken from differences, so nothing cancels out.

    In single precision the rbf kernel subtracts the vectors' mean before rounding: large values
    keep the digits that differ.
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
        if dtype != np.float64 and function.kind == "rbf" and len(rows):
            self._centre[...] = self._vectors.mean(axis=0)

    def add_scores(self, X: Any, scores: NDArray[np.float64]) -> None:
        """Add the machines' sums over the vectors."""
        add = kernel("add_dense_scores", "banks")
        for block in _converted_blocks(X, is_converted=is_sparse(X)):
            samples = X[block].toarray() if is_sparse(X) else X[block]
            vectors, code = self._vectors, self._function.code
            add(samples, vectors, self._rows, self._centre, code, self._weights, scores[block])


class SparseEvaluator:
    """Sparse vectors; dense samples are made sparse, as scikit-learn's SVC does."""

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
        add = kernel("add_sparse_scores", "banks")
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
    """Return the blocks in which samples are evaluated: one if they need no conversion."""
    n_rows, n_features = X.shape
    return blocks_of(n_rows, 8 * n_features, _BLOCK_BYTES) if is_converted else [slice(0, n_rows)]
