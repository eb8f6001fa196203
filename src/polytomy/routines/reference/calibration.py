"""Newton's method for calibrators, and L-BFGS for decoders: the oracle of the compiled twin.

All losses are convex. Steps that do not lower them enough are shortened (Armijo's rule).
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from polytomy.routines.dispatch import spend

Floats = NDArray[np.float64]

MOST_STEPS = 100

LEAST_DECREASE = 1e-4
"""Fraction of the decrease predicted by the slope that a step must achieve."""

NEAR = 1e-12
"""If a step can lower the loss by at most this fraction, Newton's method squares the error."""

SMALLEST_LOG_ODDS_STEP = 1e-10

RIDGE = 1e-12
"""Times the total weight, keeps the Hessian invertible if all probabilities are saturated."""

SMALLEST_STEP = 1e-8

SAME = 1e-12
"""Values whose spread is below this fraction of their mean count as equal."""

MOST_CLASSES_OF_HESSIAN = 128
"""With more classes, solving for a step by conjugate gradients is faster than forming the
Hessian."""


def platt_targets(
    is_positive: NDArray[np.bool_], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (N₊+1)/(N₊+2) on the +1 side and 1/(N₋+2) on the −1 side (Platt 1999).

    These are the posterior means under a uniform prior. N₊ and N₋ are the sums of the weights on
    the two sides, so a weight of 2 counts as two samples.

    Examples
    --------
    >>> platt_targets(np.array([True, False, False]), np.ones(3))
    array([0.66666667, 0.25      , 0.25      ])
    """
    n_positive = float(weight[is_positive].sum())
    n_negative = float(weight[~is_positive].sum())
    return np.where(is_positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))


def fit_sigmoids(
    values: Floats,
    is_positive: NDArray[np.bool_],
    weight: Floats,
    starts: NDArray[np.intp],
    has_intercept: bool,
) -> tuple[Floats, Floats]:
    """Return the slopes and intercepts of Platt's sigmoids for many binaries.

    Without an intercept, the slope is not negative: a decision value keeps its sign.

    Parameters
    ----------
    values : array of shape (n_samples,), decision values of one binary after the other
    is_positive : bool array of shape (n_samples,), their sides
    weight : array of shape (n_samples,), positive
    starts : array of shape (n_binaries + 1,), the first value of each binary, and the end
    has_intercept : bool

    Returns
    -------
    slopes, intercepts : arrays of shape (n_binaries,)
    """
    slopes, intercepts = np.zeros((2, len(starts) - 1))
    for k, (start, end) in enumerate(pairwise(starts)):
        own, own_weight = values[start:end], weight[start:end]
        targets = platt_targets(is_positive[start:end], own_weight)
        if not has_intercept:
            scale = float(np.abs(own).max()) or 1.0
            (slope,) = fit_log_odds(own[:, np.newaxis] / scale, targets, own_weight)
            slopes[k] = max(0.0, slope / scale)
            continue
        # Newton steps do not depend on the origin and scale of the values, but rounding errors do.
        centre, spread = float(np.mean(own)), float(np.std(own))
        ones = np.ones_like(own)
        if spread <= SAME * abs(centre):
            (intercepts[k],) = fit_log_odds(ones[:, np.newaxis], targets, own_weight)
            continue
        columns = np.column_stack([(own - centre) / spread, ones])
        slope, level = fit_log_odds(columns, targets, own_weight)
        slopes[k], intercepts[k] = slope / spread, level - slope * centre / spread
    return slopes, intercepts


def fit_log_odds(columns: Floats, targets: Floats, weight: Floats) -> Floats:
    """Return the coefficients of linear log-odds that minimise the log-loss.

    Parameters
    ----------
    columns : array of shape (n_samples, n_coefficients), scaled to about one
    targets : array of shape (n_samples,), in (0, 1)
    weight : array of shape (n_samples,), positive

    Returns
    -------
    array of shape (n_coefficients,)
    """
    spend(1e-3 + 2e-6 * len(columns))
    coefficients = np.zeros(columns.shape[1])
    log_odds = columns @ coefficients
    loss = _log_odds_loss(log_odds, targets, weight)
    ridge = RIDGE * float(np.sum(weight)) * np.eye(columns.shape[1])
    for _ in range(MOST_STEPS):
        probability = scipy.special.expit(log_odds)
        gradient = (weight * (probability - targets)) @ columns
        curvature = weight * probability * (1.0 - probability)
        hessian = (columns.T * curvature) @ columns + ridge
        direction = -np.linalg.solve(hessian, gradient)
        slope = float(gradient @ direction)
        if -slope <= NEAR * loss:
            # A full step now squares the error, but the change of the loss is lost to rounding.
            return coefficients + direction
        step = 1.0
        while step >= SMALLEST_LOG_ODDS_STEP:
            nearer = coefficients + step * direction
            log_odds = columns @ nearer
            new_loss = _log_odds_loss(log_odds, targets, weight)
            if new_loss <= loss + LEAST_DECREASE * step * slope:
                break
            step /= 2.0
        coefficients, loss = nearer, new_loss
    return coefficients


def _log_odds_loss(log_odds: Floats, targets: Floats, weight: Floats) -> float:
    likelihood = targets * scipy.special.log_expit(log_odds) + (
        1.0 - targets
    ) * scipy.special.log_expit(-log_odds)
    return -float(weight @ likelihood)


def fit_scale_and_bias(
    features: Floats,
    class_indices: NDArray[np.intp],
    weights: Floats,
    starts: Floats,
    has_bias: bool,
    tolerance: float,
) -> tuple[Floats, Floats]:
    """Minimise Σᵢ wᵢ·(−log softmax(s·Lᵢ + b)[yᵢ]) + (s − 1)²/2 + |b|²/2 over s ≥ 0 and b.

    There is one problem for each vector of weights. Weights of zero leave samples out.

    Parameters
    ----------
    features : array of shape (n_samples, n_classes), L
    class_indices : array of shape (n_samples,), y
    weights : array of shape (n_problems, n_samples), w
    starts : array of shape (n_problems, 1 + n_classes), initial values of s and b
    has_bias : bool
        Without a bias, only s is changed.
    tolerance : stop when a step can lower the loss by less than this fraction

    Returns
    -------
    parameters : array of shape (n_problems, 1 + n_classes), s and b
    losses : array of shape (n_problems,), the minima
    """
    seconds = 2e-3 + 1e-9 * features.size * (800.0 + 10.0 * features.shape[1])
    spend(len(weights) * seconds)
    parameters, losses = np.empty(starts.shape), np.empty(len(weights))
    for problem, (weight, start) in enumerate(zip(weights, starts, strict=True)):
        is_used = weight != 0
        own = (features, class_indices, weight)
        if not is_used.all():
            own = features[is_used], class_indices[is_used], weight[is_used]
        parameters[problem], losses[problem] = _fit_one(*own, start, has_bias, tolerance)
    return parameters, losses


def _fit_one(
    features: Floats,
    class_indices: NDArray[np.intp],
    weight: Floats,
    start: Floats,
    has_bias: bool,
    tolerance: float,
) -> tuple[Floats, float]:
    n_samples, n_classes = features.shape
    counts = np.bincount(class_indices, weight, minlength=n_classes)
    own = features[np.arange(n_samples), class_indices]
    parameters = start.copy()
    probabilities, loss = _evaluate(features, class_indices, weight, parameters)
    for _ in range(MOST_STEPS):
        weighted = weight[:, np.newaxis] * probabilities
        means = np.einsum("ij,ij->i", probabilities, features)
        gradient = np.zeros(1 + n_classes)
        gradient[0] = weight @ (means - own) + parameters[0] - 1.0
        if has_bias:
            gradient[1:] = weighted.sum(axis=0) - counts + parameters[1:]
        if parameters[0] <= 0.0 and gradient[0] > 0.0:
            gradient[0] = 0.0  # at its bound; only the bias can still change
        direction = _newton_direction(features, probabilities, weighted, means, gradient, has_bias)
        slope = float(gradient @ direction)
        if -slope <= tolerance * max(loss, 1.0):
            break
        step = 1.0
        while True:
            nearer = parameters + step * direction
            nearer[0] = max(nearer[0], 0.0)
            new_probabilities, new_loss = _evaluate(features, class_indices, weight, nearer)
            if new_loss <= loss + LEAST_DECREASE * step * slope or step < SMALLEST_STEP:
                break
            step /= 2.0
        if new_loss >= loss:
            break
        parameters, probabilities, loss = nearer, new_probabilities, new_loss
    return parameters, loss


def _evaluate(
    features: Floats, class_indices: NDArray[np.intp], weight: Floats, parameters: Floats
) -> tuple[Floats, float]:
    """Return the probabilities and the loss."""
    scale, bias = parameters[0], parameters[1:]
    logits = scale * features
    logits += bias
    probabilities, losses = softmax_losses(logits, class_indices)
    penalty = 0.5 * ((scale - 1.0) ** 2 + bias @ bias)
    return probabilities, float(weight @ losses + penalty)


def softmax(logits: Floats) -> Floats:
    """Return probabilities, computed in place."""
    logits -= logits.max(axis=1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=1, keepdims=True)
    return logits


def softmax_losses(logits: Floats, class_indices: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return the probabilities, computed in place, and −log p of each sample's class."""
    logits -= logits.max(axis=1, keepdims=True)
    own = logits[np.arange(len(logits)), class_indices]
    np.exp(logits, out=logits)
    totals = logits.sum(axis=1)
    logits /= totals[:, np.newaxis]
    return logits, np.log(totals) - own


def _newton_direction(
    features: Floats,
    probabilities: Floats,
    weighted: Floats,
    means: Floats,
    gradient: Floats,
    has_bias: bool,
) -> Floats:
    """Return minus the inverse of the Hessian times the gradient."""
    n_classes = features.shape[1]
    deviations = weighted * (features - means[:, np.newaxis])
    corner = float(np.einsum("ij,ij->", deviations, features)) + 1.0
    if not has_bias:
        return np.concatenate([[-gradient[0] / corner], np.zeros(n_classes)])
    totals = weighted.sum(axis=0)
    cross = deviations.sum(axis=0)
    if gradient[0] == 0.0:
        cross, corner = np.zeros(n_classes), 1.0
    if n_classes <= MOST_CLASSES_OF_HESSIAN:
        hessian = np.empty((1 + n_classes, 1 + n_classes))
        hessian[0, 0], hessian[0, 1:], hessian[1:, 0] = corner, cross, cross
        hessian[1:, 1:] = -(probabilities.T @ weighted)
        hessian[1:, 1:][np.diag_indices(n_classes)] += totals + 1.0
        return np.asarray(-np.linalg.solve(hessian, gradient))

    def times(vector: Floats) -> Floats:
        scale, bias = vector[0], vector[1:]
        product = np.empty_like(vector)
        product[0] = corner * scale + cross @ bias
        product[1:] = (totals + 1.0) * bias - weighted.T @ (probabilities @ bias) + cross * scale
        return product

    inverse = 1.0 / np.concatenate([[corner], totals + 1.0])
    shape = 2 * (1 + n_classes,)
    direction, _ = scipy.sparse.linalg.cg(
        scipy.sparse.linalg.LinearOperator(shape, matvec=times, dtype=np.float64),
        -gradient,
        rtol=1e-3,
        maxiter=100,
        M=scipy.sparse.linalg.LinearOperator(
            shape, matvec=lambda vector: inverse * vector, dtype=np.float64
        ),
    )
    return np.asarray(direction)


MOST_ITERATIONS = 500
LEAST_GRADIENT = 1e-9

MEMORY = 10
"""From how many steps L-BFGS estimates the Hessian."""


class SoftmaxData(NamedTuple):
    """The samples that a decoder with the logits s·L + b + W·Z is fitted to.

    Attributes
    ----------
    logarithms : array of shape (n_classes, n_samples), L
    inputs : array of shape (n_inputs, n_samples), Z
    class_indices : array of shape (n_samples,), y
    shares : array of shape (n_samples,), the weights of the samples, divided by their sum
    total : the sum of the weights
    """

    logarithms: Floats
    inputs: Floats
    class_indices: NDArray[np.intp]
    shares: Floats
    total: float


def fit_softmax(
    data: SoftmaxData,
    penalty: float,
    units: Floats,
    stretch: Floats,
    start: Floats,
    tolerance: float,
) -> Floats:
    """Minimise the mean of −log softmax(s·L + b + W·Z)[y] + ((s − 1)² + |b|²)/(2n) + λ|W|²/2.

    The scale s is at least zero; n is the sum of the weights. Uses L-BFGS with backtracking.

    Parameters
    ----------
    data : SoftmaxData
    penalty : λ
    units : array of shape (1 + n_classes,)
        The first coordinates are (s, b) times these units.
    stretch : array of shape (n_classes, n_inputs, n_inputs), or (1, n_inputs, n_inputs)
        The weights of class k are stretch[k] times its part of the other coordinates.
    start : array of shape (1 + n_classes + n_classes·n_inputs,), coordinates
    tolerance : relative change of the loss at which to stop

    Returns
    -------
    array like `start`, the coordinates of the minimum
    """
    logarithms, inputs, class_indices, shares, total = data
    n_classes, n_inputs = len(logarithms), len(inputs)
    spend(1e-2 + 1e-6 * logarithms.size)
    own_classes = class_indices, np.arange(len(shares))

    def loss_and_gradient(x: Floats) -> tuple[float, Floats]:
        plain = x[: 1 + n_classes] / units
        own = (stretch @ x[1 + n_classes :].reshape(n_classes, n_inputs, 1))[..., 0]
        logits = own @ inputs
        logits += plain[0] * logarithms + plain[1:, np.newaxis]
        residuals, losses = softmax_losses(logits.T, class_indices)
        residuals = residuals.T * shares
        residuals[own_classes] -= shares
        plain[0] -= 1.0
        loss = shares @ losses + 0.5 * penalty * np.vdot(own, own) + plain @ plain / (2 * total)
        by_plain = plain / total
        by_plain[0] += np.vdot(residuals, logarithms)
        by_plain[1:] += residuals.sum(axis=1)
        by_weights = residuals @ inputs.T + penalty * own
        by_weights = stretch.swapaxes(1, 2) @ by_weights[..., np.newaxis]
        return float(loss), np.append(by_plain / units, by_weights)

    x = start.copy()
    loss, gradient = loss_and_gradient(x)
    known: list[tuple[Floats, Floats]] = []
    for _ in range(MOST_ITERATIONS):
        # A scale at its bound stays there while the loss would fall below it.
        is_free = np.ones(len(x), dtype=np.bool_)
        is_free[0] = x[0] > 0 or gradient[0] <= 0
        if np.abs(gradient[is_free]).max() <= LEAST_GRADIENT:
            break
        direction = -_multiply_by_inverse(known, gradient * is_free) * is_free
        slope = float(gradient @ direction)
        if slope >= 0:
            break  # rounding
        step = 1.0
        while True:
            nearer = x + step * direction
            nearer[0] = max(nearer[0], 0.0)
            new_loss, new_gradient = loss_and_gradient(nearer)
            if new_loss <= loss + LEAST_DECREASE * step * slope or step < SMALLEST_STEP:
                break
            # The minimum of the parabola through both losses with this slope.
            best = -0.5 * step * slope / (new_loss - loss - step * slope)
            step *= min(max(best, 0.1), 0.5)
        if new_loss >= loss:
            break
        move, change = nearer - x, new_gradient - gradient
        if move @ change > 0:
            known = [*known, (move, change)][-MEMORY:]
        decrease = loss - new_loss
        x, loss, gradient = nearer, new_loss, new_gradient
        if decrease <= tolerance * max(1.0, loss + decrease):
            break
    return x


def _multiply_by_inverse(known: list[tuple[Floats, Floats]], vector: Floats) -> Floats:
    """Return a vector times the inverse Hessian of L-BFGS (Liu and Nocedal 1989).

    `known` has the latest steps, each with the change of the gradient, the latest last.
    """
    product, factors = vector.copy(), []
    for move, change in reversed(known):
        factors.append(move @ product / (move @ change))
        product -= factors[-1] * change
    if known:
        move, change = known[-1]
        product *= (move @ change) / (change @ change)
    for (move, change), factor in zip(known, reversed(factors), strict=True):
        product += (factor - change @ product / (move @ change)) * move
    return product
