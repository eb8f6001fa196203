"""Schemes of nested codes: solved node by node, with probabilities multiplied down the tree.

The nodes of a scheme are visited as a list in preorder, without recursion, so depth has no limit.
Two shortcuts keep large schemes fast: connected two-way nodes form one tree, which one routine
multiplies out, and other nodes with equal codes are solved in one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from polytomy.codes import MAX_ENTRIES, CodingMatrix, TreeShape
from polytomy.errors import Argument, ArgumentError
from polytomy.routines.runtime.dispatch import routine

__all__ = [
    "SchemeLike",
    "check_flat_size",
    "flatten_code",
    "is_scheme",
    "join_trees",
    "solve_nested",
]

FloatArray = NDArray[np.float64]
NodeSolver = Callable[[CodingMatrix, FloatArray, FloatArray | None], FloatArray]


class NodeLike(Protocol):
    """A node of a scheme."""

    @property
    def code(self) -> CodingMatrix:
        """The code, with one column for each branch."""


class SchemeLike(Protocol):
    """The part of a scheme that the solvers use."""

    @property
    def classes(self) -> Sequence[Any]:
        """The labels."""

    @property
    def nodes(self) -> Sequence[NodeLike]:
        """The nodes in preorder; empty for a single class."""

    @property
    def branch_starts(self) -> Sequence[Sequence[int]]:
        """For each node, the first class of each branch, then the end of the last branch."""


def is_scheme(value: object) -> TypeGuard[SchemeLike]:
    """Return whether a value is a scheme, not a code."""
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
    decisions : array of shape (n_samples, n_partitions), checked; NaN means no answer
    weights : array of shape (n_partitions,), or None
    solve_node : function of a code, decisions and weights that returns the branches' probabilities
    multiply_trees : whether two-way nodes may be multiplied out as trees, without `solve_node`

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one
    """
    if len(scheme.nodes) == 1 and scheme.nodes[0].code.shape != (1, 2):
        return solve_node(scheme.nodes[0].code, decisions, weights)
    rows = _rows_of_nodes(scheme)
    blocks = _divide_into_blocks(scheme, multiply_trees)
    if len(blocks) == 1 and blocks[0].children is not None:
        # The block has all rows and all classes, and both are in order already.
        return _multiply_down(decisions, blocks[0].children)
    shares = _solve_single_nodes(scheme, rows, blocks, decisions, weights, solve_node)
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


def check_flat_size(scheme: SchemeLike, parameter: str = "method") -> None:
    """Raise an ArgumentError if the scheme's flat code would have too many entries.

    Parameters
    ----------
    scheme : SchemeLike
    parameter : what the caller calls the parameter that holds the method
    """
    n_classes = len(scheme.classes)
    n_partitions = sum(node.code.n_partitions for node in scheme.nodes)
    if n_partitions * n_classes > MAX_ENTRIES:
        raise ArgumentError(
            f"The flat code of the scheme would have {n_partitions:,} partitions of {n_classes:,} "
            "classes, which is too large. Use ",
            Argument(parameter, "least-squares"),
            ", which does not need it.",
        )


def flatten_code(scheme: SchemeLike) -> CodingMatrix:
    """Return the scheme as one code over all classes, rows in the order of the partitions."""
    check_flat_size(scheme)
    rows = _rows_of_nodes(scheme)
    matrix = np.zeros((rows[-1].stop if rows else 0, len(scheme.classes)), dtype=np.int8)
    for place, node, starts in zip(rows, scheme.nodes, scheme.branch_starts, strict=True):
        entries = np.repeat(node.code.matrix, np.diff(starts), axis=1)
        matrix[place, starts[0] : starts[-1]] = entries
    return CodingMatrix(matrix)


def join_trees(scheme: SchemeLike) -> TreeShape:
    """Return one tree of all partitions of a scheme; the code of each node must be a tree."""
    rows = _rows_of_nodes(scheme)
    trees = [node.code.tree for node in scheme.nodes if node.code.tree is not None]
    assert len(trees) == len(rows)
    roots = [place.start + int(tree.order[0]) for place, tree in zip(rows, trees, strict=True)]
    children = np.empty((rows[-1].stop if rows else 0, 2), dtype=np.intp)
    for place, tree, branches in zip(rows, trees, _branches(scheme), strict=True):
        ends = np.array([roots[branch] if branch >= 0 else branch for branch in branches])
        children[place] = np.where(
            tree.children >= 0, tree.children + place.start, ends[~np.minimum(tree.children, -1)]
        )
    # Nodes are in preorder, so joining their orders keeps parents before children.
    order = [place.start + tree.order for place, tree in zip(rows, trees, strict=True)]
    return TreeShape(children, np.concatenate(order) if order else np.empty(0, dtype=np.intp))


class _Block(NamedTuple):
    """Nodes whose branches' probabilities are computed together."""

    nodes: list[int]  # the root of the block first
    leaves: NDArray[np.intp]  # what lies below the block: class k as ~k, node k as k
    children: NDArray[np.intp] | None  # as in TreeShape, if the block is a tree of two-way nodes


def _rows_of_nodes(scheme: SchemeLike) -> list[slice]:
    """Return, for each node, which partitions of the scheme are its rows."""
    ends = accumulate((node.code.n_partitions for node in scheme.nodes), initial=0)
    return [slice(start, end) for start, end in pairwise(ends)]


def _branches(scheme: SchemeLike) -> list[list[int]]:
    """Return the branches of each node: class k as ~k, node k as k."""
    branches: list[list[int]] = []
    # A branch of several classes is a node. In preorder, the next node is the branch on top of
    # this stack.
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


def _divide_into_blocks(scheme: SchemeLike, multiply_trees: bool) -> list[_Block]:
    """Return the blocks of the scheme, parents before children."""
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
    """Return a block of two-way nodes, its leaves numbered in the order of their classes."""
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


def _solve_single_nodes(
    scheme: SchemeLike,
    rows: list[slice],
    blocks: list[_Block],
    decisions: FloatArray,
    weights: FloatArray | None,
    solve_node: NodeSolver,
) -> dict[int, FloatArray]:
    """Return the probabilities of the branches of each node that is a block of its own."""
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
