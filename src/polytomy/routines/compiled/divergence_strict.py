"""Compiled: the least divergence of a strict code, for one sample at a time.

Every row of a strict code contains all classes, so T is the sum of p, and L + S(Σp − 1), with the
sum S of all shares, has the same minimum over p ≥ 0 as L over the simplex. This is the likelihood
of a mixture, whose gradient is S − g with the pulls g and whose Hessian is Σ m/(mass of side)² over
the pairs of classes that share a side. Most classes have no mass in the minimum.

After some majorise-minimise steps, each step is Newton's in the classes with mass and in those that
would gain by having some. It is projected on p ≥ 0: what would become negative is zero (Bertsekas
1982). A class that has little mass, and is losing it, is set to zero without entering the system.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiled.linear_systems import solve_positive
from polytomy.routines.compiling import helper
from polytomy.routines.reference.divergence import (
    MAX_HALVINGS,
    ROUNDING,
    SUFFICIENT_DECREASE,
    TOLERANCE,
)

_FIRST_STEPS = 24
"""Number of majorise-minimise steps before the first Newton step."""

_MOST_STEPS = 60

_LITTLE, _LOSING = 1e-3, 0.02
"""A class with less mass, and with a larger (S − g)/S, is set to zero."""

_LEAST_PIVOT = 1e-13
"""Smaller pivots, relative to the diagonal, are raised: some classes cannot be told apart."""

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@helper
def descend_strictly(answers: Any, p: Floats, curvature: Floats, work: Floats) -> bool:
    """Move p to the minimum; return False if it is not found.

    Parameters
    ----------
    answers : the answers of a strict code, see `divergence.py`
    p : array of shape (n_classes,), positive
    curvature, work : workspaces of shapes (n_classes, n_classes) and (4, n_classes)
    """
    n_classes = len(p)
    pull, step, moved, solution = work[0], work[1], work[2], work[3]
    free = np.empty(n_classes, np.intp)
    place = np.empty(n_classes, np.intp)
    total = 0.0
    for row in range(len(answers.shares)):
        total += answers.shares[row, 0]
        total += answers.shares[row, 1]
    if total == 0.0:
        return False
    for _ in range(_FIRST_STEPS):
        _weigh(answers, p, total)
        _add_pulls(answers, pull)
        for j in range(n_classes):
            p[j] *= pull[j] / total
    for _ in range(_MOST_STEPS):
        value = _weigh(answers, p, total)
        _add_pulls(answers, pull)
        n_free, largest = int(np.intp(0)), 0.0
        for j in range(n_classes):
            excess = (total - pull[j]) / total
            largest = max(largest, abs(excess) if p[j] > 0.0 else -excess)
            place[j] = -1
            step[j] = 0.0
            if 0.0 < p[j] < _LITTLE and excess > _LOSING:
                step[j] = -p[j]
            elif p[j] > 0.0 or excess < -TOLERANCE:
                place[j] = n_free
                free[n_free] = j
                solution[n_free] = pull[j] - total
                n_free += 1
        if largest <= TOLERANCE:
            _normalise(p)
            return True
        _fill_curvature(answers, place, n_free, curvature)
        if not solve_positive(curvature, solution, n_free, _LEAST_PIVOT):
            return False
        for a in range(n_free):
            step[free[a]] = solution[a]
        if not _search_along(answers, p, step, pull, total, value, moved):
            return False
    return False


@helper
def _normalise(p: Floats) -> None:
    total = 0.0
    for j in range(len(p)):
        total += p[j]
    for j in range(len(p)):
        p[j] /= total


@helper
def _weigh(answers: Any, p: Floats, total: float) -> float:
    """Set the masses of all sides that count, and return L + S Σp; infinite without mass."""
    members, bounds, shares, masses = answers
    value = 0.0
    for j in range(len(p)):
        value += total * p[j]
    for row in range(len(shares)):
        for side in range(2):
            if shares[row, side] > 0.0:
                mass = 0.0
                for at in range(bounds[row, side], bounds[row, side + 1]):
                    mass += p[members[at]]
                masses[row, side] = mass
                if mass <= 0.0:
                    return np.inf
                value -= shares[row, side] * np.log(mass)
    return value


@helper
def _add_pulls(answers: Any, pull: Floats) -> None:
    members, bounds, shares, masses = answers
    for j in range(len(pull)):
        pull[j] = 0.0
    for row in range(len(shares)):
        for side in range(2):
            if shares[row, side] > 0.0:
                own = shares[row, side] / masses[row, side]
                for at in range(bounds[row, side], bounds[row, side + 1]):
                    pull[members[at]] += own


@helper
def _fill_curvature(answers: Any, place: Indices, n_free: int, curvature: Floats) -> None:
    """Fill the lower triangle with the Hessian in the free classes."""
    members, bounds, shares, masses = answers
    own = np.empty(n_free, np.intp)
    for a in range(n_free):
        for b in range(a + 1):
            curvature[a, b] = 0.0
    for row in range(len(shares)):
        for side in range(2):
            if shares[row, side] > 0.0:
                amount = shares[row, side] / masses[row, side] / masses[row, side]
                n_own = 0
                # The members of a side are in order, and so are their places.
                for at in range(bounds[row, side], bounds[row, side + 1]):
                    if place[members[at]] >= 0:
                        own[n_own] = place[members[at]]
                        n_own += 1
                for a in range(n_own):
                    for b in range(a + 1):
                        curvature[own[a], own[b]] += amount


@helper
def _search_along(
    answers: Any, p: Floats, step: Floats, pull: Floats, total: float, value: float, moved: Floats
) -> bool:
    """Move p to the first point at 1, 1/2, 1/4, … of the projected step that is low enough."""
    slack = ROUNDING * (total + abs(value))
    fraction = 1.0
    for _ in range(MAX_HALVINGS):
        change = 0.0
        for j in range(len(p)):
            moved[j] = max(p[j] + fraction * step[j], 0.0)
            change += (total - pull[j]) * (moved[j] - p[j])
        limit = value + SUFFICIENT_DECREASE * min(change, 0.0) + slack
        if _weigh(answers, moved, total) <= limit:
            for j in range(len(p)):
                p[j] = moved[j]
            return True
        fraction /= 2
    return False
