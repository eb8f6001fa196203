"""The designs by the names users give them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, NamedTuple

from polytomy.designs import (
    data_codes,
    discriminant,
    empirical,
    ensembles,
    flat,
    nested_dichotomies,
    orders,
    searched_trees,
    trees,
)
from polytomy.errors import ArgumentError
from polytomy.inputs.class_samples import group_samples
from polytomy.inputs.random_states import RandomState
from polytomy.scheme import Scheme
from polytomy.scheme.ensemble import SchemeEnsemble

__all__ = [
    "DATA_DESIGNS",
    "DESIGNS",
    "ENSEMBLES",
    "SCHEME_NAMES",
    "Design",
    "design",
    "find_design",
]


class Design(NamedTuple):
    """A design: the function that makes it, and which options that takes.

    The function takes the classes, or X and y where the design needs data.
    """

    make: Callable[..., Scheme]
    summary: str
    options: frozenset[str] = frozenset()
    needs_data: bool = False


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


def _separability_tree(X: Any, y: Any, **options: Any) -> Scheme:
    return empirical.empirical_tree(X, y, distance="separability", linkage="average", **options)


def _random_trees(X: Any, y: Any, **options: Any) -> SchemeEnsemble:
    return ensembles.tree_ensemble(group_samples(X, y).classes, **options)


DATA_DESIGNS: dict[str, Design] = {
    name: Design(make, summary, _SEEDED if is_seeded else frozenset(), needs_data=True)
    for name, make, summary, is_seeded in [
        ("empirical-tree", empirical.empirical_tree,
         "a dendrogram on Hausdorff distances", False),
        ("separability-tree", _separability_tree,
         "a dendrogram on what a linear model tells apart", False),
        ("centroid-tree", nested_dichotomies.furthest_centroid_tree,
         "sides around the two farthest means", False),
        ("class-balanced-tree", nested_dichotomies.class_balanced_tree,
         "random halves of the classes", True),
        ("random-pair-tree", nested_dichotomies.random_pair_tree,
         "sides around two classes drawn at random", True),
        ("best-random-tree", searched_trees.best_random_tree,
         "the random tree that loses least", True),
        ("evolved-tree", searched_trees.evolved_tree,
         "a tree found by genetic search", True),
        ("ordered-adjacent", orders.ordered_adjacent,
         "cuts of the order that the data shows", False),
        ("decoc", discriminant.decoc,
         "the most informative halves, again and again", True),
        ("data-driven", data_codes.data_driven_code,
         "dichotomies that are worth their cost", True),
    ]
}  # fmt: skip

# Several schemes each, which no single control text describes.
ENSEMBLES: dict[str, Callable[..., SchemeEnsemble]] = {
    "random-trees": _random_trees,
    "random-pair-trees": ensembles.random_pair_trees,
}
"""Ensembles by name: functions of X, y and ``random_state=``."""

SCHEME_NAMES = (*DESIGNS, *DATA_DESIGNS, *ENSEMBLES)
"""All names that the option ``scheme`` takes for what is made anew."""


def find_design(name: str) -> Design:
    """Return the entry of a design, from the classes or from the data; ArgumentError if none.

    >>> find_design("empirical-tree").needs_data
    True
    """
    known = DESIGNS | DATA_DESIGNS
    if isinstance(name, str) and name in ENSEMBLES:
        raise ArgumentError(
            f"{name!r} is several schemes, which no single control text describes. Train with it "
            "as the scheme instead."
        )
    if not isinstance(name, str) or name not in known:
        near = get_close_matches(str(name), known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ArgumentError(f"{name!r} is not a design; there are {', '.join(known)}.{hint}")
    return known[name]


def design(
    name: str,
    classes: Iterable[Any] | int | None = None,
    *,
    X: Any = None,
    y: Any = None,
    random_state: RandomState = None,
    rows: int | None = None,
    base: str | None = None,
) -> Scheme:
    """Return the scheme of a design, by its name.

    Parameters
    ----------
    name : one of DESIGNS, or of DATA_DESIGNS
    classes : labels, or a number of classes; needed for DESIGNS, left out for DATA_DESIGNS
    X, y : the training data; needed for DATA_DESIGNS, of no use to the others
    random_state, rows : for the designs that take them, else ArgumentError
    base : of the names of the binaries; the design's own if None

    Examples
    --------
    >>> design("adjacent", 3).n_partitions
    2
    >>> print(design("empirical-tree", X=[[0.0], [9.0], [1.0]], y=["a", "b", "c"], base="m"))
    m {
      m.00 {c a}
      b
    }
    """
    found = find_design(name)
    options: dict[str, Any] = {"random_state": random_state, "rows": rows}
    given = {option: value for option, value in options.items() if value is not None}
    for option, value in given.items():
        if option not in found.options:
            same_kind = DATA_DESIGNS if found.needs_data else DESIGNS
            takers = [other for other, entry in same_kind.items() if option in entry.options]
            whom = f"it is for {', '.join(takers)}" if takers else "leave it out"
            raise ArgumentError(f"{option}={value!r} means nothing to {name!r}; {whom}")
    if base is not None:
        given["name"] = base
    if not found.needs_data:
        return found.make(classes, **given)
    if X is None or y is None:
        raise ArgumentError(f"{name!r} is made from the data; give X= and y=")
    return found.make(X, y, **given)
