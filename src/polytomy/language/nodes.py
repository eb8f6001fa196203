"""The syntax tree of a control text.

Nodes are immutable tuples. They store their position as offsets; lines and columns are computed
when a message needs them.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from polytomy.language.span import Span

__all__ = ["Branch", "Coded", "Designed", "Leaf", "OneModel", "Word", "WrittenPartition"]

_LONGEST_SHOWN = 40


class Word(NamedTuple):
    """A name, a specification or a label, as written."""

    text: str
    quoted: bool
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Position of the word."""
        return Span(self.start, self.end)

    @property
    def shown(self) -> str:
        """The word as shown in messages: with its quotes, and shortened if it is very long."""
        text = self.text
        if len(text) > _LONGEST_SHOWN:
            text = text[: _LONGEST_SHOWN - 1] + "…"
        return f'"{text}"' if self.quoted else text


class Leaf(NamedTuple):
    """A class: ``corn``."""

    label: Word

    @property
    def span(self) -> Span:
        """Position of the label."""
        return self.label.span


class WrittenPartition(NamedTuple):
    """One partition of branches into two sides or more: ``name 0 1 / 2;``."""

    binary: Word
    sides: tuple[tuple[int, ...], ...]
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Position of the partition, from its binary to its semicolon."""
        return Span(self.start, self.end)


class OneModel(NamedTuple):
    """A classifier that decides between its branches: ``name {a b}`` or ``name {a b c}``.

    `code_letter` is libAGF's letter between options and braces: ``"-k 5" K {a b}``.
    """

    binary: Word
    branches: tuple[Branch, ...]
    span: Span
    code_letter: Word | None = None


class Coded(NamedTuple):
    """Partitions that together decide between branches: ``a 0/1; b 1/2; {x y z}``."""

    partitions: tuple[WrittenPartition, ...]
    branches: tuple[Branch, ...]
    span: Span


class Designed(NamedTuple):
    """A design instead of a list of partitions: ``@one-vs-one {x y z}``.

    `binary` is the specification of all its binaries, the base of their numbered names, or None.
    """

    design: str
    binary: Word | None
    branches: tuple[Branch, ...]
    span: Span


Branch: TypeAlias = Leaf | OneModel | Coded | Designed
