"""Compiled twin of :mod:`polytomy.routines.reference.distances`.

max_a min_b |a − b| does not need most of the distances: once some b is as close to a as the maximum
so far, a cannot raise the maximum, and the search for its nearest b ends (Taha and Hanbury 2015).
Four rules make searches end early. Points far from the mean of their own set come first as a, and
last as b. The points b that ended recent searches are tried first. The second direction starts from
the maximum of the first. And a point a is skipped if its path through the mean of its own set to
some b is short enough.

Points are stored in blocks of eight, features before points, so that computing the distances to a
whole block is hardly slower than one distance. All are sums of squared differences, so nothing
cancels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiling import entry, fused_helper
from polytomy.routines.threads import run_in_blocks

__all__ = ["hausdorff_matrix"]

_COST_OF_POINT = 250.0  # approximate nanoseconds for each point of a set or a pair of sets
_LANES = 8  # points per block, unrolled in `_nearest_of_block`
_LATEST = 2  # blocks of points that ended recent searches
_SHELLS = 256
_ROUNDING_FACTOR = 1 + 1e-9  # far more than rounding can add to the sum of two distances


def hausdorff_matrix(rows: NDArray[np.float64], starts: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the Euclidean Hausdorff distances between sets of points."""
    n_sets, sizes = len(starts) - 1, np.diff(starts)
    bounds = np.concatenate([[0], np.cumsum(-(-sizes // _LANES))]).astype(np.intp)
    blocks = np.empty((bounds[-1], rows.shape[1], _LANES))
    means, radii = np.zeros((n_sets, rows.shape[1])), np.empty(len(rows))
    cost = _COST_OF_POINT * len(rows) / n_sets
    run_in_blocks(_order_sets, n_sets, rows, starts, bounds, means, blocks, radii, cost=cost)
    matrix = np.zeros((n_sets, n_sets))
    pairs = np.array(np.tril_indices(n_sets, -1))
    # Largest pairs first, so that no thread ends with a large one.
    n_points = sizes[pairs].sum(axis=0)
    pairs = np.ascontiguousarray(pairs[:, np.argsort(-n_points, kind="stable")])
    cost = _COST_OF_POINT * float(n_points.sum()) / max(1, len(n_points))
    run_in_blocks(
        _fill_pairs, len(n_points), blocks, bounds, starts, means, radii, pairs, matrix, cost=cost
    )
    return matrix


@entry
def _order_sets(
    rows: NDArray[np.float64],
    starts: NDArray[np.intp],
    bounds: NDArray[np.intp],
    means: NDArray[np.float64],
    blocks: NDArray[np.float64],
    radii: NDArray[np.float64],
    first: int,
    last: int,
    stop: NDArray[np.int64],
) -> None:
    """Set the means of some sets, and their points and radii in order of distance from the mean."""
    n_features = rows.shape[1]
    for part in range(first, last):
        if stop[0] != 0:
            return
        start, end = starts[part], starts[part + 1]
        for i in range(start, end):
            for k in range(n_features):
                means[part, k] += rows[i, k] / (end - start)
        distances, largest = np.empty(end - start), 0.0
        for i in range(start, end):
            square = 0.0
            for k in range(n_features):
                square += (rows[i, k] - means[part, k]) ** 2
            distances[i - start] = np.sqrt(square)
            largest = max(largest, distances[i - start])
        # A rough order is enough: points are sorted into shells by counting.
        shells = np.zeros(end - start, np.intp)
        ends = np.zeros(_SHELLS + 1, np.intp)
        for i in range(end - start):
            if largest > 0:
                shells[i] = int(distances[i] / largest * (_SHELLS - 1))
            ends[shells[i] + 1] += 1
        for shell in range(_SHELLS):
            ends[shell + 1] += ends[shell]
        for i in range(end - start):
            place = ends[shells[i]]
            ends[shells[i]] += 1
            radii[start + place] = distances[i]
            for k in range(n_features):
                blocks[bounds[part] + place // _LANES, k, place % _LANES] = rows[start + i, k]
        # The last block is padded with copies of its first point, which changes no distance.
        final = bounds[part + 1] - 1
        for lane in range((end - start - 1) % _LANES + 1, _LANES):
            for k in range(n_features):
                blocks[final, k, lane] = blocks[final, k, 0]


@entry
def _fill_pairs(
    blocks: NDArray[np.float64],
    bounds: NDArray[np.intp],
    starts: NDArray[np.intp],
    means: NDArray[np.float64],
    radii: NDArray[np.float64],
    pairs: NDArray[np.intp],
    matrix: NDArray[np.float64],
    first: int,
    last: int,
    stop: NDArray[np.int64],
) -> None:
    """Set the entries of some pairs of sets."""
    for pair in range(first, last):
        i, j = pairs[0, pair], pairs[1, pair]
        square = _directed(blocks, bounds, starts, means, radii, i, j, -1.0, stop)
        square = _directed(blocks, bounds, starts, means, radii, j, i, square, stop)
        matrix[i, j] = matrix[j, i] = np.sqrt(square)


@fused_helper
def _directed(
    blocks: NDArray[np.float64],
    bounds: NDArray[np.intp],
    starts: NDArray[np.intp],
    means: NDArray[np.float64],
    radii: NDArray[np.float64],
    i: int,
    j: int,
    farthest: float,
    stop: NDArray[np.int64],
) -> float:
    """Return the largest squared distance from a point of set i to its nearest point of set j.

    The result is at least `farthest`.
    """
    n_features = means.shape[1]
    a, squares, n_kept = np.empty(n_features), np.empty(_LANES), 0
    latest = np.empty((_LATEST, n_features, _LANES))
    for k in range(n_features):
        a[k] = means[i, k]
        for block in range(_LATEST):
            near = min(bounds[j] + block, bounds[j + 1] - 1)
            for lane in range(_LANES):
                latest[block, k, lane] = blocks[near, k, lane]
    _nearest_of_block(a, blocks, bounds[j], squares)
    from_mean = np.sqrt(squares[0])
    for number in range(starts[i + 1] - starts[i] - 1, -1, -1):
        if stop[0] != 0:
            break
        over_mean = (radii[starts[i] + number] + from_mean) * _ROUNDING_FACTOR
        if over_mean * over_mean <= farthest:
            continue
        for k in range(len(a)):
            a[k] = blocks[bounds[i] + number // _LANES, k, number % _LANES]
        nearest = np.inf
        for block in range(_LATEST):
            nearest = min(nearest, _nearest_of_block(a, latest, block, squares))
            if nearest <= farthest:
                break
        if nearest <= farthest:
            continue
        for block in range(bounds[j], bounds[j + 1]):
            nearest = min(nearest, _nearest_of_block(a, blocks, block, squares))
            if nearest <= farthest:
                place, lane = n_kept % (_LATEST * _LANES), 0
                for other in range(1, _LANES):
                    lane = other if squares[other] < squares[lane] else lane
                for k in range(len(a)):
                    latest[place // _LANES, k, place % _LANES] = blocks[block, k, lane]
                n_kept += 1
                break
        farthest = max(farthest, nearest)
    return farthest


@fused_helper
def _nearest_of_block(
    a: NDArray[np.float64],
    blocks: NDArray[np.float64],
    block: int,
    squares: NDArray[np.float64],
) -> float:
    """Set |a − b|² for the eight points b of a block, and return the smallest.

    The eight sums are unrolled, so that they stay in registers.
    """
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    for k in range(len(a)):
        x = a[k]
        d0 = blocks[block, k, 0] - x
        d1 = blocks[block, k, 1] - x
        d2 = blocks[block, k, 2] - x
        d3 = blocks[block, k, 3] - x
        d4 = blocks[block, k, 4] - x
        d5 = blocks[block, k, 5] - x
        d6 = blocks[block, k, 6] - x
        d7 = blocks[block, k, 7] - x
        s0 += d0 * d0
        s1 += d1 * d1
        s2 += d2 * d2
        s3 += d3 * d3
        s4 += d4 * d4
        s5 += d5 * d5
        s6 += d6 * d6
        s7 += d7 * d7
    squares[0], squares[1], squares[2], squares[3] = s0, s1, s2, s3
    squares[4], squares[5], squares[6], squares[7] = s4, s5, s6, s7
    return min(min(min(s0, s1), min(s2, s3)), min(min(s4, s5), min(s6, s7)))
