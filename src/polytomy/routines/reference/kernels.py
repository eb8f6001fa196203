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

_BLOCK_BYTES = 2**22

Floats = NDArray[np.float64]
Function = tuple[int, float, int, float]
"""A kernel function: the number of its kind, gamma, degree and coef0."""


class MatrixRows(NamedTuple):
    """The rows of a symmetric matrix from which kernel values are computed.

    Many problems use one matrix. If they all have the same kernel, it holds kernel values;
    otherwise it holds what the kernels have in common: inner products or squared distances. If the
    matrix is too large, its rows are computed when needed.

    Attributes
    ----------
    kernel_values : float32 array of shape (n_rows, n), empty if the matrix holds entries
    entries : float64 array of shape (n_rows, n), empty if the matrix holds kernel values
    maker : RowMaker, which computes missing rows
    """

    kernel_values: NDArray[np.float32]
    entries: Floats
    maker: RowMaker


class RowMaker(NamedTuple):
    """Computes rows of a matrix when needed, and caches some of them in slots.

    Attributes
    ----------
    features : float64 array of shape (n_features, n); empty if the matrix has all its rows
    squares : float64 array of shape (n,), |x|²
    kind : number of the kernel's kind
    slot_of : int64 array of shape (n,), the slot that holds a row, or −1
    row_in : int64 array of shape (n_slots,), the row that a slot holds, or −1
    next_slot : int64 array of shape (1,), the slot to fill next
    """

    features: Floats
    squares: Floats
    kind: int
    slot_of: NDArray[np.int64]
    row_in: NDArray[np.int64]
    next_slot: NDArray[np.int64]


def nothing_to_make() -> RowMaker:
    """Return the RowMaker of a matrix that has all its rows."""
    none = np.empty(0, dtype=np.int64)
    return RowMaker(np.empty((0, 0)), np.empty(0), KINDS["linear"], none, none, none)


def made_entries(maker: RowMaker, row: int) -> Floats:
    """Return a row of the matrix: inner products or squared distances."""
    entries = np.zeros(maker.features.shape[1])
    for feature in maker.features:  # in the order in which the compiled twin adds them
        entries += feature[row] * feature
    return entries_of(entries, maker.kind, maker.squares[row], maker.squares)


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
    function : the kernel
    holds_kernel_values : whether to write kernel values, or the entries they are computed from
    matrix : array of shape (N, N) to write to, float32 for kernel values, otherwise float64
    first_row, first_column : where the block begins
    """
    spend(5e-5 + 4e-8 * products.size)
    entries = entries_of(products, function[0], row_squares, column_squares)
    block = rounded_values(entries, *function) if holds_kernel_values else entries
    rows = slice(first_row, first_row + block.shape[0])
    columns = slice(first_column, first_column + block.shape[1])
    matrix[rows, columns] = block
    matrix[columns, rows] = block.T


def transform_products(
    products: NDArray[Any],
    row_squares: NDArray[Any],
    column_squares: NDArray[Any],
    function: Function,
) -> None:
    """Replace a matrix of inner products by kernel values, in place; see `entries_of`."""
    spend(1e-4 + 2e-8 * products.size)
    for block in blocks_of_samples(*products.shape):
        entries = entries_of(products[block], function[0], row_squares[block], column_squares)
        products[block] = exact_values(entries, function)


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


class Kernel(NamedTuple):
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
    "linear": Kernel(False, _linear, _linear),
    "rbf": Kernel(True, _rounded_rbf, _rbf),
    "poly": Kernel(False, _poly, _poly),
    "sigmoid": Kernel(False, _rounded_sigmoid, _sigmoid),
}
"""The kinds of kernels by scikit-learn's names."""

KINDS = {name: number for number, name in enumerate(KERNELS)}
"""The numbers by which routines know the kinds."""

KERNEL_VALUES = len(KERNELS)
"""Takes the place of a kind if a matrix holds kernel values, and not entries."""

_KERNELS = tuple(KERNELS.values())
IS_OF_DISTANCES = tuple(kernel.is_of_distances for kernel in _KERNELS)
