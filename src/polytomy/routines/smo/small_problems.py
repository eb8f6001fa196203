"""Steps of :mod:`polytomy.routines.smo.compiled` for problems with few samples.

With few samples, a step takes less time than updating the reference counts of the arrays that it
passes to functions. So everything is in one function, on plain arrays, with the kernel values of
all samples. :mod:`polytomy.routines.smo.working_set` is faster with more samples.

A loop that looks for a maximum and its position has branches; two loops, one for each, are several
times as fast.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.runtime.compiling import helper, unfused_inlined_helper
from polytomy.routines.smo.reference import (
    LEAST_CURVATURE,
    NEAR_THE_END,
    SMALL_PROBLEM,
    STANDSTILL,
    STEPS_BETWEEN_SHRINKS,
)
from polytomy.routines.smo.working_set import NEVER, Problem

__all__ = ["Workspace", "new_workspace", "solve_small"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

Workspace = tuple[Floats, Floats, Floats]


@helper
def new_workspace() -> Any:
    """Return the workspace of `solve_small`."""
    return np.empty(SMALL_PROBLEM), np.empty(SMALL_PROBLEM), np.empty(SMALL_PROBLEM)


@helper
def solve_small(
    problem: Problem,
    rows: Singles,
    workspace: Workspace,
    tolerance: float,
    most_steps: int,
    shrinks: bool,
    most_work: int,
    stop: NDArray[np.int64],
) -> int:
    """Take steps until the stopping rule holds; return their number.

    `rows` has the kernel values of all samples, row after row. If `stop` is set, or if the steps so
    far have processed more than `most_work` samples, the result is invalid.
    """
    diagonal, lower, upper, b, gradient = problem
    rise, fall, gains = workspace
    n = len(b)
    n_free = 0
    for t in range(n):
        n_free += lower[t] < upper[t]
    interval = min(n_free, STEPS_BETWEEN_SHRINKS[0])
    until_shrink = interval + 1
    has_shrunk = False
    has_looked_again = False
    _consider_all(lower, upper, b, rise, fall)
    steps = 0
    while most_steps < 0 or steps < most_steps:
        if stop[0] != 0 or steps * n > most_work:
            return steps
        until_shrink -= 1
        if until_shrink == 0:
            until_shrink = interval
            if shrinks:
                steepest_rise, steepest_fall = _steepest(gradient, rise, fall, n)
                if (
                    not has_looked_again
                    and steepest_rise + steepest_fall <= NEAR_THE_END * tolerance
                ):
                    has_looked_again = True
                    has_shrunk = False
                    _consider_all(lower, upper, b, rise, fall)
                    steepest_rise, steepest_fall = _steepest(gradient, rise, fall, n)
                for k in range(n):
                    g = gradient[k]
                    cannot_rise, cannot_fall = rise[k] < 0.0, fall[k] < 0.0
                    if (
                        (cannot_rise and cannot_fall)
                        or (cannot_rise and -g > steepest_rise)
                        or (cannot_fall and g > steepest_fall)
                    ):
                        rise[k] = fall[k] = NEVER
                        has_shrunk = True

        steepest_rise, steepest_fall = _steepest(gradient, rise, fall, n)
        if not steepest_rise + steepest_fall >= tolerance:
            if not has_shrunk:
                break
            has_shrunk = False
            until_shrink = 2  # after the next step
            _consider_all(lower, upper, b, rise, fall)
            steepest_rise, steepest_fall = _steepest(gradient, rise, fall, n)
            if not steepest_rise + steepest_fall >= tolerance:
                break
            continue

        i = n - 1
        while rise[i] - gradient[i] != steepest_rise:
            i -= 1
        row_i, diagonal_i = rows[i * n : (i + 1) * n], diagonal[i]
        for k in range(n):
            slope = steepest_rise + (gradient[k] + fall[k])
            slope = slope if slope > 0.0 else 0.0
            curvature = diagonal_i + diagonal[k] - 2.0 * row_i[k]
            curvature = curvature if curvature > 0.0 else LEAST_CURVATURE
            gains[k] = slope * slope / curvature
        most = 0.0
        for k in range(n):
            most = gains[k] if gains[k] > most else most
        if most == 0.0:
            break
        j = n - 1
        while gains[j] != most:
            j -= 1

        curvature = diagonal_i + diagonal[j] - 2.0 * row_i[j]
        if not curvature > 0.0:
            curvature = LEAST_CURVATURE
        before_i, before_j = b[i], b[j]
        room_above, room_below = upper[i] - before_i, before_j - lower[j]
        size = (gradient[j] - gradient[i]) / curvature
        is_standstill = False
        if size < min(room_above, room_below):
            b[i], b[j] = before_i + size, before_j - size
            is_standstill = size <= STANDSTILL * max(abs(before_i), abs(before_j))
        elif room_above < room_below:
            b[i] = upper[i]
            b[j] = max(before_i + before_j - b[i], lower[j])
        else:
            b[j] = lower[j]
            b[i] = min(before_i + before_j - b[j], upper[i])
        rise[i] = 0.0 if b[i] < upper[i] else NEVER
        fall[i] = 0.0 if b[i] > lower[i] else NEVER
        rise[j] = 0.0 if b[j] < upper[j] else NEVER
        fall[j] = 0.0 if b[j] > lower[j] else NEVER
        change_i, change_j = b[i] - before_i, b[j] - before_j
        row_j = rows[j * n : (j + 1) * n]
        for k in range(n):
            gradient[k] += row_i[k] * change_i + row_j[k] * change_j
        steps += 1
        if is_standstill:
            break
    return steps


@unfused_inlined_helper
def _consider_all(lower: Floats, upper: Floats, b: Floats, rise: Floats, fall: Floats) -> None:
    for t in range(len(b)):
        rise[t] = 0.0 if b[t] < upper[t] else NEVER
        fall[t] = 0.0 if b[t] > lower[t] else NEVER


@unfused_inlined_helper
def _steepest(gradient: Floats, rise: Floats, fall: Floats, n: int) -> Any:
    steepest_rise, steepest_fall = NEVER, NEVER
    for k in range(n):
        slope = rise[k] - gradient[k]
        steepest_rise = slope if slope > steepest_rise else steepest_rise
    for k in range(n):
        slope = fall[k] + gradient[k]
        steepest_fall = slope if slope > steepest_fall else steepest_fall
    return steepest_rise, steepest_fall
