"""Any kind of data that scikit-learn accepts, assembled from parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import vstack

from polytomy.errors import DataError
from polytomy.inputs.rows import count_rows, take_rows
from polytomy.inputs.sparse import is_sparse

__all__ = ["bytes_of_data", "merge_rows", "stack_rows"]


def stack_rows(parts: Sequence[Any]) -> Any:
    """Return the rows of all parts, one part after another.

    Categorical columns of frames stay categorical, with the categories of all parts.

    Parameters
    ----------
    parts : arrays, sparse matrices or pandas frames with the same columns; at least one
    """
    # A part without rows may have a different numeric type.
    parts = [part for part in parts if count_rows(part)] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    if all(is_sparse(part) for part in parts):
        return vstack(parts, format="csr")
    if all(hasattr(part, "iloc") for part in parts):
        return _stack_frames(parts)
    kinds = sorted({type(part).__name__ for part in parts})
    raise DataError(f"parts of the data have different types: {', '.join(kinds)}. Use one type.")


def merge_rows(parts: Sequence[Any], numbers: Sequence[NDArray[np.int64]]) -> Any:
    """Return the rows of all parts in the order of their numbers; of duplicates, the first row.

    Parameters
    ----------
    parts : as for `stack_rows`
    numbers : the row numbers of each part

    Examples
    --------
    >>> merge_rows([np.array([[1.0], [3.0]]), np.array([[2.0]])], [np.array([1, 3]), np.array([2])])
    array([[1.],
           [2.],
           [3.]])
    """
    together = np.concatenate(numbers)
    unique, first = np.unique(together, return_index=True)
    if not all(isinstance(part, np.ndarray) for part in parts):
        return take_rows(stack_rows(parts), first)
    # This avoids a stacked copy of the parts.
    dtype = np.result_type(*[part for part in parts if len(part)] or parts)
    merged = np.empty((len(unique), *parts[0].shape[1:]), dtype=dtype)
    for part, own in zip(reversed(parts), reversed(numbers), strict=True):
        if len(own):
            merged[np.searchsorted(unique, own)] = part
    return merged


def bytes_of_data(X: Any) -> int:
    """Return the size of an array, sparse matrix or frame in bytes."""
    if is_sparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    if hasattr(X, "memory_usage"):
        return int(np.sum(X.memory_usage(index=False, deep=True)))
    return int(getattr(X, "nbytes", 0))


def _stack_frames(parts: Sequence[Any]) -> Any:
    import pandas
    from pandas.api.types import union_categoricals

    parts = list(parts)
    for name, dtype in parts[0].dtypes.items():
        columns = [part[name] for part in parts]
        if not isinstance(dtype, pandas.CategoricalDtype) or all(
            column.dtype == dtype for column in columns
        ):
            continue
        categories = union_categoricals(columns, ignore_order=True).categories
        parts = [
            part.assign(**{name: column.cat.set_categories(categories)})
            for part, column in zip(parts, columns, strict=True)
        ]
    return pandas.concat(parts, ignore_index=True)
