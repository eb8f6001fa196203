"""Compiled twin of :mod:`polytomy.routines.reference.kernel_rows`, and a cache of its rows.

All loops are written so that the compiler turns them into vector instructions: no loop both
branches and reduces, and none writes to more than one array. Slices are not assigned to slices,
because the check that their sizes agree takes longer to compile than everything else.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiling import entry, helper
from polytomy.routines.reference.kernel_rows import (
    KERNEL_VALUES,
    LARGEST_EXPONENT,
    LINEAR,
    LN2,
    LOG2_E,
    POLY,
    RBF,
    ROUNDER,
    SIGMOID,
    TAYLOR,
    RowMaker,
)
from polytomy.routines.threads import run_aside

__all__ = [
    "KernelRows",
    "fill_row",
    "forget_rows",
    "has_own_rows",
    "keep_rows",
    "kernel_values",
    "load_all_rows",
    "load_row",
    "row_in",
    "store_products",
]

Flag = NDArray[np.int64]
Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]

_COST_OF_VALUE = 1.0  # nanoseconds, approximately
_BLOCK = 512
_TILE = 16
_EXPONENT_BIAS = np.int64(1023)
_EXPONENT_SHIFT = np.int64(52)
_T10, _T9, _T8, _T7, _T6, _T5, _T4, _T3, _T2, _T1, _T0 = TAYLOR


class KernelRows(NamedTuple):
    """Kernel values of a problem's samples, computed row by row from the matrix and cached.

    Attributes
    ----------
    values, entries, maker, form, columns : as for `train_machines`
    is_whole : whether the problem has all columns of the matrix, in the same order
    kernel : gamma, degree and coef0, float64 array of shape (3,)
    cache : float32 array of two or more rows, one after the other; a row has the kernel values of
        one sample with the considered samples, in order
    slot_of : the row of the cache for each sample, or −1, shape (m,)
    sample_in : the sample whose row is in each slot, or −1, shape (m,)
    state : length of a row, number of slots, the slot to fill next
    scratch : float64 array of shape (3, block), a workspace
    """

    values: Any
    entries: Any
    maker: Any
    form: Any
    columns: Any
    is_whole: Any
    kernel: Any
    cache: Any
    slot_of: Any
    sample_in: Any
    state: Any
    scratch: Any


def kernel_values(entries: Doubles, form: int, gamma: float, degree: int, coef0: float) -> Any:
    """Return the kernel values of entries of the matrix."""
    arguments = entries, form, float(gamma), int(degree), float(coef0)
    return run_aside(_kernel_values, *arguments, cost=_COST_OF_VALUE * len(entries))


@entry
def _kernel_values(
    entries: Doubles, form: int, gamma: float, degree: int, coef0: float, stop: Flag
) -> Any:
    values = np.empty(len(entries), np.float32)
    scratch = _new_scratch()
    for first in range(0, len(entries), _BLOCK):
        block = slice(first, min(first + _BLOCK, len(entries)))
        _transform(entries[block], form, gamma, degree, coef0, scratch, values[block])
    return values


def store_products(
    products: Doubles,
    row_squares: Doubles,
    column_squares: Doubles,
    form: int,
    gamma: float,
    degree: int,
    coef0: float,
    holds_kernel_values: bool,
    matrix: Any,
    first_row: int,
    first_column: int,
) -> None:
    """Write a block of the matrix and its mirror image, from inner products."""
    run_aside(
        _store_products,
        products,
        row_squares,
        column_squares,
        form,
        float(gamma),
        int(degree),
        float(coef0),
        holds_kernel_values,
        matrix,
        first_row,
        first_column,
        cost=_COST_OF_VALUE * products.size,
    )


@entry
def _store_products(
    products: Doubles,
    row_squares: Doubles,
    column_squares: Doubles,
    form: int,
    gamma: float,
    degree: int,
    coef0: float,
    holds_kernel_values: bool,
    matrix: Any,
    first_row: int,
    first_column: int,
    stop: Flag,
) -> None:
    n_rows, n_columns = products.shape
    scratch = _new_scratch()
    tile = np.empty((_TILE, n_columns), matrix.dtype)
    values = np.empty(_BLOCK, np.float32)
    for first in range(0, n_rows, _TILE):
        size = min(_TILE, n_rows - first)
        for i in range(size):
            row, entries = products[first + i], tile[i]
            if form == RBF:
                row_square = row_squares[first + i]
                for j in range(n_columns):
                    square = row_square + column_squares[j] - 2.0 * row[j]
                    row[j] = square if square > 0.0 else 0.0
            for begin in range(0, n_columns, _BLOCK):
                end = min(begin + _BLOCK, n_columns)
                if holds_kernel_values:
                    _transform(row[begin:end], form, gamma, degree, coef0, scratch, values)
                    for j in range(end - begin):
                        entries[begin + j] = values[j]
                else:
                    for j in range(begin, end):
                        entries[j] = row[j]
            for j in range(n_columns):
                matrix[first_row + first + i, first_column + j] = entries[j]
        if first_row == first_column:
            continue
        # Several rows at a time, so that the mirror image is written in contiguous runs.
        for j in range(n_columns):
            for i in range(size):
                matrix[first_column + j, first_row + first + i] = tile[i, j]


@helper
def keep_rows(
    values: Singles,
    entries: Doubles,
    maker: RowMaker,
    form: int,
    columns: NDArray[np.int64],
    kernel: Any,
    cache: Singles,
) -> Any:
    """Return an empty cache of rows."""
    is_whole = len(columns) == (values.shape[1] if form == KERNEL_VALUES else entries.shape[1])
    for k in range(len(columns)):
        is_whole = is_whole and columns[k] == k
    slot_of = np.empty(len(columns), np.int64)
    sample_in = np.empty(len(columns), np.int64)
    state = np.empty(3, np.int64)
    scratch = _new_scratch()
    rows = KernelRows(
        values,
        entries,
        maker,
        form,
        columns,
        is_whole,
        kernel,
        cache,
        slot_of,
        sample_in,
        state,
        scratch,
    )
    forget_rows(rows, len(columns))
    return rows


@helper
def has_own_rows(rows: KernelRows) -> bool:
    """Return whether rows of the matrix can be used as rows of the problem, unchanged."""
    return rows.form == KERNEL_VALUES and rows.is_whole and len(rows.maker.slot_of) == 0


@helper
def forget_rows(rows: KernelRows, n: int) -> None:
    """Clear the cache, for rows of n considered samples; call this if they or the kernel change."""
    for k in range(len(rows.slot_of)):
        rows.slot_of[k] = -1
        rows.sample_in[k] = -1
    rows.state[0] = n
    rows.state[1] = min(len(rows.sample_in), len(rows.cache) // n)
    rows.state[2] = 0


@helper
def load_row(rows: KernelRows, sample: int, considered: Any, kept_slot: int) -> Any:
    """Fill a slot with the kernel values of a sample with the considered ones; return the slot.

    Call this only if `slot_of` has no slot for the sample: checking that is faster than a function
    call. The slot `kept_slot`, which is in use, is not overwritten.
    """
    n, n_slots, slot = rows.state
    if slot == kept_slot:
        slot = (slot + 1) % n_slots
    rows.state[2] = (slot + 1) % n_slots
    if rows.sample_in[slot] >= 0:
        rows.slot_of[rows.sample_in[slot]] = -1
    rows.sample_in[slot] = sample
    rows.slot_of[sample] = slot
    fill_row(rows, sample, considered, n, row_in(rows, slot))
    return slot


@helper
def load_all_rows(rows: KernelRows, samples: Any) -> None:
    """Fill the cache, which is large enough, with the rows of all samples in order.

    `samples` has their numbers: 0, 1, 2, …
    """
    n = rows.state[0]
    for sample in range(n):
        rows.sample_in[sample] = sample
        rows.slot_of[sample] = sample
        fill_row(rows, sample, samples, n, row_in(rows, sample))


@helper
def row_in(rows: KernelRows, slot: int) -> Any:
    """Return the row of kernel values in a slot."""
    n = rows.state[0]
    return rows.cache[slot * n : (slot + 1) * n]


@helper
def fill_row(rows: KernelRows, sample: int, considered: Any, n: int, out: Singles) -> None:
    """Write the kernel values of a sample with the n considered samples."""
    row = rows.columns[sample]
    if len(rows.maker.slot_of) > 0:
        slot = rows.maker.slot_of[row]
        row = slot if slot >= 0 else _make_row(rows, row)
    is_all = rows.is_whole and n == len(rows.columns)
    if rows.form == KERNEL_VALUES:
        values = rows.values[row]
        if is_all:
            for k in range(n):
                out[k] = values[k]
        else:
            for k in range(n):
                out[k] = values[rows.columns[considered[k]]]
        return
    entries = rows.entries[row]
    gathered = rows.scratch[2]
    gamma, degree, coef0 = rows.kernel[0], int(rows.kernel[1]), rows.kernel[2]
    for first in range(0, n, _BLOCK):
        size = min(_BLOCK, n - first)
        if is_all:
            for k in range(size):
                gathered[k] = entries[first + k]
        else:
            for k in range(size):
                gathered[k] = entries[rows.columns[considered[first + k]]]
        _transform(
            gathered[:size],
            rows.form,
            gamma,
            degree,
            coef0,
            rows.scratch,
            out[first : first + size],
        )


@helper
def _make_row(rows: KernelRows, row: int) -> int:
    """Compute a row of the matrix, and return the slot that holds it."""
    maker = rows.maker
    slot = maker.next_slot[0]
    maker.next_slot[0] = (slot + 1) % len(maker.row_in)
    if maker.row_in[slot] >= 0:
        maker.slot_of[maker.row_in[slot]] = -1
    maker.row_in[slot] = row
    maker.slot_of[row] = slot
    gamma, degree, coef0 = rows.kernel[0], int(rows.kernel[1]), rows.kernel[2]
    n_features, n_rows = maker.features.shape
    made = rows.scratch[2]
    for first in range(0, n_rows, _BLOCK):
        size = min(_BLOCK, n_rows - first)
        for k in range(size):
            made[k] = 0.0
        for f in range(n_features):
            factor, feature = maker.features[f, row], maker.features[f, first : first + size]
            for k in range(size):
                made[k] += factor * feature[k]
        if maker.kind == RBF:
            square, squares = maker.squares[row], maker.squares[first : first + size]
            for k in range(size):
                distance = square + squares[k] - 2.0 * made[k]
                made[k] = distance if distance > 0.0 else 0.0
        if rows.form == KERNEL_VALUES:
            out = rows.values[slot, first : first + size]
            _transform(made[:size], maker.kind, gamma, degree, coef0, rows.scratch, out)
        else:
            kept = rows.entries[slot, first : first + size]
            for k in range(size):
                kept[k] = made[k]
    return slot


@helper
def _new_scratch() -> Any:
    return np.empty((3, _BLOCK))


@helper
def _transform(
    entries: Doubles,
    form: int,
    gamma: float,
    degree: int,
    coef0: float,
    scratch: Doubles,
    out: Singles,
) -> None:
    """Write the kernel values of a block of entries."""
    if form == RBF:
        _exponential(entries, -gamma, scratch[0], scratch[1], out)
    elif form == POLY:
        for k in range(len(entries)):
            out[k] = _power(gamma * entries[k] + coef0, degree)
    elif form == SIGMOID:
        for k in range(len(entries)):
            out[k] = math.tanh(gamma * entries[k] + coef0)
    else:
        assert form == LINEAR
        for k in range(len(entries)):
            out[k] = entries[k]


@helper
def _power(base: float, degree: int) -> float:
    power = 1.0
    while degree > 0:
        if degree % 2 == 1:
            power *= base
        base *= base
        degree //= 2
    return power


@helper
def _exponential(
    entries: Doubles, factor: float, x: Doubles, shifted: Doubles, out: Singles
) -> None:
    """Write exp(factor · entry) for a block of entries, computed as in the reference twin."""
    size = len(entries)
    bits = shifted.view(np.int64)
    for k in range(size):
        exponent = entries[k] * factor
        x[k] = exponent if exponent > -LARGEST_EXPONENT else -LARGEST_EXPONENT
    for k in range(size):
        shifted[k] = x[k] * LOG2_E + ROUNDER
    for k in range(size):
        r = x[k] - (shifted[k] - ROUNDER) * LN2
        series = _T10 * r + _T9
        series = series * r + _T8
        series = series * r + _T7
        series = series * r + _T6
        series = series * r + _T5
        series = series * r + _T4
        series = series * r + _T3
        series = series * r + _T2
        series = series * r + _T1
        x[k] = series * r + _T0
    for k in range(size):
        bits[k] = (bits[k] + _EXPONENT_BIAS) << _EXPONENT_SHIFT
    for k in range(size):
        out[k] = x[k] * shifted[k]
