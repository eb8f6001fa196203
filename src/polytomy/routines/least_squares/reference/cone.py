"""Lawson and Hanson's active set in plain NumPy, for the reference routines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.least_squares.tolerances import DEPENDENT, ROUNDING, UNCHANGED

__all__ = ["minimise_on_cone", "span_columns"]

_BARELY_INDEPENDENT = 1e-26
"""Replaces DEPENDENT for a class whose gradient shows that it is independent."""

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def minimise_on_cone(b: Floats, last: float) -> Floats:
    """Return the x ≥ 0 of least |Bx − (0, …, 0, last)|, by Lawson and Hanson's active set (1974).

    If there are several, the columns of the returned x's support are independent.
    """
    n_classes = b.shape[1]
    target = np.zeros(len(b))
    target[-1] = last
    # With columns of unit norm, "small" means the same for all classes.
    root = np.linalg.norm(b, axis=0)
    root[root == 0.0] = 1.0
    units = b / root
    x = np.zeros(n_classes)
    support = np.zeros(n_classes, dtype=bool)
    barred = np.zeros(n_classes, dtype=bool)
    # Every change lowers the objective, so this ends; the limit is a safeguard against rounding.
    for _ in range(10 * n_classes + 10):
        slopes = units.T @ (units @ x - target)
        slopes[support | barred] = 0.0
        new = int(np.argmin(slopes))
        scale = x.sum() + last
        if slopes[new] >= -ROUNDING * scale:
            break
        # If the class turns out to be dependent, or to lead uphill, it was chosen only because of
        # rounding: it may not enter again until something else has changed.
        barred[new] = True
        basis = span_columns(units[:, support], least=0.0)
        outside = units[:, new] - basis.T @ (basis @ units[:, new])
        is_rounding = slopes[new] >= -UNCHANGED * scale
        if outside @ outside <= (DEPENDENT if is_rounding else _BARELY_INDEPENDENT):
            continue
        support[new] = True
        trial = _solve_on(support, units, target)
        if trial[new] <= 0.0:
            support[new] = False
            continue
        while (trial[support] < 0.0).any():
            # Move towards the trial up to the first bound, and drop the class that reaches it.
            falling = np.flatnonzero(support & (trial < 0.0))
            steps = x[falling] / (x[falling] - trial[falling])
            x = x + steps.min() * (trial - x)
            x[falling[np.argmin(steps)]] = 0.0
            support &= x > 0.0
            x[~support] = 0.0
            trial = _solve_on(support, units, target)
        x = trial
        barred[:] = False
    return x / root


def _solve_on(support: Flags, units: Floats, target: Floats) -> Floats:
    """Return the x of least |Ux − target| that is zero outside the support."""
    x = np.zeros(len(support))
    x[support] = np.linalg.lstsq(units[:, support], target, rcond=None)[0]
    return x


def span_columns(columns: Floats, least: float = DEPENDENT) -> Floats:
    """Return an orthonormal basis of the span of columns of unit norm, as rows."""
    left, singular_values, _ = np.linalg.svd(columns, full_matrices=False)
    return left[:, singular_values**2 > least].T
