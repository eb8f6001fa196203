"""Kernel values made from entries of a shared matrix, in plain NumPy: the oracle of its twin.

The matrix holds what many kernels have in common: inner products, squared distances, or finished
kernel values where there is one kernel only. Of one that is too large, rows are made when they are
needed. Kernel values are in single precision, as are those
that LIBSVM keeps; all else is in double precision, so that they are rounded once, as LIBSVM's are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FINISHED",
    "LARGEST_EXPONENT",
    "LINEAR",
    "LN2",
    "LOG2_E",
    "POLY",
    "RBF",
    "ROUNDER",
    "SIGMOID",
    "TAYLOR",
    "RowMaker",
    "kernel_values",
    "made_entries",
    "nothing_to_make",
    "store_products",
]

LINEAR, RBF, POLY, SIGMOID, FINISHED = range(5)
"""How an entry becomes a kernel value: as it is; exp(−γx); (γx + coef0)^degree; tanh(γx + coef0).

The first four are the kinds of `reference_banks`. The last is for kernel values of any kind.
"""

LARGEST_EXPONENT = 87.0
"""exp(−87) is nearly the smallest normal number in single precision; beyond, nothing is seen."""

LN2 = math.log(2)
LOG2_E = math.log2(math.e)
ROUNDER = 1.5 * 2**52
"""Added to a number, it leaves the nearest integer in the lowest bits of the sum."""

TAYLOR = tuple(1 / math.factorial(k) for k in range(10, -1, -1))
"""1/10! … 1/0!: on [−ln 2 / 2, ln 2 / 2] the terms left out are below 1e-12."""


class RowMaker(NamedTuple):
    """What rows of a matrix are made from when they are needed, and where those are that are made.

    Attributes
    ----------
    features : float64 array of shape (n_features, n); no columns where all rows are there already
    squares : float64 array of shape (n,), |x|²
    kind : LINEAR, RBF, POLY or SIGMOID, the kernel of finished values
    slot_of : int64 array of shape (n,), where a row is kept, or −1
    row_in : int64 array of shape (n_slots,), the row that is kept there, or −1
    next_slot : int64 array of shape (1,), the slot to fill next
    """

    features: NDArray[np.float64]
    squares: NDArray[np.float64]
    kind: int
    slot_of: NDArray[np.int64]
    row_in: NDArray[np.int64]
    next_slot: NDArray[np.int64]


def nothing_to_make() -> RowMaker:
    """Return the maker of a matrix that has all its rows."""
    none = np.empty(0, dtype=np.int64)
    return RowMaker(np.empty((0, 0)), np.empty(0), LINEAR, none, none, none)


def made_entries(maker: RowMaker, row: int) -> NDArray[np.float64]:
    """Return the entries of a row of the matrix: inner products or, for the kind RBF, distances."""
    entries = np.zeros(maker.features.shape[1])
    for feature in maker.features:  # in this order, as the twin adds them
        entries += feature[row] * feature
    if maker.kind == RBF:
        entries = np.maximum(maker.squares[row] + maker.squares - 2.0 * entries, 0.0)
    return entries


def kernel_values(
    entries: NDArray[np.float64], form: int, gamma: float, degree: int, coef0: float
) -> NDArray[np.float32]:
    """Return the kernel values of entries of the shared matrix.

    Parameters
    ----------
    entries : float64 array
    form : LINEAR, RBF, POLY or SIGMOID
    gamma, degree, coef0 : float, int, float

    Returns
    -------
    float32 array of the same shape
    """
    values = entries
    if form == RBF:
        return _exponential(entries * -gamma)
    if form == POLY:
        values = np.ones_like(entries)
        for _ in range(degree):
            values *= gamma * entries + coef0
    elif form == SIGMOID:
        # Not np.tanh, which may differ from the C library's in the last bit.
        values = np.vectorize(math.tanh, otypes=[np.float64])(gamma * entries + coef0)
    return values.astype(np.float32)


def store_products(
    products: NDArray[np.float64],
    row_squares: NDArray[np.float64],
    column_squares: NDArray[np.float64],
    form: int,
    gamma: float,
    degree: int,
    coef0: float,
    is_finished: bool,
    matrix: NDArray[np.floating],
    first_row: int,
    first_column: int,
) -> None:
    """Write a block of the shared matrix, and its mirror image, from inner products.

    Parameters
    ----------
    products : float64 array of shape (n, m), inner products x·y; may be overwritten
    row_squares, column_squares : arrays of shape (n,) and (m,), |x|² and |y|²
        Read for the form RBF only, where entries are squared distances.
    form, gamma, degree, coef0 : a kernel
    is_finished : whether to write its values, or the entries they are made from
    matrix : array of shape (N, N), float32 for kernel values, else float64; written to
    first_row, first_column : where the block begins
    """
    entries = products
    if form == RBF:
        # Rounding can make the square of a small distance negative.
        entries = np.maximum(row_squares[:, np.newaxis] + column_squares - 2.0 * products, 0.0)
    block: NDArray[np.floating] = entries
    if is_finished:
        block = kernel_values(entries, form, gamma, degree, coef0)
    rows = slice(first_row, first_row + block.shape[0])
    columns = slice(first_column, first_column + block.shape[1])
    matrix[rows, columns] = block
    matrix[columns, rows] = block.T


def _exponential(x: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return exp(x) of numbers up to zero, rounded to single precision as the exact value is.

    x = k ln 2 + r; exp(r) is a short Taylor series, 2^k is written into the exponent's bits. The
    operations are those of the compiled twin, one by one, so that the two agree to the last bit.
    """
    x = np.maximum(x, -LARGEST_EXPONENT)
    shifted = x * LOG2_E + ROUNDER
    r = x - (shifted - ROUNDER) * LN2
    series = np.full_like(x, TAYLOR[0])
    for coefficient in TAYLOR[1:]:
        series = series * r + coefficient
    # The bits below the exponent's 11 hold k; the shift drops all others.
    power = ((shifted.view(np.int64) + 1023) << 52).view(np.float64)
    return (series * power).astype(np.float32)
