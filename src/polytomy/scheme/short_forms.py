"""Designs that can replace a list of partitions: ``@one-vs-one {a b c}``.

Their codes depend only on the number of branches. Random codes have a fixed seed, so that a control
text always describes the same scheme.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import ceil, comb, log2
from typing import NamedTuple

from polytomy.errors import ArgumentError
from polytomy.scheme.coding_matrix import CodingMatrix
from polytomy.scheme.random_codes import count_n_ary, n_ary, random_strict, random_ternary
from polytomy.scheme.standard_codes import (
    adjacent,
    chain,
    direct,
    exhaustive,
    hadamard_order,
    one_vs_one,
    one_vs_rest,
    orthogonal,
)

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


def _count_strict(n_branches: int) -> int:
    """Return the number of all partitions without zeros; branches are capped at 64."""
    return (1 << min(n_branches, 64) - 1) - 1


def _count_ternary(n_branches: int) -> int:
    """Return the number of all partitions; branches are capped at 64."""
    n_branches = min(n_branches, 64)
    return int(3**n_branches - 2 ** (n_branches + 1) + 1) // 2


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
        partial(random_strict, random_state=0), lambda n: min(ceil(10 * log2(n)), _count_strict(n))
    ),
    "random-ternary": ShortForm(
        partial(random_ternary, random_state=0),
        lambda n: min(ceil(15 * log2(n)), _count_ternary(n)),
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
