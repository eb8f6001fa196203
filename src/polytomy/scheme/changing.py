"""Schemes with fewer or with more classes, whose other partitions stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, combinations, count, islice, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import SchemeError
from polytomy.scheme.coding_matrix import CodingMatrix
from polytomy.scheme.nodes import (
    TWO_WAY,
    BinaryName,
    BranchRef,
    ClassRef,
    Label,
    Node,
    NodeRef,
    Split,
    grow_nodes,
    normalize_label,
    partition_name,
)
from polytomy.scheme.scheme import Scheme

Indices = NDArray[np.intp]


class KeptPartition(NamedTuple):
    """A partition of a larger scheme that still separates classes of a smaller one.

    Attributes
    ----------
    row : int, its first row among the rows of the larger scheme
    n_sides : int, its number of sides there
    sides : tuple of int, the sides that still have classes
    """

    row: int
    n_sides: int
    sides: tuple[int, ...]


def prune_scheme(scheme: Scheme, is_kept: NDArray[np.bool_]) -> tuple[Scheme, list[KeptPartition]]:
    """Return the scheme of some of the classes, and where each of its partitions comes from.

    The other classes are removed from all partitions. Partitions with one side left are dropped. If
    partitions become equal, the one that lost the fewest classes stays. A node with one branch left
    is replaced by that branch.

    Parameters
    ----------
    scheme : Scheme
    is_kept : bool array of shape (n_classes,), in the order of ``scheme.classes``

    Examples
    --------
    >>> from polytomy.scheme import parse
    >>> smaller, kept = prune_scheme(parse("m {a n {b c}}"), np.array([True, False, True]))
    >>> print(smaller)
    m {a c}
    >>> kept
    [KeptPartition(row=0, n_sides=2, sides=(0, 1))]
    """
    n_kept_before = np.append(0, np.cumsum(is_kept))
    first_rows = [0, *accumulate(node.code.n_rows for node in scheme.nodes)]
    found: list[KeptPartition] = []

    def divide(branch: BranchRef, number: int) -> Split | Label:
        while isinstance(branch, NodeRef):
            node, starts = scheme.nodes[branch.index], list(scheme.branch_starts[branch.index])
            n_kept = np.diff(n_kept_before[starts])
            (alive,) = n_kept.nonzero()
            if len(alive) == 1:
                branch = node.branches[alive[0]]
                continue
            code, n_lost = node.code, np.diff(starts) - n_kept
            chosen = _separating(code.sides, alive, n_lost)
            if not chosen:
                raise SchemeError(
                    f"the partitions of {node.binaries[0]} do not separate the classes that are "
                    "left. Keep more classes."
                )
            rows = first_rows[branch.index] + np.cumsum(code.rows_per_partition)
            rows -= code.rows_per_partition
            for k, own in chosen.items():
                sides = tuple(np.unique(own[own >= 0]).tolist())
                found.append(KeptPartition(int(rows[k]), int(code.n_sides[k]), sides))
            left = [_renumber(own) for own in chosen.values()]
            binaries = tuple([node.binaries[k] for k in chosen])
            return Split(binaries, CodingMatrix.from_sides(left), [node.branches[k] for k in alive])
        return scheme.classes[branch.index]

    labels, nodes = grow_nodes(NodeRef(0) if scheme.nodes else ClassRef(0), divide)
    return Scheme(labels, nodes), found


def _separating(sides: Indices, alive: Indices, n_lost: Indices) -> dict[int, Indices]:
    """Return the sides of the branches that are left, in each partition that separates them."""
    lost = np.where(sides >= 0, n_lost, 0).sum(axis=1)
    chosen, seen = {}, set()
    for k in np.argsort(lost, kind="stable").tolist():
        own = sides[k, alive]
        numbers = np.unique(own[own >= 0])
        key = frozenset(tuple(np.flatnonzero(own == side).tolist()) for side in numbers)
        if len(numbers) > 1 and not (lost[k] and key in seen):
            chosen[k] = own
            seen.add(key)
    return dict(sorted(chosen.items()))


def _renumber(sides: Indices) -> Indices:
    numbers = np.unique(sides[sides >= 0])
    return np.where(sides < 0, -1, np.searchsorted(numbers, sides))


# -- more classes ----------------------------------------------------------------------------------


Distance = Callable[[Sequence[Label], Sequence[Label]], float]
"""The mean distance between two groups of classes."""


def add_class(scheme: Scheme, label: Any, distance: Distance) -> Scheme:
    """Return the scheme with one more class, in which few partitions change.

    From the root, the place of the class is found as follows.

    - In a one-vs-one code, it is one more branch, with a pair for each other branch.
    - In a tree, it goes on to the branch whose classes are nearest on average, unless all branches
      are further from it than from each other.
    - There, above other codes and above models of several classes, a new partition separates it
      from all classes below, which stay as they are.

    Parameters
    ----------
    scheme : Scheme
    label : the new class
    distance : function of two groups of labels, their mean distance

    Examples
    --------
    >>> from polytomy.scheme import parse
    >>> def distance(one, other):
    ...     return np.mean([abs(ord(a) - ord(b)) for a in one for b in other])
    >>> print(add_class(parse("m {n {a b} f}"), "g", distance))
    m {
      n {a b}
      added-03 {f g}
    }
    """
    label = normalize_label(label)
    place = _find_place(scheme, label, distance)
    joins_pairs = isinstance(place, NodeRef) and _is_one_vs_one(scheme, place.index)
    new = object()

    def divide(item: Any, number: int) -> Split | Label:
        if item is new:
            return label
        is_above = item == place and not joins_pairs
        if is_above:
            name = BinaryName(partition_name("added", len(scheme.classes)))
            if isinstance(item, NodeRef) and scheme.nodes[item.index].binaries[0].is_specification:
                name = scheme.nodes[item.index].binaries[0]
            return Split((name,), TWO_WAY, [(item,), new])
        branch = item[0] if isinstance(item, tuple) else item
        if isinstance(branch, ClassRef):
            return scheme.classes[branch.index]
        node = scheme.nodes[branch.index]
        if branch == place and joins_pairs:
            return Split(*_with_pairs(node), [*node.branches, new])
        return Split(node.binaries, node.code, node.branches)

    return Scheme(*grow_nodes(NodeRef(0) if scheme.nodes else ClassRef(0), divide))


def _find_place(scheme: Scheme, label: Label, distance: Distance) -> BranchRef:
    """Return the branch that a new class joins or is separated from."""
    place: BranchRef = NodeRef(0) if scheme.nodes else ClassRef(0)
    while isinstance(place, NodeRef):
        node, starts = scheme.nodes[place.index], scheme.branch_starts[place.index]
        has_classes = all(isinstance(branch, ClassRef) for branch in node.branches)
        is_of_several = has_classes and len(node.branches) > 2
        if _is_one_vs_one(scheme, place.index) or is_of_several or not node.is_one_model:
            break
        below = [scheme.classes[a:b] for a, b in pairwise(starts)]
        to_new = [distance([label], own) for own in below]
        between = [distance(*pair) for pair in combinations(below, 2)]
        if min(to_new) >= np.mean(between):
            break
        place = node.branches[int(np.argmin(to_new))]
    return place


def _is_one_vs_one(scheme: Scheme, position: int) -> bool:
    """Return whether a node is one-vs-one; with two branches, only if there is no other node."""
    node = scheme.nodes[position]
    return node.code.is_one_vs_one and (len(node.branches) > 2 or scheme.is_flat)


def _with_pairs(node: Node) -> tuple[tuple[BinaryName, ...], CodingMatrix]:
    """Return the binaries and the code of a one-vs-one node with one more branch."""
    n_pairs, n_branches = node.code.shape
    first, base = node.binaries[0], node.binaries[0].text.removesuffix("-00")
    numbered = (BinaryName(partition_name(base, k)) for k in count(n_pairs))
    free = (name for name in numbered if name not in node.binaries)
    names = [first] * n_branches if first.is_specification else islice(free, n_branches)
    matrix = np.zeros((n_pairs + n_branches, n_branches + 1), dtype=np.int8)
    matrix[:n_pairs, :n_branches] = node.code.matrix
    matrix[n_pairs:, :n_branches] = -np.eye(n_branches, dtype=np.int8)
    matrix[n_pairs:, n_branches] = 1
    return (*node.binaries, *names), CodingMatrix(matrix)
