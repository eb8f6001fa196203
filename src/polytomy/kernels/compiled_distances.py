"""Compiled twin of :mod:`polytomy.kernels.reference_distances`.

max_a min_b |a − b| is found without most of the distances: a point a cannot raise the maximum once
one b is as near to it as the maximum so far, and the rest of the b's need not be looked at (Taha
and Hanbury 2015). Three habits make that happen early. The points farthest from the mean of their
own set come first as a, and last as b. A b that has ended a search moves forward in the order in
which the b's are tried, three quarters of its way. And the second direction starts from the maximum
of the first. A point whose way over the mean of its own set to some b is short enough is not looked
at in the first place. All distances are sums of squared differences, so nothing cancels.
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
_SAFE = 1 + 1e-9  # far more than rounding adds to the sum of two distances


def hausdorff_matrix(rows: NDArray[np.float64], starts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the Euclidean Hausdorff distances of sets of points."""
    n_sets = len(starts) - 1
    order, radii = np.empty(len(rows), np.intp), np.empty(len(rows))
    means = np.zeros((n_sets, rows.shape[1]))
    least = _least(len(rows), n_sets)
    run_in_blocks(_order_sets, n_sets, rows, starts, means, order, radii, least=least)
    points = np.concatenate([rows[order], means])
    matrix = np.zeros((n_sets, n_sets))
    pairs = np.array(np.tril_indices(n_sets, -1))
    # Blocks are taken from the end: large pairs first, so that no thread is left with one.
    sizes = np.diff(starts)[pairs].sum(axis=0)
    pairs = np.ascontiguousarray(pairs[:, np.argsort(sizes, kind="stable")])
    least = _least(int(sizes.sum()), len(sizes))
    run_in_blocks(_fill_pairs, len(sizes), points, starts, radii, pairs, matrix, least=least)
    return matrix


def _least(n_points: int, n_parts: int) -> int:
    return max(1, _LEAST_POINTS * n_parts // max(1, n_points))


@helper
def _order_sets(
    rows: NDArray[np.float64],
    starts: NDArray[np.intp],
    means: NDArray[np.float64],
    order: NDArray[np.intp],
    radii: NDArray[np.float64],
    first: int,
    last: int,
) -> None:
    """Set the means of some sets, the order of points by distance from them, and the distances."""
    n_features = rows.shape[1]
    for part in range(first, last):
        start, end = starts[part], starts[part + 1]
        for i in range(start, end):
            for k in range(n_features):
                means[part, k] += rows[i, k] / (end - start)
        distances = np.zeros(end - start)
        for i in range(start, end):
            for k in range(n_features):
                distances[i - start] += (rows[i, k] - means[part, k]) ** 2
        distances = np.sqrt(distances)
        # A rough order will do: points are counted into shells, and the shells put one by one.
        largest = distances.max()
        shells = np.zeros(end - start, np.intp)
        ends = np.zeros(_SHELLS + 1, np.intp)
        for i in range(end - start):
            if largest > 0:
                shells[i] = int(distances[i] / largest * (_SHELLS - 1))
            ends[shells[i] + 1] += 1
        for shell in range(_SHELLS):
            ends[shell + 1] += ends[shell]
        for i in range(end - start):
            order[start + ends[shells[i]]] = start + i
            radii[start + ends[shells[i]]] = distances[i]
            ends[shells[i]] += 1


@helper
def _fill_pairs(
    points: NDArray[np.float64],
    starts: NDArray[np.intp],
    radii: NDArray[np.float64],
    pairs: NDArray[np.intp],
    matrix: NDArray[np.float64],
    first: int,
    last: int,
) -> None:
    """Set the entries of some pairs of sets."""
    for pair in range(first, last):
        i, j = pairs[0, pair], pairs[1, pair]
        square = _directed(points, starts, radii, i, j, -1.0)
        square = _directed(points, starts, radii, j, i, square)
        matrix[i, j] = matrix[j, i] = np.sqrt(square)


@fusing_helper
def _directed(
    points: NDArray[np.float64],
    starts: NDArray[np.intp],
    radii: NDArray[np.float64],
    i: int,
    j: int,
    farthest: float,
) -> float:
    """Return the largest squared distance of a point of set i to its nearest of set j.

    `farthest` if that is larger. The means of the sets stand after all their points.
    """
    tries = np.arange(starts[j], starts[j + 1])
    from_mean = np.sqrt(_square_distance(points, starts[-1] + i, tries[0]))
    for a in range(starts[i + 1] - 1, starts[i] - 1, -1):
        over_mean = (radii[a] + from_mean) * _SAFE
        if over_mean * over_mean <= farthest:
            continue
        nearest = np.inf
        for place in range(len(tries)):
            b = tries[place]
            nearest = min(nearest, _square_distance(points, a, b))
            if nearest <= farthest:
                forward = place // 4
                tries[place] = tries[forward]
                tries[forward] = b
                break
        farthest = max(farthest, nearest)
    return farthest


@fusing_helper
def _square_distance(points: NDArray[np.float64], a: int, b: int) -> float:
    """Return |a − b|², in four sums that the processor works on at the same time."""
    n_features = points.shape[1]
    sum_0 = sum_1 = sum_2 = sum_3 = 0.0
    whole = n_features - n_features % 4
    for k in range(0, whole, 4):
        sum_0 += (points[a, k] - points[b, k]) ** 2
        sum_1 += (points[a, k + 1] - points[b, k + 1]) ** 2
        sum_2 += (points[a, k + 2] - points[b, k + 2]) ** 2
        sum_3 += (points[a, k + 3] - points[b, k + 3]) ** 2
    for k in range(whole, n_features):
        sum_0 += (points[a, k] - points[b, k]) ** 2
    return (sum_0 + sum_1) + (sum_2 + sum_3)
