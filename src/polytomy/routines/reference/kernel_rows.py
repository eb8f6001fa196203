"""Kernel values from the entries of a matrix, in plain NumPy: the oracle of the compiled twin.

Many problems use one matrix. If they all have the same kernel, its entries are kernel values;
otherwise they are what the kernels have in common: inner products or squared distances. If the
matrix is too large, its rows are computed when needed. Kernel values are in single precision, as in
LIBSVM; everything else is in double precision, so that each kernel value is rounded once, as in
LIBSVM.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.reference.banks import integer_powers

__all__ = [
    "KERNEL_VALUES",
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

LINEAR, RBF, POLY, SIGMOID, KERNEL_VALUES = range(5)
"""Forms of a matrix, which define how an entry x becomes a kernel value.

They are x itself; exp(−γx); (γx + coef0)^degree; tanh(γx + coef0); and x itself again, for a matrix
whose entries are already kernel values. The first four are KINDS of `routines.reference.banks`.
"""

LARGEST_EXPONENT = 87.0
"""exp(−87) is close to the smallest normal number in single precision; smaller values are not
needed."""

LN2 = math.log(2)
LOG2_E = math.log2(math.e)
ROUNDER = 1.5 * 2**52
"""Adding it to a number leaves the nearest integer in the lowest bits of the sum."""

TAYLOR = tuple(1 / math.factorial(k) for k in range(10, -1, -1))
"""1/10! … 1/0!: on [−ln 2 / 2, ln 2 / 2] the omitted terms are below 1e-12."""


class RowMaker(NamedTuple):
    """Computes rows of a matrix when needed, and caches some of them in slots.

    Attributes
    ----------
    features : float64 array of shape (n_features, n); empty if the matrix has all its rows
    squares : float64 array of shape (n,), |x|²
    kind : LINEAR, RBF, POLY or SIGMOID, the kind of the kernel
    slot_of : int64 array of shape (n,), the slot that holds a row, or −1
    row_in : int64 array of shape (n_slots,), the row that a slot holds, or −1
    next_slot : int64 array of shape (1,), the slot to fill next
    """

    features: NDArray[np.float64]
    squares: NDArray[np.float64]
    kind: int
    slot_of: NDArray[np.int64]
    row_in: NDArray[np.int64]
    next_slot: NDArray[np.int64]


def nothing_to_make() -> RowMaker:
    """Return the RowMaker of a matrix that has all its rows."""
    none = np.empty(0, dtype=np.int64)
    return RowMaker(np.empty((0, 0)), np.empty(0), LINEAR, none, none, none)


def made_entries(maker: RowMaker, row: int) -> NDArray[np.float64]:
    """Return a row of the matrix: inner products, or squared distances for the kind RBF."""
    entries = np.zeros(maker.features.shape[1])
    for feature in maker.features:  # in the order in which the compiled twin adds them
        entries += feature[row] * feature
    if maker.kind == RBF:
        entries = np.maximum(maker.squares[row] + maker.squares - 2.0 * entries, 0.0)
    return entries


def kernel_values(
    entries: NDArray[np.float64], form: int, gamma: float, degree: int, coef0: float
) -> NDArray[np.float32]:
    """Return the kernel values of entries of the matrix.

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
        values = integer_powers(gamma * entries + coef0, degree)
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
    holds_kernel_values: bool,
    matrix: NDArray[np.floating],
    first_row: int,
    first_column: int,
) -> None:
    """Write a block of the matrix and its mirror image, from inner products.

    Parameters
    ----------
    products : float64 array of shape (n, m), inner products x·y; may be overwritten
    row_squares, column_squares : arrays of shape (n,) and (m,), |x|² and |y|²
        Only used for the form RBF, whose entries are squared distances.
    form, gamma, degree, coef0 : the kernel
    holds_kernel_values : whether to write kernel values, or the entries they are computed from
    matrix : array of shape (N, N) to write to, float32 for kernel values, otherwise float64
    first_row, first_column : where the block begins
    """
    entries = products
    if form == RBF:
        # Rounding can make a small squared distance negative.
        entries = np.maximum(row_squares[:, np.newaxis] + column_squares - 2.0 * products, 0.0)
    block: NDArray[np.floating] = entries
    if holds_kernel_values:
        block = kernel_values(entries, form, gamma, degree, coef0)
    rows = slice(first_row, first_row + block.shape[0])
    columns = slice(first_column, first_column + block.shape[1])
    matrix[rows, columns] = block
    matrix[columns, rows] = block.T


def _exponential(x: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return exp(x) for x ≤ 0, correctly rounded to single precision.

    With x = k ln 2 + r, exp(r) is a short Taylor series, and 2^k is written into the bits of the
    exponent. The operations are exactly those of the compiled twin, so both agree to the last bit.
    """
    x = np.maximum(x, -LARGEST_EXPONENT)
    shifted = x * LOG2_E + ROUNDER
    r = x - (shifted - ROUNDER) * LN2
    series = np.full_like(x, TAYLOR[0])
    for coefficient in TAYLOR[1:]:
        series = series * r + coefficient
    # The lowest bits are k; the shift moves them into the exponent and drops all others.
    power = ((shifted.view(np.int64) + 1023) << 52).view(np.float64)
    return (series * power).astype(np.float32)
