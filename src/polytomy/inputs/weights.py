"""Sample weights and class weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import BALANCED_PER_PARTITION, CLASS_WEIGHTS, Parameter

__all__ = ["CLASS_WEIGHT", "check_weights", "class_weights"]

CLASS_WEIGHT = Parameter(
    "class_weight",
    "a dict of labels and weights",
    lambda value: isinstance(value, Mapping),
    CLASS_WEIGHTS,
    allows_none=True,
)
"""The parameter `class_weight`."""


def check_weights(sample_weight: ArrayLike | None, n_samples: int) -> NDArray[np.float64]:
    """Return one weight for each sample, ones by default."""
    if sample_weight is None:
        return np.ones(n_samples)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"sample_weight cannot be read as an array of numbers: {error}."
        ) from None
    if weight.shape != (n_samples,):
        raise ArgumentError(
            f"sample_weight has shape {weight.shape}; {n_samples} samples need ({n_samples},)."
        )
    if np.any(bad := ~np.isfinite(weight) | (weight < 0)):
        raise ArgumentError(
            f"sample_weight[{_first(bad)}] is {weight[_first(bad)]:g}; "
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
) -> NDArray[np.float64] | None:
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


def _first(mask: NDArray[np.bool_]) -> int:
    return int(np.argmax(mask))
