"""Positions in a control text, and problems at them."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import NamedTuple

from polytomy.errors import ControlError, Problem

__all__ = ["MAX_PROBLEMS", "Report", "Source", "Span", "printable"]

# A text with more problems than this is not a control text; the search stops.
MAX_PROBLEMS = 50

# A longer line is shortened, so that a problem in a file without line breaks does not print it all.
_WIDEST_EXCERPT = 120


class Span(NamedTuple):
    """A range of the text: the offset of its first character, and the offset after its last."""

    start: int
    end: int


class Source:
    """A control text with its name; converts offsets to lines and columns.

    Examples
    --------
    >>> source = Source("a {\\n b c}", "land.control")
    >>> source.place(5)
    (2, 2)
    >>> print(source.problem(Span(5, 6), "class b is not known"))
    land.control:2:2: class b is not known
       b c}
       ^
    """

    def __init__(self, text: str, name: str = "<text>") -> None:
        self.text = text
        self.name = name

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        position = self.text.find("\n")
        while position >= 0:
            starts.append(position + 1)
            position = self.text.find("\n", position + 1)
        return starts

    def place(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset, both counted from one."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def place_text(self, offset: int) -> str:
        """Return the position as `line:column`."""
        line, column = self.place(offset)
        return f"{line}:{column}"

    def problem(self, span: Span, message: str) -> Problem:
        """Return a problem at the start of a span, with that line of the text."""
        line, column = self.place(span.start)
        first = self._line_starts[line - 1]
        following = self._line_starts[line] if line < len(self._line_starts) else len(self.text) + 1
        text = self.text[first : following - 1].rstrip("\r")
        caret = column - 1
        if len(text) > _WIDEST_EXCERPT:
            left = max(0, caret - _WIDEST_EXCERPT // 2)
            right = left + _WIDEST_EXCERPT
            head, tail = "…" if left else "", "…" if right < len(text) else ""
            text, caret = head + text[left:right] + tail, caret - left + len(head)
        return Problem(self.name, line, column, printable(message), printable(text), caret)


def printable(text: str) -> str:
    """Return the text with control characters replaced, which could affect a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in text)


class Report:
    """The problems of one text, collected so that all are reported together."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.problems: list[Problem] = []

    def add(self, span: Span, message: str) -> None:
        """Add a problem; raise ControlError when there are MAX_PROBLEMS."""
        self.problems.append(self.source.problem(span, message))
        if len(self.problems) == MAX_PROBLEMS:
            self.problems.append(
                self.source.problem(span, f"{MAX_PROBLEMS} problems found; the rest is not read")
            )
            self.raise_if_any()

    def raise_if_any(self) -> None:
        """Raise ControlError with all problems, in the order of the text, if there are any."""
        if self.problems:
            self.problems.sort(key=lambda problem: (problem.line, problem.column))
            raise ControlError(tuple(self.problems))
