"""Compiled twin of :mod:`polytomy.routines.reference.distances`.

max_a min_b |a − b| does not need most of the distances: once some b is as close to a as the maximum
so far, a cannot raise the maximum, and the search for its nearest b ends (Taha and Hanbury 2015).
Four rules make searches end early. Points far from the mean of their own set come first as a, and
last as b. The blocks of points that ended recent searches are tried first. The second direction
starts from the maximum of the first. And a point a is skipped if its path through the mean of its
own set to some b is short enough.

Points are stored in blocks of eight, features before points, so that computing the distances to a
whole block is hardly slower than one distance. All are sums of squared differences, so nothing
cancels.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiling import entry, fused_helper
from polytomy.routines.threads import run_in_blocks

_COST_OF_POINT = 250.0  # approximate nanoseconds for each point of a pair of sets
_LANES = 8  # points per block, unrolled in `_nearest_of_block`
_LATEST = 4  # number of blocks that ended recent searches
_ROUNDING_FACTOR = 1 + 1e-9  # far more than rounding can add to the sum of two distances

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class _Sets(NamedTuple):
    """Sets of points, each in order of the distance from its mean."""

    starts: Indices  # (n_sets + 1,), set i has the points starts[i] to starts[i + 1]
    bounds: Indices  # (n_sets + 1,), and the blocks bounds[i] to bounds[i + 1]
    blocks: Floats  # (n_blocks, n_features, _LANES)
    means: Floats  # (n_sets, n_features)
    radii: Floats  # (n_points,), distances from the mean


def hausdorff_matrix(rows: Floats, starts: Indices) -> Floats:
    """Return the Euclidean Hausdorff distances between sets of points."""
    n_sets, sizes = len(starts) - 1, np.diff(starts)
    matrix = np.zeros((n_sets, n_sets))
    pairs = np.array(np.tril_indices(n_sets, -1))
    # Largest pairs first, so that no thread ends with a large one.
    n_points = sizes[pairs].sum(axis=0)
    pairs = pairs[:, np.argsort(-n_points, kind="stable")]
    cost = _COST_OF_POINT * float(n_points.sum()) / max(1, len(n_points))
    inputs = _order_sets(rows, starts), pairs
    run_in_blocks(_hausdorff_matrix, len(n_points), *inputs, outputs=[matrix], cost=cost)
    return matrix


def _order_sets(rows: Floats, starts: Indices) -> _Sets:
    n_sets, n_features = len(starts) - 1, rows.shape[1]
    bounds = np.concatenate([[0], np.cumsum(-(-np.diff(starts) // _LANES))]).astype(np.intp)
    blocks = np.empty((bounds[-1], n_features, _LANES))
    means, radii = np.zeros((n_sets, n_features)), np.empty(len(rows))
    for part, (start, end) in enumerate(pairwise(starts)):
        means[part] = rows[start:end].mean(axis=0)
        distances = np.linalg.norm(rows[start:end] - means[part], axis=1)
        order = np.argsort(distances, kind="stable")
        radii[start:end] = distances[order]
        # The last block is padded with copies of the last point, which changes no distance.
        own = slice(bounds[part], bounds[part + 1])
        padded = np.pad(order, (0, len(blocks[own]) * _LANES - len(order)), mode="edge")
        blocks[own] = rows[start + padded].reshape(-1, _LANES, n_features).swapaxes(1, 2)
    return _Sets(starts, bounds, blocks, means, radii)


@entry
def _hausdorff_matrix(
    sets: _Sets, pairs: Indices, matrix: Floats, first: int, last: int, stop: NDArray[np.int64]
) -> None:
    """Set the entries of some pairs of sets."""
    for pair in range(first, last):
        i, j = pairs[0, pair], pairs[1, pair]
        square = _directed(sets, i, j, -1.0, stop)
        square = _directed(sets, j, i, square, stop)
        matrix[i, j] = matrix[j, i] = np.sqrt(square)


@fused_helper
def _directed(sets: _Sets, i: int, j: int, farthest: float, stop: NDArray[np.int64]) -> float:
    """Return the largest squared distance from a point of set i to its nearest point of set j.

    The result is at least `farthest`.
    """
    starts, bounds, blocks, means, radii = sets
    n_features = means.shape[1]
    a, squares, n_kept = np.empty(n_features), np.empty(_LANES), 0
    latest = np.full(_LATEST, bounds[j])
    for k in range(n_features):
        a[k] = means[i, k]
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
        for block in latest:
            if nearest > farthest:
                nearest = min(nearest, _nearest_of_block(a, blocks, block, squares))
        block = bounds[j]
        while nearest > farthest and block < bounds[j + 1]:
            nearest = min(nearest, _nearest_of_block(a, blocks, block, squares))
            if nearest <= farthest:
                latest[n_kept % _LATEST] = block
                n_kept += 1
            block += 1
        farthest = max(farthest, nearest)
    return farthest


@fused_helper
def _nearest_of_block(a: Floats, blocks: Floats, block: int, squares: Floats) -> float:
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
