"""Compiled twin of :mod:`polytomy.routines.coupling.reference`: the same elimination as loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.coupling.reference import LEAST_OUTFLOW
from polytomy.routines.runtime.compiling import entry, helper, read_only
from polytomy.routines.runtime.threads import run_in_blocks

__all__ = ["stationary_distribution"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def stationary_distribution(
    first: Indices, second: Indices, decisions: Floats, n_classes: int
) -> Floats:
    """Return p with p_i Σ_j μ_ji = Σ_j μ_ij p_j, where sums are over opponents with an answer."""
    probabilities = np.empty((len(decisions), n_classes))
    arguments = read_only(first), read_only(second), read_only(decisions), probabilities
    cost = 250.0 + 3.0 * len(first) + 0.25 * n_classes**3
    run_in_blocks(_write_distributions, len(decisions), *arguments, cost=cost)
    return probabilities


@entry
def _write_distributions(
    first: Indices,
    second: Indices,
    decisions: Floats,
    probabilities: Floats,
    begin: int,
    end: int,
    stop: NDArray[np.int64],
) -> None:
    n_classes = probabilities.shape[1]
    rates = np.empty((n_classes, n_classes))
    for sample in range(begin, end):
        if stop[0] != 0:
            return
        rates[:] = 0.0
        for pair in range(len(first)):
            answer = decisions[sample, pair]
            if not np.isnan(answer):
                rates[second[pair], first[pair]] = (1 + answer) / 2
                rates[first[pair], second[pair]] = (1 - answer) / 2
        probabilities[sample] = _mixture_of_least_norm(rates)


@helper
def _mixture_of_least_norm(rates: Floats) -> Any:
    n_classes = len(rates)
    if np.count_nonzero(rates) == n_classes * (n_classes - 1):
        return _eliminate(rates)
    p = np.zeros(n_classes)
    reaches = _reachability(rates)
    for leader in range(n_classes):
        if not _is_leader_of_closed_set(reaches, leader):
            continue
        members = np.flatnonzero(reaches[leader])
        part_rates = np.empty((len(members), len(members)))
        for a in range(len(members)):
            for b in range(len(members)):
                part_rates[a, b] = rates[members[a], members[b]]
        part = _eliminate(part_rates)
        p[members] = part / np.sum(part * part)
    return p / p.sum()


@helper
def _reachability(rates: Floats) -> Any:
    reaches = rates > 0
    for middle in range(len(rates)):
        reaches[middle, middle] = True
        for origin in range(len(rates)):
            if reaches[origin, middle]:
                reaches[origin] |= reaches[middle]
    return reaches


@helper
def _is_leader_of_closed_set(reaches: NDArray[np.bool_], state: int) -> bool:
    """Return whether a state is reached from all states it reaches, and is the first of them."""
    for other in range(len(reaches)):
        if reaches[state, other] and (not reaches[other, state] or other < state):
            return False
    return True


@helper
def _eliminate(rates: Floats) -> Any:
    """Return the stationary distribution of an irreducible chain."""
    n = len(rates)
    outflow = np.ones(n)
    for state in range(n - 1, 0, -1):
        outflow[state] = max(np.sum(rates[state, :state]), LEAST_OUTFLOW)
        for origin in range(state):
            factor = rates[origin, state] / outflow[state]
            for target in range(state):
                rates[origin, target] += factor * rates[state, target]
    p = np.ones(n)
    for state in range(1, n):
        inflow = 0.0
        for origin in range(state):
            inflow += p[origin] * rates[origin, state]
        p[state] = inflow / outflow[state]
        p[: state + 1] /= p[: state + 1].max()
    return p / p.sum()
