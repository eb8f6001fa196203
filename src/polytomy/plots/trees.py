"""Tree diagram of a scheme, with a score or the separability of each node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.distances import ClassDistances
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.pipelines import split_pipeline
from polytomy.plots.canvas import (
    FAINT,
    INK,
    NEGATIVE,
    PLAIN_TEXT,
    POSITIVE,
    axes_or_new,
    estimate_length,
)
from polytomy.plots.tree_scores import score_tree
from polytomy.scheme import ClassRef, Node, Scheme

__all__ = ["tree"]

_ROW, _COLUMN = 0.32, 1.25  # inches per class and per level
_LOW_ROW, _NARROW_COLUMN = 0.16, 0.12  # for classes and levels beyond these numbers
_MANY_CLASSES, _MANY_LEVELS = 40, 16


def tree(
    scheme: Scheme | Any,
    *,
    X: Any = None,
    y: Any = None,
    score: str = "error_rate",
    separability: ClassDistances | Mapping[int, float] | Sequence[float] | None = None,
    labels: Mapping[Any, str] | None = None,
    names: bool = False,
    ax: Any = None,
) -> Any:
    """Draw a scheme as a tree from left to right, with the classes on the right.

    Nodes of one model are dots; codes are boxes with their number of partitions. If a node has two
    branches, the −1 branch is blue and the +1 branch orange.

    Parameters
    ----------
    scheme : Scheme, or a fitted PolytomyClassifier or pipeline of one
    X, y : labelled samples, optional
        If they are given, `scheme` is a fitted classifier, and the nodes and classes show its
        score on these samples.
    score : {"error_rate", "precision", "recall", "f_score"}, default="error_rate"
        What to show. The error rate of a node is the share of the samples below it whose most
        probable branch is not their own, that of a class the share of its samples that are
        predicted to be of another class. The others are those of "is below this node"; see
        `metrics.node_scores`.
    separability : ClassDistances, or one number per node in the order of ``scheme.nodes``, optional
        Written at the nodes in place of a score, and shown by the size of the dots. From distances,
        a node gets the mean distance between classes in different branches.
    labels : dict, optional
        Text to show for classes in place of their labels.
    names : bool, default=False
        Whether to write the names of the nodes.
    ax : axes of matplotlib, optional

    Returns
    -------
    axes
    """
    scores = None
    if X is not None or y is not None:
        if X is None or y is None or separability is not None:
            raise ArgumentError("Pass both X and y, or neither; with them, no separability.")
        scores = score_tree(scheme, X, y, score)
    scheme = getattr(split_pipeline(scheme)[1], "scheme_", scheme)
    if not isinstance(scheme, Scheme):
        raise ArgumentError(Argument("scheme"), f" must be a Scheme; got {type(scheme).__name__}.")
    if scores is None:
        values = _node_values(scheme, separability)
    else:
        values = [value if np.isfinite(value) else None for value in scores.of_nodes.tolist()]
    depths, heights = _place_nodes(scheme)
    n_classes, deepest = len(scheme.classes), max(depths, default=0) + 1
    shown = _class_texts(scheme, labels, None if scores is None else scores.of_classes)
    column = max(_COLUMN, 0.7 + estimate_length(scheme.node_names) if names else 0.0)
    ax = axes_or_new(
        ax,
        max(1.5, 0.7 + estimate_length(shown))
        + column * min(deepest, _MANY_LEVELS)
        + _NARROW_COLUMN * max(0, deepest - _MANY_LEVELS),
        0.6 + _ROW * min(n_classes, _MANY_CLASSES) + _LOW_ROW * max(0, n_classes - _MANY_CLASSES),
    )
    largest = max((abs(value) for value in values if value is not None), default=0.0) or 1.0
    for position, node in enumerate(scheme.nodes):
        _draw_branches(ax, node, position, depths, heights, deepest)
        value = values[position]
        words = [scheme.node_names[position]] if names else []
        if value is not None:
            words.append(f"{value:.3g}" if scores is None else f"{value:.3f}")
        size = 30 if value is None else 15 + 85 * abs(value) / largest
        _draw_node(ax, (depths[position], heights[position]), node, " ".join(words), size)
    for index, text in enumerate(shown):
        ax.annotate(
            text, (deepest, _class_height(index)), (6, 0), textcoords="offset points",
            va="center", fontsize=9, **PLAIN_TEXT,
        )  # fmt: skip
    if scores is not None:
        ax.set_title(scores.title, fontsize=10)
    ax.set_xlim(-0.3, deepest + 0.6)
    ax.set_ylim(-n_classes + 0.4, 0.6)
    ax.set_axis_off()
    return ax


def _class_texts(
    scheme: Scheme, labels: Mapping[Any, str] | None, scores: NDArray[np.float64] | None
) -> list[str]:
    """Return what is written at the classes: their labels, and their scores if they have one."""
    texts = [
        str(label) if labels is None else labels.get(label, str(label)) for label in scheme.classes
    ]
    if scores is None:
        return texts
    return [
        f"{text} ({score:.3f})" if np.isfinite(score) else text
        for text, score in zip(texts, scores.tolist(), strict=True)
    ]


def _draw_branches(
    ax: Any, node: Node, position: int, depths: list[int], heights: list[float], deepest: int
) -> None:
    """Draw lines from a node to its branches, in two colours if it decides between two."""
    is_two_way = node.code.n_partitions == 1 and len(node.branches) == 2
    x, y = depths[position], heights[position]
    for number, branch in enumerate(node.branches):
        colour = (NEGATIVE, POSITIVE)[number] if is_two_way else FAINT
        end = (
            (deepest, _class_height(branch.index))
            if isinstance(branch, ClassRef)
            else (depths[branch.index], heights[branch.index])
        )
        ax.plot([x, x, end[0]], [y, end[1], end[1]], color=colour, linewidth=1.4, zorder=1)


def _draw_node(ax: Any, place: tuple[float, float], node: Node, text: str, size: float) -> None:
    """Draw the dot of one model, or the box of a code, with a text."""
    is_one_model = node.code.n_partitions == 1
    if is_one_model:
        ax.scatter([place[0]], [place[1]], s=size, color=INK, zorder=2)
    else:
        text = f"{node.code.n_partitions} rows {text}".strip()
    if not text:
        return
    box = {"boxstyle": "round", "facecolor": "white"}
    if is_one_model:  # lines behind the text must not cross it
        box = {"boxstyle": "square,pad=0", "facecolor": "white", "edgecolor": "none"}
    offset = (-5, 3) if is_one_model else (0, 0)
    ax.annotate(
        text, place, offset, textcoords="offset points", fontsize=8, bbox=box, zorder=3,
        ha="right" if is_one_model else "center", va="bottom" if is_one_model else "center",
        **PLAIN_TEXT,
    )  # fmt: skip


def _class_height(index: int) -> float:
    return -float(index)


def _place_nodes(scheme: Scheme) -> tuple[list[int], list[float]]:
    """Return the depth of each node, and its height, halfway between its outer branches."""
    depths = [0] * len(scheme.nodes)
    heights = [0.0] * len(scheme.nodes)
    for position, node in enumerate(scheme.nodes):
        for branch in node.branches:
            if not isinstance(branch, ClassRef):
                depths[branch.index] = depths[position] + 1
    # Nodes are in preorder, so going backwards places children before their parents.
    for position in reversed(range(len(scheme.nodes))):
        ends = [
            _class_height(branch.index) if isinstance(branch, ClassRef) else heights[branch.index]
            for branch in scheme.nodes[position].branches
        ]
        heights[position] = (min(ends) + max(ends)) / 2
    return depths, heights


def _node_values(
    scheme: Scheme, separability: ClassDistances | Mapping[int, float] | Sequence[float] | None
) -> Sequence[float | None]:
    n_nodes = len(scheme.nodes)
    if separability is None:
        return [None] * n_nodes
    if isinstance(separability, ClassDistances):
        return _mean_distances(scheme, separability.reordered(scheme.classes).matrix)
    if isinstance(separability, Mapping):
        return [separability.get(position) for position in range(n_nodes)]
    if len(separability) != n_nodes:
        raise ArgumentError(
            Argument("separability"),
            f" has {len(separability)} numbers for {n_nodes} nodes. Pass one per node.",
        )
    return [float(value) for value in separability]


def _mean_distances(scheme: Scheme, between: NDArray[np.float64]) -> list[float]:
    """Return for each node the mean distance between classes in different branches."""
    members: list[list[int]] = [[] for _ in scheme.nodes]
    means = [0.0] * len(scheme.nodes)
    for position in reversed(range(len(scheme.nodes))):
        branches = [
            [branch.index] if isinstance(branch, ClassRef) else members[branch.index]
            for branch in scheme.nodes[position].branches
        ]
        pairs = [between[np.ix_(one, other)].ravel() for one, other in combinations(branches, 2)]
        means[position] = float(np.concatenate(pairs).mean())
        members[position] = [index for branch in branches for index in branch]
    return means
