"""Compiled twin of :mod:`polytomy.routines.one_vs_rest.reference`: the same steps as loops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.one_vs_rest.reference import MAX_ITERATIONS, ROUNDING
from polytomy.routines.runtime.compiling import entry, read_only
from polytomy.routines.runtime.threads import run_in_blocks

__all__ = ["minimise_one_vs_rest"]

Floats = NDArray[np.float64]

_ITERATIONS = 6
_NANOSECONDS = 10.0
"""Approximate time per class and iteration."""


def minimise_one_vs_rest(answers: Floats, weights: Floats) -> Floats:
    """Return the probabilities with the least weighted Kullback-Leibler divergence."""
    probabilities = np.empty(answers.shape)
    cost = _NANOSECONDS * _ITERATIONS * answers.shape[1]
    arguments = read_only(answers), read_only(weights), probabilities
    run_in_blocks(_minimise_samples, len(answers), *arguments, cost=cost)
    return probabilities


@entry
def _minimise_samples(
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
