"""Training data and samples to predict, as the binaries take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_y,
    _num_samples,
    check_consistent_length,
    validate_data,
)

from polytomy.errors import Argument, ArgumentError

__all__ = ["check_batch_labels", "check_features", "check_training_data"]


def check_training_data(
    classifier: Any, X: Any, y: Any, *, reset: bool = True
) -> tuple[Any, NDArray[Any]]:
    """Return X in a form that all binaries take, and y as an array of labels."""
    if _is_left_to_estimator(X):
        X = validate_data(classifier, X, y, reset=reset, skip_check_array=True)[0]
        y = _check_y(y)
        check_consistent_length(X, y)
        if _num_samples(X) < 1:
            raise ArgumentError("X has no rows. Give at least one sample.")
    else:
        X, y = validate_data(classifier, X, y, reset=reset, **_OPTIONS)
    check_classification_targets(y)
    return _sort_sparse_indices(X), y


def check_batch_labels(y: NDArray[Any], classes: Any, known: NDArray[Any] | None) -> NDArray[Any]:
    """Return the labels of all classes, given those of one batch.

    Parameters
    ----------
    y : array of labels, all of which must be known
    classes : labels of all classes, or None if they are known
    known : labels of earlier batches, or None for the first
    """
    if known is None:
        if classes is None:
            raise ArgumentError(
                Argument("classes"), " must list all labels in the first call of partial_fit."
            )
        known = np.unique(classes)
    elif classes is not None and not np.array_equal(np.unique(classes), known):
        raise ArgumentError(
            Argument("classes"), f" must be those of the first call; got {classes!r}."
        )
    unknown = np.setdiff1d(y, known)
    if len(unknown):
        raise ArgumentError(
            f"y has the label {unknown.tolist()[0]!r}, which is not among the ",
            Argument("classes"),
            " of the first call of partial_fit.",
        )
    return known


def _sort_sparse_indices(X: Any) -> Any:
    """Return sparse data with sorted 32-bit indices, and other data unchanged.

    Worker processes get read-only data, which an estimator could not sort in place; and LIBSVM
    accepts only 32-bit indices.
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
    """Return samples to predict, in a form that all binaries of a fitted classifier take."""
    if _is_left_to_estimator(X):
        return validate_data(classifier, X, reset=False, skip_check_array=True)
    return _sort_sparse_indices(validate_data(classifier, X, reset=False, **_OPTIONS))


# Missing values are left to the binaries, which all check their input: a pipeline may impute them,
# whatever its tags say, and the estimators of a scheme's specifications are not known yet.
_OPTIONS: dict[str, Any] = {
    "accept_sparse": True,
    "dtype": None,
    "ensure_all_finite": "allow-nan",
}


def _is_left_to_estimator(X: Any) -> bool:
    """Return whether X is a frame, texts or dicts, which only the estimator knows how to read."""
    if any(hasattr(X, name) for name in ("iloc", "columns", "__dataframe__")):
        return True  # frames of pandas, polars and others, and series of pandas
    if isinstance(X, list | tuple):
        return len(X) > 0 and isinstance(X[0], str | Mapping)
    is_column = len(getattr(X, "shape", ())) == 1
    return is_column and np.asarray(X).dtype.kind in "OUS"
