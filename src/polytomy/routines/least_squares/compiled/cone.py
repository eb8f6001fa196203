"""Compiled: the minimum of ½xᵀMx − cᵀx over the cone x ≥ 0, for one sample at a time.

Block pivoting (Júdice and Pires 1994) finds the support in a few steps: solve on a guess, then move
every class with the wrong sign into or out of the support. If that does not end, or encounters
dependent classes, Lawson and Hanson's active set (1974) takes over, class by class. Both use M, a
Gram matrix, and one Cholesky factor, to which members of the support are appended.

Workspaces have the size of the largest problem; their first n entries are in use.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.least_squares.compiled.factor import (
    append_member,
    factor_members,
    solve_support,
)
from polytomy.routines.least_squares.tolerances import DEPENDENT_BY_GRAM, ROUNDING, UNCHANGED
from polytomy.routines.runtime.compiling import helper

__all__ = [
    "Single",
    "minimise_on_cone",
    "new_single",
    "scale_of_gradient",
]

_BARELY_INDEPENDENT = 1e-15
"""Replaces DEPENDENT_BY_GRAM for a class whose gradient shows that it is independent."""

_SWEEPS = 6
_EXCHANGES = 20

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]


class Single(NamedTuple):
    """Workspace of one sample."""

    plain_gram: Floats  # (n, n), QᵀQ
    gram: Floats  # (n, n), QᵀQ + shift·11ᵀ
    # A problem on the cone.
    factor: Floats  # (n, n), upper triangle, in the order of `members`
    linear: Floats  # (n,), the vector c
    x: Floats  # (n,)
    trial: Floats  # (n,)
    gradient: Floats  # (n,), Mx − c
    root: Floats  # (n,), of the diagonal of M: each class's scale
    column: Floats  # (n,)
    inside: Flags  # (n,), the support
    barred: Flags  # (n,)
    members: Indices  # (n,), the support in the order of the factor
    # The rest is only for degenerate samples.
    other_gram: Floats  # (n, n)
    unit: Floats  # (n,), `root` of the first problem
    rest: Floats  # (n,)
    shortest: Floats  # (n,)
    candidate: Floats  # (n,)
    open: Flags  # (n,), the classes known to be positive in some minimum
    face: Indices  # (n,), the classes that may be positive
    closed: Indices  # (n,)


@helper
def new_single(n: int) -> Any:
    """Return the workspace for one sample with n classes."""
    matrices, vectors = np.empty((4, n, n)), np.empty((10, n))
    flags, indices = np.empty((3, n), np.bool_), np.empty((3, n), np.intp)
    return Single(
        matrices[0],
        matrices[1],
        matrices[2],
        vectors[0],
        vectors[1],
        vectors[2],
        vectors[3],
        vectors[4],
        vectors[5],
        flags[0],
        flags[1],
        indices[0],
        matrices[3],
        vectors[6],
        vectors[7],
        vectors[8],
        vectors[9],
        flags[2],
        indices[1],
        indices[2],
    )


@helper
def minimise_on_cone(n: int, gram: Floats, single: Any) -> int:
    """Minimise ½xᵀMx − cᵀx over x ≥ 0 in the first n classes; return the size of the support."""
    _guess_support(n, gram, single)
    for _ in range(_EXCHANGES):
        n_members = _list_members(n, single)
        if not factor_members(n_members, gram, single, DEPENDENT_BY_GRAM):
            break
        for j in range(n):
            single.x[j] = 0.0
        solve_support(n_members, single, single.x)
        _take_gradient(n, n_members, gram, single)
        if _exchange(n, single) == 0:
            return n_members
    return _search_active_set(n, gram, single)


@helper
def _guess_support(n: int, gram: Floats, single: Any) -> None:
    """Set the support from a few sweeps of projected coordinate descent."""
    x, gradient, linear = single.x, single.gradient, single.linear
    for j in range(n):
        single.root[j] = np.sqrt(gram[j, j])
        x[j] = max(linear[j], 0.0) / gram[j, j] if gram[j, j] > 0.0 else 0.0
    for j in range(n):
        row, product = gram[j], 0.0
        for b in range(n):
            product += row[b] * x[b]
        gradient[j] = product
    # Start from the best multiple of the positive part of c, divided by the diagonal.
    total, square = 0.0, 0.0
    for j in range(n):
        total += linear[j] * x[j]
        square += gradient[j] * x[j]
    step = total / square if square > 0.0 else 0.0
    for j in range(n):
        x[j] *= step
        gradient[j] = step * gradient[j] - linear[j]
    for _ in range(_SWEEPS):
        for j in range(n):
            step = max(-gradient[j] / gram[j, j], -x[j]) if gram[j, j] > 0.0 else 0.0
            if step != 0.0:
                x[j] += step
                row = gram[j]
                for b in range(n):
                    gradient[b] += step * row[b]
    for j in range(n):
        single.inside[j] = x[j] > 0.0


@helper
def _list_members(n: int, single: Any) -> int:
    """List the classes of the support; return their number."""
    n_members = int(np.intp(0))  # see _search_active_set
    for j in range(n):
        if single.inside[j]:
            single.members[n_members] = j
            n_members += 1
    return n_members


@helper
def _append_support(n: int, gram: Floats, single: Any) -> int:
    """Factor M on the support, dropping dependent classes; return how many classes remain."""
    n_members = int(np.intp(0))  # see _search_active_set
    for j in range(n):
        if single.inside[j]:
            if append_member(j, n_members, gram, single, _BARELY_INDEPENDENT):
                n_members += 1
            else:
                single.inside[j] = False
                single.x[j] = 0.0
    return n_members


@helper
def _take_gradient(n: int, n_members: int, gram: Floats, single: Any) -> None:
    gradient = single.gradient
    for j in range(n):
        gradient[j] = -single.linear[j]
    for a in range(n_members):
        j = single.members[a]
        row = gram[j]
        value = single.x[j]
        for b in range(n):
            gradient[b] += value * row[b]


@helper
def scale_of_gradient(n: int, single: Any) -> float:
    """Return the sum of the absolute terms of a gradient, in units of `root`."""
    scale = 0.0
    for j in range(n):
        scale += single.root[j] * abs(single.x[j])
    return scale


@helper
def _exchange(n: int, single: Any) -> int:
    """Move every class with the wrong sign into or out of the support; return how many moved."""
    scale = scale_of_gradient(n, single)
    n_wrong = 0
    for j in range(n):
        if single.inside[j]:
            is_wrong = single.x[j] * single.root[j] < -ROUNDING * scale
        else:
            is_wrong = single.gradient[j] < -ROUNDING * (
                single.root[j] * scale + abs(single.linear[j])
            )
        if is_wrong:
            single.inside[j] = not single.inside[j]
            n_wrong += 1
    return n_wrong


@helper
def _search_active_set(n: int, gram: Floats, single: Any) -> int:
    """Minimise over the cone by Lawson and Hanson's active set (1974), class by class from zero."""
    x, trial, inside, members = single.x, single.trial, single.inside, single.members
    for j in range(n):
        x[j] = 0.0
        inside[j] = False
        single.barred[j] = False
    # Not the literal 0, which has a different type: Numba would compile the callees twice.
    k = int(np.intp(0))
    _take_gradient(n, k, gram, single)
    # Every change lowers the objective, so this ends; the limit is a safeguard against rounding.
    for _ in range(10 * n + 10):
        new, is_rounding = _find_entering_class(n, single)
        if new < 0:
            break
        # If the class turns out to be dependent, or to lead uphill, it was chosen only because of
        # rounding: it may not enter again until something else has changed.
        single.barred[new] = True
        if not append_member(
            new, k, gram, single, DEPENDENT_BY_GRAM if is_rounding else _BARELY_INDEPENDENT
        ):
            continue
        solve_support(k + 1, single, trial)
        if trial[new] <= 0.0:
            continue
        inside[new] = True
        k += 1
        while True:
            blocking, step = -1, 1.0
            for a in range(k):
                j = members[a]
                if trial[j] <= 0.0 and x[j] / (x[j] - trial[j]) < step:
                    blocking, step = j, x[j] / (x[j] - trial[j])
            if blocking < 0:
                break
            for a in range(k):
                j = members[a]
                x[j] += step * (trial[j] - x[j])
                if j == blocking or x[j] <= 0.0:
                    x[j] = 0.0
                    inside[j] = False
            k = _append_support(n, gram, single)
            solve_support(k, single, trial)
        for a in range(k):
            x[members[a]] = trial[members[a]]
        for j in range(n):
            single.barred[j] = False
        _take_gradient(n, k, gram, single)
    return k


@helper
def _find_entering_class(n: int, single: Any) -> tuple[int, bool]:
    """Return the entering class, or -1, and whether its gradient may be rounding."""
    scale = scale_of_gradient(n, single)
    best, steepest, is_rounding = -1, 0.0, True
    for j in range(n):
        if single.inside[j] or single.barred[j]:
            continue
        slope = single.gradient[j] / (single.root[j] * scale + abs(single.linear[j]))
        if slope < min(steepest, -ROUNDING):
            best, steepest, is_rounding = j, slope, slope >= -UNCHANGED
    return best, is_rounding
