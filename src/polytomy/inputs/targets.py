"""Numeric targets, and levels of quantiles and intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.rows import refuse_dates, refuse_masked

__all__ = [
    "check_confidence_levels",
    "check_levels",
    "check_range",
    "check_targets",
    "refuse_labels",
]

Floats = NDArray[np.float64]


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
    try:
        values = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name} cannot be read as an array of numbers: {error}.") from None
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


def check_levels(name: str, levels: ArrayLike) -> Floats:
    """Return quantile levels, from 0 to 1, as an array of at most two dimensions.

    Examples
    --------
    >>> check_levels("levels", [0.1, 1.5])
    Traceback (most recent call last):
        ...
    polytomy.errors.ArgumentError: levels=1.5 is not a probability. Use numbers from 0 to 1.
    """
    values = _read_numbers(name, levels)
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
    values = _read_numbers(name, levels)
    if values.ndim > 1 or not values.size:
        raise ArgumentError(Argument(name), " must be a number, or a list of numbers.")
    if np.any(bad := ~((values > 0) & (values < 1))):
        raise ArgumentError(
            Argument(name, float(values[bad][0])), " is not between 0 and 1. Use 0.9, for example."
        )
    return values


def _read_numbers(name: str, values: ArrayLike) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(Argument(name, values), " cannot be read as numbers.") from None
