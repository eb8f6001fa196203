"""Figures of the page, as inline SVG: scales and axes, models, and comparisons of models.

Figures are about as wide as a phone, so that text keeps its size there; wider pages show several
side by side. Colours are variables of the page's style sheet, which changes them in dark mode and
for print."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.markup import Child, Markup, tag
from polytomy.plots.layout import shade_confusion, shares_of_rows
from polytomy.trials import Cell, Results
from polytomy.trials.results import PairName, format_cell

WIDTH = 340
"""Width of most figures, in pixels."""

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
        for steps in ((1, 2, 5), (1, 3), (1,)):
            made = [float(f"{step}e{power}") for power in powers for step in steps]
            found = [value for value in made if self.low <= value <= self.high]
            if len(found) <= n_wanted + 1:
                break
        return found[:: math.ceil(len(found) / (n_wanted + 1)) or 1]


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


def _draw_y_axis(scale: Scale, left: float, right: float) -> list[Markup]:
    """Draw the numbers of a vertical axis, with grid lines."""
    drawn = []
    for value in scale.ticks(4):
        y = scale(value)
        drawn.append(tag("path", d=f"M{left:g} {y:.1f}H{right:g}", class_="grid"))
        drawn.append(tag("text", format_number(value), x=left - 5, y=y + 3.5, class_="tick end"))
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
    >>> [round(text_width(text), 1) for text in ("soil", "漢字漢字")]
    [27.2, 43.2]
    """
    return sum(10.8 if unicodedata.east_asian_width(letter) in "WF" else 6.8 for letter in text)


def fit_text(text: str, width: float) -> list[Child]:
    """Truncate text to a width in pixels; if it is cut, add a tooltip with the full text.

    Examples
    --------
    >>> fit_text("corn", 50)
    ['corn']
    >>> fit_text("very damp grey soil", 60)
    ['very da…', '<title>very damp grey soil</title>']
    """
    if text_width(text) <= width:
        return [text]
    n_letters = len(text)
    while n_letters > 1 and text_width(f"{text[:n_letters]}…") > width:
        n_letters -= 1
    return [text[:n_letters].rstrip() + "…", tag("title", text)]


# -- models ----------------------------------------------------------------------------------------


Floats = NDArray[np.float64]

MOST_CLASSES = 60
"""Larger matrices are not drawn, because they could not be read."""

_N_SHADES = 9
_MOST_ERRORS = 8
_SHORT_NAME = 3  # longer names of columns are turned
_BELOW = 32  # pixels for an axis and its title

_SQUARE = 130.0
_INSET, _ABOVE = 38.0, 8.0
_BARS = 26.0  # height of the bars for the counts
_FEWEST_IN_LINE = 5  # probabilities of a bin
_RELIABILITY_WIDTH, _RELIABILITY_HEIGHT = _INSET + _SQUARE + 10, _ABOVE + _SQUARE + _BARS + 40

Links = Mapping[tuple[int, int], str]
"""Addresses of cells of a confusion matrix."""


def draw_confusion(
    counts: Floats, classes: Sequence[str], label: str, links: Links | None = None
) -> Markup:
    """Draw a confusion matrix: rows are the true classes, columns the predicted ones.

    Squares are shaded by their share of the row. Errors have their own colour, and a logarithmic
    scale that shows rare ones too. A click on a number with a link follows it.
    """
    shades = shade_confusion(shares_of_rows(counts))
    levels = np.sign(shades) * np.ceil(np.abs(shades) * _N_SHADES)
    texts = [
        [_link(f"{value:g}", links, (i, k)) if value else "" for k, value in enumerate(row)]
        for i, row in enumerate(counts)
    ]
    corner = "true class ↓ predicted class →"
    return _shade_table(levels, ("right", "wrong"), texts, classes, label, corner)


def _link(text: Child, links: Links | None, place: tuple[int, int]) -> Child:
    address = (links or {}).get(place)
    return text if address is None else tag("a", text, href=address)


def list_errors(counts: Floats, classes: Sequence[str], links: Links | None = None) -> Markup:
    """Return how many predictions of a confusion matrix are wrong, and the most frequent errors."""
    wrong = counts * ~np.eye(len(classes), dtype=bool)
    totals = counts.sum(axis=1)
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_ERRORS]
    found = [divmod(int(place), len(classes)) for place in order]
    lines = [
        tag(
            "li",
            _link([tag("b", classes[i]), " predicted as ", tag("b", classes[k])], links, (i, k)),
            f": {wrong[i, k]:g} ({wrong[i, k] / totals[i]:.1%})",
        )
        for i, k in found
        if wrong[i, k]
    ]
    n_wrong, n_all = wrong.sum(), counts.sum()
    total = f"Wrong predictions: {n_wrong:,.0f} of {n_all:,.0f} ({n_wrong / max(n_all, 1):.2%})."
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
    return _shade_table(levels, ("near",), texts, classes, label)


def _shade_table(
    levels: Floats,
    colours: Sequence[str],
    texts: Sequence[Sequence[Child]],
    classes: Sequence[str],
    label: str,
    corner: str = "",
) -> Markup:
    """Return a table in shades from 0 to 9, or to −9 in the second of two colours (CSS classes)."""
    is_turned = max(map(len, classes)) > _SHORT_NAME
    heads = [tag("th", tag("span", name), scope="col", title=name) for name in classes]
    rows = []
    for name, shades, row in zip(classes, levels.astype(int).tolist(), texts, strict=True):
        cells = [
            tag("td", text, class_=f"{colours[shade < 0]} s{abs(shade)}" if shade else None)
            for shade, text in zip(shades, row, strict=True)
        ]
        rows.append(tag("tr", tag("th", tag("span", name), scope="row", title=name), cells))
    table = tag(
        "table",
        tag("caption", label, class_="unseen"),
        tag("thead", tag("tr", tag("td", corner, class_="corner"), heads)),
        tag("tbody", rows),
        class_="matrix turned" if is_turned else "matrix",
    )
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=label)


def draw_reliability(table: Floats, label: str, colour: str) -> Markup:
    """Draw observed frequency against mean predicted probability, with a bar for each count.

    The line leaves out bins of fewer than five probabilities, whose frequencies are mostly noise.

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
    diagonal = f"M{_INSET:g} {bottom:g}L{_INSET + _SQUARE:g} {_ABOVE:g}"
    drawn = [
        tag("rect", x=_INSET, y=_ABOVE, width=_SQUARE, height=_SQUARE, class_="field"),
        tag("path", d=diagonal, class_="diagonal"),
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
        noun = "probability" if number == 1 else "probabilities"
        hint = (
            f"{number:g} {noun}, mean {total / number:.3f}; observed frequency "
            f"{n_positive / number:.3f}"
        )
        if number >= _FEWEST_IN_LINE:
            points.append(f"{x:.1f} {y:.1f}")
        spots.append(tag("circle", tag("title", hint), cx=x, cy=y, r=3.2))
        tall = _BARS * 0.85 * math.log1p(number) / largest
        width = _SQUARE / len(table)
        place = {"x": _INSET + width * k + 0.5, "y": bottom + _BARS - tall}
        drawn.append(
            tag("rect", tag("title", hint), **place, width=width - 1, height=tall, class_="bar")
        )
    line = tag("path", d="M" + "L".join(points)) if points else None
    drawn.append(tag("g", line, spots, class_=f"curve {colour}"))
    place = {"x": _INSET + _SQUARE / 2, "y": _RELIABILITY_HEIGHT - 8}
    axis = tag("text", "predicted", **place, class_="axis mid")
    side = draw_y_title("observed", _ABOVE + _SQUARE / 2)
    return svg(_RELIABILITY_WIDTH, _RELIABILITY_HEIGHT, label, drawn, axis, side)


_PLOT_HEIGHT = 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, WIDTH - 12.0, 10.0, _PLOT_HEIGHT - _BELOW


def draw_points(
    points: Floats,
    titles: tuple[str, str],
    label: str,
    *,
    is_line: bool = True,
    has_diagonal: bool = False,
    bars: Floats | None = None,
) -> Markup:
    """Draw points, joined by a line or not.

    Parameters
    ----------
    points : array of shape (n_points, 2), across and up
    titles : titles of the two axes
    label : description for screen readers
    is_line : whether a line joins the points
    has_diagonal : whether to draw the line where both are equal, with the same scale on both axes
    bars : array of shape (n_points, n_bars, 2), optional
        Lower and upper ends of vertical bars at each point, the longest first.
    """
    heights = points[:, 1] if bars is None else np.append(points[:, 1], bars.ravel())
    ranges = [points[:, 0], heights]
    if has_diagonal:
        ranges = [np.append(*ranges)] * 2
    across, up = fit_scale(ranges[0], _LEFT, _RIGHT), fit_scale(ranges[1], _BOTTOM, _TOP)
    drawn = draw_x_axis(across, _TOP, _BOTTOM, titles[0]) + _draw_y_axis(up, _LEFT, _RIGHT)
    if has_diagonal:
        drawn.append(
            tag("path", d=f"M{_LEFT:g} {_BOTTOM:g}L{_RIGHT:g} {_TOP:g}", class_="diagonal")
        )
    for k, ends in enumerate([] if bars is None else bars.swapaxes(0, 1)):
        middles = [across(x) for x in points[:, 0].tolist()]
        lines = [
            f"M{x:.1f} {up(low):.1f}V{up(high):.1f}"
            for x, (low, high) in zip(middles, ends.tolist(), strict=True)
        ]
        drawn.append(tag("path", d="".join(lines), class_=f"bars b{k}"))
    places = [(across(x), up(y)) for x, y in points.tolist()]
    line = tag("path", d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)) if is_line else None
    hints = [f"{titles[0]} {x:.4g}: {titles[1]} {y:.4g}" for x, y in points.tolist()]
    spots = [
        tag("circle", tag("title", hint), cx=x, cy=y, r=3.2 if is_line else 2.2)
        for (x, y), hint in zip(places, hints, strict=True)
    ]
    side = draw_y_title(titles[1], (_TOP + _BOTTOM) / 2)
    curve = tag("g", line, spots, class_="curve c0")
    return svg(WIDTH, _PLOT_HEIGHT, label, drawn, curve, side)


def draw_histogram(counts: Floats, edges: Floats, titles: tuple[str, str], label: str) -> Markup:
    """Draw a histogram, with a dashed line at the mean height of its bars."""
    across = Scale(float(edges[0]), float(edges[-1]), _LEFT, _RIGHT)
    up = Scale(0.0, float(counts.max()) * 1.06, _BOTTOM, _TOP)
    drawn = draw_x_axis(across, _TOP, _BOTTOM, titles[0]) + _draw_y_axis(up, _LEFT, _RIGHT)
    for low, high, count in zip(edges[:-1], edges[1:], counts.tolist(), strict=True):
        hint = f"{low:.4g} to {high:.4g}: {count:g}"
        x, y = across(low), up(count)
        size = {"width": across(high) - x - 1, "height": _BOTTOM - y}
        drawn.append(tag("rect", tag("title", hint), x=x + 0.5, y=y, **size, class_="bar"))
    middle = up(float(counts.mean()))
    drawn.append(tag("path", d=f"M{_LEFT:g} {middle:.1f}H{_RIGHT:g}", class_="diagonal"))
    side = draw_y_title(titles[1], (_TOP + _BOTTOM) / 2)
    return svg(WIDTH, _PLOT_HEIGHT, label, drawn, side)


# -- comparisons of models -------------------------------------------------------------------------


_N_COLOURS = 8


class Name(NamedTuple):
    """Name of a pair.

    Attributes
    ----------
    configuration, method : str
    number : number of the pair, used in figures
    colour : CSS class of the colour, shared by all methods of a configuration
    """

    configuration: str
    method: str
    number: str
    colour: str

    @property
    def text(self) -> str:
        """Configuration and method on one line."""
        return f"{self.configuration}, {self.method}"

    @property
    def short(self) -> str:
        """Text for figures, which have little room.

        Examples
        --------
        >>> Name("tree", "least-squares + bias", "1", "c0").short
        'tree + bias'
        >>> Name("tree", "divergence + bias", "2", "c0").short
        'tree, divergence + bias'
        """
        solver, plus, final_calibration = self.method.rpartition(" + ")
        is_default = solver == "least-squares"
        return f"{self.configuration}{plus}{final_calibration}" if is_default else self.text


Names = Mapping[PairName, Name]
"""Names of all pairs."""


def name_pairs(results: Results) -> dict[PairName, Name]:
    """Return the names of all pairs.

    Examples
    --------
    >>> results = Results([], [("tree", "greedy"), ("tree", "voting")], [])
    >>> [(name.text, name.number, name.colour) for name in name_pairs(results).values()]
    [('tree, greedy', '1', 'c0'), ('tree, voting', '2', 'c0')]
    """
    configurations = list(dict.fromkeys(pair[0] for pair in results.pairs))
    colours = {each: f"c{k % _N_COLOURS}" for k, each in enumerate(configurations)}
    return {pair: Name(*pair, str(k), colours[pair[0]]) for k, pair in enumerate(results.pairs, 1)}


_SCORE_ROW = 21
_NAMES = 164  # pixels for the names of the rows
_SCORES_TOP = 6
_TIME_HEIGHT = 250
_NEAR = 24, 12  # points that are closer than this, across and up, share a label


def draw_scores(
    rows: Sequence[tuple[Name, Cell]], title: str, label: str, *, is_time: bool = False
) -> Markup:
    """Draw the mean and standard deviation of each pair.

    Parameters
    ----------
    rows : name and value of each pair
    title : title of the axis
    label : description for screen readers
    is_time : whether the values are times, for which the axis may be logarithmic
    """
    bottom = _SCORES_TOP + _SCORE_ROW * len(rows)
    lows, highs = zip(*(_ends(cell) for _, cell in rows), strict=True)
    if is_time:
        # The lower end of an error bar may be negative; it is cut off.
        lows = tuple([cell.mean for _, cell in rows])
    scale = fit_scale([*lows, *highs], _NAMES + 8, WIDTH - 8, may_be_log=is_time)
    drawn = draw_x_axis(scale, _SCORES_TOP, bottom, title)
    for k, (name, cell) in enumerate(rows):
        y = _SCORES_TOP + _SCORE_ROW * (k + 0.5)
        low, high = [scale(end) for end in _ends(cell)]
        caps = "".join(f"M{end:.1f} {y - 3:.1f}v6" for end in (low, high))
        bar = tag("path", d=f"M{low:.1f} {y:.1f}H{high:.1f}{caps}") if high > low else None
        place = {"cx": scale(cell.mean), "cy": y}
        ring = tag("circle", **place, r=6.4, class_="ring") if cell.is_best else None
        hint = f"{name.text}: {format_cell(cell)}{', best' if cell.is_best else ''}"
        dot = tag("circle", **place, r=3.6)
        drawn += [
            tag("text", fit_text(name.short, _NAMES), x=_NAMES, y=y + 3.5, class_="end"),
            draw_mark(hint, f"ours {name.colour}", bar, dot, ring),
        ]
    return svg(WIDTH, bottom + _BELOW, label, drawn)


def _ends(cell: Cell) -> tuple[float, float]:
    """Return the ends of an error bar of one standard deviation to either side."""
    half = cell.std if math.isfinite(cell.std) else 0.0
    return cell.mean - half, cell.mean + half


class TimedScore(NamedTuple):
    """Time and score of a pair, drawn as one point."""

    name: Name
    seconds: float
    score: Cell


def draw_scores_against_time(
    points: Sequence[TimedScore], dataset: str, score_title: str, time_title: str
) -> Markup:
    """Draw scores against times, with the numbers of the pairs above the points."""
    left, right, top, bottom = 44.0, WIDTH - 12.0, 10.0, _TIME_HEIGHT - _BELOW
    across = fit_scale([point.seconds for point in points], left, right, may_be_log=True)
    up = fit_scale([end for point in points for end in _ends(point.score)], bottom, top)
    drawn = draw_x_axis(across, top, bottom, time_title) + _draw_y_axis(up, left, right)
    places = [(across(point.seconds), up(point.score.mean)) for point in points]
    labels: dict[int, list[str]] = {}
    for k, (point, place) in enumerate(zip(points, places, strict=True)):
        low, high = [up(end) for end in _ends(point.score)]
        hint = (
            f"{point.name.text}: {format_cell(point.score)} in {point.seconds:.3g} s "
            f"(mean and standard deviation)"
        )
        dot = tag("circle", cx=place[0], cy=place[1], r=4)
        bar = tag("path", d=f"M{place[0]:.1f} {low:.1f}V{high:.1f}", class_="whisker")
        drawn.append(draw_mark(hint, f"point {point.name.colour}", bar, dot))
        near = [j for j in labels if np.all(np.abs(np.subtract(places[j], place)) < _NEAR)]
        labels.setdefault(near[0] if near else k, []).append(point.name.number)
    for k, numbers in labels.items():
        x, y = places[k]
        colour = points[k].name.colour
        text = tag("text", ", ".join(numbers), x=x, y=y - 8, class_="mid number")
        drawn.append(tag("g", text, class_=f"point {colour}"))
    label = f"{score_title} against {time_title.lower()} on {dataset}"
    return svg(WIDTH, _TIME_HEIGHT, label, drawn)
