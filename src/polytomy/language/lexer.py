"""Convert control text to tokens.

A word is a run of characters other than white space and ``{ } ; " #``. A slash separates the sides
of a partition if it is alone or among integers only (``0 1/2 3``). In any other word it is part of
the word, so that a name can be a path (``models/corn.model``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from polytomy.language.span import Report, Span

__all__ = [
    "Kind",
    "Token",
    "escape_quoted",
    "find_lone_surrogate",
    "is_bare_word",
    "is_code_letter",
    "is_name",
    "tokenize",
]


class Kind(IntEnum):
    """Kind of a token."""

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

    kind: Kind
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Position of the token."""
        return Span(self.start, self.end)


_SINGLE = {"/": Kind.SLASH, ";": Kind.SEMICOLON, "{": Kind.OPEN, "}": Kind.CLOSE}
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
    make, integer, word, single = Token._make, Kind.INTEGER, Kind.WORD, _SINGLE
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
                kind = Kind.INTEGER if _INTEGER.fullmatch(part) else Kind.WORD
                yield Token(_SINGLE.get(part, kind), part, at, at + len(part))
        elif group == "quoted":
            yield Token(Kind.QUOTED, _unescape(text[1:-1], start + 1, report), start, stop)
        elif group == "design":
            yield Token(Kind.DESIGN, text[1:], start, stop)
        elif group == "unclosed":
            message = (
                'a quote is not closed on its line; end it with ", or write \\n for a line break'
            )
            report.add(Span(start, stop), message)
            yield Token(Kind.QUOTED, text[1:], start, stop)
        elif group == "strange":
            message = (
                f"character {text[0]!r} is not allowed in a word; put the label or name in quotes"
            )
            report.add(Span(start, stop), message)
    yield Token(Kind.END, "", len(source), len(source))


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
