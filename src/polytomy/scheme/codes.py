"""Codes by the number of classes: the standard ones, random ones, and their names."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, partial, wraps
from itertools import count
from math import comb
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import as_count
from polytomy.inputs.seeds import RandomState, as_generator
from polytomy.scheme.code_checks import check_entries
from polytomy.scheme.coding_matrix import CodingMatrix
from polytomy.scheme.structure import CodeArray, find_repeated_rows

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
    orders by Kronecker products. The first multiple of four that cannot be built is 52;
    `hadamard_order` finds one that can.

    Examples
    --------
    >>> hadamard(4)
    array([[ 1,  1,  1,  1],
           [ 1, -1,  1, -1],
           [ 1,  1, -1, -1],
           [ 1, -1, -1,  1]], dtype=int8)
    """
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
    return np.kron(hadamard(left), hadamard(order // left))


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


# -- Random codes: the best of many draws, and always valid --


_MOST_DRAWS = 200

_MOST_WORK = 2**31
"""Most multiplications to compare the columns of a large code, for all draws together."""

_BATCH_ENTRIES = 2**22
"""Number of entries drawn at a time."""

# Entries are drawn uniformly from these, so that a ternary entry is zero half of the time.
_STRICT: CodeArray = np.array([-1, 1], dtype=np.int8)
_TERNARY: CodeArray = np.array([-1, 0, 0, 1], dtype=np.int8)
_MOST_N_ARY_DRAWS = 50

_MOST_N_ARY_WORK = 2**28
"""Most comparisons of sides for all draws together."""

_DEFAULT_SIDES = 4
Sides = NDArray[np.intp]


def random_strict(
    n_classes: int, n_partitions: int | None = None, random_state: RandomState = None
) -> CodingMatrix:
    """Return a random code without zeros: every partition contains all classes.

    It is the best of up to 200 draws (fewer for large codes). Codes that determine the class
    probabilities are preferred, then those with the largest minimum distance between columns, then
    those with the largest mean distance. No partition occurs twice.

    Parameters
    ----------
    n_classes : int
    n_partitions : int, optional
        From ⌈log₂ n⌉, the fewest that separate n classes, to 2ⁿ⁻¹ − 1, the number of all
        partitions. The default is ⌈10 log₂ n⌉ (Allwein, Schapire and Singer 2000), or all.
    random_state : int, Generator, RandomState or None
        None gives a different code each time.

    Examples
    --------
    >>> random_strict(4, n_partitions=3, random_state=0).matrix
    array([[-1, -1,  1,  1],
           [-1,  1,  1, -1],
           [-1,  1, -1,  1]], dtype=int8)
    >>> random_strict(6, random_state=0)
    CodingMatrix(26 partitions, 6 classes)
    """
    n_classes = as_count("n_classes", n_classes)
    fewest, most = (n_classes - 1).bit_length(), _count_strict(n_classes)
    n_rows = count_random(n_classes, 10, most)
    n_rows = _check_rows("n_partitions", n_partitions, n_rows, fewest, most, n_classes)
    return _draw_best(n_classes, n_rows, most, _STRICT, as_generator(random_state))


def random_ternary(
    n_classes: int, n_partitions: int | None = None, random_state: RandomState = None
) -> CodingMatrix:
    """Return a random code in which each partition leaves out about half of the classes.

    Draws are compared as in :func:`random_strict`; a zero counts one half in the distances.

    Parameters
    ----------
    n_classes : int
    n_partitions : int, optional
        From ⌈log₃(n + 1)⌉, the fewest that separate n classes, to (3ⁿ − 2ⁿ⁺¹ + 1)/2, the number of
        all partitions. The default is ⌈15 log₂ n⌉ (Allwein, Schapire and Singer 2000), or all.
    random_state : int, Generator, RandomState or None
        None gives a different code each time.

    Examples
    --------
    >>> random_ternary(4, n_partitions=3, random_state=0).matrix
    array([[ 1, -1, -1,  0],
           [ 0, -1,  0,  1],
           [-1,  1, -1,  1]], dtype=int8)
    >>> random_ternary(6, random_state=0)
    CodingMatrix(39 partitions, 6 classes)
    """
    n_classes = as_count("n_classes", n_classes)
    fewest = count_digits(n_classes + 1, 3) if n_classes > 1 else 0
    most = _count_ternary(n_classes)
    n_rows = count_random(n_classes, 15, most)
    n_rows = _check_rows("n_partitions", n_partitions, n_rows, fewest, most, n_classes)
    return _draw_best(n_classes, n_rows, most, _TERNARY, as_generator(random_state))


def count_random(n_classes: int, per_bit: int, most: int) -> int:
    """Return the default number of partitions of a random code."""
    return min(math.ceil(per_bit * math.log2(n_classes)), most)


def _count_strict(n_classes: int) -> int:
    """Return the number of all partitions without zeros; classes are capped at 64."""
    return int(2 ** (min(n_classes, 64) - 1) - 1)


def _count_ternary(n_classes: int) -> int:
    """Return the number of all partitions; classes are capped at 64."""
    n_classes = min(n_classes, 64)
    return int(3**n_classes - 2 ** (n_classes + 1) + 1) // 2


def _check_rows(
    parameter: str,
    given: int | None,
    default: int,
    fewest: int,
    most: int,
    n_classes: int,
    with_sides: str = "",
) -> int:
    """Return the number of partitions of a random code: the one given, or the default."""
    n_rows = default if given is None else as_count(parameter, given, at_least=0)
    if given is not None and n_rows > most:
        raise ArgumentError(
            Argument(parameter, n_rows),
            f" is too many; {n_classes} classes have only {most} partitions{with_sides}. "
            f"Use {most} or fewer.",
        )
    if given is not None and n_rows < fewest:
        raise ArgumentError(
            Argument(parameter, n_rows),
            f" is too few to separate {n_classes} classes{with_sides}. Use {fewest} or more.",
        )
    return n_rows


def _draw_best(
    n_classes: int, n_rows: int, most: int, entries: CodeArray, generator: np.random.Generator
) -> CodingMatrix:
    """Return the best of many draws: determined first, then by minimum and mean distance."""
    if n_classes == 1:
        return _single_class()
    check_entries("a random code", n_rows, n_classes)
    draw = _make_drawer(n_classes, n_rows, most, entries, generator)
    n_draws = 1 if n_rows == most else _MOST_WORK // (n_rows * n_classes**2)
    draws = (CodingMatrix(draw()) for _ in range(max(1, min(n_draws, _MOST_DRAWS))))
    # Probabilities sum to one, so n − 1 rows may determine n of them.
    return _choose_best(draws, may_be_determined=n_rows >= n_classes - 1)


def _choose_best(draws: Iterator[CodingMatrix], *, may_be_determined: bool = True) -> CodingMatrix:
    best = next(draws)
    best_merit: tuple[bool, float, float] | None = None
    for code in draws:
        if best_merit is None:
            best_merit = (best.is_determined, best.minimum_distance, best.mean_distance)
        distances = (code.minimum_distance, code.mean_distance)
        # Computing whether a code is determined is slowest, so this is checked last.
        if (may_be_determined, *distances) > best_merit:
            merit = (code.is_determined, *distances)
            if merit > best_merit:
                best, best_merit = code, merit
    return best


def _make_drawer(
    n_classes: int, n_rows: int, most: int, entries: CodeArray, generator: np.random.Generator
) -> Callable[[], CodeArray]:
    """Return a function that draws valid codes in which no partition occurs twice.

    Rows or columns, whichever are scarcer, are drawn without repetition. The others then rarely
    repeat; if they do, the draw is rejected.
    """
    by_rows = n_rows >= n_classes - 1
    if by_rows:
        count, length, n_possible, belongs = n_rows, n_classes, most, _is_partition
    else:
        n_columns = len(np.unique(entries)) ** n_rows
        count, length, n_possible, belongs = n_classes, n_rows, n_columns, _is_column
    is_most_of_all = 4 * count > n_possible
    every = _list_vectors(length, entries, belongs) if is_most_of_all else None

    def draw() -> CodeArray:
        while True:
            vectors = (
                _pick(every, count, generator)
                if every is not None
                else _collect(count, length, entries, belongs, generator)
            )
            # Each partition is drawn with only one of its two signs.
            signs = generator.choice(_STRICT, size=(n_rows, 1))
            matrix: CodeArray = signs * (vectors if by_rows else vectors.T)
            is_code = _separates_all(matrix) if by_rows else _has_both_sides(matrix)
            if is_code and (by_rows or not find_repeated_rows(matrix)):
                return matrix

    return draw


def _is_partition(vectors: CodeArray) -> NDArray[np.bool_]:
    """Return which vectors have both sides; only one of two opposite vectors passes."""
    first = np.take_along_axis(vectors, (vectors != 0).argmax(axis=1)[:, None], axis=1)[:, 0]
    passes: NDArray[np.bool_] = (first == -1) & (vectors == 1).any(axis=1)
    return passes


def _separates_all(matrix: CodeArray) -> bool:
    """Return whether no column is zero or equal to another; then partitions make a code."""
    n_rows, n_classes = matrix.shape
    content = np.ascontiguousarray(matrix.T).tobytes()
    columns = {content[i * n_rows : (i + 1) * n_rows] for i in range(n_classes)}
    return len(columns) == n_classes and bool(matrix.any(axis=0).all())


def _has_both_sides(matrix: CodeArray) -> bool:
    """Return whether each row has both sides; then different columns make a code."""
    return bool((matrix.min(axis=1) == -1).all() and (matrix.max(axis=1) == 1).all())


def _is_column(vectors: CodeArray) -> NDArray[np.bool_]:
    """Return which vectors are not all zero."""
    passes: NDArray[np.bool_] = (vectors != 0).any(axis=1)
    return passes


def _list_vectors(
    length: int, entries: CodeArray, belongs: Callable[[CodeArray], NDArray[np.bool_]]
) -> CodeArray:
    """Return all vectors of the given length that pass the test `belongs`."""
    values = np.unique(entries)
    numbers = np.arange(len(values) ** length)
    vectors = np.empty((len(numbers), length), dtype=np.int8)
    for position in range(length):
        vectors[:, position] = values[numbers % len(values)]
        numbers //= len(values)
    return vectors[belongs(vectors)]


def _pick(every: CodeArray, count: int, generator: np.random.Generator) -> CodeArray:
    """Return a random sample of the vectors; vectors with more zeros are more likely.

    This is the distribution of `_collect`: zero is drawn twice as often as either sign, so each
    zero doubles a vector's probability. Dividing exponential variates by these weights and taking
    the smallest gives a weighted sample without replacement (Efraimidis and Spirakis 2006).
    """
    n_zeros = np.count_nonzero(every == 0, axis=1)
    arrivals = generator.exponential(size=len(every)) / 2.0**n_zeros
    return every[np.argsort(arrivals)[:count]]


def _collect(
    count: int,
    length: int,
    entries: CodeArray,
    belongs: Callable[[CodeArray], NDArray[np.bool_]],
    generator: np.random.Generator,
) -> CodeArray:
    """Return distinct random vectors that pass the test `belongs`."""
    found: dict[bytes, None] = {}  # in the order of drawing
    while len(found) < count:
        n_wanted = min(2 * (count - len(found)) + 8, max(1, _BATCH_ENTRIES // length))
        chosen = generator.integers(len(entries), size=(n_wanted, length), dtype=np.uint8)
        batch = entries[chosen]
        content = batch[belongs(batch)].tobytes()
        found.update(
            (content[start : start + length], None) for start in range(0, len(content), length)
        )
    vectors = np.frombuffer(b"".join(list(found)[:count]), dtype=np.int8)
    return vectors.reshape(count, length)


# -- partitions with more than two sides --------------------------------------------------------


def n_ary(
    n_classes: int,
    sides: int | None = None,
    rows: int | None = None,
    random_state: RandomState = None,
) -> CodingMatrix:
    """Return a random code whose partitions divide all classes into several sides (Zhou 2019).

    It is the best of up to 50 draws. Codes that determine the class probabilities are preferred,
    then those with the largest minimum distance between classes, then those with the largest mean
    distance. No partition occurs twice.

    Parameters
    ----------
    n_classes : int
    sides : int, optional
        Number of sides of each partition, from 2 to the number of classes. The default is 4, or the
        number of classes if that is less.
    rows : int, optional
        Number of partitions, at least ⌈log_s n⌉, the fewest that separate n classes with s sides.
        The default is ⌈10 log_s n⌉, or more if the probabilities would not be determined, but at
        most the number of all partitions.
    random_state : int, Generator, RandomState or None
        None gives a different code each time.

    Examples
    --------
    >>> n_ary(16, random_state=0)
    CodingMatrix(20 partitions, 80 rows, 16 classes)
    """
    n_classes = as_count("n_classes", n_classes)
    generator = as_generator(random_state)
    if n_classes == 1:
        return _single_class()
    if sides is None:
        n_sides = min(_DEFAULT_SIDES, n_classes)
    else:
        n_sides = as_count("sides", sides, at_least=2)
        if n_sides > n_classes:
            raise ArgumentError(
                Argument("sides", n_sides),
                f" is too many for {n_classes} classes. Use {n_classes} or fewer.",
            )
    fewest, most = count_digits(n_classes, n_sides), _count_partitions(n_classes, n_sides)
    n_rows = _default_rows(n_classes, n_sides)
    n_rows = _check_rows("rows", rows, n_rows, fewest, most, n_classes, f" with {n_sides} sides")
    check_entries("an n-ary code", n_rows * (1 if n_sides == 2 else n_sides), n_classes)
    n_draws = max(1, min(_MOST_N_ARY_DRAWS, _MOST_N_ARY_WORK // (n_rows * n_classes**2)))
    return _choose_best(
        CodingMatrix.from_sides(_draw_n_ary(n_classes, n_sides, n_rows, fewest, generator))
        for _ in range(n_draws)
    )


def count_digits(n_classes: int, n_sides: int) -> int:
    """Return how many digits numbers below n_classes have in base n_sides."""
    n_digits = 1
    while n_sides**n_digits < n_classes:
        n_digits += 1
    return n_digits


def count_n_ary(n_classes: int) -> int:
    """Return the number of partitions of an n-ary code with the default numbers of sides and rows.

    Examples
    --------
    >>> count_n_ary(16)
    20
    """
    return _default_rows(n_classes, min(_DEFAULT_SIDES, n_classes)) if n_classes > 1 else 0


def _default_rows(n_classes: int, n_sides: int) -> int:
    to_determine = math.ceil((n_classes - 1) / (n_sides - 1))
    wanted = max(math.ceil(10 * math.log(n_classes, n_sides)), to_determine)
    return min(wanted, _count_partitions(n_classes, n_sides))


def _count_partitions(n_classes: int, n_sides: int) -> int:
    """Return the number of partitions of the classes: a Stirling number of the second kind."""
    signed: int = sum(
        (-1) ** k * math.comb(n_sides, k) * (n_sides - k) ** n_classes for k in range(n_sides)
    )
    return signed // math.factorial(n_sides)


def _draw_n_ary(
    n_classes: int, n_sides: int, n_rows: int, fewest: int, generator: np.random.Generator
) -> Sides:
    """Return different partitions, with all sides in use, that separate all classes."""
    rows: dict[bytes, Sides] = {}
    while len(rows) < n_rows:
        _add(rows, _draw_n_ary_row(n_classes, n_sides, generator))
    sides = np.array(list(rows.values()))
    if len(np.unique(sides, axis=1).T) == n_classes:
        return sides
    # Number the classes in random order. Each digit of the numbers in base n_sides is a partition,
    # and together these separate all classes. Only the lowest digit is sure to take all values; if
    # it is added to the others, modulo n_sides, they take all values too.
    number = generator.permutation(n_classes)
    digits = np.array([number // n_sides**k % n_sides for k in range(fewest)])
    digits[1:] = (digits[1:] + digits[0]) % n_sides
    separating: dict[bytes, Sides] = {}
    for row in digits:
        _add(separating, row)
    for row in sides:
        if len(separating) < n_rows:
            _add(separating, row)
    return np.array(list(separating.values()))


def _draw_n_ary_row(n_classes: int, n_sides: int, generator: np.random.Generator) -> Sides:
    """Return a random side for each class, such that no side is empty."""
    row = generator.integers(n_sides, size=n_classes)
    row[generator.permutation(n_classes)[:n_sides]] = np.arange(n_sides)
    return row


def _add(rows: dict[bytes, Sides], row: Sides) -> None:
    """Add a partition unless it is already there, possibly with its sides in another order."""
    _, first, inverse = np.unique(row, return_index=True, return_inverse=True)
    rows.setdefault(np.argsort(np.argsort(first))[inverse].tobytes(), row)


# -- Designs that can replace a list of partitions: ``@one-vs-one {a b c}`` --


DIRECT = "direct"
"""The design with one model for all branches."""


class ShortForm(NamedTuple):
    """A named code: functions of n branches that create it and count its partitions.

    A form without a count is read, but never written instead of a list of partitions.
    """

    make: Callable[[int], CodingMatrix]
    count_partitions: Callable[[int], int] = lambda n_branches: -1

    def expand(self, n_branches: int) -> CodingMatrix:
        """Return the code over n branches, or raise ArgumentError if there is none."""
        if n_branches < 2:
            raise ArgumentError("a design needs at least two branches")
        return self.make(n_branches)


def _count_orthogonal(n_branches: int) -> int:
    """Return the order of the Hadamard matrix, except for two and three branches."""
    return {2: 1, 3: 3}.get(n_branches) or hadamard_order(n_branches)


SHORT_FORMS: dict[str, ShortForm] = {
    "one-vs-one": ShortForm(one_vs_one, lambda n: comb(n, 2)),
    "one-vs-rest": ShortForm(one_vs_rest, lambda n: n),
    "adjacent": ShortForm(adjacent, lambda n: n - 1),
    "chain": ShortForm(chain, lambda n: n - 1),
    "chain-backward": ShortForm(partial(chain, direction="backward"), lambda n: n - 1),
    "orthogonal": ShortForm(orthogonal, _count_orthogonal),
    "exhaustive": ShortForm(exhaustive, _count_strict),
    "random": ShortForm(
        partial(random_strict, random_state=0), lambda n: count_random(n, 10, _count_strict(n))
    ),
    "random-ternary": ShortForm(
        partial(random_ternary, random_state=0),
        lambda n: count_random(n, 15, _count_ternary(n)),
    ),
    DIRECT: ShortForm(direct, lambda n: 1),
    "n-ary": ShortForm(partial(n_ary, random_state=0), count_n_ary),
}


def find_short_form(code: CodingMatrix) -> str | None:
    """Return the name of the design that expands to this code, or None."""
    for name, form in SHORT_FORMS.items():
        # Comparing sizes first avoids drawing random codes, which is slow.
        if form.count_partitions(code.n_classes) != code.n_partitions:
            continue
        try:
            expansion = form.expand(code.n_classes)
        except ArgumentError:  # too many branches for an exhaustive code
            continue
        if expansion == code:
            return name
    return None
