"""N-ary codes: random partitions with more than two sides, chosen from many draws."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from polytomy.codes.checks import check_entries
from polytomy.codes.coding_matrix import CodingMatrix
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import as_count
from polytomy.inputs.seeds import RandomState, as_generator

__all__ = ["count_n_ary", "n_ary"]

_MOST_DRAWS = 50
_MOST_WORK = 2**28
"""Most comparisons of sides for all draws together."""

_DEFAULT_SIDES = 4

Sides = NDArray[np.intp]


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
    n_draws = max(1, min(_MOST_DRAWS, _MOST_WORK // (n_rows * n_classes**2)))
    draws = (
        CodingMatrix.from_sides(_draw(n_classes, n_sides, n_rows, fewest, generator))
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


def _draw(
    n_classes: int, n_sides: int, n_rows: int, fewest: int, generator: np.random.Generator
) -> Sides:
    """Return different partitions, with all sides in use, that separate all classes."""
    rows: dict[bytes, Sides] = {}
    while len(rows) < n_rows:
        _add(rows, _draw_row(n_classes, n_sides, generator))
    sides = np.array(list(rows.values()))
    if len(np.unique(sides, axis=1).T) == n_classes:
        return sides
    # Different digits tell classes apart. The lowest digit takes all values, and so do the other
    # digits when it is added to them.
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


def _draw_row(n_classes: int, n_sides: int, generator: np.random.Generator) -> Sides:
    """Return a random side for each class, such that no side is empty."""
    row = generator.integers(n_sides, size=n_classes)
    row[generator.permutation(n_classes)[:n_sides]] = np.arange(n_sides)
    return row


def _add(rows: dict[bytes, Sides], row: Sides) -> None:
    """Add a partition unless it is already there, possibly with its sides in another order."""
    _, first, inverse = np.unique(row, return_index=True, return_inverse=True)
    rows.setdefault(np.argsort(np.argsort(first))[inverse].tobytes(), row)
