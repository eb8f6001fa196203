"""Compiled twin of :mod:`polytomy.routines.reference.divergence`: the same steps as loops.

The minimum of a strict code is found in fewer steps, see `divergence_strict.py`. Where that fails,
it is found by the steps of the reference.

Loops over classes are written out: array expressions, masks and slices compute the same, but take
five times as long to compile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiled.divergence_strict import descend_strictly
from polytomy.routines.compiled.linear_systems import solve_positive
from polytomy.routines.compiling import entry, helper
from polytomy.routines.reference.divergence import (
    BETTER,
    LEAN,
    LEAST_FACTOR,
    MAX_HALVINGS,
    MAX_ITERATIONS,
    N_SCREENED,
    RIDGE,
    ROUNDING,
    SCREENING_STEPS,
    SUFFICIENT_DECREASE,
    TOLERANCE,
    VANISHED,
)
from polytomy.routines.threads import run_in_blocks

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

_ITERATIONS = 15
"""Approximate number of iterations of a descent."""


class _Answers(NamedTuple):
    """The answers for one sample; side 0 of a row is its −1 side."""

    # The classes of row i are members[bounds[i, 0]:bounds[i, 2]]; side 1 starts at bounds[i, 1].
    members: Indices
    bounds: Indices  # (n_rows, 3)
    shares: Floats  # (n_rows, 2), w·m of each side; zeros if the row is left out
    masses: Floats  # (n_rows, 2), of each side; a workspace


def minimise_divergence(
    matrix: NDArray[np.int8], decisions: Floats, weights: Floats, is_convex: bool
) -> Floats:
    """Return the probabilities with the least weighted Kullback-Leibler divergence."""
    probabilities = np.empty((len(decisions), matrix.shape[1]))
    inputs = matrix, decisions, weights, bool(is_convex)
    cost = _cost_of_iteration(matrix) * _ITERATIONS * (1 if is_convex else 1 + N_SCREENED)
    run_in_blocks(_minimise_divergence, len(decisions), *inputs, outputs=[probabilities], cost=cost)
    return probabilities


def _cost_of_iteration(matrix: NDArray[np.int8]) -> float:
    """Return the approximate nanoseconds of an iteration: pulls, curvature and its factor."""
    n_members = np.count_nonzero(matrix, axis=1).astype(np.float64)
    return float(5 * n_members.sum() + (n_members**2).sum() / 2 + matrix.shape[1] ** 3 / 3)


@entry
def _minimise_divergence(
    matrix: NDArray[np.int8],
    decisions: Floats,
    weights: Floats,
    is_convex: bool,
    probabilities: Floats,
    begin: int,
    end: int,
    stop: NDArray[np.int64],
) -> None:
    n_rows, n_classes = matrix.shape
    members, bounds = _list_sides(matrix)
    answers = _Answers(members, bounds, np.empty((n_rows, 2)), np.empty((n_rows, 2)))
    starts, values = np.empty((n_classes + 1, n_classes)), np.empty(n_classes)
    is_strict = len(members) == matrix.size
    curvature, work = np.empty((n_classes, n_classes)), np.empty((4, n_classes))
    for sample in range(begin, end):
        if stop[0] != 0:
            return
        total = 0.0
        for row in range(n_rows):
            r = decisions[sample, row]
            is_answered = not np.isnan(r)
            answers.shares[row, 0] = weights[row, 0] * ((1 - r) / 2) if is_answered else 0.0
            answers.shares[row, 1] = weights[row, 1] * ((1 + r) / 2) if is_answered else 0.0
            total += answers.shares[row, 0]
            total += answers.shares[row, 1]
        if is_strict:
            p = probabilities[sample]
            for j in range(n_classes):
                p[j] = 1 / n_classes
            if descend_strictly(answers, p, curvature, work):
                continue
        if not is_convex:
            _fill_lean_starts(answers, starts, values)
        lowest = np.inf
        for number in range(1 if is_convex else 1 + min(N_SCREENED, n_classes)):
            start = starts[n_classes]  # all classes are equally likely
            if number == 0:
                for j in range(n_classes):
                    start[j] = 1 / n_classes
            else:
                start = starts[_take_lowest(values)]
            value = _descend(answers, start)
            if number == 0 or value < lowest - BETTER * total:
                lowest = value
                for j in range(n_classes):
                    probabilities[sample, j] = start[j]


@helper
def _list_sides(matrix: NDArray[np.int8]) -> Any:
    n_rows, n_classes = matrix.shape
    members = np.empty(np.count_nonzero(matrix), np.intp)
    bounds = np.empty((n_rows, 3), np.intp)
    end = 0
    for row in range(n_rows):
        bounds[row, 0] = end
        for side in range(2):
            for column in range(n_classes):
                if matrix[row, column] == 2 * side - 1:
                    members[end] = column
                    end += 1
            bounds[row, side + 1] = end
    return members, bounds


@helper
def _fill_lean_starts(answers: Any, starts: Floats, values: Floats) -> None:
    """Set points that favour one class, after the screening steps, and L there."""
    n_classes = len(values)
    pull, cost = np.empty(n_classes), np.empty(n_classes)
    for favoured in range(n_classes):
        p = starts[favoured]
        for j in range(n_classes):
            p[j] = (1 - LEAN) / n_classes
        p[favoured] += LEAN
        for _ in range(SCREENING_STEPS):
            _pull_and_cost(answers, p, pull, cost)
            _majorise_minimise(p, pull, cost)
        values[favoured] = _divergence(answers, p)


@helper
def _take_lowest(values: Floats) -> int:
    """Return the first position of the smallest value, and mark it as taken with NaN."""
    lowest = 0
    for k in range(1, len(values)):
        if np.isnan(values[lowest]) or values[k] < values[lowest]:
            lowest = k
    values[lowest] = np.nan
    return lowest


@helper
def _descend(all_answers: Any, p: Floats) -> float:
    """Move p to the minimum reached from there, and return L at the minimum."""
    members, bounds, shares, masses = all_answers
    answers = _Answers(members, bounds, shares.copy(), masses)
    n_classes = len(p)
    pull, cost, excess = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    step, moved = np.empty(n_classes), np.empty(n_classes)
    curvature = np.empty((n_classes, n_classes))
    n_gone = 0
    set_aside = 0.0
    for _ in range(MAX_ITERATIONS):
        _pull_and_cost(answers, p, pull, cost)
        _majorise_minimise(p, pull, cost)
        _pull_and_cost(answers, p, pull, cost)
        n_going, largest, slope = 0, 0.0, 0.0
        for j in range(n_classes):
            excess[j] = (cost[j] - pull[j]) / cost[j] if cost[j] > 0 else 0.0
            n_going += _is_gone(p[j], excess[j])
            largest = max(largest, abs(excess[j]))
        if n_going > n_gone:
            n_gone = n_going
            set_aside += _divergence(answers, p)
            for j in range(n_classes):
                if _is_gone(p[j], excess[j]):
                    p[j] = 0.0
            _normalise(p)
            _drop_one_sided(answers, p)
            set_aside -= _divergence(answers, p)
            continue
        _newton_step(answers, p, cost, excess, curvature, step)
        if largest <= TOLERANCE:
            value = set_aside + _divergence(answers, p)
            _take_last_step(p, step)
            return value
        for j in range(n_classes):
            slope += p[j] * (cost[j] - pull[j]) * step[j]
        _search_along(answers, p, step, slope, moved)
    return set_aside + _divergence(answers, p)


@helper
def _is_gone(p: float, excess: float) -> bool:
    return p == 0 or (p <= VANISHED and excess > TOLERANCE)


@helper
def _normalise(p: Floats) -> None:
    total = 0.0
    for j in range(len(p)):
        total += p[j]
    for j in range(len(p)):
        p[j] /= total


@helper
def _weigh_sides(answers: Any, p: Floats) -> None:
    for row in range(len(answers.bounds)):
        if answers.shares[row, 0] + answers.shares[row, 1] == 0:
            continue
        for side in range(2):
            mass = 0.0
            for at in range(answers.bounds[row, side], answers.bounds[row, side + 1]):
                mass += p[answers.members[at]]
            answers.masses[row, side] = mass


@helper
def _drop_one_sided(answers: Any, p: Floats) -> None:
    _weigh_sides(answers, p)
    for row in range(len(answers.bounds)):
        # The masses of a row that was dropped before are unknown; it stays dropped.
        if answers.masses[row, 0] == 0 or answers.masses[row, 1] == 0:
            answers.shares[row, 0] = 0.0
            answers.shares[row, 1] = 0.0


@helper
def _divergence(answers: Any, p: Floats) -> float:
    _weigh_sides(answers, p)
    shares, masses = answers.shares, answers.masses
    value = 0.0
    for row in range(len(shares)):
        total = masses[row, 0] + masses[row, 1]
        for side in range(2):
            if shares[row, side] > 0 and total > 0:
                if masses[row, side] == 0:
                    return np.inf
                value -= shares[row, side] * np.log(masses[row, side] / total)
    return value


@helper
def _pull_and_cost(answers: Any, p: Floats, pull: Floats, cost: Floats) -> None:
    _weigh_sides(answers, p)
    members, bounds, shares, masses = answers
    for j in range(len(p)):
        pull[j] = 0.0
        cost[j] = 0.0
    for row in range(len(bounds)):
        weight = shares[row, 0] + shares[row, 1]
        if weight == 0:
            continue
        row_cost = _ratio(weight, masses[row, 0] + masses[row, 1])
        for side in range(2):
            row_pull = _ratio(shares[row, side], masses[row, side])
            for at in range(bounds[row, side], bounds[row, side + 1]):
                member = members[at]
                if p[member] > 0:
                    pull[member] += row_pull
                    cost[member] += row_cost


@helper
def _ratio(weight: float, mass: float) -> float:
    return weight / mass if mass > 0 else 0.0


@helper
def _majorise_minimise(p: Floats, pull: Floats, cost: Floats) -> None:
    for j in range(len(p)):
        if cost[j] > 0:
            p[j] *= pull[j] / cost[j]
    _normalise(p)


@helper
def _newton_step(
    answers: Any, p: Floats, cost: Floats, excess: Floats, curvature: Floats, step: Floats
) -> None:
    """Set the relative step s of p ← p (1 + s), or zeros if there is no usable step."""
    n_classes = len(p)
    scale = np.zeros(n_classes)
    for j in range(n_classes):
        if cost[j] > 0:
            scale[j] = np.sqrt(p[j] / cost[j])
    for use_information in (False, True):
        _fill_curvature(answers, p, use_information, curvature)
        for j in range(n_classes):
            for k in range(j + 1):
                curvature[j, k] *= scale[j] * scale[k]
            curvature[j, j] += abs(excess[j]) + RIDGE if scale[j] > 0 else 1.0
            step[j] = -scale[j] * cost[j] * excess[j]
        if solve_positive(curvature, step, n_classes, 0.0):
            for j in range(n_classes):
                step[j] = scale[j] * step[j] / p[j] if p[j] > 0 else 0.0
            return
    for j in range(n_classes):
        step[j] = 0.0


@helper
def _fill_curvature(answers: Any, p: Floats, use_information: bool, curvature: Floats) -> None:
    """Fill the lower triangle with the Hessian or the information, with the sum of p fixed.

    The masses of the sides must be those at p.
    """
    members, bounds, shares, masses = answers
    n_classes, n_present = len(p), 0
    for j in range(n_classes):
        n_present += p[j] > 0
        for k in range(j + 1):
            curvature[j, k] = 0.0
    fixing = 0.0
    for row in range(len(bounds)):
        weight = shares[row, 0] + shares[row, 1]
        if weight == 0:
            continue
        total = masses[row, 0] + masses[row, 1]
        n_here = 0
        for side in range(2):
            mass = masses[row, side]
            if use_information:
                amount = _ratio(_ratio(weight, mass), total)
            else:
                amount = _ratio(_ratio(shares[row, side], mass), mass)
            last = bounds[row, side + 1]
            for a in range(bounds[row, side], last):
                n_here += p[members[a]] > 0
                for b in range(bounds[row, side], a + 1):
                    curvature[members[a], members[b]] += amount
        if use_information or n_here < n_present:
            fixing += weight
            amount = _ratio(_ratio(weight, total), total)
            for a in range(bounds[row, 0], bounds[row, 2]):
                for b in range(bounds[row, 0], bounds[row, 2]):
                    if members[a] >= members[b]:
                        curvature[members[a], members[b]] -= amount
    for j in range(n_classes):
        for k in range(j + 1):
            curvature[j, k] += fixing


@helper
def _search_along(answers: Any, p: Floats, step: Floats, slope: float, moved: Floats) -> None:
    """Move p to the first point at 1, 1/2, 1/4, … of the step that is low enough."""
    value = _divergence(answers, p)
    total = 0.0
    for row in range(len(answers.shares)):
        total += answers.shares[row, 0] + answers.shares[row, 1]
    slack = ROUNDING * (total + abs(value))
    fraction = 1.0
    for _ in range(MAX_HALVINGS):
        for j in range(len(p)):
            moved[j] = p[j] * max(1 + fraction * step[j], LEAST_FACTOR)
        _normalise(moved)
        limit = value + SUFFICIENT_DECREASE * fraction * slope + slack
        if _divergence(answers, moved) <= limit:
            for j in range(len(p)):
                p[j] = moved[j]
            return
        fraction /= 2


@helper
def _take_last_step(p: Floats, step: Floats) -> None:
    for j in range(len(p)):
        is_falling = step[j] < -0.5 and p[j] < TOLERANCE
        p[j] = 0.0 if is_falling else p[j] * max(1 + step[j], 0.0)
    _normalise(p)


# -- one-vs-rest codes -----------------------------------------------------------------------------


_ROOT_STEPS = 6
_NANOSECONDS = 10.0
"""Approximate time per class and iteration."""


def minimise_one_vs_rest(answers: Floats, weights: Floats) -> Floats:
    """Return the probabilities with the least weighted Kullback-Leibler divergence."""
    probabilities = np.empty(answers.shape)
    cost = _NANOSECONDS * _ROOT_STEPS * answers.shape[1]
    inputs = answers, weights
    run_in_blocks(_minimise_one_vs_rest, len(answers), *inputs, outputs=[probabilities], cost=cost)
    return probabilities


@entry
def _minimise_one_vs_rest(
    answers: Floats,
    weights: Floats,
    probabilities: Floats,
    begin: int,
    end: int,
    stop: NDArray[np.int64],
) -> None:
    n_classes = len(weights)
    for sample in range(begin, end):
        if stop[0] != 0:
            return
        p = probabilities[sample]
        multiplier, low, high = 0.0, -np.inf, np.inf
        total = 0.0
        for _ in range(MAX_ITERATIONS):
            total, slope = 0.0, 0.0
            for k in range(n_classes):
                q, nu = answers[sample, k], multiplier / weights[k]
                if nu > 0.0:
                    root = np.sqrt((1.0 - nu) ** 2 + 4.0 * nu * (1.0 - q))
                else:
                    root = np.sqrt((1.0 + nu) ** 2 - 4.0 * nu * q)
                if nu > -1.0:
                    p[k] = 2.0 * q / (1.0 + nu + root)
                else:
                    p[k] = (1.0 + nu - root) / (2.0 * nu)
                total += p[k]
                slope -= p[k] * (1.0 - p[k]) / (weights[k] * root)
            excess = total - 1.0
            if abs(excess) <= ROUNDING * n_classes:
                break
            if excess > 0:
                low = multiplier
            else:
                high = multiplier
            newton = multiplier - excess / slope
            if low < newton < high:
                multiplier = newton
            elif high == np.inf:
                multiplier = 2.0 * max(low, 0.5)
            elif low == -np.inf:
                multiplier = 2.0 * min(high, -0.5)
            else:
                multiplier = (low + high) / 2.0
        for k in range(n_classes):
            p[k] /= total
