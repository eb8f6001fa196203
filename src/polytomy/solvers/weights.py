"""Validation of the weights of partitions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError

__all__ = ["scale_weights"]

_LEAST = 1e-100


def scale_weights(weights: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return weights as a float64 array of the given shape, scaled so that the largest is one.

    Only ratios of weights matter. If all weights are zero, they stay zero. Other weights are raised
    to at least 1e-100 of the largest, because products of smaller ones would underflow.

    Parameters
    ----------
    weights : array-like, finite and not negative
    shape : (n_partitions,), or (n_partitions, n_classes) for separate weights for each class

    Examples
    --------
    >>> scale_weights([2, 1, 0], (3,))
    array([1. , 0.5, 0. ])
    """
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(
            Argument("weights"), " must be numbers, one for each partition."
        ) from None
    if values.shape != shape:
        raise ArgumentError(
            Argument("weights"),
            f" must have shape {shape}; got {values.shape}. "
            "Give one for each partition of the code, in the order of its rows.",
        )
    wrong = ~(np.isfinite(values) & (values >= 0))
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0].tolist())
        raise ArgumentError(
            Argument("weights"),
            f" must be finite and not negative; partition {place[0]} has {values[place]:g}. "
            "Use 0 to leave a partition out.",
        )
    largest = values.max(initial=0.0)
    if largest == 0:
        return values
    return np.where(values > 0, np.maximum(values / largest, _LEAST), 0.0)
