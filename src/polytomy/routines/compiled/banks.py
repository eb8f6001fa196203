"""Compiled twin of :mod:`polytomy.routines.reference.banks`.

Samples are side by side in *lanes*, the last index of every workspace, so that each step is a
vector operation. Vectors are processed in slabs of a few: first their products with all lanes, then
the kernel values, which are added to the sums of all machines that use the vectors. No matrix of
kernel values is ever stored, so apart from the scores, memory grows neither with the number of
vectors nor with the number of samples. Four features of four vectors are processed at a time, which
saves three in four loads and stores of the products. Workspaces are indexed and never sliced,
because a slice costs more than the work on it.

A chunk of samples begins at a multiple of the number of lanes, whatever the blocks are, and no lane
depends on its neighbours: results are the same for any number of threads. A short last chunk uses
as many lanes as it needs, in whole vectors.

A few samples leave most lanes empty, so they are processed the other way round: the lanes are
vectors, and a product is a sum over the features, of dense samples several at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiled.kernels import (
    BLOCK,
    VECTOR,
    as_numbers,
    exact_values,
    exponentials,
    squares_from_products,
)
from polytomy.routines.compiling import fused_entry, fused_helper, inlined_helper, summing_helper
from polytomy.routines.reference.banks import Floats, Indices, SparseRows, Weights
from polytomy.routines.reference.kernels import IS_OF_DISTANCES, Function
from polytomy.routines.threads import run_aside, run_in_blocks

_LANES = 128
_SLAB = 8

# Up to this many samples are a few. Dense samples with many features fill the lanes slowly, so more
# of them are few.
_FEW_SPARSE = 4
_FEW_NARROW, _FEW_WIDE = 8, 32
_WIDTH_OF_ONE_MORE = 12

# Approximate costs in nanoseconds.
_COST_OF_PRODUCT = 0.05
_COST_OF_FEW = 0.3
_COST_OF_GATHER = 1.5
_COST_OF_SPARSE_PRODUCT = 0.12
_COST_OF_VALUE = 0.8

Flag = NDArray[np.int64]


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
    n_products = len(rows) * n_features + len(weights[2])
    if n_samples <= min(_FEW_WIDE, _FEW_NARROW + n_features // _WIDTH_OF_ONE_MORE):
        run_aside(
            _add_dense_scores_of_few,
            *(samples, vectors, rows, as_numbers(function), weights),
            outputs=[scores],
            cost=_COST_OF_FEW * n_samples * n_products,
        )
        return
    run_in_blocks(
        _add_dense_scores,
        len(samples),
        *(samples, vectors, rows, centre, squares, as_numbers(function), weights),
        outputs=[scores],
        cost=_COST_OF_PRODUCT * n_products + _COST_OF_VALUE * len(rows),
        multiple=_LANES,
    )


@fused_entry
def _add_dense_scores(
    samples: NDArray[np.float64],
    vectors: NDArray[np.float64],
    rows: Indices,
    centre: Floats,
    squares: Floats,
    function: Function,
    weights: Weights,
    scores: NDArray[np.float64],
    begin: int,
    end: int,
    stop: Flag,
) -> None:
    n_features = samples.shape[1]
    n_padded = (n_features + 3) // 4 * 4  # features are processed four at a time
    starts, machines, coefficients = weights
    lanes = np.zeros((n_padded, _LANES), centre.dtype)
    slab = np.zeros((_SLAB, n_padded), centre.dtype)
    products = np.empty((_SLAB, _LANES), centre.dtype)
    lane_squares, slab_squares = np.zeros(_LANES, centre.dtype), np.zeros(_SLAB, centre.dtype)
    values, bits = np.empty((_SLAB, _LANES)), np.empty((_SLAB, _LANES), np.int64)
    sums = np.empty((scores.shape[1], _LANES))
    is_of_distances, by_products = IS_OF_DISTANCES[function[0]], len(squares) > 0
    for first in range(begin, end, _LANES):
        n_lanes = min(_LANES, end - first)
        n_vectors = (n_lanes + VECTOR - 1) // VECTOR
        for lane in range(n_lanes):
            lane_squares[lane] = 0
            for f in range(n_features):
                lanes[f, lane] = samples[first + lane, f] - centre[f]
                lane_squares[lane] += lanes[f, lane] ** 2
        sums[:] = 0.0
        for start in range(0, len(rows), _SLAB):
            if stop[0] != 0:
                return
            n_used = min(_SLAB, len(rows) - start)
            for k in range(n_used):
                row = rows[start + k]
                for f in range(n_features):
                    slab[k, f] = vectors[row, f] - centre[f]
            _compute_products(slab, lanes, is_of_distances and not by_products, n_vectors, products)
            if is_of_distances and by_products:
                for k in range(n_used):
                    slab_squares[k] = squares[start + k]
                squares_from_products(products, slab_squares, lane_squares, n_vectors)
            exact_values(function, products, n_vectors, values, bits)
            _add_to_sums(values, n_used, start, starts, machines, coefficients, n_vectors, sums)
        _add_to_scores(sums, n_lanes, first, scores)


@fused_entry
def _add_dense_scores_of_few(
    samples: NDArray[np.float64],
    vectors: NDArray[np.float64],
    rows: Indices,
    function: Function,
    weights: Weights,
    scores: NDArray[np.float64],
    stop: Flag,
) -> None:
    n_rows = min(4, len(samples))  # four samples are processed at a time
    products = np.zeros((n_rows, _LANES))
    values, bits = np.empty((n_rows, _LANES)), np.empty((n_rows, _LANES), np.int64)
    for start in range(0, len(rows), _LANES):
        if stop[0] != 0:
            return
        n_used = min(_LANES, len(rows) - start)
        for first in range(0, len(samples), 4):
            n_own = min(4, len(samples) - first)
            _compare_few(samples, first, n_own, vectors, rows, start, n_used, function, products)
            exact_values(function, products, (n_used + VECTOR - 1) // VECTOR, values, bits)
            for i in range(n_own):
                _add_to_row(values, i, n_used, start, weights, scores, first + i)


def add_parts(
    samples: NDArray[np.float64],
    vectors: NDArray[np.float64],
    rows: Indices,
    centre: Floats,
    squares: Floats,
    function: Function,
    slots: tuple[Indices, Indices, Indices, NDArray[np.float64]],
    users: tuple[Indices, Indices, Indices],
    sums: NDArray[np.float64],
) -> None:
    """Add the scores of parts of the vectors, each for some of the samples."""
    n_parts = len(users[2])
    n_values = len(users[1]) * len(rows) / max(1, n_parts) ** 2  # of a part, roughly
    run_in_blocks(
        _add_parts,
        n_parts,
        *(samples, vectors, rows, centre, squares, as_numbers(function), slots, users),
        outputs=[sums],
        cost=n_values * (_COST_OF_PRODUCT * samples.shape[1] + _COST_OF_VALUE),
    )


@fused_entry
def _add_parts(
    samples: NDArray[np.float64],
    vectors: NDArray[np.float64],
    rows: Indices,
    centre: Floats,
    squares: Floats,
    function: Function,
    slots: tuple[Indices, Indices, Indices, NDArray[np.float64]],
    users: tuple[Indices, Indices, Indices],
    sums: NDArray[np.float64],
    begin: int,
    end: int,
    stop: Flag,
) -> None:
    slot_starts, starts, machines, coefficients = slots
    user_starts, user_rows, widths = users
    offset = 0
    for part in range(end):
        first, last = user_starts[part], user_starts[part + 1]
        n_users, start = last - first, offset
        offset += n_users * widths[part]
        if n_users == 0 or part < begin:
            continue
        own = slice(slot_starts[part], slot_starts[part + 1])
        weights = starts[own.start : own.stop + 1], machines, coefficients
        scores = sums[start:offset].reshape((n_users, widths[part]))
        chosen = samples[user_rows[first:last]]
        if n_users <= min(_FEW_WIDE, _FEW_NARROW + samples.shape[1] // _WIDTH_OF_ONE_MORE):
            _add_dense_scores_of_few(chosen, vectors, rows[own], function, weights, scores, stop)
            continue
        own_squares = squares[own] if len(squares) else squares
        block = chosen, vectors, rows[own], centre, own_squares
        _add_dense_scores(*block, function, weights, scores, 0, n_users, stop)


@fused_helper
def _compare_few(
    samples: NDArray[np.float64],
    first: int,
    n_own: int,
    vectors: NDArray[np.float64],
    rows: Indices,
    start: int,
    n_used: int,
    function: Function,
    products: NDArray[np.float64],
) -> None:
    """Set `products` to |x − y|² or x·y for at most four samples x and the vectors y of a slab."""
    by_distance = IS_OF_DISTANCES[function[0]]
    k = 0
    while k < n_used:
        row = rows[start + k]
        if n_own == 4:
            products[0, k], products[1, k], products[2, k], products[3, k] = _compare_with_four(
                vectors, row, samples, first, by_distance
            )
            k += 1
        elif k + 4 <= n_used and _are_neighbours(rows, start + k):
            # Memory delivers four vectors at a time faster than one after the other.
            for i in range(n_own):
                products[i, k], products[i, k + 1], products[i, k + 2], products[i, k + 3] = (
                    _compare_with_four(samples, first + i, vectors, row, by_distance)
                )
            k += 4
        else:
            for i in range(n_own):
                if by_distance:
                    products[i, k] = _squared_distance(vectors, row, samples, first + i)
                else:
                    products[i, k] = _inner_product(vectors, row, samples, first + i)
            k += 1


@inlined_helper
def _are_neighbours(rows: Indices, k: int) -> bool:
    """Return whether four rows from the k-th on are consecutive."""
    row = rows[k]
    return rows[k + 1] == row + 1 and rows[k + 2] == row + 2 and rows[k + 3] == row + 3


@inlined_helper
def _compare_with_four(
    ones: Floats, row: int, others: Floats, first: int, by_distance: bool
) -> Any:
    """Return |x − y|² or x·y of one row x and four rows y."""
    if by_distance:
        return _four_distances(ones, row, others, first)
    return _four_products(ones, row, others, first)


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
    n_entries = len(vectors[0]) * len(rows) / max(1, len(vectors[2]) - 1)
    inputs = samples, vectors, rows, n_features, as_numbers(function), weights
    if len(scores) <= _FEW_SPARSE:
        cost = len(scores) * (_COST_OF_GATHER * n_entries + _COST_OF_FEW * len(weights[2]))
        run_aside(_add_sparse_scores_of_few, *inputs, outputs=[scores], cost=cost)
        return
    cost = _COST_OF_SPARSE_PRODUCT * n_entries + _COST_OF_PRODUCT * len(weights[2])
    run_in_blocks(
        _add_sparse_scores,
        len(scores),
        *inputs,
        outputs=[scores],
        cost=cost + _COST_OF_VALUE * len(rows),
        multiple=_LANES,
    )


@fused_entry
def _add_sparse_scores(
    samples: SparseRows,
    vectors: SparseRows,
    rows: Indices,
    n_features: int,
    function: Function,
    weights: Weights,
    scores: NDArray[np.float64],
    begin: int,
    end: int,
    stop: Flag,
) -> None:
    sample_data, sample_indices, sample_starts = samples
    vector_data, vector_indices, vector_starts = vectors
    starts, machines, coefficients = weights
    # `lanes` only has room for the features that occur in a chunk of samples.
    place = np.full(n_features, -1, np.int32)
    vector_squares = np.zeros(_SLAB, sample_data.dtype)
    sample_squares = np.zeros(_LANES, sample_data.dtype)
    products = np.empty((_SLAB, _LANES), sample_data.dtype)
    values, bits = np.empty((_SLAB, _LANES)), np.empty((_SLAB, _LANES), np.int64)
    sums = np.empty((scores.shape[1], _LANES))
    for first in range(begin, end, _LANES):
        n_lanes = min(_LANES, end - first)
        n_vectors = (n_lanes + VECTOR - 1) // VECTOR
        chunk_start, chunk_end = sample_starts[first], sample_starts[first + n_lanes]
        n_places = 0
        for t in range(chunk_start, chunk_end):
            if place[sample_indices[t]] < 0:
                place[sample_indices[t]] = n_places
                n_places += 1
        lanes = np.zeros((n_places, _LANES), sample_data.dtype)
        for lane in range(n_lanes):
            row_start, row_end = sample_starts[first + lane], sample_starts[first + lane + 1]
            for t in range(row_start, row_end):
                lanes[place[sample_indices[t]], lane] += sample_data[t]
            # In the order of the row itself, which does not depend on the rest of the chunk. If an
            # index occurs twice, both entries use the sum as their factor.
            sample_squares[lane] = 0
            for t in range(row_start, row_end):
                sample_squares[lane] += sample_data[t] * lanes[place[sample_indices[t]], lane]
        sums[:] = 0.0
        for start in range(0, len(rows), _SLAB):
            if stop[0] != 0:
                return
            n_used = min(_SLAB, len(rows) - start)
            for k in range(n_used):
                vector_squares[k] = 0
                for lane in range(n_vectors * VECTOR):
                    products[k, lane] = 0
                row = rows[start + k]
                for t in range(vector_starts[row], vector_starts[row + 1]):
                    value, p = vector_data[t], place[vector_indices[t]]
                    vector_squares[k] += value * value
                    if p >= 0:
                        _add_multiple(value, lanes, p, n_vectors, products, k)
            if IS_OF_DISTANCES[function[0]]:
                squares_from_products(products, vector_squares, sample_squares, n_vectors)
            exact_values(function, products, n_vectors, values, bits)
            _add_to_sums(values, n_used, start, starts, machines, coefficients, n_vectors, sums)
        _add_to_scores(sums, n_lanes, first, scores)
        for t in range(chunk_start, chunk_end):
            place[sample_indices[t]] = -1


@fused_entry
def _add_sparse_scores_of_few(
    samples: SparseRows,
    vectors: SparseRows,
    rows: Indices,
    n_features: int,
    function: Function,
    weights: Weights,
    scores: NDArray[np.float64],
    stop: Flag,
) -> None:
    sample_data, sample_indices, sample_starts = samples
    vector_data, vector_indices, vector_starts = vectors
    sample = np.zeros(n_features, sample_data.dtype)
    products = np.zeros((1, _LANES), sample_data.dtype)
    sample_square, vector_squares = np.zeros(1, products.dtype), np.zeros(_LANES, products.dtype)
    values, bits = np.empty((1, _LANES)), np.empty((1, _LANES), np.int64)
    for i in range(len(scores)):
        sample_square[0] = 0
        for t in range(sample_starts[i], sample_starts[i + 1]):
            sample[sample_indices[t]] += sample_data[t]
        # If an index occurs twice, both entries use the sum as their factor.
        for t in range(sample_starts[i], sample_starts[i + 1]):
            sample_square[0] += sample_data[t] * sample[sample_indices[t]]
        for start in range(0, len(rows), _LANES):
            if stop[0] != 0:
                return
            n_used = min(_LANES, len(rows) - start)
            for k in range(n_used):
                product, square = sample_square[0] * 0, sample_square[0] * 0
                row = rows[start + k]
                for t in range(vector_starts[row], vector_starts[row + 1]):
                    product += vector_data[t] * sample[vector_indices[t]]
                    square += vector_data[t] * vector_data[t]
                products[0, k], vector_squares[k] = product, square
            n_vectors = (n_used + VECTOR - 1) // VECTOR
            if IS_OF_DISTANCES[function[0]]:
                squares_from_products(products, sample_square, vector_squares, n_vectors)
            exact_values(function, products, n_vectors, values, bits)
            _add_to_row(values, 0, n_used, start, weights, scores, i)
        for t in range(sample_starts[i], sample_starts[i + 1]):
            sample[sample_indices[t]] = 0


def answer_logistic(
    scores: NDArray[np.float64], slopes: NDArray[np.float64], intercepts: NDArray[np.float64]
) -> None:
    """Replace scores by r = P(+1) − P(−1), in place; their log-odds are slope·score + intercept."""
    cost = _COST_OF_VALUE * scores.shape[1]
    inputs = slopes, intercepts
    run_in_blocks(_answer_logistic, len(scores), *inputs, outputs=[scores], cost=cost)


@fused_entry
def _answer_logistic(
    slopes: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    scores: NDArray[np.float64],
    begin: int,
    end: int,
    stop: Flag,
) -> None:
    n_machines = scores.shape[1]
    odds = np.zeros(BLOCK)
    values, bits = np.zeros((1, BLOCK)), np.empty((1, BLOCK), np.int64)
    for sample in range(begin, end):
        if stop[0] != 0:
            return
        for first in range(0, n_machines, BLOCK):
            n_used = min(BLOCK, n_machines - first)
            for k in range(n_used):
                odds[k] = slopes[first + k] * scores[sample, first + k] + intercepts[first + k]
                values[0, k] = -abs(odds[k])
            exponentials(values, (n_used + VECTOR - 1) // VECTOR, bits)
            for k in range(n_used):
                size = (1.0 - values[0, k]) / (1.0 + values[0, k])
                scores[sample, first + k] = np.copysign(size, odds[k])


def count_pair_votes(
    scores: NDArray[np.float64],
    slopes: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    negative: NDArray[np.intp],
    positive: NDArray[np.intp],
    votes: NDArray[np.float64],
) -> None:
    """Add to each class the number of pairs that it wins minus the number that it loses."""
    inputs, cost = (scores, slopes, intercepts, negative, positive), 2.0 * scores.shape[1]
    run_in_blocks(_count_pair_votes, len(scores), *inputs, outputs=[votes], cost=cost)


@fused_entry
def _count_pair_votes(
    scores: NDArray[np.float64],
    slopes: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    negative: NDArray[np.intp],
    positive: NDArray[np.intp],
    votes: NDArray[np.float64],
    begin: int,
    end: int,
    stop: Flag,
) -> None:
    n_machines = scores.shape[1]
    if n_machines == 0:
        return
    for sample in range(begin, end):
        if stop[0] != 0:
            return
        # Most pairs have the same negative class as the pair before. Its votes are summed in a
        # register: memory would be read again before the last sum is written.
        last, sum_of_last = negative[0], np.int64(0)
        for k in range(n_machines):
            odds = slopes[k] * scores[sample, k] + intercepts[k]
            # Without a branch, which the processor would mispredict half of the time.
            side = np.int64(odds > 0.0) - np.int64(odds < 0.0)
            votes[sample, positive[k]] += side
            if negative[k] != last:
                votes[sample, last] -= sum_of_last
                last, sum_of_last = negative[k], np.int64(0)
            sum_of_last += side
        votes[sample, last] -= sum_of_last


@fused_helper
def _add_squares(
    total: float, a: float, b: float, c: float, d: float, p: float, q: float, r: float, s: float
) -> Any:
    # Added one by one, so that each term is one difference and one fused operation.
    return total + (a - p) ** 2 + (b - q) ** 2 + (c - r) ** 2 + (d - s) ** 2


@fused_helper
def _add_products(
    total: float, a: float, b: float, c: float, d: float, p: float, q: float, r: float, s: float
) -> Any:
    return total + a * p + b * q + c * r + d * s


@summing_helper
def _squared_distance(vectors: Floats, row: int, samples: Floats, sample: int) -> Any:
    total = 0.0
    for f in range(vectors.shape[1]):
        total += (vectors[row, f] - samples[sample, f]) ** 2
    return total


@summing_helper
def _inner_product(vectors: Floats, row: int, samples: Floats, sample: int) -> Any:
    total = 0.0
    for f in range(vectors.shape[1]):
        total += vectors[row, f] * samples[sample, f]
    return total


@summing_helper
def _four_distances(vectors: Floats, row: int, samples: Floats, first: int) -> Any:
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for f in range(vectors.shape[1]):
        value = vectors[row, f]
        a += (value - samples[first, f]) ** 2
        b += (value - samples[first + 1, f]) ** 2
        c += (value - samples[first + 2, f]) ** 2
        d += (value - samples[first + 3, f]) ** 2
    return a, b, c, d


@summing_helper
def _four_products(vectors: Floats, row: int, samples: Floats, first: int) -> Any:
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for f in range(vectors.shape[1]):
        value = vectors[row, f]
        a += value * samples[first, f]
        b += value * samples[first + 1, f]
        c += value * samples[first + 2, f]
        d += value * samples[first + 3, f]
    return a, b, c, d


# Two functions written out, not one made twice: Numba's cache would take them for the same.


@fused_helper
def _sum_squares(slab: Floats, lanes: Floats, n_vectors: int, products: Floats) -> None:
    n_lanes = n_vectors * VECTOR
    for i in range(_SLAB):
        for lane in range(n_lanes):
            products[i, lane] = 0
    for i in range(0, _SLAB, 4):
        for f in range(0, len(lanes), 4):
            a1, a2, a3, a4 = slab[i, f], slab[i, f + 1], slab[i, f + 2], slab[i, f + 3]
            j = i + 1
            b1, b2, b3, b4 = slab[j, f], slab[j, f + 1], slab[j, f + 2], slab[j, f + 3]
            j = i + 2
            c1, c2, c3, c4 = slab[j, f], slab[j, f + 1], slab[j, f + 2], slab[j, f + 3]
            j = i + 3
            d1, d2, d3, d4 = slab[j, f], slab[j, f + 1], slab[j, f + 2], slab[j, f + 3]
            for lane in range(n_lanes):
                x1, x2 = lanes[f, lane], lanes[f + 1, lane]
                x3, x4 = lanes[f + 2, lane], lanes[f + 3, lane]
                products[i, lane] = _add_squares(products[i, lane], a1, a2, a3, a4, x1, x2, x3, x4)
                products[i + 1, lane] = _add_squares(
                    products[i + 1, lane], b1, b2, b3, b4, x1, x2, x3, x4
                )
                products[i + 2, lane] = _add_squares(
                    products[i + 2, lane], c1, c2, c3, c4, x1, x2, x3, x4
                )
                products[i + 3, lane] = _add_squares(
                    products[i + 3, lane], d1, d2, d3, d4, x1, x2, x3, x4
                )


@fused_helper
def _sum_products(slab: Floats, lanes: Floats, n_vectors: int, products: Floats) -> None:
    n_lanes = n_vectors * VECTOR
    for i in range(_SLAB):
        for lane in range(n_lanes):
            products[i, lane] = 0
    for i in range(0, _SLAB, 4):
        for f in range(0, len(lanes), 4):
            a1, a2, a3, a4 = slab[i, f], slab[i, f + 1], slab[i, f + 2], slab[i, f + 3]
            j = i + 1
            b1, b2, b3, b4 = slab[j, f], slab[j, f + 1], slab[j, f + 2], slab[j, f + 3]
            j = i + 2
            c1, c2, c3, c4 = slab[j, f], slab[j, f + 1], slab[j, f + 2], slab[j, f + 3]
            j = i + 3
            d1, d2, d3, d4 = slab[j, f], slab[j, f + 1], slab[j, f + 2], slab[j, f + 3]
            for lane in range(n_lanes):
                x1, x2 = lanes[f, lane], lanes[f + 1, lane]
                x3, x4 = lanes[f + 2, lane], lanes[f + 3, lane]
                products[i, lane] = _add_products(products[i, lane], a1, a2, a3, a4, x1, x2, x3, x4)
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
def _compute_products(
    slab: Floats, lanes: Floats, by_distance: bool, n_vectors: int, products: Floats
) -> None:
    """Set `products` to |x − y|² or x·y for the vectors y of a slab and the lanes x."""
    if by_distance:
        _sum_squares(slab, lanes, n_vectors, products)
    else:
        _sum_products(slab, lanes, n_vectors, products)


@fused_helper
def _add_to_sums(
    values: NDArray[np.float64],
    n_used: int,
    first: int,
    starts: Indices,
    machines: Indices,
    coefficients: NDArray[np.float64],
    n_vectors: int,
    sums: NDArray[np.float64],
) -> None:
    """Add the kernel values of a slab to the sums of the machines that use its vectors."""
    for k in range(n_used):
        for t in range(starts[first + k], starts[first + k + 1]):
            _add_multiple(coefficients[t], values, k, n_vectors, sums, machines[t])


@fused_helper
def _add_to_row(
    values: NDArray[np.float64],
    row: int,
    n_used: int,
    first: int,
    weights: Weights,
    scores: NDArray[np.float64],
    sample: int,
) -> None:
    """Add the kernel values of one sample and a slab of vectors to the sample's scores."""
    starts, machines, coefficients = weights
    for k in range(n_used):
        for t in range(starts[first + k], starts[first + k + 1]):
            scores[sample, machines[t]] += coefficients[t] * values[row, k]


@inlined_helper
def _add_multiple(
    factor: float, source: Floats, row: int, n_vectors: int, target: Floats, target_row: int
) -> None:
    """Add a multiple of a row of lanes to a row of another array."""
    if n_vectors * VECTOR == _LANES:
        # The usual case, in which the compiler knows the length of the loop.
        for lane in range(_LANES):
            target[target_row, lane] += factor * source[row, lane]
    else:
        for lane in range(n_vectors * VECTOR):
            target[target_row, lane] += factor * source[row, lane]


@fused_helper
def _add_to_scores(
    sums: NDArray[np.float64], n_lanes: int, first: int, scores: NDArray[np.float64]
) -> None:
    """Add the sums of all machines to the scores of a chunk of samples."""
    for lane in range(n_lanes):
        for machine in range(len(sums)):
            scores[first + lane, machine] += sums[machine, lane]
