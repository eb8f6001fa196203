"""Tables in text parsed with the optional package pyarrow, several times faster than by NumPy.

Nothing depends on whether it is installed: what it may read differently from NumPy, and what it
refuses, is left to `polytomy.datasets.delimited`, which finds the place of an error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.runtime.threads import run_tasks

__all__ = ["parse_with_arrow"]

# Importing pyarrow takes as long as NumPy takes for this much text.
_FEWEST_BYTES = 2**20
_MOST_BYTES = 2**30
# Text that a thread parses at a time. Wide tables take longer in smaller parts.
_PART_BYTES = 2**21
_QUOTE, _LINE_END = ord('"'), ord("\n")

Floats = NDArray[np.float64]


def parse_with_arrow(
    text: bytes,
    line_ends: NDArray[np.intp],
    delimiter: str,
    n_columns: int,
    features: Sequence[int],
    targets: Sequence[int],
    converters: Mapping[int, Callable[[str], float]],
) -> tuple[Floats, Floats] | None:
    """Return some columns of a table as numbers; None if another parser has to decide.

    Parameters
    ----------
    text : lines that end in LF, without blank lines; the last one without a line end
    line_ends : positions of the LFs
    delimiter : separator of the fields
    n_columns : number of fields of each line
    features, targets : positions of the columns to return, in this order
    converters : for columns of text, functions that return the number of a value
        They are called once for each different value, in the order in which these first occur.

    Returns
    -------
    features : array of shape (n_lines, n_features), without NaN or infinity
    targets : array of shape (n_lines, n_targets), without NaN or infinity
    None instead of both if another parser has to decide
    """
    if len(text) > _MOST_BYTES or (len(text) < _FEWEST_BYTES and "pyarrow.csv" not in sys.modules):
        return None
    arrow = _import_arrow()
    if arrow is None or not _is_utf8(text) or not _are_quotes_plain(text, delimiter):
        return None
    options = _make_options(arrow, delimiter, n_columns, [*features, *targets], converters)
    parts = _cut_text(text, line_ends)
    X, y = (np.empty((parts[-1].last, len(columns))) for columns in (features, targets))
    buffer = arrow.py_buffer(text)

    def parse_part(part: _Part) -> Any:
        """Return a part as a table whose columns of numbers are written already, or None."""
        lines = arrow.BufferReader(buffer.slice(part.start, part.end - part.start))
        table = arrow.csv.read_csv(lines, *options)
        if table.num_rows != part.last - part.first:
            return None
        for columns, numbers in ((features, X), (targets, y)):
            if not _write_numbers(table, columns, converters, numbers[part.first : part.last]):
                return None
        return table

    try:
        tables = run_tasks([partial(parse_part, part) for part in parts], arrow.cpu_count())
        for part, table in zip(parts, tables, strict=True):
            if table is None:
                return None
            for columns, numbers in ((features, X), (targets, y)):
                _write_texts(table, columns, converters, numbers[part.first : part.last])
    except MemoryError:
        raise
    except (arrow.ArrowException, ValueError):
        return None
    return X, y


class _Part(NamedTuple):
    """Some lines of a text.

    Attributes
    ----------
    first, last : number of the first line, and of the one after the last
    start, end : where they start and end in the text, without their last line end
    """

    first: int
    last: int
    start: int
    end: int


def _cut_text(text: bytes, line_ends: NDArray[np.intp]) -> list[_Part]:
    """Return parts of a text, all of about the same size."""
    n_parts = max(1, len(text) // _PART_BYTES)
    wanted = np.arange(1, n_parts) * (len(text) // n_parts)
    ends = np.unique(np.append(np.searchsorted(line_ends, wanted), len(line_ends)))
    parts, first, start = [], 0, 0
    for line in ends.tolist():
        end = len(text) if line == len(line_ends) else int(line_ends[line])
        parts.append(_Part(first, line + 1, start, end))
        first, start = line + 1, end + 1
    return parts


def _make_options(
    arrow: Any, delimiter: str, n_columns: int, used: list[int], texts: Container[int]
) -> tuple[Any, Any, Any]:
    """Return how pyarrow reads, parses and converts a part of the table."""
    words = arrow.dictionary(arrow.int32(), arrow.string())
    types = {str(i): words if i in texts else arrow.float64() for i in used}
    return (
        # pyarrow's own threads divide the columns of a block among them, which takes longer.
        arrow.csv.ReadOptions(
            column_names=[str(i) for i in range(n_columns)], block_size=2**31 - 1, use_threads=False
        ),
        arrow.csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=False),
        arrow.csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=[]),
    )


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
    table: Any, columns: Sequence[int], texts: Container[int], numbers: Floats
) -> bool:
    """Write the columns of numbers; return False if one of them is not finite."""
    places = [k for k, i in enumerate(columns) if i not in texts]
    if not places:
        return True
    (batch,) = table.select([str(columns[k]) for k in places]).to_batches()
    rows = batch.to_tensor(row_major=True).to_numpy()
    # Columns that are all written are not chosen by their places, which takes longer.
    numbers[:, slice(None) if len(places) == len(columns) else places] = rows
    return bool(np.isfinite(rows).all())


def _write_texts(
    table: Any,
    columns: Sequence[int],
    converters: Mapping[int, Callable[[str], float]],
    numbers: Floats,
) -> None:
    """Write the numbers of columns of text; ValueError if a text has none."""
    for k, i in enumerate(columns):
        if i in converters:
            column = table.column(str(i)).combine_chunks()
            known = [converters[i](text) for text in column.dictionary.to_pylist()]
            numbers[:, k] = np.array(known, dtype=np.float64)[column.indices.to_numpy()]
