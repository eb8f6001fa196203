"""Compiled twin of :mod:`polytomy.routines.banks.reference`.

Samples are side by side in *lanes*, the last index of every workspace, so that each step is a
vector operation. Vectors are taken in slabs of a few: first their products with all lanes, then the
kernel values, which are added to the sums of all machines that use the vectors. No matrix of kernel
values is ever held, so apart from the scores, memory grows neither with the number of vectors nor
with the number of samples. Four features of four vectors are taken at a time, which saves three
in four loads and stores of the products. Workspaces are indexed and never sliced, because a slice
costs more than the work on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange
from numpy.typing import NDArray

from polytomy.routines.banks.kernel_values import (
    exponentials,
    kernel_values,
    squares_from_products,
)
from polytomy.routines.banks.reference import KINDS, Floats, Function, Indices, SparseRows, Weights
from polytomy.routines.runtime.compiling import (
    MOST_BLOCKS,
    fused_helper,
    fused_parallel_routine,
)

__all__ = [
    "add_dense_scores",
    "add_sparse_scores",
    "answer_logistic",
    "count_pair_votes",
    "transform_products",
]

_RBF = KINDS["rbf"]

_LANES = 128
_SLAB = 8
_LONG_ROW = 512


@fused_parallel_routine
def add_dense_scores(
    samples: NDArray[np.float64],
    vectors: NDArray[np.float64],
    rows: Indices,
    centre: Floats,
    squares: Floats,
    function: Function,
    weights: Weights,
    scores: NDArray[np.float64],
) -> None:
    """Add the scores of dense samples."""
    n_samples, n_features = samples.shape
    n_padded = (n_features + 3) // 4 * 4  # features are taken four at a time
    starts, machines, coefficients = weights
    n_chunks = (n_samples + _LANES - 1) // _LANES
    n_blocks = min(n_chunks, MOST_BLOCKS)
    for block in prange(n_blocks):
        lanes = np.zeros((n_padded, _LANES), centre.dtype)
        slab = np.zeros((_SLAB, n_padded), centre.dtype)
        products = np.empty((_SLAB, _LANES), centre.dtype)
        lane_squares, slab_squares = np.zeros(_LANES, centre.dtype), np.zeros(_SLAB, centre.dtype)
        values, bits = np.empty((_SLAB, _LANES)), np.empty((_SLAB, _LANES), np.int64)
        sums = np.empty((scores.shape[1], _LANES))
        for chunk in range(block * n_chunks // n_blocks, (block + 1) * n_chunks // n_blocks):
            first = chunk * _LANES
            n_lanes = min(_LANES, n_samples - first)
            for lane in range(n_lanes):
                lane_squares[lane] = 0
                for f in range(n_features):
                    lanes[f, lane] = samples[first + lane, f] - centre[f]
                    lane_squares[lane] += lanes[f, lane] ** 2
            sums[:] = 0.0
            for start in range(0, len(rows), _SLAB):
                n_used = min(_SLAB, len(rows) - start)
                for k in range(n_used):
                    row = rows[start + k]
                    for f in range(n_features):
                        slab[k, f] = vectors[row, f] - centre[f]
                is_rbf, by_products = function[0] == _RBF, len(squares) > 0
                _compute_products(slab, lanes, is_rbf and not by_products, products)
                if is_rbf and by_products:
                    for k in range(n_used):
                        slab_squares[k] = squares[start + k]
                    squares_from_products(products, slab_squares, lane_squares)
                kernel_values(products, function, values, bits)
                _add_to_sums(values, n_used, start, starts, machines, coefficients, sums)
            _add_to_scores(sums, n_lanes, first, scores)


@fused_parallel_routine
def add_sparse_scores(
    samples: SparseRows,
    vectors: SparseRows,
    rows: Indices,
    n_features: int,
    function: Function,
    weights: Weights,
    scores: NDArray[np.float64],
) -> None:
    """Add the scores of sparse samples; rows are (data, indices, starts), as in CSR."""
    sample_data, sample_indices, sample_starts = samples
    vector_data, vector_indices, vector_starts = vectors
    starts, machines, coefficients = weights
    n_chunks = (len(scores) + _LANES - 1) // _LANES
    n_blocks = min(n_chunks, MOST_BLOCKS)
    for block in prange(n_blocks):
        # `lanes` has room only for the features that occur in a chunk of samples.
        place = np.full(n_features, -1, np.int32)
        vector_squares = np.zeros(_SLAB, sample_data.dtype)
        sample_squares = np.empty(_LANES, sample_data.dtype)
        products = np.empty((_SLAB, _LANES), sample_data.dtype)
        values, bits = np.empty((_SLAB, _LANES)), np.empty((_SLAB, _LANES), np.int64)
        sums = np.empty((scores.shape[1], _LANES))
        for chunk in range(block * n_chunks // n_blocks, (block + 1) * n_chunks // n_blocks):
            first = chunk * _LANES
            n_lanes = min(_LANES, len(scores) - first)
            begin, end = sample_starts[first], sample_starts[first + n_lanes]
            n_places = 0
            for t in range(begin, end):
                if place[sample_indices[t]] < 0:
                    place[sample_indices[t]] = n_places
                    n_places += 1
            lanes = np.zeros((n_places, _LANES), sample_data.dtype)
            for lane in range(n_lanes):
                for t in range(sample_starts[first + lane], sample_starts[first + lane + 1]):
                    lanes[place[sample_indices[t]], lane] += sample_data[t]
            for lane in range(_LANES):
                sample_squares[lane] = 0
            for p in range(n_places):
                for lane in range(_LANES):
                    sample_squares[lane] += lanes[p, lane] ** 2
            sums[:] = 0.0
            for start in range(0, len(rows), _SLAB):
                n_used = min(_SLAB, len(rows) - start)
                for k in range(n_used):
                    vector_squares[k] = 0
                    for lane in range(_LANES):
                        products[k, lane] = 0
                    row = rows[start + k]
                    for t in range(vector_starts[row], vector_starts[row + 1]):
                        value, p = vector_data[t], place[vector_indices[t]]
                        vector_squares[k] += value * value
                        if p >= 0:
                            for lane in range(_LANES):
                                products[k, lane] += value * lanes[p, lane]
                if function[0] == _RBF:
                    squares_from_products(products, vector_squares, sample_squares)
                kernel_values(products, function, values, bits)
                _add_to_sums(values, n_used, start, starts, machines, coefficients, sums)
            _add_to_scores(sums, n_lanes, first, scores)
            for t in range(begin, end):
                place[sample_indices[t]] = -1


@fused_parallel_routine
def answer_logistic(
    scores: NDArray[np.float64], slopes: NDArray[np.float64], intercepts: NDArray[np.float64]
) -> None:
    """Replace scores by r = P(+1) − P(−1), in place; their log-odds are slope·score + intercept."""
    n_samples, n_machines = scores.shape
    width = min(_LONG_ROW, n_machines)
    n_blocks = min(n_samples, MOST_BLOCKS)
    for block in prange(n_blocks):
        odds = np.empty(width)
        values, bits = np.zeros((1, width)), np.empty((1, width), np.int64)
        for sample in range(block * n_samples // n_blocks, (block + 1) * n_samples // n_blocks):
            for first in range(0, n_machines, _LONG_ROW):
                n_used = min(width, n_machines - first)
                for k in range(n_used):
                    odds[k] = slopes[first + k] * scores[sample, first + k] + intercepts[first + k]
                    values[0, k] = -abs(odds[k])
                exponentials(values, bits)
                for k in range(n_used):
                    size = (1.0 - values[0, k]) / (1.0 + values[0, k])
                    scores[sample, first + k] = np.copysign(size, odds[k])


@fused_parallel_routine
def count_pair_votes(
    scores: NDArray[np.float64],
    slopes: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    negative: NDArray[np.intp],
    positive: NDArray[np.intp],
    votes: NDArray[np.float64],
) -> None:
    """Add to each class the number of pairs that it wins minus the number that it loses."""
    n_samples, n_machines = scores.shape
    for sample in prange(n_samples):
        for k in range(n_machines):
            odds = slopes[k] * scores[sample, k] + intercepts[k]
            # No branch, because the processor would mispredict it half of the time.
            side = np.float64(odds > 0.0) - np.float64(odds < 0.0)
            votes[sample, positive[k]] += side
            votes[sample, negative[k]] -= side


@fused_parallel_routine
def transform_products(
    products: Floats, row_squares: Floats, column_squares: Floats, function: Function
) -> None:
    """Replace a matrix of inner products by kernel values, in place."""
    n_rows, n_columns = products.shape
    for row in prange(n_rows):
        long, wide = np.zeros(1, products.dtype), np.zeros(_LONG_ROW, products.dtype)
        part = np.zeros((1, _LONG_ROW), products.dtype)
        values, bits = np.empty((1, _LONG_ROW)), np.empty((1, _LONG_ROW), np.int64)
        long[0] = row_squares[row]
        for first in range(0, n_columns, _LONG_ROW):
            n_used = min(_LONG_ROW, n_columns - first)
            for k in range(n_used):
                part[0, k] = products[row, first + k]
                wide[k] = column_squares[first + k]
            if function[0] == _RBF:
                squares_from_products(part, long, wide)
            kernel_values(part, function, values, bits)
            for k in range(n_used):
                products[row, first + k] = values[0, k]


@fused_helper
def _compute_products(slab: Floats, lanes: Floats, by_distance: bool, products: Floats) -> None:
    """Set `products` to |x − y|² or x·y for the vectors y of a slab and all lanes x."""
    for i in range(_SLAB):
        for lane in range(_LANES):
            products[i, lane] = 0
    for i in range(0, _SLAB, 4):
        for f in range(0, len(lanes), 4):
            a1, a2 = slab[i, f], slab[i, f + 1]
            a3, a4 = slab[i, f + 2], slab[i, f + 3]
            b1, b2 = slab[i + 1, f], slab[i + 1, f + 1]
            b3, b4 = slab[i + 1, f + 2], slab[i + 1, f + 3]
            c1, c2 = slab[i + 2, f], slab[i + 2, f + 1]
            c3, c4 = slab[i + 2, f + 2], slab[i + 2, f + 3]
            d1, d2 = slab[i + 3, f], slab[i + 3, f + 1]
            d3, d4 = slab[i + 3, f + 2], slab[i + 3, f + 3]
            if by_distance:
                for lane in range(_LANES):
                    x1, x2 = lanes[f, lane], lanes[f + 1, lane]
                    x3, x4 = lanes[f + 2, lane], lanes[f + 3, lane]
                    products[i, lane] = _add_squares(
                        products[i, lane], a1, a2, a3, a4, x1, x2, x3, x4
                    )
                    products[i + 1, lane] = _add_squares(
                        products[i + 1, lane], b1, b2, b3, b4, x1, x2, x3, x4
                    )
                    products[i + 2, lane] = _add_squares(
                        products[i + 2, lane], c1, c2, c3, c4, x1, x2, x3, x4
                    )
                    products[i + 3, lane] = _add_squares(
                        products[i + 3, lane], d1, d2, d3, d4, x1, x2, x3, x4
                    )
            else:
                for lane in range(_LANES):
                    x1, x2 = lanes[f, lane], lanes[f + 1, lane]
                    x3, x4 = lanes[f + 2, lane], lanes[f + 3, lane]
                    products[i, lane] = _add_products(
                        products[i, lane], a1, a2, a3, a4, x1, x2, x3, x4
                    )
                    products[i + 1, lane] = _add_products(
                        products[i + 1, lane], b1, b2, b3, b4, x1, x2, x3, x4
                    )
                    products[i + 2, lane] = _add_products(
                        products[i + 2, lane], c1, c2, c3, c4, x1, x2, x3, x4
                    )
                    products[i + 3, lane] = _add_products(
                        products[i + 3, lane], d1, d2, d3, d4, x1, x2, x3, x4
                    )


@fused_helper
def _add_squares(
    total: float, a: float, b: float, c: float, d: float, p: float, q: float, r: float, s: float
) -> Any:
    # Added one after the other, so that each term is one difference and one fused operation.
    return total + (a - p) ** 2 + (b - q) ** 2 + (c - r) ** 2 + (d - s) ** 2


@fused_helper
def _add_products(
    total: float, a: float, b: float, c: float, d: float, p: float, q: float, r: float, s: float
) -> Any:
    return total + a * p + b * q + c * r + d * s


@fused_helper
def _add_to_sums(
    values: NDArray[np.float64],
    n_used: int,
    first: int,
    starts: Indices,
    machines: Indices,
    coefficients: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    for k in range(n_used):
        for t in range(starts[first + k], starts[first + k + 1]):
            coefficient, machine = coefficients[t], machines[t]
            for lane in range(_LANES):
                sums[machine, lane] += coefficient * values[k, lane]


@fused_helper
def _add_to_scores(
    sums: NDArray[np.float64], n_lanes: int, first: int, scores: NDArray[np.float64]
) -> None:
    for lane in range(n_lanes):
        for machine in range(len(sums)):
            scores[first + lane, machine] += sums[machine, lane]
