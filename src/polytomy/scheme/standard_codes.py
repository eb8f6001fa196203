"""The standard codes of the literature, with the signs and the row order of Mills (2019).

Each function takes the number of classes. A single class has no partitions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from itertools import count

import numpy as np
import scipy
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import as_count
from polytomy.inputs.seeds import RandomState, as_generator
from polytomy.scheme.code_checks import check_entries
from polytomy.scheme.coding_matrix import CodingMatrix

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


# -- orthogonal codes, from Hadamard matrices ---------------------------------------------------


def orthogonal(n_classes: int, random_state: RandomState = None) -> CodingMatrix:
    """Return a strict code with orthogonal columns: AᵀA = n_partitions·I.

    The columns are random columns, with random signs, of the smallest Hadamard matrix that can be
    built. Signs are drawn until no row is constant. With four classes or more, such signs exist:
    over all signs, a row of n entries is constant 2 times in 2ⁿ, and the order m is below 2ⁿ⁻¹, so
    the mean number of constant rows is below one. No partition occurs twice: two rows of the
    Hadamard matrix agree in m/2 of its columns, and the code has more than m/2 columns.

    For two and three classes there is no such code. The squares of the row sums add up to
    1ᵀAᵀA1 = n_partitions·n_classes, but the sum of a row that is not constant is 0 for two classes
    and ±1 for three, which is too small. They get the Hadamard matrix without its constant row: one
    partition for two classes, one-vs-rest for three. Both have AᵀA = a·I + b·11ᵀ and are solved in
    the same way.

    Parameters
    ----------
    n_classes : int
    random_state : int, Generator, RandomState or None
        Determines the columns and the signs. None is the same as 0, so that a design without a seed
        always gives the same code.

    Examples
    --------
    >>> code = orthogonal(5)
    >>> code.shape
    (8, 5)
    >>> code.equiangular
    Equiangular(diagonal=8, offset=0)
    """
    n_classes = as_count("n_classes", n_classes)
    generator = as_generator(0 if random_state is None else random_state)
    if n_classes <= 2:
        return one_vs_one(n_classes)
    if n_classes == 3:
        return one_vs_rest(n_classes)
    check_entries("an orthogonal code", n_classes, n_classes)
    order = hadamard_order(n_classes)
    check_entries("an orthogonal code", order, n_classes)
    columns = hadamard(order)[:, generator.permutation(order)[:n_classes]]
    while True:
        matrix = columns * generator.choice(np.array([-1, 1], dtype=np.int8), size=n_classes)
        if not (matrix == matrix[:, :1]).all(axis=1).any():
            return CodingMatrix(matrix)


def hadamard_order(at_least: int) -> int:
    """Return the smallest order of at least `at_least` that :func:`hadamard` can build.

    Examples
    --------
    >>> [hadamard_order(n) for n in (1, 2, 3, 5, 9, 26)]
    [1, 2, 4, 8, 12, 28]
    """
    at_least = as_count("at_least", at_least)
    return next(order for order in count(at_least) if _can_build(order))


def hadamard(order: int) -> NDArray[np.int8]:
    """Return a Hadamard matrix: entries ±1, orthogonal rows and orthogonal columns.

    Powers of two are built by doubling (Sylvester 1867), orders q + 1 for a prime q ≡ 3 (mod 4) and
    2(q + 1) for a prime q ≡ 1 (mod 4) from quadratic residues (Paley 1933), and products of these
    orders by Kronecker products. The first multiple of four that cannot be built is 52.

    Examples
    --------
    >>> hadamard(4)
    array([[ 1,  1,  1,  1],
           [ 1, -1,  1, -1],
           [ 1,  1, -1, -1],
           [ 1, -1, -1,  1]], dtype=int8)
    """
    order = as_count("order", order)
    if not _can_build(order):
        raise ArgumentError(
            f"no Hadamard matrix of order {order} can be built from doubling, Paley's "
            f"constructions and products. The next order is {hadamard_order(order)}."
        )
    return _build(order)


def _build(order: int) -> NDArray[np.int8]:
    if order == 1:
        return np.ones((1, 1), dtype=np.int8)
    if order == 2:
        return np.array([[1, 1], [1, -1]], dtype=np.int8)
    if not _is_power_of_two(order):
        if _is_paley_one(order):
            return _build_paley_one(order - 1)
        if _is_paley_two(order):
            return _build_paley_two(order // 2 - 1)
    left = _left_factor(order)
    return np.kron(_build(left), _build(order // left))


@cache
def _can_build(order: int) -> bool:
    if order <= 2:
        return True
    if order % 4:
        return False
    return _is_paley_one(order) or _is_paley_two(order) or _left_factor(order) > 0


def _left_factor(order: int) -> int:
    """Return the smaller of two orders with this product that can both be built, or 0."""
    factors = (
        factor
        for factor in range(2, int(order**0.5) + 1)
        if order % factor == 0 and _can_build(factor) and _can_build(order // factor)
    )
    return next(factors, 0)


def _is_power_of_two(order: int) -> bool:
    return order & (order - 1) == 0


def _is_paley_one(order: int) -> bool:
    return order % 4 == 0 and _is_prime(order - 1)


def _is_paley_two(order: int) -> bool:
    return order % 4 == 0 and (order // 2) % 4 == 2 and _is_prime(order // 2 - 1)


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def _build_paley_one(prime: int) -> NDArray[np.int8]:
    conference = _build_conference(prime)
    conference[1:, 0] = -1  # the primes ≡ 3 (mod 4) make it skew-symmetric
    np.fill_diagonal(conference, 1)
    return conference


def _build_paley_two(prime: int) -> NDArray[np.int8]:
    off_diagonal = np.array([[1, 1], [1, -1]], dtype=np.int8)
    on_diagonal = np.array([[1, -1], [-1, -1]], dtype=np.int8)
    conference = _build_conference(prime)
    identity = np.eye(prime + 1, dtype=np.int8)
    return np.kron(conference, off_diagonal) + np.kron(identity, on_diagonal)


def _build_conference(prime: int) -> NDArray[np.int8]:
    """Return the matrix of quadratic residues, bordered with ones: zeros only on its diagonal."""
    character = np.full(prime, -1, dtype=np.int8)
    character[np.arange(1, prime, dtype=np.int64) ** 2 % prime] = 1
    character[0] = 0
    conference = np.ones((prime + 1, prime + 1), dtype=np.int8)
    conference[0, 0] = 0
    conference[1:, 1:] = scipy.linalg.circulant(character)
    return conference
