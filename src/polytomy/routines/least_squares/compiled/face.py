"""Compiled: the steps from one minimum on the simplex to the shortest one.

The reference routines (`reference/systems.py`) explain what is solved and why; these functions do
the same in terms of Gram matrices. The *face* is a list of classes that may be positive in a
minimum; those that are known to be positive are *open*. `single.py` calls these functions in order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.least_squares.compiled.cone import scale_of_gradient
from polytomy.routines.least_squares.tolerances import DEPENDENT_BY_GRAM, FACE, ROUNDING, UNCHANGED
from polytomy.routines.runtime.compiling import helper

__all__ = [
    "fill_dual",
    "fill_mixtures",
    "go_to_bound",
    "has_doubtful_rest",
    "is_same",
    "leave_out_closed",
    "list_face",
    "open_dependent_classes",
    "open_mixture",
    "project_on_span",
    "read_dual",
    "span_open_classes",
    "write_candidate",
    "write_normalised",
]

_ROUNDING = 1e-15
"""Rounding error of the squared norm of a unit column, per class."""

Floats = NDArray[np.float64]


@helper
def list_face(n: int, single: Any) -> int:
    """List the classes whose gradient is zero, and open those that are positive."""
    scale = scale_of_gradient(n, single)
    n_face = 0
    for j in range(n):
        single.unit[j] = single.root[j]
        single.open[j] = single.x[j] * single.root[j] > ROUNDING * scale
        if single.inside[j] or single.gradient[j] <= FACE * (single.root[j] * scale + 1.0):
            single.face[n_face] = j
            n_face += 1
    return n_face


@helper
def span_open_classes(n_face: int, single: Any) -> int:
    """Eliminate the open classes from the Gram matrix on the face; return the rank.

    The rows of `factor` are then those of the Cholesky factor, largest pivot first, in units of
    `unit`; `rest` is the remaining diagonal.
    """
    rows, face, rest = single.factor, single.face, single.rest
    for b in range(n_face):
        rest[b] = 1.0
        single.barred[b] = False
    for rank in range(n_face):
        pivot, largest = -1, DEPENDENT_BY_GRAM
        for b in range(n_face):
            if single.open[face[b]] and not single.barred[b] and rest[b] > largest:
                pivot, largest = b, rest[b]
        if pivot < 0:
            return rank
        row, own, own_unit = rows[rank], single.gram[face[pivot]], single.unit[face[pivot]]
        for b in range(n_face):
            row[b] = own[face[b]] / (own_unit * single.unit[face[b]])
        for t in range(rank):
            done, value = rows[t], rows[t, pivot]
            for b in range(n_face):
                row[b] -= value * done[b]
        norm = np.sqrt(largest)
        for b in range(n_face):
            # Earlier pivots are zero except for rounding, which `unit` could amplify.
            row[b] = 0.0 if single.barred[b] else row[b] / norm
            rest[b] -= row[b] * row[b]
        single.barred[pivot] = True
    return n_face


@helper
def has_doubtful_rest(n_face: int, single: Any) -> bool:
    """Return whether a remaining diagonal entry is small, but larger than rounding can explain."""
    for b in range(n_face):
        if _ROUNDING * n_face < single.rest[b] <= DEPENDENT_BY_GRAM and not single.barred[b]:
            return True
    return False


@helper
def open_dependent_classes(n_face: int, single: Any) -> tuple[int, int]:
    """Open classes in the span of the open ones; return the numbers of closed and opened."""
    n_closed, n_opened = 0, 0
    for b in range(n_face):
        if not single.open[single.face[b]]:
            if single.rest[b] > DEPENDENT_BY_GRAM:
                single.closed[n_closed] = b
                n_closed += 1
            else:
                single.open[single.face[b]] = True
                n_opened += 1
    return n_closed, n_opened


@helper
def fill_mixtures(n_closed: int, rank: int, single: Any) -> None:
    """Set up the problem for the shortest mixture of the closed columns' parts outside the span."""
    rows, face, rest = single.factor, single.face, single.rest
    for u in range(n_closed):
        b = single.closed[u]
        single.linear[u] = 1.0
        for v in range(n_closed):
            d = single.closed[v]
            product = single.gram[face[b], face[d]] / (single.unit[face[b]] * single.unit[face[d]])
            for t in range(rank):
                product -= rows[t, b] * rows[t, d]
            single.other_gram[u, v] = 1.0 + product / np.sqrt(rest[b] * rest[d])


@helper
def open_mixture(n_closed: int, single: Any) -> int:
    """Open the classes of the shortest mixture if it is zero; return how many, or -1 if in doubt.

    `rest`, the small part of a class outside the span, is a difference of larger numbers, so its
    relative rounding error is large.
    """
    total, least = 0.0, 1.0
    for u in range(n_closed):
        total += max(single.x[u], 0.0)
        if single.x[u] > 0.0:
            least = min(least, single.rest[single.closed[u]])
    square = 1.0 / total - 1.0
    if square > DEPENDENT_BY_GRAM:
        return 0 if square > ROUNDING / least else -1
    n_opened = 0
    for u in range(n_closed):
        if single.x[u] > ROUNDING * total / single.rest[single.closed[u]]:
            single.open[single.face[single.closed[u]]] = True
            n_opened += 1
    return n_opened if n_opened > 0 else -1


@helper
def leave_out_closed(n_face: int, single: Any) -> int:
    """Reduce the face to its open classes; return their number."""
    n_open = 0
    for b in range(n_face):
        if single.open[single.face[b]]:
            single.face[n_open] = single.face[b]
            n_open += 1
    return n_open


@helper
def project_on_span(n_face: int, rank: int, single: Any, p: Floats) -> float:
    """Set the shortest candidate, which may have negative entries; return its smallest entry."""
    rows, face, shortest = single.factor, single.face, single.shortest
    for b in range(n_face):
        shortest[b] = 0.0
    for t in range(rank):
        row = rows[t]
        for b in range(n_face):
            row[b] *= single.unit[face[b]]
        for _ in range(2):  # Gram-Schmidt is accurate if done twice
            for s in range(t):
                product = 0.0
                for b in range(n_face):
                    product += rows[s, b] * row[b]
                for b in range(n_face):
                    row[b] -= product * rows[s, b]
        square, product = 0.0, 0.0
        for b in range(n_face):
            square += row[b] * row[b]
        norm = np.sqrt(square)
        for b in range(n_face):
            row[b] /= norm
            product += row[b] * p[face[b]]
        for b in range(n_face):
            shortest[b] += product * row[b]
    least = 0.0
    for b in range(n_face):
        single.candidate[b] = shortest[b]
        least = min(least, shortest[b])
    return least


@helper
def fill_dual(n_face: int, rank: int, single: Any) -> None:
    """Set up the dual problem of the shortest candidate without negative entries."""
    rows, gram, shortest = single.factor, single.other_gram, single.shortest
    for b in range(n_face):
        row = gram[b]
        for d in range(n_face):
            row[d] = shortest[b] * shortest[d]
        row[b] += 1.0
        for t in range(rank):
            basis, value = rows[t], rows[t, b]
            for d in range(n_face):
                row[d] -= value * basis[d]
        single.linear[b] = -shortest[b]


@helper
def read_dual(n_face: int, single: Any) -> float:
    """Set the candidate from the solution of the dual problem; return its smallest entry."""
    square, least = 1.0, 0.0
    for b in range(n_face):
        square += single.shortest[b] * single.x[b]
    if square < 0.4:
        return -1.0  # because of rounding, the dual has no solution
    for b in range(n_face):
        single.candidate[b] = 0.0 if single.inside[b] else single.gradient[b] / square
        least = min(least, single.candidate[b])
    return least


@helper
def is_same(n_face: int, other: Floats, single: Any, p: Floats) -> bool:
    """Return whether another point of the face has the same sum and gradient as the minimum p."""
    face, scale, total = single.face, 0.0, 0.0
    for b in range(n_face):
        size = max(p[face[b]], abs(other[b]))
        scale += single.unit[face[b]] * (UNCHANGED * size + ROUNDING)
        total += other[b]
    if not abs(total - 1.0) <= UNCHANGED:
        return False
    for j in range(len(p)):
        row, change = single.gram[j], 0.0
        for b in range(n_face):
            change += row[face[b]] * (other[b] - p[face[b]])
        if not abs(change) <= scale * single.unit[j]:
            return False
    return True


@helper
def write_candidate(n_face: int, single: Any, p: Floats) -> None:
    """Set p to the candidate, with negative entries caused by rounding set to zero."""
    total = 0.0
    for b in range(n_face):
        total += max(single.candidate[b], 0.0)
    for j in range(len(p)):
        p[j] = 0.0
    for b in range(n_face):
        p[single.face[b]] = max(single.candidate[b], 0.0) / total


@helper
def go_to_bound(n_face: int, single: Any, p: Floats) -> None:
    """Move p towards the shortest candidate up to the first bound; close the class there."""
    face, shortest = single.face, single.shortest
    blocking, step = 0, 1.0
    for b in range(n_face):
        here = p[face[b]]
        if shortest[b] < 0.0 and here / (here - shortest[b]) <= step:
            blocking, step = b, here / (here - shortest[b])
    for b in range(n_face):
        p[face[b]] += step * (shortest[b] - p[face[b]])
    write_normalised(p, p)
    single.open[face[blocking]] = False


@helper
def write_normalised(x: Floats, p: Floats) -> None:
    """Set p to the positive part of x, divided by its sum."""
    total = 0.0
    for j in range(len(p)):
        p[j] = max(x[j], 0.0)
        total += p[j]
    for j in range(len(p)):
        p[j] /= total
