"""The tree of the classes, each node at the distance at which its sides are joined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polytomy.report.drawing import WIDTH, across_axis, fitted, picture, scale_over, text_width
from polytomy.report.markup import Markup, tag
from polytomy.scheme import ClassRef, Scheme

__all__ = ["draw_dendrogram"]

_ROW = 19
_TOP = 8
_BELOW = 32
_MOST_NAMES = 150.0


def draw_dendrogram(
    tree: Scheme, distances: NDArray[np.float64], names: Sequence[str], label: str
) -> Markup:
    """Draw a tree of binaries from left to right, the classes at the right.

    Parameters
    ----------
    tree : Scheme, a tree of two-way nodes
    distances : between the classes, in the order of ``tree.classes``
        A node stands at the least distance between classes of its two sides, which is where single
        linkage joins them.
    names : of the classes, in that order
    label : what is seen, in words
    """
    reserved = min(max(map(text_width, names)) + 10, _MOST_NAMES)
    members, joins = _sides(tree, distances)
    bottom = _TOP + _ROW * len(names)
    # The axis goes from far at the left to near at the right, so that classes end it.
    scale = scale_over([0.0, *joins], WIDTH - reserved, 10.0)
    drawn = across_axis(scale, _TOP, bottom, "distance at which the sides meet")
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
        drawn.append(tag("text", fitted(name, reserved - 6), x=edge + 5, y=y))
    return picture(WIDTH, bottom + _BELOW, label, drawn)


def _sides(
    tree: Scheme, distances: NDArray[np.float64]
) -> tuple[list[list[list[int]]], list[float]]:
    """Return of each node the classes on its sides, and the least distance between these."""
    members: list[list[list[int]]] = [[] for _ in tree.nodes]
    joins = [0.0] * len(tree.nodes)
    # In preorder children come after their parents, so backwards all children are known.
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
