"""Errors that say where in a data file something is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from polytomy.errors import Argument, DataError

__all__ = ["error_at"]


def error_at(
    source: str,
    *message: str | Argument,
    line: int | None = None,
    row: int | None = None,
    column: int | None = None,
    names: Sequence[str] | None = None,
) -> DataError:
    """Return an error whose message starts with a position in a file.

    Parameters
    ----------
    source : name of the file
    *message : what is wrong and how to fix it; see `polytomy.errors.Message`
    line : line of a text file, counted from one
    row : row of any other file, counted from one
    column : position of the column, counted from zero
    names : names of all columns

    Examples
    --------
    >>> print(error_at("a.csv", "no value", line=17, column=1, names=["height", "width"]))
    a.csv, line 17, column 2 ("width"): no value
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
    return DataError(f"{place}: ", *message)
