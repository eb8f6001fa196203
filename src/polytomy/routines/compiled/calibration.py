"""Compiled twin of :mod:`polytomy.routines.reference.calibration`: the same steps as loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiled.kernels import VECTOR, exponentials
from polytomy.routines.compiled.linear_systems import solve_positive
from polytomy.routines.compiling import entry, helper, summing_helper
from polytomy.routines.reference.calibration import (
    LEAST_DECREASE,
    LEAST_GRADIENT,
    MEMORY,
    MOST_ITERATIONS,
    MOST_STEPS,
    NEAR,
    RIDGE,
    SAME,
    SMALLEST_LOG_ODDS_STEP,
    SMALLEST_STEP,
    SoftmaxData,
)
from polytomy.routines.threads import run_aside

Floats = NDArray[np.float64]
Flag = NDArray[np.int64]

_LEAST_PIVOT = 1e-16
"""Rounding could make a pivot negative: the smallest one, as a fraction of its diagonal entry."""

_USUAL_STEPS = 8
_NANOSECONDS_PER_EXPONENTIAL = 20.0


def fit_scale_and_bias(
    features: Floats,
    class_indices: NDArray[np.intp],
    weights: Floats,
    starts: Floats,
    has_bias: bool,
    tolerance: float,
) -> Any:
    """Minimise Σᵢ wᵢ·(−log softmax(s·Lᵢ + b)[yᵢ]) + (s − 1)²/2 + |b|²/2 over s ≥ 0 and b."""
    n_classes, n_steps = features.shape[1], _USUAL_STEPS * len(weights)
    cost = n_steps * features.size * (_NANOSECONDS_PER_EXPONENTIAL + n_classes)
    inputs = features, class_indices, weights, starts, has_bias, tolerance
    return run_aside(_fit_scale_and_bias, *inputs, cost=float(cost))


def fit_sigmoids(
    values: Floats,
    is_positive: NDArray[np.bool_],
    weight: Floats,
    starts: NDArray[np.intp],
    has_intercept: bool,
) -> tuple[Floats, Floats]:
    """Return the slopes and intercepts of Platt's sigmoids for many binaries."""
    slopes, intercepts = np.zeros((2, len(starts) - 1))
    cost = _NANOSECONDS_PER_EXPONENTIAL * _USUAL_STEPS * len(values)
    inputs = values, is_positive, weight, starts, has_intercept
    run_aside(_fit_sigmoids, *inputs, outputs=[slopes, intercepts], cost=cost)
    return slopes, intercepts


@entry
def _fit_sigmoids(
    values: Floats,
    is_positive: NDArray[np.bool_],
    weight: Floats,
    starts: NDArray[np.intp],
    has_intercept: bool,
    slopes: Floats,
    intercepts: Floats,
    stop: Flag,
) -> None:
    for binary in range(len(slopes)):
        start, n_samples = starts[binary], starts[binary + 1] - starts[binary]
        own_weight = weight[start : start + n_samples]
        centre, n_above, n_below, largest = 0.0, 0.0, 0.0, 0.0
        for t in range(n_samples):
            centre += values[start + t] / n_samples
            largest = max(largest, abs(values[start + t]))
            n_above += own_weight[t] if is_positive[start + t] else 0.0
            n_below += 0.0 if is_positive[start + t] else own_weight[t]
        spread = 0.0
        for t in range(n_samples):
            spread += (values[start + t] - centre) ** 2 / n_samples
        spread = np.sqrt(spread)
        has_slope = spread > SAME * abs(centre)
        if not has_intercept:
            centre, spread, has_slope = 0.0, largest if largest > 0.0 else 1.0, True
        columns = np.ones((n_samples, 2 if has_slope and has_intercept else 1))
        targets = np.empty(n_samples)
        for t in range(n_samples):
            if has_slope:
                columns[t, 0] = (values[start + t] - centre) / spread
            is_above = is_positive[start + t]
            targets[t] = (n_above + 1.0) / (n_above + 2.0) if is_above else 1.0 / (n_below + 2.0)
        coefficients = _fit_log_odds(columns, targets, own_weight, stop)
        if not has_intercept:
            slopes[binary] = max(0.0, coefficients[0] / spread)
        elif has_slope:
            slopes[binary] = coefficients[0] / spread
            intercepts[binary] = coefficients[1] - coefficients[0] * centre / spread
        else:
            intercepts[binary] = coefficients[0]


@entry
def _fit_log_odds(columns: Floats, targets: Floats, weight: Floats, stop: Flag) -> Floats:
    n_samples, n_coefficients = columns.shape
    coefficients = np.zeros(n_coefficients)
    nearer, direction = np.empty(n_coefficients), np.empty(n_coefficients)
    gradient = np.empty(n_coefficients)
    hessian = np.empty((n_coefficients, n_coefficients))
    log_odds = np.zeros(n_samples)
    loss, total = 0.0, 0.0
    for t in range(n_samples):
        loss += weight[t] * np.log(2.0)
        total += weight[t]
    for _ in range(MOST_STEPS):
        if stop[0] != 0:
            break
        gradient[:] = 0.0
        hessian[:] = 0.0
        for t in range(n_samples):
            probability = 1.0 / (1.0 + np.exp(-log_odds[t]))
            residual = weight[t] * (probability - targets[t])
            curvature = weight[t] * probability * (1.0 - probability)
            for i in range(n_coefficients):
                gradient[i] += residual * columns[t, i]
                for j in range(i + 1):
                    hessian[i, j] += curvature * columns[t, i] * columns[t, j]
        for i in range(n_coefficients):
            hessian[i, i] += RIDGE * total
            direction[i] = -gradient[i]
        solve_positive(hessian, direction, n_coefficients, _LEAST_PIVOT)
        slope = 0.0
        for i in range(n_coefficients):
            slope += gradient[i] * direction[i]
        if -slope <= NEAR * loss:
            # A full step now squares the error, but the change of the loss is lost to rounding.
            for i in range(n_coefficients):
                coefficients[i] += direction[i]
            break
        step, new_loss = 1.0, loss
        while step >= SMALLEST_LOG_ODDS_STEP:
            for i in range(n_coefficients):
                nearer[i] = coefficients[i] + step * direction[i]
            new_loss = 0.0
            for t in range(n_samples):
                value = 0.0
                for i in range(n_coefficients):
                    value += columns[t, i] * nearer[i]
                log_odds[t] = value
                above = np.log1p(np.exp(-abs(value))) + max(value, 0.0)
                new_loss += weight[t] * (above - targets[t] * value)
            if new_loss <= loss + LEAST_DECREASE * step * slope:
                break
            step /= 2.0
        for i in range(n_coefficients):
            coefficients[i] = nearer[i]
        loss = new_loss
    return coefficients


@entry
def _fit_scale_and_bias(
    features: Floats,
    class_indices: NDArray[np.intp],
    weights: Floats,
    starts: Floats,
    has_bias: bool,
    tolerance: float,
    stop: Flag,
) -> Any:
    n_samples, n_classes = features.shape
    # Without a bias, only the first row and column of the system are solved.
    n_free = 1 + n_classes if has_bias else 1
    found, losses = starts.copy(), np.empty(len(weights))
    nearer = np.empty(1 + n_classes)
    gradient, direction = np.empty(n_free), np.empty(n_free)
    hessian = np.empty((n_free, n_free))
    probabilities = np.empty((n_samples, n_classes))
    for problem in range(len(weights)):
        if stop[0] != 0:
            break
        weight, parameters = weights[problem], found[problem]
        loss = _evaluate(features, class_indices, weight, parameters, probabilities)
        for _ in range(MOST_STEPS):
            if stop[0] != 0:
                break
            _differentiate(
                features, class_indices, weight, parameters, probabilities, gradient, hessian
            )
            if parameters[0] <= 0.0 and gradient[0] > 0.0:
                gradient[0] = 0.0  # at its bound; only the bias can still change
                hessian[0, 0] = 1.0
                for k in range(1, n_free):
                    hessian[k, 0] = 0.0
            for k in range(n_free):
                direction[k] = -gradient[k]
            solve_positive(hessian, direction, n_free, _LEAST_PIVOT)
            slope = 0.0
            for k in range(n_free):
                slope += gradient[k] * direction[k]
            if -slope <= tolerance * max(loss, 1.0):
                break
            step = 1.0
            while True:
                nearer[:] = parameters
                for k in range(n_free):
                    nearer[k] += step * direction[k]
                nearer[0] = max(nearer[0], 0.0)
                new_loss = _evaluate(features, class_indices, weight, nearer, probabilities)
                if new_loss <= loss + LEAST_DECREASE * step * slope or step < SMALLEST_STEP:
                    break
                step /= 2.0
            if new_loss >= loss:
                break
            parameters[:] = nearer
            loss = new_loss
        losses[problem] = loss
    return found, losses


@helper
def _evaluate(
    features: Floats,
    class_indices: NDArray[np.intp],
    weight: Floats,
    parameters: Floats,
    probabilities: Floats,
) -> float:
    """Compute the probabilities, and return the loss."""
    n_samples, n_classes = features.shape
    loss = (parameters[0] - 1.0) ** 2
    for k in range(1, 1 + n_classes):
        loss += parameters[k] ** 2
    loss *= 0.5
    for t in range(n_samples):
        if weight[t] == 0.0:
            continue
        highest = -np.inf
        for k in range(n_classes):
            probabilities[t, k] = parameters[0] * features[t, k] + parameters[1 + k]
            highest = max(highest, probabilities[t, k])
        own = probabilities[t, class_indices[t]] - highest
        total = 0.0
        for k in range(n_classes):
            probabilities[t, k] = np.exp(probabilities[t, k] - highest)
            total += probabilities[t, k]
        for k in range(n_classes):
            probabilities[t, k] /= total
        loss += weight[t] * (np.log(total) - own)
    return loss


@helper
def _differentiate(
    features: Floats,
    class_indices: NDArray[np.intp],
    weight: Floats,
    parameters: Floats,
    probabilities: Floats,
    gradient: Floats,
    hessian: Floats,
) -> None:
    """Compute the gradient, and the lower triangle of the Hessian."""
    n_samples, n_classes = features.shape
    n_free = len(gradient)
    hessian[:] = 0.0
    for k in range(n_free):
        gradient[k] = parameters[k]
        hessian[k, k] = 1.0
    gradient[0] -= 1.0
    for t in range(n_samples):
        if weight[t] == 0.0:
            continue
        mean = 0.0
        for k in range(n_classes):
            mean += probabilities[t, k] * features[t, k]
        gradient[0] += weight[t] * (mean - features[t, class_indices[t]])
        for k in range(n_classes):
            share = weight[t] * probabilities[t, k]
            deviation = share * (features[t, k] - mean)
            hessian[0, 0] += deviation * features[t, k]
            if n_free > 1:
                gradient[1 + k] += share
                hessian[1 + k, 0] += deviation
                hessian[1 + k, 1 + k] += share
                for j in range(k + 1):
                    hessian[1 + k, 1 + j] -= share * probabilities[t, j]
        if n_free > 1:
            gradient[1 + class_indices[t]] -= weight[t]


def fit_softmax(
    data: SoftmaxData,
    penalty: float,
    units: Floats,
    stretch: Floats,
    start: Floats,
    tolerance: float,
) -> Any:
    """Minimise the mean of −log softmax(s·L + b + W·Z)[y], plus penalties, by L-BFGS."""
    n_samples = len(data.shares)
    logarithms, further, class_indices, shares = (_fill_vectors(values) for values in data[:-1])
    samples = SoftmaxData(logarithms, further, class_indices, shares, float(data.total))
    n_products = start.size * n_samples
    cost = 10.0 * (n_products + _NANOSECONDS_PER_EXPONENTIAL * data.logarithms.size)
    inputs = samples, float(penalty), units, stretch, start, float(tolerance)
    return run_aside(_fit_softmax, *inputs, cost=cost)


def _fill_vectors(values: Any) -> Any:
    """Add samples that weigh nothing, so that all samples are in whole vectors."""
    n_samples = values.shape[-1]
    filled = np.zeros((*values.shape[:-1], n_samples + -n_samples % VECTOR), dtype=values.dtype)
    filled[..., :n_samples] = values
    return filled


@entry
def _fit_softmax(
    data: SoftmaxData,
    penalty: float,
    units: Floats,
    stretch: Floats,
    start: Floats,
    tolerance: float,
    stop: Flag,
) -> Floats:
    n_classes, n_samples = data.logarithms.shape
    size = len(start)
    work = np.empty((n_classes, n_samples)), np.empty((n_classes, n_samples), np.int64)
    sums = np.empty((2, n_samples))
    x, gradient = start.copy(), np.empty(size)
    nearer, new_gradient, direction = np.empty(size), np.empty(size), np.empty(size)
    moves, changes = np.empty((MEMORY, size)), np.empty((MEMORY, size))
    products, factors = np.empty(MEMORY), np.empty(MEMORY)
    n_known = 0
    loss = _softmax_loss(data, penalty, units, stretch, x, gradient, work, sums)
    for _ in range(MOST_ITERATIONS):
        is_fixed = x[0] <= 0.0 and gradient[0] > 0.0
        largest = 0.0
        for i in range(1 if is_fixed else 0, size):
            largest = max(largest, abs(gradient[i]))
        if stop[0] != 0 or largest <= LEAST_GRADIENT:
            break
        direction[:] = gradient
        direction[0] = 0.0 if is_fixed else gradient[0]
        n_used = min(n_known, MEMORY)
        for k in range(n_known - 1, n_known - 1 - n_used, -1):
            m = k % MEMORY
            factors[m] = _dot(moves[m], direction) / products[m]
            direction -= factors[m] * changes[m]
        if n_known > 0:
            m = (n_known - 1) % MEMORY
            direction *= products[m] / _dot(changes[m], changes[m])
        for k in range(n_known - n_used, n_known):
            m = k % MEMORY
            direction += (factors[m] - _dot(changes[m], direction) / products[m]) * moves[m]
        direction *= -1.0
        direction[0] = 0.0 if is_fixed else direction[0]
        slope = _dot(gradient, direction)
        if slope >= 0.0:
            break  # rounding
        step = 1.0
        while True:
            nearer[:] = x + step * direction
            nearer[0] = max(nearer[0], 0.0)
            new_loss = _softmax_loss(
                data, penalty, units, stretch, nearer, new_gradient, work, sums
            )
            if new_loss <= loss + LEAST_DECREASE * step * slope or step < SMALLEST_STEP:
                break
            # The minimum of the parabola through both losses with this slope.
            best = -0.5 * step * slope / (new_loss - loss - step * slope)
            step *= min(max(best, 0.1), 0.5)
        if new_loss >= loss:
            break
        m = n_known % MEMORY
        moves[m] = nearer - x
        changes[m] = new_gradient - gradient
        products[m] = _dot(moves[m], changes[m])
        n_known += 1 if products[m] > 0.0 else 0
        decrease = loss - new_loss
        x[:], gradient[:], loss = nearer, new_gradient, new_loss
        if decrease <= tolerance * max(1.0, loss + decrease):
            break
    return x


@summing_helper
def _dot(one: Floats, two: Floats) -> float:
    total = 0.0
    for i in range(len(one)):
        total += one[i] * two[i]
    return total


@helper
def _softmax_loss(
    data: SoftmaxData,
    penalty: float,
    units: Floats,
    stretch: Floats,
    x: Floats,
    gradient: Floats,
    work: tuple[Floats, NDArray[np.int64]],
    sums: Floats,
) -> float:
    """Compute the gradient, and return the loss."""
    logarithms, inputs, class_indices, shares, total = data
    n_classes, n_samples = logarithms.shape
    n_inputs, first = len(inputs), 1 + n_classes
    values, bits = work
    highest, sum_of = sums[0], sums[1]
    own = np.empty((n_classes, n_inputs))
    for k in range(n_classes):
        begin = first + k * n_inputs
        np.dot(stretch[min(k, len(stretch) - 1)], x[begin : begin + n_inputs], own[k])
    np.dot(own, inputs, values)
    scale, excess = x[0] / units[0], x[0] / units[0] - 1.0
    squares = excess * excess
    highest[:] = -np.inf
    for k in range(n_classes):
        bias = x[1 + k] / units[1 + k]
        squares += bias * bias
        for t in range(n_samples):
            values[k, t] += scale * logarithms[k, t] + bias
            highest[t] = max(highest[t], values[k, t])
    loss = 0.5 * (squares / total + penalty * _dot(own.ravel(), own.ravel()))
    for k in range(n_classes):
        for t in range(n_samples):
            values[k, t] -= highest[t]
    for t in range(n_samples):
        loss -= shares[t] * values[class_indices[t], t]
    exponentials(values, n_samples // VECTOR, bits)
    sum_of[:] = 0.0
    for k in range(n_classes):
        for t in range(n_samples):
            sum_of[t] += values[k, t]
    for t in range(n_samples):
        loss += shares[t] * np.log(sum_of[t])
        sum_of[t] = shares[t] / sum_of[t]
    for k in range(n_classes):
        for t in range(n_samples):
            values[k, t] *= sum_of[t]
    for t in range(n_samples):
        values[class_indices[t], t] -= shares[t]
    gradient[0] = excess / total
    for k in range(n_classes):
        gradient[0] += _dot(values[k], logarithms[k])
        gradient[1 + k] = (x[1 + k] / units[1 + k] / total + _sum(values[k])) / units[1 + k]
    gradient[0] /= units[0]
    by_weights = np.dot(values, inputs.T)
    by_weights += penalty * own
    for k in range(n_classes):
        begin = first + k * n_inputs
        np.dot(by_weights[k], stretch[min(k, len(stretch) - 1)], gradient[begin : begin + n_inputs])
    return loss


@summing_helper
def _sum(values: Floats) -> float:
    total = 0.0
    for i in range(len(values)):
        total += values[i]
    return total
