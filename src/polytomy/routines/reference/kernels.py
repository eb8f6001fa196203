"""Kernel functions of support vector machines, in plain NumPy: the oracle of the compiled twins.

A kernel value is computed from an *entry*: the inner product x·y or the squared distance |x − y|²
of two samples. Training and prediction compute it differently:

- Training *rounds* it to single precision, as LIBSVM does. Entries are in double precision, so that
  each kernel value is rounded once. Both twins do the same operations and agree to the last bit.
- Prediction needs it *exactly*, in double precision, and as fast as possible.

`KERNELS` has the formulas of each kernel, and `compiled/kernels.py` has the compiled ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.dispatch import spend

LARGEST_EXPONENT = 87.0
"""exp(−87) is close to the smallest normal number in single precision; smaller values are not
needed."""

LN2 = math.log(2)
LOG2_E = math.log2(math.e)
ROUNDER = 1.5 * 2**52
"""Adding it to a number leaves the nearest integer in the lowest bits of the sum."""

TAYLOR = tuple(1 / math.factorial(k) for k in range(10, -1, -1))
"""1/10! … 1/0!: on [−ln 2 / 2, ln 2 / 2] the omitted terms are below 1e-12."""

_BLOCK_BYTES = 2**20

Floats = NDArray[np.float64]
Function = tuple[int, float, int, float]
"""A kernel function: the number of its kind, gamma, degree and coef0."""


class MatrixRows(NamedTuple):
    """The rows of a symmetric matrix of kernel values, which many problems use.

    If the matrix is too large, its rows are computed when needed, and some are kept in slots.

    Attributes
    ----------
    kernel_values : float32 array of shape (n_slots, n); slot i is row i if the matrix has all rows
    features : float64 array of shape (n_features, n); empty if the matrix has all its rows
    squares : float64 array of shape (n,), |x|²
    function : the kernel
    slot_of : int64 array of shape (n,), the slot that holds a row, or −1; empty if all rows are
        there
    row_in : int64 array of shape (n_slots,), the row that a slot holds, or −1
    next_slot : int64 array of shape (1,), the slot to fill next
    """

    kernel_values: NDArray[np.float32]
    features: Floats
    squares: Floats
    function: Function
    slot_of: NDArray[np.int64]
    row_in: NDArray[np.int64]
    next_slot: NDArray[np.int64]


def whole_matrix(kernel_values: NDArray[np.float32]) -> MatrixRows:
    """Return a matrix that has all its rows."""
    none = np.empty(0, dtype=np.int64)
    function = KINDS["linear"], 0.0, 0, 0.0
    return MatrixRows(kernel_values, np.empty((0, 0)), np.empty(0), function, none, none, none)


def matrix_on_demand(
    features: Floats, squares: Floats, function: Function, n_slots: int
) -> MatrixRows:
    """Return a matrix that has no rows yet, and room for some."""
    n = len(squares)
    return MatrixRows(
        np.empty((n_slots, n), dtype=np.float32),
        features,
        squares,
        function,
        np.full(n, -1, dtype=np.int64),
        np.full(n_slots, -1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


def row_of_matrix(matrix: MatrixRows, row: int) -> NDArray[np.float32]:
    """Return a row of a matrix, computed if needed."""
    if not len(matrix.slot_of):
        return matrix.kernel_values[row]
    products = np.zeros(matrix.features.shape[1])
    for feature in matrix.features:  # in the order in which the compiled twin adds them
        products += feature[row] * feature
    entries = entries_of(products, matrix.function[0], matrix.squares[row], matrix.squares)
    return rounded_values(entries, *matrix.function)


def rounded_values(
    entries: Floats, kind: int, gamma: float, degree: int, coef0: float
) -> NDArray[np.float32]:
    """Return the kernel values of entries, in single precision."""
    return _KERNELS[kind].rounded(entries, gamma, degree, coef0).astype(np.float32)


def exact_values(entries: NDArray[Any], function: Function) -> Floats:
    """Return the kernel values of entries, in double precision."""
    kind, gamma, degree, coef0 = function
    return _KERNELS[kind].exact(entries.astype(np.float64), gamma, degree, coef0)


def entries_of(products: NDArray[Any], kind: int, row_squares: Any, column_squares: Any) -> Floats:
    """Return the entries for a kind of kernel: inner products, or squared distances.

    Parameters
    ----------
    products : array of shape (n, m), inner products x·y
    kind : number of the kind
    row_squares, column_squares : arrays of shape (n,) and (m,), |x|² and |y|²
    """
    products = products.astype(np.float64)
    if not IS_OF_DISTANCES[kind]:
        return products
    # Rounding can make a small squared distance negative.
    return np.maximum(np.add.outer(row_squares, column_squares) - 2.0 * products, 0.0)


def store_products(
    products: Floats,
    row_squares: Floats,
    column_squares: Floats,
    function: Function,
    matrix: NDArray[np.float32],
    first_row: int,
    first_column: int,
) -> None:
    """Write the kernel values of a block of the matrix, and their mirror image.

    Parameters
    ----------
    products : float64 array of shape (n, m), inner products x·y; may be overwritten
    row_squares, column_squares : arrays of shape (n,) and (m,), |x|² and |y|²
    function : the kernel
    matrix : array of shape (N, N) to write to
    first_row, first_column : where the block begins
    """
    spend(5e-5 + 4e-8 * products.size)
    entries = entries_of(products, function[0], row_squares, column_squares)
    block = rounded_values(entries, *function)
    rows = slice(first_row, first_row + block.shape[0])
    columns = slice(first_column, first_column + block.shape[1])
    matrix[rows, columns] = block
    matrix[columns, rows] = block.T


def blocks_of_samples(n_samples: int, n_vectors: int) -> Iterator[slice]:
    """Yield blocks of samples whose products with all vectors take little memory."""
    size = max(1, _BLOCK_BYTES // (8 * max(1, n_vectors)))
    for first in range(0, n_samples, size):
        yield slice(first, min(n_samples, first + size))


def _linear(entries: Floats, gamma: float, degree: int, coef0: float) -> Floats:
    return entries


def _rbf(entries: Floats, gamma: float, degree: int, coef0: float) -> Floats:
    return np.asarray(np.exp(-gamma * entries))


def _rounded_rbf(entries: Floats, gamma: float, degree: int, coef0: float) -> Floats:
    """Return exp(−γ·entry), accurate enough to be rounded correctly to single precision.

    With x = k ln 2 + r, exp(r) is a short Taylor series, and 2^k is written into the bits of the
    exponent. The operations are exactly those of the compiled twin, so both agree to the last bit.
    """
    x = np.maximum(entries * -gamma, -LARGEST_EXPONENT)
    shifted = x * LOG2_E + ROUNDER
    r = x - (shifted - ROUNDER) * LN2
    series = np.full_like(x, TAYLOR[0])
    for coefficient in TAYLOR[1:]:
        series = series * r + coefficient
    # The lowest bits are k; the shift moves them into the exponent and drops all others.
    power = ((shifted.view(np.int64) + 1023) << 52).view(np.float64)
    return np.asarray(series * power)


def _poly(entries: Floats, gamma: float, degree: int, coef0: float) -> Floats:
    """Return (γ·entry + coef0)^degree by squaring, in the order of LIBSVM's products."""
    base = gamma * entries + coef0
    powers = np.ones_like(base)
    while degree > 0:
        if degree % 2 == 1:
            powers *= base
        degree //= 2
        if degree > 0:
            base = base * base
    return powers


def _sigmoid(entries: Floats, gamma: float, degree: int, coef0: float) -> Floats:
    return np.asarray(np.tanh(gamma * entries + coef0))


def _rounded_sigmoid(entries: Floats, gamma: float, degree: int, coef0: float) -> Floats:
    # Not np.tanh, which may differ from the C library's in the last bit.
    return np.asarray(np.vectorize(math.tanh, otypes=[np.float64])(gamma * entries + coef0))


class KernelFormulas(NamedTuple):
    """A kind of kernel.

    Attributes
    ----------
    is_of_distances : whether its entries are squared distances, rather than inner products
    rounded, exact : functions of entries, gamma, degree and coef0, for training and prediction
    """

    is_of_distances: bool
    rounded: Callable[[Floats, float, int, float], Floats]
    exact: Callable[[Floats, float, int, float], Floats]


KERNELS = {
    "linear": KernelFormulas(False, _linear, _linear),
    "rbf": KernelFormulas(True, _rounded_rbf, _rbf),
    "poly": KernelFormulas(False, _poly, _poly),
    "sigmoid": KernelFormulas(False, _rounded_sigmoid, _sigmoid),
}
"""The kinds of kernels by scikit-learn's names."""

KINDS = {name: number for number, name in enumerate(KERNELS)}
"""The numbers by which routines know the kinds."""

_KERNELS = tuple(KERNELS.values())
IS_OF_DISTANCES = tuple(kernel.is_of_distances for kernel in _KERNELS)
