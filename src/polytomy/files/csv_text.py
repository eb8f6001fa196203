"""CSV text that spreadsheets do not run as formulas.

A spreadsheet runs a cell as a formula if it starts with ``=``, ``+``, ``-`` or ``@``, even if it is
quoted. Such text gets a leading apostrophe, which marks it as text for a spreadsheet. Numbers stay
as they are, and so does a single sign, which is not a formula. Text that already starts with
apostrophes before such a character gets one more, so removing one apostrophe always restores it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from typing import Any

__all__ = ["escape_formula", "to_csv"]

# Spreadsheets skip a tab or a line break before a formula; those for East Asian languages also
# accept the full-width signs.
_SIGNS = "=+@\t\r\n\uff1d\uff0b\uff0d\uff20-"
_FORMULA = re.compile(f"'*[{_SIGNS}].", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def escape_formula(value: Any) -> Any:
    """Return text with a leading apostrophe if a spreadsheet would run it; other values as is.

    Examples
    --------
    >>> [escape_formula(text) for text in ("=1+1", "-x", "oak", "'=1+1")]
    ["'=1+1", "'-x", 'oak', "''=1+1"]
    >>> [escape_formula(value) for value in (-1.5, "-1.5", "+", "'s-Hertogenbosch")]
    [-1.5, '-1.5', '+', "'s-Hertogenbosch"]
    """
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def to_csv(rows: Iterable[Iterable[Any]], *, escape: bool = True) -> str:
    """Return rows as CSV text.

    Parameters
    ----------
    rows : cells, row by row
    escape : whether to put an apostrophe before text that a spreadsheet would run
    """
    if escape:
        rows = ([escape_formula(cell) for cell in row] for row in rows)
    lines = _Lines()
    # With this line terminator, cells that contain either of its characters are quoted.
    csv.writer(lines, lineterminator="\r\n").writerows(rows)
    return "".join(lines.written)


class _Lines:
    """A file-like object for the csv module, which writes one row at a time."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, line: str) -> None:
        self.written.append(f"{line[:-2]}\n")
