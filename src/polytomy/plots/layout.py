"""What is drawn and where, computed once for the plots and the report."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.inputs.arguments import Parameter
from polytomy.metrics.reliability import check_bins, tabulate_reliability
from polytomy.plots.canvas import FAINT, PLAIN_TEXT, SMALL
from polytomy.scheme import ClassRef, Scheme

__all__ = [
    "COLUMN",
    "STRATEGY",
    "ReliabilityBins",
    "TreeLayout",
    "class_height",
    "draw_diagonal",
    "make_bins",
    "place_labels",
    "place_nodes",
]

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


# -- Bins of probabilities with their observed frequencies, and the curve through them --


Floats = NDArray[np.float64]

STRATEGY = Parameter("strategy", choices=("uniform", "quantile"))
"""How wide the bins are: equal widths, or equal numbers of samples."""

_DIAGONAL = "perfectly calibrated"
_QUANTILE_95 = 1.959963984540054  # of the normal distribution, two-sided


class ReliabilityBins(NamedTuple):
    """Bins of the probabilities of an event, without empty bins.

    Attributes
    ----------
    predicted : mean probability in each bin
    observed : frequency of the event in each bin
    weight : sum of the sample weights in each bin
    lower, upper : Wilson's 95 % interval of the frequency, given the number of samples
    """

    predicted: Floats
    observed: Floats
    weight: Floats
    lower: Floats
    upper: Floats

    @property
    def mean_gap(self) -> float:
        """Mean difference between probability and frequency, weighted by bin."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.weight))


def make_bins(
    predicted: Floats, observed: NDArray[Any], weight: Floats, n_bins: int, strategy: str
) -> ReliabilityBins:
    """Return the bins of probabilities of one event.

    Parameters
    ----------
    predicted : array of shape (n_samples,), probabilities of the event
    observed : array of shape (n_samples,), whether it happened
    weight : array of shape (n_samples,)
    n_bins : int; there are fewer if some would be empty, or many probabilities are equal
    strategy : "quantile" for bins of the same weight, "uniform" for bins of the same width
    """
    edges = check_bins(n_bins)
    if strategy == "quantile":
        edges = _quantile_edges(predicted, weight, edges)
    table = tabulate_reliability(predicted, observed, weight, edges)
    table = table[table["weight"] > 0]
    # Unequal weights reduce the effective number of samples (Kish 1965).
    samples_per_weight = weight.sum() / (weight @ weight)
    lower, upper = _wilson_interval(table["observed"], table["weight"] * samples_per_weight)
    return ReliabilityBins(
        table["predicted"].copy(), table["observed"].copy(), table["weight"].copy(), lower, upper
    )


def _quantile_edges(values: Floats, weight: Floats, shares: Floats) -> Floats:
    order = np.argsort(values, kind="stable")
    cumulated = np.cumsum(weight[order])
    # The value after the one that completes a share starts the next bin.
    places = np.searchsorted(cumulated, shares[1:-1] * cumulated[-1] * (1 + 1e-12), side="right")
    inner = values[order][np.minimum(places, len(values) - 1)]
    return np.unique(np.concatenate([[0.0], np.clip(inner, 0.0, 1.0), [1.0]]))


def _wilson_interval(share: Floats, n: Floats) -> tuple[Floats, Floats]:
    square = _QUANTILE_95**2
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = np.sqrt(share * (1 - share) / n + square / (4 * n**2)) / (1 + square / n)
    half *= _QUANTILE_95
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def draw_diagonal(ax: Any) -> Any:
    """Draw the line where probabilities equal frequencies, once per axes; return the line."""
    for line in ax.lines:
        if line.get_label() == _DIAGONAL:
            return line
    (line,) = ax.plot(
        [0, 1], [0, 1], color=FAINT, linewidth=1, linestyle="--", label=_DIAGONAL, zorder=1
    )
    return line


# -- Labels next to points that overlap neither each other nor the points --


_GAPS = (6.0, 9.0, 16.0, 26.0, 40.0, 60.0, 85.0)  # points between a label and its point
_ANGLES = np.linspace(0.0, 2 * np.pi, 16, endpoint=False)
_MARKER = 9.0  # points; the side of the square that a point covers
_PADDING = np.array([3.0, 1.0])  # points around a label, left and right, above and below
_LONG_WAY = 10.0  # points; labels further away have a line to their point
_OUTSIDE, _ON_LINE, _AWAY = 3.0, 60.0, 1.0  # costs, besides the area of overlaps


def place_labels(
    ax: Any, points: Floats, texts: Sequence[str], *, also_avoid: Floats | None = None,
    line: Floats | None = None,
) -> list[Any]:  # fmt: skip
    """Write a label next to each point, where it overlaps as little as possible.

    Labels are placed one by one, so the first ones get the best places, and then each once more,
    given all others. They depend on the current size of the figure and on the limits of the axes,
    which must not change afterwards.

    Parameters
    ----------
    ax : matplotlib axes
    points : array of shape (n_labels, 2), in the coordinates of the axes
    texts : the labels
    also_avoid : array of shape (n_points, 2), optional
        Points without labels, which the labels should not cover either.
    line : array of shape (n_vertices, 2), optional
        A line that labels should not cover.

    Returns
    -------
    list of annotations
    """
    ax.figure.get_figure(root=True).draw_without_rendering()  # the layout engine moves axes
    per_point = ax.figure.dpi / 72
    labels = [
        ax.annotate(
            text, point, (0, 0), textcoords="offset points", ha="center", va="center",
            fontsize=SMALL, zorder=4, **PLAIN_TEXT,
            arrowprops={"arrowstyle": "-", "color": FAINT, "linewidth": 0.6, "shrinkA": 0,
                        "shrinkB": 3, "alpha": 0.0},
        )
        for point, text in zip(points.tolist(), texts, strict=True)
    ]  # fmt: skip
    if not labels:
        return labels
    extents = [label.get_window_extent() for label in labels]
    halves = np.array([[each.width, each.height] for each in extents]) / per_point / 2
    halves += _PADDING
    anchors = ax.transData.transform(points) / per_point
    others = points if also_avoid is None else np.concatenate([points, also_avoid])
    markers = ax.transData.transform(others) / per_point
    obstacles = np.column_stack([markers - _MARKER / 2, markers + _MARKER / 2])
    frame = np.array(ax.get_window_extent().extents) / per_point
    samples = None if line is None else _sample_line(ax.transData.transform(line) / per_point)
    boxes = np.full((len(labels), 4), np.nan)
    for _ in range(2):
        for k, (anchor, half) in enumerate(zip(anchors, halves, strict=True)):
            centres = _candidates(anchor, half)
            found = np.column_stack([centres - half, centres + half])
            costs = _overlaps(found, np.delete(boxes, k, axis=0)) + _overlaps(found, obstacles)
            costs += _OUTSIDE * _area_outside(found, frame)
            costs += _AWAY * np.repeat(_GAPS, len(_ANGLES))
            if samples is not None:
                costs += _ON_LINE * _count_inside(found, samples)
            best = int(np.argmin(costs))
            boxes[k] = found[best]
            labels[k].xyann = tuple((centres[best] - anchor).tolist())
    for label, half in zip(labels, halves, strict=True):
        gaps = np.maximum(np.abs(label.xyann) - half, 0.0)
        if np.hypot(*gaps) > _LONG_WAY:
            label.arrow_patch.set_alpha(1.0)
    return labels


def _candidates(anchor: Floats, half: Floats) -> Floats:
    """Return centres of a label around a point, the nearest first."""
    directions = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])
    # The label touches a circle around the point with its side or corner.
    return np.concatenate(
        [anchor + directions * gap + np.clip(1.5 * directions, -1, 1) * half for gap in _GAPS]
    )


def _overlaps(found: Floats, boxes: Floats) -> Floats:
    """Return the area of each box that others cover; boxes that are not placed yet are NaN."""
    lower = np.maximum(found[:, np.newaxis, :2], boxes[np.newaxis, :, :2])
    upper = np.minimum(found[:, np.newaxis, 2:], boxes[np.newaxis, :, 2:])
    areas = np.prod(np.clip(upper - lower, 0.0, None), axis=2)
    # Any overlap is worse than the longest distance.
    return np.asarray(np.nansum(areas + 200.0 * (areas > 0), axis=1))


def _area_outside(found: Floats, frame: Floats) -> Floats:
    lower, upper = np.maximum(found[:, :2], frame[:2]), np.minimum(found[:, 2:], frame[2:])
    inside = np.prod(np.clip(upper - lower, 0.0, None), axis=1)
    return np.asarray(np.prod(found[:, 2:] - found[:, :2], axis=1) - inside)


def _sample_line(vertices: Floats) -> Floats:
    """Return points on a line, a few screen points apart."""
    if len(vertices) < 2:
        return vertices
    steps = []
    for start, end in pairwise(vertices):
        n_steps = max(2, int(np.hypot(*(end - start)) / 3))
        steps.append(start + np.linspace(0, 1, n_steps)[:, np.newaxis] * (end - start))
    return np.concatenate(steps)


def _count_inside(found: Floats, samples: Floats) -> Floats:
    """Return how much of a line is in each box; 1 is a line across the whole box."""
    x, y = samples.T
    is_inside = (x > found[:, :1]) & (x < found[:, 2:3]) & (y > found[:, 1:2]) & (y < found[:, 3:])
    return np.asarray(is_inside.any(axis=1).astype(np.float64) + 0.05 * is_inside.sum(axis=1))
