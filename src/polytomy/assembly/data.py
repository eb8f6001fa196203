"""Checks of the data that a classifier is given, and the weights of its samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_y,
    _num_samples,
    check_consistent_length,
    validate_data,
)

from polytomy.errors import ArgumentError
from polytomy.metrics.inputs import check_weights

__all__ = ["check_features", "check_training_data", "class_weights"]


def check_training_data(
    classifier: Any, X: Any, y: Any, *, reset: bool = True
) -> tuple[Any, NDArray[Any]]:
    """Return X as its binaries take it, and y as an array of labels."""
    if _is_left_to_estimator(X):
        X = validate_data(classifier, X, y, reset=reset, skip_check_array=True)[0]
        y = _check_y(y)
        check_consistent_length(X, y)
        if _num_samples(X) < 1:
            raise ArgumentError("X has no rows; give a sample or more")
    else:
        X, y = validate_data(classifier, X, y, reset=reset, **_OPTIONS)
    check_classification_targets(y)
    return _as_estimators_take_it(X), y


def _as_estimators_take_it(X: Any) -> Any:
    """Return sparse data with sorted indices of 32 bits; other data as it is.

    Read-only, in worker processes, it could not be sorted any more; and LIBSVM takes no others.
    """
    is_sparse: bool = issparse(X)
    if not is_sparse:
        return X
    rowwise = X.tocsr()
    if not rowwise.has_sorted_indices:
        rowwise = rowwise.sorted_indices()
    is_small = max(*rowwise.shape, rowwise.nnz) <= np.iinfo(np.int32).max
    if is_small and rowwise.indices.dtype != np.int32:
        parts = (rowwise.data, rowwise.indices.astype(np.int32), rowwise.indptr.astype(np.int32))
        rowwise = type(rowwise)(parts, shape=rowwise.shape)
    return rowwise


def check_features(classifier: Any, X: Any) -> Any:
    """Return X as the binaries of a fitted classifier take it."""
    if _is_left_to_estimator(X):
        return validate_data(classifier, X, reset=False, skip_check_array=True)
    return _as_estimators_take_it(validate_data(classifier, X, reset=False, **_OPTIONS))


# What is missing is left to the binaries, all of which check what they get: a pipeline may fill it
# in, whatever its tags say, and the estimators of a scheme's specifications are not known yet.
_OPTIONS: dict[str, Any] = {
    "accept_sparse": True,
    "dtype": None,
    "ensure_all_finite": "allow-nan",
}


def _is_left_to_estimator(X: Any) -> bool:
    """Return whether X is a frame, texts or dicts: what only the estimator knows how to read."""
    if hasattr(X, "iloc") or hasattr(X, "__dataframe__"):
        return True
    if isinstance(X, list | tuple):
        return len(X) > 0 and isinstance(X[0], str | Mapping)
    is_column = len(getattr(X, "shape", ())) == 1
    return is_column and np.asarray(X).dtype.kind in "OUS"


def class_weights(
    class_weight: Mapping[Any, float] | str | None,
    classes: NDArray[Any],
    codes: NDArray[np.intp],
    sample_weight: ArrayLike | None,
) -> NDArray[np.float64] | None:
    """Return the weights of the samples times those of their classes; None where all are one.

    Examples
    --------
    >>> class_weights({"a": 2}, np.array(["a", "b"]), np.array([0, 1, 1]), None)
    array([2., 1., 1.])
    """
    weight = None if sample_weight is None else check_weights(sample_weight, len(codes))
    is_text = isinstance(class_weight, str)
    if class_weight is None or (is_text and class_weight == "balanced-per-partition"):
        return weight
    if not isinstance(class_weight, Mapping) and not (is_text and class_weight == "balanced"):
        raise ArgumentError(
            f"class_weight={class_weight!r} is not known. Use a dict of labels and weights, "
            '"balanced", "balanced-per-partition" or None.'
        )
    if isinstance(class_weight, Mapping):
        unknown = [label for label in class_weight if label not in classes.tolist()]
        if unknown:
            raise ArgumentError(f"class_weight has {unknown[0]!r}, which is no class of the data")
        by_class = np.array([class_weight.get(label, 1.0) for label in classes.tolist()])
        of_class = by_class[codes].astype(np.float64)
    else:
        totals = np.bincount(codes, weight, len(classes))
        with np.errstate(divide="ignore"):
            of_class = (totals.sum() / (len(classes) * totals))[codes]
        of_class[~np.isfinite(of_class)] = 0.0  # of a class without weight
    return of_class if weight is None else of_class * weight
