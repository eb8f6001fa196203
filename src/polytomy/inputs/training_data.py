"""Training data and samples to predict, checked and converted once for all binaries.

scikit-learn's checks take a tenth of a millisecond or more, which is a lot for a prediction of few
samples, so arrays that need no conversion are recognised without them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_y, check_consistent_length, validate_data

from polytomy.errors import Argument, ArgumentError, DataError
from polytomy.inputs.label_order import find_class_order, read_categories
from polytomy.inputs.numbers import check_range, refuse_labels
from polytomy.inputs.rows import count_rows, refuse_date_labels, refuse_dates, refuse_masked
from polytomy.inputs.sparse import check_sparse

# Missing values are left to the binaries, which all check their input: a pipeline may impute them,
# whatever its tags say, and estimators from a scheme's specifications are not known yet.
_OPTIONS: dict[str, Any] = {
    "accept_sparse": True,
    "dtype": None,
    "ensure_all_finite": "allow-nan",
}

# Maximum size in bytes of the decision values of a block of samples.
_BLOCK_BYTES = 2**27
_SMALLEST_BLOCK = 256


def check_training_data(
    classifier: Any, X: Any, y: Any, *, reset: bool = True
) -> tuple[Any, NDArray[Any]]:
    """Return X in a form that all binaries take, and y as an array of labels."""
    refuse_masked(y, "y")
    _refuse_columns(y)
    X, y = _check_rows(classifier, X, y, reset=reset)
    refuse_date_labels(y)
    if y.dtype.kind == "f" and len(fractions := y[y % 1 != 0]):
        # The first words are scikit-learn's, whose scores do not accept such labels either.
        raise ArgumentError(
            f"Unknown label type: continuous. y has fractions, such as {fractions[0]:g}. If they "
            "are classes, convert them to text: y.astype(str); to predict numbers, use "
            "PolytomyRegressor."
        )
    texts = {isinstance(label, str): label for label in y.tolist()} if y.dtype.kind == "O" else {}
    if len(texts) > 1:
        raise DataError(
            f"y mixes text and other labels, such as {texts[True]!r} and {texts[False]}. Convert "
            "all to text: y.astype(str)."
        )
    if y.dtype.kind == "O" and type_of_target(y) == "unknown":
        raise DataError(
            f"Unknown label type: y is an array of objects, such as {y[0]!r}. Convert it to text, "
            "y.astype(str), or to integers."
        )
    # Of whole numbers and text, the check could only find that there are too many classes.
    if y.dtype.kind not in "biuU" or 2 * len(np.unique(y)) > len(y):
        check_classification_targets(y)
    return X, y


def _refuse_columns(y: Any) -> None:
    """Raise ArgumentError if there are several labels for each sample."""
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, list | tuple) and y and isinstance(y[0], list | tuple):
        shape = len(y), len(y[0])
    if shape is not None and len(shape) > 1 and shape[1] > 1:
        raise ArgumentError(
            f"y has {shape[1]} columns; a classifier predicts one label for each sample. Fit one "
            "classifier for each column, as sklearn.multioutput.MultiOutputClassifier does."
        )


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
    is_finite = _is_finite_array(X)
    if not (is_finite or _is_left_to_estimator(X)):
        return validate_data(  # type: ignore[no-any-return]
            estimator, X, y, reset=reset, y_numeric=y_numeric, **_OPTIONS
        )
    if is_finite and reset and y is not None:
        vars(estimator).pop("feature_names_in_", None)
        estimator.n_features_in_ = X.shape[1]
    else:
        X = validate_data(estimator, X, y, reset=reset, skip_check_array=True)[0]
    if not (type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biuU"):
        y = _check_y(y, y_numeric=y_numeric)
    if count_rows(X) != len(y):
        check_consistent_length(X, y)  # raises scikit-learn's error
    if not len(y):
        raise ArgumentError("X has no rows. Give at least one sample.")
    return X, y


def read_class_order(
    y: Any, classes: NDArray[Any], class_order: Iterable[Any] | None
) -> list[Any] | None:
    """Return the classes in order: as given, else as the categories of y are; None if unknown.

    Parameters
    ----------
    y : labels as given to `fit`, before they are converted
    classes : array of all labels
    class_order : all labels in order, or None
    """
    if class_order is None and type(y) is np.ndarray:
        return None  # arrays have no categories
    return find_class_order(classes.tolist(), class_order, read_categories(y))


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
    if not has_names and _is_finite_array(X) and X.shape[1] == n_features:
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


def _is_left_to_estimator(X: Any) -> bool:
    """Return whether X is a frame, strings or dicts, which only the estimator knows how to read."""
    if any(hasattr(X, name) for name in ("iloc", "columns", "__dataframe__")):
        return True  # frames of pandas, polars and others, and pandas series
    if isinstance(X, list | tuple):
        return len(X) > 0 and isinstance(X[0], str | Mapping)
    is_column = len(getattr(X, "shape", ())) == 1
    return is_column and np.asarray(X).dtype.kind in "OUS"


def is_plain_array(X: Any) -> TypeGuard[NDArray[np.float64]]:
    """Return whether ``check_array`` would return X unchanged: finite float64, in C order.

    Examples
    --------
    >>> is_plain_array(np.eye(2)), is_plain_array(np.array([[np.nan]])), is_plain_array([[1.0]])
    (True, False, False)
    """
    return _is_finite_array(X) and X.flags.c_contiguous


def _is_finite_array(X: Any) -> TypeGuard[NDArray[np.float64]]:
    """Return whether ``check_array`` would find nothing wrong: finite float64, in any order."""
    is_in_form = type(X) is np.ndarray and X.ndim == 2 and X.dtype == np.float64 and X.size > 0
    # A sum that overflows is not finite either; such arrays go through scikit-learn's checks.
    with np.errstate(over="ignore", invalid="ignore"):
        return is_in_form and bool(np.isfinite(X.sum()))


# -- samples to be scored by many models -----------------------------------------------------------


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


def blocks_of_rows(n_rows: int, n_partitions: int, n_features: int = 0) -> Iterator[slice]:
    """Return slices of rows whose decision values, and features, fit in bounded memory.

    Samples may have to be converted or pre-processed, so the features of a block count as well.

    Examples
    --------
    >>> list(blocks_of_rows(600, n_partitions=10**6))
    [slice(0, 256, None), slice(256, 512, None), slice(512, 600, None)]
    """
    of_row = 8 * max(n_partitions, n_features)
    return blocks_of(n_rows, of_row, max(_BLOCK_BYTES, _SMALLEST_BLOCK * of_row))
