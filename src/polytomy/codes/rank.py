"""Rank of a code, and whether it determines the class probabilities: exact, not floating.

A floating-point rank needs a tolerance, and none suits all codes. The triangle with −1 on and 1
above its diagonal, a part of every chain of dichotomies, has determinant ±1 but a singular value
that shrinks like 2⁻ⁿ: from sixty classes on it looks singular. So all arithmetic here is that of
the integers modulo the prime 2³¹ − 1. A rank modulo a prime is never above the true one, and below
it only where the prime divides every largest non-zero minor: for a code that was not made to
deceive, with a chance of about one in two thousand million.

Only the rows that matter are eliminated. A random vector that the rows taken so far send to zero
is sent to zero by another row only if that row adds nothing (but for the same small chance), so
one product with the whole matrix finds the rows still missing, or that none is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from polytomy.codes.structure import CodeArray, pair_of_each_row, row_blocks

__all__ = ["count_components", "find_undetermined", "matrix_rank"]

_PRIME = 2**31 - 1
_SEED = 20_010_101  # any will do; fixed, so that an answer never changes

Residues = NDArray[np.int64]


class _SideWeights(NamedTuple):
    """For each row, the value that stands for +1 in it and the one whose negative stands for −1."""

    positive: Residues
    negative: Residues


def matrix_rank(matrix: CodeArray) -> int:
    """Return the rank of a code.

    Examples
    --------
    >>> matrix_rank(np.array([[-1, 1, 0], [0, -1, 1], [-1, 0, 1]], dtype=np.int8))
    2
    """
    ones = np.ones(len(matrix), dtype=np.int64)
    no_rows = np.empty((0, matrix.shape[1]), dtype=np.int64)
    _, rank = _find_kernel_vector(matrix, _SideWeights(ones, ones), no_rows)
    return rank


def find_undetermined(matrix: CodeArray) -> tuple[int, ...]:
    """Return the classes whose probability a code leaves open, in ascending order.

    Take any class probabilities p, all of them positive, and let each partition answer as they
    demand: r_i = (P_i − N_i)/(P_i + N_i), with P_i and N_i the sums of p over the two sides. The
    code is determined if these answers lead back to p alone, that is if the system
    (A − diag(r)|A|)p = 0 with 1·p = 1 has no other solution. Row i of that system, multiplied by
    (P_i + N_i)/2, is N_i where a_ij = 1 and −P_i where a_ij = −1. Whether it has full column rank
    depends on the code and not on p, but for a few special p; so one random p decides.

    The answers must agree with some p. For answers that contradict each other the system can have
    full rank although nothing in the code ties two groups of classes together.

    Examples
    --------
    >>> find_undetermined(np.array([[-1, 1, 1, 1], [0, -1, 1, 1]], dtype=np.int8))
    (2, 3)
    """
    generator = np.random.default_rng(_SEED)
    probabilities = generator.integers(1, _PRIME, size=(matrix.shape[1],))
    on_positive, on_negative = _side_sums(matrix, probabilities)
    ones = np.ones((1, matrix.shape[1]), dtype=np.int64)
    weights = _SideWeights(positive=on_negative, negative=on_positive)
    kernel_vector, _ = _find_kernel_vector(matrix, weights, ones)
    # A random vector of the kernel is zero only where every vector of the kernel is.
    return tuple(np.flatnonzero(kernel_vector).tolist())


def count_components(matrix: CodeArray) -> int:
    """Return the number of parts of the graph whose edges are the pairs of a pairwise code.

    Examples
    --------
    >>> count_components(np.array([[-1, 1, 0, 0], [0, 0, 1, -1]], dtype=np.int8))
    2
    """
    negative, positive = pair_of_each_row(matrix)
    n_classes = matrix.shape[1]
    edges = sp.coo_array(
        (np.ones(len(negative), dtype=np.int8), (negative, positive)), shape=(n_classes, n_classes)
    )
    n_components, _ = connected_components(edges, directed=False)
    return int(n_components)


def _find_kernel_vector(
    matrix: CodeArray, weights: _SideWeights, first_rows: Residues
) -> tuple[Residues, int]:
    """Return a random vector that all rows send to zero, and the rank of those rows.

    The rows are `first_rows` and those of `matrix` under its weights.
    """
    n_columns = matrix.shape[1]
    generator = np.random.default_rng(_SEED)
    echelon, pivots = _eliminate(first_rows)
    while True:
        kernel_vector = _draw_kernel_vector(echelon, pivots, generator)
        n_missing = n_columns - len(echelon)
        if n_missing == 0:
            break
        on_positive, on_negative = _side_sums(matrix, kernel_vector)
        products = weights.positive * on_positive - weights.negative * on_negative
        adding = np.flatnonzero(products % _PRIME)
        if adding.size == 0:
            break
        taken = generator.permutation(adding)[:n_missing]
        rows = np.zeros((len(taken), n_columns), dtype=np.int64)
        rows += (matrix[taken] > 0) * weights.positive[taken, None]
        rows -= (matrix[taken] < 0) * weights.negative[taken, None]
        echelon, pivots = _eliminate(np.vstack((echelon, rows % _PRIME)))
    return kernel_vector, len(echelon)


def _side_sums(matrix: CodeArray, vector: Residues) -> tuple[Residues, Residues]:
    """Return the sums of the vector over the +1 side and over the −1 side of each row."""
    on_positive = np.empty(len(matrix), dtype=np.int64)
    on_negative = np.empty(len(matrix), dtype=np.int64)
    for place, block in row_blocks(matrix):
        on_positive[place] = (block > 0) @ vector
        on_negative[place] = (block < 0) @ vector
    return on_positive % _PRIME, on_negative % _PRIME


def _eliminate(rows: Residues) -> tuple[Residues, list[int]]:
    """Return the rows in echelon form, each scaled to begin with one, and where each begins.

    Products of two residues stay below 2⁶², so that int64 holds every step.
    """
    rows = rows.copy()
    pivots: list[int] = []
    for column in range(rows.shape[1]):
        rank = len(pivots)
        candidates = rank + np.flatnonzero(rows[rank:, column])
        if candidates.size == 0:
            continue
        chosen = candidates[0]
        leading = rows[chosen, column:] * pow(int(rows[chosen, column]), -1, _PRIME) % _PRIME
        others = candidates[1:]
        if chosen != rank:
            rows[chosen] = rows[rank]
        rows[rank, column:] = leading
        factors = rows[others, column, None]
        rows[others, column:] = (rows[others, column:] - factors * leading) % _PRIME
        pivots.append(column)
    return rows[: len(pivots)], pivots


def _draw_kernel_vector(
    echelon: Residues, pivots: list[int], generator: np.random.Generator
) -> Residues:
    vector = generator.integers(0, _PRIME, size=(echelon.shape[1],))
    for row, pivot in zip(echelon[::-1], reversed(pivots), strict=True):
        vector[pivot] = 0
        vector[pivot] = -(row * vector % _PRIME).sum() % _PRIME
    return vector
