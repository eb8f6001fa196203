"""Positions of the nodes in a tree diagram."""

from __future__ import annotations

from typing import NamedTuple

from polytomy.scheme import ClassRef, Scheme

__all__ = ["COLUMN", "TreeLayout", "class_height", "place_nodes"]

COLUMN = 1.25
"""Inches from one level to the next, which is one unit."""

_CELL, _LEAST, _MOST = 0.11, 0.25, 3.2  # inches: a column of a coding matrix, and all of it


class TreeLayout(NamedTuple):
    """Positions of the nodes, in levels from left to right and in classes upwards.

    Attributes
    ----------
    lefts : left end of each node
    widths : width of each node: zero for a dot, else the width of its coding matrix
    heights : vertical position of each node, halfway between its outer branches
    right : horizontal position of the classes
    n_levels : number of levels of nodes
    """

    lefts: list[float]
    widths: list[float]
    heights: list[float]
    right: float
    n_levels: int


def class_height(index: int) -> float:
    """Return the height of a class: the first is at the top."""
    return -float(index)


def place_nodes(scheme: Scheme) -> TreeLayout:
    """Return the positions of the nodes; a level is wider if it has a coding matrix.

    Examples
    --------
    >>> from polytomy.scheme import parse
    >>> place_nodes(parse("m {a n {b c}}"))
    TreeLayout(lefts=[0.0, 1.0], widths=[0.0, 0.0], heights=[-0.75, -1.5], right=2.0, n_levels=2)
    """
    n_nodes = len(scheme.nodes)
    depths = [0] * n_nodes
    heights = [0.0] * n_nodes
    widths = [_matrix_width(node.code.n_rows, node.code.n_partitions) for node in scheme.nodes]
    for position, node in enumerate(scheme.nodes):
        for branch in node.branches:
            if not isinstance(branch, ClassRef):
                depths[branch.index] = depths[position] + 1
    # Nodes are in preorder, so going backwards places children before their parents.
    for position in reversed(range(n_nodes)):
        ends = [
            class_height(branch.index) if isinstance(branch, ClassRef) else heights[branch.index]
            for branch in scheme.nodes[position].branches
        ]
        heights[position] = (min(ends) + max(ends)) / 2
    n_levels = max(depths, default=0) + 1
    widest = [0.0] * n_levels
    for depth, width in zip(depths, widths, strict=True):
        widest[depth] = max(widest[depth], width)
    starts = [0.0]
    for width in widest:
        starts.append(starts[-1] + 1.0 + width)
    lefts = [starts[depth] for depth in depths]
    return TreeLayout(lefts, widths, heights, starts[-1], n_levels)


def _matrix_width(n_rows: int, n_partitions: int) -> float:
    """Return the width of a node's coding matrix; a single model is a dot, without a matrix."""
    return 0.0 if n_partitions == 1 else min(max(_CELL * n_rows, _LEAST), _MOST) / COLUMN
