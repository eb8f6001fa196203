"""Numbers that users give: weights of samples and classes, targets, and quantile levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import BALANCED_PER_PARTITION, CLASS_WEIGHTS, Parameter
from polytomy.inputs.rows import refuse_dates, refuse_masked

Floats = NDArray[np.float64]

CLASS_WEIGHT = Parameter(
    "class_weight",
    "a dict of labels and weights",
    lambda value: isinstance(value, Mapping),
    CLASS_WEIGHTS,
    allows_none=True,
)
"""The parameter `class_weight`."""


def as_floats(name: str, values: ArrayLike) -> Floats:
    """Return numbers as an array; ArgumentError if they are none."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            Argument(name), f" cannot be read as an array of numbers: {error}."
        ) from None


def check_weights(sample_weight: ArrayLike | None, n_samples: int) -> Floats:
    """Return one weight for each sample, ones by default."""
    if sample_weight is None:
        return np.ones(n_samples)
    weight = as_floats("sample_weight", sample_weight)
    if weight.shape != (n_samples,):
        raise ArgumentError(
            f"sample_weight has shape {weight.shape}; {n_samples} samples need ({n_samples},)."
        )
    if (bad := ~np.isfinite(weight) | (weight < 0)).any():
        raise ArgumentError(
            f"sample_weight[{np.argmax(bad)}] is {weight[bad][0]:g}; "
            "weights must be finite and not negative."
        )
    if not weight.any():
        raise ArgumentError("sample_weight is zero for all samples; at least one must be positive.")
    return weight


def class_weights(
    class_weight: Mapping[Any, float] | str | None,
    classes: NDArray[Any],
    class_indices: NDArray[np.intp],
    sample_weight: ArrayLike | None,
) -> Floats | None:
    """Return the sample weights times the class weights; None if all are one.

    Examples
    --------
    >>> class_weights({"a": 2}, np.array(["a", "b"]), np.array([0, 1, 1]), None)
    array([2., 1., 1.])
    """
    weight = None if sample_weight is None else check_weights(sample_weight, len(class_indices))
    CLASS_WEIGHT.check(class_weight)
    if class_weight is None or class_weight == BALANCED_PER_PARTITION:
        return weight
    if isinstance(class_weight, Mapping):
        unknown = [label for label in class_weight if label not in classes.tolist()]
        if unknown:
            raise ArgumentError(
                Argument("class_weight"), f" has {unknown[0]!r}, which is not a class of the data."
            )
        by_class = [_class_weight(class_weight, label) for label in classes.tolist()]
        of_class = np.array(by_class)[class_indices]
    else:
        totals = np.bincount(class_indices, weight, len(classes))
        with np.errstate(divide="ignore"):
            of_class = (totals.sum() / (len(classes) * totals))[class_indices]
        of_class[~np.isfinite(of_class)] = 0.0  # classes of total weight zero
    return of_class if weight is None else of_class * weight


def _class_weight(class_weight: Mapping[Any, float], label: Any) -> float:
    value = class_weight.get(label, 1.0)
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not np.isfinite(value) or value < 0:
        raise ArgumentError(
            Argument("class_weight"),
            f" must have finite weights of 0 or more; the weight of {label!r} is {value!r}.",
        )
    return float(value)


# -- numbers to predict ----------------------------------------------------------------------------


def check_targets(y: ArrayLike, name: str) -> Floats:
    """Return true or predicted values as an array of finite numbers.

    Examples
    --------
    >>> check_targets([1, 2.5], "y")
    array([1. , 2.5])
    """
    refuse_masked(y, name)
    array = np.asarray(y)
    refuse_dates(array, name)
    values = as_floats(name, array)
    if values.ndim != 1:
        raise ArgumentError(
            f"{name} has shape {values.shape}; it needs one number for each sample."
        )
    if not len(values):
        raise ArgumentError(f"{name} is empty; at least one number is needed.")
    if np.any(bad := ~np.isfinite(values)):
        raise ArgumentError(
            f"{name}[{np.argmax(bad)}] is {values[bad][0]}, not a finite number. Remove it."
        )
    return values


def refuse_labels(y: Any) -> None:
    """Raise ArgumentError if targets are text or dates, or several for each sample."""
    refuse_masked(y, "y")
    array = y if hasattr(y, "dtype") or hasattr(y, "dtypes") else np.asarray(y)
    refuse_dates(array, "y")
    shape: tuple[int, ...] = getattr(array, "shape", ())
    if len(shape) > 1 and shape[1] > 1:
        raise ArgumentError(
            f"y has {shape[1]} columns; a regressor predicts one number. Fit one for each column, "
            "as sklearn.multioutput.MultiOutputRegressor does."
        )
    values = np.asarray(array)
    if values.dtype.kind in "US" or (
        values.dtype.kind == "O" and any(isinstance(each, str) for each in values.ravel().tolist())
    ):
        raise ArgumentError(
            f"y has the text {str(values.ravel()[0])!r}; a regressor needs numbers. Use "
            "PolytomyClassifier for labels."
        )


def check_range(y: Floats) -> None:
    """Raise ArgumentError if the range of finite targets is too large for floating point."""
    low, high = float(y.min()), float(y.max())
    with np.errstate(over="ignore"):
        if not np.isfinite(np.float64(high) - np.float64(low)):
            raise ArgumentError(
                f"y ranges from {low:g} to {high:g}, which is too far apart for floating-point "
                "numbers. Divide it by a constant."
            )


# -- levels of quantiles and intervals -------------------------------------------------------------


def check_levels(name: str, levels: ArrayLike) -> Floats:
    """Return quantile levels, from 0 to 1, as an array of at most two dimensions.

    Examples
    --------
    >>> check_levels("levels", [0.1, 1.5])
    Traceback (most recent call last):
        ...
    polytomy.errors.ArgumentError: levels=1.5 is not a probability. Use numbers from 0 to 1.
    """
    values = as_floats(name, levels)
    if np.any(bad := ~((values >= 0) & (values <= 1))):
        raise ArgumentError(
            Argument(name, float(values[bad][0])), " is not a probability. Use numbers from 0 to 1."
        )
    return values


def check_confidence_levels(name: str, levels: ArrayLike) -> Floats:
    """Return confidence levels, between 0 and 1, as an array: a number or a row of numbers.

    Examples
    --------
    >>> check_confidence_levels("confidence_level", 95)
    Traceback (most recent call last):
        ...
    polytomy.errors.ArgumentError: confidence_level=95.0 is not between 0 and 1. Use 0.9, for \
example.
    """
    values = as_floats(name, levels)
    if values.ndim > 1 or not values.size:
        raise ArgumentError(Argument(name), " must be a number, or a list of numbers.")
    if np.any(bad := ~((values > 0) & (values < 1))):
        raise ArgumentError(
            Argument(name, float(values[bad][0])), " is not between 0 and 1. Use 0.9, for example."
        )
    return values
