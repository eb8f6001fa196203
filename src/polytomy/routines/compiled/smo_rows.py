"""Kernel values of a problem's samples, row by row from a matrix, with a cache of rows.

These are helpers of :mod:`polytomy.routines.compiled.smo`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiled.kernels import BLOCK, rounded_values
from polytomy.routines.compiling import helper
from polytomy.routines.reference.kernels import (
    IS_OF_DISTANCES,
    KERNEL_VALUES,
    Function,
    MatrixRows,
)

__all__ = [
    "KernelRows",
    "fill_row",
    "forget_rows",
    "has_own_rows",
    "keep_rows",
    "load_all_rows",
    "load_row",
    "row_in",
]

Singles = NDArray[np.float32]


class KernelRows(NamedTuple):
    """Kernel values of a problem's samples, computed row by row from the matrix and cached.

    Attributes
    ----------
    matrix, form, columns : as for `train_machines`
    is_whole : whether the problem has all columns of the matrix, in the same order
    kernel : gamma, degree and coef0, float64 array of shape (3,)
    cache : float32 array of two or more rows, one after the other; a row has the kernel values of
        one sample with the considered samples, in order
    slot_of : the row of the cache for each sample, or −1, shape (m,)
    sample_in : the sample whose row is in each slot, or −1, shape (m,)
    state : length of a row, number of slots, the slot to fill next
    scratch : float64 array of shape (3, block), a workspace
    """

    matrix: MatrixRows
    form: int
    columns: NDArray[np.int64]
    is_whole: bool
    kernel: NDArray[np.float64]
    cache: Singles
    slot_of: NDArray[np.int64]
    sample_in: NDArray[np.int64]
    state: NDArray[np.int64]
    scratch: NDArray[np.float64]


@helper
def keep_rows(
    matrix: MatrixRows, form: int, columns: NDArray[np.int64], kernel: Any, cache: Singles
) -> Any:
    """Return an empty cache of rows."""
    is_whole = len(columns) == max(matrix.kernel_values.shape[1], matrix.entries.shape[1])
    for k in range(len(columns)):
        is_whole = is_whole and columns[k] == k
    slot_of, sample_in = np.empty(len(columns), np.int64), np.empty(len(columns), np.int64)
    state, scratch = np.empty(3, np.int64), np.empty((3, BLOCK))
    rows = KernelRows(
        matrix, form, columns, is_whole, kernel, cache, slot_of, sample_in, state, scratch
    )
    forget_rows(rows, len(columns))
    return rows


@helper
def has_own_rows(rows: KernelRows) -> bool:
    """Return whether rows of the matrix can be used as rows of the problem, unchanged."""
    return rows.form == KERNEL_VALUES and rows.is_whole and len(rows.matrix.maker.slot_of) == 0


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
    if len(rows.matrix.maker.slot_of) > 0:
        slot = rows.matrix.maker.slot_of[row]
        row = slot if slot >= 0 else _make_row(rows, row)
    is_all = rows.is_whole and n == len(rows.columns)
    if rows.form == KERNEL_VALUES:
        values = rows.matrix.kernel_values[row]
        if is_all:
            for k in range(n):
                out[k] = values[k]
        else:
            for k in range(n):
                out[k] = values[rows.columns[considered[k]]]
        return
    entries, gathered = rows.matrix.entries[row], rows.scratch[2]
    function = _function(rows, rows.form)
    for first in range(0, n, BLOCK):
        size = min(BLOCK, n - first)
        if is_all:
            for k in range(size):
                gathered[k] = entries[first + k]
        else:
            for k in range(size):
                gathered[k] = entries[rows.columns[considered[first + k]]]
        rounded_values(function, gathered[:size], rows.scratch, out[first : first + size])


@helper
def _function(rows: KernelRows, kind: int) -> Function:
    return kind, rows.kernel[0], int(rows.kernel[1]), rows.kernel[2]


@helper
def _make_row(rows: KernelRows, row: int) -> int:
    """Compute a row of the matrix, and return the slot that holds it."""
    maker = rows.matrix.maker
    slot = maker.next_slot[0]
    maker.next_slot[0] = (slot + 1) % len(maker.row_in)
    if maker.row_in[slot] >= 0:
        maker.slot_of[maker.row_in[slot]] = -1
    maker.row_in[slot] = row
    maker.slot_of[row] = slot
    function = _function(rows, maker.kind)
    n_features, n_rows = maker.features.shape
    made = rows.scratch[2]
    for first in range(0, n_rows, BLOCK):
        size = min(BLOCK, n_rows - first)
        for k in range(size):
            made[k] = 0.0
        for f in range(n_features):
            factor, feature = maker.features[f, row], maker.features[f, first : first + size]
            for k in range(size):
                made[k] += factor * feature[k]
        if IS_OF_DISTANCES[maker.kind]:
            square, squares = maker.squares[row], maker.squares[first : first + size]
            for k in range(size):
                distance = square + squares[k] - 2.0 * made[k]
                made[k] = distance if distance > 0.0 else 0.0
        if rows.form == KERNEL_VALUES:
            out = rows.matrix.kernel_values[slot, first : first + size]
            rounded_values(function, made[:size], rows.scratch, out)
        else:
            kept = rows.matrix.entries[slot, first : first + size]
            for k in range(size):
                kept[k] = made[k]
    return slot
