"""Designs that can stand in for a partition list: ``@one-vs-one {a b c}``.

They are codes that depend on the number of branches alone; the random ones are drawn from a fixed
seed, so that a text always means the same scheme.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import comb
from typing import NamedTuple

from polytomy.codes import (
    CodingMatrix,
    adjacent,
    exhaustive,
    one_vs_one,
    one_vs_rest,
    orthogonal,
    random_strict,
    random_ternary,
)
from polytomy.errors import ArgumentError

__all__ = ["SHORT_FORMS", "ShortForm", "matching_short_form"]


class ShortForm(NamedTuple):
    """A code known by name: how it is made, and at least how many rows it has for n branches."""

    make: Callable[[int], CodingMatrix]
    fewest_rows: Callable[[int], int]

    def expand(self, n_branches: int) -> CodingMatrix:
        """Return the code over so many branches, or raise ArgumentError if there is none."""
        if n_branches < 2:
            raise ArgumentError("a design needs two branches or more")
        return self.make(n_branches)


SHORT_FORMS: dict[str, ShortForm] = {
    "one-vs-one": ShortForm(one_vs_one, lambda n: comb(n, 2)),
    "one-vs-rest": ShortForm(one_vs_rest, lambda n: n),
    "adjacent": ShortForm(adjacent, lambda n: n - 1),
    "orthogonal": ShortForm(orthogonal, lambda n: n if n > 2 else 1),
    "exhaustive": ShortForm(exhaustive, lambda n: 2 ** min(n - 1, 20) - 1),
    "random": ShortForm(partial(random_strict, random_state=0), lambda n: n.bit_length() - 1),
    "random-ternary": ShortForm(partial(random_ternary, random_state=0), lambda n: 1),
}


def matching_short_form(code: CodingMatrix) -> str | None:
    """Return the name of the design whose expansion is this code, if there is one."""
    for name, form in SHORT_FORMS.items():
        if form.fewest_rows(code.n_classes) > code.n_partitions:
            continue
        try:
            expansion = form.expand(code.n_classes)
        except ArgumentError:  # exhaustive has a limit of its own
            continue
        if expansion == code:
            return name
    return None
