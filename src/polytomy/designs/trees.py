"""Trees made from the classes alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from polytomy.designs.classes import class_labels
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.seeds import RandomState, as_generator
from polytomy.scheme import BinaryName, ClassRef, Node, NodeRef, Scheme
from polytomy.scheme.expand import SHORT_FORMS
from polytomy.scheme.layout import TWO_WAY, BranchRef
from polytomy.scheme.naming import branch_base, number_binaries

__all__ = ["balanced_tree", "from_tree", "random_tree"]

Nested: TypeAlias = Any  # a label, or a list or tuple of Nested


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
    if wide not in SHORT_FORMS:
        raise ArgumentError(Argument("wide", wide), f" is not one of {', '.join(SHORT_FORMS)}.")
    labels: list[Any] = []
    nodes: list[tuple[Node, list[BranchRef]]] = []
    top: list[BranchRef] = []
    waiting: list[tuple[Nested, str | None, int, list[BranchRef]]] = [(nested, None, 0, top)]
    while waiting:
        item, above, position, siblings = waiting.pop()
        if not isinstance(item, (list, tuple)):
            siblings.append(ClassRef(len(labels)))
            labels.append(item)
            continue
        if len(item) < 2:
            raise ArgumentError(
                f"branch {position} of {above or name} is a list of {len(item)}, which cannot be "
                "divided. Give it two members or more, or put a label in its place."
            )
        base = name if above is None else branch_base(above, position, len(nodes))
        if len(item) == 2:
            node = Node((BinaryName(base),), TWO_WAY, ())
        else:
            code = SHORT_FORMS[wide].expand(len(item))
            node = Node(number_binaries(base, code.n_partitions), code, ())
        below: list[BranchRef] = []
        siblings.append(NodeRef(len(nodes)))
        nodes.append((node, below))
        children = [(child, base, i, below) for i, child in enumerate(item)]
        waiting.extend(reversed(children))
    return Scheme(labels, [node._replace(branches=tuple(below)) for node, below in nodes])


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
