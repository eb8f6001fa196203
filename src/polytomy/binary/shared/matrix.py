"""The matrix that all problems share: inner products, squared distances or kernel values."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.binary.banks.samples import is_sparse
from polytomy.binary.kernel_functions import KernelFunction, squared_lengths
from polytomy.binary.shared.suitability import check_range
from polytomy.kernels.dispatch import kernel
from polytomy.kernels.reference_banks import KINDS
from polytomy.kernels.reference_kernel_rows import FINISHED

__all__ = ["SharedMatrix"]

# Rows and columns of a block: its inner products stay in the processor's cache.
_BLOCK = 384


class SharedMatrix:
    """A symmetric matrix from whose entries the kernel values of all problems are made.

    Where all problems have one kernel the entries are its values, in single precision, as are
    those that LIBSVM keeps. Else the rest is made when it is needed: squared distances serve rbf
    kernels of any gamma, inner products all other kernels. These are in double precision, so that
    kernel values are rounded once, as LIBSVM's are, and its steps can be taken.

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
    n_rows : int
    kernel_values : float32 array of shape (n_rows, n_rows), or (0, 0) where there are entries
    entries : float64 array of shape (n_rows, n_rows), or (0, 0) where there are kernel values
    finished : KernelFunction, optional

    Examples
    --------
    >>> SharedMatrix(np.array([[0.0], [1.0], [3.0]]), "rbf").entries
    array([[0., 1., 9.],
           [1., 0., 4.],
           [9., 4., 0.]])
    """

    def __init__(
        self, X: Any, kind: str, finished: KernelFunction | None = None, n_threads: int = 1
    ) -> None:
        self.finished = finished
        if kind == "rbf" and not is_sparse(X):
            # Changes no distance, but what rounding does to those of data far from the origin.
            X = X - X.mean(axis=0)
        self._squares = squared_lengths(X)
        self.n_rows = X.shape[0]
        shapes = [(self.n_rows, self.n_rows), (0, 0)]
        of_values, of_entries = shapes if finished is not None else shapes[::-1]
        self.kernel_values = np.empty(of_values, dtype=np.float32)
        self.entries = np.empty(of_entries)
        matrix = self.entries if finished is None else self.kernel_values
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
                    matrix,
                    first_row,
                    first_column,
                )

        first_rows = range(0, self.n_rows, _BLOCK)
        if n_threads == 1:
            for first_row in first_rows:
                fill(first_row)
        else:
            with ThreadPoolExecutor(n_threads) as pool:
                for _ in pool.map(fill, first_rows):
                    pass

    def form(self, function: KernelFunction) -> int:
        """Return how entries become values of a kernel, as a number for compiled code."""
        return FINISHED if self.finished is not None else KINDS[function.kind]

    def check_range(self, function: KernelFunction) -> None:
        """Raise an UnsuitableError where values of a kernel are too large for the matrix."""
        check_range(function, float(self._squares.max()))

    def diagonal(self, function: KernelFunction, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the kernel values of rows of the matrix with themselves, in double precision."""
        if function.kind == "rbf":
            return np.ones(len(rows))
        return function.from_products(self._squares[rows][:, np.newaxis])[:, 0]
