"""Compiled: the minimum of ½xᵀMx − 1ᵀx over x ≥ 0, for many samples side by side.

The sample, or *lane*, is the last index of every array, so each arithmetic step is one vector
operation over all lanes, whatever their supports are. Supports are found by block pivoting (Júdice
and Pires 1994): solve on the guess, then move every class with the wrong sign into or out of the
support. Samples that are not settled after a few steps are reported.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiling import helper
from polytomy.routines.reference.least_squares import (
    ACCURATE_BY_GRAM,
    DEPENDENT_BY_GRAM,
    FACE,
    ROUNDING,
)

_SWEEPS = 8

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Rows(NamedTuple):
    """A code by rows: the classes and signs of row i are at starts[i] to starts[i + 1]."""

    starts: Indices
    classes: Indices
    signs: Floats


class Lanes(NamedTuple):
    """Workspace for several samples; the last index of every array is the sample."""

    gram: Floats  # (n, n, lanes), upper triangle
    factor: Floats  # (n, n + 1, lanes), upper triangle, the right-hand side in the last column
    inverse: Floats  # (n, lanes), of the factor's diagonal; zero outside the support
    inside: Floats  # (n, lanes), 1 in the support, 0 elsewhere
    x: Floats  # (n, lanes)
    gradient: Floats  # (n, lanes), Mx − 1, or Mx alone
    root: Floats  # (n, lanes), of the Gram diagonal: each class's scale
    terms: Floats  # (4, lanes)
    settled: NDArray[np.bool_]  # (lanes,)


def count_lanes(n: int) -> int:
    """Return how many samples with n classes to solve side by side; 0 if that is not worthwhile.

    The loop over lanes should be long, and the matrices should fit in the second-level cache.
    """
    n_lanes = min(64, 2**16 // n**2 // 8 * 8)
    return n_lanes if n_lanes >= 16 else 0


@helper
def new_lanes(n: int, n_lanes: int) -> Any:
    """Return the workspace for several samples with n classes."""
    flat = (n, n_lanes)
    return Lanes(
        np.empty((n, n, n_lanes)),
        np.empty((n, n + 1, n_lanes)),
        np.empty(flat),
        np.ones(flat),
        np.empty(flat),
        np.empty(flat),
        np.empty(flat),
        np.empty((4, n_lanes)),
        np.zeros(n_lanes, np.bool_),
    )


@helper
def solve_lanes(lanes: Any) -> None:
    """Solve M x = 1 on each lane's support with Cholesky factors; x is zero elsewhere.

    A class outside the support, or one that depends on those before it, gets a row of zeros. A
    small pivot amplifies the rounding error of later pivots in proportion, so these must be larger.
    """
    gram, factor, inverse, x = lanes.gram, lanes.factor, lanes.inverse, lanes.x
    n, n_lanes = gram.shape[0], gram.shape[2]
    least = lanes.terms[3]  # smallest pivot so far, relative to the diagonal
    for lane in range(n_lanes):
        least[lane] = 1.0
    for a in range(n):
        row = factor[a]
        for b in range(a, n):
            for lane in range(n_lanes):
                row[b, lane] = gram[a, b, lane]
        for lane in range(n_lanes):
            row[n, lane] = 1.0
        t = 0
        while t + 1 < a:  # two rows at a time: half the loads and stores of `row`
            one, two = factor[t], factor[t + 1]
            for b in range(a, n + 1):
                target = row[b]
                for lane in range(n_lanes):
                    target[lane] = (
                        target[lane] - one[a, lane] * one[b, lane] - two[a, lane] * two[b, lane]
                    )
            t += 2
        if t < a:
            one = factor[t]
            for b in range(a, n + 1):
                target = row[b]
                for lane in range(n_lanes):
                    target[lane] = target[lane] - one[a, lane] * one[b, lane]
        for lane in range(n_lanes):
            pivot = row[a, lane] / gram[a, a, lane]
            usable = lanes.inside[a, lane] > 0.0 and pivot * least[lane] > DEPENDENT_BY_GRAM
            inverse[a, lane] = 1.0 / np.sqrt(row[a, lane]) if usable else 0.0
            least[lane] = min(least[lane], pivot) if usable else least[lane]
        for b in range(a, n + 1):
            for lane in range(n_lanes):
                row[b, lane] *= inverse[a, lane]
    for a in range(n - 1, -1, -1):
        row = factor[a]
        for lane in range(n_lanes):
            x[a, lane] = row[n, lane]
        for b in range(a + 1, n):
            for lane in range(n_lanes):
                x[a, lane] -= row[b, lane] * x[b, lane]
        for lane in range(n_lanes):
            x[a, lane] *= inverse[a, lane]


@helper
def settle_lanes(lanes: Any, n_steps: int) -> None:
    """Minimise in every lane; `settled` says where a unique minimum was found."""
    _guess_supports(lanes)
    for _ in range(n_steps):
        solve_lanes(lanes)
        _take_products(lanes)
        if _exchange_in_lanes(lanes) == 0:
            break


@helper
def _guess_supports(lanes: Any) -> None:
    """Set each lane's support from a few sweeps of projected coordinate descent."""
    gram, x, gradient, step = lanes.gram, lanes.x, lanes.gradient, lanes.terms[0]
    n, n_lanes = gram.shape[0], gram.shape[2]
    for j in range(n):
        for lane in range(n_lanes):
            lanes.root[j, lane] = np.sqrt(gram[j, j, lane])
            x[j, lane] = 1.0 / gram[j, j, lane]
    _take_products(lanes)
    # Start from the best multiple of the inverse diagonal.
    total, square = lanes.terms[1], lanes.terms[2]
    for lane in range(n_lanes):
        total[lane] = 0.0
        square[lane] = 0.0
    for j in range(n):
        for lane in range(n_lanes):
            total[lane] += x[j, lane]
            square[lane] += x[j, lane] * gradient[j, lane]
    for j in range(n):
        for lane in range(n_lanes):
            x[j, lane] *= total[lane] / square[lane]
            gradient[j, lane] *= total[lane] / square[lane]
            gradient[j, lane] -= 1.0
    for _ in range(_SWEEPS):
        for j in range(n):
            for lane in range(n_lanes):
                step[lane] = max(-gradient[j, lane] / gram[j, j, lane], -x[j, lane])
                x[j, lane] += step[lane]
            for b in range(n):
                column = gram[min(b, j), max(b, j)]
                target = gradient[b]
                for lane in range(n_lanes):
                    target[lane] += step[lane] * column[lane]
    for j in range(n):
        for lane in range(n_lanes):
            lanes.inside[j, lane] = 1.0 if x[j, lane] > 0.0 else 0.0


@helper
def _take_products(lanes: Any) -> None:
    """Set `gradient` to M x."""
    gram, x, gradient = lanes.gram, lanes.x, lanes.gradient
    n, n_lanes = gram.shape[0], gram.shape[2]
    for j in range(n):
        for lane in range(n_lanes):
            gradient[j, lane] = 0.0
    for j in range(n):
        value = x[j]
        for b in range(n):
            column = gram[min(b, j), max(b, j)]
            target = gradient[b]
            for lane in range(n_lanes):
                target[lane] += value[lane] * column[lane]


@helper
def _exchange_in_lanes(lanes: Any) -> int:
    """Move every class with the wrong sign into or out of the support; return how many moved.

    A lane with a small pivot is not settled: if answers are close to certainty, the shift hides
    most digits of the squares of tiny columns.
    """
    n, n_lanes = lanes.gram.shape[0], lanes.gram.shape[2]
    scales, least = lanes.terms[0], lanes.terms[3]
    for lane in range(n_lanes):
        scales[lane] = 0.0
        lanes.settled[lane] = least[lane] >= ACCURATE_BY_GRAM
    for j in range(n):
        for lane in range(n_lanes):
            scales[lane] += lanes.root[j, lane] * abs(lanes.x[j, lane])
    n_wrong = 0
    for j in range(n):
        for lane in range(n_lanes):
            scale, root = scales[lane], lanes.root[j, lane]
            slope = (lanes.gradient[j, lane] - 1.0) / (root * scale + 1.0)
            if lanes.inside[j, lane] > 0.0:
                is_wrong = lanes.x[j, lane] * root < -ROUNDING * scale
                is_open = lanes.inverse[j, lane] == 0.0
            else:
                is_wrong = slope < -ROUNDING
                is_open = slope < FACE
            if is_wrong:
                lanes.inside[j, lane] = 1.0 - lanes.inside[j, lane]
                n_wrong += 1
            if is_wrong or is_open:
                lanes.settled[lane] = False
    return n_wrong


@helper
def fill_lanes(decisions: Floats, rows: Any, samples: Indices, lanes: Any) -> None:
    """Set each lane's Gram matrix to QᵀQ + shift·11ᵀ."""
    gram, terms = lanes.gram, lanes.terms
    n, n_lanes = gram.shape[0], gram.shape[2]
    for j in range(n):
        for k in range(j, n):
            for lane in range(n_lanes):
                gram[j, k, lane] = 0.0
    less, more, opposite = terms[1], terms[2], terms[3]
    for i in range(decisions.shape[1]):
        for lane in range(n_lanes):
            r = decisions[samples[min(lane, len(samples) - 1)], i]
            answered = r == r
            less[lane] = (1.0 - r) * (1.0 - r) if answered else 0.0
            more[lane] = (1.0 + r) * (1.0 + r) if answered else 0.0
            opposite[lane] = -(1.0 - r) * (1.0 + r) if answered else 0.0
        for u in range(rows.starts[i], rows.starts[i + 1]):
            own = less if rows.signs[u] > 0.0 else more
            for v in range(u, rows.starts[i + 1]):
                target = gram[rows.classes[u], rows.classes[v]]
                source = own if rows.signs[v] == rows.signs[u] else opposite
                for lane in range(n_lanes):
                    target[lane] += source[lane]
    shift = terms[0]
    for lane in range(n_lanes):
        shift[lane] = 0.0
    for j in range(n):
        for lane in range(n_lanes):
            shift[lane] += gram[j, j, lane] / (n * n)
    for lane in range(n_lanes):
        shift[lane] = shift[lane] if shift[lane] > 0.0 else 1.0
    for j in range(n):
        for k in range(j, n):
            target = gram[j, k]
            for lane in range(n_lanes):
                target[lane] += shift[lane]
