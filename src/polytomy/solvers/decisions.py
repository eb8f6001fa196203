"""Validation of decision values and of the weights of partitions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError

_LEAST_OVERSHOOT = 1e-9
_OVERSHOOT_IN_ROUNDINGS = 8

# How much each side may add to the error of a sum: the error of clipped log-odds.
_SUM_ROUNDING = 1e-6
_NO_ROUNDING = 1e-15
_LEAST_WEIGHT = 1e-100


def check_decisions(
    decisions: ArrayLike, n_partitions: int, rows_per_partition: NDArray[np.intp] | None = None
) -> NDArray[np.float64]:
    """Return decision values as a C-contiguous float64 array within [−1, 1].

    NaN is allowed: it means that a binary gave no answer. A value slightly outside the interval is
    clipped if rounding can explain it (1e-9, or 8 units in the last place of the given type,
    whichever is more). An array that needs no change is returned as it is, not copied.

    Parameters
    ----------
    decisions : array of shape (n_samples, n_partitions), or (n_samples, n_rows)
        P(+1) − P(−1) of each binary, one row per sample. A partition with more than two sides has a
        column for each side, 2 q − 1 with the probability q of the side; these probabilities must
        sum to one, and are divided by their sum if it is off by rounding.
    n_partitions : int
        Number of partitions of the code.
    rows_per_partition : array of shape (n_partitions,), optional
        Number of columns of each partition; default one.

    Returns
    -------
    array of the same shape, float64, C-contiguous

    Raises
    ------
    ArgumentError
        If `decisions` has the wrong shape, or values that are not real numbers in [−1, 1].

    Examples
    --------
    >>> check_decisions([[0.5, -1]], n_partitions=2)
    array([[ 0.5, -1. ]])
    """
    given = _as_real_array(decisions)
    n_columns = n_partitions if rows_per_partition is None else int(rows_per_partition.sum())
    _check_shape(given.shape, n_partitions, n_columns)
    values = np.ascontiguousarray(given, dtype=np.float64)
    # Unlike max and min, these ignore NaN.
    highest = np.fmax.reduce(values, axis=None, initial=-1.0)
    lowest = np.fmin.reduce(values, axis=None, initial=1.0)
    if lowest < -1.0 or highest > 1.0:
        _check_range(values, _overshoot(given.dtype))
        values = np.clip(values, -1.0, 1.0)
    if rows_per_partition is None or n_columns == n_partitions:
        return values
    return _normalise_sides(values, rows_per_partition, _overshoot(given.dtype))


def _normalise_sides(
    values: NDArray[np.float64], rows_per_partition: NDArray[np.intp], rounding: float
) -> NDArray[np.float64]:
    """Scale decisions so that the probabilities of each partition's sides sum to one."""
    values = values.copy()
    starts = np.cumsum(rows_per_partition) - rows_per_partition
    for partition in np.flatnonzero(rows_per_partition > 1).tolist():
        n_sides = int(rows_per_partition[partition])
        columns = slice(starts[partition], starts[partition] + n_sides)
        chances = 0.5 * (1.0 + values[:, columns])
        totals = chances.sum(axis=1)
        n_missing = np.isnan(chances).sum(axis=1)
        is_partial = (n_missing > 0) & (n_missing < n_sides)
        is_wrong = is_partial | (np.abs(totals - 1.0) > n_sides * (_SUM_ROUNDING + rounding))
        if is_wrong.any():
            sample = int(np.argmax(is_wrong))
            answers = values[sample, columns].tolist()
            raise ArgumentError(
                Argument("decisions"),
                f" of partition {partition} must be 2 q - 1, with probabilities q of its {n_sides} "
                f"sides that sum to one; sample {sample} has {answers}. NaN in all of these "
                "columns means no answer.",
            )
        is_off = np.abs(totals - 1.0) > _NO_ROUNDING * n_sides
        values[is_off, columns] = 2.0 * chances[is_off] / totals[is_off, np.newaxis] - 1.0
    return values


def _as_real_array(decisions: ArrayLike) -> NDArray[np.generic]:
    try:
        given = np.asarray(decisions)
    except ValueError as error:
        raise ArgumentError(
            Argument("decisions"),
            f" is not an array: {str(error).rstrip('.')}. "
            "Give one row per sample, all of the same length.",
        ) from error
    if given.dtype.kind == "O":
        # Lists with None in them, or tables with columns of several types, may still be numbers.
        try:
            given = given.astype(np.float64)
        except (TypeError, ValueError):
            raise ArgumentError(
                Argument("decisions"),
                " must be real numbers in [-1, 1]; some are not numbers. "
                "Use NaN if a binary gave no answer.",
            ) from None
    if given.dtype.kind not in "biuf":
        raise ArgumentError(
            Argument("decisions"),
            f" must be real numbers in [-1, 1]; got type {given.dtype}. "
            "Give P(+1) - P(-1) of each binary.",
        )
    return given


def _check_shape(shape: tuple[int, ...], n_partitions: int, n_columns: int) -> None:
    if len(shape) != 2:
        raise ArgumentError(
            Argument("decisions"),
            f" must have shape (n_samples, {n_columns}); got {shape}. "
            "Put a single sample into a list.",
        )
    if shape[1] != n_columns != n_partitions:
        raise ArgumentError(
            Argument("decisions"),
            f" has {shape[1]} columns, but the code has {n_columns} rows. Give one column per row: "
            "one for a partition of two sides, and one for each side of the others.",
        )
    if shape[1] != n_columns:
        raise ArgumentError(
            Argument("decisions"),
            f" has {shape[1]} columns, but the code has {n_partitions} partitions. "
            "Give one column per partition, in the order of the code's rows.",
        )


def _overshoot(dtype: np.dtype[Any]) -> float:
    """Return how far outside [−1, 1] a value of this type may be due to rounding."""
    if dtype.kind != "f":
        return _LEAST_OVERSHOOT
    return max(_LEAST_OVERSHOOT, _OVERSHOOT_IN_ROUNDINGS * float(np.finfo(dtype).eps))


def _check_range(values: NDArray[np.float64], overshoot: float) -> None:
    outside = np.argwhere(np.abs(values) > 1.0 + overshoot)
    if not len(outside):
        return
    sample, partition = (int(index) for index in outside[0])
    more = f" ({len(outside)} values are outside)" if len(outside) > 1 else ""
    raise ArgumentError(
        Argument("decisions"),
        f" must lie in [-1, 1]; sample {sample} has {values[sample, partition]!s} for partition "
        f"{partition}{more}. Give P(+1) - P(-1) of calibrated binaries; NaN means no answer.",
    )


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
    return np.where(values > 0, np.maximum(values / largest, _LEAST_WEIGHT), 0.0)
