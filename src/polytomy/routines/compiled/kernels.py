"""Compiled kernel functions of support vector machines, on small blocks of inner products.

These are helpers of other compiled routines. A block is a two-dimensional array whose last index is
the *lane*. Loops over lanes are vector operations, on as many whole vectors as are in use.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiling import fused_helper
from polytomy.routines.reference.banks import KINDS, Floats, Function

__all__ = ["VECTOR", "exponentials", "kernel_values", "squares_from_products"]

VECTOR = 16
"""Lanes of a vector; a block has a multiple of this number."""

_LINEAR, _RBF, _POLY, _SIGMOID = KINDS.values()

# exp(x) = 2^k exp(r) with an integer k and |r| <= log(2)/2. Adding and subtracting _ROUNDER gives
# the nearest integer, which is also in the lowest bits of the sum.
_ROUNDER = 1.5 * 2.0**52
_LEAST_EXPONENT = -708.0
_LOG2_E = 1.4426950408889634
_LOG_2_HIGH = 6.93145751953125e-1
_LOG_2_LOW = 1.4286068203094172e-6


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


@fused_helper
def kernel_values(
    products: Floats,
    function: Function,
    n_vectors: int,
    values: NDArray[np.float64],
    bits: NDArray[np.int64],
) -> None:
    """Set `values` to kernel values, from |x − y|² for the rbf kernel and from x·y for others."""
    n_rows, n_lanes = len(products), n_vectors * VECTOR
    kind, gamma, degree, coef0 = function
    if kind == _RBF:
        gamma, coef0 = -gamma, 0.0
    elif kind == _LINEAR:
        gamma, coef0 = 1.0, 0.0
    for k in range(n_rows):
        for lane in range(n_lanes):
            values[k, lane] = gamma * products[k, lane] + coef0
    if kind == _RBF:
        exponentials(values, n_vectors, bits)
    elif kind == _POLY:
        _powers(values, degree, n_vectors, bits)
    elif kind == _SIGMOID:
        # tanh(x) = (1 − e) / (1 + e) with e = exp(−2|x|), for x >= 0
        for k in range(n_rows):
            for lane in range(n_lanes):
                values[k, lane] = -2.0 * abs(values[k, lane])
        exponentials(values, n_vectors, bits)
        for k in range(n_rows):
            for lane in range(n_lanes):
                size = (1.0 - values[k, lane]) / (1.0 + values[k, lane])
                values[k, lane] = np.copysign(size, gamma * products[k, lane] + coef0)


@fused_helper
def _powers(
    values: NDArray[np.float64], degree: int, n_vectors: int, bits: NDArray[np.int64]
) -> None:
    """Raise values to an integer power by squaring; `bits` is a workspace."""
    n_rows, n_lanes = len(values), n_vectors * VECTOR
    base = bits.view(np.float64)
    for k in range(n_rows):
        for lane in range(n_lanes):
            base[k, lane] = values[k, lane]
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


@fused_helper
def exponentials(values: NDArray[np.float64], n_vectors: int, bits: NDArray[np.int64]) -> None:
    """Replace values, all at most zero, by their exponentials; `bits` is a workspace."""
    powers = bits.view(np.float64)
    n_lanes = n_vectors * VECTOR
    for k in range(len(values)):
        for lane in range(n_lanes):
            # Smaller values would give subnormal numbers, which are not needed.
            x = max(values[k, lane], _LEAST_EXPONENT)
            rounded = x * _LOG2_E + _ROUNDER
            powers[k, lane] = rounded
            whole = rounded - _ROUNDER
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
