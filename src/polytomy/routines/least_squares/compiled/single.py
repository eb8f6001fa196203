"""Compiled: the minimum on the simplex, for one sample at a time, degenerate or not.

Only `minimise_single` calls `minimise_on_cone`, and calls are nested as little as possible, because
each level of calls compiles everything below it again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.least_squares.compiled.cone import minimise_on_cone
from polytomy.routines.least_squares.compiled.face import (
    fill_dual,
    fill_mixtures,
    go_to_bound,
    has_doubtful_rest,
    is_same,
    leave_out_closed,
    list_face,
    open_dependent_classes,
    open_mixture,
    project_on_span,
    read_dual,
    span_open_classes,
    write_candidate,
    write_normalised,
)
from polytomy.routines.least_squares.tolerances import FINE, NEGLIGIBLE, ROUNDING, UNCHANGED
from polytomy.routines.runtime.compiling import helper

__all__ = ["is_stationary", "minimise_single"]

Floats = NDArray[np.float64]


@helper
def minimise_single(single: Any, is_graded: bool, p: Floats) -> bool:
    """Set p to the shortest minimum on the simplex, given the plain Gram matrix QᵀQ.

    Return False if the matrix is not accurate enough for that.
    """
    n = len(p)
    coarse = _mean_shift(n, single)
    shift = coarse
    while True:  # find a minimum, with a finer shift if that helps
        _add_shift(n, shift, single)
        n_members = minimise_on_cone(n, single.gram, single)
        write_normalised(single.x, p)
        n_face = list_face(n, single)
        is_fine = shift < coarse
        if is_fine and not is_stationary(n, single, UNCHANGED, p):
            is_graded, shift = False, coarse
            continue
        if n_face == n_members:
            return True  # the members are independent, so there is no other minimum
        if is_fine or not is_graded:
            break
        shift = _fine_shift(n, single)
        if shift > FINE * coarse:
            break
    while True:  # find the classes that are positive in some minimum
        rank = span_open_classes(n_face, single)
        if has_doubtful_rest(n_face, single):
            return False
        n_closed, n_opened = open_dependent_classes(n_face, single)
        if n_opened == 0 and n_closed > 0:
            fill_mixtures(n_closed, rank, single)
            minimise_on_cone(n_closed, single.other_gram, single)
            n_opened = open_mixture(n_closed, single)
        if n_opened < 0:
            return False
        if n_opened == 0:
            break
    while True:  # find the shortest minimum
        n_face = leave_out_closed(n_face, single)
        rank = span_open_classes(n_face, single)
        if rank == n_face:
            return True
        least = project_on_span(n_face, rank, single, p)
        if not is_same(n_face, single.shortest, single, p):
            return False
        if least < -NEGLIGIBLE:
            fill_dual(n_face, rank, single)
            minimise_on_cone(n_face, single.other_gram, single)
            least = read_dual(n_face, single)
        if least >= -NEGLIGIBLE and is_same(n_face, single.candidate, single, p):
            write_candidate(n_face, single, p)
            return True
        go_to_bound(n_face, single, p)


@helper
def _mean_shift(n: int, single: Any) -> float:
    total = 0.0
    for j in range(n):
        total += single.plain_gram[j, j]
    return total / (n * n) if total > 0.0 else 1.0


@helper
def _fine_shift(n: int, single: Any) -> float:
    """Return the smallest squared norm of an open class's column, ignoring zero columns."""
    least = np.inf
    for j in range(n):
        if single.open[j] and single.plain_gram[j, j] > 0.0:
            least = min(least, single.plain_gram[j, j])
    return least


@helper
def _add_shift(n: int, shift: float, single: Any) -> None:
    """Set up the problem on the cone whose solution gives a minimum on the simplex."""
    for j in range(n):
        single.linear[j] = 1.0
        plain, gram = single.plain_gram[j], single.gram[j]
        for b in range(n):
            gram[b] = plain[b] + shift


@helper
def is_stationary(n: int, single: Any, tolerance: float, p: Floats) -> bool:
    """Return whether p is a minimum: the gradient is smallest where p is positive."""
    slopes, mean, size, scale = single.trial, 0.0, 0.0, 0.0
    for j in range(n):
        row, slope = single.plain_gram[j], 0.0
        for b in range(n):
            slope += row[b] * p[b]
        slopes[j] = slope
        mean += slope * p[j]
        size += np.sqrt(row[j]) * p[j]
        # If the columns in the support of p are tiny, the rounding of p matters more.
        scale += np.sqrt(row[j]) * (tolerance * p[j] + ROUNDING)
    for j in range(n):
        rounding = scale * (np.sqrt(single.plain_gram[j, j]) + size)
        if slopes[j] < mean - rounding or (slopes[j] - mean) * p[j] > rounding:
            return False
    return True
