"""Minimum divergence for one-vs-rest codes in plain NumPy: the oracle of the compiled twin.

Let q be the answers of the binaries, each the probability of one class against all others, and w
their weights. The probabilities p minimise

    − Σ_k w_k [ q_k log p_k + (1 − q_k) log(1 − p_k) ]     subject to Σ p = 1.

With the multiplier μ of the constraint and ν_k = μ/w_k, each p_k is a root of ν p² − (1 + ν) p + q:

    p_k(μ) = 2 q_k / (1 + ν_k + d_k),     d_k = √((1 + ν_k)² − 4 ν_k q_k).

It falls as μ rises, with the slope − p (1 − p) / (w d), so Newton's method finds the μ at which the
sum is one. Steps that leave the interval that contains μ are replaced by bisection.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_ITERATIONS", "ROUNDING", "minimise_one_vs_rest"]

Floats = NDArray[np.float64]

MAX_ITERATIONS = 100
ROUNDING = 4e-16
"""Distance of the sum from one, per class, that counts as rounding."""


def minimise_one_vs_rest(answers: Floats, weights: Floats) -> Floats:
    """Return the probabilities with the least weighted Kullback-Leibler divergence.

    Parameters
    ----------
    answers : array of shape (n_samples, n_classes), q, strictly between zero and one
    weights : array of shape (n_classes,), w, positive

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one
    """
    n_samples, n_classes = answers.shape
    multiplier = np.zeros(n_samples)
    low, high = np.full(n_samples, -np.inf), np.full(n_samples, np.inf)
    for _ in range(MAX_ITERATIONS):
        p, slope = _probabilities(answers, multiplier[:, np.newaxis] / weights, weights)
        excess = p.sum(axis=1) - 1.0
        if (np.abs(excess) <= ROUNDING * n_classes).all():
            break
        low = np.where(excess > 0, multiplier, low)
        high = np.where(excess < 0, multiplier, high)
        newton = multiplier - excess / slope.sum(axis=1)
        multiplier = np.where((newton > low) & (newton < high), newton, _inside(low, high))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def _inside(low: Floats, high: Floats) -> Floats:
    """Return a number between two bounds; beyond the finite one if the other is infinite."""
    with np.errstate(invalid="ignore"):
        middle = (low + high) / 2.0
    beyond = np.where(np.isinf(high), 2.0 * np.maximum(low, 0.5), 2.0 * np.minimum(high, -0.5))
    return np.where(np.isfinite(middle), middle, beyond)


def _probabilities(q: Floats, nu: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return p and its derivative with respect to μ."""
    # Two forms of the same number; use the one without cancellation.
    root = np.sqrt(
        np.where(nu > 0.0, (1.0 - nu) ** 2 + 4.0 * nu * (1.0 - q), (1.0 + nu) ** 2 - 4.0 * nu * q)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(nu > -1.0, 2.0 * q / (1.0 + nu + root), (1.0 + nu - root) / (2.0 * nu))
    return p, -p * (1.0 - p) / (weights * root)
