"""Compiled twin of :mod:`polytomy.kernels.reference_distances`.

max_a min_b |a − b| is found without most of the distances: a point a cannot raise the maximum once
one b is as near to it as the maximum so far, and the rest of the b's need not be looked at (Taha
and Hanbury 2015). Three habits make that happen early. The points farthest from the mean of their
own set come first as a, and last as b. A b that has ended a search moves forward in the order in
which the b's are tried, three quarters of its way. And the second direction starts from the maximum
of the first. All distances are sums of squared differences, so nothing cancels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polytomy.kernels.compiled_kernel_values import fusing_helper
from polytomy.kernels.compiling import helper
from polytomy.kernels.threads import run_in_blocks

__all__ = ["hausdorff_matrix"]

_LEAST_POINTS = 4096  # worth a block of their own
_SHELLS = 256


def hausdorff_matrix(rows: NDArray[np.float64], starts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the Euclidean Hausdorff distances of sets of points."""
    n_sets = len(starts) - 1
    order = np.empty(len(rows), np.intp)
    run_in_blocks(_order_sets, n_sets, rows, starts, order, least=_least(len(rows), n_sets))
    rows = rows[order]
    matrix = np.zeros((n_sets, n_sets))
    pairs = np.array(np.tril_indices(n_sets, -1))
    # Large pairs first, so that no thread is left with one at the end.
    sizes = np.diff(starts)[pairs].sum(axis=0)
    pairs = np.ascontiguousarray(pairs[:, np.argsort(sizes, kind="stable")])
    least = _least(int(sizes.sum()), len(sizes))
    run_in_blocks(_fill_pairs, len(sizes), rows, starts, pairs, matrix, least=least)
    return matrix


def _least(n_points: int, n_parts: int) -> int:
    return max(1, _LEAST_POINTS * n_parts // max(1, n_points))


@helper
def _order_sets(
    rows: NDArray[np.float64],
    starts: NDArray[np.intp],
    order: NDArray[np.intp],
    first: int,
    last: int,
) -> None:
    """Order the points of each set by their distance from its mean."""
    n_features = rows.shape[1]
    mean = np.empty(n_features)
    for part in range(first, last):
        start, end = starts[part], starts[part + 1]
        mean[:] = 0.0
        for i in range(start, end):
            for k in range(n_features):
                mean[k] += rows[i, k] / (end - start)
        squares = np.zeros(end - start)
        for i in range(start, end):
            for k in range(n_features):
                squares[i - start] += (rows[i, k] - mean[k]) ** 2
        # A rough order will do: points are counted into shells, and the shells put one by one.
        largest = squares.max()
        shells = np.zeros(end - start, np.intp)
        ends = np.zeros(_SHELLS + 1, np.intp)
        for i in range(end - start):
            if largest > 0:
                shells[i] = int(np.sqrt(squares[i] / largest) * (_SHELLS - 1))
            ends[shells[i] + 1] += 1
        for shell in range(_SHELLS):
            ends[shell + 1] += ends[shell]
        for i in range(end - start):
            order[start + ends[shells[i]]] = start + i
            ends[shells[i]] += 1


@helper
def _fill_pairs(
    rows: NDArray[np.float64],
    starts: NDArray[np.intp],
    pairs: NDArray[np.intp],
    matrix: NDArray[np.float64],
    first: int,
    last: int,
) -> None:
    """Set the entries of some pairs of sets."""
    for pair in range(first, last):
        i, j = pairs[0, pair], pairs[1, pair]
        square = _directed(rows, starts[i], starts[i + 1], starts[j], starts[j + 1], -1.0)
        square = _directed(rows, starts[j], starts[j + 1], starts[i], starts[i + 1], square)
        matrix[i, j] = matrix[j, i] = np.sqrt(square)


@fusing_helper
def _directed(
    rows: NDArray[np.float64], a_start: int, a_end: int, b_start: int, b_end: int, farthest: float
) -> float:
    """Return the largest squared distance of a point of A to its nearest of B, or `farthest`."""
    tries = np.arange(b_start, b_end)
    for a in range(a_end - 1, a_start - 1, -1):
        nearest = np.inf
        for place in range(len(tries)):
            b = tries[place]
            nearest = min(nearest, _square_distance(rows, a, b))
            if nearest <= farthest:
                forward = place // 4
                tries[place] = tries[forward]
                tries[forward] = b
                break
        farthest = max(farthest, nearest)
    return farthest


@fusing_helper
def _square_distance(rows: NDArray[np.float64], a: int, b: int) -> float:
    """Return |a − b|², in four sums that the processor works on at the same time."""
    n_features = rows.shape[1]
    sum_0 = sum_1 = sum_2 = sum_3 = 0.0
    whole = n_features - n_features % 4
    for k in range(0, whole, 4):
        sum_0 += (rows[a, k] - rows[b, k]) ** 2
        sum_1 += (rows[a, k + 1] - rows[b, k + 1]) ** 2
        sum_2 += (rows[a, k + 2] - rows[b, k + 2]) ** 2
        sum_3 += (rows[a, k + 3] - rows[b, k + 3]) ** 2
    for k in range(whole, n_features):
        sum_0 += (rows[a, k] - rows[b, k]) ** 2
    return (sum_0 + sum_1) + (sum_2 + sum_3)
