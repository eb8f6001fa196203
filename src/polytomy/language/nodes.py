"""The syntax tree of a control text: what stands where, not yet what it means.

Nodes are immutable tuples. They know their place only by offset; lines and columns are worked out
when a message needs them.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from polytomy.language.span import Span

__all__ = ["Branch", "Coded", "Designed", "Leaf", "Partition", "TwoWay", "Word"]

_LONGEST_SHOWN = 40


class Word(NamedTuple):
    """A name, a specification or a label, as written."""

    text: str
    quoted: bool
    start: int
    end: int

    @property
    def span(self) -> Span:
        """The place of the word."""
        return Span(self.start, self.end)

    @property
    def shown(self) -> str:
        """The word as messages show it: with its quotes, and a very long one in part."""
        text = self.text
        if len(text) > _LONGEST_SHOWN:
            text = text[: _LONGEST_SHOWN - 1] + "…"
        return f'"{text}"' if self.quoted else text


class Leaf(NamedTuple):
    """A class: ``corn``."""

    label: Word

    @property
    def span(self) -> Span:
        """The place of the label."""
        return self.label.span


class Partition(NamedTuple):
    """One dichotomy of branches: ``name 0 1 / 2;``."""

    binary: Word
    negative: tuple[int, ...]
    positive: tuple[int, ...]
    start: int
    end: int

    @property
    def span(self) -> Span:
        """The place of the partition, from its binary to its semicolon."""
        return Span(self.start, self.end)


class TwoWay(NamedTuple):
    """A binary classifier that decides between its branches: ``name {a b}``."""

    binary: Word
    branches: tuple[Branch, ...]
    span: Span


class Coded(NamedTuple):
    """Partitions solved together for the branches: ``a 0/1; b 1/2; {x y z}``."""

    partitions: tuple[Partition, ...]
    branches: tuple[Branch, ...]
    span: Span


class Designed(NamedTuple):
    """A design in place of a partition list: ``@one-vs-one {x y z}``.

    `binary`, if given, is the specification of all its binaries, or the name they are numbered
    under.
    """

    design: str
    binary: Word | None
    branches: tuple[Branch, ...]
    span: Span


Branch: TypeAlias = Leaf | TwoWay | Coded | Designed
