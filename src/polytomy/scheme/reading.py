"""Read schemes from control texts and files."""

from __future__ import annotations

import os
from pathlib import Path

from polytomy.errors import ControlError, ControlWarning, Problem, warn_caller
from polytomy.language import MAX_CHARACTERS, Source, parse_text
from polytomy.language.nodes import Branch
from polytomy.scheme.resolve import Resolution, resolve
from polytomy.scheme.scheme import Scheme

__all__ = ["decode_text", "parse", "parse_with_warnings", "read", "read_text", "resolve_tree"]

# A character is at most four bytes of UTF-8.
_MAX_BYTES = 4 * MAX_CHARACTERS


def parse(text: str, name: str = "<text>") -> Scheme:
    """Return the scheme that a control text describes.

    Parameters
    ----------
    text : the control text, at most 16 Mi characters
    name : name of the text in messages, such as the file name

    Raises
    ------
    ControlError
        With all problems in the text and their positions.

    Warns
    -----
    ControlWarning
        For a code that does not determine the class probabilities.

    Examples
    --------
    >>> scheme = parse("FieldVsForest {CornVsWheat {corn wheat} PineVsOak {pine oak}}")
    >>> scheme.classes
    ('corn', 'wheat', 'pine', 'oak')
    >>> print(scheme)
    FieldVsForest {
      CornVsWheat {corn wheat}
      PineVsOak {pine oak}
    }
    """
    scheme, problems = parse_with_warnings(text, name)
    for problem in problems:
        warn_caller(str(problem), ControlWarning)
    return scheme


def parse_with_warnings(text: str, name: str = "<text>") -> tuple[Scheme, tuple[Problem, ...]]:
    """Return the scheme of a text, and the problems that `parse` would warn about."""
    if not isinstance(text, str):
        kind = type(text).__name__
        raise TypeError(f"a control text must be a str; got {kind}. Use pt.read to read a file.")
    source = Source(text, name)
    return resolve_tree(parse_text(source), source)


def resolve_tree(tree: Branch, source: Source) -> tuple[Scheme, tuple[Problem, ...]]:
    """Return the scheme of a syntax tree, and the problems that `parse` would warn about."""
    resolution: Resolution = resolve(tree, source)
    return Scheme(resolution.layout.classes, resolution.layout.nodes), resolution.warnings


def read(path: str | os.PathLike[str]) -> Scheme:
    """Return the scheme that a control file describes; see `parse`.

    The file must be UTF-8 text. Raises ControlError if its text is invalid, and OSError if it
    cannot be opened.
    """
    return parse(read_text(path), os.fspath(path))


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a control file, or raise ControlError if it is too long or not text."""
    name = os.fspath(path)
    with Path(path).open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    return decode_text(data, name)


def decode_text(data: bytes, name: str) -> str:
    """Decode bytes to text, or raise ControlError if they are too many or not text."""
    if len(data) > _MAX_BYTES:
        message = f"the file is larger than the limit of {_MAX_BYTES:,} bytes"
        raise ControlError((Problem(name, 1, 1, message),))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        message = f"byte {data[error.start]:#04x} is not UTF-8 text; save the file as UTF-8"
        raise ControlError((Problem(name, line, column, message),)) from None
