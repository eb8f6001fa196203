"""Compiled: Cholesky factors of a Gram matrix on the support, for one sample at a time.

The workspace is `cone.Single`: `factor` is an upper triangle whose rows and columns are in the
order of `members`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.runtime.compiling import helper

__all__ = ["append_member", "factor_members", "solve_support"]

_BLOCK, _STRIP = 16, 512
"""Numbers of rows and columns of the factor that are updated at a time."""

Floats = NDArray[np.float64]


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
