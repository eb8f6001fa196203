"""Maximum likelihood of softmax models: the numerical part of the final calibration.

Two models for the classes of n samples, given features with a column for each class:

- `fit_scale_and_bias`: logits s·L + b, with s ≥ 0. It has few parameters, so Newton's method needs
  few steps.
- `fit_weights`: logits s·L + b + Z·W, with a penalty on W. L-BFGS minimises the loss in coordinates
  in which the problem is well conditioned.

Both have unit Gaussian priors on s − 1 and b. Without one, s would grow without limit if all
samples are classified correctly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from polytomy.routines.calibration import reference
from polytomy.routines.runtime.dispatch import routine

__all__ = [
    "Basis",
    "ScaleAndBias",
    "Weighted",
    "find_basis",
    "fit_each_weighting",
    "fit_scale_and_bias",
    "fit_weights",
]

Floats = NDArray[np.float64]

# Newton's method stops when a step would save less than this fraction of the loss.
_TOLERANCE = 1e-8

# For fewer values, the overhead of NumPy calls exceeds their work, so the loops of the compiled
# routine are faster. For more values, they are slower.
_FEW_VALUES = 2**14

# Approximate mean of p·(1 − p) in the Hessian of the weights.
_CURVATURE = 0.05
_MOST_DIRECTIONS = 512


class ScaleAndBias(NamedTuple):
    """Logits s·L + b.

    Attributes
    ----------
    scale : float, s
    bias : array of shape (n_classes,), b
    loss : float, the weighted sum of −log p(class), plus (s − 1)²/2 + |b|²/2
    """

    scale: float
    bias: Floats
    loss: float


def fit_scale_and_bias(
    features: Floats,
    class_indices: NDArray[np.intp],
    weight: Floats,
    start: ScaleAndBias | None = None,
) -> ScaleAndBias:
    """Minimise Σᵢ wᵢ·(−log softmax(s·Lᵢ + b)[yᵢ]) + (s − 1)²/2 + |b|²/2 over s ≥ 0 and b.

    The problem is convex. Uses Newton's method with backtracking.

    Parameters
    ----------
    features : array of shape (n_samples, n_classes), L
    class_indices : array of shape (n_samples,), y
    weight : array of shape (n_samples,), w
    start : starting point, if a solution of a similar problem is known

    Examples
    --------
    Three samples of one class and one of the other, with features that carry no information: the
    bias would be log 3 / 2 = 0.55 without its prior.

    >>> solution = fit_scale_and_bias(np.zeros((4, 2)), np.array([0, 0, 0, 1]), np.ones(4))
    >>> solution.bias.round(3)
    array([ 0.342, -0.342])
    """
    (solution,) = fit_each_weighting(
        features, class_indices, weight[np.newaxis], start, has_bias=True
    )
    return solution


def fit_each_weighting(
    features: Floats,
    class_indices: NDArray[np.intp],
    weights: Floats,
    start: ScaleAndBias | None = None,
    *,
    has_bias: bool,
) -> list[ScaleAndBias]:
    """Return the solution of `fit_scale_and_bias` for each of several vectors of weights.

    Parameters
    ----------
    features, class_indices, start : as for `fit_scale_and_bias`
    weights : array of shape (n_problems, n_samples)
        A weight of zero leaves a sample out.
    has_bias : bool
        Without a bias, only s is fitted.

    Examples
    --------
    The features favour the right class by 1 in three samples of four, which corresponds to
    s = log 3. The prior pulls s towards one. Without the fourth sample, s is larger.

    >>> features = np.array([[1.0, 0.0]] * 4)
    >>> weights = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 0.0]])
    >>> fits = fit_each_weighting(features, np.array([0, 0, 0, 1]), weights, has_bias=False)
    >>> [round(fit.scale, 3) for fit in fits]
    [1.043, 1.533]
    """
    starts = np.zeros((len(weights), 1 + features.shape[1]))
    starts[:, 0] = 1.0
    if start is not None:
        starts[:, 0], starts[:, 1:] = start.scale, start.bias
    has_few = features.shape[1] <= reference.MOST_CLASSES_OF_HESSIAN and features.size < _FEW_VALUES
    fit = routine("fit_scale_and_bias", "calibration") if has_few else reference.fit_scale_and_bias
    parameters, losses = fit(features, class_indices, weights, starts, has_bias, _TOLERANCE)
    return [
        ScaleAndBias(float(each[0]), each[1:], float(loss))
        for each, loss in zip(parameters, losses, strict=True)
    ]


def _softmax(logits: Floats, class_indices: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return the probabilities, computed in place, and −log p of each sample's class."""
    logits -= logits.max(axis=1, keepdims=True)
    own = logits[np.arange(len(logits)), class_indices]
    np.exp(logits, out=logits)
    totals = logits.sum(axis=1)
    logits /= totals[:, np.newaxis]
    return logits, np.log(totals) - own


class Basis(NamedTuple):
    """Principal directions of some features.

    Attributes
    ----------
    directions : array of shape (n_features, n_directions), orthonormal columns
    variances : array of shape (n_directions,), the mean squares along them
    """

    directions: Floats
    variances: Floats


def find_basis(features: Floats) -> Basis:
    """Return the principal directions of features, without centring; at most 512 of them."""
    squares = features.T @ features / max(1, len(features))
    variances, directions = np.linalg.eigh(squares)
    is_kept = variances > 1e-10 * max(variances.max(initial=0.0), np.finfo(np.float64).tiny)
    is_kept[: max(0, len(variances) - _MOST_DIRECTIONS)] = False
    return Basis(directions[:, is_kept], variances[is_kept])


class Weighted(NamedTuple):
    """Logits s·L + b + Z·W.

    Attributes
    ----------
    scale : float, s
    bias : array of shape (n_classes,), b
    weights : array of shape (n_features, n_classes), W
    """

    scale: float
    bias: Floats
    weights: Floats


def fit_weights(
    features: Floats,
    further: Floats,
    class_indices: NDArray[np.intp],
    weight: Floats,
    penalty: float,
    start: Weighted,
    basis: Basis,
    *,
    tolerance: float = 1e-7,
) -> Weighted:
    """Minimise the mean of −log softmax(s·L + b + Z·W)[y], plus penalties, over s ≥ 0, b and W.

    The penalties are ((s − 1)² + |b|²)/(2n) + λ|W|²/2.

    Parameters
    ----------
    features : array of shape (n_samples, n_classes), L
    further : array of shape (n_samples, n_features), Z
    class_indices : array of shape (n_samples,), y
    weight : array of shape (n_samples,); the mean is weighted, n is the sum of the weights
    penalty : λ > 0
    start : starting point
    basis : `find_basis` of Z, or of features like it
    tolerance : relative change of the loss at which to stop
    """
    n_samples, n_classes = features.shape
    total = float(weight.sum())
    shares = weight / total
    rows = np.arange(n_samples)
    # In these coordinates the Hessian is close to the identity.
    stretch = 1.0 / np.sqrt(_CURVATURE * basis.variances + penalty)
    inputs = (further @ basis.directions) * stretch
    penalties = penalty * stretch**2
    unit_of_scale = float(np.sqrt(np.mean(features**2)) * np.sqrt(_CURVATURE)) or 1.0
    counts = np.bincount(class_indices, shares, minlength=n_classes)
    unit_of_bias = np.sqrt(counts + 1.0 / total)
    size = 1 + n_classes

    def loss_and_gradient(x: Floats) -> tuple[float, Floats]:
        scale, bias = x[0] / unit_of_scale, x[1:size] / unit_of_bias
        weights = x[size:].reshape(-1, n_classes)
        logits = inputs @ weights
        logits += scale * features
        logits += bias
        residuals, losses = _softmax(logits, class_indices)
        residuals[rows, class_indices] -= 1.0
        residuals *= shares[:, np.newaxis]
        loss = shares @ losses + 0.5 * ((scale - 1.0) ** 2 + bias @ bias) / total
        loss += 0.5 * penalties @ np.einsum("ij,ij->i", weights, weights)
        gradient = np.empty_like(x)
        gradient[0] = np.einsum("ij,ij->", residuals, features) + (scale - 1.0) / total
        gradient[0] /= unit_of_scale
        gradient[1:size] = (residuals.sum(axis=0) + bias / total) / unit_of_bias
        gradient[size:] = (inputs.T @ residuals + penalties[:, np.newaxis] * weights).ravel()
        return float(loss), gradient

    x = np.concatenate(
        [
            [start.scale * unit_of_scale],
            start.bias * unit_of_bias,
            ((basis.directions.T @ start.weights) / stretch[:, np.newaxis]).ravel(),
        ]
    )
    bounds = [(0.0, None), *[(None, None)] * (len(x) - 1)]
    found = minimize(
        loss_and_gradient,
        x,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"ftol": tolerance, "gtol": 1e-9, "maxiter": 500},
    ).x
    weights = basis.directions @ (stretch[:, np.newaxis] * found[size:].reshape(-1, n_classes))
    return Weighted(float(found[0] / unit_of_scale), found[1:size] / unit_of_bias, weights)
