"""Structures of coding matrices that have faster solvers, and their exact rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

CodeArray = NDArray[np.int8]

_Scalar = TypeVar("_Scalar", bound=np.generic)

_BLOCK_ENTRIES = 2**20
"""Entries of a block of rows that fits, with its temporaries, in the processor's cache."""

_GRAM_ENTRIES = 2**24
"""Entries of the part of the Gram matrix that is in memory at a time."""


class Equiangular(NamedTuple):
    """The numbers a and b of AᵀA = a·I + b·11ᵀ."""

    diagonal: int
    offset: int


class SingleClasses(NamedTuple):
    """The classes that the partitions of a one-vs-rest code separate from all others.

    Attributes
    ----------
    classes : array of int, the class of each partition
    signs : array of ±1, the side it is on
    """

    classes: NDArray[np.intp]
    signs: NDArray[np.float64]


class AdjacentOrder(NamedTuple):
    """An order of the classes that every partition cuts.

    Attributes
    ----------
    classes : intp array of shape (n_classes,), starting from the end with the smaller class index
    cuts : intp array of shape (n_partitions,); row i cuts between ``classes[cuts[i]]`` and the next
    signs : int8 array of shape (n_partitions,); +1 where the row is −1 before its cut, −1 where it
        is +1 before its cut
    """

    classes: NDArray[np.intp]
    cuts: NDArray[np.intp]
    signs: NDArray[np.int8]


class TreeShape(NamedTuple):
    """A tree whose inner nodes are the partitions and whose leaves are the classes.

    Attributes
    ----------
    children : intp array of shape (n_partitions, n_sides)
        The child of each partition on each of its sides: the −1 child and the +1 child if there
        are two. A value k ≥ 0 is partition k, a value k < 0 is class ``~k``, and NO_CHILD pads
        partitions that have fewer sides than others.
    order : intp array of shape (n_partitions,), the partitions in preorder: the root first, and the
        first side of a node before the next
    """

    children: NDArray[np.intp]
    order: NDArray[np.intp]

    def children_of(self, partition: int) -> list[int]:
        """Return the children of a partition, one for each of its sides."""
        return [child for child in self.children[partition].tolist() if child != NO_CHILD]


NO_CHILD = int(np.iinfo(np.intp).min)
"""Pads the children of partitions that have fewer sides than others."""


def row_blocks(matrix: NDArray[Any]) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield the rows in blocks small enough for the processor's cache, each with its slice."""
    n_rows, n_columns = matrix.shape
    step = max(1, _BLOCK_ENTRIES // max(1, n_columns))
    for start in range(0, n_rows, step):
        place = slice(start, min(start + step, n_rows))
        yield place, matrix[place]


def is_strict(matrix: CodeArray) -> bool:
    """Return whether every partition contains all classes: the matrix has no zeros."""
    return all(bool(block.all()) for _, block in row_blocks(matrix))


def has_only_pairs(matrix: CodeArray) -> bool:
    """Return whether every partition separates one class from one other class."""
    return all(
        bool((np.count_nonzero(block, axis=1) == 2).all()) for _, block in row_blocks(matrix)
    )


def is_one_vs_one(matrix: CodeArray) -> bool:
    """Return whether the code is pairwise and contains every pair of classes."""
    n_partitions, n_classes = matrix.shape
    n_pairs = n_classes * (n_classes - 1) // 2
    if n_partitions < n_pairs or not has_only_pairs(matrix):
        return False
    negative, positive = pair_of_each_row(matrix)
    pairs = np.minimum(negative, positive) * n_classes + np.maximum(negative, positive)
    return bool(np.unique(pairs).size == n_pairs)


def find_single_classes(matrix: CodeArray) -> SingleClasses | None:
    """Return the class that each partition of a one-vs-rest code separates from all others.

    Return None if the code is not one-vs-rest: a strict code that separates each class once.
    """
    n_partitions, n_classes = matrix.shape
    if n_partitions != n_classes or n_classes < 3 or not is_strict(matrix):
        return None
    classes = np.empty(n_classes, dtype=np.intp)
    signs = np.empty(n_classes)
    for place, block in row_blocks(matrix):
        is_alone_above = (block > 0).sum(axis=1) == 1
        if not (is_alone_above | ((block < 0).sum(axis=1) == 1)).all():
            return None
        signs[place] = np.where(is_alone_above, 1.0, -1.0)
        classes[place] = np.where(is_alone_above, block.argmax(axis=1), block.argmin(axis=1))
    if len(np.unique(classes)) < n_classes:
        return None
    return SingleClasses(frozen(classes), frozen(signs))


def pair_of_each_row(matrix: CodeArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the class on the −1 side and the one on the +1 side of each row of a pairwise code."""
    negative = np.empty(len(matrix), dtype=np.intp)
    positive = np.empty(len(matrix), dtype=np.intp)
    for place, block in row_blocks(matrix):
        negative[place] = block.argmin(axis=1)
        positive[place] = block.argmax(axis=1)
    return negative, positive


def find_equiangular(matrix: CodeArray) -> Equiangular | None:
    """Return a and b if the code is strict and AᵀA = a·I + b·11ᵀ; otherwise None.

    A single class fits any a = −b; it gets a = 1, so that solvers can always divide by a.

    Examples
    --------
    >>> find_equiangular(np.array([[1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=np.int8))
    Equiangular(diagonal=4, offset=-1)
    """
    n_partitions, n_classes = matrix.shape
    if n_classes == 1:
        return Equiangular(1, -1)
    if not is_strict(matrix):
        return None
    offset = int(matrix[:, 0].astype(np.int64) @ matrix[:, 1])
    for start, products in _gram_blocks(matrix):
        expected = np.full(products.shape, offset)
        own = np.arange(len(products))
        expected[own, start + own] = n_partitions
        if not np.array_equal(products, expected):
            return None
    return Equiangular(n_partitions - offset, offset)


def find_adjacent_order(matrix: CodeArray) -> AdjacentOrder | None:
    """Return the order of classes that every partition cuts once, or None if there is none.

    In such an order, the Hamming distance between two columns is the number of cuts between their
    classes. So the class furthest from any other is an end, and the distances from that end give
    the order.

    Examples
    --------
    >>> find_adjacent_order(np.array([[1, -1, 1], [1, -1, -1]], dtype=np.int8)).classes
    array([0, 2, 1])
    """
    n_partitions, n_classes = matrix.shape
    if n_partitions < n_classes - 1 or not is_strict(matrix):
        return None
    end = int(np.argmax(_hamming_distances(matrix, 0)))
    classes = np.argsort(_hamming_distances(matrix, end), kind="stable")
    if classes[0] > classes[-1]:
        classes = classes[::-1].copy()
    cuts = np.empty(n_partitions, dtype=np.intp)
    for place, block in row_blocks(matrix):
        ordered = block[:, classes]
        changes = ordered[:, 1:] != ordered[:, :-1]
        if (np.count_nonzero(changes, axis=1) != 1).any():
            return None
        cuts[place] = changes.argmax(axis=1)
    return AdjacentOrder(frozen(classes), frozen(cuts), frozen(matrix[:, classes[-1]].copy()))


def find_tree(
    matrix: CodeArray, rows_per_partition: NDArray[np.intp] | None = None
) -> TreeShape | None:
    """Return the tree whose nodes are the partitions, or None if there is none.

    The tree is grown from its leaves. A node has more classes than those below it, so if partitions
    are processed by size, each side must be exactly one of the groups so far.

    Examples
    --------
    >>> find_tree(np.array([[-1, 1, 1], [0, -1, 1]], dtype=np.int8)).children
    array([[-1,  1],
           [-2, -3]])
    """
    n_rows, n_classes = matrix.shape
    counts = np.ones(n_rows, np.intp) if rows_per_partition is None else rows_per_partition
    n_sides = np.maximum(counts, 2)
    if (n_sides - 1).sum() != n_classes - 1:
        return None
    children = np.full((len(counts), n_sides.max(initial=2)), NO_CHILD, dtype=np.intp)
    group_of = ~np.arange(n_classes)  # a class, then the topmost partition so far that has it
    starts = np.cumsum(counts) - counts
    sizes = np.count_nonzero(matrix[starts], axis=1)
    for partition in np.argsort(sizes, kind="stable"):
        row = starts[partition]
        for side in range(n_sides[partition]):
            is_alone = counts[partition] == 1
            entries, sign = (matrix[row], 2 * side - 1) if is_alone else (matrix[row + side], 1)
            members = group_of[entries == sign]
            group = members[0]
            if len(members) != (1 if group < 0 else sizes[group]):
                return None
            if (members != group).any():
                return None
            children[partition, side] = group
        group_of[matrix[row] != 0] = partition
    tree = TreeShape(frozen(children), np.empty(0, dtype=np.intp))
    return tree._replace(order=frozen(_preorder(tree, root=int(group_of[0]))))


def _preorder(tree: TreeShape, root: int) -> NDArray[np.intp]:
    order: list[int] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node >= 0:
            order.append(node)
            waiting += reversed(tree.children_of(node))
    return np.array(order, dtype=np.intp)


def find_repeated_rows(matrix: CodeArray) -> tuple[tuple[int, ...], ...]:
    """Return the groups of rows that are the same partition, up to the order of its sides."""
    rows_of: dict[bytes, list[int]] = {}
    for place, block in row_blocks(matrix):
        # Two bits per entry: whether it is non-zero, and whether it equals the first non-zero one.
        is_nonzero = block != 0
        first = np.take_along_axis(block, is_nonzero.argmax(axis=1)[:, None], axis=1)
        keys = np.hstack((np.packbits(is_nonzero, axis=1), np.packbits(block == first, axis=1)))
        for row, key in enumerate(keys, start=place.start):
            rows_of.setdefault(key.tobytes(), []).append(row)
    return tuple(tuple(rows) for rows in rows_of.values() if len(rows) > 1)


def column_distances(matrix: CodeArray) -> tuple[float, float]:
    """Return the minimum and the mean Hamming distance between two columns.

    A zero in either column counts one half (Allwein, Schapire and Singer 2000), so the distance
    between columns u and v is (n_partitions − u·v)/2. Both are 0 for a single class.

    Examples
    --------
    >>> column_distances(np.array([[-1, 1, 0], [-1, 0, 1], [0, -1, 1]], dtype=np.int8))
    (2.0, 2.0)
    """
    n_partitions, n_classes = matrix.shape
    if n_classes == 1:
        return 0.0, 0.0
    largest, total = -n_partitions, 0
    for start, products in _gram_blocks(matrix):
        own = np.arange(len(products))
        total += int(products.sum()) - int(products[own, start + own].sum())
        products[own, start + own] = -n_partitions
        largest = max(largest, int(products.max()))
    mean = total / (n_classes * (n_classes - 1))
    return (n_partitions - largest) / 2, (n_partitions - mean) / 2


def _gram_blocks(matrix: CodeArray) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield AᵀA in blocks of rows, each with the index of its first row."""
    n_classes = matrix.shape[1]
    step = max(1, _GRAM_ENTRIES // n_classes)
    for start in range(0, n_classes, step):
        part = slice(start, min(start + step, n_classes))
        products = np.zeros((part.stop - start, n_classes), dtype=np.int64)
        for _, block in row_blocks(matrix):
            # Single precision is exact here, because a block has fewer than 2²⁴ rows.
            values = block.astype(np.float32)
            products += (values[:, part].T @ values).astype(np.int64)
        yield start, products


def _hamming_distances(matrix: CodeArray, column: int) -> NDArray[np.int64]:
    """Return how many rows separate each class from the given one, in a strict code."""
    distances = np.zeros(matrix.shape[1], dtype=np.int64)
    for _, block in row_blocks(matrix):
        distances += np.count_nonzero(block != block[:, column, None], axis=0)
    return distances


def frozen(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Return the array, made read-only."""
    array.flags.writeable = False
    return array


# -- Exact rank of a code, and whether it determines the class probabilities --


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
