"""Random codes: the best of many draws, never a degenerate one."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from polytomy.codes.checks import check_entries, find_problems
from polytomy.codes.coding_matrix import CodingMatrix
from polytomy.codes.structure import CodeArray, column_distances, find_repeated_rows
from polytomy.errors import ArgumentError
from polytomy.inputs.numbers import as_count
from polytomy.inputs.random_states import RandomState, as_generator

__all__ = ["random_strict", "random_ternary"]

_MOST_DRAWS = 200

_MOST_WORK = 2**31
"""Multiplications that all draws of a large code may spend on comparing its columns."""

_BATCH_ENTRIES = 2**22
"""Entries drawn at a time."""

# An entry is one of these by chance, so that a ternary one is zero half of the time.
_STRICT: CodeArray = np.array([-1, 1], dtype=np.int8)
_TERNARY: CodeArray = np.array([-1, 0, 0, 1], dtype=np.int8)


def random_strict(
    n_classes: int, rows: int | None = None, random_state: RandomState = None
) -> CodingMatrix:
    """Return a random code without zeros: every partition divides all the classes.

    Of up to 200 draws (fewer for large codes) the best is kept: one that determines the class
    probabilities, if so many rows can; then the one with the largest distance between its closest
    two columns; then the largest mean distance. No partition comes twice.

    Parameters
    ----------
    n_classes : int
    rows : int, optional
        Number of partitions, from ⌈log₂ n⌉, the fewest that tell n classes apart, to 2ⁿ⁻¹ − 1, all
        there are. The default is ⌈10 log₂ n⌉ (Allwein, Schapire and Singer 2000), or all.
    random_state : int, Generator, RandomState or None
        None draws another code each time.

    Examples
    --------
    >>> code = random_strict(6, random_state=0)
    >>> code.shape, code.is_strict, code.is_determined
    ((26, 6), True, True)
    """
    n_classes = as_count("n_classes", n_classes)
    fewest = (n_classes - 1).bit_length()
    most = 2 ** (n_classes - 1) - 1
    n_rows = _choose_length(n_classes, rows, 10, fewest, most)
    return _draw_best(n_classes, n_rows, most, _STRICT, as_generator(random_state))


def random_ternary(
    n_classes: int, rows: int | None = None, random_state: RandomState = None
) -> CodingMatrix:
    """Return a random code in which a partition leaves about half of the classes out.

    Draws are judged as by :func:`random_strict`, a zero counting one half in the distances.

    Parameters
    ----------
    n_classes : int
    rows : int, optional
        Number of partitions, from ⌈log₃(n + 1)⌉, the fewest that tell n classes apart, to
        (3ⁿ − 2ⁿ⁺¹ + 1)/2, all there are. The default is ⌈15 log₂ n⌉ (Allwein, Schapire and
        Singer 2000), or all.
    random_state : int, Generator, RandomState or None
        None draws another code each time.

    Examples
    --------
    >>> code = random_ternary(6, random_state=0)
    >>> code.shape, code.is_strict, code.is_determined
    ((39, 6), False, True)
    """
    n_classes = as_count("n_classes", n_classes)
    fewest = 0
    while n_classes > 1 and 3**fewest <= n_classes:
        fewest += 1
    most = (3**n_classes - 2 ** (n_classes + 1) + 1) // 2
    n_rows = _choose_length(n_classes, rows, 15, fewest, most)
    return _draw_best(n_classes, n_rows, most, _TERNARY, as_generator(random_state))


def _choose_length(
    n_classes: int, rows: int | None, rows_a_bit: int, fewest: int, most: int
) -> int:
    if rows is None:
        n_rows = min(math.ceil(rows_a_bit * math.log2(n_classes)), most)
    else:
        n_rows = as_count("rows", rows, at_least=0)
        if n_rows > most:
            raise ArgumentError(
                f"rows={n_rows} is more than all {most} partitions that {n_classes} classes have. "
                f"Ask for {most} at most."
            )
        if n_rows < fewest:
            raise ArgumentError(
                f"rows={n_rows} is too few to tell {n_classes} classes apart. "
                f"Ask for {fewest} at least."
            )
    check_entries("a random code", n_rows, n_classes)
    return n_rows


def _draw_best(
    n_classes: int, n_rows: int, most: int, entries: CodeArray, generator: np.random.Generator
) -> CodingMatrix:
    """Return the best of many draws by determinedness, least distance and mean distance."""
    if n_classes == 1:
        return CodingMatrix(np.empty((0, 1), dtype=np.int8))
    # The normalisation is one more equation: n − 1 rows may determine n probabilities.
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
        # Determinedness takes longest, so it is asked for only where all depends on it.
        if (may_be_determined, *distances) > best_merit:
            code = CodingMatrix(matrix)
            merit = (code.is_determined, *distances)
            if merit > best_merit:
                best, best_merit = code, merit
    return best


def _make_drawer(
    n_classes: int, n_rows: int, most: int, entries: CodeArray, generator: np.random.Generator
) -> Callable[[], CodeArray]:
    """Return a function that draws codes without problems and without a partition twice.

    Whatever is scarcer, rows or columns, is drawn without repetition; the other then seldom
    repeats, and where it does the draw is thrown away.
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
            # Each partition has been drawn with one of its two signs only.
            signs = generator.choice(_STRICT, size=(n_rows, 1))
            matrix: CodeArray = signs * (vectors if by_rows else vectors.T)
            if not find_problems(matrix) and (by_rows or not find_repeated_rows(matrix)):
                return matrix

    return draw


def _is_partition(vectors: CodeArray) -> NDArray[np.bool_]:
    """Say which vectors have both sides; of two with opposite signs only one is let pass."""
    first = np.take_along_axis(vectors, (vectors != 0).argmax(axis=1)[:, None], axis=1)[:, 0]
    passes: NDArray[np.bool_] = (first == -1) & (vectors == 1).any(axis=1)
    return passes


def _is_column(vectors: CodeArray) -> NDArray[np.bool_]:
    """Say which vectors are not all zero."""
    passes: NDArray[np.bool_] = (vectors != 0).any(axis=1)
    return passes


def _list_vectors(
    length: int, entries: CodeArray, belongs: Callable[[CodeArray], NDArray[np.bool_]]
) -> CodeArray:
    """Return all vectors of the given length that belong."""
    values = np.unique(entries)
    numbers = np.arange(len(values) ** length)
    vectors = np.empty((len(numbers), length), dtype=np.int8)
    for position in range(length):
        vectors[:, position] = values[numbers % len(values)]
        numbers //= len(values)
    return vectors[belongs(vectors)]


def _pick(every: CodeArray, count: int, generator: np.random.Generator) -> CodeArray:
    """Return some of the vectors, the likelier the more zeros they have.

    This is the law of `_collect`: with zero drawn twice as often as either sign, each zero doubles
    a vector's chance. The smallest of exponential variates divided by the chances are a weighted
    sample without repetition (Efraimidis and Spirakis 2006).
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
    """Return the first vectors drawn that belong and have not been drawn before."""
    found: dict[bytes, CodeArray] = {}
    while len(found) < count:
        n_wanted = min(2 * (count - len(found)) + 8, max(1, _BATCH_ENTRIES // length))
        chosen = generator.integers(len(entries), size=(n_wanted, length), dtype=np.uint8)
        batch = entries[chosen]
        for vector in batch[belongs(batch)]:
            found.setdefault(vector.tobytes(), vector)
    return np.array(list(found.values())[:count], dtype=np.int8)
