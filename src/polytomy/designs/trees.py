"""Trees of classes: from nested lists, hierarchies and paths, balanced or random."""

from __future__ import annotations

import re
from collections.abc import Iterable, KeysView, Mapping, Sequence, Set, Sized
from typing import Any, TypeAlias

import numpy as np

from polytomy.designs.flat import class_labels
from polytomy.errors import Argument, ArgumentError, PythonOnly
from polytomy.inputs.arguments import check_choice
from polytomy.inputs.seeds import RandomState, as_generator
from polytomy.language.lexer import is_name
from polytomy.scheme import BinaryName, Label, Scheme
from polytomy.scheme.codes import DIRECT, SHORT_FORMS
from polytomy.scheme.coverings import blocks
from polytomy.scheme.nodes import Division, branch_base, grow_nodes, number_binaries, one_model_code

Nested: TypeAlias = Any  # a label, or a list or tuple of Nested
_SEPARATOR = "/"

# Other common separators of paths, to suggest one.
_COMMON_SEPARATORS = ("/", ".", "::", ":", "\\", "|", ">", "_", "-")
# More branches than a hierarchy of classes has; one that contains itself has no end.
_MOST_BRANCHES = 2**20
_NOT_IN_NAMES = re.compile(r'[\s{};"#\x00-\x1f\x7f-\x9f]+')


def from_tree(nested: Nested, *, name: str = "tree", wide: str = "one-vs-one") -> Scheme:
    """Return the scheme of a hierarchy of classes, given as nested lists.

    One binary separates the two members of a list; a code separates those of a longer list.

    Parameters
    ----------
    nested : list or tuple of labels and of further lists
    name : base of the binaries' names: the first branch of `name` is `name.00`
    wide : design for lists of more than two members, such as "one-vs-rest"

    Examples
    --------
    >>> print(from_tree([["corn", "wheat"], ["pine", "oak"]]))
    tree {
      tree.00 {corn wheat}
      tree.01 {pine oak}
    }
    """
    check_choice("wide", wide, SHORT_FORMS)

    def divide(item: tuple[Nested, str | None, int], number: int) -> Division | Label:
        nested, above, position = item
        if not isinstance(nested, (list, tuple)):
            return nested  # type: ignore[no-any-return]
        if len(nested) < 2:
            raise ArgumentError(
                f"branch {position} of {above or name} is a list of {len(nested)}, which cannot be "
                "divided. Give it two members or more, or put a label in its place."
            )
        base = name if above is None else branch_base(above, position, number)
        return _split(base, [(child, base, i) for i, child in enumerate(nested)], wide)

    return Scheme(*grow_nodes((nested, None, 0), divide))


def balanced_tree(classes: Iterable[Any] | int, *, name: str = "tree") -> Scheme:
    """Return the tree that repeatedly halves the ordered classes.

    This is the "hierarchical" configuration of Mills (2019): n−1 binaries, about log2(n) of them on
    the path to each class.

    Parameters
    ----------
    classes : labels in order, or a number of classes
    name : base of the binaries' names

    Examples
    --------
    >>> print(balanced_tree(["a", "b", "c"]))
    tree {
      a
      tree.01 {b c}
    }
    """
    return from_tree(_halved(class_labels(classes)), name=name)


def _halved(labels: Sequence[Any]) -> Nested:
    if len(labels) == 1:
        return labels[0]
    middle = len(labels) // 2
    return [_halved(labels[:middle]), _halved(labels[middle:])]


def random_tree(
    classes: Iterable[Any] | int, *, random_state: RandomState = None, name: str = "tree"
) -> Scheme:
    """Return a random tree; all (2n−3)!! trees are equally likely (Frank and Kramer 2004).

    Parameters
    ----------
    classes : labels, or a number of classes
    random_state : int, generator, or None for a different tree each time
    name : base of the binaries' names

    Examples
    --------
    >>> print(random_tree(4, random_state=0))
    tree {
      tree.00 {
        3
        tree.00.01 {0 2}
      }
      1
    }
    """
    labels = class_labels(classes)
    return from_tree(_draw_tree(labels, as_generator(random_state)), name=name)


def _draw_tree(labels: Sequence[Any], random: np.random.Generator) -> Nested:
    """Return nested lists, grown by adding one leaf at a time at a random place.

    A place is a leaf, an inner list or the root. Replacing it by the pair of itself and the new
    leaf, in either order, keeps every tree over the leaves so far equally likely.
    """
    root: list[Any] = [labels[0]]
    places: list[tuple[list[Any], int]] = [(root, 0)]  # every subtree, by its list and position
    for label in labels[1:]:
        holder, position = places[random.integers(len(places))]
        side = int(random.integers(2))
        pair = [label, label]
        pair[1 - side] = holder[position]
        holder[position] = pair
        # The place now holds the pair; its old content and the new leaf are places in the pair.
        places.extend([(pair, 0), (pair, 1)])
    return root[0]


# -- hierarchies with any number of branches at a node ------------------------------------------


def from_hierarchy(
    hierarchy: Any, *, nodes: str = DIRECT, sides: int | None = None, name: str = "hierarchy"
) -> Scheme:
    """Return the scheme of a hierarchy of classes, given as nested dicts and lists.

    The keys of dicts name the nodes. A key whose value is empty or None is a class, and so is every
    member of a list that is not itself a list or dict. A node with a single branch is replaced by
    that branch.

    Parameters
    ----------
    hierarchy : dict or list
    nodes : what decides between the branches of a node of three or more: "direct" is one model with
        a side for each branch; or a design such as "one-vs-one"
    sides : largest number of sides of a model, optional
        With "direct", nodes with more branches have several models; see `blocks`.
    name : name of the root, and base of the names of nodes that have none

    Examples
    --------
    >>> land = {"field": ["corn", "wheat", "barley"], "forest": {"conifer": ["pine"], "oak": None}}
    >>> print(from_hierarchy(land, name="land"))
    land {
      field {corn wheat barley}
      forest {pine oak}
    }
    """
    check_choice("nodes", nodes, SHORT_FORMS)
    n_branches = 0

    def divide(item: tuple[Any, str, str, int], number: int) -> Division | Label:
        nonlocal n_branches
        inside, own_name, above, position = item
        branches = _branches_of(inside)
        while branches is not None and len(branches) == 1:  # it decides nothing
            n_branches = _count_branches(n_branches, 1)
            inner_name, inside = branches[0]
            own_name, branches = inner_name or own_name, _branches_of(inside)
        if branches is None:
            return inside  # type: ignore[no-any-return]
        n_branches = _count_branches(n_branches, len(branches))
        own_name = _to_name(own_name or branch_base(above, position, number))
        if not branches:
            raise ArgumentError(
                Argument("hierarchy"), f": {own_name} is empty. Give it a class, or remove it."
            )
        items = [(child, key, own_name, i) for i, (key, child) in enumerate(branches)]
        return _split(own_name, items, nodes, sides)

    return Scheme(*grow_nodes((hierarchy, name, "", 0), divide))


def _count_branches(so_far: int, more: int) -> int:
    """Return the number of branches read, or raise ArgumentError if they never end."""
    if so_far > _MOST_BRANCHES:
        raise ArgumentError(
            Argument("hierarchy"),
            f" has a dict or list that contains itself, or more than {_MOST_BRANCHES:,} branches.",
        )
    return so_far + more


def from_paths(
    paths: Iterable[str],
    *,
    separator: str = _SEPARATOR,
    nodes: str = DIRECT,
    sides: int | None = None,
    name: str = "hierarchy",
) -> Scheme:
    """Return the scheme of classes whose labels are paths, such as "comp/sys/mac".

    With ``scheme="paths"``, a classifier uses this scheme of its classes, with the separator "/".

    Parameters
    ----------
    paths : labels of the classes, in order
        The parts before the last name the nodes above a class. A path that other paths start with
        is a class among them.
    separator : str, default="/"
    nodes, sides, name : as for `from_hierarchy`

    Examples
    --------
    >>> print(from_paths(["rec/autos", "rec/sport/hockey", "sci", "rec/sport/baseball"]))
    hierarchy {
      rec {
        rec/autos
        rec/sport {rec/sport/hockey rec/sport/baseball}
      }
      sci
    }
    """
    if isinstance(paths, str) or not separator:
        raise ArgumentError(
            Argument("paths" if separator else "separator"),
            " must be a list of strings." if separator else " must not be empty.",
        )
    labels = list(paths)
    _check_strings(labels)
    root: dict[str, Any] = {}
    for label in labels:
        level, parts = root, label.split(separator)
        for depth in range(1, len(parts)):
            prefix = separator.join(parts[:depth])
            inner = level.setdefault(prefix, {})
            if inner is None:  # a class that is also a node
                inner = level[prefix] = {prefix: None}
            level = inner
        if isinstance(level.get(label), dict):
            level = level[label]
        if label in level:
            raise ArgumentError(Argument("paths"), f" has {label!r} twice.")
        level[label] = None
    return from_hierarchy(root, nodes=nodes, sides=sides, name=name)


def check_label_paths(labels: Sequence[Any], separator: str | None = None) -> None:
    """Raise an ArgumentError unless all labels are strings, and one has a separator."""
    separator = _SEPARATOR if separator is None else separator
    _check_strings(labels)
    if len(labels) > 1 and not any(separator in label for label in labels):
        other = next((each for each in _COMMON_SEPARATORS if each in labels[0]), ".")
        raise ArgumentError(
            f'"paths" needs labels with "{separator}" between their parts; {labels[0]!r} and the '
            "other classes have none. Another separator, such as ",
            Argument("separator", other),
            ", can be passed to the design",
            PythonOnly(", designs.from_paths"),
            ".",
        )


def _split(name: str, items: list[Any], design: str, sides: int | None = None) -> Division:
    if design == DIRECT and sides is not None and len(items) > max(2, sides):
        code = blocks(len(items), sides)
    elif design == DIRECT or len(items) == 2:
        return Division((BinaryName(name),), one_model_code(len(items)), items)
    else:
        code = SHORT_FORMS[design].expand(len(items))
    return Division(number_binaries(name, code.n_partitions), code, items)


def _check_strings(labels: Sequence[Any]) -> None:
    wrong = [label for label in labels if not isinstance(label, str)]
    if wrong:
        raise ArgumentError(
            '"paths" needs classes whose labels are strings, such as "comp/sys/mac"; got '
            f"{wrong[0]!r}."
        )


def _to_name(key: str) -> str:
    """Return a key of a hierarchy as the name of a model: one word that is not a number."""
    name = _NOT_IN_NAMES.sub("_", key).lstrip("@") or "_"
    return name if is_name(name) else f"node-{name}"


def _branches_of(item: Any) -> list[tuple[str, Any]] | None:
    """Return the names and contents of the branches of a dict or list; None for a class.

    Other iterables, such as ranges and arrays, are read like lists.
    """
    if isinstance(item, Mapping):
        return [
            (str(key), key if value is None or _is_empty(value) else value)
            for key, value in item.items()
        ]
    if isinstance(item, Set) and not isinstance(item, KeysView):
        raise ArgumentError(
            Argument("hierarchy"), f" has the set {item!r}, which has no order. Use a list."
        )
    if isinstance(item, str | bytes) or not isinstance(item, Iterable):
        return None
    if getattr(item, "shape", None) == ():  # NumPy calls a scalar array iterable
        return None
    branches: list[tuple[str, Any]] = []
    for each in item:
        named = _branches_of(each) if isinstance(each, Mapping) else None
        branches += [("", each)] if named is None else named
    return branches


def _is_empty(value: Any) -> bool:
    return isinstance(value, Sized) and not isinstance(value, str | bytes) and len(value) == 0
