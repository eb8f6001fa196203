"""Schemes of nested codes: solved node by node, with probabilities multiplied down the tree.

The nodes of a scheme are visited as a list in preorder, without recursion, so depth is unlimited.
Two shortcuts keep large schemes fast: connected nodes with one partition, each branch on its own
side, form one tree, which one routine multiplies out; other nodes with equal codes are solved in
one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import ArgumentError
from polytomy.onnx_graph import Graph, Value
from polytomy.routines.dispatch import routine
from polytomy.scheme import CodingMatrix, NodeRef, Scheme
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
) -> FloatArray:
    """Return the probabilities of all classes of a scheme.

    Nodes with one partition are multiplied out as trees, because all methods agree on them.

    Parameters
    ----------
    scheme : Scheme
    decisions : array of shape (n_samples, n_rows), checked; NaN means no answer
    weights : array of shape (n_partitions,), or None
    solve_node : function of code, decisions and weights that returns branch probabilities

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one
    """
    if len(scheme.nodes) == 1 and scheme.nodes[0].code.shape != (1, 2):
        return solve_node(scheme.nodes[0].code, decisions, weights)
    rows = _rows_of_nodes(scheme)
    blocks = _divide_into_blocks(scheme)
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


def join_trees(scheme: Scheme) -> TreeShape:
    """Return one tree with all partitions of a scheme; the code of each node must be a tree."""
    trees = [node.code.tree for node in scheme.nodes if node.code.tree is not None]
    places = _slices(node.code.n_partitions for node in scheme.nodes)
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


def _slices(counts: Iterable[int]) -> list[slice]:
    """Return consecutive slices of the given lengths."""
    return [slice(start, end) for start, end in pairwise(accumulate(counts, initial=0))]


def _rows_of_nodes(scheme: Scheme) -> list[slice]:
    """Return, for each node, which columns of decisions are its rows."""
    return _slices(node.code.n_rows for node in scheme.nodes)


def _branches(scheme: Scheme) -> list[list[int]]:
    """Return the branches of each node: class k as ~k, node k as k."""
    return [
        [each.index if isinstance(each, NodeRef) else ~each.index for each in node.branches]
        for node in scheme.nodes
    ]


def _divide_into_blocks(scheme: Scheme) -> list[_Block]:
    """Return the blocks of the scheme, parents before children."""
    branches = _branches(scheme)
    is_split = [_is_split(node.code) for node in scheme.nodes]
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
    partitions = _slices(node.code.n_partitions for node in scheme.nodes)
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
    branches = dict(enumerate(_branches(scheme)))
    places = _rows_of_nodes(scheme)
    # The factors of all splits are computed together, before those of other nodes.
    rows: list[int] = []
    slopes: list[float] = []
    starts: dict[int, int] = {}
    for number, node in enumerate(scheme.nodes):
        if _is_split(node.code):
            starts[number] = len(rows)
            own_rows, own_slopes = _rows_of_sides(places[number].start, len(branches[number]))
            sides = node.code.sides[0].tolist()
            rows += [own_rows[side] for side in sides]
            slopes += [own_slopes[side] for side in sides]
    shares = [_affine(decisions, rows, slopes)] if rows else []
    n_factors = len(rows)
    for number, (node, place) in enumerate(zip(scheme.nodes, places, strict=True)):
        if number not in starts:
            starts[number] = n_factors
            n_factors += len(branches[number])
            own = graph.pick(decisions, np.arange(place.start, place.stop), scheme.n_rows)
            shares.append(_export_node(graph, own, node.code, number, export_node))
    return _multiply_factors(graph, graph.join(shares), branches, starts)


def export_tree(graph: Graph, decisions: Value, code: CodingMatrix) -> Value:
    """Return the probabilities of a code that is a tree as a graph: products down its paths."""
    assert code.tree is not None
    first_rows = np.cumsum(code.rows_per_partition) - code.rows_per_partition
    branches = {number: code.tree.children_of(number) for number in code.tree.order.tolist()}
    rows: list[int] = []
    slopes: list[float] = []
    starts: dict[int, int] = {}
    for partition, below in branches.items():
        starts[partition] = len(rows)
        own_rows, own_slopes = _rows_of_sides(int(first_rows[partition]), len(below))
        rows += own_rows
        slopes += own_slopes
    return _multiply_factors(graph, _affine(decisions, rows, slopes), branches, starts)


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


def _multiply_factors(
    graph: Graph, factors: Value, branches: dict[int, list[int]], starts: dict[int, int]
) -> Value:
    """Return for each class the product of its factor and all factors above it.

    Parameters
    ----------
    branches : the branches of each node, class k as ~k and node k as k; parents come first
    starts : the position of each node's first factor
    """
    n_factors = sum(map(len, branches.values()))
    above = np.full(n_factors, n_factors)  # the factor above; an additional one above the root
    above_node: dict[int, int] = {}
    of_class: dict[int, int] = {}
    for node, below in branches.items():
        for factor, branch in enumerate(below, start=starts[node]):
            above[factor] = above_node.get(node, n_factors)
            of_class[~branch] = above_node[branch] = factor
    at_class = np.array([of_class[k] for k in range(n_factors - len(branches) + 1)])
    if (above != n_factors).any():
        factors = graph.join([factors, graph.repeat(np.ones(1), factors)])
        above = np.append(above, n_factors)
        # After s rounds each factor is the product of itself and the 2ˢ − 1 factors above it, and
        # `above` is the position of the next one. So the graph of a deep tree stays small.
        while (above != n_factors).any():
            factors = factors * factors.take(above, axis=1)
            above = above[above]
        n_factors += 1
    return graph.pick(factors, at_class, n_factors)
