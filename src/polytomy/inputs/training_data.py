"""Training data and samples to predict, in the form that the binaries take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_y,
    _num_samples,
    check_consistent_length,
    validate_data,
)

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.dates import refuse_dates
from polytomy.inputs.masked import refuse_masked
from polytomy.inputs.plain_arrays import are_plain_labels, is_plain_array
from polytomy.inputs.sparse import check_sparse
from polytomy.inputs.targets import check_range, refuse_labels

__all__ = [
    "check_batch_labels",
    "check_features",
    "check_regression_data",
    "check_training_data",
]

# Training on so few rows is so fast that scikit-learn's checks would take a tenth of the time.
_FEW_ROWS = 1000


def check_training_data(
    classifier: Any, X: Any, y: Any, *, reset: bool = True
) -> tuple[Any, NDArray[Any]]:
    """Return X in a form that all binaries take, and y as an array of labels."""
    if is_plain_array(X) and len(X) <= _FEW_ROWS and are_plain_labels(y) and len(X) == len(y):
        return validate_data(classifier, X, reset=reset, skip_check_array=True), y
    refuse_masked(y, "y")
    X, y = _check_rows(classifier, X, y, reset=reset)
    check_classification_targets(y)
    return X, y


def check_regression_data(regressor: Any, X: Any, y: Any) -> tuple[Any, NDArray[np.float64]]:
    """Return X in a form that all binaries take, and y as an array of finite numbers."""
    if y is not None:
        refuse_labels(y)
    X, y = _check_rows(regressor, X, y, y_numeric=True)
    values = np.asarray(y, dtype=np.float64)
    check_range(values)
    return X, values


def _check_rows(
    estimator: Any, X: Any, y: Any, *, reset: bool = True, y_numeric: bool = False
) -> tuple[Any, NDArray[Any]]:
    X = _check_memory(X)
    if not _is_left_to_estimator(X):
        return validate_data(  # type: ignore[no-any-return]
            estimator, X, y, reset=reset, y_numeric=y_numeric, **_OPTIONS
        )
    X = validate_data(estimator, X, y, reset=reset, skip_check_array=True)[0]
    y = _check_y(y, y_numeric=y_numeric)
    check_consistent_length(X, y)
    if _num_samples(X) < 1:
        raise ArgumentError("X has no rows. Give at least one sample.")
    return X, y


def check_batch_labels(y: NDArray[Any], classes: Any, known: NDArray[Any] | None) -> NDArray[Any]:
    """Return the labels of all classes, given those of one batch.

    Parameters
    ----------
    y : array of labels that must all be known
    classes : labels of all classes, or None if they are already known
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


def check_features(classifier: Any, X: Any) -> Any:
    """Return samples to predict in a form that all binaries of a fitted classifier take."""
    n_features = getattr(classifier, "n_features_in_", None)
    has_names = hasattr(classifier, "feature_names_in_")
    if not has_names and is_plain_array(X) and X.shape[1] == n_features:
        return X
    X = _check_memory(X)
    if _is_left_to_estimator(X):
        return validate_data(classifier, X, reset=False, skip_check_array=True)
    return validate_data(classifier, X, reset=False, **_OPTIONS)


def _check_memory(X: Any) -> Any:
    """Return data whose indices, masks and dates have been checked, before it is used.

    Sparse data has sorted 32-bit indices: in worker processes it is read-only and could not be
    sorted, and LIBSVM accepts no other indices.
    """
    refuse_masked(X, "X")
    if isinstance(X, np.ndarray):  # the dates of a frame are left to the estimator
        refuse_dates(X, "X")
    return check_sparse(X)


# Missing values are left to the binaries, which all check their input: a pipeline may impute them,
# whatever its tags say, and estimators from a scheme's specifications are not known yet.
_OPTIONS: dict[str, Any] = {
    "accept_sparse": True,
    "dtype": None,
    "ensure_all_finite": "allow-nan",
}


def _is_left_to_estimator(X: Any) -> bool:
    """Return whether X is a frame, strings or dicts, which only the estimator knows how to read."""
    if any(hasattr(X, name) for name in ("iloc", "columns", "__dataframe__")):
        return True  # frames of pandas, polars and others, and pandas series
    if isinstance(X, list | tuple):
        return len(X) > 0 and isinstance(X[0], str | Mapping)
    is_column = len(getattr(X, "shape", ())) == 1
    return is_column and np.asarray(X).dtype.kind in "OUS"
