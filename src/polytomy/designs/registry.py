"""The designs by name."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, KeysView, Sequence
from functools import cache, partial
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from polytomy.designs import data_codes, data_trees, flat, orders, trees
from polytomy.designs.flat import class_labels
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import did_you_mean
from polytomy.inputs.class_samples import group_samples
from polytomy.inputs.label_order import match_class_order
from polytomy.inputs.seeds import RandomState
from polytomy.scheme import CodingMatrix, Scheme, SchemeEnsemble
from polytomy.scheme.codes import SHORT_FORMS, ShortForm

# Options of `design` that apply only to some designs.
_OPTIONS = frozenset({"random_state", "n_partitions", "sides", "separator"})
# Parameters of a design's function that cannot be written after its name.
_NOT_IN_TEXT = frozenset({"X", "y", "classes", "paths", "random_state", "name", "estimator"})
_MOST_WORDS = 10
# The name of an option in a design's own function, if it differs.
_OWN_NAMES = {("n-ary", "n_partitions"): "rows", ("cover", "n_partitions"): "rows"}


class Design(NamedTuple):
    """A design: the function that builds its schemes, and a one-line summary.

    Attributes
    ----------
    name : as users write it
    make : function of the classes, or of X and y if the design needs data, that returns a Scheme
        Options of `design` that it takes, such as `random_state` and `name`, are passed on.
    summary : one line, for tables and help
    needs_data : whether the scheme is made from training data
    uses_order : whether the order of the classes matters; then they are passed in order
    check_labels : function of the labels and the separator, optional
        Raises an ArgumentError if the design does not take such labels.
    """

    name: str
    make: Callable[..., Scheme]
    summary: str = ""
    needs_data: bool = False
    uses_order: bool = False
    check_labels: Callable[[Sequence[Any], str | None], None] | None = None

    @property
    def options(self) -> frozenset[str]:
        """Options of `design` that apply, such as `random_state` and `class_order`."""
        ordering = frozenset({"class_order"} if self.uses_order else ())
        own = _parameters_of(self.make)
        renamed = {option for (_, option), name in _OWN_NAMES.items() if name in own}
        return ordering | (_OPTIONS & own) | renamed


@cache
def _parameters_of(make: Callable[..., Scheme]) -> frozenset[str]:
    return frozenset(signature(make).parameters)


def _by_name(*designs: Design) -> dict[str, Design]:
    return {each.name: each for each in designs}


DESIGNS: dict[str, Design] = _by_name(
    Design("one-vs-one", flat.one_vs_one, "one binary for each pair of classes"),
    Design("one-vs-rest", flat.one_vs_rest, "one binary for each class against all others"),
    Design("exhaustive", flat.exhaustive, "every dichotomy, for up to 20 classes"),
    Design("adjacent", flat.adjacent, "every cut of the ordered classes", uses_order=True),
    Design("chain", flat.chain, "each class against those after it", uses_order=True),
    Design(
        "chain-backward", flat.chain_backward, "each class against those before it", uses_order=True
    ),
    Design("orthogonal", flat.orthogonal, "a code with orthogonal columns"),
    Design("random", flat.random_code, "a random code without zeros"),
    Design("random-ternary", flat.random_ternary, "a random code with zeros"),
    Design("tree", trees.balanced_tree, "a tree that halves the ordered classes", uses_order=True),
    Design("random-tree", trees.random_tree, "a random tree"),
    Design("direct", flat.direct, "one model for all classes"),
    Design("n-ary", flat.n_ary_code, "a random code of partitions with four sides"),
    Design("blocks", flat.blocks, "models of ten classes, in which every pair of classes meets"),
    Design("cover", flat.cover, "models of nine classes and the rest"),
)
"""Designs made from the classes alone."""

LABEL_DESIGNS: dict[str, Design] = _by_name(
    Design(
        "paths",
        trees.from_paths,
        "the hierarchy in labels such as a/b/c",
        check_labels=trees.check_label_paths,
    )
)
"""Designs made from the text of the labels."""

DATA_DESIGNS: dict[str, Design] = _by_name(
    Design("empirical-tree", data_trees.empirical_tree,
           "a dendrogram of Hausdorff distances", needs_data=True),
    Design("separability-tree", data_trees.separability_tree,
           "a dendrogram of how well a linear model separates the classes", needs_data=True),
    Design("centroid-tree", data_trees.furthest_centroid_tree,
           "splits around the two furthest class means", needs_data=True),
    Design("class-balanced-tree", data_trees.class_balanced_tree,
           "random splits into halves", needs_data=True),
    Design("random-pair-tree", data_trees.random_pair_tree,
           "splits around two random classes", needs_data=True),
    Design("cluster-tree", data_trees.cluster_tree,
           "balanced clusters of class means, for many classes", needs_data=True),
    Design("best-random-tree", data_trees.best_random_tree,
           "the random tree with the least loss", needs_data=True),
    Design("evolved-tree", data_trees.evolved_tree,
           "a tree found by genetic search", needs_data=True),
    Design("ordered-adjacent", orders.ordered_adjacent,
           "every cut of the classes in the order found in the data", needs_data=True),
    Design("decoc", data_codes.decoc,
           "repeated splits with the most mutual information", needs_data=True),
    Design("data-driven", data_codes.data_driven_code,
           "the dichotomies that separate most for their cost", needs_data=True),
)  # fmt: skip
"""Designs made from training data."""


def pool(X: Any, y: ArrayLike, *, random_state: RandomState = None) -> SchemeEnsemble:
    """Return three schemes that make different errors: one-vs-one, orthogonal and empirical-tree.

    Parameters
    ----------
    X, y : training data
    random_state : int, generator or None, for the orthogonal code

    Examples
    --------
    >>> pool([[0.0], [9.0], [1.0], [5.0]], ["a", "b", "c", "d"])
    <SchemeEnsemble: 3 schemes, 4 classes, 11 different dichotomies>
    """
    classes = group_samples(X, y).classes
    codes = [flat.one_vs_one(classes), flat.orthogonal(classes, random_state=random_state)]
    return SchemeEnsemble([*codes, data_trees.empirical_tree(X, y)])


ENSEMBLES: dict[str, Callable[..., SchemeEnsemble]] = {
    "pool": pool,
    "random-trees": data_trees.random_trees,
    "random-pair-trees": data_trees.random_pair_trees,
    "cluster-trees": data_trees.cluster_trees,
}
"""Ensembles of schemes: functions of X, y and ``random_state=``."""

# A ChainMap lists its last mapping first.
SCHEME_NAMES: KeysView[str] = ChainMap[str, Any](
    ENSEMBLES, DATA_DESIGNS, LABEL_DESIGNS, DESIGNS
).keys()
"""All names that the option ``scheme`` accepts for a new scheme."""


def register(design: Design) -> Design:
    """Add a design, so that its name is accepted wherever a scheme is chosen; return it.

    If it needs no data and its schemes are single codes, control texts can use it too:
    ``@name {a b c}``.

    Examples
    --------
    >>> from polytomy.designs import one_vs_rest
    >>> from polytomy.scheme import parse
    >>> def two_rounds(classes, *, name="rounds"):
    ...     code = one_vs_rest(classes).code.matrix
    ...     return flat.from_matrix(np.vstack([code, -code]), classes, name=name)
    >>> register(Design("two-rounds", two_rounds, "one-vs-rest, twice")).options
    frozenset()
    >>> parse("@two-rounds {corn wheat oak}").n_partitions
    6
    >>> del DESIGNS["two-rounds"], SHORT_FORMS["two-rounds"]
    """
    if design.name in {"auto", "limited", "ordered", *SCHEME_NAMES}:
        raise ArgumentError(
            f"There is already a scheme called {design.name!r}. Give this design another name."
        )
    if design.needs_data:
        DATA_DESIGNS[design.name] = design
    else:
        DESIGNS[design.name] = design
        SHORT_FORMS[design.name] = ShortForm(partial(_make_code, design))
    return design


def _make_code(design: Design, n_branches: int) -> CodingMatrix:
    """Return the code of a design over branches, which has a fixed seed if it is random."""
    seed = {"random_state": 0} if "random_state" in design.options else {}
    scheme = design.make(range(n_branches), **seed)
    if not scheme.is_flat:
        raise ArgumentError(f"@{design.name} is not a single code; nest braces instead")
    order = np.argsort(np.array(scheme.classes))
    return CodingMatrix(scheme.code.matrix[:, order], scheme.code.rows_per_partition)


def split_options(text: str) -> tuple[str, dict[str, Any]]:
    """Return the name in a text such as "n-ary sides=10", and the options after it.

    Any other text is returned as it is, without options.

    Examples
    --------
    >>> split_options("n-ary sides=10 rows=8")
    ('n-ary', {'sides': 10, 'rows': 8})
    >>> split_options("tree {corn oak}")
    ('tree {corn oak}', {})
    """
    name, *words = text.split()[:_MOST_WORDS] or [text]
    if not words or name not in SCHEME_NAMES or not all("=" in word for word in words):
        return text, {}
    known = options_of(name)
    options: dict[str, Any] = {}
    for word in words:
        option, _, value = word.partition("=")
        if option not in known:
            raise ArgumentError(
                Argument("scheme", text),
                f": {name!r} has no option {option!r}. It has {', '.join(known) or 'none'}."
                f"{did_you_mean(option, known)}",
            )
        options[option] = int(value) if value.isdecimal() else value
    return name, options


def options_of(name: str) -> list[str]:
    """Return the options that can follow the name of a design or an ensemble.

    Examples
    --------
    >>> options_of("n-ary"), options_of("one-vs-one")
    (['sides', 'rows'], [])
    """
    make = ENSEMBLES.get(name) or find_design(name).make
    return [option for option in signature(make).parameters if option not in _NOT_IN_TEXT]


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
    if found.check_labels is not None and classes is not None:
        classes = class_labels(classes)
        found.check_labels(classes, separator)
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
