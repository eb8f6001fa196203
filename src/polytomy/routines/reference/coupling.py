"""The Markov chain of Wu, Lin and Weng in plain NumPy: the oracle of the compiled twin.

Their first method (2004) gives the stationary distribution of a chain that moves from class j to
class i at the rate μ_ij. It is computed by the elimination of Grassmann, Taksar and Heyman (1985),
which has no subtractions, so that small probabilities stay accurate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.dispatch import spend

FloatArray = NDArray[np.float64]

LEAST_OUTFLOW = 1e-300
"""Replaces the outflow of a class if it has underflowed to zero."""


def stationary_distribution(
    first: NDArray[np.intp], second: NDArray[np.intp], decisions: FloatArray, n_classes: int
) -> FloatArray:
    """Return p with p_i Σ_j μ_ji = Σ_j μ_ij p_j, where sums are over opponents with an answer.

    If answers are missing or exactly 0 or 1, there may be several stationary distributions, each on
    its own set of classes. In this case, the result is their least-norm mixture.

    Parameters
    ----------
    first, second : intp arrays of shape (n_pairs,), the classes of each pair
    decisions : array of shape (n_samples, n_pairs); μ = (1 + r)/2 is the first class's share
    n_classes : int

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one
    """
    spend(2.5e-5 * len(decisions) * n_classes)
    probabilities = np.zeros((len(decisions), n_classes))
    for sample, answered in enumerate(decisions):
        known = ~np.isnan(answered)
        rates = np.zeros((n_classes, n_classes))
        rates[second[known], first[known]] = (1 + answered[known]) / 2
        rates[first[known], second[known]] = (1 - answered[known]) / 2
        for members in _closed_sets(rates):
            part = _eliminate(rates[np.ix_(members, members)])
            # The least-norm mixture weights each part by the inverse of its squared length.
            probabilities[sample, members] = part / (part @ part)
        probabilities[sample] /= probabilities[sample].sum()
    return probabilities


def _closed_sets(rates: FloatArray) -> list[NDArray[np.intp]]:
    """Return the closed communicating classes of the chain, as sets of its states."""
    reaches: NDArray[np.bool_] = (rates > 0) | np.eye(len(rates), dtype=np.bool_)
    for middle in range(len(rates)):
        reaches |= np.outer(reaches[:, middle], reaches[middle])
    returns = reaches & reaches.T
    return [
        np.flatnonzero(returns[state])
        for state in range(len(rates))
        if np.array_equal(returns[state], reaches[state]) and returns[state].argmax() == state
    ]


def _eliminate(rates: FloatArray) -> FloatArray:
    """Return the stationary distribution of an irreducible chain."""
    rates = rates.copy()
    outflow = np.ones(len(rates))
    for state in range(len(rates) - 1, 0, -1):
        outflow[state] = max(rates[state, :state].sum(), LEAST_OUTFLOW)
        detour = np.outer(rates[:state, state] / outflow[state], rates[state, :state])
        rates[:state, :state] += detour
    p = np.ones(len(rates))
    for state in range(1, len(rates)):
        p[state] = p[:state] @ rates[:state, state] / outflow[state]
        # Ratios of neighbours are multiplied; dividing by the largest prevents overflow.
        p[: state + 1] /= p[: state + 1].max()
    stationary: FloatArray = p / p.sum()
    return stationary
