"""Dendrogram of a tree over classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polytomy.report.drawing import WIDTH, draw_x_axis, fit_scale, fit_text, svg, text_width
from polytomy.report.markup import Markup, tag
from polytomy.scheme import ClassRef, Scheme

__all__ = ["draw_dendrogram"]

_ROW = 19
_TOP = 8
_BELOW = 32
_NAMES_WIDTH = 150.0  # at most, in pixels


def draw_dendrogram(
    tree: Scheme, distances: NDArray[np.float64], names: Sequence[str], label: str
) -> Markup:
    """Draw a tree of two-way nodes from left to right, with the classes on the right.

    Parameters
    ----------
    tree : Scheme, a tree of two-way nodes
    distances : distances between classes, in the order of ``tree.classes``
        A node is drawn at the smallest distance between classes of its two sides, which is where
        single linkage joins them.
    names : names of the classes, in that order
    label : description for screen readers
    """
    reserved = min(max(map(text_width, names)) + 10, _NAMES_WIDTH)
    members, joins = _find_joins(tree, distances)
    bottom = _TOP + _ROW * len(names)
    # The axis runs from far on the left to near on the right, where the classes are.
    scale = fit_scale([0.0, *joins], WIDTH - reserved, 10.0)
    drawn = draw_x_axis(scale, _TOP, bottom, "distance at which the branches merge")
    heights = [0.0] * len(tree.nodes)
    edge = WIDTH - reserved
    for k in reversed(range(len(tree.nodes))):
        x = scale(joins[k])
        ends = []
        for branch in tree.nodes[k].branches:
            is_class = isinstance(branch, ClassRef)
            y = _TOP + _ROW * (branch.index + 0.5) if is_class else heights[branch.index]
            ends.append((edge if is_class else scale(joins[branch.index]), y))
        heights[k] = sum(y for _, y in ends) / 2
        path = "".join(f"M{x:.1f} {heights[k]:.1f}V{y:.1f}H{end:.1f}" for end, y in ends)
        sides = " / ".join(", ".join(names[i] for i in side) for side in members[k])
        drawn.append(tag("path", tag("title", f"{joins[k]:.3g}: {sides}"), d=path, class_="branch"))
    for k, name in enumerate(names):
        y = _TOP + _ROW * (k + 0.5) + 3.5
        drawn.append(tag("text", fit_text(name, reserved - 6), x=edge + 5, y=y))
    return svg(WIDTH, bottom + _BELOW, label, drawn)


def _find_joins(
    tree: Scheme, distances: NDArray[np.float64]
) -> tuple[list[list[list[int]]], list[float]]:
    """Return the classes on the two sides of each node, and the smallest distance between them."""
    members: list[list[list[int]]] = [[] for _ in tree.nodes]
    joins = [0.0] * len(tree.nodes)
    # Nodes are in preorder, so going backwards visits children before their parents.
    for k in reversed(range(len(tree.nodes))):
        members[k] = [
            [branch.index]
            if isinstance(branch, ClassRef)
            else [index for side in members[branch.index] for index in side]
            for branch in tree.nodes[k].branches
        ]
        one, other = members[k]
        joins[k] = float(distances[np.ix_(one, other)].min())
    return members, joins
