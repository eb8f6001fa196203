"""Compiled twins of :mod:`polytomy.kernels.reference_systems`: least squares by linear systems.

Codes of few classes go in lanes, many samples side by side; what the lanes leave open and codes of
many classes go one sample at a time. The reference kernels say what is solved and why.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import prange
from numpy.typing import NDArray

from polytomy.kernels.compiled_cone import append_member, new_single, solve_support
from polytomy.kernels.compiled_face import minimise_single, write_normalised
from polytomy.kernels.compiled_lanes import N_LANES, new_lanes, settle_lanes, solve_lanes
from polytomy.kernels.compiling import MOST_BLOCKS, helper, kernel, with_read_only_arguments

__all__ = ["couple_pairs", "minimise_on_simplex"]

_MOST_CLASSES_IN_LANES = 48
"""Up to here the lanes' matrices stay in the processor's second cache."""

_ROUNDS = (3, 8)
"""Steps that lanes get in each round."""

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]


@with_read_only_arguments
def couple_pairs(decisions: Floats, negative: Indices, positive: Indices, n_classes: int) -> Floats:
    """Return the class probabilities of a code that holds every pair of classes, once or more."""
    probabilities = np.empty((len(decisions), n_classes))
    couple = _couple_in_lanes if n_classes <= _MOST_CLASSES_IN_LANES else _couple_singly
    couple(decisions, negative, positive, probabilities)
    return probabilities


@with_read_only_arguments
def minimise_on_simplex(
    decisions: Floats,
    row_starts: Indices,
    row_classes: Indices,
    row_signs: Floats,
    shared_gram: Floats,
    n_classes: int,
) -> Floats:
    """Return the class probabilities of any code."""
    code = row_starts, row_classes, row_signs, shared_gram
    probabilities = np.empty((len(decisions), n_classes))
    open_samples = np.arange(len(decisions))
    if n_classes <= _MOST_CLASSES_IN_LANES:
        # All lanes wait for the slowest, so those that take many steps go in a round of their own.
        for n_steps in _ROUNDS:
            if len(open_samples):
                settled = np.empty(len(open_samples), dtype=np.bool_)
                _minimise_in_lanes(decisions, *code, open_samples, n_steps, probabilities, settled)
                open_samples = open_samples[~settled]
    if len(open_samples):
        _minimise_singly(decisions, *code, open_samples, probabilities)
    return probabilities


@kernel
def _couple_in_lanes(
    decisions: Floats, negative: Indices, positive: Indices, probabilities: Floats
) -> None:
    n_samples = decisions.shape[0]
    n_blocks = min(MOST_BLOCKS, n_samples)
    for block in prange(n_blocks):
        first, last = block * n_samples // n_blocks, (block + 1) * n_samples // n_blocks
        _couple_block_in_lanes(decisions, negative, positive, first, last, probabilities)


@kernel
def _couple_singly(
    decisions: Floats, negative: Indices, positive: Indices, probabilities: Floats
) -> None:
    n_samples = decisions.shape[0]
    n_blocks = min(MOST_BLOCKS, n_samples)
    for block in prange(n_blocks):
        first, last = block * n_samples // n_blocks, (block + 1) * n_samples // n_blocks
        _couple_block_singly(decisions, negative, positive, first, last, probabilities)


@kernel
def _minimise_in_lanes(
    decisions: Floats,
    row_starts: Indices,
    row_classes: Indices,
    row_signs: Floats,
    shared_gram: Floats,
    samples: Indices,
    n_steps: int,
    probabilities: Floats,
    settled: Flags,
) -> None:
    n_samples = samples.shape[0]
    n_blocks = min(MOST_BLOCKS, n_samples)
    for block in prange(n_blocks):
        first, last = block * n_samples // n_blocks, (block + 1) * n_samples // n_blocks
        rows = _Rows(row_starts, row_classes, row_signs, shared_gram)
        lanes = new_lanes(probabilities.shape[1])
        for start in range(first, last, N_LANES):
            part = samples[start : min(start + N_LANES, last)]
            _fill_lanes(decisions, rows, part, lanes)
            settle_lanes(lanes, n_steps)
            for lane in range(len(part)):
                settled[start + lane] = lanes.settled[lane]
                write_normalised(lanes.x[:, lane], probabilities[part[lane]])


@kernel
def _minimise_singly(
    decisions: Floats,
    row_starts: Indices,
    row_classes: Indices,
    row_signs: Floats,
    shared_gram: Floats,
    samples: Indices,
    probabilities: Floats,
) -> None:
    n_samples = samples.shape[0]
    n_blocks = min(MOST_BLOCKS, n_samples)
    for block in prange(n_blocks):
        first, last = block * n_samples // n_blocks, (block + 1) * n_samples // n_blocks
        rows = _Rows(row_starts, row_classes, row_signs, shared_gram)
        single = new_single(probabilities.shape[1])
        for sample in samples[first:last]:
            _fill_single(decisions[sample], rows, single)
            minimise_single(single, probabilities[sample])


@helper
def _couple_block_in_lanes(
    decisions: Floats,
    negative: Indices,
    positive: Indices,
    first: int,
    last: int,
    probabilities: Floats,
) -> None:
    lanes = new_lanes(probabilities.shape[1])
    gram, terms, n_lanes = lanes.gram, lanes.terms, lanes.gram.shape[2]
    for start in range(first, last, n_lanes):
        gram[:] = 1.0
        for i in range(negative.shape[0]):
            j, k = negative[i], positive[i]
            for lane in range(n_lanes):
                r = decisions[min(start + lane, last - 1), i]
                terms[1, lane] = 1.0 - r
                terms[2, lane] = 1.0 + r
            of_j, of_k, of_both = gram[j, j], gram[k, k], gram[min(j, k), max(j, k)]
            less, more = terms[1], terms[2]
            for lane in range(n_lanes):
                of_j[lane] += more[lane] * more[lane]
            for lane in range(n_lanes):
                of_k[lane] += less[lane] * less[lane]
            for lane in range(n_lanes):
                of_both[lane] -= less[lane] * more[lane]
        solve_lanes(lanes)
        for lane in range(min(n_lanes, last - start)):
            write_normalised(lanes.x[:, lane], probabilities[start + lane])


@helper
def _couple_block_singly(
    decisions: Floats,
    negative: Indices,
    positive: Indices,
    first: int,
    last: int,
    probabilities: Floats,
) -> None:
    n = probabilities.shape[1]
    single = new_single(n)
    gram = single.gram
    for sample in range(first, last):
        gram[:] = 1.0
        for i in range(negative.shape[0]):
            j, k, r = negative[i], positive[i], decisions[sample, i]
            gram[j, j] += (1.0 + r) * (1.0 + r)
            gram[k, k] += (1.0 - r) * (1.0 - r)
            gram[j, k] -= (1.0 - r) * (1.0 + r)
            gram[k, j] = gram[j, k]
        single.linear[:] = 1.0
        for j in range(n):
            append_member(j, j, gram, single)
        solve_support(n, single, single.x)
        write_normalised(single.x, probabilities[sample])


class _Rows(NamedTuple):
    """A code, row by row: the classes and signs of row i are those from starts[i] on."""

    starts: Indices
    classes: Indices
    signs: Floats
    shared_gram: Floats  # AᵀA of a strict code, else of shape (0, 0)


@helper
def _fill_lanes(decisions: Floats, rows: Any, samples: Indices, lanes: Any) -> None:
    """Set each lane's Gram matrix to QᵀQ + shift·11ᵀ."""
    gram, terms = lanes.gram, lanes.terms
    n, n_lanes = gram.shape[0], gram.shape[2]
    is_shared = rows.shared_gram.shape[0] > 0
    if is_shared:
        for sample in samples:
            is_shared = is_shared and not np.isnan(decisions[sample].sum())
    if is_shared:
        _update_shared_gram(decisions, rows, samples, lanes)
        return
    gram[:] = 0.0
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
    shift[:] = np.inf
    for j in range(n):
        for lane in range(n_lanes):
            if gram[j, j, lane] > 0.0:
                shift[lane] = min(shift[lane], gram[j, j, lane])
    for lane in range(n_lanes):
        shift[lane] = shift[lane] if shift[lane] < np.inf else 1.0
    for j in range(n):
        for k in range(j, n):
            target = gram[j, k]
            for lane in range(n_lanes):
                target[lane] += shift[lane]


@helper
def _update_shared_gram(decisions: Floats, rows: Any, samples: Indices, lanes: Any) -> None:
    """Set each lane's Gram matrix from AᵀA: with Q = A − r1ᵀ they differ by a term of rank two."""
    gram, products, terms = lanes.gram, lanes.x, lanes.terms
    n, n_lanes = gram.shape[0], gram.shape[2]
    n_partitions = decisions.shape[1]
    square, r = terms[0], terms[1]
    square[:] = n_partitions / n
    products[:] = 0.0
    for i in range(n_partitions):
        for lane in range(n_lanes):
            r[lane] = decisions[samples[min(lane, len(samples) - 1)], i]
            square[lane] += r[lane] * r[lane]
        for j in range(n):
            sign = rows.signs[i * n + j]
            target = products[j]
            for lane in range(n_lanes):
                target[lane] += r[lane] * sign
    for j in range(n):
        for k in range(j, n):
            target = gram[j, k]
            for lane in range(n_lanes):
                target[lane] = rows.shared_gram[j, k] + (
                    square[lane] - products[j, lane] - products[k, lane]
                )


@helper
def _fill_single(r: Floats, rows: Any, single: Any) -> None:
    """Set the Gram matrix to QᵀQ + shift·11ᵀ."""
    gram, n_partitions, n = single.gram, r.shape[0], single.gram.shape[0]
    if rows.shared_gram.shape[0] > 0 and not np.isnan(r.sum()):
        products = single.trial
        products[:] = 0.0
        square = n_partitions / n
        for i in range(n_partitions):
            square += r[i] * r[i]
            for j in range(n):
                products[j] += r[i] * rows.signs[i * n + j]
        for j in range(n):
            for k in range(n):
                gram[j, k] = rows.shared_gram[j, k] + (square - products[j] - products[k])
        return
    gram[:] = 0.0
    for i in range(n_partitions):
        if r[i] != r[i]:
            continue
        for u in range(rows.starts[i], rows.starts[i + 1]):
            q = rows.signs[u] - r[i]
            target = gram[rows.classes[u]]
            for v in range(rows.starts[i], rows.starts[i + 1]):
                target[rows.classes[v]] += q * (rows.signs[v] - r[i])
    shift = np.inf
    for j in range(n):
        if gram[j, j] > 0.0:
            shift = min(shift, gram[j, j])
    gram += shift if shift < np.inf else 1.0
