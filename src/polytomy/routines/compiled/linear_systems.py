"""Compiled: linear systems with a positive definite matrix, for the steps of Newton's method."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiling import fused_helper, summing_helper

Floats = NDArray[np.float64]


@fused_helper
def solve_positive(matrix: Floats, vector: Floats, n: int, least: float) -> bool:
    """Solve the first n equations in place by Cholesky factors.

    Only the part of the matrix on and below its diagonal is read, and it is overwritten. Pivots
    below the fraction `least` of their diagonal entry are raised to it. Return False if a pivot is
    not positive.
    """
    for a in range(n):
        for b in range(a):
            matrix[a, b] = (matrix[a, b] - _dot(matrix[a], matrix[b], b)) / matrix[b, b]
        pivot = max(matrix[a, a] - _dot(matrix[a], matrix[a], a), least * matrix[a, a])
        if not pivot > 0.0:
            return False
        matrix[a, a] = np.sqrt(pivot)
        vector[a] = (vector[a] - _dot(matrix[a], vector, a)) / matrix[a, a]
    for a in range(n - 1, -1, -1):
        vector[a] /= matrix[a, a]
        for b in range(a):
            vector[b] -= vector[a] * matrix[a, b]
    return True


@summing_helper
def _dot(one: Floats, other: Floats, n: int) -> float:
    """Return the inner product of the first n components of two vectors."""
    total = 0.0
    for i in range(n):
        total += one[i] * other[i]
    return total
