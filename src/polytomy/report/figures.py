"""Figures of the page, as inline SVG: scales and axes, models, and comparisons of models.

Figures are about as wide as a phone, so that text keeps its size there; wider pages show several
side by side. Colours are variables of the page's style sheet, which changes them in dark mode and
for print."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.plots.layout import (
    distances_at_nodes,
    place_boxes,
    place_nodes,
    shade_confusion,
    shares_of_rows,
)
from polytomy.report.markup import Child, Markup, tag
from polytomy.report.tables import Name, published_text
from polytomy.scheme import Scheme
from polytomy.trials import Cell, Measure, Published, Ranking
from polytomy.trials.results import format_cell

WIDTH = 340
"""Width of most figures, in pixels."""

_NARROW, _BROAD = frozenset("fijlrtI .,:;-'|!()[]"), frozenset("mwMW@%")
_STEPS = (1, 2, 2.5, 5, 10)
# Ratio of largest to smallest value above which an axis may be logarithmic.
_LEAST_LOG_RATIO = 12.0


class Scale(NamedTuple):
    """A range of values, and the range of pixels it maps to.

    Examples
    --------
    >>> scale = Scale(0.0, 10.0, 100.0, 200.0)
    >>> scale(2.5), scale.ticks(5)
    (125.0, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0])
    >>> Scale(0.5, 60.0, 0.0, 100.0, is_log=True).ticks(3)
    [1.0, 3.0, 10.0, 30.0]
    """

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        """Return the pixel of a value, clipped to the range."""
        value = min(max(value, self.low), self.high)
        low, high = self._transform(self.low), self._transform(self.high)
        return self.start + (self._transform(value) - low) / (high - low) * (self.end - self.start)

    def _transform(self, value: float) -> float:
        return math.log10(value) if self.is_log else value

    def ticks(self, n_wanted: int) -> list[float]:
        """Return about `n_wanted` round values within the range."""
        if self.is_log:
            return self._log_ticks(n_wanted)
        rough = (self.high - self.low) / n_wanted
        power = 10.0 ** math.floor(math.log10(rough))
        step = power * next(each for each in _STEPS if each * power >= rough * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [float(f"{k * step:.12g}") for k in range(first, last + 1)]

    def _log_ticks(self, n_wanted: int) -> list[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)

        def within(steps: Iterable[int]) -> list[float]:
            made = [float(f"{step}e{power}") for power in powers for step in steps]
            return [value for value in made if self.low <= value <= self.high]

        for steps in ((1, 2, 5), (1, 3), (1,)):
            found = within(steps)
            if len(found) <= n_wanted + 1:
                return found
        return found[:: math.ceil(len(found) / (n_wanted + 1))]


def fit_scale(
    values: Iterable[float], start: float, end: float, *, may_be_log: bool = False
) -> Scale:
    """Return a scale that covers all values, with a margin at both ends.

    Examples
    --------
    >>> fit_scale([1.0, 2.0], 0, 100)
    Scale(low=0.94, high=2.06, start=0, end=100, is_log=False)
    >>> [round(fit_scale([0.01, 1.0], 0, 100, may_be_log=True)(value), 1) for value in (0.1, 1.0)]
    [50.0, 94.6]
    """
    known = [value for value in values if math.isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if may_be_log and low > 0 and high / low > _LEAST_LOG_RATIO:
        factor = (high / low) ** 0.06
        return Scale(low / factor, high * factor, start, end, is_log=True)
    margin = 0.06 * (high - low) or 0.06 * abs(high) or 1.0
    return Scale(low - margin, high + margin, start, end)


def svg(width: float, height: float, label: str, *children: Child, class_: str = "") -> Markup:
    """Return an SVG figure; the label describes it for screen readers."""
    return tag(
        "svg",
        *children,
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}",
        height=f"{height:g}",
        role="img",
        aria_label=label,
        class_=f"plot {class_}".strip(),
    )


def draw_x_axis(
    scale: Scale, top: float, bottom: float, title: str, n_ticks: int = 4
) -> list[Markup]:
    """Draw a horizontal axis below a plot, with grid lines."""
    drawn = []
    free = -math.inf  # right edge of the previous number
    for value in sorted(scale.ticks(n_ticks), key=scale.__call__):
        x, text = scale(value), format_number(value)
        drawn.append(tag("path", d=f"M{x:.1f} {top:g}V{bottom:g}", class_="grid"))
        half = text_width(text) / 2
        if x - half > free:
            drawn.append(tag("text", text, x=x, y=bottom + 12, class_="tick mid"))
            free = x + half
    middle = (scale.start + scale.end) / 2
    drawn.append(tag("text", title, x=middle, y=bottom + 26, class_="axis mid"))
    return drawn


def draw_y_title(title: str, middle: float) -> Markup:
    """Draw the title of a vertical axis at the left edge of a figure."""
    turn = f"rotate(-90 10 {middle:g})"
    return tag("text", title, x=10, y=middle, transform=turn, class_="axis mid")


def draw_mark(hint: str, class_: str, *shapes: Markup | None) -> Markup:
    """Draw shapes that belong together, with a tooltip."""
    return tag("g", shapes, tag("title", hint), class_=class_)


def format_number(value: float) -> str:
    """Format a number for an axis, without an exponent.

    Examples
    --------
    >>> [format_number(value) for value in (0.00005, 0.25, 1000.0, -0.0)]
    ['0.00005', '0.25', '1000', '0']
    """
    text = f"{value:.10f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def text_width(text: str) -> float:
    """Estimate the width of small text in pixels, on the high side because fonts differ.

    Examples
    --------
    >>> [round(text_width(text), 1) for text in ("soil", "SOIL", "漢字漢字")]
    [21.4, 27.6, 43.2]
    """
    return sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if letter in _NARROW:
        return 4.2
    if letter in _BROAD or unicodedata.east_asian_width(letter) in ("W", "F"):
        return 10.8
    return 7.8 if letter.isupper() else 6.5


def fit_text(text: str, width: float) -> list[Child]:
    """Truncate text to a width in pixels; if it is cut, add a tooltip with the full text.

    Examples
    --------
    >>> fit_text("corn", 50)
    ['corn']
    >>> fit_text("very damp grey soil", 60)
    ['very dam…', '<title>very damp grey soil</title>']
    """
    if text_width(text) <= width:
        return [text]
    n_letters = len(text)
    while n_letters > 1 and text_width(text[:n_letters]) + _letter_width("…") > width:
        n_letters -= 1
    return [text[:n_letters].rstrip() + "…", tag("title", text)]


# -- models ----------------------------------------------------------------------------------------


Floats = NDArray[np.float64]

MOST_CLASSES = 60
"""Larger matrices are not drawn, because they could not be read."""

_N_SHADES = 9
_MOST_ERRORS = 8
_NAMES_WIDTH = 125.0  # at most, in pixels, for names of rows and columns
_TITLE = 18.0  # pixels for the title of an axis
_DIGIT = 6.4  # width in pixels
_SMALL_DIGIT = 4.6  # in matrices of many classes
_FEW_CLASSES = 12
_MATRIX_WIDTH = 330.0  # at least, unless there are few classes
_SIDES = 18.0, 44.0  # smallest and largest side of a square, in pixels

_TREE_ROW = 19  # pixels per class
_TREE_TOP = 8
_TREE_NAMES_WIDTH = 150.0  # at most, in pixels
_BELOW = 32  # pixels for an axis and its title

_SQUARE = 130.0
_INSET, _ABOVE = 38.0, 8.0
_BARS = 26.0  # height of the bars for the counts
_RELIABILITY_WIDTH, _RELIABILITY_HEIGHT = (
    _INSET + _SQUARE + 10,
    _ABOVE + _SQUARE + _BARS + 40,
)


def draw_dendrogram(tree: Scheme, distances: Floats, names: Sequence[str], label: str) -> Markup:
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
    reserved = min(max(map(text_width, names)) + 10, _TREE_NAMES_WIDTH)
    edge = WIDTH - reserved
    joins = [float(each.min()) for each in distances_at_nodes(tree, distances)]
    bottom = _TREE_TOP + _TREE_ROW * len(names)
    # The axis runs from far on the left to near on the right, where the classes are.
    scale = fit_scale([0.0, *joins], edge, 10.0)
    drawn = draw_x_axis(scale, _TREE_TOP, bottom, "distance at which the branches merge")
    layout = place_nodes(tree)._replace(lefts=[scale(join) for join in joins], right=edge)
    for k in reversed(range(len(tree.nodes))):
        path = ""
        for branch in tree.nodes[k].branches:
            end, row = layout.end_of(branch)
            path += f"M{layout.lefts[k]:.1f} {_tree_height(layout.rows[k]):.1f}"
            path += f"V{_tree_height(row):.1f}H{end:.1f}"
        sides = [", ".join(names[i:j]) for i, j in pairwise(tree.branch_starts[k])]
        hint = tag("title", f"{joins[k]:.3g}: {' / '.join(sides)}")
        drawn.append(tag("path", hint, d=path, class_="branch"))
    for k, name in enumerate(names):
        text = fit_text(name, reserved - 6)
        drawn.append(tag("text", text, x=edge + 5, y=_tree_height(k) + 3.5))
    return svg(WIDTH, bottom + _BELOW, label, drawn)


def _tree_height(row: float) -> float:
    return _TREE_TOP + _TREE_ROW * (row + 0.5)


def draw_confusion(counts: Floats, classes: Sequence[str], label: str) -> Markup:
    """Draw a confusion matrix: rows are the true classes, columns the predicted ones.

    Squares are shaded by their share of the row. Errors have their own colour, and a logarithmic
    scale that shows rare ones too.
    """
    shades = shade_confusion(shares_of_rows(counts))
    levels = np.sign(shades) * np.ceil(np.abs(shades) * _N_SHADES)
    texts = [[f"{value:g}" if value else "" for value in row] for row in counts]
    titles = "true class", "predicted class"
    return _draw_shaded_matrix(levels, ("right", "wrong"), texts, classes, label, titles)


def list_errors(counts: Floats, classes: Sequence[str]) -> Markup:
    """Return how many predictions of a confusion matrix are wrong, and the most frequent errors."""
    wrong = counts * ~np.eye(len(classes), dtype=bool)
    totals = counts.sum(axis=1)
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_ERRORS]
    found = [divmod(int(place), len(classes)) for place in order]
    lines = [
        tag(
            "li",
            tag("b", classes[i]),
            " predicted as ",
            tag("b", classes[k]),
            f": {wrong[i, k]:g} ({wrong[i, k] / totals[i]:.1%})",
        )
        for i, k in found
        if wrong[i, k]
    ]
    n_wrong, n_all = wrong.sum(), counts.sum()
    total = f"{n_wrong:,.0f} of {n_all:,.0f} predictions are wrong ({n_wrong / max(n_all, 1):.2%})."
    most = [tag("p", "Most frequent errors:"), tag("ol", lines)] if lines else None
    return tag("div", tag("p", total), most, class_="mistakes")


def draw_distances(distances: Floats, classes: Sequence[str], label: str) -> Markup:
    """Draw distances between classes, the closest in the strongest shade."""
    is_other = ~np.eye(len(classes), dtype=bool)
    others = distances[is_other]
    low, high = float(others.min()), float(others.max())
    nearness = (high - distances) / (high - low) if high > low else np.ones_like(distances)
    levels = np.where(is_other, 1 + np.floor(nearness * (_N_SHADES - 1e-9)), 0)
    texts = [
        [f"{value:.3g}" if is_other[i, k] else "" for k, value in enumerate(row)]
        for i, row in enumerate(distances)
    ]
    return _draw_shaded_matrix(levels, ("near",), texts, classes, label, ("", ""))


def _draw_shaded_matrix(
    levels: Floats,
    colours: Sequence[str],
    texts: Sequence[Sequence[str]],
    classes: Sequence[str],
    label: str,
    titles: tuple[str, str],
) -> Markup:
    """Draw squares in shades from 0 to 9, or to −9 in the second of two colours (CSS classes)."""
    n_classes = len(classes)
    names_width = min(max(map(text_width, classes)) + 8, _NAMES_WIDTH)
    n_digits = _longest(texts)
    is_small = n_classes > _FEW_CLASSES
    least = _SMALL_DIGIT * n_digits + 4 if is_small else max(_DIGIT * n_digits + 6, _SIDES[0])
    left = names_width + _TITLE * bool(titles[0])
    side = min(max(least, (_MATRIX_WIDTH - left) / n_classes), _SIDES[1])
    is_turned = names_width > side + 8
    top = (names_width if is_turned else 18.0) + _TITLE * bool(titles[1])
    width, height = left + side * n_classes + 2, top + side * n_classes + 2
    squares = _draw_squares(levels, colours)
    drawn = [
        tag("rect", x=left, y=top, width=side * n_classes, height=side * n_classes, class_="field"),
        tag("g", squares, transform=f"translate({left:g} {top:g}) scale({side:g})"),
        _draw_texts(levels, texts, (left, top, side), is_small=is_small),
    ]
    for k, name in enumerate(classes):
        middle = side * (k + 0.5)
        text = fit_text(name, names_width - 4)
        drawn.append(tag("text", text, x=left - 4, y=top + middle + 3.5, class_="end"))
        x, y = left + middle + 3.5 * is_turned, top - 5
        turn = f"rotate(-90 {x:.1f} {y:.1f})" if is_turned else None
        drawn.append(
            tag("text", text, x=x, y=y, transform=turn, class_=None if is_turned else "mid")
        )
    if titles[0]:
        across = left + side * n_classes / 2
        drawn.append(draw_y_title(titles[0], top + side * n_classes / 2))
        drawn.append(tag("text", titles[1], x=across, y=11, class_="axis mid"))
    return svg(width, height, label, drawn, class_="matrix")


def _draw_squares(levels: Floats, colours: Sequence[str]) -> list[Markup]:
    """Draw all squares of each shade as one path, with the side of a square as the unit.

    A single path keeps the file small.
    """
    drawn = []
    for sign, colour in zip((1, -1), colours, strict=False):
        for level in range(1, _N_SHADES + 1):
            found = np.argwhere(levels == sign * level).tolist()
            squares = "".join(f"M{k} {i}h1v1h-1z" for i, k in found)
            if squares:
                drawn.append(tag("path", d=squares, class_=f"{colour} s{level}"))
    return drawn


def _draw_texts(
    levels: Floats,
    texts: Sequence[Sequence[str]],
    place: tuple[float, float, float],
    *,
    is_small: bool,
) -> Markup:
    """Draw the text in the squares, in a colour that contrasts with the shade."""
    left, top, side = place
    size = min(10.0, (side - 2) / (0.56 * _longest(texts)))
    groups: dict[bool, list[Markup]] = {False: [], True: []}
    for i, row in enumerate(texts):
        for k, text in enumerate(row):
            if text:
                x, y = left + side * (k + 0.5), top + side * (i + 0.5) + 0.35 * size
                is_on_dark = bool(abs(levels[i, k]) > 0.6 * _N_SHADES)
                groups[is_on_dark].append(tag("text", text, x=_short_number(x), y=_short_number(y)))
    return tag(
        "g",
        tag("g", groups[False], class_="on-light"),
        tag("g", groups[True], class_="on-dark"),
        font_size=_short_number(size),
        class_="numbers small" if is_small else "numbers",
    )


def _longest(texts: Sequence[Sequence[str]]) -> int:
    return max(1, *(len(text) for row in texts for text in row))


def _short_number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def draw_reliability(table: Floats, label: str, colour: str) -> Markup:
    """Draw observed frequency against mean predicted probability, with a bar for each count.

    Parameters
    ----------
    table : array of shape (n_bins, 3)
        For each bin, the number of probabilities, their sum, and the number of positives.
    label : description for screen readers
    colour : CSS class
    """
    across = Scale(0.0, 1.0, _INSET, _INSET + _SQUARE)
    up = Scale(0.0, 1.0, _ABOVE + _SQUARE, _ABOVE)
    bottom = _ABOVE + _SQUARE
    drawn = [
        tag(
            "rect",
            x=_INSET,
            y=_ABOVE,
            width=_SQUARE,
            height=_SQUARE,
            class_="field",
        ),
        tag(
            "path",
            d=f"M{_INSET:g} {bottom:g}L{_INSET + _SQUARE:g} {_ABOVE:g}",
            class_="diagonal",
        ),
    ]
    for value in (0.0, 0.5, 1.0):
        drawn += [
            tag("text", f"{value:g}", x=across(value), y=bottom + _BARS + 15, class_="tick mid"),
            tag("text", f"{value:g}", x=_INSET - 5, y=up(value) + 3.5, class_="tick end"),
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
        width = _SQUARE / len(table)
        place = {"x": _INSET + width * k + 0.5, "y": bottom + _BARS - tall}
        drawn.append(
            tag("rect", tag("title", hint), **place, width=width - 1, height=tall, class_="bar")
        )
    drawn.append(tag("g", tag("path", d="M" + "L".join(points)), spots, class_=f"curve {colour}"))
    axis = tag(
        "text",
        "predicted",
        x=_INSET + _SQUARE / 2,
        y=_RELIABILITY_HEIGHT - 8,
        class_="axis mid",
    )
    side = draw_y_title("observed", _ABOVE + _SQUARE / 2)
    return svg(_RELIABILITY_WIDTH, _RELIABILITY_HEIGHT, label, drawn, axis, side)


# -- comparisons of models -------------------------------------------------------------------------


_SCORE_ROW = 21
_NAMES = 164  # pixels for the names of the rows
_SCORES_TOP = 6
# pixels for an axis and its title
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
    bottom = _SCORES_TOP + _SCORE_ROW * len(rows)
    ends = [end for row in rows for end in _ends(row.ours.mean, row.ours.std)]
    ends += [end for row in rows if row.theirs for end in _ends(row.theirs.mean, row.theirs.std)]
    means = [row.ours.mean for row in rows] + [row.theirs.mean for row in rows if row.theirs]
    scale = fit_scale(ends, _NAMES + 8, WIDTH - 8)
    if measure.is_time:
        # The lower end of an error bar may be negative; it is cut off.
        scale = fit_scale(means + ends[1::2], _NAMES + 8, WIDTH - 8, may_be_log=True)
    drawn = draw_x_axis(scale, _SCORES_TOP, bottom, measure.title)
    for k, row in enumerate(rows):
        drawn += _draw_row(row, scale, _SCORES_TOP + _SCORE_ROW * (k + 0.5))
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
    height_of = {k: _RANK_TOP + _SCORE_ROW * (place + 0.5) for place, k in enumerate(order)}
    bottom = _RANK_TOP + _SCORE_ROW * len(order)
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
