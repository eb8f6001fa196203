"""The matrix that all problems use: inner products, squared distances or kernel values.

A matrix that fits in memory is computed at once. The rows of a larger matrix are computed when they
are needed: a machine only needs the rows of its support vectors and a few more.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from polytomy.inputs.samples import blocks_of
from polytomy.inputs.sparse import is_sparse
from polytomy.routines.banks.reference import KINDS
from polytomy.routines.kernel_rows.reference import KERNEL_VALUES, RowMaker, nothing_to_make
from polytomy.routines.runtime.dispatch import routine
from polytomy.routines.runtime.threads import run_tasks
from polytomy.svm.kernel_functions import KernelFunction, squared_lengths

__all__ = ["Matrix", "MatrixOnDemand", "MatrixRows", "WholeMatrix", "diagonal_of", "entry_form"]

# Rows and columns of a block, whose inner products stay in the processor's cache.
_BLOCK = 384

# Most bytes of kernel values to sum at a time.
_SUM_BYTES = 2**22


class MatrixRows(NamedTuple):
    """The rows of a matrix, as arguments of routines.

    Attributes
    ----------
    kernel_values : float32 array, empty if the matrix does not hold kernel values
    entries : float64 array, empty if the matrix holds kernel values
    maker : RowMaker, which computes missing rows
    """

    kernel_values: NDArray[np.float32]
    entries: NDArray[np.float64]
    maker: RowMaker


class Matrix(Protocol):
    """A symmetric matrix from which the kernel values of all problems are computed.

    If all problems have the same kernel, the entries are its values, in single precision like
    LIBSVM's. Otherwise the entries are squared distances, for rbf kernels of any gamma, or inner
    products, for all other kernels. These are in double precision, so that each kernel value is
    rounded once, as in LIBSVM, and training takes LIBSVM's steps.
    """

    n_rows: int
    common_kernel: KernelFunction | None
    """The kernel of all problems if they share one; the entries are then its values."""
    squares: NDArray[np.float64]
    """|x|² of the rows."""

    def rows(self) -> MatrixRows:
        """Return the rows, for use by one thread."""
        ...

    def sums(
        self, rows: NDArray[np.intp], weights: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Return Σ_t K(row, t)·weights[t, m] for each row and machine m.

        Return None if some of the kernel values would have to be computed first.

        Parameters
        ----------
        rows : array of shape (n,), rows of the matrix
        weights : array of shape (n_rows, n_machines)

        Returns
        -------
        array of shape (n, n_machines)
        """
        ...


class WholeMatrix:
    """A matrix that is computed at once; see `Matrix`.

    Parameters
    ----------
    X : float64 array or CSR matrix of shape (n_rows, n_features)
        The samples, in the order of the rows of the matrix.
    kind : str
        Kind of the kernels. All kinds except "rbf" can use the same matrix.
    common_kernel : KernelFunction, optional
        The kernel of all problems, if they share one.
    n_threads : int, default=1

    Examples
    --------
    >>> WholeMatrix(np.array([[0.0], [1.0], [3.0]]), "rbf").rows().entries
    array([[0., 1., 9.],
           [1., 0., 4.],
           [9., 4., 0.]])
    """

    def __init__(
        self, X: Any, kind: str, common_kernel: KernelFunction | None = None, n_threads: int = 1
    ) -> None:
        self.common_kernel = common_kernel
        X = _centre(X, kind)
        self.squares = squared_lengths(X)
        self.n_rows = X.shape[0]
        values, entries = _allocate_rows(
            self.n_rows, self.n_rows, holds_kernel_values=common_kernel is not None
        )
        self._rows = MatrixRows(values, entries, nothing_to_make())
        matrix = entries if common_kernel is None else values
        kernel = common_kernel or KernelFunction(kind)
        store = routine("store_products", "kernel_rows")

        def fill(first_row: int) -> None:
            rows = slice(first_row, first_row + _BLOCK)
            for first_column in range(first_row, X.shape[0], _BLOCK):
                columns = slice(first_column, first_column + _BLOCK)
                products = X[rows] @ X[columns].T
                if is_sparse(products):
                    products = products.toarray()
                store(
                    products,
                    self.squares[rows],
                    self.squares[columns],
                    *kernel.code,
                    common_kernel is not None,
                    matrix,
                    first_row,
                    first_column,
                )

        tasks = [partial(fill, first_row) for first_row in range(0, self.n_rows, _BLOCK)]
        for _ in run_tasks(tasks, n_threads):
            pass

    def rows(self) -> MatrixRows:
        """Return all rows."""
        return self._rows

    def sums(
        self, rows: NDArray[np.intp], weights: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Return Σ_t K(row, t)·weights[t, m] for each row and machine m."""
        if self.common_kernel is None:
            return None
        sums = np.empty((len(rows), weights.shape[1]))
        for block in blocks_of(len(rows), 12 * self.n_rows, _SUM_BYTES):
            values = self._rows.kernel_values[rows[block]]
            np.matmul(values.astype(np.float64), weights, out=sums[block])
        return sums


class MatrixOnDemand:
    """A matrix whose rows are computed when needed, and cached while there is room.

    Each thread has its own cache. Results do not depend on which rows are cached.

    Parameters
    ----------
    X : float64 array of shape (n_rows, n_features)
    kind, common_kernel : as for `WholeMatrix`
    n_kept : int
        Number of rows that each thread caches.

    Examples
    --------
    >>> matrix = MatrixOnDemand(np.array([[0.0], [1.0], [3.0]]), "rbf", None, n_kept=2)
    >>> matrix.rows().entries.shape
    (2, 3)
    """

    def __init__(
        self, X: Any, kind: str, common_kernel: KernelFunction | None, n_kept: int
    ) -> None:
        self.common_kernel = common_kernel
        X = _centre(X, kind)
        self.squares = squared_lengths(X)
        self.n_rows = X.shape[0]
        self._features = np.ascontiguousarray(X.T)
        self._kind = KINDS[kind if common_kernel is None else common_kernel.kind]
        self._n_kept = n_kept
        self._local = threading.local()

    def rows(self) -> MatrixRows:
        """Return the rows that this thread has cached so far, and the maker of others."""
        if not hasattr(self._local, "rows"):
            values, entries = _allocate_rows(
                self._n_kept, self.n_rows, holds_kernel_values=self.common_kernel is not None
            )
            maker = RowMaker(
                self._features,
                self.squares,
                self._kind,
                np.full(self.n_rows, -1, dtype=np.int64),
                np.full(self._n_kept, -1, dtype=np.int64),
                np.zeros(1, dtype=np.int64),
            )
            self._local.rows = MatrixRows(values, entries, maker)
        rows: MatrixRows = self._local.rows
        return rows

    def sums(self, rows: NDArray[np.intp], weights: NDArray[np.float64]) -> None:
        """Return None: most kernel values would have to be computed first."""


def entry_form(matrix: Matrix, function: KernelFunction) -> int:
    """Return how to turn matrix entries into kernel values, as a number for routines."""
    return KERNEL_VALUES if matrix.common_kernel is not None else KINDS[function.kind]


def diagonal_of(
    matrix: Matrix, function: KernelFunction, rows: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the kernel values of rows of the matrix with themselves, in double precision."""
    if function.kind == "rbf":
        return np.ones(len(rows))
    return np.asarray(function.from_products(matrix.squares[rows][np.newaxis])[0])


def _centre(X: Any, kind: str) -> Any:
    if kind == "rbf" and not is_sparse(X):
        # This changes no distance, but reduces the rounding error of data far from the origin.
        return X - X.mean(axis=0)
    return X


def _allocate_rows(
    n_kept: int, n_rows: int, *, holds_kernel_values: bool
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return arrays for rows of kernel values and of entries; one of them is empty."""
    shapes = [(n_kept, n_rows), (0, 0)]
    of_values, of_entries = shapes if holds_kernel_values else shapes[::-1]
    return np.empty(of_values, dtype=np.float32), np.empty(of_entries)
