"""Compiled twin of :mod:`polytomy.routines.reference.coupling`: the same elimination as loops.

Array expressions would take longer to compile.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiling import entry, helper
from polytomy.routines.reference.coupling import LEAST_OUTFLOW
from polytomy.routines.threads import run_in_blocks

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]


def stationary_distribution(
    first: Indices, second: Indices, decisions: Floats, n_classes: int
) -> Floats:
    """Return p with p_i Σ_j μ_ji = Σ_j μ_ij p_j, where sums are over opponents with an answer."""
    probabilities = np.empty((len(decisions), n_classes))
    cost = 250.0 + 3.0 * len(first) + 0.25 * n_classes**3
    run_in_blocks(
        _stationary_distribution,
        len(decisions),
        *(first, second, decisions),
        outputs=[probabilities],
        cost=cost,
    )
    return probabilities


@entry
def _stationary_distribution(
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
    work = np.empty((n_classes, n_classes))
    reaches = np.empty((n_classes, n_classes), np.bool_)
    members = np.empty(n_classes, np.intp)
    outflow, part = np.empty(n_classes), np.empty(n_classes)
    for sample in range(begin, end):
        if stop[0] != 0:
            return
        _fill_rates(first, second, decisions[sample], rates)
        _find_reachable(rates, reaches)
        p = probabilities[sample]
        for j in range(n_classes):
            p[j] = 0.0
        for leader in range(n_classes):
            if not _is_leader_of_closed_set(reaches, leader):
                continue
            n_members = 0
            for j in range(n_classes):
                if reaches[leader, j]:
                    members[n_members] = j
                    n_members += 1
            for a in range(n_members):
                for b in range(n_members):
                    work[a, b] = rates[members[a], members[b]]
            _eliminate(n_members, work, outflow, part)
            # The least-norm mixture weights each part by the inverse of its squared length.
            square = 0.0
            for a in range(n_members):
                square += part[a] * part[a]
            for a in range(n_members):
                p[members[a]] = part[a] / square
        _normalise(n_classes, p)


@helper
def _fill_rates(first: Indices, second: Indices, answers: Floats, rates: Floats) -> None:
    """Set the transition rates of the chain; zero for pairs without an answer."""
    for j in range(len(rates)):
        for k in range(len(rates)):
            rates[j, k] = 0.0
    for pair in range(len(first)):
        if not np.isnan(answers[pair]):
            rates[second[pair], first[pair]] = (1 + answers[pair]) / 2
            rates[first[pair], second[pair]] = (1 - answers[pair]) / 2


@helper
def _find_reachable(rates: Floats, reaches: Flags) -> None:
    """Set which states the chain can reach from each state."""
    n = len(rates)
    n_moves = 0
    for origin in range(n):
        for target in range(n):
            reaches[origin, target] = rates[origin, target] > 0 or origin == target
            n_moves += reaches[origin, target]
    if n_moves == n * n:
        return  # the usual case
    for middle in range(n):
        for origin in range(n):
            if reaches[origin, middle]:
                for target in range(n):
                    reaches[origin, target] = reaches[origin, target] or reaches[middle, target]


@helper
def _is_leader_of_closed_set(reaches: Flags, state: int) -> bool:
    """Return whether a state is reachable from all states it reaches, and is the first of them."""
    for other in range(len(reaches)):
        if reaches[state, other] and (not reaches[other, state] or other < state):
            return False
    return True


@helper
def _eliminate(n: int, rates: Floats, outflow: Floats, p: Floats) -> None:
    """Set p to the stationary distribution of an irreducible chain of n states."""
    for state in range(n - 1, 0, -1):
        total = 0.0
        for target in range(state):
            total += rates[state, target]
        outflow[state] = max(total, LEAST_OUTFLOW)
        for origin in range(state):
            factor = rates[origin, state] / outflow[state]
            for target in range(state):
                rates[origin, target] += factor * rates[state, target]
    p[0] = 1.0
    for state in range(1, n):
        inflow = 0.0
        for origin in range(state):
            inflow += p[origin] * rates[origin, state]
        p[state] = inflow / outflow[state]
        largest = p[0]
        for j in range(1, state + 1):
            largest = max(largest, p[j])
        for j in range(state + 1):
            p[j] /= largest
    _normalise(n, p)


@helper
def _normalise(n: int, p: Floats) -> None:
    total = 0.0
    for j in range(n):
        total += p[j]
    for j in range(n):
        p[j] /= total
