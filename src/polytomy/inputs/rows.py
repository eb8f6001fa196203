"""Rows and columns of any kind of data that scikit-learn accepts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack
from sklearn.utils import _safe_indexing

from polytomy.errors import DataError

__all__ = [
    "concatenate_rows",
    "count_rows",
    "take_block",
    "take_columns",
    "take_rows",
    "take_values",
    "unchangeable",
]


def count_rows(X: Any) -> int:
    """Return the number of rows of an array, sparse matrix, frame or list."""
    try:
        return int(X.shape[0]) if hasattr(X, "shape") else len(X)
    except (IndexError, TypeError):
        raise DataError(
            f"X is a {type(X).__name__}, which has no rows; it needs one row for each sample."
        ) from None


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows, as the same kind of data; changing them never changes X."""
    if np.array_equal(rows, np.arange(count_rows(X))):
        return unchangeable(X)  # indexing all rows of a frame may return a view of it
    if isinstance(X, np.ndarray):
        return X[rows]
    return _safe_indexing(_rowwise(X), rows)


def concatenate_rows(parts: Sequence[Any]) -> Any:
    """Return the rows of several parts, which must be the same kind of data.

    Examples
    --------
    >>> concatenate_rows([np.array([[1.0]]), np.array([[2.0], [3.0]])])
    array([[1.],
           [2.],
           [3.]])
    """
    first = parts[0]
    if issparse(first):
        return vstack(parts, format="csr")
    if isinstance(first, list):
        return [row for part in parts for row in part]
    module = type(first).__module__.partition(".")[0]
    if module in ("pandas", "polars"):
        return sys.modules[module].concat(parts)
    return np.concatenate([np.asarray(part) for part in parts])


def take_values(value: Any, rows: NDArray[np.intp], n_rows: int) -> Any:
    """Return some rows of an argument with `n_rows` values; return other arguments unchanged."""
    is_array = isinstance(value, list | tuple) or bool(getattr(value, "shape", ()))
    return take_rows(value, rows) if is_array and count_rows(value) == n_rows else value


def unchangeable(X: Any) -> Any:
    """Return a read-only view or a copy of X, so that no estimator can change X in place."""
    if not isinstance(X, np.ndarray):
        return X.copy() if hasattr(X, "copy") else X  # polars frames are immutable
    view = X.view()
    view.flags.writeable = False
    return view


def take_block(X: Any, block: slice) -> Any:
    """Return consecutive rows, as the same kind of data as X."""
    if isinstance(X, np.ndarray):
        return X[block]  # a view
    return take_rows(X, np.arange(*block.indices(count_rows(X))))


def take_columns(X: Any, columns: NDArray[np.intp]) -> Any:
    """Return some columns, as the same kind of data as X."""
    return _safe_indexing(_rowwise(X), columns, axis=1)


def _rowwise(X: Any) -> Any:
    """Return sparse data in a format that can be indexed; return other data unchanged."""
    is_sparse: bool = issparse(X)
    return X.tocsr() if is_sparse else X
