"""Compiled twin of :mod:`polytomy.routines.reference.kernels`: the formulas of kernels.

Each kind of kernel has two functions, which are listed in `KERNELS`. The *rounded* one writes the
kernel values of a row of entries in single precision, for training; it does the operations of the
reference twin. The *exact* one writes those of a block in double precision, for prediction. A
block is a two-dimensional array whose last index is the *lane*. Loops over lanes are vector
operations, on as many whole vectors as are in use.

All loops are written so that the compiler turns them into vector instructions: no loop both
branches and reduces, and none writes to more than one array. Slices are not assigned to slices,
because the check that their sizes agree takes longer to compile than everything else.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiling import entry, fused_helper, helper
from polytomy.routines.reference import kernels as reference
from polytomy.routines.reference.kernels import (
    IS_OF_DISTANCES,
    LARGEST_EXPONENT,
    LN2,
    LOG2_E,
    ROUNDER,
    TAYLOR,
    Function,
)
from polytomy.routines.threads import run_aside

Floats = NDArray[Any]
Doubles = NDArray[np.float64]
Singles = NDArray[np.float32]
Bits = NDArray[np.int64]
Flag = NDArray[np.int64]

BLOCK = 512
"""Length of the parts in which a row of entries is transformed."""

VECTOR = 16
"""Lanes of a vector; a block has a multiple of this number."""

_COST_OF_VALUE = 1.0  # nanoseconds, approximately
_TILE = 16

_EXPONENT_BIAS, _EXPONENT_SHIFT = np.int64(1023), np.int64(52)
_T10, _T9, _T8, _T7, _T6, _T5, _T4, _T3, _T2, _T1, _T0 = TAYLOR

# exp(x) = 2^k exp(r) with an integer k and |r| <= log(2)/2.
_LEAST_EXPONENT = -708.0
_LOG_2_HIGH = 6.93145751953125e-1
_LOG_2_LOW = 1.4286068203094172e-6

_NEAR_ZERO = 4e-3
"""Up to this x, the omitted terms of the series of tanh(x) are below the last digit."""


@helper
def _rounded_linear(function: Function, entries: Doubles, scratch: Doubles, out: Singles) -> None:
    for k in range(len(entries)):
        out[k] = entries[k]


@fused_helper
def _exact_linear(
    function: Function, products: Floats, n_vectors: int, values: Doubles, bits: Bits
) -> None:
    for k in range(len(products)):
        for lane in range(n_vectors * VECTOR):
            values[k, lane] = products[k, lane]


@helper
def _rounded_rbf(function: Function, entries: Doubles, scratch: Doubles, out: Singles) -> None:
    """Write exp(−γ·entry), computed as in the reference twin."""
    factor, x, shifted = -function[1], scratch[0], scratch[1]
    size, bits = len(entries), shifted.view(np.int64)
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


@fused_helper
def _exact_rbf(
    function: Function, products: Floats, n_vectors: int, values: Doubles, bits: Bits
) -> None:
    for k in range(len(products)):
        for lane in range(n_vectors * VECTOR):
            values[k, lane] = -function[1] * products[k, lane]
    exponentials(values, n_vectors, bits)


@helper
def _rounded_poly(function: Function, entries: Doubles, scratch: Doubles, out: Singles) -> None:
    for k in range(len(entries)):
        base, power, degree = function[1] * entries[k] + function[3], 1.0, function[2]
        while degree > 0:
            if degree % 2 == 1:
                power *= base
            base *= base
            degree //= 2
        out[k] = power


@fused_helper
def _exact_poly(
    function: Function, products: Floats, n_vectors: int, values: Doubles, bits: Bits
) -> None:
    """Raise γ·entry + coef0 to an integer power by squaring; `bits` is a workspace."""
    n_rows, n_lanes = len(products), n_vectors * VECTOR
    base, degree = bits.view(np.float64), function[2]
    for k in range(n_rows):
        for lane in range(n_lanes):
            base[k, lane] = function[1] * products[k, lane] + function[3]
            values[k, lane] = 1.0
    while degree > 0:
        if degree % 2 == 1:
            for k in range(n_rows):
                for lane in range(n_lanes):
                    values[k, lane] *= base[k, lane]
        degree //= 2
        for k in range(n_rows if degree > 0 else 0):
            for lane in range(n_lanes):
                base[k, lane] *= base[k, lane]


@helper
def _rounded_sigmoid(function: Function, entries: Doubles, scratch: Doubles, out: Singles) -> None:
    for k in range(len(entries)):
        out[k] = math.tanh(function[1] * entries[k] + function[3])


@fused_helper
def _exact_sigmoid(
    function: Function, products: Floats, n_vectors: int, values: Doubles, bits: Bits
) -> None:
    """Compute tanh(x) = (1 − e) / (1 + e) with e = exp(−2|x|), for x >= 0.

    Near zero, where 1 − e loses digits, it is a short Taylor series.
    """
    n_rows, n_lanes = len(products), n_vectors * VECTOR
    for k in range(n_rows):
        for lane in range(n_lanes):
            values[k, lane] = -2.0 * abs(function[1] * products[k, lane] + function[3])
    exponentials(values, n_vectors, bits)
    for k in range(n_rows):
        for lane in range(n_lanes):
            x = function[1] * products[k, lane] + function[3]
            size = (1.0 - values[k, lane]) / (1.0 + values[k, lane])
            series = x + x * (x * x) * (x * x * (2 / 15.0) - 1 / 3.0)
            values[k, lane] = series if abs(x) < _NEAR_ZERO else np.copysign(size, x)


@fused_helper
def exponentials(values: Doubles, n_vectors: int, bits: Bits) -> None:
    """Replace values, all at most zero, by their exponentials; `bits` is a workspace."""
    powers = bits.view(np.float64)
    n_lanes = n_vectors * VECTOR
    for k in range(len(values)):
        for lane in range(n_lanes):
            # Smaller values would give subnormal numbers, which are not needed.
            x = max(values[k, lane], _LEAST_EXPONENT)
            rounded = x * LOG2_E + ROUNDER
            powers[k, lane] = rounded
            whole = rounded - ROUNDER
            r = (x - whole * _LOG_2_HIGH) - whole * _LOG_2_LOW
            # Taylor series; its next term is below the last digit.
            e = 1 / 479001600.0
            e = e * r + 1 / 39916800.0
            e = e * r + 1 / 3628800.0
            e = e * r + 1 / 362880.0
            e = e * r + 1 / 40320.0
            e = e * r + 1 / 5040.0
            e = e * r + 1 / 720.0
            e = e * r + 1 / 120.0
            e = e * r + 1 / 24.0
            e = e * r + 1 / 6.0
            e = e * r + 0.5
            e = e * r + 1.0
            values[k, lane] = e * r + 1.0
        for lane in range(n_lanes):
            bits[k, lane] = (bits[k, lane] + 1023) << 52
        for lane in range(n_lanes):
            values[k, lane] *= powers[k, lane]


KERNELS = {
    "linear": (_rounded_linear, _exact_linear),
    "rbf": (_rounded_rbf, _exact_rbf),
    "poly": (_rounded_poly, _exact_poly),
    "sigmoid": (_rounded_sigmoid, _exact_sigmoid),
}
"""The compiled formulas of the kernels in the reference twin, for training and prediction."""


_LINEAR, _RBF, _POLY, _SIGMOID = (reference.KINDS[name] for name in KERNELS)

# The choice is written out, not made by a function that returns compiled functions: Numba's cache
# takes functions of the same name in one place of the source for the same.


@helper
def rounded_values(function: Function, entries: Doubles, scratch: Doubles, out: Singles) -> None:
    """Write the kernel values of at most BLOCK entries; `scratch` has shape (2, BLOCK) or more."""
    if function[0] == _LINEAR:
        _rounded_linear(function, entries, scratch, out)
    elif function[0] == _RBF:
        _rounded_rbf(function, entries, scratch, out)
    elif function[0] == _POLY:
        _rounded_poly(function, entries, scratch, out)
    elif function[0] == _SIGMOID:
        _rounded_sigmoid(function, entries, scratch, out)


@fused_helper
def exact_values(
    function: Function, products: Floats, n_vectors: int, values: Doubles, bits: Bits
) -> None:
    """Write the kernel values of a block of entries; `bits` is a workspace of the same shape."""
    if function[0] == _LINEAR:
        _exact_linear(function, products, n_vectors, values, bits)
    elif function[0] == _RBF:
        _exact_rbf(function, products, n_vectors, values, bits)
    elif function[0] == _POLY:
        _exact_poly(function, products, n_vectors, values, bits)
    elif function[0] == _SIGMOID:
        _exact_sigmoid(function, products, n_vectors, values, bits)


@fused_helper
def squares_from_products(
    products: Floats, vector_squares: Floats, sample_squares: Floats, n_vectors: int
) -> None:
    """Replace x·y by |x − y|²."""
    n_lanes = n_vectors * VECTOR
    for k in range(len(products)):
        for lane in range(n_lanes):
            square = vector_squares[k] + sample_squares[lane] - 2 * products[k, lane]
            # Rounding can make a small squared distance negative.
            products[k, lane] = max(square, 0)


def as_numbers(function: Function) -> Function:
    """Convert a kernel function to the types that the entries are compiled for."""
    kind, gamma, degree, coef0 = function
    return int(kind), float(gamma), int(degree), float(coef0)


def store_products(
    products: Doubles,
    row_squares: Doubles,
    column_squares: Doubles,
    function: Function,
    matrix: Singles,
    first_row: int,
    first_column: int,
) -> None:
    """Write the kernel values of a block of the matrix, and their mirror image."""
    squares, place = (row_squares, column_squares), (first_row, first_column)
    run_aside(
        _store_products,
        *(*squares, as_numbers(function), place),
        outputs=[products, matrix],
        cost=_COST_OF_VALUE * products.size,
    )


@entry
def _store_products(
    row_squares: Doubles,
    column_squares: Doubles,
    function: Function,
    place: tuple[int, int],
    products: Doubles,
    matrix: Singles,
    stop: Flag,
) -> None:
    (n_rows, n_columns), (first_row, first_column) = products.shape, place
    scratch, tile = np.empty((2, BLOCK)), np.empty((_TILE, n_columns), np.float32)
    for first in range(0, n_rows, _TILE):
        size = min(_TILE, n_rows - first)
        for i in range(size):
            row, values = products[first + i], tile[i]
            if IS_OF_DISTANCES[function[0]]:
                row_square = row_squares[first + i]
                for j in range(n_columns):
                    square = row_square + column_squares[j] - 2.0 * row[j]
                    row[j] = square if square > 0.0 else 0.0
            for begin in range(0, n_columns, BLOCK):
                end = min(begin + BLOCK, n_columns)
                rounded_values(function, row[begin:end], scratch, values[begin:end])
            for j in range(n_columns):
                matrix[first_row + first + i, first_column + j] = values[j]
        if first_row == first_column:
            continue
        # Several rows at a time, so that the mirror image is written in contiguous runs.
        for j in range(n_columns):
            for i in range(size):
                matrix[first_column + j, first_row + first + i] = tile[i, j]
