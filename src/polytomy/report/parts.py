"""What sections are made of: tables that scroll, figures, things to unfold or to choose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from polytomy.report.markup import Child, Markup, tag

__all__ = [
    "Panel",
    "choose_from",
    "data_table",
    "figure",
    "gallery",
    "heading",
    "listed",
    "number_cell",
    "section",
    "unfold",
]


class Panel(NamedTuple):
    """One of several things, of which a page with scripts shows one at a time."""

    key: str
    title: str
    content: Child


def section(key: str, title: str, *content: Child) -> Markup:
    """Return a section of the page."""
    return tag("section", tag("h2", title), content, id=key)


def choose_from(panels: Sequence[Panel], label: str, level: int = 3) -> Markup:
    """Return panels one below the other, between which the page's script lets readers choose."""
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
    is_choice = len(panels) > 1
    return tag("div", made, class_="chooser" if is_choice else None, data_label=label)


def figure(caption: Child, drawn: Markup) -> Markup:
    """Return a picture with its caption above it."""
    return tag("figure", tag("figcaption", caption), tag("div", drawn, class_="canvas"))


def gallery(figures: Iterable[Markup], class_: str = "") -> Markup:
    """Return pictures beside each other, as many as the page is wide."""
    return tag("div", figures, class_=f"gallery {class_}".strip())


def unfold(summary: Child, *content: Child) -> Markup:
    """Return what is shown when asked for."""
    return tag("details", tag("summary", summary), tag("div", content, class_="unfolded"))


def heading(text: Child, *, first: str | None = None, is_number: bool = True) -> Markup:
    """Return the head of a column.

    Parameters
    ----------
    text : Child
    first : what comes first when it is sorted: "largest" or "smallest"
    is_number : whether the column is one of numbers
    """
    class_ = "number" if is_number else None
    return tag("th", text, scope="col", data_first=first or "smallest", class_=class_)


def number_cell(value: float | None, *content: Child, class_: str = "") -> Markup:
    """Return a cell that is sorted by its value; one without a value comes last."""
    shown = content or (None if value is None else f"{value:g}",)
    exact = None if value is None else repr(float(value))
    return tag("td", shown, data_value=exact, class_=f"number {class_}".strip())


def data_table(
    caption: str,
    heads: Iterable[Markup],
    rows: Iterable[Iterable[Markup]],
    *,
    has_wide_head: bool = True,
) -> Markup:
    """Return a table that can be sorted, in a box of its own that scrolls if it is too wide.

    Parameters
    ----------
    caption : what the table has, for those who hear it
    heads : of the columns
    rows : cells
    has_wide_head : whether the first column stays in sight
    """
    table = tag(
        "table",
        tag("caption", caption, class_="unseen"),
        tag("thead", tag("tr", heads)),
        tag("tbody", [tag("tr", row) for row in rows]),
        class_="sortable sticky" if has_wide_head else "sortable",
    )
    # With a tab stop, the box can be scrolled by keyboard.
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)


def listed(items: Iterable[tuple[Child, Child]], class_: str = "facts") -> Markup:
    """Return names and what they stand for."""
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in items],
               class_=class_)  # fmt: skip
