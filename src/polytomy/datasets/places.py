"""Where in a file something is wrong, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from polytomy.errors import DataError

__all__ = ["is_text", "problem_at", "what_is_wrong"]

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MISSING = {"", "?", "na", "n/a", "nan", "null", "none"}
_LONGEST_VALUE = 40


def problem_at(
    source: str,
    what: str,
    *,
    line: int | None = None,
    row: int | None = None,
    column: int | None = None,
    names: Sequence[str] | None = None,
) -> DataError:
    """Return the error that says what is wrong at a place of a file.

    Parameters
    ----------
    source : the file
    what : what is wrong there, and the way out
    line : line of a text file, from one
    row : row of any other file, from one
    column : position of the column, from zero
    names : names of all columns

    Examples
    --------
    >>> print(problem_at("a.csv", "is missing", line=17, column=1, names=["height", "width"]))
    a.csv, line 17, column 2 ("width"): is missing
    """
    place = source
    if line is not None:
        place += f", line {line}"
    if row is not None:
        place += f", row {row}"
    if column is not None:
        place += f", column {column + 1}"
        if names is not None and column < len(names):
            place += f' ("{names[column]}")'
    return DataError(f"{place}: {what}")


def what_is_wrong(text: str) -> str | None:
    """Return why a text is not a finite number, or None if it is one.

    Examples
    --------
    >>> what_is_wrong("1.5e3"), what_is_wrong("NA"), what_is_wrong("red")
    (None, 'the value is missing (NA)', '"red" is not a number')
    """
    text = text.strip()
    if text.lower() in _MISSING:
        return f"the value is missing ({text})" if text else "the value is missing"
    shown = text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "…"
    if _is_infinite(text):
        return f"{shown} is not a finite number"
    if is_text(text):
        return f'"{shown}" is not a number'
    if abs(float(text)) == float("inf"):
        return f"{shown} is too large for a number of 64 bits"
    return None


def is_text(field: str) -> bool:
    """Return whether a field is neither a number nor missing.

    Examples
    --------
    >>> is_text("red"), is_text("-1e5"), is_text("NA")
    (True, False, False)
    """
    field = field.strip()
    is_number = _NUMBER.fullmatch(field) or _is_infinite(field)
    return not is_number and field.lower() not in _MISSING


def _is_infinite(text: str) -> bool:
    return text.lower().lstrip("+-") in ("inf", "infinity")
