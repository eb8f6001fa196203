"""The syntax tree of a control text, and its text in one canonical layout.

Nodes are immutable tuples. They store their position as offsets; lines and columns are computed
when a message needs them.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from polytomy.language.lexer import Span, escape_quoted

_LONGEST_SHOWN = 40

# Deeper levels are not indented further; otherwise the text of a chain would grow quadratically.
_DEEPEST_INDENT = 20


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


def print_branch(branch: Branch) -> str:
    """Return the control text of a syntax tree, without a line break at the end.

    If all branches of a model are classes, they share a line; otherwise each branch has its own.
    """
    lines: list[str] = []
    waiting: list[tuple[Branch | str, int]] = [(branch, 0)]
    while waiting:
        item, depth = waiting.pop()
        indent = "  " * min(depth, _DEEPEST_INDENT)
        if isinstance(item, str):
            lines.append(indent + item)
            continue
        if isinstance(item, Leaf):
            lines.append(indent + print_word(item.label))
            continue
        head = ""
        if isinstance(item, OneModel):
            words = [item.binary] if item.code_letter is None else [item.binary, item.code_letter]
            head = " ".join(map(print_word, words)) + " "
        elif isinstance(item, Designed):
            binary = "" if item.binary is None else print_word(item.binary) + " "
            head = f"@{item.design} {binary}"
        elif isinstance(item, Coded):
            for partition in item.partitions:
                sides = " / ".join([" ".join(map(str, side)) for side in partition.sides])
                lines.append(f"{indent}{print_word(partition.binary)} {sides};")
        leaves = [child.label for child in item.branches if isinstance(child, Leaf)]
        if len(leaves) == len(item.branches):
            lines.append(f"{indent}{head}{{{' '.join(map(print_word, leaves))}}}")
        else:
            lines.append(f"{indent}{head}{{")
            waiting.append(("}", depth))
            waiting.extend([(child, depth + 1) for child in reversed(item.branches)])
    return "\n".join(lines)


def print_word(word: Word) -> str:
    """Return a name, specification or label as it is written, with its quotes if it has any."""
    return escape_quoted(word.text) if word.quoted else word.text
