"""Confusion matrices and matrices of class distances, drawn as shaded squares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from polytomy.report.drawing import fit_text, svg, text_width
from polytomy.report.markup import Markup, tag

__all__ = ["MOST_CLASSES", "draw_confusion", "draw_distances"]

Floats = NDArray[np.float64]

MOST_CLASSES = 60
"""Larger matrices are not drawn, because they could not be read."""

_N_SHADES = 9
_NAMES_WIDTH = 125.0  # at most, in pixels, for names of rows and columns
_TITLE = 18.0  # pixels for the title of an axis
_DIGIT = 6.4  # width in pixels
_SMALL_DIGIT = 4.6  # in matrices of many classes
_FEW_CLASSES = 12
_WIDTH = 330.0  # at least, unless there are few classes
_SIDES = 18.0, 44.0  # smallest and largest side of a square, in pixels


def draw_confusion(counts: Floats, classes: Sequence[str], label: str) -> Markup:
    """Draw a confusion matrix: rows are the true classes, columns the predicted ones.

    Squares are shaded by their share of the row. Errors have their own colour, and a logarithmic
    scale that shows rare ones too.
    """
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    is_right = np.eye(len(classes), dtype=bool)
    # An error rate of 1% is a third of the scale, 10% two thirds.
    shades = np.where(is_right, shares, np.clip(1 + np.log10(np.maximum(shares, 1e-3)) / 3, 0, 1))
    levels = np.where(counts > 0, np.ceil(np.maximum(shades, 0.02) * _N_SHADES), 0).astype(int)
    texts = [[f"{value:g}" if value else "" for value in row] for row in counts]
    return _draw_shaded_matrix(
        [(levels * is_right, "right"), (levels * ~is_right, "wrong")],
        texts, classes, label, ("true class", "predicted class"),
    )  # fmt: skip


def draw_distances(distances: Floats, classes: Sequence[str], label: str) -> Markup:
    """Draw distances between classes, the closest in the strongest shade."""
    is_other = ~np.eye(len(classes), dtype=bool)
    others = distances[is_other]
    low, high = float(others.min()), float(others.max())
    nearness = (high - distances) / (high - low) if high > low else np.ones_like(distances)
    levels = np.where(is_other, 1 + np.floor(nearness * (_N_SHADES - 1e-9)), 0).astype(int)
    texts = [
        [f"{value:.3g}" if is_other[i, k] else "" for k, value in enumerate(row)]
        for i, row in enumerate(distances)
    ]
    return _draw_shaded_matrix([(levels, "near")], texts, classes, label, ("", ""))


def _draw_shaded_matrix(
    layers: Sequence[tuple[NDArray[np.int_], str]],
    texts: Sequence[Sequence[str]],
    classes: Sequence[str],
    label: str,
    titles: tuple[str, str],
) -> Markup:
    """Draw squares in shades from 0 to 9, each layer in the colour of its CSS class.

    All squares of one shade form a single path, which keeps the file small.
    """
    n_classes = len(classes)
    names_width = min(max(map(text_width, classes)) + 8, _NAMES_WIDTH)
    n_digits = _longest(texts)
    is_small = n_classes > _FEW_CLASSES
    least = _SMALL_DIGIT * n_digits + 4 if is_small else max(_DIGIT * n_digits + 6, _SIDES[0])
    left = names_width + _TITLE * bool(titles[0])
    side = min(max(least, (_WIDTH - left) / n_classes), _SIDES[1])
    is_turned = names_width > side + 8
    top = (names_width if is_turned else 18.0) + _TITLE * bool(titles[1])
    width, height = left + side * n_classes + 2, top + side * n_classes + 2
    drawn = [
        tag("rect", x=left, y=top, width=side * n_classes, height=side * n_classes, class_="field")
    ]
    drawn.append(
        tag(
            "g",
            [_draw_squares(levels, name) for levels, name in layers],
            transform=f"translate({left:g} {top:g}) scale({side:g})",
        )
    )
    drawn.append(_draw_texts(layers, texts, (left, top, side), is_small=is_small))
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
        middle = top + side * n_classes / 2
        turn = f"rotate(-90 10 {middle:.1f})"
        drawn.append(tag("text", titles[0], x=10, y=middle, transform=turn, class_="axis mid"))
        drawn.append(tag("text", titles[1], x=left + side * n_classes / 2, y=11, class_="axis mid"))
    return svg(width, height, label, drawn, class_="matrix")


def _draw_squares(levels: NDArray[np.int_], name: str) -> list[Markup]:
    """Draw all squares of each shade as one path, with the side of a square as the unit."""
    drawn = []
    for level in range(1, _N_SHADES + 1):
        squares = [f"M{k} {i}h1v1h-1z" for i, k in np.argwhere(levels == level).tolist()]
        if squares:
            drawn.append(tag("path", d="".join(squares), class_=f"{name} s{level}"))
    return drawn


def _draw_texts(
    layers: Sequence[tuple[NDArray[np.int_], str]],
    texts: Sequence[Sequence[str]],
    place: tuple[float, float, float],
    *,
    is_small: bool,
) -> Markup:
    """Draw the text in the squares, in a colour that contrasts with the shade."""
    left, top, side = place
    shades = np.sum([levels for levels, _ in layers], axis=0)
    size = min(10.0, (side - 2) / (0.56 * _longest(texts)))
    groups: dict[bool, list[Markup]] = {False: [], True: []}
    for i, row in enumerate(texts):
        for k, text in enumerate(row):
            if text:
                x, y = left + side * (k + 0.5), top + side * (i + 0.5) + 0.35 * size
                is_on_dark = bool(shades[i, k] > 0.6 * _N_SHADES)
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
