"""Tables in text parsed with the optional package pyarrow, several times faster than by NumPy.

Nothing depends on whether it is installed: what it may read differently from NumPy, and what it
refuses, is left to `polytomy.datasets.delimited`, which finds the place of an error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["parse_with_arrow"]

# Importing pyarrow takes as long as NumPy takes for this much text.
_FEWEST_BYTES = 2**20
_MOST_BYTES = 2**30
# Parts that pyarrow parses at the same time.
_PART_BYTES, _MOST_PARTS = 2**20, 16
# Numbers that are transposed while they are in the processor's cache.
_STRIP = 2**14
_QUOTE, _LINE_END = ord('"'), ord("\n")


def parse_with_arrow(
    text: bytes,
    n_lines: int,
    delimiter: str,
    n_columns: int,
    features: Sequence[int],
    targets: Sequence[int],
    converters: Mapping[int, Callable[[str], float]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return some columns of a table as numbers; None if another parser has to decide.

    Parameters
    ----------
    text : lines that end in LF, without blank lines; the last one without a line end
    n_lines : number of lines
    delimiter : separator of the fields
    n_columns : number of fields of each line
    features, targets : positions of the columns to return, in this order
    converters : for columns of text, functions that return the number of a value
        They are called once for each different value, in the order in which these first occur.

    Returns
    -------
    features : array of shape (n_lines, n_features), without NaN or infinity
    targets : array of shape (n_targets, n_lines)
    None instead of both if another parser has to decide
    """
    if len(text) > _MOST_BYTES or (len(text) < _FEWEST_BYTES and "pyarrow.csv" not in sys.modules):
        return None
    arrow = _import_arrow()
    if arrow is None or not _is_utf8(text) or not _are_quotes_plain(text, delimiter):
        return None
    words = arrow.dictionary(arrow.int32(), arrow.string())
    used = (*features, *targets)
    types = {str(i): words if i in converters else arrow.float64() for i in used}
    try:
        table = arrow.csv.read_csv(
            arrow.BufferReader(text),
            arrow.csv.ReadOptions(
                column_names=[str(i) for i in range(n_columns)],
                block_size=max(_PART_BYTES, len(text) // _MOST_PARTS),
            ),
            arrow.csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=False),
            arrow.csv.ConvertOptions(
                column_types=types, include_columns=list(types), null_values=[]
            ),
        )
    except MemoryError:
        raise
    except arrow.ArrowException:
        return None
    if table.num_rows != n_lines:
        return None
    numbers = np.empty((len(used), n_lines))
    for i, own in zip(used, numbers, strict=True):
        if not _write_numbers(table.column(str(i)), converters.get(i), own):
            return None
    return _transposed(numbers[: len(features)]), numbers[len(features) :]


@cache
def _import_arrow() -> Any:
    """Return pyarrow with its reader of text; None if it is not installed."""
    try:
        import pyarrow.csv
    except ImportError:
        return None
    return pyarrow


def _is_utf8(text: bytes) -> bool:
    """Return whether a text is UTF-8, without a byte order mark, which pyarrow would leave out."""
    try:
        return text.isascii() or not text.decode().startswith("\ufeff")
    except UnicodeDecodeError:
        return False


def _are_quotes_plain(text: bytes, delimiter: str) -> bool:
    """Return whether all quotes enclose whole fields of one line, and none is part of a field.

    Parsers differ in what they make of any other quote.
    """
    if b'"' not in text:
        return True
    characters = np.frombuffer(b"\n" + text + b"\n", dtype=np.uint8)
    quotes = np.flatnonzero(characters == _QUOTE)
    opening, closing = quotes[::2], quotes[1::2]
    if len(opening) != len(closing):
        return False
    ends = np.array([_LINE_END, ord(delimiter)], dtype=np.uint8)
    line_ends = np.flatnonzero(characters == _LINE_END)
    are_whole = np.isin(characters[opening - 1], ends) & np.isin(characters[closing + 1], ends)
    lines = np.searchsorted(line_ends, opening), np.searchsorted(line_ends, closing)
    return bool(are_whole.all()) and np.array_equal(*lines)


def _write_numbers(
    column: Any, number_of: Callable[[str], float] | None, numbers: NDArray[np.float64]
) -> bool:
    """Write the numbers of a column; return False if one is not finite or a text is refused."""
    start = 0
    for part in column.chunks:
        own = numbers[start : start + len(part)]
        start += len(part)
        if number_of is None:
            own[:] = part.to_numpy()
            continue
        try:
            known = [number_of(text) for text in part.dictionary.to_pylist()]
        except ValueError:
            return False
        own[:] = np.array(known, dtype=np.float64)[part.indices.to_numpy()]
    return bool(np.isfinite(numbers).all())


def _transposed(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns as rows of memory, written in strips that stay in the processor's cache."""
    n_columns, n_rows = columns.shape
    rows = np.empty((n_rows, n_columns))
    n_strip = max(16, _STRIP // max(1, n_columns))
    for start in range(0, n_rows, n_strip):
        strip = slice(start, start + n_strip)
        rows[strip] = columns[:, strip].T
    return rows
