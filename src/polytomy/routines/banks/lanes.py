"""Products of a slab of vectors with a chunk of samples in lanes, and sums over machines.

These are helpers of :mod:`polytomy.routines.banks.compiled`, which explains lanes and slabs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.banks.kernel_values import VECTOR
from polytomy.routines.banks.reference import Floats, Indices
from polytomy.routines.runtime.compiling import fused_helper, inlined_helper

__all__ = ["LANES", "SLAB", "add_multiple", "add_to_scores", "add_to_sums", "compute_products"]

LANES = 128
SLAB = 8


@fused_helper
def compute_products(
    slab: Floats, lanes: Floats, by_distance: bool, n_vectors: int, products: Floats
) -> None:
    """Set `products` to |x − y|² or x·y for the vectors y of a slab and the lanes x."""
    n_lanes = n_vectors * VECTOR
    for i in range(SLAB):
        for lane in range(n_lanes):
            products[i, lane] = 0
    for i in range(0, SLAB, 4):
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
                for lane in range(n_lanes):
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
                for lane in range(n_lanes):
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
    # Added one by one, so that each term is one difference and one fused operation.
    return total + (a - p) ** 2 + (b - q) ** 2 + (c - r) ** 2 + (d - s) ** 2


@fused_helper
def _add_products(
    total: float, a: float, b: float, c: float, d: float, p: float, q: float, r: float, s: float
) -> Any:
    return total + a * p + b * q + c * r + d * s


@fused_helper
def add_to_sums(
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
            add_multiple(coefficients[t], values, k, n_vectors, sums, machines[t])


@inlined_helper
def add_multiple(
    factor: float, source: Floats, row: int, n_vectors: int, target: Floats, target_row: int
) -> None:
    """Add a multiple of a row of lanes to a row of another array."""
    if n_vectors * VECTOR == LANES:
        # The usual case, in which the compiler knows the length of the loop.
        for lane in range(LANES):
            target[target_row, lane] += factor * source[row, lane]
    else:
        for lane in range(n_vectors * VECTOR):
            target[target_row, lane] += factor * source[row, lane]


@fused_helper
def add_to_scores(
    sums: NDArray[np.float64], n_lanes: int, first: int, scores: NDArray[np.float64]
) -> None:
    """Add the sums of all machines to the scores of a chunk of samples."""
    for lane in range(n_lanes):
        for machine in range(len(sums)):
            scores[first + lane, machine] += sums[machine, lane]
