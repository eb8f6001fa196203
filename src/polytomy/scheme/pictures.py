"""Pictures of schemes: where each node is drawn, and inline SVG for notebooks and reports."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple
from unicodedata import east_asian_width

from polytomy.inputs.arguments import count_things
from polytomy.markup import Child, Markup, tag
from polytomy.scheme.nodes import ClassRef, NodeRef
from polytomy.scheme.scheme import Scheme, SchemeEnsemble

COLUMN = 1.25
"""Inches from one level of a tree to the next, which is one unit."""

_UNIT, _ROW, _LETTER = 80.0, 19.0, 7.0  # pixels: a unit, a class, a letter
_CELL, _WIDEST = 0.2, 20.0  # inches: a column of a coding matrix, and the widest matrix
_WIDE = 8.0  # units: a matrix that may not fit the page
_MOST_CLASSES, _MOST_CELLS = 150, 20_000
_LONGEST_LABEL, _LONGEST_HINT = 24, 120  # letters
_MOST_LINES = 40  # of a control text

# The colours suit light and dark backgrounds; the style sheet of a page overrides them.
_MINUS, _PLUS, _FAINT = "#3f83c4", "#d9752f", "#999999"


class TreeLayout(NamedTuple):
    """Positions of the nodes of a tree, in levels from left to right and in rows from the top.

    Attributes
    ----------
    lefts : left end of each node
    widths : width of each node: zero for a dot, else the width of its coding matrix
    rows : row of each node, halfway between its outer branches; each class has a row
    right : horizontal position of the classes
    n_levels : number of levels of nodes
    """

    lefts: list[float]
    widths: list[float]
    rows: list[float]
    right: float
    n_levels: int

    def end_of(self, branch: ClassRef | NodeRef) -> tuple[float, float]:
        """Return the position and the row where a branch ends."""
        if isinstance(branch, ClassRef):
            return self.right, float(branch.index)
        return self.lefts[branch.index], self.rows[branch.index]


def place_nodes(scheme: Scheme, cell: float = 0.11, most: float = 3.2) -> TreeLayout:
    """Return the positions of the nodes; a level is wider if it has a coding matrix.

    Parameters
    ----------
    scheme : Scheme
    cell, most : width in inches of a column of a coding matrix, and of the widest matrix

    Examples
    --------
    >>> from polytomy.scheme import parse
    >>> place_nodes(parse("m {a n {b c}}"))
    TreeLayout(lefts=[0.0, 1.0], widths=[0.0, 0.0], rows=[0.75, 1.5], right=2.0, n_levels=2)
    """
    n_nodes = len(scheme.nodes)
    depths = [0] * n_nodes
    rows = [0.0] * n_nodes
    # A single model is a dot, without a matrix.
    widths = [
        0.0 if node.code.n_partitions == 1 else min(max(cell * node.code.n_rows, 0.25), most)
        for node in scheme.nodes
    ]
    widths = [width / COLUMN for width in widths]
    for position, node in enumerate(scheme.nodes):
        for branch in node.branches:
            if not isinstance(branch, ClassRef):
                depths[branch.index] = depths[position] + 1
    # Nodes are in preorder, so going backwards places children before their parents.
    for position in reversed(range(n_nodes)):
        ends = [
            float(branch.index) if isinstance(branch, ClassRef) else rows[branch.index]
            for branch in scheme.nodes[position].branches
        ]
        rows[position] = (min(ends) + max(ends)) / 2
    n_levels = max(depths, default=0) + 1
    widest = [0.0] * n_levels
    for depth, width in zip(depths, widths, strict=True):
        widest[depth] = max(widest[depth], width)
    starts = [0.0]
    for width in widest:
        starts.append(starts[-1] + 1.0 + width)
    lefts = [starts[depth] for depth in depths]
    return TreeLayout(lefts, widths, rows, starts[-1], n_levels)


def draw_scheme(
    scheme: Scheme, links: Mapping[int, str] | None = None, notes: Mapping[int, str] | None = None
) -> Markup | None:
    """Draw a scheme from left to right as inline SVG; return None if it is too large.

    A node of one model is a dot. If it has two branches, the −1 branch is blue and the +1 branch
    orange. A node of several models is drawn as its coding matrix, a column for each row of its
    code.

    Parameters
    ----------
    scheme : Scheme
    links : addresses by row of the scheme's codes, optional; a click on the row leads there
    notes : a short text for each row, optional; shown at dots

    Examples
    --------
    >>> from polytomy.scheme import parse
    >>> picture = draw_scheme(parse("m {a n {b c}}"))
    >>> picture.count("<circle"), [text in picture for text in (">a<", ">b<", ">c<")]
    (2, [True, True, True])
    """
    n_cells = sum(node.code.matrix.size for node in scheme.nodes)
    if len(scheme.classes) > _MOST_CLASSES or n_cells > _MOST_CELLS or not scheme.nodes:
        return None
    places = place_nodes(scheme, _CELL, _WIDEST)
    labels = [_shorten(str(label), _LONGEST_LABEL) for label in scheme.classes]
    longest = _LETTER * max(map(_count_columns, labels))
    # A wide matrix has its classes on both sides, because one of them may be out of sight.
    has_two_sides = scheme.is_flat and places.widths[0] > _WIDE
    has_notes = notes and any(node.code.n_partitions == 1 for node in scheme.nodes)
    margin = (12 + longest if has_two_sides else 54 if has_notes else 12) / _UNIT
    lefts = [margin + left for left in places.lefts]
    places = places._replace(lefts=lefts, right=margin + places.right)
    hints = [
        _shorten(repr(partition)[1:-1], _LONGEST_HINT)
        for partition in scheme.partitions
        for _ in range(partition.n_rows)
    ]
    drawn: list[Child] = []
    row = 0
    for position, node in enumerate(scheme.nodes):
        drawn += _draw_branches(scheme, position, places)
        x, y = _UNIT * places.lefts[position], _y_of(places.rows[position])
        shapes: list[Child] = []
        if node.code.n_partitions > 1:
            width = _UNIT * places.widths[position] / node.code.n_rows
            columns = range(node.code.n_rows)
            shapes += [_draw_column(scheme, position, k, x + k * width, width) for k in columns]
        else:
            place = {"x": x - 8, "y": y - 5, "text_anchor": "end", "class_": "note"}
            note = tag("text", notes[row], **place, fill="currentColor") if notes else None
            shapes.append([tag("circle", cx=x, cy=y, r=6.0, fill="currentColor"), note])
        for k, shape in enumerate(shapes, row):
            drawn.append(_link(shape, hints[k], links.get(k) if links else None))
        row += node.code.n_rows
    right = _UNIT * places.right
    for k, label in enumerate(labels):
        place = {"y": _y_of(k) + 4, "fill": "currentColor"}
        drawn.append(tag("text", label, x=right + 6, **place))
        if has_two_sides:
            x = _UNIT * places.lefts[0] - 6
            drawn.append(tag("text", label, x=x, text_anchor="end", **place))
    width, height = right + 14 + longest, _y_of(len(labels))
    return tag(
        "svg",
        drawn,
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}",
        height=f"{height:g}",
        font_size="12",
        role="group" if links else "img",
        aria_label=repr(scheme)[1:-1],
        class_="scheme",
    )


def _y_of(row: float) -> float:
    return _ROW * (row + 0.75)


def _draw_branches(scheme: Scheme, position: int, places: TreeLayout) -> list[Markup]:
    """Draw lines from a node to its branches, in two colours if it decides between two."""
    node = scheme.nodes[position]
    is_code = node.code.n_partitions > 1
    is_two_way = not is_code and len(node.branches) == 2
    x = _UNIT * (places.lefts[position] + places.widths[position])
    drawn = []
    for number, branch in enumerate(node.branches):
        end, row = places.end_of(branch)
        start = row if is_code else places.rows[position]  # a matrix has a row for each branch
        line = f"M{x:.1f} {_y_of(start):.1f}V{_y_of(row):.1f}H{_UNIT * end:.1f}"
        colour, class_ = _FAINT, "branch"
        if is_two_way:
            colour, class_ = ((_MINUS, "branch minus"), (_PLUS, "branch plus"))[number]
        drawn.append(
            tag("path", d=line, fill="none", stroke=colour, stroke_width="1.6", class_=class_)
        )
    return drawn


def _draw_column(scheme: Scheme, position: int, row: int, x: float, width: float) -> list[Markup]:
    """Draw one row of a node's code as a column of cells."""
    starts = scheme.branch_starts[position]
    signs = scheme.nodes[position].code.matrix[row].tolist()
    edges = [_y_of(start - 0.5) for start in starts]
    gap = 1.0 if width > 5 else 0.0
    drawn = [
        tag("rect", x=x, y=edges[0], width=width, height=edges[-1] - edges[0], fill="none",
            pointer_events="all", class_="back")
    ]  # fmt: skip
    for wanted, colour, class_ in ((-1, _MINUS, "minus"), (1, _PLUS, "plus")):
        cells = [
            f"M{x:.1f} {top:.1f}h{width - gap:.1f}v{end - top - gap:.1f}h{gap - width:.1f}z"
            for sign, (top, end) in zip(signs, pairwise(edges), strict=True)
            if sign == wanted
        ]
        drawn.append(tag("path", d="".join(cells), fill=colour, class_=class_))
    return drawn


def _link(shapes: Child, hint: str, address: str | None) -> Markup:
    """Return shapes with a tooltip, as a link if there is an address."""
    if address is None:
        return tag("g", shapes, tag("title", hint))
    return tag("a", shapes, tag("title", hint), href=address, aria_label=hint)


def _count_columns(text: str) -> int:
    """Return the width of a text in letters; those of East Asia, and pictures, are two wide."""
    return sum(1 + (east_asian_width(letter) in "WF") for letter in text)


def _shorten(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def scheme_as_html(scheme: Scheme | SchemeEnsemble) -> str:
    """Return the picture of a scheme, or of each scheme of an ensemble, and its control text.

    Examples
    --------
    >>> from polytomy.scheme import parse
    >>> html = scheme_as_html(parse("m {a b}"))
    >>> html[html.index("<details"):]
    '<details><summary>Scheme: tree, 2 classes, 1 partition</summary><pre>m {a b}</pre></details>'
    """
    members = [scheme] if isinstance(scheme, Scheme) else scheme.schemes
    pictures = [draw_scheme(member) for member in members]
    lines = "\n\n".join(member.compact() for member in members).splitlines()
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"… {count_things(len(lines) - _MOST_LINES, 'more line')}"]
    text = tag(
        "details",
        tag("summary", repr(scheme)[1:-1]),
        tag("pre", "\n".join(lines)),
        open=not any(pictures),
    )
    boxes = [tag("div", picture, style="overflow:auto") for picture in pictures if picture]
    return tag("div", boxes) + text if boxes else text
