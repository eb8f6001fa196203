"""Designs that can stand in for a partition list: ``@one-vs-one {a b c}``.

They are codes that depend on the number of branches alone; the random ones are drawn from a fixed
seed, so that a text always means the same scheme.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import ceil, comb, log2
from typing import NamedTuple

from polytomy.codes import (
    CodingMatrix,
    adjacent,
    exhaustive,
    hadamard_order,
    one_vs_one,
    one_vs_rest,
    orthogonal,
    random_strict,
    random_ternary,
)
from polytomy.errors import ArgumentError

__all__ = ["SHORT_FORMS", "ShortForm", "matching_short_form"]


class ShortForm(NamedTuple):
    """A code known by name: how it is made, and how many rows it has for n branches."""

    make: Callable[[int], CodingMatrix]
    count_rows: Callable[[int], int]

    def expand(self, n_branches: int) -> CodingMatrix:
        """Return the code over so many branches, or raise ArgumentError if there is none."""
        if n_branches < 2:
            raise ArgumentError("a design needs two branches or more")
        return self.make(n_branches)


def _count_strict(n_branches: int) -> int:
    """Return the number of all partitions without zeros, or of 64 branches where it is more."""
    return (1 << min(n_branches, 64) - 1) - 1


def _count_ternary(n_branches: int) -> int:
    """Return the number of all partitions, or of 64 branches where it is more."""
    n_branches = min(n_branches, 64)
    return int(3**n_branches - 2 ** (n_branches + 1) + 1) // 2


def _count_orthogonal(n_branches: int) -> int:
    """Return the order of the Hadamard matrix; two and three branches have none."""
    return {2: 1, 3: 3}.get(n_branches) or hadamard_order(n_branches)


SHORT_FORMS: dict[str, ShortForm] = {
    "one-vs-one": ShortForm(one_vs_one, lambda n: comb(n, 2)),
    "one-vs-rest": ShortForm(one_vs_rest, lambda n: n),
    "adjacent": ShortForm(adjacent, lambda n: n - 1),
    "orthogonal": ShortForm(orthogonal, _count_orthogonal),
    "exhaustive": ShortForm(exhaustive, _count_strict),
    "random": ShortForm(
        partial(random_strict, random_state=0), lambda n: min(ceil(10 * log2(n)), _count_strict(n))
    ),
    "random-ternary": ShortForm(
        partial(random_ternary, random_state=0),
        lambda n: min(ceil(15 * log2(n)), _count_ternary(n)),
    ),
}


def matching_short_form(code: CodingMatrix) -> str | None:
    """Return the name of the design whose expansion is this code, if there is one."""
    for name, form in SHORT_FORMS.items():
        # Drawing a random code, only to find that it is another one, takes its time.
        if form.count_rows(code.n_classes) != code.n_partitions:
            continue
        try:
            expansion = form.expand(code.n_classes)
        except ArgumentError:  # exhaustive has a limit of its own
            continue
        if expansion == code:
            return name
    return None
