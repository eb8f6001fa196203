"""The one gate through which decision values enter the solvers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import ArgumentError

__all__ = ["check_decisions"]

_LEAST_OVERSHOOT = 1e-9
_OVERSHOOT_IN_ROUNDINGS = 8


def check_decisions(decisions: ArrayLike, n_partitions: int) -> NDArray[np.float64]:
    """Return decision values as a C-contiguous float64 array within [−1, 1].

    NaN is legal: a binary that gave no answer. A value that rounding has put just outside the
    interval (by 1e-9, or by 8 roundings of the given type where that is more, as for float32) is
    put on its end. An array that needs neither change nor conversion is returned itself, not
    copied.

    Parameters
    ----------
    decisions : array of shape (n_samples, n_partitions)
        P(+1) − P(−1) of each binary, a row a sample.
    n_partitions : int
        Number of partitions of the code.

    Returns
    -------
    array of shape (n_samples, n_partitions), float64, C-contiguous

    Raises
    ------
    ArgumentError
        For values that are not real numbers, the wrong shape, and values outside [−1, 1].

    Examples
    --------
    >>> check_decisions([[0.5, -1]], n_partitions=2)
    array([[ 0.5, -1. ]])
    """
    given = _as_real_array(decisions)
    _check_shape(given.shape, n_partitions)
    values = np.ascontiguousarray(given, dtype=np.float64)
    # Unlike max and min, these pass over NaN.
    highest = np.fmax.reduce(values, axis=None, initial=-1.0)
    lowest = np.fmin.reduce(values, axis=None, initial=1.0)
    if lowest >= -1.0 and highest <= 1.0:
        return values
    _check_range(values, _overshoot(given.dtype))
    return np.clip(values, -1.0, 1.0)


def _as_real_array(decisions: ArrayLike) -> NDArray[np.generic]:
    try:
        given = np.asarray(decisions)
    except ValueError as error:
        raise ArgumentError(
            f"decisions cannot be made into an array: {str(error).rstrip('.')}. "
            "Give one row a sample, all rows of the same length."
        ) from error
    if given.dtype.kind == "O":
        # Lists with None, or columns of a table that mix types, may still be numbers.
        try:
            given = given.astype(np.float64)
        except (TypeError, ValueError):
            raise ArgumentError(
                "decisions must be real numbers in [-1, 1], but hold objects that are none. "
                "Use NaN for a binary that gave no answer."
            ) from None
    if given.dtype.kind not in "biuf":
        raise ArgumentError(
            f"decisions must be real numbers in [-1, 1], not of type {given.dtype}. "
            "Give P(+1) - P(-1) of each binary."
        )
    return given


def _check_shape(shape: tuple[int, ...], n_partitions: int) -> None:
    if len(shape) != 2:
        raise ArgumentError(
            f"decisions must have the shape (n_samples, {n_partitions}), not {shape}. "
            "Put a single sample into a list of its own."
        )
    if shape[1] != n_partitions:
        raise ArgumentError(
            f"decisions have {shape[1]} columns, but the code has {n_partitions} partitions. "
            "Give one column a partition, in the order of the code's rows."
        )


def _overshoot(dtype: np.dtype[Any]) -> float:
    """Return how far outside [−1, 1] a value of this type may lie by rounding alone."""
    if dtype.kind != "f":
        return _LEAST_OVERSHOOT
    return max(_LEAST_OVERSHOOT, _OVERSHOOT_IN_ROUNDINGS * float(np.finfo(dtype).eps))


def _check_range(values: NDArray[np.float64], overshoot: float) -> None:
    outside = np.argwhere(np.abs(values) > 1.0 + overshoot)
    if not len(outside):
        return
    sample, partition = (int(index) for index in outside[0])
    more = f" ({len(outside)} values in all are outside)" if len(outside) > 1 else ""
    raise ArgumentError(
        f"decisions must lie in [-1, 1], but sample {sample} has {values[sample, partition]!s} "
        f"at partition {partition}{more}. Give P(+1) - P(-1) of calibrated binaries; "
        "NaN stands for no answer."
    )
