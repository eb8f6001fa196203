"""Schemes of nested codes: solved node by node, with probabilities multiplied down the tree.

The nodes of a scheme are visited as a list in preorder, without recursion, so depth is unlimited.
Two shortcuts keep large schemes fast: connected nodes with one partition, each branch on its own
side, form one tree, which one routine multiplies out; other nodes with equal codes are solved in
one batch.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.onnx_graph import Graph, Value
from polytomy.routines.dispatch import routine
from polytomy.scheme import CodingMatrix, NodeRef, Scheme
from polytomy.scheme import scheme as schemes
from polytomy.scheme.code_checks import MAX_ENTRIES
from polytomy.scheme.structure import NO_CHILD, TreeShape

FloatArray = NDArray[np.float64]
NodeSolver = Callable[[CodingMatrix, FloatArray, FloatArray | None], FloatArray]
NodeExporter = Callable[[Graph, Value, CodingMatrix], Value]


class NoGraphError(ArgumentError):
    """A code cannot be written as a graph; the message continues "node 0 of the scheme has "."""


def multiply_down_tree(
    tree: TreeShape, rows_per_partition: NDArray[np.intp], decisions: FloatArray
) -> FloatArray:
    """Return the product of the conditional probabilities down the path to each class.

    A partition with n sides is equivalent to a chain of n − 1 binary ones: side 0 or another one,
    side 1 or a later one, and so on. A partition without an answer divides its mass such that the
    norm is least; see the routine.

    Parameters
    ----------
    tree : TreeShape
    rows_per_partition : array of shape (n_partitions,), the number of columns of each partition
    decisions : array of shape (n_samples, n_rows), checked; NaN means no answer

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one

    Examples
    --------
    >>> tree = TreeShape(np.array([[~0, ~1, ~2]]), np.array([0]))
    >>> multiply_down_tree(tree, np.array([3]), np.array([[0.0, -0.5, -0.5]]))
    array([[0.5 , 0.25, 0.25]])
    """
    if (rows_per_partition > 1).any():
        tree, decisions = _split_into_chains(tree, rows_per_partition, decisions)
    multiply = routine("multiply_down_tree", "least_squares")
    probabilities: FloatArray = multiply(decisions, tree.children, tree.order)
    return probabilities


def _split_into_chains(
    tree: TreeShape, rows_per_partition: NDArray[np.intp], decisions: FloatArray
) -> tuple[TreeShape, FloatArray]:
    """Return the same tree with binary partitions only, and their decisions."""
    lengths = np.maximum(rows_per_partition, 2) - 1
    starts = np.cumsum(lengths) - lengths
    ends = np.cumsum(rows_per_partition)
    children = np.empty((int(lengths.sum()), 2), dtype=np.intp)
    answers = np.empty((len(decisions), len(children)))
    for partition, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        below = [child if child < 0 else starts[child] for child in tree.children_of(partition)]
        links = range(start + 1, start + length)
        children[start : start + length, 0] = below[:-1]
        children[start : start + length, 1] = [*links, below[-1]]
        n_rows = rows_per_partition[partition]
        own = decisions[:, ends[partition] - n_rows : ends[partition]]
        answers[:, start : start + length] = own if n_rows == 1 else _chain_answers(own)
    order = [np.arange(starts[k], starts[k] + lengths[k]) for k in tree.order]
    return TreeShape(children, np.concatenate(order)), answers


def _chain_answers(decisions: FloatArray) -> FloatArray:
    """Return the answers of a chain that splits off one side at a time, as its −1 side."""
    chances = 1.0 + decisions
    # The sum of each side and all later ones.
    remaining = np.cumsum(chances[:, ::-1], axis=1)[:, ::-1]
    before, after = remaining[:, :-1], remaining[:, 1:]
    difference = after - chances[:, :-1]
    # If no mass is left, it does not matter how it is divided.
    return np.divide(difference, before, out=np.zeros_like(difference), where=before != 0)


def solve_nested(
    scheme: Scheme,
    decisions: FloatArray,
    weights: FloatArray | None,
    solve_node: NodeSolver,
    *,
    multiply_trees: bool,
) -> FloatArray:
    """Return the probabilities of all classes of a scheme.

    Parameters
    ----------
    scheme : Scheme
    decisions : array of shape (n_samples, n_rows), checked; NaN means no answer
    weights : array of shape (n_partitions,), or None
    solve_node : function of code, decisions and weights that returns branch probabilities
    multiply_trees : whether nodes with one partition may be multiplied out as trees, without
        `solve_node`

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one
    """
    if len(scheme.nodes) == 1 and scheme.nodes[0].code.shape != (1, 2):
        return solve_node(scheme.nodes[0].code, decisions, weights)
    rows = _rows_of_nodes(scheme)
    blocks = _divide_into_blocks(scheme, multiply_trees)
    if len(blocks) == 1 and blocks[0].tree is not None:
        # The block has all rows and all classes, already in order.
        return multiply_down_tree(blocks[0].tree, row_counts(scheme), decisions)
    shares = _solve_single_nodes(scheme, rows, blocks, decisions, weights, solve_node)
    probabilities = np.ones((len(decisions), len(scheme.classes)))
    n_rows = decisions.shape[1]
    masses = {0: np.ones((len(decisions), 1))}
    for block in blocks:
        if block.tree is not None:
            columns = np.concatenate(
                [np.arange(*rows[node].indices(n_rows)) for node in block.nodes]
            )
            counts = np.array([scheme.nodes[node].code.n_rows for node in block.nodes])
            below = multiply_down_tree(block.tree, counts, np.take(decisions, columns, axis=1))
        else:
            below = shares.pop(block.nodes[0])
        below *= masses.pop(block.nodes[0])
        is_class = block.leaves < 0
        probabilities[:, ~block.leaves[is_class]] = below[:, is_class]
        for leaf in np.flatnonzero(~is_class):
            masses[int(block.leaves[leaf])] = below[:, [leaf]]
    return probabilities


def row_counts(scheme: Scheme) -> NDArray[np.intp]:
    """Return the number of rows of each partition of a scheme."""
    counts = [node.code.rows_per_partition for node in scheme.nodes]
    return np.concatenate(counts) if counts else np.empty(0, dtype=np.intp)


def check_flat_size(scheme: Scheme, parameter: str = "method") -> None:
    """Raise an ArgumentError if the scheme's flat code would have too many entries.

    Parameters
    ----------
    scheme : Scheme
    parameter : the caller's name for the parameter that holds the method
    """
    n_classes = len(scheme.classes)
    n_rows = sum(node.code.n_rows for node in scheme.nodes)
    if n_rows * n_classes > MAX_ENTRIES:
        raise ArgumentError(
            f"The flat code of the scheme would have {n_rows:,} rows of {n_classes:,} "
            "classes, which is too large. Use ",
            Argument(parameter, "least-squares"),
            ", which does not need it.",
        )


def flatten_code(scheme: Scheme) -> CodingMatrix:
    """Return the scheme as one code over all classes, rows in the order of the partitions."""
    check_flat_size(scheme)
    return schemes.flatten_code(scheme)


def join_trees(scheme: Scheme) -> TreeShape:
    """Return one tree with all partitions of a scheme; the code of each node must be a tree."""
    trees = [node.code.tree for node in scheme.nodes if node.code.tree is not None]
    places = _partitions_of_nodes(scheme)
    assert len(trees) == len(places)
    roots = [place.start + int(tree.order[0]) for place, tree in zip(places, trees, strict=True)]
    width = max([tree.children.shape[1] for tree in trees], default=2)
    children = np.full((places[-1].stop if places else 0, width), NO_CHILD, dtype=np.intp)
    for place, tree, branches in zip(places, trees, _branches(scheme), strict=True):
        ends = np.array([roots[branch] if branch >= 0 else branch for branch in branches])
        own = np.where(tree.children >= 0, tree.children + place.start, tree.children)
        is_leaf = (own < 0) & (own != NO_CHILD)
        own[is_leaf] = ends[~own[is_leaf]]
        children[place, : own.shape[1]] = own
    # Nodes are in preorder, so concatenating their orders keeps parents before children.
    order = [place.start + tree.order for place, tree in zip(places, trees, strict=True)]
    return TreeShape(children, np.concatenate(order) if order else np.empty(0, dtype=np.intp))


class _Block(NamedTuple):
    """Nodes whose branch probabilities are computed together."""

    nodes: list[int]  # the root of the block first
    leaves: NDArray[np.intp]  # what is below the block: class k as ~k, node k as k
    tree: TreeShape | None  # if each of the nodes is one partition with a side for each branch


def _rows_of_nodes(scheme: Scheme) -> list[slice]:
    """Return, for each node, which columns of decisions are its rows."""
    ends = accumulate((node.code.n_rows for node in scheme.nodes), initial=0)
    return [slice(start, end) for start, end in pairwise(ends)]


def _partitions_of_nodes(scheme: Scheme) -> list[slice]:
    """Return, for each node, which partitions of the scheme are its own."""
    ends = accumulate((node.code.n_partitions for node in scheme.nodes), initial=0)
    return [slice(start, end) for start, end in pairwise(ends)]


def _branches(scheme: Scheme) -> list[list[int]]:
    """Return the branches of each node: class k as ~k, node k as k."""
    return [
        [each.index if isinstance(each, NodeRef) else ~each.index for each in node.branches]
        for node in scheme.nodes
    ]


def _divide_into_blocks(scheme: Scheme, multiply_trees: bool) -> list[_Block]:
    """Return the blocks of the scheme, parents before children."""
    branches = _branches(scheme)
    is_split = [multiply_trees and _is_split(node.code) for node in scheme.nodes]
    members: dict[int, list[int]] = {}
    top = list(range(len(branches)))
    for node, below in enumerate(branches):
        members.setdefault(top[node], []).append(node)
        for child in below:
            if child >= 0 and is_split[node] and is_split[child]:
                top[child] = top[node]
    return [
        _join_splits(scheme, nodes, branches)
        if is_split[root]
        else _Block(nodes, np.array(branches[root]), None)
        for root, nodes in members.items()
    ]


def _is_split(code: CodingMatrix) -> bool:
    """Return whether a code is one partition with each branch on its own side."""
    return code.n_partitions == 1 and code.n_sides[0] == code.n_classes


def _join_splits(scheme: Scheme, nodes: list[int], branches: list[list[int]]) -> _Block:
    """Return a block of single partitions, its leaves numbered in the order of their classes."""
    members = set(nodes)
    starts = scheme.branch_starts
    leaf_at = sorted(
        (start, branch)
        for node in nodes
        for start, branch in zip(starts[node], branches[node], strict=False)
        if branch not in members
    )
    place = {node: number for number, node in enumerate(nodes)}
    place |= {leaf: ~number for number, (_, leaf) in enumerate(leaf_at)}
    width = max(len(branches[node]) for node in nodes)
    children = np.full((len(nodes), width), NO_CHILD, dtype=np.intp)
    for number, node in enumerate(nodes):
        sides = scheme.nodes[node].code.sides[0]
        children[number, sides] = [place[branch] for branch in branches[node]]
    tree = TreeShape(children, np.arange(len(nodes)))
    return _Block(nodes, np.array([leaf for _, leaf in leaf_at]), tree)


def _solve_single_nodes(
    scheme: Scheme,
    rows: list[slice],
    blocks: list[_Block],
    decisions: FloatArray,
    weights: FloatArray | None,
    solve_node: NodeSolver,
) -> dict[int, FloatArray]:
    """Return the branch probabilities of each node that forms a block on its own."""
    partitions = _partitions_of_nodes(scheme)
    alike: dict[tuple[CodingMatrix, bytes], list[int]] = {}
    for block in blocks:
        if block.tree is None:
            node = block.nodes[0]
            own_weights = b"" if weights is None else weights[partitions[node]].tobytes()
            alike.setdefault((scheme.nodes[node].code, own_weights), []).append(node)
    shares: dict[int, FloatArray] = {}
    for (code, _), nodes in alike.items():
        stacked = np.concatenate([decisions[:, rows[node]] for node in nodes])
        own = None if weights is None else weights[partitions[nodes[0]]]
        solved = solve_node(code, stacked, own)
        shares.update(zip(nodes, np.split(solved, len(nodes)), strict=True))
    return shares


# -- as ONNX graphs ---------------------------------------------------------------------------


def export_nested(
    graph: Graph, decisions: Value, scheme: Scheme, export_node: NodeExporter
) -> Value:
    """Return the probabilities of all classes of a scheme as a graph.

    Each branch of a node has a factor, its probability given the node. The probability of a class
    is the product of the factors above it.

    Parameters
    ----------
    graph : Graph to add nodes to
    decisions : of shape (n_samples, n_rows)
    scheme : Scheme
    export_node : function of the graph, decisions and a code that returns branch probabilities
    """
    branches = _branches(scheme)
    is_split = [_is_split(node.code) for node in scheme.nodes]
    n_first = sum(
        len(below) for below, is_first in zip(branches, is_split, strict=True) if is_first
    )
    above = np.full(sum(map(len, branches)), -1, dtype=np.intp)
    above_node, at_class = [-1] * len(scheme.nodes), [-1] * len(scheme.classes)
    # The factors of all splits are computed together, before those of other nodes.
    split_rows: list[int] = []
    split_slopes: list[float] = []
    shares: list[Value] = []
    n_others = 0
    for number, (node, place) in enumerate(zip(scheme.nodes, _rows_of_nodes(scheme), strict=True)):
        if is_split[number]:
            start = len(split_rows)
            rows, slopes = _rows_of_sides(place.start, len(branches[number]))
            sides = node.code.sides[0].tolist()
            split_rows += [rows[side] for side in sides]
            split_slopes += [slopes[side] for side in sides]
        else:
            start = n_first + n_others
            n_others += len(branches[number])
            own = graph.pick(decisions, np.arange(place.start, place.stop), scheme.n_rows)
            shares.append(_export_node(graph, own, node.code, number, export_node))
        for factor, branch in enumerate(branches[number], start=start):
            above[factor] = above_node[number]
            if branch < 0:
                at_class[~branch] = factor
            else:
                above_node[branch] = factor
    if split_rows:
        shares.insert(0, _affine(decisions, split_rows, split_slopes))
    return _multiply_factors_above(graph, graph.join(shares), above, np.array(at_class))


def export_tree(graph: Graph, decisions: Value, code: CodingMatrix) -> Value:
    """Return the probabilities of a code that is a tree as a graph: products down its paths."""
    assert code.tree is not None
    starts = np.cumsum(code.rows_per_partition) - code.rows_per_partition
    rows: list[int] = []
    slopes: list[float] = []
    above: list[int] = []
    at_class = [-1] * code.n_classes
    above_partition = {int(code.tree.order[0]): -1}
    for partition in code.tree.order.tolist():
        children = code.tree.children_of(partition)
        own_rows, own_slopes = _rows_of_sides(int(starts[partition]), len(children))
        for factor, child in enumerate(children, start=len(rows)):
            above.append(above_partition[partition])
            if child >= 0:
                above_partition[child] = factor
            else:
                at_class[~child] = factor
        rows += own_rows
        slopes += own_slopes
    factors = _affine(decisions, rows, slopes)
    return _multiply_factors_above(graph, factors, np.array(above), np.array(at_class))


def _export_node(
    graph: Graph, decisions: Value, code: CodingMatrix, number: int, export_node: NodeExporter
) -> Value:
    try:
        return export_node(graph, decisions, code)
    except NoGraphError as error:
        raise ArgumentError(f"node {number} of the scheme has ", *error.args) from None


def _rows_of_sides(first: int, n_sides: int) -> tuple[list[int], list[float]]:
    """Return the row that answers for each side of a partition, and the slope of q = ±r/2 + ½."""
    if n_sides == 2:
        return [first, first], [-0.5, 0.5]
    return list(range(first, first + n_sides)), [0.5] * n_sides


def _affine(decisions: Value, rows: list[int], slopes: list[float]) -> Value:
    return decisions.take(np.array(rows), axis=1) * np.array(slopes) + 0.5


def _multiply_factors_above(
    graph: Graph, factors: Value, above: NDArray[np.intp], at_class: NDArray[np.intp]
) -> Value:
    """Return for each class the product of its factor and all factors above it.

    `above` is the position of the factor above, or −1 at the root. After s rounds each factor is
    the product of itself and the 2ˢ − 1 factors above it, and `above` is the position of the next
    one. So the graph of a deep tree stays small.
    """
    n_factors = len(above)
    if (above >= 0).any():
        # An additional factor of one stands above the root.
        factors = graph.join([factors, graph.repeat(np.ones(1), factors)])
        above = np.append(np.where(above < 0, n_factors, above), n_factors)
        while (above != n_factors).any():
            factors = factors * factors.take(above, axis=1)
            above = above[above]
        n_factors += 1
    return graph.pick(factors, at_class, n_factors)
