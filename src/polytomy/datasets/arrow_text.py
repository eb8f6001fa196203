"""Text tables parsed with the optional package pyarrow, several times faster than with NumPy.

Results do not depend on whether it is installed: text that it rejects, or may read differently from
NumPy, is left to `polytomy.datasets.delimited`, which locates errors.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["ArrowParser", "ParsedText"]

# For less text, importing pyarrow takes longer than parsing with NumPy. Large files come in larger
# blocks.
_FEWEST_BYTES = 2**19
# pyarrow parses about this much at a time, which stays in the processor's cache.
_PARSED_BYTES = 2**20
_QUOTE, _LINE_END = ord('"'), ord("\n")


class ParsedText(NamedTuple):
    """Lines parsed by pyarrow.

    Attributes
    ----------
    X : array of shape (n_lines, n_features), without NaN or infinity
        Features that are text are zero.
    texts : columns of text by their position in the table
    """

    X: NDArray[np.float64]
    texts: Mapping[int, Any]

    def convert_text(
        self, column: int, number_of: Callable[[str], float]
    ) -> NDArray[np.float64] | None:
        """Return the numbers of a column of text; None if a text has no number.

        `number_of` is called once for each different text, in order of first appearance. It raises
        ValueError for a text without a number.
        """
        words = self.texts[column]
        try:
            numbers = [number_of(text) for text in words.dictionary.to_pylist()]
        except ValueError:
            return None
        by_number = np.array(numbers, dtype=np.float64)
        return np.asarray(by_number[words.indices.to_numpy()])


class ArrowParser:
    """Parses the lines of one table.

    Parameters
    ----------
    delimiter : separator of the fields
    n_columns : number of fields of each line
    features : positions of the columns of features, in this order
    texts : positions of columns of text: labels, and features that are text
    """

    def __init__(
        self, delimiter: str, n_columns: int, features: Sequence[int], texts: Iterable[int]
    ) -> None:
        self._delimiter = delimiter
        self._texts, self._n_features = frozenset(texts), len(features)
        self._numeric = {k: i for k, i in enumerate(features) if i not in self._texts}
        self._names = [str(i) for i in range(n_columns)]
        self._options: tuple[Any, Any] | None = None

    def parse(self, text: bytes, n_lines: int) -> list[ParsedText] | None:
        """Return the lines in consecutive parts; None if another parser has to decide.

        This method is thread-safe.

        Parameters
        ----------
        text : lines that end in LF, without blank lines; the last one without a line end
        n_lines : number of lines
        """
        is_small = len(text) < _FEWEST_BYTES and "pyarrow.csv" not in sys.modules
        arrow = None if is_small else _import_arrow()
        if arrow is None or not _is_utf8(text) or not _are_quotes_plain(text, self._delimiter):
            return None
        if self._options is None:
            self._options = self._make_options(arrow)
        # Blocks of equal size; a line must not be longer than one of them.
        n_blocks = max(1, round(len(text) / _PARSED_BYTES))
        block_size = max(-(-len(text) // n_blocks), 4 * len(text) // n_lines)
        # The caller already uses several threads.
        reading = arrow.csv.ReadOptions(
            column_names=self._names, block_size=block_size, use_threads=False
        )
        try:
            table = arrow.csv.read_csv(arrow.BufferReader(text), reading, *self._options)
        except MemoryError:
            raise
        except arrow.ArrowException:
            return None
        if table.num_rows != n_lines:
            return None
        parts = [self._take_columns(batch) for batch in table.to_batches()]
        return parts if all(np.isfinite(part.X).all() for part in parts) else None

    def _make_options(self, arrow: Any) -> tuple[Any, Any]:
        """Return how `read_csv` parses and converts."""
        words = arrow.dictionary(arrow.int32(), arrow.string())
        types = dict.fromkeys(map(str, self._numeric.values()), arrow.float64())
        types |= dict.fromkeys(map(str, self._texts), words)
        return (
            arrow.csv.ParseOptions(delimiter=self._delimiter, ignore_empty_lines=False),
            arrow.csv.ConvertOptions(
                column_types=types, include_columns=list(types), null_values=[]
            ),
        )

    def _take_columns(self, batch: Any) -> ParsedText:
        texts = {i: batch.column(str(i)) for i in self._texts}
        if not self._numeric:
            return ParsedText(np.zeros((batch.num_rows, self._n_features)), texts)
        numeric = batch.select([str(i) for i in self._numeric.values()])
        numbers: NDArray[np.float64] = numeric.to_tensor(row_major=True).to_numpy()
        if len(self._numeric) == self._n_features:
            return ParsedText(numbers, texts)
        X = np.zeros((batch.num_rows, self._n_features))
        X[:, list(self._numeric)] = numbers
        return ParsedText(X, texts)


@cache
def _import_arrow() -> Any:
    """Return pyarrow with its text reader; None if it is not installed."""
    try:
        import pyarrow.csv
    except ImportError:
        return None
    return pyarrow


def _is_utf8(text: bytes) -> bool:
    """Return whether a text is UTF-8, without a byte order mark, which pyarrow would drop."""
    try:
        return text.isascii() or not text.decode().startswith("\ufeff")
    except UnicodeDecodeError:
        return False


def _are_quotes_plain(text: bytes, delimiter: str) -> bool:
    """Return whether all quotes enclose whole fields of one line, and none is part of a field.

    Parsers differ in how they treat any other quote.
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
