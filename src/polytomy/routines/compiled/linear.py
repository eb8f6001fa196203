"""Compiled twin of :mod:`polytomy.routines.reference.linear`: the same steps as loops.

Rows are read in place: a problem is a list of row numbers, and nothing is copied. With the squared
hinge loss, samples beyond their margins have no loss. Samples that cannot come back within a step
are skipped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiled.linear_systems import solve_positive
from polytomy.routines.compiling import fused_entry, fused_helper, inlined_helper, summing_helper
from polytomy.routines.reference.linear import (
    FOLD_REDUCTION,
    LARGEST_FORCING,
    LEAST_DECREASE,
    LEAST_FORCING,
    MOST_HALVINGS,
    MOST_SOLVED,
    NEAR_ROOT,
    ROUNDING,
    SMALLEST_CURVATURE,
    LinearFits,
    LinearForm,
    LinearProblems,
    LinearSamples,
)
from polytomy.routines.threads import run_aside

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Flag = NDArray[np.int64]

_USUAL_PASSES = 100.0
_NANOSECONDS_PER_ENTRY = 1.0


class _Problem(NamedTuple):
    """What defines f."""

    samples: LinearSamples
    form: LinearForm
    rows: Indices  # (n,), the rows of the problem's samples
    y: Floats  # (n,)
    cost: Floats  # (n,)


class _Workspace(NamedTuple):
    """Arrays for a sample, for a *near* one, which may have a loss, and for a coefficient."""

    z: Floats
    way_of: Floats  # length of w's path when z was computed
    near: Indices  # the near samples
    slopes: Floats  # of the loss of a near sample
    curvatures: Floats
    change: Floats  # of z for a step of one
    next_z: Floats
    gradient: Floats
    direction: Floats
    diagonal: Floats  # of the Hessian
    residual: Floats
    search: Floats
    product: Floats
    gram: Floats  # system for an exact direction, with a row for the right-hand side


class _Target(NamedTuple):
    """When the gradient is small enough.

    No component is larger than `largest`, or the norm is at most `small` or the fraction `relative`
    of the first norm. And both are smaller than at the start by the factor `reduction`.
    """

    largest: float
    relative: float
    small: float
    reduction: float


def fit_linear_models(
    samples: LinearSamples, problems: LinearProblems, form: LinearForm
) -> LinearFits:
    """Return the linear models of many problems, and those of their folds."""
    n_problems, n_folds = problems.is_trained.shape
    fits = LinearFits(
        np.zeros((n_problems, 1 + n_folds, samples.n_features + 1)),
        np.zeros(len(problems.rows)),
        np.zeros(n_problems, dtype=np.int64),
        np.zeros(n_problems, dtype=np.bool_),
    )
    stored = samples.dense.size + len(samples.data)
    n_rows = max(1, len(samples.dense), len(samples.indptr) - 1)
    cost = _NANOSECONDS_PER_ENTRY * _USUAL_PASSES * len(problems.rows) * (1.0 + stored / n_rows)
    run_aside(_fit_linear_models, samples, problems, form, outputs=[fits], cost=cost)
    return fits


@fused_entry
def _fit_linear_models(
    samples: LinearSamples,
    problems: LinearProblems,
    form: LinearForm,
    fits: LinearFits,
    stop: Flag,
) -> None:
    rows, starts, signs, costs, fold_of, is_trained, largest, relative = problems
    n_problems, n_folds = is_trained.shape
    most_samples = 0
    for k in range(n_problems):
        most_samples = max(most_samples, starts[k + 1] - starts[k])
    work = _new_workspace(most_samples, samples.n_features + 1, form)
    whole_z, whole_way_of = np.empty(most_samples), np.empty(most_samples)
    for k in range(n_problems):
        first, last = starts[k], starts[k + 1]
        n, own_rows, y = last - first, rows[first:last], signs[first:last]
        problem = _Problem(samples, form, own_rows, y, costs[0, first:last])
        whole = fits.coefficients[k, 0]
        whole[len(whole) - 1] = _first_bias(problem)
        for t in range(n):
            work.z[t], work.way_of[t] = form.bias * whole[len(whole) - 1], 0.0
        target = _Target(largest[k], relative[k], 0.0, 1.0)
        n_steps, is_converged, way, small = _minimise(problem, work, target, 0.0, whole, stop)
        fits.n_steps[k], fits.is_converged[k] = n_steps, is_converged
        for t in range(n):
            whole_z[t], whole_way_of[t] = work.z[t], work.way_of[t]
            fold = fold_of[first + t]
            if fold < 0 or not is_trained[k, fold]:
                fits.values[first + t] = _score(problem, own_rows[t], whole)
        for fold in range(n_folds):
            own = fits.coefficients[k, 1 + fold]
            own[:] = whole
            if not is_trained[k, fold]:
                continue
            for t in range(n):
                work.z[t], work.way_of[t] = whole_z[t], whole_way_of[t]
            problem = _Problem(samples, form, own_rows, y, costs[1 + fold, first:last])
            target = _Target(largest[k], 0.0, small, FOLD_REDUCTION)
            _minimise(problem, work, target, way, own, stop)
            for t in range(n):
                if fold_of[first + t] == fold:
                    fits.values[first + t] = _score(problem, own_rows[t], own)
            if stop[0] != 0:
                return


@fused_helper
def _new_workspace(n_samples: int, n_coefficients: int, form: LinearForm) -> Any:
    by_sample, by_coefficient = np.empty((6, n_samples)), np.empty((6, n_coefficients))
    most_solved = min(MOST_SOLVED, n_coefficients, n_samples) if form.bias_penalty > 0.0 else 0
    return _Workspace(
        by_sample[0],
        by_sample[1],
        np.empty(n_samples, np.intp),
        by_sample[2],
        by_sample[3],
        by_sample[4],
        by_sample[5],
        by_coefficient[0],
        by_coefficient[1],
        by_coefficient[2],
        by_coefficient[3],
        by_coefficient[4],
        by_coefficient[5],
        np.empty((most_solved + 1, most_solved)),
    )


@fused_helper
def _first_bias(problem: _Problem) -> float:
    """Return the initial b: the log-odds of the sides if b is not penalised, otherwise zero."""
    form, above, below = problem.form, 0.0, 0.0
    for t in range(len(problem.y)):
        if problem.y[t] > 0.0:
            above += problem.cost[t]
        else:
            below += problem.cost[t]
    is_free = form.is_logistic and form.bias != 0.0 and form.bias_penalty == 0.0
    return np.log(above / below) / form.bias if is_free and above > 0.0 and below > 0.0 else 0.0


@inlined_helper
def _score(problem: _Problem, row: int, vector: Floats) -> float:
    """Return the inner product of a row, with its constant feature, and a vector."""
    return _dot(problem.samples, row, vector) + problem.form.bias * vector[len(vector) - 1]


@summing_helper
def _dot(samples: LinearSamples, row: int, vector: Floats) -> float:
    """Return the inner product of a row with the first components of a vector."""
    total = 0.0
    if len(samples.indptr) > 0:
        for t in range(samples.indptr[row], samples.indptr[row + 1]):
            total += samples.data[t] * vector[samples.indices[t]]
        return total
    for j in range(samples.dense.shape[1]):
        total += samples.dense[row, j] * vector[j]
    return total


@inlined_helper
def _add(samples: LinearSamples, row: int, factor: float, total: Floats) -> None:
    """Add a multiple of a row to the first components of a vector."""
    if len(samples.indptr) > 0:
        for t in range(samples.indptr[row], samples.indptr[row + 1]):
            total[samples.indices[t]] += factor * samples.data[t]
        return
    for j in range(samples.dense.shape[1]):
        total[j] += factor * samples.dense[row, j]


@inlined_helper
def _add_squares(samples: LinearSamples, row: int, factor: float, total: Floats) -> None:
    """Add a multiple of the squares of a row to the first components of a vector."""
    if len(samples.indptr) > 0:
        for t in range(samples.indptr[row], samples.indptr[row + 1]):
            total[samples.indices[t]] += factor * samples.data[t] * samples.data[t]
        return
    for j in range(samples.dense.shape[1]):
        total[j] += factor * samples.dense[row, j] * samples.dense[row, j]


@fused_helper
def _differentiate(problem: _Problem, work: _Workspace, n_near: int) -> float:
    """Set the slope and curvature of each near sample at `next_z`; return the sum of the losses."""
    y, cost, slopes, curvatures = problem.y, problem.cost, work.slopes, work.curvatures
    loss = 0.0
    for i in range(n_near):
        t = work.near[i]
        margin = y[t] * work.next_z[i]
        if problem.form.is_logistic:
            small = np.exp(-abs(margin))
            wrong = (small if margin > 0.0 else 1.0) / (1.0 + small)
            loss += cost[t] * (np.log1p(small) + max(-margin, 0.0))
            slopes[i] = -cost[t] * y[t] * wrong
            curvatures[i] = cost[t] * wrong * (1.0 - wrong)
        elif margin < 1.0:
            short = 1.0 - margin
            loss += cost[t] * short * short
            slopes[i], curvatures[i] = -2.0 * cost[t] * y[t] * short, 2.0 * cost[t]
        else:
            slopes[i], curvatures[i] = 0.0, 0.0
    return loss


@fused_helper
def _find_near(problem: _Problem, work: _Workspace, w: Floats, way: float, further: float) -> int:
    """List the samples that may have a loss while w moves `further`, and update their z.

    A sample's z changes by at most its norm times the length of w's path. So a sample that was far
    beyond its margin has no loss, and its z need not be known.
    """
    rows, y, z, way_of, n_near = problem.rows, problem.y, work.z, work.way_of, 0
    bias = problem.form.bias
    for t in range(len(rows)):
        if problem.cost[t] == 0.0:
            continue
        if not problem.form.is_logistic:
            norm = np.sqrt(problem.samples.norms[rows[t]] ** 2 + bias * bias)
            # Slightly more, to allow for rounding.
            if y[t] * z[t] - norm * (way + further - way_of[t]) * 1.000001 > 1.000001:
                continue
        if way_of[t] != way:
            z[t], way_of[t] = _score(problem, rows[t], w), way
        work.near[n_near] = t
        n_near += 1
    return n_near


@fused_helper
def _minimise(
    problem: _Problem, work: _Workspace, target: _Target, way: float, w: Floats, stop: Flag
) -> tuple[int, bool, float, float]:
    """Minimise f from w, in place.

    Return the number of steps, whether it converged, the length of w's path, and the gradient norm
    that is small enough.
    """
    samples, form, rows, near = problem.samples, problem.form, problem.rows, work.near
    gradient, direction, diagonal = work.gradient, work.direction, work.diagonal
    slopes, curvatures, z, next_z = work.slopes, work.curvatures, work.z, work.next_z
    largest, relative, small, reduction = target
    end = len(w) - 1
    n_near = _find_near(problem, work, w, way, 0.0)
    for i in range(n_near):
        next_z[i] = z[near[i]]
    loss = _differentiate(problem, work, n_near)
    first_norm = 0.0
    for step_number in range(form.most_steps + 1):
        if stop[0] != 0:
            return step_number, False, way, small
        square = 0.0
        for j in range(end):
            gradient[j], diagonal[j] = w[j], 1.0
            square += w[j] * w[j]
        gradient[end], diagonal[end] = form.bias_penalty * w[end], form.bias_penalty
        square += form.bias_penalty * w[end] * w[end]
        n_curved = 0
        for i in range(n_near):
            if slopes[i] == 0.0 and curvatures[i] == 0.0:
                continue
            n_curved += 1
            _add(samples, rows[near[i]], slopes[i], gradient)
            gradient[end] += slopes[i] * form.bias
            _add_squares(samples, rows[near[i]], curvatures[i], diagonal)
            diagonal[end] += curvatures[i] * form.bias * form.bias
        norm, highest = 0.0, 0.0
        for j in range(end + 1):
            norm += gradient[j] * gradient[j]
            highest = max(highest, abs(gradient[j]))
            diagonal[j] = max(diagonal[j], SMALLEST_CURVATURE)
        norm = np.sqrt(norm)
        if step_number == 0:
            first_norm = norm
            small = max(small, relative * norm)
            small = min(small, reduction * max(small, norm))
            largest = min(largest, reduction * max(largest, highest))
        if highest <= largest or norm <= small:
            return step_number, True, way, small
        if step_number == form.most_steps:
            break
        forcing = max(n_curved / len(rows), LEAST_FORCING)
        forcing = min(LARGEST_FORCING, np.sqrt(norm / first_norm), forcing)
        can_solve = n_curved <= work.gram.shape[1]
        n_steps = n_curved // 4 if can_solve else end + 1
        is_found = _find_direction(problem, work, n_near, forcing, n_steps, stop)
        if can_solve and not is_found:
            _solve_direction(problem, work, n_near, stop)
        slope, across, direction_square, length = 0.0, 0.0, 0.0, 0.0
        for j in range(end + 1):
            penalty = 1.0 if j < end else form.bias_penalty
            slope += gradient[j] * direction[j]
            across += penalty * w[j] * direction[j]
            direction_square += penalty * direction[j] * direction[j]
            length += direction[j] * direction[j]
        length = np.sqrt(length)
        n_near = _find_near(problem, work, w, way, length)
        for i in range(n_near):
            work.change[i] = _score(problem, rows[near[i]], direction)
        value = loss + 0.5 * square
        step = 1.0
        if not form.is_logistic:
            step = _search_line(problem, work, n_near, across, direction_square, slope)
        for halving in range(MOST_HALVINGS):
            if halving > 0:
                step /= 2.0
            for i in range(n_near):
                next_z[i] = z[near[i]] + step * work.change[i]
            loss = _differentiate(problem, work, n_near)
            new_value = loss + 0.5 * (square + step * (2.0 * across + step * direction_square))
            if new_value <= value + LEAST_DECREASE * step * slope + ROUNDING * abs(value):
                break
        for j in range(end + 1):
            w[j] += step * direction[j]
        way += step * length
        for i in range(n_near):
            z[near[i]], work.way_of[near[i]] = next_z[i], way
        if -slope <= ROUNDING * abs(value):
            return step_number + 1, True, way, small
    return form.most_steps, False, way, small


@fused_helper
def _search_line(
    problem: _Problem,
    work: _Workspace,
    n_near: int,
    across: float,
    direction_square: float,
    slope: float,
) -> float:
    """Return the step of at most one that minimises f along a direction, for squared hinge loss."""
    y, cost, change = problem.y, problem.cost, work.change
    low, high, step = 0.0, 1.0, 1.0
    for _ in range(MOST_HALVINGS):
        first, second = across + step * direction_square, direction_square
        for i in range(n_near):
            t = work.near[i]
            short = 1.0 - y[t] * (work.z[t] + step * change[i])
            if short > 0.0:
                first -= 2.0 * cost[t] * y[t] * short * change[i]
                second += 2.0 * cost[t] * change[i] * change[i]
        if abs(first) <= NEAR_ROOT * abs(slope) or (step == 1.0 and first < 0.0):
            break
        if first > 0.0:
            high = step
        else:
            low = step
        step -= first / second
        if not low < step < high:
            step = (low + high) / 2.0
    return step


@fused_helper
def _find_direction(
    problem: _Problem, work: _Workspace, n_near: int, forcing: float, n_steps: int, stop: Flag
) -> bool:
    """Solve H·direction = −gradient by preconditioned conjugate gradients.

    Return whether `n_steps` steps were enough.
    """
    gradient, direction, diagonal = work.gradient, work.direction, work.diagonal
    residual, search, product = work.residual, work.search, work.product
    end = len(gradient) - 1
    size = 0.0
    for j in range(end + 1):
        direction[j] = 0.0
        residual[j] = -gradient[j]
        search[j] = residual[j] / diagonal[j]
        size += residual[j] * search[j]
    first_size = size
    for _ in range(n_steps):
        if stop[0] != 0:
            return True
        for j in range(end):
            product[j] = search[j]
        product[end] = problem.form.bias_penalty * search[end]
        for i in range(n_near):
            if work.curvatures[i] == 0.0:
                continue
            row = problem.rows[work.near[i]]
            along = work.curvatures[i] * _score(problem, row, search)
            _add(problem.samples, row, along, product)
            product[end] += along * problem.form.bias
        curvature = 0.0
        for j in range(end + 1):
            curvature += search[j] * product[j]
        if curvature <= 0.0:
            return True
        length, new_size = size / curvature, 0.0
        for j in range(end + 1):
            direction[j] += length * search[j]
            residual[j] -= length * product[j]
            new_size += residual[j] * residual[j] / diagonal[j]
        if new_size <= forcing * forcing * first_size:
            return True
        for j in range(end + 1):
            search[j] = residual[j] / diagonal[j] + new_size / size * search[j]
        size = new_size
    return False


@fused_helper
def _solve_direction(problem: _Problem, work: _Workspace, n_near: int, stop: Flag) -> None:
    """Solve H·direction = −gradient exactly, with one equation per sample that has a curvature.

    Let P be the penalties, X the samples with a curvature and D their curvatures. By Woodbury's
    identity, (P + XᵀDX)⁻¹ = P⁻¹ − P⁻¹Xᵀ (D⁻¹ + XP⁻¹Xᵀ)⁻¹ XP⁻¹.
    """
    samples, rows, near, curvatures = problem.samples, problem.rows, work.near, work.curvatures
    gradient, direction, spread, gram = work.gradient, work.direction, work.search, work.gram
    bias, bias_penalty = problem.form.bias, problem.form.bias_penalty
    end = len(gradient) - 1
    dual = gram[len(gram) - 1]
    n_curved = 0
    for i in range(n_near):
        if curvatures[i] == 0.0:
            continue
        dual[n_curved] = (
            _dot(samples, rows[near[i]], gradient) + bias * gradient[end] / bias_penalty
        )
        for j in range(end):
            spread[j] = 0.0
        _add(samples, rows[near[i]], 1.0, spread)
        k = 0
        for other in range(i + 1):
            if curvatures[other] == 0.0:
                continue
            product = _dot(samples, rows[near[other]], spread)
            gram[n_curved, k] = product + bias * bias / bias_penalty
            k += 1
        gram[n_curved, n_curved] += 1.0 / curvatures[i]
        n_curved += 1
        if stop[0] != 0:
            return
    solve_positive(gram, dual, n_curved, ROUNDING)
    for j in range(end):
        direction[j] = -gradient[j]
    total, k = -gradient[end], 0
    for i in range(n_near):
        if curvatures[i] == 0.0:
            continue
        _add(samples, rows[near[i]], dual[k], direction)
        total += bias * dual[k]
        k += 1
    direction[end] = total / bias_penalty
