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

from polytomy.routines.least_squares.tolerances import FACE, NEGLIGIBLE, ROUNDING, UNCHANGED
from polytomy.routines.runtime.compiling import helper

__all__ = ["Working", "fill_working_set", "new_working", "widen_working_set", "write_working_set"]

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
