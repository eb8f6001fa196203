"""Schemes of nested codes: solved node by node, probabilities multiplied down.

A scheme is walked as its list of nodes in preorder, without recursion, so its depth has no limit.
Two short cuts keep large schemes fast: two-way nodes that hang together are one tree, multiplied
out by one kernel, and other nodes with equal codes are solved in one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from polytomy.codes import MAX_ENTRIES, CodingMatrix, TreeShape
from polytomy.errors import ArgumentError
from polytomy.routines.runtime.dispatch import routine

__all__ = ["SchemeLike", "flatten_code", "is_scheme", "join_trees", "solve_nested"]

FloatArray = NDArray[np.float64]
NodeSolver = Callable[[CodingMatrix, FloatArray, FloatArray | None], FloatArray]


class NodeLike(Protocol):
    """A node of a scheme."""

    @property
    def code(self) -> CodingMatrix:
        """The code, a column for each branch."""


class SchemeLike(Protocol):
    """What the solvers ask of a scheme."""

    @property
    def classes(self) -> Sequence[Any]:
        """The labels."""

    @property
    def nodes(self) -> Sequence[NodeLike]:
        """The nodes in preorder; none for a single class."""

    @property
    def branch_starts(self) -> Sequence[Sequence[int]]:
        """For each node, the first class of each branch, then the end of the last."""


def is_scheme(value: object) -> TypeGuard[SchemeLike]:
    """Tell whether a value is a scheme and not a code."""
    return hasattr(value, "nodes") and hasattr(value, "branch_starts")


def solve_nested(
    scheme: SchemeLike,
    decisions: FloatArray,
    weights: FloatArray | None,
    solve_node: NodeSolver,
    *,
    multiply_trees: bool,
) -> FloatArray:
    """Return the probabilities of all classes of a scheme.

    Parameters
    ----------
    scheme : SchemeLike
    decisions : array of shape (n_samples, n_partitions), checked; NaN is no answer
    weights : array of shape (n_partitions,), or None
    solve_node : function of a code, decisions and weights that returns the branches' probabilities
    multiply_trees : whether two-way nodes may be multiplied out as trees, without `solve_node`

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one
    """
    rows = _rows_of_nodes(scheme)
    blocks = _divide(scheme, multiply_trees)
    if len(blocks) == 1 and blocks[0].children is not None:
        # All rows and all classes, both in order already.
        return _multiply_down(decisions, blocks[0].children)
    shares = _solve_alone(scheme, rows, blocks, decisions, weights, solve_node)
    probabilities = np.ones((len(decisions), len(scheme.classes)))
    masses = {0: np.ones((len(decisions), 1))}
    for block in blocks:
        if block.children is not None:
            columns = [rows[node].start for node in block.nodes]
            below = _multiply_down(np.take(decisions, columns, axis=1), block.children)
        else:
            below = shares.pop(block.nodes[0])
        below *= masses.pop(block.nodes[0])
        is_class = block.leaves < 0
        probabilities[:, ~block.leaves[is_class]] = below[:, is_class]
        for leaf in np.flatnonzero(~is_class):
            masses[int(block.leaves[leaf])] = below[:, [leaf]]
    return probabilities


def _multiply_down(decisions: FloatArray, children: NDArray[np.intp]) -> FloatArray:
    multiply = routine("multiply_down_tree", "least_squares")
    probabilities: FloatArray = multiply(decisions, children, np.arange(len(children)))
    return probabilities


def flatten_code(scheme: SchemeLike) -> CodingMatrix:
    """Return the scheme as one code over all classes, rows in the order of the partitions."""
    rows = _rows_of_nodes(scheme)
    shape = (rows[-1].stop if rows else 0, len(scheme.classes))
    if shape[0] * shape[1] > MAX_ENTRIES:
        raise ArgumentError(
            f"the flat code of the scheme would have {shape[0]:,} partitions of {shape[1]:,} "
            'classes, which is too large. Use method="least-squares", which needs none.'
        )
    matrix = np.zeros(shape, dtype=np.int8)
    for place, node, starts in zip(rows, scheme.nodes, scheme.branch_starts, strict=True):
        entries = np.repeat(node.code.matrix, np.diff(starts), axis=1)
        matrix[place, starts[0] : starts[-1]] = entries
    return CodingMatrix(matrix)


def join_trees(scheme: SchemeLike) -> TreeShape:
    """Return the tree of all partitions of a scheme whose nodes are trees themselves."""
    rows = _rows_of_nodes(scheme)
    trees = []
    for position, node in enumerate(scheme.nodes):
        if node.code.tree is None:
            raise ArgumentError(
                f'method="greedy" needs a tree; the partitions of node {position} of the scheme '
                'are not the splits of one binary tree. Use method="least-squares".'
            )
        trees.append(node.code.tree)
    roots = [place.start + int(tree.order[0]) for place, tree in zip(rows, trees, strict=True)]
    children = np.empty((rows[-1].stop if rows else 0, 2), dtype=np.intp)
    for place, tree, branches in zip(rows, trees, _branches(scheme), strict=True):
        ends = np.array([roots[branch] if branch >= 0 else branch for branch in branches])
        children[place] = np.where(
            tree.children >= 0, tree.children + place.start, ends[~np.minimum(tree.children, -1)]
        )
    # Nodes come in preorder, so their trees in a row have parents before children.
    order = [place.start + tree.order for place, tree in zip(rows, trees, strict=True)]
    return TreeShape(children, np.concatenate(order) if order else np.empty(0, dtype=np.intp))


class _Block(NamedTuple):
    """Nodes whose branches' probabilities are found together."""

    nodes: list[int]  # the root of the block first
    leaves: NDArray[np.intp]  # what is below the block: class k as ~k, node k as k
    children: NDArray[np.intp] | None  # as in TreeShape, for a tree of two-way nodes


def _rows_of_nodes(scheme: SchemeLike) -> list[slice]:
    """Return the places of each node's rows among the partitions."""
    ends = accumulate((node.code.n_partitions for node in scheme.nodes), initial=0)
    return [slice(start, end) for start, end in pairwise(ends)]


def _branches(scheme: SchemeLike) -> list[list[int]]:
    """Return for each node what its branches are: class k as ~k, node k as k."""
    branches: list[list[int]] = []
    # Branches of several classes are nodes. In preorder the next node belongs to the last of them.
    waiting: list[tuple[int, int]] = []
    for position, starts in enumerate(scheme.branch_starts):
        if waiting:
            parent, branch = waiting.pop()
            branches[parent][branch] = position
        branches.append([~start for start in starts[:-1]])
        waiting.extend(
            (position, branch)
            for branch in range(len(starts) - 2, -1, -1)
            if starts[branch + 1] - starts[branch] > 1
        )
    return branches


def _divide(scheme: SchemeLike, multiply_trees: bool) -> list[_Block]:
    """Return the blocks of the scheme, each after the one above it."""
    branches = _branches(scheme)
    is_two_way = [multiply_trees and node.code.shape == (1, 2) for node in scheme.nodes]
    members: dict[int, list[int]] = {}
    top = list(range(len(branches)))
    for node, below in enumerate(branches):
        members.setdefault(top[node], []).append(node)
        for child in below:
            if child >= 0 and is_two_way[node] and is_two_way[child]:
                top[child] = top[node]
    return [
        _join_two_way(scheme, nodes, branches)
        if is_two_way[root]
        else _Block(nodes, np.array(branches[root]), None)
        for root, nodes in members.items()
    ]


def _join_two_way(scheme: SchemeLike, nodes: list[int], branches: list[list[int]]) -> _Block:
    """Return the block of two-way nodes; its leaves are numbered in the order of their classes."""
    members = set(nodes)
    starts = scheme.branch_starts
    leaf_at = sorted(
        (starts[node][side], branches[node][side])
        for node in nodes
        for side in range(2)
        if branches[node][side] not in members
    )
    place = {node: row for row, node in enumerate(nodes)}
    place |= {leaf: ~number for number, (_, leaf) in enumerate(leaf_at)}
    children = [[place[branch] for branch in branches[node]] for node in nodes]
    for pair, node in zip(children, nodes, strict=True):
        if scheme.nodes[node].code.matrix[0, 0] == 1:
            pair.reverse()
    leaves = np.array([leaf for _, leaf in leaf_at])
    return _Block(nodes, leaves, np.array(children, dtype=np.intp))


def _solve_alone(
    scheme: SchemeLike,
    rows: list[slice],
    blocks: list[_Block],
    decisions: FloatArray,
    weights: FloatArray | None,
    solve_node: NodeSolver,
) -> dict[int, FloatArray]:
    """Return the probabilities of the branches of the nodes that are blocks by themselves."""
    alike: dict[tuple[CodingMatrix, bytes], list[int]] = {}
    for block in blocks:
        if block.children is None:
            node = block.nodes[0]
            own_weights = b"" if weights is None else weights[rows[node]].tobytes()
            alike.setdefault((scheme.nodes[node].code, own_weights), []).append(node)
    shares: dict[int, FloatArray] = {}
    for (code, _), nodes in alike.items():
        stacked = np.concatenate([decisions[:, rows[node]] for node in nodes])
        solved = solve_node(code, stacked, None if weights is None else weights[rows[nodes[0]]])
        shares.update(zip(nodes, np.split(solved, len(nodes)), strict=True))
    return shares
