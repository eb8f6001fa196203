"""Control text as tokens, and positions in it for messages.

A word is a run of characters other than white space and ``{ } ; " #``. A slash separates the sides
of a partition if it is alone or among integers only (``0 1/2 3``). In any other word it is part of
the word, so that a name can be a path (``models/corn.model``).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

from polytomy.errors import ControlError, Problem

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
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

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


class TokenKind(IntEnum):
    """TokenKind of a token."""

    WORD = 1
    INTEGER = 2
    QUOTED = 3
    DESIGN = 4
    SLASH = 5
    SEMICOLON = 6
    OPEN = 7
    CLOSE = 8
    END = 9


class Token(NamedTuple):
    """One token; `text` has no quotes, escapes or ``@``."""

    kind: TokenKind
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Position of the token."""
        return Span(self.start, self.end)


_SINGLE = {
    "/": TokenKind.SLASH,
    ";": TokenKind.SEMICOLON,
    "{": TokenKind.OPEN,
    "}": TokenKind.CLOSE,
}
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_TO_ESCAPE = {value: "\\" + letter for letter, value in _ESCAPES.items()}

# The most frequent alternatives come first. Control characters other than white space match only
# `strange`, which is an error.
_TOKEN = re.compile(
    r"""
    \s* (?:
      (?P<integer>[0-9]{1,18}(?=[\s;{}"\#]|\Z))
    | (?P<single>[;{}]|/(?=[\s;{}"\#]|\Z))
    | (?P<counts>[-+0-9/]*/[-+0-9/]*(?=[\s;{}"\#]|\Z))
    | (?P<word>[^\s;{}"\#@\x00-\x1f\x7f-\x9f][^\s;{}"\#\x00-\x1f\x7f-\x9f]*)
    | (?P<comment>\#[^\n]*)
    | (?P<quoted>"(?:[^"\\\n\r]|\\[^\n\r])*")
    | (?P<design>@[^\s;{}"\#\x00-\x1f\x7f-\x9f]*)
    | (?P<unclosed>"[^\n\r]*)
    | (?P<strange>[\x00-\x08\x0e-\x1b\x7f-\x9f]+)
    | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)

# Longer runs of digits are words; no branch index is that long.
_INTEGER = re.compile(r"[0-9]{1,18}")
_COUNT_PIECE = re.compile(r"/|[^/]+")
_ESCAPED = re.compile(r"\\(.)")

_BARE = re.compile(r"""[^\s;{}"\#@\x00-\x1f\x7f-\x9f][^\s;{}"\#\x00-\x1f\x7f-\x9f]*""")

_COUNTS_ONLY = re.compile(r"[-+0-9/]*/[-+0-9/]*")
_CODE_LETTERS = frozenset("AGK")
_OPTION = re.compile(r"-[A-Za-z]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def is_bare_word(text: str) -> bool:
    """Return whether a text is read as one word without quotes."""
    return _BARE.fullmatch(text) is not None and _COUNTS_ONLY.fullmatch(text) is None


def is_name(text: str) -> bool:
    """Return whether a text can name a binary: a word that is not an integer."""
    return is_bare_word(text) and _INTEGER.fullmatch(text) is None


def is_code_letter(letter: str, options: str) -> bool:
    """Return whether a word after quoted text is read as a code letter of libAGF.

    After other quoted text, such a word is the name of a binary.
    """
    return letter in _CODE_LETTERS and (options in ("", ".") or _OPTION.match(options) is not None)


def find_lone_surrogate(text: str) -> int:
    """Return the position of the first lone surrogate, or -1.

    Python produces lone surrogates when it decodes bytes with the wrong encoding. They cannot be
    written to a file.
    """
    match = None if text.isascii() else _LONE_SURROGATE.search(text)
    return -1 if match is None else match.start()


def escape_quoted(text: str) -> str:
    """Return the text in double quotes, escaped so that it is read back unchanged."""
    return '"' + "".join(_TO_ESCAPE.get(character, character) for character in text) + '"'


def tokenize(report: Report) -> Iterator[Token]:
    """Yield the tokens of the report's source; the last token has the kind END.

    Invalid text is reported and skipped, so that one run finds every problem.
    """
    source = report.source.text
    # Reading a large text spends most of the time here, hence the local names.
    make, integer, word, single = Token._make, TokenKind.INTEGER, TokenKind.WORD, _SINGLE
    for match in _TOKEN.finditer(source):
        group = match.lastgroup
        text = match[match.lastindex or 0]
        stop = match.end()
        start = stop - len(text)
        if group == "integer":
            yield make((integer, text, start, stop))
        elif group == "single":
            yield make((single[text], text, start, stop))
        elif group == "word":
            yield make((word, text, start, stop))
        elif group == "counts":
            for piece in _COUNT_PIECE.finditer(text):
                part, at = piece[0], start + piece.start()
                kind = TokenKind.INTEGER if _INTEGER.fullmatch(part) else TokenKind.WORD
                yield Token(_SINGLE.get(part, kind), part, at, at + len(part))
        elif group == "quoted":
            yield Token(TokenKind.QUOTED, _unescape(text[1:-1], start + 1, report), start, stop)
        elif group == "design":
            yield Token(TokenKind.DESIGN, text[1:], start, stop)
        elif group == "unclosed":
            message = (
                'a quote is not closed on its line; end it with ", or write \\n for a line break'
            )
            report.add(Span(start, stop), message)
            yield Token(TokenKind.QUOTED, text[1:], start, stop)
        elif group == "strange":
            message = (
                f"character {text[0]!r} is not allowed in a word; put the label or name in quotes"
            )
            report.add(Span(start, stop), message)
    yield Token(TokenKind.END, "", len(source), len(source))


def _unescape(text: str, offset: int, report: Report) -> str:
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        letter = match[1]
        if letter not in _ESCAPES:
            at = offset + match.start()
            message = f"\\{letter} is not an escape; write \\\\ for a backslash"
            report.add(Span(at, at + 2), message)
        return _ESCAPES.get(letter, letter)

    return _ESCAPED.sub(replace, text)
