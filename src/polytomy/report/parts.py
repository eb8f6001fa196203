"""Building blocks of sections: scrolling tables, figures, collapsible details and tabs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from polytomy.report.markup import Child, Markup, tag

__all__ = [
    "Panel",
    "data_table",
    "definition_list",
    "details",
    "figure",
    "gallery",
    "heading",
    "number_cell",
    "section",
    "tabs",
]


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
