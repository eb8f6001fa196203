"""Samples to be scored by many models, checked and converted once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from polytomy.errors import DataError
from polytomy.inputs.dates import refuse_dates
from polytomy.inputs.masked import refuse_masked
from polytomy.inputs.plain_arrays import is_plain_array
from polytomy.inputs.rows import count_rows
from polytomy.inputs.sparse import check_sparse

__all__ = ["Samples", "blocks_of", "input_key"]


class Samples:
    """Samples as given, and converted to numbers for models that need numbers.

    Parameters
    ----------
    X : array, sparse matrix, frame or list of shape (n_samples, n_features)

    Attributes
    ----------
    raw : X; sparse data is in canonical CSR form with checked indices
    n_rows : int
    """

    def __init__(self, X: Any) -> None:
        refuse_masked(X, "X")
        self.raw = check_sparse(X)
        self.n_rows = count_rows(X)
        self._as_numbers: dict[Hashable, Any] = {}

    def as_numbers(self, model: Any, n_features: int) -> Any:
        """Return the samples as a float64 array or CSR matrix, checked as the model checks them.

        The names and number of features are compared with those the model was fitted with. Models
        with the same `input_key` share the result.
        """
        key = input_key(model, n_features)
        if key not in self._as_numbers:
            self._as_numbers[key] = _checked(self.raw, model, n_features)
        return self._as_numbers[key]


def input_key(model: Any, n_features: int) -> Hashable:
    """Return the number and names of a model's features; models with equal keys share samples."""
    names = getattr(model, "feature_names_in_", None)
    return n_features, None if names is None else tuple(names)


def blocks_of(n_rows: int, bytes_of_row: int, most_bytes: int) -> Iterator[slice]:
    """Yield slices of rows whose temporary arrays take at most `most_bytes`.

    Examples
    --------
    >>> list(blocks_of(5, bytes_of_row=8, most_bytes=24))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    size = max(1, most_bytes // max(1, bytes_of_row))
    for first in range(0, n_rows, size):
        yield slice(first, min(n_rows, first + size))


def _checked(X: Any, model: Any, n_features: int) -> Any:
    has_names = hasattr(model, "feature_names_in_")
    if not has_names and is_plain_array(X) and X.shape[1] == n_features:
        return X
    refuse_dates(X, "X")
    options: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64, "order": "C"}
    if isinstance(model, BaseEstimator):
        return validate_data(model, X, reset=False, **options)
    X = check_array(X, input_name="X", **options)
    if X.shape[1] != n_features:
        raise DataError(f"X has {X.shape[1]} features; the binaries were fitted to {n_features}.")
    return X
