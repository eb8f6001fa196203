"""The standard codes of the literature, with the signs and the row order of Mills (2019).

Each function takes the number of classes. A single class has no partitions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps

import numpy as np

from polytomy.codes.checks import check_entries
from polytomy.codes.coding_matrix import CodingMatrix
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import as_count

__all__ = [
    "MAX_EXHAUSTIVE_CLASSES",
    "adjacent",
    "chain",
    "direct",
    "exhaustive",
    "one_vs_one",
    "one_vs_rest",
]

MAX_EXHAUSTIVE_CLASSES = 20

_MOST_CLASSES_KEPT = 32


def _kept_if_small(make: Callable[[int], CodingMatrix]) -> Callable[[int], CodingMatrix]:
    """Make a function cache the codes of few classes.

    A code is immutable, so its structure is then computed once, not once for each fit.
    """
    make_once = cache(make)

    @wraps(make)
    def run(n_classes: int) -> CodingMatrix:
        n_classes = as_count("n_classes", n_classes)
        return (make_once if n_classes <= _MOST_CLASSES_KEPT else make)(n_classes)

    return run


@_kept_if_small
def one_vs_one(n_classes: int) -> CodingMatrix:
    """Return the code of all pairs of classes (Hastie and Tibshirani 1998).

    The pairs are in lexicographic order, with the first class of each on the −1 side.

    Examples
    --------
    >>> one_vs_one(3).matrix
    array([[-1,  1,  0],
           [-1,  0,  1],
           [ 0, -1,  1]], dtype=int8)
    """
    n_pairs = n_classes * (n_classes - 1) // 2
    check_entries("one-vs-one", n_pairs, n_classes)
    negative, positive = np.triu_indices(n_classes, k=1)
    matrix = np.zeros((n_pairs, n_classes), dtype=np.int8)
    matrix[np.arange(n_pairs), negative] = -1
    matrix[np.arange(n_pairs), positive] = 1
    return CodingMatrix(matrix)


@_kept_if_small
def one_vs_rest(n_classes: int) -> CodingMatrix:
    """Return the code of each class, on the +1 side, against all others.

    With two classes, both rows are the same partition with its sides exchanged.

    Examples
    --------
    >>> one_vs_rest(3).matrix
    array([[ 1, -1, -1],
           [-1,  1, -1],
           [-1, -1,  1]], dtype=int8)
    """
    if n_classes == 1:
        return _single_class()
    check_entries("one-vs-rest", n_classes, n_classes)
    matrix = np.full((n_classes, n_classes), -1, dtype=np.int8)
    np.fill_diagonal(matrix, 1)
    return CodingMatrix(matrix)


def exhaustive(n_classes: int) -> CodingMatrix:
    """Return the code of all ways to divide all classes (Dietterich and Bakiri 1995).

    Rows count in binary from one: class j is −1 if bit j of the count is set. The last class is
    always +1, so that no partition occurs twice. At most 20 classes are allowed.

    Examples
    --------
    >>> exhaustive(3).matrix
    array([[-1,  1,  1],
           [ 1, -1,  1],
           [-1, -1,  1]], dtype=int8)
    """
    n_classes = as_count("n_classes", n_classes)
    if n_classes > MAX_EXHAUSTIVE_CLASSES:
        raise ArgumentError(
            f"an exhaustive code of {n_classes} classes has "
            f"{_count_exhaustive(n_classes)} partitions; the limit is {MAX_EXHAUSTIVE_CLASSES} "
            f"classes ({2 ** (MAX_EXHAUSTIVE_CLASSES - 1) - 1:,} partitions). "
            "Use an orthogonal or a random code."
        )
    counts = np.arange(1, 2 ** (n_classes - 1))
    matrix = np.ones((len(counts), n_classes), dtype=np.int8)
    for column in range(n_classes - 1):
        matrix[(counts >> column) & 1 == 1, column] = -1
    return CodingMatrix(matrix)


def _count_exhaustive(n_classes: int) -> str:
    if n_classes <= 64:
        return f"{2 ** (n_classes - 1) - 1:,}"
    return f"2**{n_classes - 1} - 1"


def direct(n_classes: int) -> CodingMatrix:
    """Return the code of one partition with each class on its own side.

    Examples
    --------
    >>> direct(3)
    CodingMatrix(1 partition, 3 rows, 3 classes)
    """
    n_classes = as_count("n_classes", n_classes)
    check_entries("a direct partition", n_classes, n_classes)
    if n_classes == 1:
        return _single_class()
    return CodingMatrix.from_sides(np.arange(n_classes)[np.newaxis])


@_kept_if_small
def adjacent(n_classes: int) -> CodingMatrix:
    """Return the code of all cuts of the ordered classes (Frank and Hall 2001).

    Row i has the classes up to i on the −1 side and those after i on the +1 side.

    Examples
    --------
    >>> adjacent(4).matrix
    array([[-1,  1,  1,  1],
           [-1, -1,  1,  1],
           [-1, -1, -1,  1]], dtype=int8)
    """
    check_entries("an adjacent code", n_classes - 1, n_classes)
    before_cut = np.tri(n_classes - 1, n_classes, dtype=np.int8)
    return CodingMatrix(1 - 2 * before_cut)


def chain(n_classes: int, *, direction: str = "forward") -> CodingMatrix:
    """Return the code that splits off one class at a time, in order (Fienberg 1980).

    Row i of a forward chain has class i on the −1 side and those after it on the +1 side. A
    backward chain starts at the other end: row 0 has the last class on the +1 side and those before
    it on the −1 side. The rows are the nodes of a tree, from its root down.

    Examples
    --------
    >>> chain(4).matrix
    array([[-1,  1,  1,  1],
           [ 0, -1,  1,  1],
           [ 0,  0, -1,  1]], dtype=int8)
    >>> chain(4, direction="backward").matrix
    array([[-1, -1, -1,  1],
           [-1, -1,  1,  0],
           [-1,  1,  0,  0]], dtype=int8)
    """
    n_classes = as_count("n_classes", n_classes)
    if direction not in ("forward", "backward"):
        raise ArgumentError(
            Argument("direction", direction), ' is unknown. Use "forward" or "backward".'
        )
    check_entries("a chain", n_classes - 1, n_classes)
    matrix = np.triu(np.ones((n_classes - 1, n_classes), dtype=np.int8))
    np.fill_diagonal(matrix, -1)
    return CodingMatrix(matrix if direction == "forward" else -matrix[:, ::-1])


def _single_class() -> CodingMatrix:
    return CodingMatrix(np.empty((0, 1), dtype=np.int8))
