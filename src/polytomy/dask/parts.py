"""Dask collections as a list of parts, each with some rows of the data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import dask.array as da
from dask.delayed import Delayed
from dask.utils import is_dataframe_like, is_series_like

from polytomy.errors import ArgumentError

__all__ = ["Part", "is_collection", "is_frame", "list_delayed", "make_parts"]


class Part(NamedTuple):
    """One part of the training data.

    Attributes
    ----------
    X : Delayed, an array, sparse matrix or frame of samples
    y : Delayed, their labels
    weight : Delayed, their weights; None if there are none
    """

    X: Any
    y: Any
    weight: Any = None


def make_parts(X: Any, y: Any, sample_weight: Any = None) -> list[Part]:
    """Return the parts of training data, with labels and weights divided like the samples.

    Parameters
    ----------
    X : dask array or dataframe of samples, or a list of delayed parts
    y, sample_weight : dask array or series, or a list of delayed parts
    """
    if not is_collection(X):
        raise ArgumentError(
            f"X must be a dask array, a dask dataframe or a list of delayed parts; got "
            f"{type(X).__name__}. Use PolytomyClassifier, or dask.array.from_array(X)."
        )
    if isinstance(X, da.Array) and X.ndim != 2:
        raise ArgumentError(f"X must have two dimensions; it has shape {X.shape}.")
    of_samples = list_delayed(X)
    of_labels = _divide_alike(X, y, "y", len(of_samples))
    if sample_weight is None:
        return [Part(*both) for both in zip(of_samples, of_labels, strict=True)]
    of_weights = _divide_alike(X, sample_weight, "sample_weight", len(of_samples))
    return [Part(*each) for each in zip(of_samples, of_labels, of_weights, strict=True)]


def is_collection(X: Any) -> bool:
    """Return whether X is a dask array or frame, or a list of delayed parts."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(isinstance(part, Delayed) for part in X)
    return isinstance(X, da.Array) or (hasattr(X, "to_delayed") and hasattr(X, "npartitions"))


def is_frame(X: Any) -> bool:
    """Return whether X is a dask dataframe."""
    return is_collection(X) and not isinstance(X, da.Array) and is_dataframe_like(X)


def list_delayed(X: Any) -> list[Any]:
    """Return the parts of a collection, each with all columns."""
    if isinstance(X, list | tuple):
        return list(X)
    if isinstance(X, da.Array):
        if X.ndim == 2 and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        return list(X.to_delayed().ravel())
    return list(X.to_delayed())


def _divide_alike(X: Any, values: Any, name: str, n_parts: int) -> list[Any]:
    """Return the parts of labels or weights, as many as X has."""
    if not is_collection(values):
        raise ArgumentError(
            f"{name} must be a dask array, a dask series or a list of delayed parts, like X; got "
            f"{type(values).__name__}."
        )
    if is_dataframe_like(values) and not is_series_like(values):
        raise ArgumentError(f"{name} must be one column; it is a dataframe. Choose a column of it.")
    if isinstance(values, da.Array):
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise ArgumentError(f"{name} must have one dimension; it has shape {values.shape}.")
        if isinstance(X, da.Array) and _are_known(X.chunks[0]) and _are_known(values.chunks[0]):
            if X.shape[0] != values.shape[0]:
                raise ArgumentError(
                    f"X has {X.shape[0]} rows, but {name} has {values.shape[0]}. Pass one per row."
                )
            values = values.rechunk((X.chunks[0],))
    parts = list_delayed(values)
    if len(parts) != n_parts:
        raise ArgumentError(
            f"X has {n_parts} parts, but {name} has {len(parts)}. Divide both in the same way, for "
            "example by taking both from one dataframe."
        )
    return parts


def _are_known(sizes: Iterable[float]) -> bool:
    return all(size == size for size in sizes)
