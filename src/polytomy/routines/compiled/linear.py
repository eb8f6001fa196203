"""Compiled twin of :mod:`polytomy.routines.reference.linear`: the same steps as loops.

Rows are read in place: a problem is a list of row numbers, and nothing is copied. With the squared
hinge loss, samples beyond their margins have no loss. Samples that cannot come back within a step
are skipped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiling import (
    fused_entry,
    fused_helper,
    inlined_helper,
    read_only,
    summing_helper,
)
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
    LinearSamples,
)
from polytomy.routines.threads import run_aside

__all__ = ["fit_linear_models"]

Floats = NDArray[np.float64]
Flag = NDArray[np.int64]

_USUAL_PASSES = 100.0
_NANOSECONDS_PER_ENTRY = 1.0


def fit_linear_models(
    samples: LinearSamples,
    rows: NDArray[np.intp],
    starts: NDArray[np.intp],
    signs: Floats,
    costs: Floats,
    fold_of: NDArray[np.intp],
    is_trained: NDArray[np.bool_],
    form: LinearForm,
    largest: Floats,
    relative: Floats,
) -> LinearFits:
    """Return the linear models of many problems, and those of their folds."""
    n_problems, n_folds = is_trained.shape
    fits = LinearFits(
        np.zeros((n_problems, 1 + n_folds, samples.n_features + 1)),
        np.zeros(len(rows)),
        np.zeros(n_problems, dtype=np.int64),
        np.zeros(n_problems, dtype=np.bool_),
    )
    stored = samples.dense.size + len(samples.data)
    n_rows = max(1, len(samples.dense), len(samples.indptr) - 1)
    cost = _NANOSECONDS_PER_ENTRY * _USUAL_PASSES * len(rows) * (1.0 + stored / n_rows)
    arrays = map(read_only, (*samples[:5], rows, starts, signs, costs, fold_of))
    last = map(read_only, (is_trained, *form, largest, relative))
    run_aside(_fit_models, *arrays, *last, *fits, cost=cost)
    return fits


@fused_entry
def _fit_models(
    dense: Floats,
    data: Floats,
    indices: NDArray[np.int32],
    indptr: NDArray[np.int64],
    norms: Floats,
    rows: NDArray[np.intp],
    starts: NDArray[np.intp],
    signs: Floats,
    costs: Floats,
    fold_of: NDArray[np.intp],
    is_trained: NDArray[np.bool_],
    is_logistic: bool,
    bias: float,
    bias_penalty: float,
    most_steps: int,
    largest: Floats,
    relative: Floats,
    coefficients: Floats,
    values: Floats,
    n_steps: NDArray[np.int64],
    is_converged: NDArray[np.bool_],
    stop: Flag,
) -> None:
    n_problems, n_folds = is_trained.shape
    end = coefficients.shape[2] - 1
    work = np.empty((6, end + 1))
    most_samples = 0
    for problem in range(n_problems):
        most_samples = max(most_samples, starts[problem + 1] - starts[problem])
    # z, the length of w's path when z was computed, and both at the solution for all samples.
    z, way_of = np.empty(most_samples), np.empty(most_samples)
    whole_z, whole_way_of = np.empty(most_samples), np.empty(most_samples)
    # For each near sample: slope, curvature, change of z, next z.
    by_near = np.empty((4, most_samples))
    near = np.empty(most_samples, dtype=np.intp)
    most_solved = min(MOST_SOLVED, end + 1, most_samples) if bias_penalty > 0.0 else 0
    gram = np.empty((most_solved + 1, most_solved))  # with a row for the right-hand side
    reduction = FOLD_REDUCTION if is_logistic else 1.0
    for problem in range(n_problems):
        first, last = starts[problem], starts[problem + 1]
        n = last - first
        own_rows, y, cost = rows[first:last], signs[first:last], costs[0, first:last]
        whole = coefficients[problem, 0]
        above, below = 0.0, 0.0
        for t in range(n):
            if y[t] > 0.0:
                above += cost[t]
            else:
                below += cost[t]
        if is_logistic and bias != 0.0 and bias_penalty == 0.0 and above > 0.0 and below > 0.0:
            whole[end] = np.log(above / below) / bias
        for t in range(n):
            z[t], way_of[t] = bias * whole[end], 0.0
        steps, converged, way, small = _minimise(
            dense, data, indices, indptr, norms, own_rows, y, cost, is_logistic, bias, bias_penalty,
            most_steps, largest[problem], relative[problem], 0.0, 1.0, 0.0, whole, z, way_of,
            by_near, near, work, gram, stop,
        )  # fmt: skip
        n_steps[problem], is_converged[problem] = steps, converged
        for t in range(n):
            whole_z[t], whole_way_of[t] = z[t], way_of[t]
            fold = fold_of[first + t]
            if fold < 0 or not is_trained[problem, fold]:
                product = _dot(dense, data, indices, indptr, own_rows[t], whole)
                values[first + t] = product + bias * whole[end]
        for fold in range(n_folds):
            own = coefficients[problem, 1 + fold]
            own[:] = whole
            if not is_trained[problem, fold]:
                continue
            for t in range(n):
                z[t], way_of[t] = whole_z[t], whole_way_of[t]
            _minimise(
                dense, data, indices, indptr, norms, own_rows, y, costs[1 + fold, first:last],
                is_logistic, bias, bias_penalty, most_steps, largest[problem], 0.0, small,
                reduction, way, own, z, way_of, by_near, near, work, gram, stop,
            )  # fmt: skip
            for t in range(n):
                if fold_of[first + t] == fold:
                    product = _dot(dense, data, indices, indptr, own_rows[t], own)
                    values[first + t] = product + bias * own[end]
            if stop[0] != 0:
                return


@summing_helper
def _dot(
    dense: Floats,
    data: Floats,
    indices: NDArray[np.int32],
    indptr: NDArray[np.int64],
    row: int,
    vector: Floats,
) -> float:
    """Return the inner product of a row with the first components of a vector."""
    if len(indptr) > 0:
        total = 0.0
        for t in range(indptr[row], indptr[row + 1]):
            total += data[t] * vector[indices[t]]
        return total
    total = 0.0
    for j in range(dense.shape[1]):
        total += dense[row, j] * vector[j]
    return total


@inlined_helper
def _add(
    dense: Floats,
    data: Floats,
    indices: NDArray[np.int32],
    indptr: NDArray[np.int64],
    row: int,
    factor: float,
    total: Floats,
) -> None:
    """Add a multiple of a row to the first components of a vector."""
    if len(indptr) > 0:
        for t in range(indptr[row], indptr[row + 1]):
            total[indices[t]] += factor * data[t]
        return
    for j in range(dense.shape[1]):
        total[j] += factor * dense[row, j]


@fused_helper
def _differentiate(
    next_z: Floats,
    y: Floats,
    cost: Floats,
    is_logistic: bool,
    near: NDArray[np.intp],
    n_near: int,
    slopes: Floats,
    curvatures: Floats,
) -> float:
    loss = 0.0
    for i in range(n_near):
        t = near[i]
        margin = y[t] * next_z[i]
        if is_logistic:
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
def _find_near(
    dense: Floats,
    data: Floats,
    indices: NDArray[np.int32],
    indptr: NDArray[np.int64],
    norms: Floats,
    rows: NDArray[np.intp],
    y: Floats,
    cost: Floats,
    is_logistic: bool,
    bias: float,
    w: Floats,
    way: float,
    further: float,
    z: Floats,
    way_of: Floats,
    near: NDArray[np.intp],
) -> int:
    """List the samples that may have a loss while w moves `further`, and update their z.

    A sample's z changes by at most its norm times the length of w's path. So a sample that was far
    beyond its margin has no loss, and its z need not be known.
    """
    n_near, end = 0, len(w) - 1
    for t in range(len(rows)):
        if cost[t] == 0.0:
            continue
        if not is_logistic:
            norm = np.sqrt(norms[rows[t]] ** 2 + bias * bias)
            # Slightly more, to allow for rounding.
            if y[t] * z[t] - norm * (way + further - way_of[t]) * 1.000001 > 1.000001:
                continue
        if way_of[t] != way:
            product = _dot(dense, data, indices, indptr, rows[t], w)
            z[t], way_of[t] = product + bias * w[end], way
        near[n_near] = t
        n_near += 1
    return n_near


@fused_helper
def _minimise(
    dense: Floats,
    data: Floats,
    indices: NDArray[np.int32],
    indptr: NDArray[np.int64],
    norms: Floats,
    rows: NDArray[np.intp],
    y: Floats,
    cost: Floats,
    is_logistic: bool,
    bias: float,
    bias_penalty: float,
    most_steps: int,
    largest: float,
    relative: float,
    small: float,
    reduction: float,
    way: float,
    w: Floats,
    z: Floats,
    way_of: Floats,
    by_near: Floats,
    near: NDArray[np.intp],
    work: Floats,
    gram: Floats,
    stop: Flag,
) -> tuple[int, bool, float, float]:
    """Minimise f from w, in place.

    The gradient must be small, and smaller than at the start by the factor `reduction`. Return the
    number of steps, whether it converged, the length of w's path, and the gradient norm that is
    small enough.
    """
    slopes, curvatures, change, next_z = by_near[0], by_near[1], by_near[2], by_near[3]
    gradient, direction, diagonal = work[0], work[1], work[2]
    end = len(w) - 1
    n_near = _find_near(
        dense, data, indices, indptr, norms, rows, y, cost, is_logistic, bias, w, way, 0.0, z,
        way_of, near,
    )  # fmt: skip
    for i in range(n_near):
        next_z[i] = z[near[i]]
    loss = _differentiate(next_z, y, cost, is_logistic, near, n_near, slopes, curvatures)
    first_norm = 0.0
    for step_number in range(most_steps + 1):
        if stop[0] != 0:
            return step_number, False, way, small
        square = 0.0
        for j in range(end):
            gradient[j], diagonal[j] = w[j], 1.0
            square += w[j] * w[j]
        gradient[end], diagonal[end] = bias_penalty * w[end], bias_penalty
        square += bias_penalty * w[end] * w[end]
        n_curved = 0
        for i in range(n_near):
            if slopes[i] == 0.0 and curvatures[i] == 0.0:
                continue
            n_curved += 1
            row = rows[near[i]]
            _add(dense, data, indices, indptr, row, slopes[i], gradient)
            gradient[end] += slopes[i] * bias
            _add_squares(dense, data, indices, indptr, row, curvatures[i], diagonal)
            diagonal[end] += curvatures[i] * bias * bias
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
        if step_number == most_steps:
            break
        forcing = max(n_curved / len(rows), LEAST_FORCING)
        forcing = min(LARGEST_FORCING, np.sqrt(norm / first_norm), forcing)
        can_solve = n_curved <= gram.shape[1]
        is_found = _find_direction(
            dense, data, indices, indptr, rows, near, n_near, curvatures, bias, bias_penalty,
            forcing, n_curved // 4 if can_solve else end + 1, work, stop,
        )  # fmt: skip
        if can_solve and not is_found:
            _solve_direction(
                dense, data, indices, indptr, rows, near, n_near, curvatures, bias, bias_penalty,
                work, gram, stop,
            )  # fmt: skip
        slope, across, direction_square, length = 0.0, 0.0, 0.0, 0.0
        for j in range(end + 1):
            penalty = 1.0 if j < end else bias_penalty
            slope += gradient[j] * direction[j]
            across += penalty * w[j] * direction[j]
            direction_square += penalty * direction[j] * direction[j]
            length += direction[j] * direction[j]
        length = np.sqrt(length)
        n_near = _find_near(
            dense, data, indices, indptr, norms, rows, y, cost, is_logistic, bias, w, way, length,
            z, way_of, near,
        )  # fmt: skip
        for i in range(n_near):
            product = _dot(dense, data, indices, indptr, rows[near[i]], direction)
            change[i] = product + bias * direction[end]
        value = loss + 0.5 * square
        step = 1.0
        if not is_logistic:
            step = _search_line(z, change, y, cost, near, n_near, across, direction_square, slope)
        for halving in range(MOST_HALVINGS):
            if halving > 0:
                step /= 2.0
            for i in range(n_near):
                next_z[i] = z[near[i]] + step * change[i]
            loss = _differentiate(next_z, y, cost, is_logistic, near, n_near, slopes, curvatures)
            new_value = loss + 0.5 * (square + step * (2.0 * across + step * direction_square))
            if new_value <= value + LEAST_DECREASE * step * slope + ROUNDING * abs(value):
                break
        for j in range(end + 1):
            w[j] += step * direction[j]
        way += step * length
        for i in range(n_near):
            z[near[i]], way_of[near[i]] = next_z[i], way
        if -slope <= ROUNDING * abs(value):
            return step_number + 1, True, way, small
    return most_steps, False, way, small


@fused_helper
def _search_line(
    z: Floats,
    change: Floats,
    y: Floats,
    cost: Floats,
    near: NDArray[np.intp],
    n_near: int,
    across: float,
    direction_square: float,
    slope: float,
) -> float:
    """Return the step of at most one that minimises f along a direction, for squared hinge loss."""
    low, high, step = 0.0, 1.0, 1.0
    for _ in range(MOST_HALVINGS):
        first, second = across + step * direction_square, direction_square
        for i in range(n_near):
            t = near[i]
            short = 1.0 - y[t] * (z[t] + step * change[i])
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


@inlined_helper
def _add_squares(
    dense: Floats,
    data: Floats,
    indices: NDArray[np.int32],
    indptr: NDArray[np.int64],
    row: int,
    factor: float,
    total: Floats,
) -> None:
    """Add a multiple of the squares of a row to the first components of a vector."""
    if len(indptr) > 0:
        for t in range(indptr[row], indptr[row + 1]):
            total[indices[t]] += factor * data[t] * data[t]
        return
    for j in range(dense.shape[1]):
        total[j] += factor * dense[row, j] * dense[row, j]


@fused_helper
def _find_direction(
    dense: Floats,
    data: Floats,
    indices: NDArray[np.int32],
    indptr: NDArray[np.int64],
    rows: NDArray[np.intp],
    near: NDArray[np.intp],
    n_near: int,
    curvatures: Floats,
    bias: float,
    bias_penalty: float,
    forcing: float,
    n_steps: int,
    work: Floats,
    stop: Flag,
) -> bool:
    """Solve H·direction = −gradient by preconditioned conjugate gradients.

    Return whether `n_steps` steps were enough.
    """
    gradient, direction, diagonal = work[0], work[1], work[2]
    residual, search, product = work[3], work[4], work[5]
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
        product[end] = bias_penalty * search[end]
        for i in range(n_near):
            if curvatures[i] == 0.0:
                continue
            row = rows[near[i]]
            along = _dot(dense, data, indices, indptr, row, search) + bias * search[end]
            _add(dense, data, indices, indptr, row, curvatures[i] * along, product)
            product[end] += curvatures[i] * along * bias
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
def _solve_direction(
    dense: Floats,
    data: Floats,
    indices: NDArray[np.int32],
    indptr: NDArray[np.int64],
    rows: NDArray[np.intp],
    near: NDArray[np.intp],
    n_near: int,
    curvatures: Floats,
    bias: float,
    bias_penalty: float,
    work: Floats,
    gram: Floats,
    stop: Flag,
) -> None:
    """Solve H·direction = −gradient exactly, with one equation per sample that has a curvature.

    Let P be the penalties, X the samples with a curvature and D their curvatures. By Woodbury's
    identity, (P + XᵀDX)⁻¹ = P⁻¹ − P⁻¹Xᵀ (D⁻¹ + XP⁻¹Xᵀ)⁻¹ XP⁻¹.
    """
    gradient, direction, spread = work[0], work[1], work[4]
    end = len(gradient) - 1
    dual = gram[len(gram) - 1]
    n_curved = 0
    for i in range(n_near):
        if curvatures[i] == 0.0:
            continue
        row = rows[near[i]]
        product = _dot(dense, data, indices, indptr, row, gradient)
        dual[n_curved] = product + bias * gradient[end] / bias_penalty
        for j in range(end):
            spread[j] = 0.0
        _add(dense, data, indices, indptr, row, 1.0, spread)
        k = 0
        for other in range(i + 1):
            if curvatures[other] == 0.0:
                continue
            product = _dot(dense, data, indices, indptr, rows[near[other]], spread)
            gram[n_curved, k] = product + bias * bias / bias_penalty
            k += 1
        gram[n_curved, n_curved] += 1.0 / curvatures[i]
        n_curved += 1
        if stop[0] != 0:
            return
    _solve_positive(gram, dual, n_curved)
    for j in range(end):
        direction[j] = -gradient[j]
    total, k = -gradient[end], 0
    for i in range(n_near):
        if curvatures[i] == 0.0:
            continue
        _add(dense, data, indices, indptr, rows[near[i]], dual[k], direction)
        total += bias * dual[k]
        k += 1
    direction[end] = total / bias_penalty


@fused_helper
def _solve_positive(matrix: Floats, vector: Floats, n: int) -> None:
    """Solve the first n equations of a positive definite matrix in place by Cholesky factors.

    Only the part on and below the diagonal is read.
    """
    for a in range(n):
        for b in range(a):
            matrix[a, b] = (matrix[a, b] - _dot_vectors(matrix[a], matrix[b], b)) / matrix[b, b]
        pivot = matrix[a, a] - _dot_vectors(matrix[a], matrix[a], a)
        matrix[a, a] = np.sqrt(max(pivot, ROUNDING * matrix[a, a]))
        vector[a] = (vector[a] - _dot_vectors(matrix[a], vector, a)) / matrix[a, a]
    for a in range(n - 1, -1, -1):
        vector[a] /= matrix[a, a]
        for b in range(a):
            vector[b] -= vector[a] * matrix[a, b]


@summing_helper
def _dot_vectors(one: Floats, other: Floats, n: int) -> float:
    """Return the inner product of the first n components of two vectors."""
    total = 0.0
    for i in range(n):
        total += one[i] * other[i]
    return total
