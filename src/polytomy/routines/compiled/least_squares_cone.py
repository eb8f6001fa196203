"""Compiled: the minimum of ½xᵀMx − cᵀx over the cone x ≥ 0, for one sample at a time.

It is found by Lawson and Hanson's active set (1974), class by class, from M, a Gram matrix, and one
Cholesky factor, to which members of the support are appended.

Workspaces have the size of the largest problem; their first n entries are in use.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiling import helper
from polytomy.routines.reference.least_squares import DEPENDENT_BY_GRAM, ROUNDING, UNCHANGED

_SPARSE = 8
"""A row with fewer than one in this many classes is processed class by class, not as a vector."""

_BARELY_INDEPENDENT = 1e-15
"""Replaces DEPENDENT_BY_GRAM for a class whose gradient shows that it is independent."""

_BLOCK, _STRIP = 16, 512
"""Numbers of rows and columns of the factor that are updated at a time."""

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]


class Rows(NamedTuple):
    """A code by rows: the classes and signs of row i are at starts[i] to starts[i + 1]."""

    starts: Indices
    classes: Indices
    signs: Floats
    shared_gram: Floats  # AᵀA of a strict code, otherwise of shape (0, 0)


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
    is_positive: Flags  # (n,), the classes that are positive in the first minimum
    face: Indices  # (n,), the classes that may be positive


@helper
def new_single(n: int) -> Any:
    """Return the workspace for one sample with n classes."""
    matrices, vectors = np.empty((4, n, n)), np.empty((10, n))
    flags, indices = np.empty((3, n), np.bool_), np.empty((2, n), np.intp)
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
    )


@helper
def minimise_on_cone(n: int, gram: Floats, single: Any) -> int:
    """Minimise ½xᵀMx − cᵀx over x ≥ 0 in the first n classes; return the size of the support."""
    x, trial, inside, members = single.x, single.trial, single.inside, single.members
    for j in range(n):
        single.root[j] = np.sqrt(gram[j, j])
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


@helper
def _append_support(n: int, gram: Floats, single: Any) -> int:
    """Factor M on the support, dropping dependent classes; return how many classes remain."""
    n_members = int(np.intp(0))  # see minimise_on_cone
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
def factor_members(k: int, gram: Floats, single: Any, least: float) -> bool:
    """Factor M on the k members; return False if one may depend on those before it.

    A small pivot amplifies the rounding error of later pivots in proportion, so these must be
    larger. Rows are updated in blocks, which read the rows above once, and in strips that stay in
    the processor's cache.
    """
    factor, members = single.factor, single.members
    smallest = 1.0
    for first in range(0, k, _BLOCK):
        last = min(first + _BLOCK, k)
        for a in range(first, last):
            row = gram[members[a]]
            for b in range(a, k):
                factor[a, b] = row[members[b]]
        for start in range(first, k, _STRIP):
            end = min(start + _STRIP, k)
            for t in range(first):
                above = factor[t, start:end]
                for a in range(first, last):
                    value, target = factor[t, a], factor[a, start:end]
                    for b in range(len(target)):
                        target[b] -= value * above[b]
        for a in range(first, last):
            pivot = factor[a, a] / gram[members[a], members[a]]
            if not pivot * smallest > least:
                return False
            smallest = min(smallest, pivot)
            root = np.sqrt(factor[a, a])
            own = factor[a, a:k]
            for b in range(len(own)):
                own[b] /= root
            for c in range(a + 1, last):
                value, source, target = factor[a, c], factor[a, c:k], factor[c, c:k]
                for b in range(len(target)):
                    target[b] -= value * source[b]
    return True


@helper
def append_member(new: int, k: int, gram: Floats, single: Any, least: float) -> bool:
    """Make class `new` member k of the support; return False if it depends on the others."""
    factor, column = single.factor, single.column
    for a in range(k):
        column[a] = gram[new, single.members[a]]
    pivot = gram[new, new]
    for a in range(k):
        column[a] /= factor[a, a]
        value = column[a]
        pivot -= value * value
        # Loops from zero over slices are vectorised; loops from a + 1 are not.
        row, rest = factor[a, a + 1 : k], column[a + 1 : k]
        for b in range(len(rest)):
            rest[b] -= row[b] * value
    if not pivot > least * gram[new, new]:
        return False
    for a in range(k):
        factor[a, k] = column[a]
    factor[k, k] = np.sqrt(pivot)
    single.members[k] = new
    return True


@helper
def solve_support(k: int, single: Any, solution: Floats) -> None:
    """Solve M x = c on the support of k members; other entries of `solution` do not change."""
    factor, members, y = single.factor, single.members, single.column
    for a in range(k):
        y[a] = single.linear[members[a]]
    for a in range(k):
        y[a] /= factor[a, a]
        value = y[a]
        row, rest = factor[a, a + 1 : k], y[a + 1 : k]
        for b in range(len(rest)):
            rest[b] -= row[b] * value
    for a in range(k - 1, -1, -1):
        row = factor[a]
        value = y[a]
        for b in range(a + 1, k):
            value -= row[b] * y[b]
        y[a] = value / row[a]
    for a in range(k):
        solution[members[a]] = y[a]


@helper
def fill_single(r: Floats, rows: Any, single: Any) -> bool:
    """Set the Gram matrix QᵀQ; return whether small entries are as accurate as large ones."""
    gram, n_partitions, n = single.plain_gram, r.shape[0], single.plain_gram.shape[0]
    if rows.shared_gram.shape[0] > 0 and not has_gaps(r):
        products = single.trial
        for j in range(n):
            products[j] = 0.0
        square = 0.0
        for i in range(n_partitions):
            square += r[i] * r[i]
            for j in range(n):
                products[j] += r[i] * rows.signs[i * n + j]
        for j in range(n):
            for k in range(n):
                gram[j, k] = rows.shared_gram[j, k] + (square - products[j] - products[k])
        return False
    q = single.trial
    for j in range(n):
        q[j] = 0.0
        for k in range(n):
            gram[j, k] = 0.0
    for i in range(n_partitions):
        if r[i] != r[i]:
            continue
        first, last = rows.starts[i], rows.starts[i + 1]
        for u in range(first, last):
            q[rows.classes[u]] = rows.signs[u] - r[i]
        for u in range(first, last):
            j = rows.classes[u]
            if _SPARSE * (last - first) < n:
                for v in range(u, last):
                    gram[j, rows.classes[v]] += q[j] * q[rows.classes[v]]
            else:
                target, source, value = gram[j, j:], q[j:], q[j]
                for b in range(len(target)):
                    target[b] += value * source[b]
        for u in range(first, last):
            q[rows.classes[u]] = 0.0
    for j in range(n):
        for k in range(j):
            gram[j, k] = gram[k, j]
    return True


@helper
def has_gaps(r: Floats) -> bool:
    """Return whether a binary gave no answer."""
    n_gaps = 0
    for i in range(len(r)):
        n_gaps += r[i] != r[i]
    return n_gaps > 0
