"""Random codes: the best of many draws, and always valid."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import as_count
from polytomy.inputs.seeds import RandomState, as_generator
from polytomy.scheme.code_checks import check_entries
from polytomy.scheme.coding_matrix import CodingMatrix
from polytomy.scheme.structure import CodeArray, column_distances, find_repeated_rows

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
    fewest = (n_classes - 1).bit_length()
    most = 2 ** (n_classes - 1) - 1
    n_rows = _check_n_partitions(n_partitions, n_classes, 10, fewest, most)
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
    fewest = 0
    while n_classes > 1 and 3**fewest <= n_classes:
        fewest += 1
    most = (3**n_classes - 2 ** (n_classes + 1) + 1) // 2
    n_rows = _check_n_partitions(n_partitions, n_classes, 15, fewest, most)
    return _draw_best(n_classes, n_rows, most, _TERNARY, as_generator(random_state))


def _check_n_partitions(
    n_partitions: int | None, n_classes: int, default_per_bit: int, fewest: int, most: int
) -> int:
    """Return the number of rows of a random code, by default computed from the classes."""
    if n_partitions is None:
        n_rows = min(math.ceil(default_per_bit * math.log2(n_classes)), most)
    else:
        n_rows = as_count("n_partitions", n_partitions, at_least=0)
        argument = Argument("n_partitions", n_rows)
        if n_rows > most:
            raise ArgumentError(
                argument,
                f" is too many; {n_classes} classes have only {most} partitions. "
                f"Use {most} or fewer.",
            )
        if n_rows < fewest:
            raise ArgumentError(
                argument, f" is too few to separate {n_classes} classes. Use {fewest} or more."
            )
    check_entries("a random code", n_rows, n_classes)
    return n_rows


def _draw_best(
    n_classes: int, n_rows: int, most: int, entries: CodeArray, generator: np.random.Generator
) -> CodingMatrix:
    """Return the best of many draws: determined first, then by minimum and mean distance."""
    if n_classes == 1:
        return CodingMatrix(np.empty((0, 1), dtype=np.int8))
    # Probabilities sum to one, so n − 1 rows may determine n of them.
    may_be_determined = n_rows >= n_classes - 1
    draw = _make_drawer(n_classes, n_rows, most, entries, generator)
    best = CodingMatrix(draw())
    n_draws = 1 if n_rows == most else _MOST_WORK // (n_rows * n_classes**2)
    if n_draws <= 1:
        return best
    best_merit = (best.is_determined, best.minimum_distance, best.mean_distance)
    for _ in range(1, min(n_draws, _MOST_DRAWS)):
        matrix = draw()
        distances = column_distances(matrix)
        # Computing whether a code is determined is slowest, so this is checked last.
        if (may_be_determined, *distances) > best_merit:
            code = CodingMatrix(matrix)
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
        return CodingMatrix(np.empty((0, 1), dtype=np.int8))
    if sides is None:
        n_sides = min(_DEFAULT_SIDES, n_classes)
    else:
        n_sides = as_count("sides", sides, at_least=2)
        if n_sides > n_classes:
            raise ArgumentError(
                Argument("sides", n_sides),
                f" is too many for {n_classes} classes. Use {n_classes} or fewer.",
            )
    fewest = _count_digits(n_classes, n_sides)
    n_rows = _check_rows(rows, n_classes, n_sides, fewest)
    check_entries("an n-ary code", n_rows * (1 if n_sides == 2 else n_sides), n_classes)
    n_draws = max(1, min(_MOST_N_ARY_DRAWS, _MOST_N_ARY_WORK // (n_rows * n_classes**2)))
    draws = (
        CodingMatrix.from_sides(_draw_n_ary(n_classes, n_sides, n_rows, fewest, generator))
        for _ in range(n_draws)
    )
    best = next(draws)
    best_merit = (best.is_determined, best.minimum_distance, best.mean_distance)
    for code in draws:
        distances = (code.minimum_distance, code.mean_distance)
        # Computing whether a code is determined is slowest, so this is checked last.
        if (True, *distances) > best_merit:
            merit = (code.is_determined, *distances)
            if merit > best_merit:
                best, best_merit = code, merit
    return best


def _count_digits(n_classes: int, n_sides: int) -> int:
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


def _check_rows(rows: int | None, n_classes: int, n_sides: int, fewest: int) -> int:
    if rows is None:
        return _default_rows(n_classes, n_sides)
    most = _count_partitions(n_classes, n_sides)
    n_rows = as_count("rows", rows, at_least=0)
    if n_rows < fewest:
        raise ArgumentError(
            Argument("rows", n_rows),
            f" is too few to separate {n_classes} classes by {n_sides} sides. Use {fewest} or "
            "more.",
        )
    if n_rows > most:
        raise ArgumentError(
            Argument("rows", n_rows),
            f" is too many; {n_classes} classes have only {most} partitions with {n_sides} sides. "
            f"Use {most} or fewer.",
        )
    return n_rows


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
