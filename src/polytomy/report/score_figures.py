"""Figures that compare models: scores, scores against time, and ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from polytomy.plots.layout import place_boxes
from polytomy.report.drawing import (
    WIDTH,
    Scale,
    draw_mark,
    draw_x_axis,
    fit_scale,
    fit_text,
    format_number,
    svg,
)
from polytomy.report.markup import Markup, tag
from polytomy.report.tables import Name, published_text
from polytomy.trials import Cell, Measure, Published, Ranking
from polytomy.trials.results import format_cell

_ROW = 21
_NAMES = 164  # pixels for the names of the rows
_TOP = 6
_BELOW = 32  # pixels for an axis and its title
_TIME_HEIGHT = 250
_NUMBER = 5.5, 5.5  # half the width and half the height of the number at a point
_GAPS = 2.5, 8.5, 15.5, 23.5  # between a point and its number
_FAR = 10.0  # numbers further away have a line to their point
_RANK_TOP = 30  # pixels for the critical difference
_GROUP = 9  # pixels between the bars of groups


class ScoreRow(NamedTuple):
    """A pair's score on a dataset, and the published one if there is one."""

    name: Name
    ours: Cell
    theirs: Published | None


def draw_scores(rows: Sequence[ScoreRow], measure: Measure, dataset: str) -> Markup:
    """Draw the mean and standard deviation of a measure for every pair on one dataset."""
    bottom = _TOP + _ROW * len(rows)
    ends = [end for row in rows for end in _ends(row.ours.mean, row.ours.std)]
    ends += [end for row in rows if row.theirs for end in _ends(row.theirs.mean, row.theirs.std)]
    means = [row.ours.mean for row in rows] + [row.theirs.mean for row in rows if row.theirs]
    scale = fit_scale(ends, _NAMES + 8, WIDTH - 8)
    if measure.is_time:
        # The lower end of an error bar may be negative; it is cut off.
        scale = fit_scale(means + ends[1::2], _NAMES + 8, WIDTH - 8, may_be_log=True)
    drawn = draw_x_axis(scale, _TOP, bottom, measure.title)
    for k, row in enumerate(rows):
        drawn += _draw_row(row, scale, _TOP + _ROW * (k + 0.5))
    label = f"{measure.title} on {dataset}: mean and standard deviation of each pair"
    return svg(WIDTH, bottom + _BELOW, label, drawn)


def _ends(mean: float, std: float) -> tuple[float, float]:
    half = std if math.isfinite(std) else 0.0
    return mean - half, mean + half


def _drawn_ends(scale: Scale, value: Cell | Published) -> tuple[float, float]:
    low, high = _ends(value.mean, value.std)
    return scale(low), scale(high)


def _draw_row(row: ScoreRow, scale: Scale, y: float) -> list[Markup]:
    ours, theirs = row.ours, row.theirs
    drawn = [tag("text", fit_text(row.name.short, _NAMES), x=_NAMES, y=y + 3.5, class_="end")]
    shift = 0.0
    if theirs is not None:
        shift = -3.5
        low, high = _drawn_ends(scale, theirs)
        x, below = scale(theirs.mean), y + 4.5
        bar = tag("path", d=f"M{low:.1f} {below:.1f}H{high:.1f}")
        diamond = tag("path", d=f"M{x - 3.2:.1f} {below:.1f}l3.2-3.2 3.2 3.2-3.2 3.2z")
        drawn.append(draw_mark(f"published: {published_text(theirs)}", "theirs", bar, diamond))
    low, high = _drawn_ends(scale, ours)
    x, above = scale(ours.mean), y + shift
    caps = "".join(f"M{end:.1f} {above - 3:.1f}v6" for end in (low, high))
    bar = tag("path", d=f"M{low:.1f} {above:.1f}H{high:.1f}{caps}")
    dot = tag("circle", cx=x, cy=above, r=3.6)
    ring = tag("circle", cx=x, cy=above, r=6.4, class_="ring") if ours.is_best else None
    hint = f"{row.name.text}: {format_cell(ours)}{', best' if ours.is_best else ''}"
    drawn.append(draw_mark(hint, f"ours {row.name.colour}", bar if high > low else None, dot, ring))
    return drawn


class TimedScore(NamedTuple):
    """Time and score of a pair, drawn as one point."""

    name: Name
    seconds: float
    score: Cell


def draw_scores_against_time(
    points: Sequence[TimedScore], dataset: str, score_title: str, time_title: str
) -> Markup:
    """Draw scores against times, with the numbers of the pairs next to the points."""
    left, right, top, bottom = 44.0, WIDTH - 12.0, 10.0, _TIME_HEIGHT - _BELOW
    across = fit_scale([point.seconds for point in points], left, right, may_be_log=True)
    ends = [end for point in points for end in _ends(point.score.mean, point.score.std)]
    up = fit_scale(ends, bottom, top)
    drawn = draw_x_axis(across, top, bottom, time_title)
    for value in up.ticks(4):
        y = up(value)
        drawn.append(tag("path", d=f"M{left:g} {y:.1f}H{right:g}", class_="grid"))
        drawn.append(tag("text", format_number(value), x=left - 5, y=y + 3.5, class_="tick end"))
    places = [(across(point.seconds), up(point.score.mean)) for point in points]
    for point, (x, _) in zip(points, places, strict=True):
        low, high = _drawn_ends(up, point.score)
        drawn.append(
            tag("path", d=f"M{x:.1f} {low:.1f}V{high:.1f}", class_=f"whisker {point.name.colour}")
        )
    halves = np.tile(_NUMBER, (len(points), 1))
    frame = (left, top, right, bottom)
    spots = place_boxes(np.array(places), halves, frame, gaps=_GAPS, marker=4.5).tolist()
    for point, (x, y), (tx, ty) in zip(points, places, spots, strict=True):
        hint = (
            f"{point.name.text}: {format_cell(point.score)} in {point.seconds:.3g} s "
            f"(mean and standard deviation)"
        )
        line = tag("path", d=f"M{x:.1f} {y:.1f}L{tx:.1f} {ty:.1f}", class_="leader")
        leader = line if math.hypot(tx - x, ty - y) > _FAR else None
        dot = tag("circle", cx=x, cy=y, r=4)
        number = tag("text", point.name.number, x=tx, y=ty + 3.5, class_="mid number")
        drawn.append(draw_mark(hint, f"point {point.name.colour}", leader, dot, number))
    label = f"{score_title} against {time_title.lower()} on {dataset}"
    return svg(WIDTH, _TIME_HEIGHT, label, drawn)


def draw_ranks(names: Sequence[Name], ranking: Ranking, title: str) -> Markup:
    """Draw mean ranks, best first; bars join pairs that do not differ significantly.

    This is the usual diagram turned by 90 degrees, so that names fit on a narrow page.
    """
    order = np.argsort(ranking.mean_ranks, kind="stable").tolist()
    height_of = {k: _RANK_TOP + _ROW * (place + 0.5) for place, k in enumerate(order)}
    bottom = _RANK_TOP + _ROW * len(order)
    right = WIDTH - 10.0 - _GROUP * len(ranking.groups)
    scale = Scale(0.7, len(names) + 0.3, _NAMES + 8.0, right)
    drawn = draw_x_axis(
        scale, _RANK_TOP, bottom, "mean rank, 1 is best", n_ticks=min(len(names), 10)
    )
    drawn += _draw_difference(ranking.critical_difference, scale)
    for k in order:
        name, rank, y = names[k], float(ranking.mean_ranks[k]), height_of[k]
        line = tag("path", d=f"M{scale.start:g} {y:g}H{scale(rank):.1f}")
        dot = tag("circle", cx=scale(rank), cy=y, r=4)
        hint = f"{name.text}: mean rank {rank:.2f}"
        drawn.append(draw_mark(hint, f"rank {name.colour}", line, dot))
        drawn.append(tag("text", fit_text(name.short, _NAMES), x=_NAMES, y=y + 3.5, class_="end"))
    for number, group in enumerate(ranking.groups):
        x = right + _GROUP * (number + 1)
        top, end = height_of[group[0]] - 5, height_of[group[-1]] + 5
        hint = f"no significant difference: {', '.join(names[k].text for k in group)}"
        drawn.append(tag("path", tag("title", hint), d=f"M{x:g} {top:g}V{end:g}", class_="group"))
    label = f"{title}: mean ranks over {ranking.n_datasets} datasets, best first"
    return svg(WIDTH, bottom + _BELOW, label, drawn)


def _draw_difference(difference: float, scale: Scale) -> list[Markup]:
    text = f"critical difference {difference:.2f}"
    start, end = scale(1), scale(1 + difference)
    if 1 + difference > scale.high:
        text += ": larger than the range of ranks"
    return [
        tag("path", d=f"M{start:.1f} 16v8M{start:.1f} 20H{end:.1f}M{end:.1f} 16v8", class_="ruler"),
        tag("text", text, x=scale.end, y=11, class_="tick end"),
    ]
