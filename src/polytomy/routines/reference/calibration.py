"""Newton's method for calibrators, in plain NumPy: the oracle of the compiled twin.

Both losses are convex. Steps that do not lower them enough are halved (Armijo's rule).
"""

from __future__ import annotations

from itertools import pairwise

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
