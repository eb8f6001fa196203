"""The matrix that all problems share: inner products, squared distances or kernel values.

One that fits in memory is computed at once. Of one that does not, rows are made when they are
needed: a machine asks only for those of its support vectors, and of some more.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from polytomy.inputs.sparse import is_sparse
from polytomy.routines.banks.reference import KINDS
from polytomy.routines.kernel_rows.reference import FINISHED, RowMaker, nothing_to_make
from polytomy.routines.runtime.dispatch import routine
from polytomy.svm.kernel_functions import KernelFunction, squared_lengths

__all__ = ["Matrix", "MatrixRows", "RowsOnDemand", "SharedMatrix", "diagonal_of", "form_of"]

# Rows and columns of a block: its inner products stay in the processor's cache.
_BLOCK = 384


class MatrixRows(NamedTuple):
    """The rows of a matrix, as compiled code takes them: those there are, and how others are made.

    Attributes
    ----------
    kernel_values : float32 array, without rows where there are entries
    entries : float64 array, without rows where there are kernel values
    maker : RowMaker
    """

    kernel_values: NDArray[np.float32]
    entries: NDArray[np.float64]
    maker: RowMaker


class Matrix(Protocol):
    """A symmetric matrix from whose entries the kernel values of all problems are made.

    Where all problems have one kernel the entries are its values, in single precision, as are
    those that LIBSVM keeps. Else the rest is made when it is needed: squared distances serve rbf
    kernels of any gamma, inner products all other kernels. These are in double precision, so that
    kernel values are rounded once, as LIBSVM's are, and its steps can be taken.
    """

    n_rows: int
    finished: KernelFunction | None
    """The kernel of all problems, if they have one only."""
    squares: NDArray[np.float64]
    """|x|² of the rows."""

    def rows(self) -> MatrixRows:
        """Return the rows, for use by one thread."""
        ...


class SharedMatrix:
    """A matrix that is computed at once; see `Matrix`.

    Parameters
    ----------
    X : float64 array or CSR matrix of shape (n_rows, n_features)
        The rows of the matrix, in its order.
    kind : str
        Kind of the kernels; those other than "rbf" go together.
    finished : KernelFunction, optional
        The kernel of all problems, if they have one only.
    n_threads : int, default=1

    Examples
    --------
    >>> SharedMatrix(np.array([[0.0], [1.0], [3.0]]), "rbf").rows().entries
    array([[0., 1., 9.],
           [1., 0., 4.],
           [9., 4., 0.]])
    """

    def __init__(
        self, X: Any, kind: str, finished: KernelFunction | None = None, n_threads: int = 1
    ) -> None:
        self.finished = finished
        X = _centred(X, kind)
        self.squares = squared_lengths(X)
        self.n_rows = X.shape[0]
        values, entries = _room(self.n_rows, self.n_rows, is_finished=finished is not None)
        self._rows = MatrixRows(values, entries, nothing_to_make())
        matrix = entries if finished is None else values
        how = finished or KernelFunction(kind)
        store = routine("store_products", "kernel_rows", is_serial=True)

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

    def rows(self) -> MatrixRows:
        """Return all rows."""
        return self._rows


class RowsOnDemand:
    """A matrix whose rows are made when they are needed, and kept while there is room.

    Each thread keeps rows of its own. Which of them are there changes no result.

    Parameters
    ----------
    X : float64 array of shape (n_rows, n_features)
    kind, finished : as of `SharedMatrix`
    n_kept : int
        How many rows each thread keeps.

    Examples
    --------
    >>> matrix = RowsOnDemand(np.array([[0.0], [1.0], [3.0]]), "rbf", None, n_kept=2)
    >>> matrix.rows().entries.shape
    (2, 3)
    """

    def __init__(self, X: Any, kind: str, finished: KernelFunction | None, n_kept: int) -> None:
        self.finished = finished
        X = _centred(X, kind)
        self.squares = squared_lengths(X)
        self.n_rows = X.shape[0]
        self._features = np.ascontiguousarray(X.T)
        self._kind = KINDS[kind if finished is None else finished.kind]
        self._n_kept = n_kept
        self._local = threading.local()

    def rows(self) -> MatrixRows:
        """Return the rows that this thread has made so far, and how it makes others."""
        if not hasattr(self._local, "rows"):
            is_finished = self.finished is not None
            values, entries = _room(self._n_kept, self.n_rows, is_finished=is_finished)
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


def form_of(matrix: Matrix, function: KernelFunction) -> int:
    """Return how entries become values of a kernel, as a number for compiled code."""
    return FINISHED if matrix.finished is not None else KINDS[function.kind]


def diagonal_of(
    matrix: Matrix, function: KernelFunction, rows: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the kernel values of rows of the matrix with themselves, in double precision."""
    if function.kind == "rbf":
        return np.ones(len(rows))
    return function.from_products(matrix.squares[rows][:, np.newaxis])[:, 0]


def _centred(X: Any, kind: str) -> Any:
    if kind == "rbf" and not is_sparse(X):
        # Changes no distance, but what rounding does to those of data far from the origin.
        return X - X.mean(axis=0)
    return X


def _room(
    n_kept: int, n_rows: int, *, is_finished: bool
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return places for rows of kernel values and of entries, of which only one is used."""
    shapes = [(n_kept, n_rows), (0, 0)]
    of_values, of_entries = shapes if is_finished else shapes[::-1]
    return np.empty(of_values, dtype=np.float32), np.empty(of_entries)
