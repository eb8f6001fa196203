"""Sparse data: every index is checked, and the data is converted to the form all routines take."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from polytomy.errors import DataError

__all__ = ["MOST_ROWS_OR_COLUMNS", "check_csr_parts", "check_sparse", "is_sparse"]

#: Limit on the rows and on the columns of sparse data: LIBSVM numbers them with 32 bits.
MOST_ROWS_OR_COLUMNS = 2**31 - 1


def is_sparse(X: Any) -> bool:
    """Return whether X is a SciPy sparse matrix or array."""
    return bool(scipy.sparse.issparse(X))


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
    polytomy.errors.DataError: X is not a valid CSR matrix: indices[0] is 7; it must be 0 to 2. ...
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
        rows = _READERS[X.format](X)
    except (_InvalidError, AttributeError, IndexError, OverflowError, TypeError, ValueError) as bad:
        raise DataError(
            f"{name} is not a valid {X.format.upper()} matrix: {bad}. Build it again from its "
            "values, rows and columns, with scipy.sparse.coo_array."
        ) from None
    return rows if isinstance(X, scipy.sparse.sparray) else scipy.sparse.csr_matrix(rows)


def check_csr_parts(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> Any:
    """Return the CSR array of these parts, in canonical form; ValueError if they are invalid."""
    data, indices, indptr = _check_compressed(
        _numbers(data), indices, indptr, n_offsets=shape[0] + 1, n_minor=shape[1]
    )
    # Created anew, because a matrix's cached flags about its order may be out of date.
    rows = _compressed(scipy.sparse.csr_array, data, indices, indptr, shape)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


class _InvalidError(ValueError):
    """Raised with the reason why a sparse matrix is invalid."""


def _read_csr(X: Any) -> scipy.sparse.csr_array:
    rows: scipy.sparse.csr_array = check_csr_parts(X.data, X.indices, X.indptr, X.shape)
    return rows


def _read_csc(X: Any) -> scipy.sparse.csr_array:
    parts = _check_compressed(
        _numbers(X.data), X.indices, X.indptr, n_offsets=X.shape[1] + 1, n_minor=X.shape[0]
    )
    return _converted(_compressed(scipy.sparse.csc_array, *parts, X.shape).tocsr())


def _read_bsr(X: Any) -> scipy.sparse.csr_array:
    data = _numbers(X.data, n_dimensions=3)
    (n_rows, n_columns), (height, width) = X.shape, data.shape[1:]
    if height < 1 or width < 1 or n_rows % height or n_columns % width:
        raise _InvalidError(f"blocks of {height} × {width} do not fill the shape {X.shape}")
    parts = _check_compressed(
        data, X.indices, X.indptr, n_offsets=n_rows // height + 1, n_minor=n_columns // width
    )
    return _converted(_compressed(scipy.sparse.bsr_array, *parts, X.shape).tocsr())


def _read_coo(X: Any) -> scipy.sparse.csr_array:
    row, column = _integers("row", X.row), _integers("col", X.col)
    return _from_entries(_numbers(X.data), row, column, X.shape)


def _read_dok(X: Any) -> scipy.sparse.csr_array:
    pairs = np.array(list(X.keys())).reshape(-1, 2)
    pairs = pairs if len(pairs) else pairs.astype(np.int64)
    row, column = _integers("row", pairs[:, 0]), _integers("col", pairs[:, 1])
    values = np.fromiter(X.values(), dtype=X.dtype, count=len(row))
    return _from_entries(_numbers(values), row, column, X.shape)


def _read_lil(X: Any) -> scipy.sparse.csr_array:
    lengths = [len(row) for row in X.rows]
    if len(X.rows) != X.shape[0] or lengths != [len(values) for values in X.data]:
        raise _InvalidError("its rows of indices and of values differ in number or length")
    indices = np.array(list(chain.from_iterable(X.rows)), dtype=None if any(lengths) else np.int64)
    values = np.fromiter(chain.from_iterable(X.data), dtype=X.dtype, count=len(indices))
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    rows: scipy.sparse.csr_array = check_csr_parts(values, indices, indptr, X.shape)
    return rows


def _read_dia(X: Any) -> scipy.sparse.csr_array:
    data, offsets = _numbers(X.data, n_dimensions=2), _integers("offsets", X.offsets)
    if len(data) != len(offsets):
        raise _InvalidError(f"it has {len(data)} diagonals but {len(offsets)} offsets")
    if len(np.unique(offsets)) != len(offsets):
        raise _InvalidError("two diagonals have the same offset")
    n_rows, n_columns = X.shape
    is_inside = (offsets > -n_rows) & (offsets < n_columns)
    diagonals = (data[is_inside], offsets[is_inside].astype(np.int64))
    return _converted(scipy.sparse.dia_array(diagonals, shape=X.shape).tocsr())


_READERS: dict[str, Callable[[Any], scipy.sparse.csr_array]] = {
    "csr": _read_csr,
    "csc": _read_csc,
    "bsr": _read_bsr,
    "coo": _read_coo,
    "dok": _read_dok,
    "lil": _read_lil,
    "dia": _read_dia,
}


def _from_entries(
    data: NDArray[Any], row: NDArray[Any], column: NDArray[Any], shape: tuple[int, int]
) -> scipy.sparse.csr_array:
    if not len(data) == len(row) == len(column):
        raise _InvalidError(
            f"it has {len(data)} values, {len(row)} rows and {len(column)} columns of entries"
        )
    _check_indices("row", row, shape[0])
    _check_indices("col", column, shape[1])
    return _converted(scipy.sparse.coo_array((data, (row, column)), shape=shape).tocsr())


def _compressed(
    container: Any, data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: Any
) -> Any:
    # LIBSVM accepts only 32-bit indices.
    kind = np.int32 if max(*shape, len(indices)) <= np.iinfo(np.int32).max else np.int64
    parts = data, indices.astype(kind, copy=False), indptr.astype(kind, copy=False)
    return container(parts, shape=shape)


def _converted(rows: Any) -> scipy.sparse.csr_array:
    """Return a CSR array that SciPy created from checked parts, in canonical form."""
    rows.sum_duplicates()
    converted: scipy.sparse.csr_array = _compressed(
        scipy.sparse.csr_array, rows.data, rows.indices, rows.indptr, rows.shape
    )
    return converted


def _check_compressed(
    data: NDArray[Any], indices: Any, indptr: Any, *, n_offsets: int, n_minor: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return values, indices and offsets that match, without unused values."""
    indices, indptr = _integers("indices", indices), _integers("indptr", indptr)
    if len(indptr) != n_offsets:
        raise _InvalidError(f"indptr has {len(indptr)} values; it must have {n_offsets}")
    if indptr[0] != 0:
        raise _InvalidError(f"indptr starts with {indptr[0]}, not with 0")
    # Compared, not subtracted: a difference may overflow.
    if np.any(decreases := indptr[1:] < indptr[:-1]):
        k = int(np.argmax(decreases)) + 1
        raise _InvalidError(f"indptr[{k}] is {indptr[k]}, less than the value before it")
    if indptr[-1] > len(indices):
        raise _InvalidError(f"indptr ends with {indptr[-1]}, but there are {len(indices)} indices")
    if len(data) != len(indices):
        what = "values" if data.ndim == 1 else "blocks"
        raise _InvalidError(f"it has {len(data)} {what} but {len(indices)} indices")
    used = slice(int(indptr[-1]))
    _check_indices("indices", indices[used], n_minor)
    return data[used], indices[used], indptr


def _check_indices(what: str, indices: NDArray[Any], n_values: int) -> None:
    if len(indices) and not (indices.min() >= 0 and indices.max() < n_values):
        k = int(np.argmax((indices < 0) | (indices >= n_values)))
        raise _InvalidError(f"{what}[{k}] is {indices[k]}; it must be 0 to {n_values - 1}")


def _integers(what: str, values: Any) -> NDArray[Any]:
    """Return a vector of integers in this machine's byte order."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise _InvalidError(
            f"{what} is an array of {array.dtype} of shape {array.shape}, not a vector of integers"
        )
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))


def _numbers(values: Any, n_dimensions: int = 1) -> NDArray[Any]:
    """Return values of a type that SciPy and scikit-learn can compute with."""
    array = np.asarray(values)
    if array.ndim != n_dimensions:
        raise _InvalidError(f"data has shape {array.shape}; it must have {n_dimensions} dimensions")
    if array.dtype.kind not in "biufcO":
        raise _InvalidError(f"its values have type {array.dtype}, which is not a number")
    # Half and extended precision, and objects, which few routines support.
    is_rare = array.dtype.kind == "O" or array.dtype in (np.float16, np.longdouble)
    kind = np.dtype(np.float64) if is_rare else array.dtype.newbyteorder("=")
    return np.ascontiguousarray(array, dtype=kind)
