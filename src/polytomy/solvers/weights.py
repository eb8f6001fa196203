"""The gate through which weights of partitions enter the solvers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import ArgumentError

__all__ = ["check_weights"]

_LEAST = 1e-100


def check_weights(weights: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return weights as a float64 array of that shape, the largest of them one.

    Only ratios of weights mean anything. If all are zero they stay so. A weight that is less than
    1e-100 of the largest counts as that much: products of smaller ones would be zero.

    Parameters
    ----------
    weights : array-like of that shape, finite and not negative
    shape : (n_partitions,), or (n_partitions, n_classes) where each class has its own

    Examples
    --------
    >>> check_weights([2, 1, 0], (3,))
    array([1. , 0.5, 0. ])
    """
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError("weights must be numbers, one for each partition") from None
    if values.shape != shape:
        raise ArgumentError(
            f"weights must have the shape {shape}, not {values.shape}. "
            "Give one for each partition of the code, in the order of its rows."
        )
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0].tolist())
        raise ArgumentError(
            f"weights must be finite and not negative, but partition {place[0]} has "
            f"{values[place]:g}. Use 0 to leave a partition out."
        )
    largest = values.max(initial=0.0)
    if largest == 0:
        return values
    return np.where(values > 0, np.maximum(values / largest, _LEAST), 0.0)
