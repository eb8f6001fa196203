"""Compiled: the shortest minimum on the simplex, for one sample at a time, degenerate or not.

The reference routines explain what is solved and why; these functions do the same in terms of Gram
matrices, and leave the rare samples that need more to the reference. The *face* is a list of
classes that may be positive in a minimum. Only `minimise_single` calls `minimise_on_cone`, and
calls are nested as little as possible, because each level of calls compiles everything below it
again.

If a code has no more rows than classes and answers are confident, few classes are positive in the
minimum. So it is found within a *working set* of classes; then every class outside whose slope is
too small joins the set, until there is none. Each round lowers the objective, because positive
classes stay. Products with Q are computed from Q itself, so no matrix of all pairs of classes is
needed.

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

from polytomy.routines.compiled.least_squares_cone import minimise_on_cone, scale_of_gradient
from polytomy.routines.compiling import helper
from polytomy.routines.reference.least_squares import (
    DEPENDENT_BY_GRAM,
    FACE,
    FINE,
    NEGLIGIBLE,
    ROUNDING,
    UNCHANGED,
)

_FIRST, _MORE = 8, 16
"""Initial number of classes of a working set, and how many may join in a round."""

_CERTAIN = 1.0 - 1e-15
"""Absolute value from which an answer counts as certain."""

_ROUNDING = 1e-15
"""Rounding error of the squared norm of a unit column, per class."""

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]


@helper
def minimise_single(single: Any, is_graded: bool, p: Floats) -> bool:
    """Set p to the shortest minimum on the simplex, given the plain Gram matrix QᵀQ.

    Among all points with the sum and the gradient of a minimum, whatever their signs, the shortest
    one is its projection on the span of the rows of the Gram matrix on the face. If that has no
    negative entry, it is the result; otherwise the shortest one without negative entries is.

    Return False if the matrix is not accurate enough for that.
    """
    n = len(p)
    coarse = _mean_shift(n, single)
    shift = coarse
    while True:  # find a minimum, with a finer shift if that helps
        _add_shift(n, shift, single)
        n_members = minimise_on_cone(n, single.gram, single)
        write_normalised(single.x, p)
        n_face = _list_face(n, single)
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
    rank = _span_face(n_face, single)
    if _has_doubtful_rest(n_face, single):
        return False
    if rank == n_face:
        return True
    least = _project_on_span(n_face, rank, single, p)
    if not _is_same(n_face, single.shortest, single, p):
        return False
    if least < -NEGLIGIBLE:
        _fill_dual(n_face, rank, single)
        minimise_on_cone(n_face, single.other_gram, single)
        least = _read_dual(n_face, single)
    if least < -NEGLIGIBLE or not _is_same(n_face, single.candidate, single, p):
        return False
    _write_candidate(n_face, single, p)
    return True


@helper
def _mean_shift(n: int, single: Any) -> float:
    total = 0.0
    for j in range(n):
        total += single.plain_gram[j, j]
    return total / (n * n) if total > 0.0 else 1.0


@helper
def _fine_shift(n: int, single: Any) -> float:
    """Return the smallest squared norm of the column of a positive class, ignoring zero columns."""
    least = np.inf
    for j in range(n):
        if single.is_positive[j] and single.plain_gram[j, j] > 0.0:
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


@helper
def _list_face(n: int, single: Any) -> int:
    """List the classes whose gradient is zero, and mark those that are positive."""
    scale = scale_of_gradient(n, single)
    n_face = 0
    for j in range(n):
        single.unit[j] = single.root[j]
        single.is_positive[j] = single.x[j] * single.root[j] > ROUNDING * scale
        if single.inside[j] or single.gradient[j] <= FACE * (single.root[j] * scale + 1.0):
            single.face[n_face] = j
            n_face += 1
    return n_face


@helper
def _span_face(n_face: int, single: Any) -> int:
    """Eliminate the classes of the face from their Gram matrix; return the rank.

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
            if not single.barred[b] and rest[b] > largest:
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
def _has_doubtful_rest(n_face: int, single: Any) -> bool:
    """Return whether a remaining diagonal entry is small, but larger than rounding can explain."""
    for b in range(n_face):
        if _ROUNDING * n_face < single.rest[b] <= DEPENDENT_BY_GRAM and not single.barred[b]:
            return True
    return False


@helper
def _project_on_span(n_face: int, rank: int, single: Any, p: Floats) -> float:
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
def _fill_dual(n_face: int, rank: int, single: Any) -> None:
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
def _read_dual(n_face: int, single: Any) -> float:
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
def _is_same(n_face: int, other: Floats, single: Any, p: Floats) -> bool:
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
def _write_candidate(n_face: int, single: Any, p: Floats) -> None:
    """Set p to the candidate, with negative entries caused by rounding set to zero."""
    total = 0.0
    for b in range(n_face):
        total += max(single.candidate[b], 0.0)
    for j in range(len(p)):
        p[j] = 0.0
    for b in range(n_face):
        p[single.face[b]] = max(single.candidate[b], 0.0) / total


@helper
def write_normalised(x: Floats, p: Floats) -> None:
    """Set p to the positive part of x, divided by its sum."""
    total = 0.0
    for j in range(len(p)):
        p[j] = max(x[j], 0.0)
        total += p[j]
    for j in range(len(p)):
        p[j] /= total


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
