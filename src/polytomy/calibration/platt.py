"""Platt's targets, and the fit of log-odds to them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.runtime.dispatch import routine

__all__ = ["fit_log_odds", "platt_targets"]


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
    n_positive = float(weight[is_positive].sum())
    n_negative = float(weight[~is_positive].sum())
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
    fitted: NDArray[np.float64] = routine("fit_log_odds", "calibration")(columns, targets, weight)
    return fitted
