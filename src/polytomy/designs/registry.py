"""The designs by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import signature
from typing import Any, NamedTuple

from polytomy.designs import (
    cluster_trees,
    data_codes,
    empirical,
    flat,
    nested_dichotomies,
    orders,
    searched_trees,
    trees,
)
from polytomy.designs import (
    data_codes as discriminant,
)
from polytomy.designs import (
    nested_dichotomies as ensembles,
)
from polytomy.designs import (
    trees as hierarchies,
)
from polytomy.designs.flat import class_labels
from polytomy.designs.orders import match_class_order
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import did_you_mean
from polytomy.inputs.renamed import renamed_arguments
from polytomy.inputs.seeds import RandomState
from polytomy.scheme import Scheme
from polytomy.scheme.scheme import SchemeEnsemble

__all__ = [
    "DATA_DESIGNS",
    "DESIGNS",
    "ENSEMBLES",
    "LABEL_DESIGNS",
    "SCHEME_NAMES",
    "Design",
    "design",
    "find_design",
    "uses_class_order",
]

# Options of `design` that apply only to some designs.
_OPTIONS = frozenset({"random_state", "n_partitions", "sides", "separator"})
# The name of an option in a design's own function, if it differs.
_OWN_NAMES = {("n-ary", "n_partitions"): "rows"}
_DESIGNS_IN_ORDER = frozenset({"adjacent", "chain", "chain-backward", "tree"})


class Design(NamedTuple):
    """A design: the function that builds its schemes, and a one-line summary.

    The function takes the classes, or X and y if the design needs data. If the design uses the
    order of the classes, they are passed in order.
    """

    make: Callable[..., Scheme]
    summary: str
    needs_data: bool = False
    uses_order: bool = False

    @property
    def options(self) -> frozenset[str]:
        """Options of `design` that apply, such as `random_state` and `class_order`."""
        ordering = frozenset({"class_order"} if self.uses_order else ())
        own = signature(self.make).parameters.keys()
        renamed = {option for (_, option), name in _OWN_NAMES.items() if name in own}
        return ordering | (_OPTIONS & own) | renamed


DESIGNS: dict[str, Design] = {
    name: Design(make, summary, uses_order=name in _DESIGNS_IN_ORDER)
    for name, make, summary in [
        ("one-vs-one", flat.one_vs_one, "one binary for each pair of classes"),
        ("one-vs-rest", flat.one_vs_rest, "one binary for each class against all others"),
        ("exhaustive", flat.exhaustive, "every dichotomy, for up to 20 classes"),
        ("adjacent", flat.adjacent, "every cut of the ordered classes"),
        ("chain", flat.chain, "each class against those after it"),
        ("chain-backward", flat.chain_backward, "each class against those before it"),
        ("orthogonal", flat.orthogonal, "a code with orthogonal columns"),
        ("random", flat.random_code, "a random code without zeros"),
        ("random-ternary", flat.random_ternary, "a random code with zeros"),
        ("tree", trees.balanced_tree, "a tree that halves the ordered classes"),
        ("random-tree", trees.random_tree, "a random tree"),
        ("direct", flat.direct, "one model for all classes"),
        ("n-ary", flat.n_ary_code, "a random code of partitions with four sides"),
    ]
}
"""Designs made from the classes alone."""

DATA_DESIGNS: dict[str, Design] = {
    name: Design(make, summary, needs_data=True)
    for name, make, summary in [
        ("empirical-tree", empirical.empirical_tree,
         "a dendrogram of Hausdorff distances"),
        ("separability-tree", empirical.separability_tree,
         "a dendrogram of how well a linear model separates the classes"),
        ("centroid-tree", nested_dichotomies.furthest_centroid_tree,
         "splits around the two furthest class means"),
        ("class-balanced-tree", nested_dichotomies.class_balanced_tree,
         "random splits into halves"),
        ("random-pair-tree", nested_dichotomies.random_pair_tree,
         "splits around two random classes"),
        ("cluster-tree", cluster_trees.cluster_tree,
         "balanced clusters of class means, for many classes"),
        ("best-random-tree", searched_trees.best_random_tree,
         "the random tree with the least loss"),
        ("evolved-tree", searched_trees.evolved_tree,
         "a tree found by genetic search"),
        ("ordered-adjacent", orders.ordered_adjacent,
         "every cut of the classes in the order found in the data"),
        ("decoc", discriminant.decoc,
         "repeated splits with the most mutual information"),
        ("data-driven", data_codes.data_driven_code,
         "the dichotomies that separate most for their cost"),
    ]
}  # fmt: skip
"""Designs made from training data."""

LABEL_DESIGNS: dict[str, Design] = {
    hierarchies.PATHS: Design(hierarchies.from_paths, "the hierarchy in labels such as a/b/c"),
}
"""Designs made from the text of the labels."""

ENSEMBLES: dict[str, Callable[..., SchemeEnsemble]] = {
    "random-trees": ensembles.random_trees,
    "random-pair-trees": ensembles.random_pair_trees,
}
"""Ensembles of schemes: functions of X, y and ``random_state=``."""

SCHEME_NAMES = (*DESIGNS, *LABEL_DESIGNS, *DATA_DESIGNS, *ENSEMBLES)
"""All names that the option ``scheme`` accepts for a new scheme."""


def find_design(name: str) -> Design:
    """Return the design with this name, or raise ArgumentError.

    Examples
    --------
    >>> find_design("empirical-tree").summary
    'a dendrogram of Hausdorff distances'
    """
    known = DESIGNS | LABEL_DESIGNS | DATA_DESIGNS
    if isinstance(name, str) and name in ENSEMBLES:
        raise ArgumentError(
            f"{name!r} is an ensemble of several schemes, which one control text cannot describe. "
            "Train with it as the scheme instead."
        )
    if not isinstance(name, str) or name not in known:
        raise ArgumentError(
            f"{name!r} is not a design. Use one of {', '.join(known)}.{did_you_mean(name, known)}"
        )
    return known[name]


def uses_class_order(name: str) -> bool:
    """Return whether a name belongs to a design that uses the order of the classes.

    Examples
    --------
    >>> uses_class_order("adjacent"), uses_class_order("one-vs-one")
    (True, False)
    """
    return name in DESIGNS and DESIGNS[name].uses_order


@renamed_arguments(name="design", base="name", rows="n_partitions")
def design(
    design: str,
    classes: Iterable[Any] | int | None = None,
    *,
    X: Any = None,
    y: Any = None,
    random_state: RandomState = None,
    n_partitions: int | None = None,
    sides: int | None = None,
    separator: str | None = None,
    name: str | None = None,
    class_order: Iterable[Any] | None = None,
) -> Scheme:
    """Return the scheme of a named design.

    Each design is also a function, with underscores in its name:
    ``design("one-vs-one", classes)`` is ``one_vs_one(classes)``.

    Parameters
    ----------
    design : one of DESIGNS, LABEL_DESIGNS or DATA_DESIGNS
    classes : labels, or a number of classes; ignored for DATA_DESIGNS
    X, y : training data; required for DATA_DESIGNS, ignored for the others
    random_state, n_partitions : for designs that use them; ArgumentError for the others
    sides : number of sides of each partition of "n-ary"
    separator : separator between the parts of the labels for "paths"; by default "/"
    name : base of the binaries' names; by default the design's own
    class_order : all classes in order, for designs that use it: "adjacent", "chain",
        "chain-backward" and "tree"; by default as in `classes`

    Examples
    --------
    >>> print(design("adjacent", 3))
    adjacent-00 0 / 1 2;
    adjacent-01 0 1 / 2;
    {0 1 2}
    >>> print(design("empirical-tree", X=[[0.0], [9.0], [1.0]], y=["a", "b", "c"], name="m"))
    m {
      m.00 {c a}
      b
    }
    """
    found = find_design(design)
    options: dict[str, Any] = {
        "random_state": random_state,
        "n_partitions": n_partitions,
        "sides": sides,
        "separator": separator,
        "class_order": class_order,
    }
    given = {option: value for option, value in options.items() if value is not None}
    for option, value in given.items():
        if option not in found.options:
            same_kind = DATA_DESIGNS if found.needs_data else DESIGNS
            takers = [other for other, entry in same_kind.items() if option in entry.options]
            others = DESIGNS | LABEL_DESIGNS
            takers = takers or [name for name, entry in others.items() if option in entry.options]
            raise ArgumentError(
                Argument(option) if option == "class_order" else Argument(option, value),
                f" does not apply to {design!r}; it is for {', '.join(takers)}.",
            )
    if name is not None:
        given["name"] = name
    given = {_OWN_NAMES.get((design, option), option): value for option, value in given.items()}
    if design == hierarchies.PATHS and classes is not None:
        classes = hierarchies.check_labels_are_paths(class_labels(classes), separator)
    if not found.needs_data:
        order = given.pop("class_order", None)
        if order is not None and classes is not None:
            classes = match_class_order(order, class_labels(classes))
        return found.make(classes, **given)
    if X is None or y is None:
        raise ArgumentError(
            f"{design!r} is made from training data. Pass ",
            Argument("X"),
            " and ",
            Argument("y"),
            ".",
        )
    return found.make(X, y, **given)
