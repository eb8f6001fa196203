"""Rows of any kind of data that scikit-learn accepts: chosen, stacked and measured."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, timedelta
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from polytomy.errors import DataError
from polytomy.inputs.sparse import is_sparse

_UNKNOWN_MEMORY = 2**33

#: Files with the memory limit of a container, in the two versions of Linux control groups.
CONTAINER_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


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
    from sklearn.utils import _safe_indexing  # not at the top: designs need no scikit-learn

    return _safe_indexing(_rowwise(X), rows)


def take_block(X: Any, block: slice) -> Any:
    """Return consecutive rows, as the same kind of data as X."""
    if isinstance(X, np.ndarray):
        return X[block]  # a view
    return take_rows(X, np.arange(*block.indices(count_rows(X))))


def take_columns(X: Any, columns: NDArray[np.intp]) -> Any:
    """Return some columns, as the same kind of data as X."""
    from sklearn.utils import _safe_indexing

    return _safe_indexing(_rowwise(X), columns, axis=1)


def _rowwise(X: Any) -> Any:
    """Return sparse data in a format that can be indexed; return other data unchanged."""
    is_sparse: bool = scipy.sparse.issparse(X)
    return X.tocsr() if is_sparse else X


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


def group_rows(class_indices: NDArray[np.integer], n_classes: int) -> tuple[NDArray[np.intp], ...]:
    """Return the rows of each class.

    Parameters
    ----------
    class_indices : array of shape (n_samples,)
        Index of each sample's class; −1 for a sample whose class is not in the scheme.
    n_classes : int

    Returns
    -------
    tuple of n_classes arrays, each ascending

    Examples
    --------
    >>> group_rows(np.array([1, 0, 1, -1]), 3)
    (array([1]), array([0, 2]), array([], dtype=int64))
    """
    # A stable sort keeps the rows of each class in ascending order.
    by_class = np.argsort(class_indices, kind="stable")
    starts = np.searchsorted(class_indices[by_class], np.arange(n_classes + 1))
    return tuple(by_class[a:b] for a, b in pairwise(starts))


# -- data in parts ---------------------------------------------------------------------------------


def stack_rows(parts: Sequence[Any]) -> Any:
    """Return the rows of all parts, one part after another.

    Categorical columns of pandas frames stay categorical, with the categories of all parts.

    Parameters
    ----------
    parts : arrays, sparse matrices, lists or frames with the same columns; at least one

    Examples
    --------
    >>> stack_rows([np.array([[1.0]]), np.array([[2.0], [3.0]])])
    array([[1.],
           [2.],
           [3.]])
    """
    # A part without rows may have a different numeric type.
    parts = [part for part in parts if count_rows(part)] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    if all(is_sparse(part) for part in parts):
        return scipy.sparse.vstack(parts, format="csr")
    if all(hasattr(part, "iloc") for part in parts):
        return _stack_frames(parts)
    if all(type(part).__module__.startswith("polars") for part in parts):
        return sys.modules["polars"].concat(parts)
    if all(isinstance(part, list) for part in parts):
        return [row for part in parts for row in part]
    kinds = sorted({type(part).__name__ for part in parts})
    raise DataError(f"parts of the data have different types: {', '.join(kinds)}. Use one type.")


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


# -- rows that are seen again ----------------------------------------------------------------------


def fingerprint_rows(X: Any) -> NDArray[np.int64]:
    """Return a number for each row: the same for equal rows, and for others almost surely not.

    It does not depend on the kind of data: sparse or dense, array, frame or list.

    Examples
    --------
    >>> dense = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 1.0]])
    >>> found = fingerprint_rows(dense)
    >>> len(set(found.tolist()))
    2
    >>> bool((fingerprint_rows(scipy.sparse.csr_array(dense)) == found).all())
    True
    """
    try:
        numbers: Any = X.tocsr() if is_sparse(X) else np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        texts = [repr(row).encode() for row in np.asarray(X, dtype=object).tolist()]
        digests = [blake2b(text, digest_size=8).digest() for text in texts]
        return np.frombuffer(b"".join(digests), dtype=np.int64) & _POSITIVE
    factors = _factors(numbers.shape[1])
    # Products and sums are modulo 2^64, so that their order does not matter.
    if is_sparse(X):
        parts = _mix_bits(numbers.data), numbers.indices, numbers.indptr
        numbers = scipy.sparse.csr_array(parts, numbers.shape)
    else:
        numbers = _mix_bits(numbers)
    return np.asarray(numbers @ factors) & _POSITIVE


_POSITIVE = np.int64(2**63 - 1)


@lru_cache(maxsize=1)
def _factors(n_columns: int) -> NDArray[np.int64]:
    """Return the factor of each column; making a generator takes long for a few rows."""
    return np.random.default_rng(0).integers(2**63, size=n_columns) | 1


def _mix_bits(numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Return the bits of numbers, mixed because those of whole numbers end in zeros; 0 for ±0."""
    bits = (numbers.astype(np.float64) + 0.0).view(np.int64)
    return np.asarray(bits ^ (bits >> 32) ^ (bits >> 47))


# -- sizes in memory -------------------------------------------------------------------------------


def bytes_of_data(X: Any) -> int:
    """Return the size of an array, sparse matrix or frame in bytes."""
    if is_sparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    if hasattr(X, "memory_usage"):
        return int(np.sum(X.memory_usage(index=False, deep=True)))
    return int(getattr(X, "nbytes", 0))


@cache
def machine_memory(limit_files: tuple[Path, ...] = CONTAINER_LIMITS) -> int:
    """Return the memory of the machine, or of the container, in bytes.

    Parameters
    ----------
    limit_files : files that may hold a limit in bytes; others are ignored
    """
    memory = _UNKNOWN_MEMORY
    with suppress(AttributeError, OSError, ValueError):  # not a POSIX system
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in limit_files:
        with suppress(OSError, ValueError):  # there is no file, or it says "max"
            memory = min(memory, int(file.read_text()))
    return memory


# -- values that are not data ----------------------------------------------------------------------


def refuse_dates(values: Any, name: str) -> None:
    """Raise DataError if an array or frame has dates or durations.

    NumPy would turn them into numbers in arbitrary units, and missing ones into -9.2e18.

    Examples
    --------
    >>> refuse_dates(np.array([[1.0, 2.0]]), "X")
    >>> refuse_dates(np.array([["2020-01-01"], ["NaT"]], dtype="datetime64[D]"), "X")
    Traceback (most recent call last):
        ...
    polytomy.errors.DataError: X has values of type datetime64[D], which are not numbers. Convert \
them, for example to days since a date.
    """
    kinds = [values.dtype] if isinstance(values, np.ndarray) else getattr(values, "dtypes", ())
    for each in kinds if np.iterable(kinds) else ():
        if getattr(each, "kind", "") in ("M", "m"):
            raise DataError(
                f"{name} has values of type {each}, which are not numbers. Convert them, for "
                "example to days since a date."
            )


def refuse_date_labels(y: NDArray[Any]) -> None:
    """Raise DataError if labels are dates or durations.

    Schemes and model files have no dates. NumPy turns some of them into integers.

    Examples
    --------
    >>> refuse_date_labels(np.array(["2020-01-01"], dtype="datetime64[D]"))
    Traceback (most recent call last):
        ...
    polytomy.errors.DataError: y has dates or durations, such as 2020-01-01. If they are classes, \
convert them to text: y.astype(str); to predict them, convert them to numbers.
    """
    first = y.ravel()[0] if y.size else None
    is_date = y.dtype.kind in "mM" or isinstance(first, date | timedelta | np.datetime64)
    if is_date:
        raise DataError(
            f"y has dates or durations, such as {first}. If they are classes, convert them to "
            "text: y.astype(str); to predict them, convert them to numbers."
        )


def refuse_masked(values: Any, name: str) -> None:
    """Raise DataError if values are masked; most functions would use the hidden values.

    Examples
    --------
    >>> refuse_masked(np.ma.array([1.0, 2.0], mask=[False, False]), "X")
    >>> refuse_masked(np.ma.array([1.0, 2.0], mask=[False, True]), "X")
    Traceback (most recent call last):
        ...
    polytomy.errors.DataError: X has 1 masked value. Remove it, or fill it with X.filled().
    """
    if not isinstance(values, np.ma.MaskedArray):
        return
    n_masked = int(np.ma.getmaskarray(values).sum())
    if n_masked:
        what, them = (
            ("1 masked value", "it") if n_masked == 1 else (f"{n_masked} masked values", "them")
        )
        raise DataError(f"{name} has {what}. Remove {them}, or fill {them} with {name}.filled().")
