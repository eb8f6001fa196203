"""Compiled twin of :mod:`polytomy.routines.linear.reference`: the same steps as loops.

Rows are read where they are: a problem is a list of row numbers, and nothing is copied. Samples
without curvature, which the squared hinge loss has many of, are left out of products with the
Hessian.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.linear.reference import (
    FOLD_REDUCTION,
    LARGEST_FORCING,
    LEAST_DECREASE,
    MOST_HALVINGS,
    ROUNDING,
    SMALLEST_CURVATURE,
    LinearFits,
    LinearForm,
    LinearSamples,
)
from polytomy.routines.runtime.compiling import fused_entry, fused_helper, inlined_helper, read_only
from polytomy.routines.runtime.threads import run_aside

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
    arrays = map(read_only, (*samples[:4], rows, starts, signs, costs, fold_of))
    last = map(read_only, (is_trained, *form, largest, relative))
    run_aside(_fit_models, *arrays, *last, *fits, cost=cost)
    return fits


@fused_entry
def _fit_models(
    dense: Floats,
    data: Floats,
    indices: NDArray[np.int32],
    indptr: NDArray[np.int64],
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
    n_parameters = coefficients.shape[2]
    work = np.empty((6, n_parameters))
    most_samples = 0
    for problem in range(n_problems):
        most_samples = max(most_samples, starts[problem + 1] - starts[problem])
    by_sample = np.empty((6, most_samples))
    for problem in range(n_problems):
        first, last = starts[problem], starts[problem + 1]
        n = last - first
        own_rows, y = rows[first:last], signs[first:last]
        z, cost = by_sample[0, :n], by_sample[1, :n]
        whole = coefficients[problem, 0]
        above, below = 0.0, 0.0
        for t in range(n):
            cost[t] = costs[0, first + t]
            if y[t] > 0.0:
                above += cost[t]
            else:
                below += cost[t]
        if is_logistic and bias != 0.0 and bias_penalty == 0.0 and above > 0.0 and below > 0.0:
            whole[n_parameters - 1] = np.log(above / below) / bias
        n_steps[problem], is_converged[problem] = _minimise(
            dense, data, indices, indptr, own_rows, y, is_logistic, bias, bias_penalty, most_steps,
            largest[problem], relative[problem], 0.0, whole, by_sample, n, work, stop,
        )  # fmt: skip
        if stop[0] != 0:
            return
        for t in range(n):
            values[first + t] = z[t]
        for fold in range(n_folds):
            own = coefficients[problem, 1 + fold]
            own[:] = whole
            if not is_trained[problem, fold]:
                continue
            for t in range(n):
                cost[t] = costs[1 + fold, first + t]
            _minimise(
                dense, data, indices, indptr, own_rows, y, is_logistic, bias, bias_penalty,
                most_steps, largest[problem], relative[problem], FOLD_REDUCTION, own, by_sample, n,
                work, stop,
            )  # fmt: skip
            if stop[0] != 0:
                return
            for t in range(n):
                if fold_of[first + t] == fold:
                    values[first + t] = z[t]


@inlined_helper
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
    n_features = dense.shape[1]
    # Independent sums, which the processor adds up side by side.
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    n_whole = n_features // 8 * 8
    for j in range(0, n_whole, 8):
        s0 += dense[row, j] * vector[j]
        s1 += dense[row, j + 1] * vector[j + 1]
        s2 += dense[row, j + 2] * vector[j + 2]
        s3 += dense[row, j + 3] * vector[j + 3]
        s4 += dense[row, j + 4] * vector[j + 4]
        s5 += dense[row, j + 5] * vector[j + 5]
        s6 += dense[row, j + 6] * vector[j + 6]
        s7 += dense[row, j + 7] * vector[j + 7]
    for j in range(n_whole, n_features):
        s0 += dense[row, j] * vector[j]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


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
    z: Floats,
    y: Floats,
    cost: Floats,
    is_logistic: bool,
    slopes: Floats,
    curvatures: Floats,
    n: int,
) -> float:
    loss = 0.0
    for t in range(n):
        if cost[t] == 0.0:
            slopes[t], curvatures[t] = 0.0, 0.0
            continue
        margin = y[t] * z[t]
        if is_logistic:
            small = np.exp(-abs(margin))
            wrong = (small if margin > 0.0 else 1.0) / (1.0 + small)
            loss += cost[t] * (np.log1p(small) + max(-margin, 0.0))
            slopes[t] = -cost[t] * y[t] * wrong
            curvatures[t] = cost[t] * wrong * (1.0 - wrong)
        elif margin < 1.0:
            short = 1.0 - margin
            loss += cost[t] * short * short
            slopes[t], curvatures[t] = -2.0 * cost[t] * y[t] * short, 2.0 * cost[t]
        else:
            slopes[t], curvatures[t] = 0.0, 0.0
    return loss


@fused_helper
def _minimise(
    dense: Floats,
    data: Floats,
    indices: NDArray[np.int32],
    indptr: NDArray[np.int64],
    rows: NDArray[np.intp],
    y: Floats,
    is_logistic: bool,
    bias: float,
    bias_penalty: float,
    most_steps: int,
    largest: float,
    relative: float,
    reduction: float,
    w: Floats,
    by_sample: Floats,
    n: int,
    work: Floats,
    stop: Flag,
) -> tuple[int, bool]:
    """Minimise f from w, in place; leave z in the first row of `by_sample`, c is in the second."""
    z, cost, slopes, curvatures = by_sample[0], by_sample[1], by_sample[2], by_sample[3]
    change, nearer_z = by_sample[4], by_sample[5]
    gradient, direction, diagonal = work[0], work[1], work[2]
    end = len(w) - 1
    for t in range(n):
        z[t] = _dot(dense, data, indices, indptr, rows[t], w) + bias * w[end]
    norm_at_zero = 0.0
    if relative > 0.0:
        gradient[:] = 0.0
        at_zero = 0.5 if is_logistic else 2.0
        for t in range(n):
            if cost[t] > 0.0:
                factor = at_zero * cost[t] * y[t]
                _add(dense, data, indices, indptr, rows[t], factor, gradient)
                gradient[end] += factor * bias
        for j in range(end + 1):
            norm_at_zero += gradient[j] * gradient[j]
        norm_at_zero = np.sqrt(norm_at_zero)
    loss = _differentiate(z, y, cost, is_logistic, slopes, curvatures, n)
    first_norm = 0.0
    for step_number in range(most_steps + 1):
        if stop[0] != 0:
            return step_number, False
        square = 0.0
        for j in range(end):
            gradient[j], diagonal[j] = w[j], 1.0
            square += w[j] * w[j]
        gradient[end], diagonal[end] = bias_penalty * w[end], bias_penalty
        square += bias_penalty * w[end] * w[end]
        for t in range(n):
            if slopes[t] == 0.0 and curvatures[t] == 0.0:
                continue
            _add(dense, data, indices, indptr, rows[t], slopes[t], gradient)
            gradient[end] += slopes[t] * bias
            _add_squares(dense, data, indices, indptr, rows[t], curvatures[t], diagonal)
            diagonal[end] += curvatures[t] * bias * bias
        norm, highest = 0.0, 0.0
        for j in range(end + 1):
            norm += gradient[j] * gradient[j]
            highest = max(highest, abs(gradient[j]))
            diagonal[j] = max(diagonal[j], SMALLEST_CURVATURE)
        norm = np.sqrt(norm)
        if step_number == 0:
            first_norm = norm
        is_small = norm <= relative * norm_at_zero or norm <= reduction * first_norm
        if highest <= largest or is_small:
            return step_number, True
        if step_number == most_steps:
            break
        forcing = min(LARGEST_FORCING, np.sqrt(norm / first_norm))
        _find_direction(
            dense, data, indices, indptr, rows, curvatures, bias, bias_penalty, forcing, work, n,
            stop,
        )  # fmt: skip
        slope, across, direction_square = 0.0, 0.0, 0.0
        for j in range(end + 1):
            penalty = 1.0 if j < end else bias_penalty
            slope += gradient[j] * direction[j]
            across += penalty * w[j] * direction[j]
            direction_square += penalty * direction[j] * direction[j]
        for t in range(n):
            product = _dot(dense, data, indices, indptr, rows[t], direction)
            change[t] = product + bias * direction[end]
        value = loss + 0.5 * square
        step = 1.0
        for halving in range(MOST_HALVINGS):
            if halving > 0:
                step /= 2.0
            for t in range(n):
                nearer_z[t] = z[t] + step * change[t]
            loss = _differentiate(nearer_z, y, cost, is_logistic, slopes, curvatures, n)
            new_value = loss + 0.5 * (square + step * (2.0 * across + step * direction_square))
            if new_value <= value + LEAST_DECREASE * step * slope + ROUNDING * abs(value):
                break
        for j in range(end + 1):
            w[j] += step * direction[j]
        for t in range(n):
            z[t] = nearer_z[t]
        if -slope <= ROUNDING * abs(value):
            return step_number + 1, True
    return most_steps, False


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
    curvatures: Floats,
    bias: float,
    bias_penalty: float,
    forcing: float,
    work: Floats,
    n: int,
    stop: Flag,
) -> None:
    """Solve H·direction = −gradient by preconditioned conjugate gradients."""
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
    for _ in range(end + 1):
        if stop[0] != 0:
            return
        for j in range(end):
            product[j] = search[j]
        product[end] = bias_penalty * search[end]
        for t in range(n):
            if curvatures[t] == 0.0:
                continue
            row = rows[t]
            along = _dot(dense, data, indices, indptr, row, search) + bias * search[end]
            _add(dense, data, indices, indptr, row, curvatures[t] * along, product)
            product[end] += curvatures[t] * along * bias
        curvature = 0.0
        for j in range(end + 1):
            curvature += search[j] * product[j]
        if curvature <= 0.0:
            return
        length, new_size = size / curvature, 0.0
        for j in range(end + 1):
            direction[j] += length * search[j]
            residual[j] -= length * product[j]
            new_size += residual[j] * residual[j] / diagonal[j]
        if new_size <= forcing * forcing * first_size:
            return
        for j in range(end + 1):
            search[j] = residual[j] / diagonal[j] + new_size / size * search[j]
        size = new_size
