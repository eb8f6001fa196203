"""Scores of predicted distributions of a number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.numbers import as_floats, check_levels, check_targets, check_weights

Floats = NDArray[np.float64]

# Number of array entries for one block of samples.
_BLOCK_ENTRIES = 2**20


def crps(
    y: ArrayLike,
    distribution: Any,
    masses: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean continuous ranked probability score (Matheson and Winkler 1976).

    The score of a sample is ∫ (F(z) − [z ≥ y])² dz, where F is its predicted distribution function.
    It is in the unit of `y`. A certain prediction scores its absolute error. The score is proper:
    on average, the true distribution scores best. The integral is exact, for F linear inside bins.

    Parameters
    ----------
    y : array of shape (n_samples,)
        True values.
    distribution : what ``PolytomyRegressor.predict_distribution`` returns, or an array of bin edges
        Edges have shape (n_bins + 1,), or (n_samples, n_bins + 1) if each sample has its own. They
        must not decrease; a bin without width has all its mass at one point.
    masses : array of shape (n_samples, n_bins) or (n_bins,)
        Probabilities of the bins, if `distribution` is an array of edges.
    sample_weight : array of shape (n_samples,), optional

    Returns
    -------
    float, zero is best

    Examples
    --------
    A uniform distribution from 0 to 1 scores 1/12 in the middle and 1/3 at an end:

    >>> round(crps([0.5], [0.0, 1.0], [1.0]), 6), round(crps([1.0], [0.0, 1.0], [1.0]), 6)
    (0.083333, 0.333333)
    """
    values = check_targets(y, "y")
    if masses is None:
        if not hasattr(distribution, "edges"):
            raise ArgumentError(
                Argument("masses"),
                " is missing. Pass the probability of each bin, or a "
                "distribution that predict_distribution returned.",
            )
        distribution, masses = distribution.edges, distribution.masses
    edges, probabilities = _check_bins(distribution, masses, len(values))
    weight = check_weights(sample_weight, len(values))
    return float(np.average(crps_of_bins(values, edges, probabilities), weights=weight))


def crps_of_bins(y: Floats, edges: Floats, masses: Floats) -> Floats:
    """Return the score of each sample; the arguments are not checked.

    Parameters
    ----------
    y : array of shape (n_samples,)
    edges : array of shape (n_bins + 1,) or (n_samples, n_bins + 1)
    masses : array of shape (n_bins,) or (n_samples, n_bins)
    """
    scores = np.empty(len(y))
    n_rows = max(1, _BLOCK_ENTRIES // edges.shape[-1])
    for start in range(0, len(y), n_rows):
        block = slice(start, start + n_rows)
        scores[block] = _score_block(
            y[block],
            edges if edges.ndim == 1 else edges[block],
            masses if masses.ndim == 1 else masses[block],
        )
    return scores


def _score_block(y: Floats, edges: Floats, masses: Floats) -> Floats:
    edges, masses = np.atleast_2d(edges), np.atleast_2d(masses)
    lower, upper = edges[:, :-1], edges[:, 1:]
    after = np.cumsum(masses, axis=1)  # F at the upper end of each bin, and before it at the lower
    before = after - masses
    middle = np.clip(y[:, np.newaxis], lower, upper)
    width = upper - lower
    share = np.divide(
        middle - lower, width, out=np.zeros(np.broadcast(middle, width).shape), where=width > 0
    )
    at_middle = before + share * masses
    # Below y, F counts; above it, 1 − F.
    below = (middle - lower) * _mean_square(before, at_middle)
    above = (upper - middle) * _mean_square(1.0 - at_middle, 1.0 - after)
    outside = np.maximum(edges[:, 0] - y, 0.0) + np.maximum(y - edges[:, -1], 0.0)
    return np.asarray((below + above).sum(axis=1) + outside)


def _mean_square(first: Floats, last: Floats) -> Floats:
    """Return the mean of the square of a function that is linear between two values."""
    return np.asarray((first * first + first * last + last * last) / 3.0)


def crps_of_samples(
    y: ArrayLike, samples: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean continuous ranked probability score of samples of the predictions.

    F is the step function of the samples, as of an ensemble forecast: the score is
    ``mean |x − y| − ½ mean |x − x′|`` over all samples x and pairs (x, x′).

    Parameters
    ----------
    y : array of shape (n_samples,)
    samples : array of shape (n_samples, n_draws), the predictions for each value, in any order
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> crps_of_samples([2.0], [[1.0, 3.0]])  # 1 − ½ · (0 + 2 + 2 + 0) / 4
    0.5
    """
    values = check_targets(y, "y")
    draws = _check_rows("samples", samples, len(values))
    edges = np.repeat(np.sort(draws, axis=1), 2, axis=1)  # a bin without width for each sample
    masses = np.zeros(edges.shape[1] - 1)
    masses[::2] = 1.0 / draws.shape[1]
    weight = check_weights(sample_weight, len(values))
    return float(np.average(crps_of_bins(values, edges, masses), weights=weight))


def quantile_loss(
    y: ArrayLike,
    quantiles: ArrayLike,
    levels: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean pinball loss of predicted quantiles (Koenker and Bassett 1978).

    The loss of a quantile q at level p is p (y − q) if y is above q, and (1 − p) (q − y) below. The
    mean over all levels from 0 to 1 is half the continuous ranked probability score.

    Parameters
    ----------
    y : array of shape (n_samples,)
    quantiles : array of shape (n_samples, n_levels)
    levels : array of shape (n_levels,), from 0 to 1
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> quantile_loss([2.0], [[1.0, 3.0]], [0.25, 0.75])  # 0.25 · 1 and 0.25 · 1
    0.25
    """
    values = check_targets(y, "y")
    p = np.atleast_1d(check_levels("levels", levels))
    predicted = _check_rows("quantiles", quantiles, len(values))
    if predicted.shape[1] != len(p):
        raise ArgumentError(
            f"quantiles has {predicted.shape[1]} columns, but ",
            Argument("levels"),
            f" has {len(p)} levels. Pass one column for each level.",
        )
    errors = values[:, np.newaxis] - predicted
    losses = np.maximum(p * errors, (p - 1.0) * errors).mean(axis=1)
    return float(np.average(losses, weights=check_weights(sample_weight, len(values))))


def interval_coverage(
    y: ArrayLike, intervals: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the share of true values that lie inside their intervals, ends included.

    Parameters
    ----------
    y : array of shape (n_samples,)
    intervals : array of shape (n_samples, 2), lower and upper ends, as from ``predict_interval``
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> interval_coverage([1.0, 2.0, 5.0, 4.0], [[0, 2], [2, 3], [3, 4], [3, 5]])
    0.75
    """
    values = check_targets(y, "y")
    ends = _check_rows("intervals", intervals, len(values), allows_infinite=True)
    if ends.shape[1] != 2:
        raise ArgumentError(
            f"intervals has {ends.shape[1]} columns; pass two, the lower and the upper ends."
        )
    is_inside = (ends[:, 0] <= values) & (values <= ends[:, 1])
    weight = check_weights(sample_weight, len(values))
    return float(np.average(is_inside, weights=weight))


def _check_bins(edges: Any, masses: ArrayLike, n_samples: int) -> tuple[Floats, Floats]:
    edges, masses = as_floats("edges", edges), as_floats("masses", masses)
    for name, array, n_more in (("edges", edges, 1), ("masses", masses, 0)):
        is_table = array.ndim == 2 and len(array) == n_samples
        if not (is_table or array.ndim == 1) or array.shape[-1] <= n_more:
            raise ArgumentError(
                f"{name} has shape {array.shape}; {n_samples} samples need one row for all of "
                "them, or one row for each."
            )
    if edges.shape[-1] != masses.shape[-1] + 1:
        raise ArgumentError(
            f"{masses.shape[-1]} masses need {masses.shape[-1] + 1} edges; got {edges.shape[-1]}."
        )
    if not np.isfinite(edges).all() or np.any(np.diff(edges, axis=-1) < 0):
        raise ArgumentError("edges must be finite, and must not decrease.")
    if not np.isfinite(masses).all() or np.any(masses < 0):
        raise ArgumentError("masses must be finite and not negative.")
    if np.any(np.abs(masses.sum(axis=-1) - 1) > 1e-6):
        raise ArgumentError("masses must sum to one in each row.")
    return edges, masses


def _check_rows(
    name: str, values: ArrayLike, n_samples: int, *, allows_infinite: bool = False
) -> Floats:
    array = as_floats(name, values)
    if array.ndim != 2 or len(array) != n_samples or not array.shape[1]:
        raise ArgumentError(
            f"{name} has shape {array.shape}; {n_samples} samples need one row each."
        )
    is_bad = np.isnan(array) if allows_infinite else ~np.isfinite(array)
    if is_bad.any():
        raise ArgumentError(f"{name} has {array[is_bad][0]}, which is not a finite number.")
    return array
