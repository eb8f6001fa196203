"""Pages, and the parts that they are built from. Nothing here knows what a page is about."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Any, NamedTuple

from polytomy.markup import Child, Markup, tag


def html_page(
    title: str,
    heading: str,
    lines: Iterable[Child],
    sections: Mapping[str, tuple[str, Markup | None]],
) -> str:
    """Return one HTML page that includes its style sheet and script.

    Parameters
    ----------
    title : title of the window
    heading : heading of the page
    lines : lines below the heading
    sections : by id, the name of each section in the navigation and its content
        Sections without content are omitted.
    """
    style, script = (_read_resource(name) for name in ("page.css", "page.js"))
    shown = {key: named for key, named in sections.items() if named[1] is not None}
    links = [tag("a", name, href=f"#{key}") for key, (name, _) in shown.items()]
    note = (
        "Created by polytomy. This page is self-contained and loads nothing from the network. "
        "Click a column heading to sort a table."
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", style),
    )
    header = tag(
        "header",
        tag("div", _logo(), tag("span", "polytomy"), class_="brand"),
        tag("h1", heading),
        [tag("p", line, class_="lead") for line in lines],
    )
    body = tag(
        "body",
        header,
        tag("nav", tag("div", links), aria_label="Contents"),
        tag("main", [content for _, content in shown.values()]),
        tag("footer", tag("p", note)),
        tag("script", script),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _read_resource(name: str) -> Markup:
    return Markup(files("polytomy.report").joinpath(name).read_text(encoding="utf-8"))


def _policy(script: str) -> str:
    """Return a content security policy: run the page's own script, and fetch nothing."""
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _logo() -> Markup:
    """Return the logo: one node with many branches."""
    branches = tag("path", d="M3 12H9M9 12L20 3M9 12L21 9M9 12L21 15M9 12L20 21")
    dots = [tag("circle", cx=x, cy=y, r=1.9) for x, y in ((20, 3), (21, 9), (21, 15), (20, 21))]
    root = tag("circle", cx=9, cy=12, r=2.6)
    return tag("svg", branches, root, dots, viewBox="0 0 24 24", class_="sign", aria_hidden="true")


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


def choices(panels: Iterable[Panel], hint: str) -> Markup:
    """Return panels one below the other; the script shows the first, or the one that is linked."""
    made = [
        tag("section", tag("h4", panel.title), panel.content, id=panel.key, class_="panel",
            tabindex="-1")
        for panel in panels
    ]  # fmt: skip
    return tag("div", tag("p", hint, class_="note"), tag("div", made, class_="choices"))


def figure(caption: Child, drawn: Markup) -> Markup:
    """Return a figure with its caption above it."""
    return tag("figure", tag("figcaption", caption), tag("div", drawn, class_="canvas"))


def gallery(figures: Iterable[Markup], class_: str = "") -> Markup:
    """Return figures side by side, as many as fit the width of the page."""
    return tag("div", figures, class_=f"gallery {class_}".strip())


def note(*content: Child) -> Markup:
    """Return a paragraph in small print."""
    return tag("p", content, class_="note")


def details(summary: Child, *content: Child, key: str | None = None) -> Markup:
    """Return content that is collapsed until its summary is clicked."""
    unfolded = tag("div", content, class_="unfolded")
    return tag("details", tag("summary", summary), unfolded, id=key)


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


class Column(NamedTuple):
    """A column of a table: its values are numbers if it has a format, and content if not."""

    title: str
    values: Sequence[Any]
    format: str | None = None

    def cells(self) -> list[Markup]:
        """Return a cell for each value; None and NaN are left empty, and sorted last."""
        if self.format is None:
            return [tag("td", value) for value in self.values]
        return [
            number_cell(None) if value is None or value != value
            else number_cell(value, f"{value:{self.format}}".replace("-", "−"))
            for value in self.values
        ]  # fmt: skip


def column_table(caption: str, names: Column, *columns: Column) -> Markup:
    """Return a sortable table, given its columns; those of numbers show the largest first.

    Parameters
    ----------
    caption : content of the table, for screen readers
    names : the first column, with a name for each row
    columns : the other columns
    """
    heads = [
        heading(each.title, first=each.format and "largest", is_number=each.format is not None)
        for each in (names, *columns)
    ]
    cells = [[tag("th", name, scope="row") for name in names.values]]
    cells += [each.cells() for each in columns]
    return data_table(caption, heads, zip(*cells, strict=True))


def definition_list(items: Iterable[tuple[Child, Child]], class_: str = "facts") -> Markup:
    """Return a list of names and values."""
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in items],
               class_=class_)  # fmt: skip
