"""Platt's targets, and the fit of log-odds to them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

__all__ = ["fit_log_odds", "platt_targets"]

_MOST_STEPS = 100
_SMALLEST_STEP = 1e-10
# If a step can save no more than this part of the loss, Newton's method converges quadratically.
_NEAR = 1e-12


def platt_targets(
    is_positive: NDArray[np.bool_], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (N₊+1)/(N₊+2) on the +1 side and 1/(N₋+2) on the −1 side (Platt 1999).

    N₊ and N₋ are the sums of the weights on the two sides, so a weight of 2 counts as two samples.

    Examples
    --------
    >>> platt_targets(np.array([True, False, False]), np.ones(3))
    array([0.66666667, 0.25      , 0.25      ])
    """
    n_positive = float(np.sum(weight[is_positive]))
    n_negative = float(np.sum(weight[~is_positive]))
    return np.where(is_positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))


def fit_log_odds(
    columns: NDArray[np.float64], targets: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the coefficients of linear log-odds that minimise the log-loss.

    Uses Newton's method with backtracking, as Lin, Lin and Weng (2007) propose for Platt's sigmoid.
    The targets lie strictly between zero and one, so the minimum is finite. It is unique if the
    columns are independent.

    Parameters
    ----------
    columns : array of shape (n_samples, n_coefficients), scaled to about one
    targets : array of shape (n_samples,), in (0, 1)
    weight : array of shape (n_samples,), positive

    Returns
    -------
    array of shape (n_coefficients,)

    Examples
    --------
    >>> fit_log_odds(np.ones((4, 1)), np.full(4, 0.75), np.ones(4)).round(6)  # log 3
    array([1.098612])
    """
    coefficients = np.zeros(columns.shape[1])
    log_odds = columns @ coefficients
    loss = _loss(log_odds, targets, weight)
    # Keeps the Hessian invertible when all probabilities have saturated.
    ridge = 1e-12 * float(np.sum(weight)) * np.eye(columns.shape[1])
    for _ in range(_MOST_STEPS):
        probability = expit(log_odds)
        gradient = (weight * (probability - targets)) @ columns
        curvature = weight * probability * (1.0 - probability)
        hessian = (columns.T * curvature) @ columns + ridge
        direction = -np.linalg.solve(hessian, gradient)
        slope = float(gradient @ direction)
        if -slope <= _NEAR * loss:
            # A full step squares the error now, but the change of the loss is lost to rounding.
            return coefficients + direction
        step = 1.0
        while step >= _SMALLEST_STEP:
            nearer = coefficients + step * direction
            log_odds = columns @ nearer
            new_loss = _loss(log_odds, targets, weight)
            if new_loss <= loss + 1e-4 * step * slope:
                break
            step /= 2.0
        coefficients, loss = nearer, new_loss
    return coefficients


def _loss(
    log_odds: NDArray[np.float64], targets: NDArray[np.float64], weight: NDArray[np.float64]
) -> float:
    likelihood = targets * log_expit(log_odds) + (1.0 - targets) * log_expit(-log_odds)
    return -float(weight @ likelihood)
