"""The designs by the names users give them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, NamedTuple

from polytomy.codes.arguments import RandomState
from polytomy.designs import flat, trees
from polytomy.errors import ArgumentError
from polytomy.scheme import Scheme

__all__ = ["DESIGNS", "Design", "design"]


class Design(NamedTuple):
    """A design that needs no data: the function that makes it, and which options that takes."""

    make: Callable[..., Scheme]
    summary: str
    options: frozenset[str] = frozenset()


def _random_ternary(classes: Iterable[Any] | int, **options: Any) -> Scheme:
    return flat.random_code(classes, ternary=True, **options)


_SEEDED = frozenset({"random_state"})
_SEEDED_ROWS = frozenset({"random_state", "rows"})

DESIGNS: dict[str, Design] = {
    "one-vs-one": Design(flat.one_vs_one, "a binary for every pair of classes"),
    "one-vs-rest": Design(flat.one_vs_rest, "a binary for every class against all others"),
    "exhaustive": Design(flat.exhaustive, "every dichotomy, up to 20 classes"),
    "adjacent": Design(flat.adjacent, "cuts of ordered classes"),
    "orthogonal": Design(flat.orthogonal, "a code of orthogonal columns", _SEEDED),
    "random": Design(flat.random_code, "a random code without zeros", _SEEDED_ROWS),
    "random-ternary": Design(_random_ternary, "a random code with zeros", _SEEDED_ROWS),
    "tree": Design(trees.balanced_tree, "a tree that halves the order of classes"),
    "random-tree": Design(trees.random_tree, "a tree drawn at random", _SEEDED),
}


def design(
    name: str,
    classes: Iterable[Any] | int,
    *,
    random_state: RandomState = None,
    rows: int | None = None,
    base: str | None = None,
) -> Scheme:
    """Return the scheme of a design, by its name.

    Parameters
    ----------
    name : one of DESIGNS
    classes : labels, or a number of classes
    random_state, rows : for the designs that take them, else ArgumentError
    base : of the names of the binaries; the design's own if None

    Examples
    --------
    >>> design("adjacent", 3).n_partitions
    2
    """
    if not isinstance(name, str) or name not in DESIGNS:
        near = get_close_matches(str(name), DESIGNS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ArgumentError(f"{name!r} is not a design; there are {', '.join(DESIGNS)}.{hint}")
    options: dict[str, Any] = {"random_state": random_state, "rows": rows}
    given = {option: value for option, value in options.items() if value is not None}
    for option, value in given.items():
        if option not in DESIGNS[name].options:
            takers = ", ".join(other for other, entry in DESIGNS.items() if option in entry.options)
            raise ArgumentError(f"{option}={value!r} means nothing to {name!r}; it is for {takers}")
    if base is not None:
        given["name"] = base
    return DESIGNS[name].make(classes, **given)
