"""Figures of a model: trees, confusion matrices, distances and reliability diagrams."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from polytomy.plots.layout import distances_at_nodes, place_nodes, shade_confusion, shares_of_rows
from polytomy.report.drawing import (
    WIDTH,
    Scale,
    draw_x_axis,
    draw_y_title,
    fit_scale,
    fit_text,
    svg,
    text_width,
)
from polytomy.report.markup import Markup, tag
from polytomy.scheme import Scheme

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

_SIDE = 130.0
_LEFT, _TOP = 38.0, 8.0
_BARS = 26.0  # height of the bars for the counts
_WIDTH, _HEIGHT = _LEFT + _SIDE + 10, _TOP + _SIDE + _BARS + 40


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
    side = draw_y_title("observed", _TOP + _SIDE / 2)
    return svg(_WIDTH, _HEIGHT, label, drawn, axis, side)
