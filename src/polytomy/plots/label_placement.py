"""Labels next to points that overlap neither each other nor the points."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.plots.canvas import FAINT, PLAIN_TEXT, SMALL

__all__ = ["place_labels"]

Floats = NDArray[np.float64]

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
