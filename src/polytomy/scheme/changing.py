"""Schemes with fewer or with more classes, whose other partitions stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, combinations, count, islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.scheme.coding_matrix import CodingMatrix
from polytomy.scheme.nodes import (
    TWO_WAY,
    BinaryName,
    BranchRef,
    ClassRef,
    Division,
    Label,
    Node,
    NodeRef,
    grow_nodes,
    partition_name,
)
from polytomy.scheme.scheme import Scheme

Indices = NDArray[np.intp]


def prune_scheme(scheme: Scheme, is_kept: NDArray[np.bool_]) -> tuple[Scheme, Indices]:
    """Return the scheme of some of the classes, and which rows of its codes are left.

    The other classes are removed from all partitions. Partitions with one side left are dropped. If
    partitions become equal, the one that lost the fewest classes stays. A node with one branch left
    is replaced by that branch. If a model with more than two sides would lose a side, its node
    stays as it is, with classes that do not occur any more.

    Parameters
    ----------
    scheme : Scheme
    is_kept : bool array of shape (n_classes,), in the order of ``scheme.classes``

    Examples
    --------
    >>> from polytomy.scheme import parse
    >>> smaller, rows = prune_scheme(parse("m {a n {b o {c d}}}"), np.array([1, 0, 1, 1], bool))
    >>> print(smaller)
    m {
      a
      o {c d}
    }
    >>> rows
    array([0, 2])
    """
    n_kept_before = np.append(0, np.cumsum(is_kept))
    first_rows = [0, *accumulate(node.code.n_rows for node in scheme.nodes)]
    rows: list[int] = []

    def divide(branch: BranchRef, number: int) -> Division | Label:
        while isinstance(branch, NodeRef):
            node, starts = scheme.nodes[branch.index], list(scheme.branch_starts[branch.index])
            code, n_kept = node.code, np.diff(n_kept_before[starts])
            alive, first = np.flatnonzero(n_kept), first_rows[branch.index]
            if len(alive) == 1:
                branch = node.branches[alive[0]]
                continue
            if not len(alive) or not code.is_binary:
                rows.extend(range(first, first + code.n_rows))
                return Division(node.binaries, code, node.branches)
            chosen = _separating(code.matrix, alive, np.diff(starts) - n_kept)
            rows.extend([first + row for row in chosen])
            code = CodingMatrix(code.matrix[chosen][:, alive])
            binaries = tuple([node.binaries[row] for row in chosen])
            return Division(binaries, code, [node.branches[k] for k in alive])
        return scheme.classes[branch.index]

    labels, nodes = grow_nodes(NodeRef(0) if scheme.nodes else ClassRef(0), divide)
    return Scheme(labels, nodes), np.array(rows, dtype=np.intp)


def _separating(matrix: NDArray[np.int8], alive: Indices, n_lost: Indices) -> list[int]:
    """Return the rows of a code that separate the branches that are left, each only once."""
    lost = np.abs(matrix) @ n_lost
    chosen, seen = [], set()
    for row in np.argsort(lost, kind="stable").tolist():
        own = matrix[row, alive]
        key = (own * own[np.argmax(own != 0)]).tobytes()  # the same with the sides swapped
        if own.min() < 0 < own.max() and not (lost[row] and key in seen):
            chosen.append(row)
            seen.add(key)
    return sorted(chosen)


# -- more classes ----------------------------------------------------------------------------------


Distance = Callable[[Sequence[Label], Sequence[Label]], float]
"""The mean distance between two groups of classes."""


def add_class(scheme: Scheme, label: Label, distance: Distance) -> Scheme:
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
    place = _find_place(scheme, label, distance)
    joins_pairs = isinstance(place, NodeRef) and _is_one_vs_one(scheme, place.index)
    new = object()

    def divide(item: Any, number: int) -> Division | Label:
        if item is new:
            return label
        if item == place and not joins_pairs:
            name = BinaryName(partition_name("added", len(scheme.classes)))
            return Division((name,), TWO_WAY, [(item,), new])
        branch: BranchRef = item[0] if isinstance(item, tuple) else item
        if isinstance(branch, ClassRef):
            return scheme.classes[branch.index]
        node = scheme.nodes[branch.index]
        if branch == place and joins_pairs:
            return Division(*_with_pairs(node), [*node.branches, new])
        return Division(node.binaries, node.code, node.branches)

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
