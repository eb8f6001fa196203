"""Exact rank of a code, and whether it determines the class probabilities.

A floating-point rank needs a tolerance, and none suits all codes. The triangular matrix with −1 on
and 1 above the diagonal, which is part of every chain of dichotomies, has determinant ±1 but a
singular value that shrinks like 2⁻ⁿ: with sixty classes or more it looks singular. So all
arithmetic here is modulo the prime 2³¹ − 1. A rank modulo a prime never exceeds the true rank. It
is smaller only if the prime divides every largest non-zero minor, which has a probability of about
1 in 2·10⁹ for a code that was not constructed to do so.

Only rows that add to the rank are eliminated. If a random vector is orthogonal to the rows so far,
any further row orthogonal to it adds nothing (except with the same small probability). So one
product with the whole matrix finds rows that are still missing, or shows that there are none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from polytomy.scheme.structure import CodeArray, pair_of_each_row, row_blocks

_PRIME = 2**31 - 1
_SEED = 20_010_101  # arbitrary but fixed, so that results never change

Residues = NDArray[np.int64]


class _SideWeights(NamedTuple):
    """For each row, the value that replaces +1 and the one whose negative replaces −1."""

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
    _, rank = _find_null_vector(matrix, _SideWeights(ones, ones), no_rows)
    return rank


def find_undetermined(matrix: CodeArray) -> tuple[int, ...]:
    """Return the classes whose probability a code does not determine, in ascending order.

    Take positive class probabilities p, and let each partition answer accordingly:
    r_i = (P_i − N_i)/(P_i + N_i), with P_i and N_i the sums of p over the two sides. The code is
    determined if p is the only solution of (A − diag(r)|A|)p = 0 with 1·p = 1. Row i of this
    system, multiplied by (P_i + N_i)/2, has N_i where a_ij = 1 and −P_i where a_ij = −1. Its column
    rank is the same for almost all p, so one random p decides.

    The answers must be consistent with some p. With contradictory answers, the system can have full
    rank even if no partition connects two groups of classes.

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
    null_vector, _ = _find_null_vector(matrix, weights, ones)
    # A random vector of the null space is zero only where all of its vectors are.
    return tuple(np.flatnonzero(null_vector).tolist())


def count_components(matrix: CodeArray) -> int:
    """Return the number of components of the graph whose edges are the pairs of a pairwise code.

    Examples
    --------
    >>> count_components(np.array([[-1, 1, 0, 0], [0, 0, 1, -1]], dtype=np.int8))
    2
    """
    negative, positive = pair_of_each_row(matrix)
    n_classes = matrix.shape[1]
    edges = scipy.sparse.coo_array(
        (np.ones(len(negative), dtype=np.int8), (negative, positive)), shape=(n_classes, n_classes)
    )
    n_components, _ = scipy.sparse.csgraph.connected_components(edges, directed=False)
    return int(n_components)


def _find_null_vector(
    matrix: CodeArray, weights: _SideWeights, first_rows: Residues
) -> tuple[Residues, int]:
    """Return a random vector of the null space of all rows, and their rank.

    The rows are `first_rows` and those of `matrix` with its weights.
    """
    n_columns = matrix.shape[1]
    generator = np.random.default_rng(_SEED)
    echelon, pivots = _eliminate(first_rows)
    while True:
        null_vector = _draw_null_vector(echelon, pivots, generator)
        n_missing = n_columns - len(echelon)
        if n_missing == 0:
            break
        on_positive, on_negative = _side_sums(matrix, null_vector)
        products = weights.positive * on_positive - weights.negative * on_negative
        adding = np.flatnonzero(products % _PRIME)
        if adding.size == 0:
            break
        taken = generator.permutation(adding)[:n_missing]
        rows = np.zeros((len(taken), n_columns), dtype=np.int64)
        rows += (matrix[taken] > 0) * weights.positive[taken, None]
        rows -= (matrix[taken] < 0) * weights.negative[taken, None]
        echelon, pivots = _eliminate(np.vstack((echelon, rows % _PRIME)))
    return null_vector, len(echelon)


def _side_sums(matrix: CodeArray, vector: Residues) -> tuple[Residues, Residues]:
    """Return the sums of the vector over the +1 side and over the −1 side of each row."""
    on_positive = np.empty(len(matrix), dtype=np.int64)
    on_negative = np.empty(len(matrix), dtype=np.int64)
    for place, block in row_blocks(matrix):
        on_positive[place] = (block > 0) @ vector
        on_negative[place] = (block < 0) @ vector
    return on_positive % _PRIME, on_negative % _PRIME


def _eliminate(rows: Residues) -> tuple[Residues, list[int]]:
    """Return the rows in echelon form with leading ones, and the columns of these ones.

    Products of two residues are below 2⁶², so int64 is enough.
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


def _draw_null_vector(
    echelon: Residues, pivots: list[int], generator: np.random.Generator
) -> Residues:
    vector = generator.integers(0, _PRIME, size=(echelon.shape[1],))
    for row, pivot in zip(echelon[::-1], reversed(pivots), strict=True):
        vector[pivot] = 0
        vector[pivot] = -(row * vector % _PRIME).sum() % _PRIME
    return vector
