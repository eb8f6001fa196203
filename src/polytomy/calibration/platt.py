"""Platt's targets, and the fit of log-odds to them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.calibration.reference import platt_targets
from polytomy.routines.runtime.dispatch import routine

__all__ = ["fit_log_odds", "platt_targets"]


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
