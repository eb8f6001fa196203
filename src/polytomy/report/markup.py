"""Build HTML and SVG so that text can never become markup, and the parts of a page from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

__all__ = [
    "Child",
    "Markup",
    "Panel",
    "data_table",
    "definition_list",
    "details",
    "figure",
    "gallery",
    "heading",
    "join",
    "number_cell",
    "section",
    "tabs",
    "tag",
]

_VOID = frozenset({"br", "hr", "meta"})
# SVG elements that may be self-closing.
_SHAPES = frozenset({"circle", "line", "path", "rect"})
_MOST_DECIMALS = 2


class Markup(str):
    """Text that is already markup, and is not escaped again."""

    __slots__ = ()


Child = object
"""Markup, text or a number (escaped), None, or an iterable of these."""


def tag(name: str, /, *children: Child, **attributes: object) -> Markup:
    """Return an element.

    Parameters
    ----------
    name : name of the element
    children : content; everything except Markup is escaped
    attributes : attributes, with underscores for hyphens; a trailing one is dropped (``class_``)
        None and False omit an attribute; True gives one without a value.

    Examples
    --------
    >>> tag("p", "a < b ", tag("b", 7), None, class_="note", data_value=0.5)
    '<p class="note" data-value="0.5">a &lt; b <b>7</b></p>'
    >>> tag("circle", r=1.23456)
    '<circle r="1.23"/>'
    """
    opening = name + "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{opening}>")
    inner = join(children)
    if not inner and name in _SHAPES:
        return Markup(f"<{opening}/>")
    return Markup(f"<{opening}>{inner}</{name}>")


def join(children: Child) -> Markup:
    """Concatenate children.

    Examples
    --------
    >>> join(["<", Markup("<br>"), None, [1, 2]])
    '&lt;<br>12'
    """
    if isinstance(children, Markup):
        return children
    if children is None:
        return Markup()
    if isinstance(children, Iterable) and not isinstance(children, str):
        return Markup("".join(map(join, children)))
    return Markup(escape(str(children)))


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    if isinstance(value, float):
        # Hundredths of a pixel are enough; exact numbers are passed as text.
        value = f"{value:.{_MOST_DECIMALS}f}".rstrip("0").rstrip(".")
    return f' {name}="{escape(str(value))}"'


class Panel(NamedTuple):
    """One panel of a group of tabs."""

    key: str
    title: str
    content: Child


def section(key: str, title: str, *content: Child) -> Markup:
    """Return a section of the page."""
    return tag("section", tag("h2", title), content, id=key)


def tabs(panels: Sequence[Panel], label: str, level: int = 3) -> Markup:
    """Return panels one below the other, which the page's script turns into tabs."""
    made = [
        tag(
            "section",
            tag(f"h{level}", panel.title),
            panel.content,
            id=panel.key,
            class_="panel",
            data_title=panel.title,
        )
        for panel in panels
    ]
    class_ = "tab-group" if len(panels) > 1 else None
    return tag("div", made, class_=class_, data_label=label)


def figure(caption: Child, drawn: Markup) -> Markup:
    """Return a figure with its caption above it."""
    return tag("figure", tag("figcaption", caption), tag("div", drawn, class_="canvas"))


def gallery(figures: Iterable[Markup], class_: str = "") -> Markup:
    """Return figures side by side, as many as fit the width of the page."""
    return tag("div", figures, class_=f"gallery {class_}".strip())


def details(summary: Child, *content: Child) -> Markup:
    """Return content that is collapsed until its summary is clicked."""
    return tag("details", tag("summary", summary), tag("div", content, class_="unfolded"))


def heading(text: Child, *, first: str | None = None, is_number: bool = True) -> Markup:
    """Return a column heading.

    Parameters
    ----------
    text : Child
    first : which values come first when the column is sorted, "largest" or "smallest"
    is_number : whether the column holds numbers
    """
    class_ = "number" if is_number else None
    return tag("th", text, scope="col", data_first=first or "smallest", class_=class_)


def number_cell(value: float | None, *content: Child, class_: str = "") -> Markup:
    """Return a cell that sorts by its value; cells without a value come last."""
    shown = content or (None if value is None else f"{value:g}",)
    exact = None if value is None else repr(float(value))
    return tag("td", shown, data_value=exact, class_=f"number {class_}".strip())


def data_table(caption: str, heads: Iterable[Markup], rows: Iterable[Iterable[Markup]]) -> Markup:
    """Return a sortable table in a box that scrolls if the table is too wide.

    Parameters
    ----------
    caption : content of the table, for screen readers
    heads : column headings
    rows : cells, row by row
    """
    table = tag(
        "table",
        tag("caption", caption, class_="unseen"),
        tag("thead", tag("tr", heads)),
        tag("tbody", [tag("tr", row) for row in rows]),
        class_="sortable sticky",
    )
    # A tab stop lets keyboards scroll the box.
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)


def definition_list(items: Iterable[tuple[Child, Child]], class_: str = "facts") -> Markup:
    """Return a list of names and values."""
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in items],
               class_=class_)  # fmt: skip
