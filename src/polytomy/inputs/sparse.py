"""Sparse data: every index is checked, and the data is converted to the form all routines take."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from polytomy.errors import DataError

#: Limit on the rows and on the columns of sparse data: LIBSVM numbers them with 32 bits.
MOST_ROWS_OR_COLUMNS = 2**31 - 1


def is_sparse(X: Any) -> bool:
    """Return whether X is a SciPy sparse matrix or array."""
    return not isinstance(X, np.ndarray) and bool(scipy.sparse.issparse(X))


def check_sparse(X: Any, name: str = "X") -> Any:
    """Return sparse data as a valid CSR matrix in canonical form; other data unchanged.

    SciPy, LIBSVM and our own routines follow indices and offsets without checking them, and most
    assume that no entry is stored twice. SciPy itself checks them only when a matrix is created,
    not when its arrays are changed later. So every sparse matrix from a user goes through this
    function.

    Parameters
    ----------
    X : sparse matrix or array of any format, or any other data; it is never changed
    name : name of the argument, for messages

    Returns
    -------
    CSR matrix, or CSR array if X is a sparse array, that owns or shares the arrays of X
        Indices are sorted, without duplicates, and have 32 bits if that is enough.

    Raises
    ------
    DataError
        If indices or offsets are invalid, or if the values are not numbers.

    Examples
    --------
    >>> halves = scipy.sparse.csr_array(([1.0, 1.0, 3.0], [2, 2, 0], [0, 3]), shape=(1, 3))
    >>> check_sparse(halves).data, check_sparse(halves).indices
    (array([3., 2.]), array([0, 2], dtype=int32))
    >>> halves.indices[0] = 7
    >>> check_sparse(halves)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    polytomy.errors.DataError: X is not a valid CSR matrix: indices must be < 3. ...
    """
    if not is_sparse(X):
        return X
    if X.ndim != 2:
        raise DataError(
            f"{name} is a sparse array of shape {X.shape}; it needs one row for each sample and "
            "one column for each feature."
        )
    if max(X.shape) > MOST_ROWS_OR_COLUMNS:
        raise DataError(
            f"{name} is a sparse matrix of shape {X.shape}; at most {MOST_ROWS_OR_COLUMNS} rows "
            "and columns are supported. Leave out empty columns, or hash the features."
        )
    try:
        rows = _canonical(_rebuild(X).tocsr())
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError) as error:
        raise DataError(
            f"{name} is not a valid {X.format.upper()} matrix: {error}. Build it again from its "
            "values, rows and columns, with scipy.sparse.coo_array."
        ) from None
    return rows if isinstance(X, scipy.sparse.sparray) else scipy.sparse.csr_matrix(rows)


def check_csr_parts(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> Any:
    """Return the CSR array of these parts, in canonical form; ValueError if they are invalid."""
    return _canonical(_compress(scipy.sparse.csr_array, data, indices, indptr, shape))


_COMPRESSED = ("csr", "csc", "bsr")


def _rebuild(X: Any) -> Any:
    """Return a sparse array made anew from the arrays of X; ValueError if they are invalid.

    SciPy's flags about the order of indices, which X may have kept from before a change, are
    computed again.
    """
    if X.format in _COMPRESSED:
        container = getattr(scipy.sparse, f"{X.format}_array")
        return _compress(container, X.data, X.indices, X.indptr, X.shape)
    if X.format == "dia":
        offsets = _integers("offsets", X.offsets)
        return scipy.sparse.dia_array((_numbers(X.data), offsets), shape=X.shape).tocoo()
    if X.format == "lil" and [*map(len, X.rows)] != [*map(len, X.data)]:
        raise ValueError("its rows of indices and of values differ in number or length")
    entries = X.tocoo()
    places = _integers("row", entries.row), _integers("col", entries.col)
    return scipy.sparse.coo_array((_numbers(entries.data), places), shape=X.shape)


def _compress(container: Any, data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
    """Return a CSR, CSC or BSR array of these parts, without unused values."""
    parts = _numbers(data), _integers("indices", indices), _integers("indptr", indptr)
    made = container(parts, shape=shape)
    # SciPy's own check of this subtracts neighbours, and the differences may overflow.
    if np.any(made.indptr[1:] < made.indptr[:-1]):
        raise ValueError("indptr must be a non-decreasing sequence")
    made.check_format(full_check=True)
    return made


def _canonical(rows: Any) -> scipy.sparse.csr_array:
    """Return a checked CSR array with sorted indices, without duplicates."""
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    # LIBSVM accepts only 32-bit indices.
    kind = np.int32 if max(*rows.shape, rows.nnz) <= np.iinfo(np.int32).max else np.int64
    parts = rows.data, rows.indices.astype(kind, copy=False), rows.indptr.astype(kind, copy=False)
    return scipy.sparse.csr_array(parts, shape=rows.shape)


def _integers(what: str, values: Any) -> NDArray[Any]:
    """Return a vector of integers; SciPy would truncate other numbers."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{what} is an array of {array.dtype} of shape {array.shape}, not a vector of integers"
        )
    return array


def _numbers(values: Any) -> NDArray[Any]:
    """Return values of a type that SciPy and scikit-learn can compute with."""
    array = np.asarray(values)
    if array.dtype.kind not in "biufcO":
        raise ValueError(f"its values have type {array.dtype}, which is not a number")
    # Half and extended precision, and objects, which few routines support.
    is_rare = array.dtype.kind == "O" or array.dtype in (np.float16, np.longdouble)
    kind = np.dtype(np.float64) if is_rare else array.dtype.newbyteorder("=")
    return np.ascontiguousarray(array, dtype=kind)
