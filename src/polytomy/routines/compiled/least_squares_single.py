"""Compiled: least squares with many classes, searching few of them at a time.

If answers are confident, few classes are positive in the minimum. So it is found within a *working
set* of classes, by `single.minimise_single`; then every class outside whose slope is too small
joins the set, until there is none. Each round lowers the objective, because positive classes stay.
Products with Q are computed from Q itself, so no matrix of all pairs of classes is needed.

A class outside the set is in no minimum if its slope is clearly larger than the mean. If answers
are certain (±1), this cannot be seen: the residuals of a class that agrees with all of them are
zero, and so are all slopes. But a row of Q with r = ±1 has entries of one sign, −2r for the classes
that contradict the answer and zero for others. All minima have the same residuals Qp. If they are
zero in the rows of certain answers, no class that contradicts one of them has any mass in any
minimum.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiling import helper
from polytomy.routines.reference.least_squares import (
    DEPENDENT_BY_GRAM,
    FACE,
    FINE,
    NEGLIGIBLE,
    ROUNDING,
    UNCHANGED,
)

__all__ = [
    "Single",
    "Working",
    "append_member",
    "factor_members",
    "fill_dual",
    "fill_mixtures",
    "fill_working_set",
    "go_to_bound",
    "has_doubtful_rest",
    "is_same",
    "is_stationary",
    "leave_out_closed",
    "list_face",
    "minimise_on_cone",
    "minimise_single",
    "new_single",
    "new_working",
    "open_dependent_classes",
    "open_mixture",
    "project_on_span",
    "read_dual",
    "scale_of_gradient",
    "solve_support",
    "span_open_classes",
    "widen_working_set",
    "write_candidate",
    "write_normalised",
    "write_working_set",
]

_FIRST, _MORE = 8, 16
"""Initial number of classes, and how many may join in a round."""

_CERTAIN = 1.0 - 1e-15
"""Absolute value from which an answer counts as certain."""

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]


class Working(NamedTuple):
    """Workspace for one sample: its residuals, and a set of k classes."""

    residuals: Floats  # (n_partitions, n), the matrix Q
    columns: Floats  # (n_partitions, n), the first k are the columns of Q of the set
    fit: Floats  # (n_partitions,), Qp
    norms: Floats  # (n,), of the columns of Q
    n_against: Floats  # (n,), the number of certain answers that each class contradicts
    slopes: Floats  # (n,), QᵀQp
    p: Floats  # (n,), the first k are the probabilities of the set
    classes: Indices  # (n,), the first k are the set
    kept: Indices  # (n,)
    is_inside: Flags  # (n,)


@helper
def new_working(n_partitions: int, n: int) -> Any:
    """Return the workspace for one sample with n classes."""
    matrices, vectors = np.empty((2, n_partitions, n)), np.empty((4, n))
    return Working(
        matrices[0],
        matrices[1],
        np.empty(n_partitions),
        vectors[0],
        vectors[1],
        vectors[2],
        vectors[3],
        np.empty(n, np.intp),
        np.empty(n, np.intp),
        np.empty(n, np.bool_),
    )


@helper
def fill_working_set(r: Floats, rows: Any, working: Any, gram: Floats) -> int:
    """Set up Q, and the Gram matrix of the classes with the smallest residuals; return how many."""
    residuals, norms, n_against = working.residuals, working.norms, working.n_against
    n = len(norms)
    residuals[:] = 0.0
    norms[:] = 0.0
    n_against[:] = 0.0
    for i in range(len(r)):
        if r[i] != r[i]:
            continue
        row = residuals[i]
        for u in range(rows.starts[i], rows.starts[i + 1]):
            row[rows.classes[u]] = rows.signs[u] - r[i]
        for j in range(n):
            norms[j] += row[j] * row[j]
        if abs(r[i]) >= _CERTAIN:
            for u in range(rows.starts[i], rows.starts[i + 1]):
                if rows.signs[u] * r[i] < 0.0:
                    n_against[rows.classes[u]] += 1.0
    for j in range(n):
        norms[j] = np.sqrt(norms[j])
        working.is_inside[j] = False
    k = 0
    for _ in range(min(_FIRST, n)):
        best = -1
        for j in range(n):
            if not working.is_inside[j] and (best < 0 or norms[j] < norms[best]):
                best = j
        _add_class(best, k, working, gram)
        k += 1
    return k


@helper
def widen_working_set(k: int, working: Any, gram: Floats) -> int:
    """Exchange classes of the set whose minimum is `p`; return its new size.

    Return 0 if the minimum of the set is that of all classes, and -1 if too many classes would have
    to join.
    """
    norms, slopes, fit, p = working.norms, working.slopes, working.fit, working.p
    n = len(norms)
    size, scale, against = 0.0, 0.0, 0.0
    for a in range(k):
        j = working.classes[a]
        size += norms[j] * p[a]
        scale += norms[j] * (FACE * p[a] + ROUNDING)
        against += working.n_against[j] * p[a]
    mean = 0.0
    slopes[:] = 0.0
    for i in range(len(fit)):
        own, value = working.columns[i], 0.0
        for a in range(k):
            value += own[a] * p[a]
        fit[i] = value
        mean += value * value
        row = working.residuals[i]
        for j in range(n):
            slopes[j] += value * row[j]
    n_lower, n_equal = 0, 0
    for j in range(n):
        # From here on, the slope is relative: at most 1 in absolute value if it may be the mean.
        slopes[j] -= mean
        rounding = scale * (norms[j] + size)
        slopes[j] = slopes[j] / rounding if rounding > 0.0 else 0.0
        if working.is_inside[j]:
            continue
        if slopes[j] < -1.0:
            n_lower += 1
        elif slopes[j] <= 1.0:
            is_excluded = against <= NEGLIGIBLE and working.n_against[j] > 0.0
            if is_excluded and slopes[j] >= -UNCHANGED / FACE:
                slopes[j] = np.inf
            else:
                n_equal += 1
    if n_lower == 0 and n_equal == 0:
        return 0
    if n_lower == 0 and k + n_equal > n // 2:
        return -1
    if n_lower > 0:
        k = _drop_classes(k, working, gram)
    for _ in range(min(n_lower, _MORE) if n_lower > 0 else n_equal):
        best = -1
        for j in range(n):
            if not working.is_inside[j] and (best < 0 or slopes[j] < slopes[best]):
                best = j
        _add_class(best, k, working, gram)
        k += 1
    return k if 2 * k <= n else -1


@helper
def write_working_set(k: int, working: Any, p: Floats) -> None:
    """Write the probabilities of the set; all others are zero."""
    p[:] = 0.0
    for a in range(k):
        p[working.classes[a]] = working.p[a]


@helper
def _add_class(new: int, k: int, working: Any, gram: Floats) -> None:
    """Append a class to the set, with its row and column of the Gram matrix."""
    working.is_inside[new] = True
    working.classes[k] = new
    own = gram[k, : k + 1]
    own[:] = 0.0
    for i in range(len(working.fit)):
        value = working.residuals[i, new]
        working.columns[i, k] = value
        columns = working.columns[i, : k + 1]
        for a in range(len(own)):
            own[a] += value * columns[a]
    for a in range(k):
        gram[a, k] = own[a]


@helper
def _drop_classes(k: int, working: Any, gram: Floats) -> int:
    """Remove classes that are zero and whose slope is clearly larger; return how many remain."""
    kept, n_kept = working.kept, 0
    for a in range(k):
        j = working.classes[a]
        if working.p[a] == 0.0 and working.slopes[j] > 1.0:
            working.is_inside[j] = False
        else:
            kept[n_kept] = a
            n_kept += 1
    for a in range(n_kept):
        working.classes[a] = working.classes[kept[a]]
        for b in range(n_kept):
            gram[a, b] = gram[kept[a], kept[b]]
    for i in range(len(working.fit)):
        row = working.columns[i]
        for a in range(n_kept):
            row[a] = row[kept[a]]
    return n_kept


# -- Compiled: the minimum on the simplex, for one sample at a time, degenerate or not --


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


# -- Compiled: the minimum of ½xᵀMx − cᵀx over the cone x ≥ 0, for one sample at a time --


_BARELY_INDEPENDENT = 1e-15
"""Replaces DEPENDENT_BY_GRAM for a class whose gradient shows that it is independent."""

_SWEEPS = 6
_EXCHANGES = 20


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


# -- Compiled: Cholesky factors of a Gram matrix on the support, for one sample at a time --


_BLOCK, _STRIP = 16, 512
"""Numbers of rows and columns of the factor that are updated at a time."""


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


# -- Compiled: the steps from one minimum on the simplex to the shortest one --


_ROUNDING = 1e-15
"""Rounding error of the squared norm of a unit column, per class."""


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
