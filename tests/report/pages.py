"""Parse HTML pages, refusing those that are not well formed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

__all__ = ["Element", "column", "parse_page", "table_of", "titles_of"]

_VOID = frozenset({"br", "hr", "meta"})


@dataclass
class Element:
    """An element with its attributes and children."""

    name: str
    attributes: dict[str, str | None]
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(each if isinstance(each, str) else each.text for each in self.children)

    @property
    def classes(self) -> list[str]:
        return (self.attributes.get("class") or "").split()

    def walk(self) -> Iterator[Element]:
        """Yield this element and its descendants in document order."""
        yield self
        for each in self.children:
            if isinstance(each, Element):
                yield from each.walk()

    def find(self, name: str | None = None, class_: str | None = None) -> list[Element]:
        """Return descendants by name and class."""
        return [
            each
            for each in self.walk()
            if name in (None, each.name) and (class_ is None or class_ in each.classes)
        ]

    def at(self, key: str) -> Element:
        """Return the element with this id."""
        (found,) = [each for each in self.walk() if each.attributes.get("id") == key]
        return found


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> repeats an attribute"
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"</{tag}> ends <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse_page(html: str) -> Element:
    """Return the root of a page, in which every element must be closed."""
    builder = _Builder()
    builder.feed(html)
    builder.close()
    assert builder.open == [builder.root], f"<{builder.open[-1].name}> is not closed"
    return builder.root


def table_of(place: Element, caption: str) -> list[list[Element]]:
    """Return the cells of the table with this caption, row by row, headings first."""
    (table,) = [table for table in place.find("table") if table.find("caption")[0].text == caption]
    return [[cell for cell in row.walk() if cell.name in ("th", "td")] for row in table.find("tr")]


def titles_of(drawn: str, class_: str) -> list[str]:
    """Return the tooltips of a class of elements in a figure."""
    return [each.find("title")[0].text for each in parse_page(drawn).find(class_=class_)]


def column(place: Element, caption: str, title: str) -> list[str]:
    """Return the texts of a column of the table with this caption, by its heading."""
    heads, *rows = table_of(place, caption)
    k = [head.text for head in heads].index(title)
    return [row[k].text for row in rows]
