"""Shared parts of the figures: scales, axes and text that fits.

Figures are inline SVG about as wide as a phone, so that text keeps its size there; wider pages show
several side by side. Colours are variables of the page's style sheet, which changes them in dark
mode and for print.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from polytomy.report.markup import Child, Markup, tag

WIDTH = 340
"""Width of most figures, in pixels."""

_N_COLOURS = 8
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


def series_colour(number: int) -> str:
    """Return the CSS class with the colour of a series."""
    return f"c{number % _N_COLOURS}"
