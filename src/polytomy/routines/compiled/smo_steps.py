"""The samples that :mod:`polytomy.routines.compiled.smo` considers in its steps, and the steps.

Most of the work is finding maxima. The compiler turns a loop into vector instructions if it has no
branches and keeps many maxima side by side, in lanes, but not if it keeps a single one.

With few samples, a step takes less time than updating the reference counts of the arrays that it
passes to functions. So `solve_small` is one function, on plain arrays, with the kernel values of
all samples. A loop that looks for a maximum and its position has branches; two loops, one for each,
are several times as fast there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiling import helper, unfused_inlined_helper
from polytomy.routines.reference.smo import (
    LEAST_CURVATURE,
    NEAR_THE_END,
    SMALL_PROBLEM,
    STANDSTILL,
    STEPS_BETWEEN_SHRINKS,
)

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

NEVER = -np.inf
"""The slope of a change that is not possible."""

_LANES = 64
_FEWER_LANES = 32
"""A power of two, and half of it for loops that keep more numbers in each lane."""


class DualProblem(NamedTuple):
    """One run: arrays of shape (m,), in the order of the samples."""

    diagonal: Any
    lower: Any
    upper: Any
    coefficients: Any
    gradient: Any


class Limits(NamedTuple):
    """When the steps of a run end."""

    tolerance: float
    most_steps: int
    shrinks: bool
    most_work: int  # samples that the steps may process


class Considered(NamedTuple):
    """The samples considered in the steps, in compact arrays that are padded to whole lanes.

    `rise` is 0 if a coefficient may rise, otherwise −∞, so that rise − gradient is the slope of its
    rise, or −∞ if it cannot rise; `fall` likewise.
    """

    samples: Any
    gradient: Any
    diagonal: Any
    rise: Any
    fall: Any


@helper
def new_considered(n_samples: int) -> Any:
    """Return empty arrays for the samples."""
    padded = (n_samples + _LANES - 1) // _LANES * _LANES
    samples = np.arange(padded)
    gradient, diagonal = np.zeros(padded), np.zeros(padded)
    rise, fall = np.empty(padded), np.empty(padded)
    for k in range(padded):
        rise[k] = NEVER
        fall[k] = NEVER
    return Considered(samples, gradient, diagonal, rise, fall)


class LaneMaxima(NamedTuple):
    """Workspace for the maxima of each lane."""

    slopes: Any
    halves: Any
    numerators: Any
    denominators: Any


@helper
def new_lanes() -> Any:
    """Return a workspace for the maxima of each lane."""
    return LaneMaxima(
        np.empty(_LANES), np.empty(_LANES), np.empty(_FEWER_LANES), np.empty(_FEWER_LANES)
    )


@helper
def consider_all(considered: Considered, problem: DualProblem) -> None:
    """Consider all samples."""
    for t in range(len(problem.gradient)):
        considered.samples[t] = t
        considered.gradient[t] = problem.gradient[t]
        considered.diagonal[t] = problem.diagonal[t]
        _note_freedom(considered, t, problem, t)


@helper
def _note_freedom(considered: Considered, place: int, problem: DualProblem, t: int) -> None:
    considered.rise[place] = 0.0 if problem.coefficients[t] < problem.upper[t] else NEVER
    considered.fall[place] = 0.0 if problem.coefficients[t] > problem.lower[t] else NEVER


@helper
def steepest(considered: Considered, n: int) -> Any:
    """Return the slopes of the steepest rise and of the steepest fall."""
    return _steepest(considered.gradient, considered.rise, considered.fall, n)


@helper
def shrink(considered: Considered, n: int, steepest: tuple[float, float]) -> int:
    """Mark the samples that seem to stay at their bounds; return the number of others."""
    return _shrink(considered.gradient, considered.rise, considered.fall, n, steepest)


@helper
def compact(considered: Considered, n: int) -> int:
    """Drop the samples that can neither rise nor fall; return how many are left."""
    left = 0
    for k in range(n):
        if considered.rise[k] == 0.0 or considered.fall[k] == 0.0:
            considered.samples[left] = considered.samples[k]
            considered.gradient[left] = considered.gradient[k]
            considered.diagonal[left] = considered.diagonal[k]
            considered.rise[left] = considered.rise[k]
            considered.fall[left] = considered.fall[k]
            left += 1
    for k in range(left, n):
        considered.rise[k] = considered.fall[k] = NEVER
    return left


@helper
def choose_rise(considered: Considered, n: int, lanes: LaneMaxima) -> Any:
    """Return the position and slope of the steepest rise, the last one if several are equal."""
    gradient, rise, slopes = considered.gradient, considered.rise, lanes.slopes
    n_blocks = (n + _LANES - 1) // _LANES
    for lane in range(_LANES):
        slopes[lane] = NEVER
    for block in range(n_blocks):
        first = block * _LANES
        for lane in range(_LANES):
            slope = rise[first + lane] - gradient[first + lane]
            slopes[lane] = slope if slope > slopes[lane] else slopes[lane]
    steepest = _largest(slopes, lanes.halves)
    place = -1
    if steepest > NEVER:
        for lane in range(_LANES):
            if slopes[lane] == steepest:
                k = (n_blocks - 1) * _LANES + lane
                while rise[k] - gradient[k] != steepest:
                    k -= _LANES
                place = max(place, k)
    return place, steepest


@helper
def _largest(values: Floats, halves: Floats) -> float:
    """Return the largest value of all lanes."""
    for k in range(_LANES // 2):
        other = values[k + _LANES // 2]
        halves[k] = values[k] if values[k] > other else other
    for k in range(_LANES // 4):
        other = halves[k + _LANES // 4]
        halves[k] = halves[k] if halves[k] > other else other
    largest = halves[0]
    for k in range(1, _LANES // 4):
        largest = halves[k] if halves[k] > largest else largest
    return largest


@helper
def choose_fall(
    considered: Considered, n: int, row: Singles, i: int, rise: float, lanes: LaneMaxima
) -> int:
    """Return the position of the fall with the largest gain for the rise of i, or −1 if none.

    The gain is slope²/curvature. Each lane keeps the numerator and denominator of its best gain and
    compares by multiplication, which is faster than division.
    """
    gradient, fall, diagonal = considered.gradient, considered.fall, considered.diagonal
    numerators, denominators = lanes.numerators, lanes.denominators
    for lane in range(_FEWER_LANES):
        numerators[lane] = 0.0
    for lane in range(_FEWER_LANES):
        denominators[lane] = 1.0
    n_whole = n // _FEWER_LANES
    for block in range(n_whole):
        first = block * _FEWER_LANES
        for lane in range(_FEWER_LANES):
            k = first + lane
            slope = rise + (gradient[k] + fall[k])
            slope = slope if slope > 0.0 else 0.0
            square = slope * slope
            curvature = diagonal[i] + diagonal[k] - 2.0 * row[k]
            curvature = curvature if curvature > 0.0 else LEAST_CURVATURE
            is_better = square * denominators[lane] >= numerators[lane] * curvature
            numerators[lane] = square if is_better else numerators[lane]
            denominators[lane] = curvature if is_better else denominators[lane]
    for k in range(n_whole * _FEWER_LANES, n):
        lane = k - n_whole * _FEWER_LANES
        square, curvature = _gain(considered, row, i, k, rise)
        if square * denominators[lane] >= numerators[lane] * curvature:
            numerators[lane] = square
            denominators[lane] = curvature

    most = 0.0
    for lane in range(_FEWER_LANES):
        most = max(most, numerators[lane] / denominators[lane])
    place = -1
    if most > 0.0:
        for lane in range(_FEWER_LANES):
            if numerators[lane] / denominators[lane] == most:
                best = numerators[lane], denominators[lane]
                k = lane + (n - 1 - lane) // _FEWER_LANES * _FEWER_LANES
                while k > place and _gain(considered, row, i, k, rise) != best:
                    k -= _FEWER_LANES
                place = max(place, k)
    return place


@helper
def _gain(considered: Considered, row: Singles, i: int, k: int, rise: float) -> Any:
    slope = max(rise + (considered.gradient[k] + considered.fall[k]), 0.0)
    curvature = considered.diagonal[i] + considered.diagonal[k] - 2.0 * row[k]
    return slope * slope, curvature if curvature > 0.0 else LEAST_CURVATURE


@helper
def step(problem: DualProblem, considered: Considered, i: int, j: int, kernel_ij: float) -> Any:
    """Raise coefficient i and lower coefficient j equally.

    Return both changes, and whether the step is negligible.
    """
    b = problem.coefficients
    sample_i, sample_j = considered.samples[i], considered.samples[j]
    curvature = considered.diagonal[i] + considered.diagonal[j] - 2.0 * kernel_ij
    if not curvature > 0.0:
        curvature = LEAST_CURVATURE
    size = (considered.gradient[j] - considered.gradient[i]) / curvature
    before_i, before_j = b[sample_i], b[sample_j]
    is_standstill = _move(b, problem.lower, problem.upper, sample_i, sample_j, size)
    _note_freedom(considered, i, problem, sample_i)
    _note_freedom(considered, j, problem, sample_j)
    return b[sample_i] - before_i, b[sample_j] - before_j, is_standstill


@helper
def add_multiple(total: Floats, row: Singles, factor: float, n: int) -> None:
    """Add a multiple of a row to `total`."""
    for k in range(n):
        total[k] += row[k] * factor


@helper
def add_multiples(
    total: Floats,
    row: Singles,
    factor: float,
    other_row: Singles,
    other_factor: float,
    n: int,
) -> None:
    """Add multiples of two rows to `total`."""
    for k in range(n):
        total[k] += row[k] * factor + other_row[k] * other_factor


Workspace = tuple[Floats, Floats, Floats]


@helper
def new_workspace() -> Any:
    """Return the workspace of `solve_small`."""
    return np.empty(SMALL_PROBLEM), np.empty(SMALL_PROBLEM), np.empty(SMALL_PROBLEM)


@helper
def solve_small(
    problem: DualProblem,
    rows: Singles,
    workspace: Workspace,
    limits: Limits,
    stop: NDArray[np.int64],
) -> int:
    """Take steps until the stopping rule holds; return their number.

    `rows` has the kernel values of all samples, row after row. If `stop` is set, or if the steps so
    far have processed more than `most_work` samples, the result is invalid.
    """
    diagonal, lower, upper, b, gradient = problem
    tolerance, most_steps, shrinks, most_work = limits
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
                slopes = _steepest(gradient, rise, fall, n)
                if not has_looked_again and slopes[0] + slopes[1] <= NEAR_THE_END * tolerance:
                    has_looked_again = True
                    has_shrunk = False
                    _consider_all(lower, upper, b, rise, fall)
                    slopes = _steepest(gradient, rise, fall, n)
                has_shrunk = _shrink(gradient, rise, fall, n, slopes) < n or has_shrunk

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
        size = (gradient[j] - gradient[i]) / curvature
        is_standstill = _move(b, lower, upper, i, j, size)
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


@unfused_inlined_helper
def _shrink(
    gradient: Floats, rise: Floats, fall: Floats, n: int, steepest: tuple[float, float]
) -> int:
    steepest_rise, steepest_fall = steepest
    n_left = 0
    for k in range(n):
        g = gradient[k]
        cannot_rise, cannot_fall = rise[k] < 0.0, fall[k] < 0.0
        if (
            (cannot_rise and cannot_fall)
            or (cannot_rise and -g > steepest_rise)
            or (cannot_fall and g > steepest_fall)
        ):
            rise[k] = fall[k] = NEVER
        else:
            n_left += 1
    return n_left


@unfused_inlined_helper
def _move(b: Floats, lower: Floats, upper: Floats, i: int, j: int, size: float) -> bool:
    """Raise b_i and lower b_j by `size`, or as far as their bounds allow.

    Return whether the step is negligible.
    """
    before_i, before_j = b[i], b[j]
    room_above, room_below = upper[i] - before_i, before_j - lower[j]
    if size < min(room_above, room_below):
        b[i], b[j] = before_i + size, before_j - size
        return size <= STANDSTILL * max(abs(before_i), abs(before_j))
    if room_above < room_below:
        b[i] = upper[i]
        b[j] = max(before_i + before_j - b[i], lower[j])
    else:
        b[j] = lower[j]
        b[i] = min(before_i + before_j - b[j], upper[i])
    return False
