"""The matrix that all problems share: inner products, squared distances or kernel values."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from polytomy.binary.banks.samples import is_sparse
from polytomy.binary.kernel_functions import KernelFunction, squared_lengths
from polytomy.binary.shared.suitability import check_range
from polytomy.kernels.dispatch import kernel
from polytomy.kernels.reference_banks import KINDS

__all__ = ["SharedMatrix"]

# Rows and columns of a block: its inner products stay in the processor's cache.
_BLOCK = 384


class SharedMatrix:
    """A symmetric matrix from whose entries the kernel values of all problems are made.

    Entries are in single precision, as are the kernel values that LIBSVM keeps, and computed in
    double precision before they are rounded, as these are. Where all problems
    have one kernel the entries are its values. The rest is made when it is needed: squared
    distances serve rbf kernels of any gamma, inner products all other kernels.

    Parameters
    ----------
    X : float64 array or CSR matrix of shape (n_rows, n_features)
        The rows of the matrix, in its order.
    kind : str
        Kind of the kernels; those other than "rbf" go together.
    finished : KernelFunction, optional
        The kernel of all problems, if they have one only.
    n_threads : int, default=1

    Attributes
    ----------
    entries : float32 array of shape (n_rows, n_rows)
    finished : KernelFunction, optional

    Examples
    --------
    >>> SharedMatrix(np.array([[0.0], [1.0], [3.0]]), "rbf").entries
    array([[0., 1., 9.],
           [1., 0., 4.],
           [9., 4., 0.]], dtype=float32)
    """

    def __init__(
        self, X: Any, kind: str, finished: KernelFunction | None = None, n_threads: int = 1
    ) -> None:
        self.finished = finished
        if kind == "rbf" and not is_sparse(X):
            # Changes no distance, but what rounding does to those of data far from the origin.
            X = X - X.mean(axis=0)
        self._squares = squared_lengths(X)
        self.entries = np.empty((X.shape[0], X.shape[0]), dtype=np.float32)
        how = finished or KernelFunction(kind)
        store = kernel("store_products", "kernel_rows", is_serial=True)

        def fill(first_row: int) -> None:
            rows = slice(first_row, first_row + _BLOCK)
            for first_column in range(first_row, X.shape[0], _BLOCK):
                columns = slice(first_column, first_column + _BLOCK)
                products = X[rows] @ X[columns].T
                if is_sparse(products):
                    products = products.toarray()
                store(
                    products,
                    self._squares[rows],
                    self._squares[columns],
                    *how.code,
                    finished is not None,
                    self.entries,
                    first_row,
                    first_column,
                )

        # The threads are over the blocks; those within a small matrix product cost more than it.
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(n_threads) as pool:
            for _ in pool.map(fill, range(0, X.shape[0], _BLOCK)):
                pass

    def form(self, function: KernelFunction) -> int:
        """Return how entries become values of a kernel, as a number for compiled code."""
        return KINDS["linear"] if self.finished is not None else KINDS[function.kind]

    def check_range(self, function: KernelFunction) -> None:
        """Raise an UnsuitableError where values of a kernel are too large for the matrix."""
        check_range(function, float(self._squares.max()))

    def diagonal(self, function: KernelFunction, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the kernel values of rows of the matrix with themselves, in double precision."""
        if function.kind == "rbf":
            return np.ones(len(rows))
        return function.from_products(self._squares[rows][:, np.newaxis])[:, 0]
