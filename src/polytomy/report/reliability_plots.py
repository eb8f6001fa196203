"""Reliability diagrams: observed frequencies against predicted probabilities."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from polytomy.report.drawing import Scale, svg
from polytomy.report.markup import Markup, tag

__all__ = ["draw_reliability"]

_SIDE = 130.0
_LEFT, _TOP = 38.0, 8.0
_BARS = 26.0  # height of the bars for the counts
_WIDTH, _HEIGHT = _LEFT + _SIDE + 10, _TOP + _SIDE + _BARS + 40


def draw_reliability(table: NDArray[np.float64], label: str, colour: str) -> Markup:
    """Draw observed frequency against mean predicted probability, with a bar for each count.

    Parameters
    ----------
    table : array of shape (n_bins, 3)
        For each bin, the number of probabilities, their sum, and the number of positives.
    label : description for screen readers
    colour : CSS class
    """
    across = Scale(0.0, 1.0, _LEFT, _LEFT + _SIDE)
    up = Scale(0.0, 1.0, _TOP + _SIDE, _TOP)
    bottom = _TOP + _SIDE
    drawn = [
        tag("rect", x=_LEFT, y=_TOP, width=_SIDE, height=_SIDE, class_="field"),
        tag("path", d=f"M{_LEFT:g} {bottom:g}L{_LEFT + _SIDE:g} {_TOP:g}", class_="diagonal"),
    ]
    for value in (0.0, 0.5, 1.0):
        drawn += [
            tag("text", f"{value:g}", x=across(value), y=bottom + _BARS + 15, class_="tick mid"),
            tag("text", f"{value:g}", x=_LEFT - 5, y=up(value) + 3.5, class_="tick end"),
        ]
    points, spots = [], []
    largest = math.log1p(float(table[:, 0].max()))
    for k, (number, total, n_positive) in enumerate(table.tolist()):
        if not number:
            continue
        x, y = across(total / number), up(n_positive / number)
        hint = (
            f"{number:g} probabilities, mean {total / number:.3f}; observed frequency "
            f"{n_positive / number:.3f}"
        )
        points.append(f"{x:.1f} {y:.1f}")
        spots.append(tag("circle", tag("title", hint), cx=x, cy=y, r=3.2))
        tall = _BARS * 0.85 * math.log1p(number) / largest
        width = _SIDE / len(table)
        place = {"x": _LEFT + width * k + 0.5, "y": bottom + _BARS - tall}
        drawn.append(
            tag("rect", tag("title", hint), **place, width=width - 1, height=tall, class_="bar")
        )
    drawn.append(tag("g", tag("path", d="M" + "L".join(points)), spots, class_=f"curve {colour}"))
    axis = tag("text", "predicted", x=_LEFT + _SIDE / 2, y=_HEIGHT - 8, class_="axis mid")
    turn = f"rotate(-90 10 {_TOP + _SIDE / 2:g})"
    side = tag("text", "observed", x=10, y=_TOP + _SIDE / 2, transform=turn, class_="axis mid")
    return svg(_WIDTH, _HEIGHT, label, drawn, axis, side)
