"""Codes for models that separate only a few classes: blocks that cover all pairs, and covers."""

from __future__ import annotations

import math
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import as_count
from polytomy.inputs.seeds import RandomState, as_generator
from polytomy.scheme.code_checks import check_entries
from polytomy.scheme.codes import SHORT_FORMS, ShortForm, count_digits, direct
from polytomy.scheme.coding_matrix import CodingMatrix

Sides = NDArray[np.intp]

DEFAULT_SIDES = 10
"""Number of sides if none is given: what most models of tables take."""

# Blocks are the smallest of several greedy coverings, and each block the best of several.
_MOST_COVERINGS = 20
_MOST_WORK = 2**19
_DRAWS_OF_BLOCK = 8


def blocks(
    n_classes: int, sides: int = DEFAULT_SIDES, random_state: RandomState = None
) -> CodingMatrix:
    """Return a code of blocks of classes in which every pair of classes meets.

    Each partition has up to `sides` classes, each on its own side, and leaves out all others. There
    are few partitions: the fewest of up to 20 greedy coverings, or all pairs of groups of half the
    size if these are fewer. (Finding the fewest is the covering design problem; Gordon, Kuperberg
    and Patashnik 1995 describe the greedy way.)

    Parameters
    ----------
    n_classes : int
    sides : int, default=10
    random_state : int, Generator, RandomState or None, which always gives the same code

    Examples
    --------
    >>> blocks(15)
    CodingMatrix(3 partitions, 30 rows, 15 classes)
    """
    n_classes = as_count("n_classes", n_classes)
    n_sides = as_count("sides", sides, at_least=2)
    if n_classes <= n_sides:
        return direct(n_classes)
    # Every class meets n_sides - 1 others in a block.
    fewest = math.ceil(n_classes / n_sides * math.ceil((n_classes - 1) / (n_sides - 1)))
    check_entries("a covering by blocks", fewest * n_sides, n_classes)
    generator = as_generator(0 if random_state is None else random_state)
    n_draws = max(1, min(_MOST_COVERINGS, _MOST_WORK // (fewest * n_sides * n_classes)))
    coverings = [_cover_pairs(n_classes, n_sides, generator) for _ in range(n_draws)]
    groups = np.array_split(np.arange(n_classes), math.ceil(n_classes / (n_sides // 2)))
    coverings.append([np.concatenate(pair) for pair in combinations(groups, 2)])
    best = min(coverings, key=len)
    rows = np.full((len(best), n_classes), -1, dtype=np.intp)
    for row, members in zip(rows, best, strict=True):
        row[members] = np.arange(len(members))
    return CodingMatrix.from_sides(rows)


def _cover_pairs(n_classes: int, size: int, generator: np.random.Generator) -> list[Sides]:
    """Return blocks of classes; each is chosen to contain many pairs that have not met before."""
    is_unmet = ~np.eye(n_classes, dtype=bool)
    chosen = []
    while is_unmet.any():
        draws = [_draw_block(is_unmet, size, generator) for _ in range(_DRAWS_OF_BLOCK)]
        best = max(draws, key=lambda block: is_unmet[np.ix_(block, block)].sum())
        is_unmet[np.ix_(best, best)] = False
        chosen.append(np.sort(best))
    return chosen


def _draw_block(is_unmet: NDArray[np.bool_], size: int, generator: np.random.Generator) -> Sides:
    """Return a block that starts with the class with most unmet partners, and grows greedily."""
    n_unmet = is_unmet.sum(axis=1)
    value = n_unmet / len(n_unmet) ** 2 + generator.random(len(n_unmet)) * 1e-6
    block = [int(np.argmax(value))]
    gains = value.copy()
    for _ in range(size - 1):
        gains += is_unmet[block[-1]]
        gains[block[-1]] = -np.inf
        block.append(int(np.argmax(gains)))
    return np.array(block)


def cover(
    n_classes: int,
    sides: int = DEFAULT_SIDES,
    rows: int | None = None,
    random_state: RandomState = None,
) -> CodingMatrix:
    """Return a code in which some classes have sides of their own, and all others share one.

    Each partition gives ``sides − 1`` classes a side of their own, those that had one least often
    so far. So the numbers of such partitions differ by at most one between classes. tabpfn-
    extensions' ManyClassClassifier uses such codes.

    Parameters
    ----------
    n_classes : int
    sides : int, default=10
    rows : int, optional
        Number of partitions; `count_cover` is the default.
    random_state : int, Generator, RandomState or None for a different code each time

    Examples
    --------
    >>> cover(26, random_state=0)
    CodingMatrix(8 partitions, 80 rows, 26 classes)
    """
    n_classes = as_count("n_classes", n_classes)
    n_sides = as_count("sides", sides, at_least=2)
    if n_classes <= n_sides:
        return direct(n_classes)
    fewest = math.ceil(n_classes / (n_sides - 1))
    n_rows = count_cover(n_classes, n_sides) if rows is None else as_count("rows", rows)
    if n_rows < fewest:
        raise ArgumentError(
            Argument("rows", n_rows),
            f" is too few for {n_classes} classes with {n_sides} sides. Use {fewest} or more.",
        )
    check_entries("a cover", n_rows * n_sides, n_classes)
    generator = as_generator(random_state)
    counts = np.zeros(n_classes)
    code = np.full((n_rows, n_classes), n_sides - 1, dtype=np.intp)
    for row in code:
        own = np.sort(np.argsort(counts + generator.random(n_classes) / 2)[: n_sides - 1])
        row[own] = np.arange(n_sides - 1)
        counts[own] += 1
    return CodingMatrix.from_sides(code)


def count_cover(n_classes: int, n_sides: int) -> int:
    """Return the default number of partitions of `cover`: max(⌈n / (s − 1)⌉, 4 ⌈log_s n⌉).

    Examples
    --------
    >>> [count_cover(n, 10) for n in (26, 60, 100, 242)]
    [8, 8, 12, 27]
    """
    return max(math.ceil(n_classes / (n_sides - 1)), 4 * count_digits(n_classes, n_sides))


SHORT_FORMS["blocks"] = ShortForm(blocks)
SHORT_FORMS["cover"] = ShortForm(partial(cover, random_state=0))
