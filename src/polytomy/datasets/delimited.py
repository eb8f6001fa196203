"""Tables in text files: CSV and TSV, parsed by pyarrow block by block.

A block that pyarrow rejects is read again line by line, which finds the place of an error, and
accepts numbers that pyarrow does not, such as +1.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.datasets.columns import (
    MISSING_VALUES,
    CategoryIndex,
    Columns,
    choose_columns,
    error_at,
    is_header,
    is_missing,
    is_text,
    parse_number,
)
from polytomy.datasets.sources import (
    Source,
    Stream,
    TextBlock,
    first_lines,
    read_ahead,
    text_blocks,
)
from polytomy.datasets.tables import (
    Categories,
    Data,
    Format,
    NoRowsError,
    RawBlock,
    ReadOptions,
    Table,
    list_columns,
    shorten_numbers,
)
from polytomy.errors import Argument, ArgumentError, DataError
from polytomy.inputs.arguments import did_you_mean

# Separators of the fields of CSV files.
_DELIMITERS = (",", ";", "\t")
# Number of lines from which text columns are detected.
_N_SAMPLED = 1000
# Number of parsing threads. More would not help, because one thread reads the file.
_MOST_THREADS = 4
#: Limit on the number of columns of a text table.
MOST_COLUMNS = 2**20
# The usual spellings of missing values; blocks with others are read line by line.
_SPELLINGS = [spell(text) for text in MISSING_VALUES for spell in (str.lower, str.upper)]
_SPELLINGS += ["NaN", "None", "Null"]


class _Parsed(NamedTuple):
    """Features, with zero for text, and the columns of text by their position in the table."""

    X: NDArray[np.float64]
    texts: Mapping[int, Any]


class DelimitedTable(Table):
    """A table in a text file.

    Parameters
    ----------
    source : file or stream, gzipped or not
    options : ReadOptions
    delimiter : separator of the fields
    has_header : whether the first line is not a sample
    columns : the columns to read
    categories : for each text feature, the index that collects its values
    doubtful_line : number of a first line of samples that may be a header; None if there is none
    """

    def __init__(
        self,
        source: Source,
        options: ReadOptions,
        delimiter: str,
        has_header: bool,
        columns: Columns,
        categories: Mapping[int, CategoryIndex],
        doubtful_line: int | None = None,
    ) -> None:
        super().__init__(source, options)
        self._delimiter, self._has_header = delimiter, has_header
        self._columns, self._doubtful_line = columns, doubtful_line
        self.n_features = len(columns.features)
        self.bytes_per_row = 8 * self.n_features
        self.feature_names, self.label_name = columns.feature_names, columns.label_name
        self.categories = categories
        # Functions that turn the text of some columns into numbers.
        self._text_numbers: dict[int, Callable[[str], float]] = {
            columns.features[k]: values.number for k, values in categories.items()
        }
        if columns.target is not None:
            self._text_numbers[columns.target] = self._label_number

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""
        # A pipe may be slow: its samples are not held back until later ones arrive.
        n_threads = 0 if isinstance(self._path, Stream) else min(_MOST_THREADS, os.cpu_count() or 1)
        texts = text_blocks(self._path, n_rows, skip_first=self._has_header, is_last=True)
        for block, parsed in read_ahead(self._parse, texts, n_threads):
            converted = None if parsed is None else self._number_texts(parsed, block.numbers)
            yield self._read_by_line(block) if converted is None else converted

    def _parse(self, block: TextBlock) -> _Parsed | None:
        """Return the features and the columns of text of a block; None if pyarrow rejects it."""
        import pyarrow as arrow
        from pyarrow import csv as arrow_csv

        text = block.text
        if text.count(b'"', text.rfind(b"\n") + 1) % 2:
            return None  # pyarrow would accept a quoted field that does not end
        # pyarrow drops a byte order mark, and does not check columns that are not read.
        if text.startswith(codecs.BOM_UTF8) or not _is_utf8(text):
            return None
        reading = arrow_csv.ReadOptions(
            column_names=[str(i) for i in range(self._columns.n_columns)],
            block_size=len(text) + 1,
            use_threads=False,  # the caller already uses several
        )
        try:
            table = arrow_csv.read_csv(arrow.BufferReader(text), reading, *self._arrow_options)
        except arrow.ArrowInvalid:
            return None
        # A quoted field that spans several lines makes fewer rows than lines.
        if table.num_rows != len(block.numbers):
            return None
        (batch,) = table.to_batches()
        texts = {i: batch.column(str(i)) for i in self._text_numbers}
        numeric = {k: i for k, i in enumerate(self._columns.features) if i not in texts}
        X = np.zeros((batch.num_rows, self.n_features))
        if numeric:
            chosen = batch.select([str(i) for i in numeric.values()])
            values = chosen.to_tensor(null_to_nan=True, row_major=True).to_numpy()
            is_bad = np.isinf(values) if self._options.allows_missing else ~np.isfinite(values)
            if is_bad.any():
                return None
            if len(numeric) == self.n_features:
                return _Parsed(values, texts)
            X[:, list(numeric)] = values
        return _Parsed(X, texts)

    @cached_property
    def _arrow_options(self) -> tuple[Any, Any]:
        """How pyarrow parses and converts."""
        import pyarrow as arrow
        from pyarrow import csv as arrow_csv

        words = arrow.dictionary(arrow.int32(), arrow.string())
        types = dict.fromkeys(map(str, self._columns.features), arrow.float64())
        types |= dict.fromkeys(map(str, self._text_numbers), words)
        parsing = arrow_csv.ParseOptions(delimiter=self._delimiter, ignore_empty_lines=False)
        missing = _SPELLINGS if self._options.allows_missing else []
        converting = arrow_csv.ConvertOptions(
            column_types=types, include_columns=list(types), null_values=missing
        )
        return parsing, converting

    def _number_texts(self, parsed: _Parsed, numbers: NDArray[np.int64]) -> RawBlock | None:
        """Return samples with numbers for their text; None if a text is invalid."""
        labels = None
        for column, number_of in self._text_numbers.items():
            words = parsed.texts[column]
            try:
                known = np.array([number_of(text) for text in words.dictionary.to_pylist()])
            except ValueError:
                return None
            found = known[words.indices.to_numpy()]
            if column == self._columns.target:
                labels = found.astype(np.intp)
            # A column may be several features, and the labels may be one too.
            for k in (k for k, i in enumerate(self._columns.features) if i == column):
                parsed.X[:, k] = found
        return RawBlock(parsed.X, labels, numbers)

    def _read_by_line(self, block: TextBlock) -> RawBlock:
        """Return the samples of a block; DataError with the place of the first mistake."""
        columns = self._columns
        parse = partial(parse_number, allows_missing=self._options.allows_missing)
        number_of = dict.fromkeys(columns.features, parse) | self._text_numbers
        values = np.zeros((len(block.numbers), columns.n_columns))
        for row, (line, number) in enumerate(zip(block.lines, block.numbers.tolist(), strict=True)):
            text = decode_line(line, self.source, number)
            fields = split_line(text, self._delimiter, self.source, number)
            if text.count('"') % 2 and split_line(f'{text}"', self._delimiter, "", 0) == fields:
                what = "a quoted field does not end on this line. Put each sample on one line."
                raise self.error(what, line=number)
            if len(fields) != columns.n_columns:
                what = f"expected {columns.n_columns} fields; found {len(fields)}"
                raise self.error(what, line=number)
            for column in sorted(number_of):
                try:
                    values[row, column] = number_of[column](fields[column])
                except ValueError as error:
                    raise self._error(str(error), number, column, fields[column]) from None
        labels = None if columns.target is None else values[:, columns.target].astype(np.intp)
        return RawBlock(values[:, list(columns.features)], labels, block.numbers)

    def _label_number(self, text: str) -> int:
        text = text.strip()
        if not text:
            raise ValueError("the label is missing")
        return self.label_index.number(text)

    def _error(self, reason: str, line: int, column: int, text: str) -> DataError:
        """Return the error for a bad field, with advice if the columns may be wrong."""
        message: list[str | Argument] = [reason]
        # Given features come from a trained model, which determines how text columns are read.
        is_free = self._options.features is None and column not in self._text_numbers
        if is_free and is_text(text):
            message += [". Use ", Argument("categories", "one-hot"), " for text columns, or set "]
            message += [Argument("target"), " to the label column"]
        elif is_free and is_missing(text):
            message = self._options.explain_missing(reason)
            return self.error(*message, line=line, column=column, names=self._columns.names)
        if line == self._doubtful_line:
            message += [". Use ", Argument("header", True), " if this line names the columns"]
        if len(message) > 1:
            message.append(".")
        return self.error(*message, line=line, column=column, names=self._columns.names)


def decode_line(line: bytes, source: str, number: int) -> str:
    """Return a line as text; DataError if it is not UTF-8."""
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        what = f"byte {line[error.start]:#04x} is not UTF-8 text; save the file as UTF-8"
        raise error_at(source, what, line=number) from None


def split_line(text: str, delimiter: str, source: str, number: int) -> list[str]:
    """Return the fields of a line; DataError if there are too many, or if one is too long."""
    # Counted before the line is split: each field takes far more memory than its text.
    if text.count(delimiter) >= MOST_COLUMNS:
        what = f"the line has more than {MOST_COLUMNS:,} fields, the limit"
        raise error_at(source, what, line=number)
    try:
        return [field.strip() for field in next(csv.reader([text], delimiter=delimiter))]
    except csv.Error:
        what = (
            f"a field is longer than {csv.field_size_limit():,} characters. Is a closing quote "
            "missing?"
        )
        raise error_at(source, what, line=number) from None


def _is_utf8(text: bytes) -> bool:
    try:
        return text.isascii() or bool(text.decode())
    except UnicodeDecodeError:
        return False


# -- CSV and TSV ----------------------------------------------------------------------------------


class _DelimitedFormat(Format):
    """Rows of fields with a separator, and a header or none."""

    is_text = True
    delimiter: str

    def find_delimiter(self, line: bytes) -> str:
        """Return the separator of the fields in the first line of a file."""
        return self.delimiter

    def open(self, source: Source, options: ReadOptions) -> Table:
        """Return a file as a table; the first lines show its columns."""
        name = os.fspath(source)
        first = first_lines(source, _N_SAMPLED)
        if not len(first.numbers):
            raise NoRowsError(f"{name}: the file is empty")
        delimiter = self.find_delimiter(first.lines[0])
        # Only text columns need more than a header and a sample.
        n_parsed = _N_SAMPLED if options.categories == "one-hot" else 2
        lines = zip(first.lines, first.numbers.tolist(), strict=True)
        sample = [
            split_line(decode_line(line, name, number), delimiter, name, number)
            for line, number in islice(lines, n_parsed)
        ]
        target, features, first_line = options.target, options.features, int(first.numbers[0])
        has_header = options.header
        if has_header is None:
            has_header = is_header(sample[0], target, features, name, first_line)
        names = sample.pop(0) if has_header else None
        if not sample:
            raise NoRowsError(f"{name}: the file has a header but no data")
        n_columns = len(sample[0] if names is None else names)
        columns = choose_columns(name, n_columns, names, target, features)
        return DelimitedTable(
            source,
            options,
            delimiter,
            has_header,
            columns,
            _open_categories(name, columns, options.categories, sample),
            doubtful_line=first_line if options.header is None else None,
        )

    def write_to(self, stream: Any, data: Data, target: str) -> None:
        """Write samples in rows, with a header if the features have names."""
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
        writer = csv.writer(text, delimiter=self.delimiter, lineterminator="\n")
        names, columns = list_columns(data, target)
        for column in columns:
            _check_texts(column)
        if names is not None:
            _check_texts(np.array([name for name in names if name]))
            writer.writerow(names)
        writer.writerows(zip(*map(shorten_numbers, columns), strict=True))
        text.detach()


class CsvFormat(_DelimitedFormat):
    """Comma-separated values; semicolons and tabs are accepted too."""

    name = "csv"
    endings = (".csv",)
    delimiter = ","

    def matches_line(self, line: bytes) -> bool:
        """Return whether a line is printable text with a separator."""
        try:
            text = line.decode()
        except UnicodeDecodeError:
            return False
        is_shown = text.replace("\t", " ").isprintable()
        return is_shown and any(mark in text for mark in _DELIMITERS)

    def find_delimiter(self, line: bytes) -> str:
        """Return the separator that occurs most often."""
        return max(_DELIMITERS, key=lambda mark: line.count(mark.encode()))


class TsvFormat(_DelimitedFormat):
    """Tab-separated values."""

    name = "tsv"
    endings = (".tsv", ".tab")
    delimiter = "\t"


def _open_categories(
    source: str, columns: Columns, categories: Categories, sample: Sequence[Sequence[str]]
) -> dict[int, CategoryIndex]:
    """Return the indexes that collect the values of text features."""
    if categories == "refuse":
        return {}
    if categories == "one-hot":
        return {
            k: CategoryIndex()
            for k, i in enumerate(columns.features)
            if any(is_text(row[i]) for row in sample if len(row) == columns.n_columns)
        }
    called = {columns.name_of(i): k for k, i in enumerate(columns.features)}
    unknown = [name for name in categories if name not in called]
    if unknown:
        raise ArgumentError(
            Argument("categories"),
            f' has "{unknown[0]}", which is not a feature of {source}. Its features are '
            f"{', '.join(list(called)[:20])}.{did_you_mean(unknown[0], called)}",
        )
    given = categories if isinstance(categories, Mapping) else dict.fromkeys(categories)
    return {called[name]: CategoryIndex(values) for name, values in given.items()}


def _check_texts(values: NDArray[Any]) -> None:
    """Reject text that would not read back: fields are stripped, samples end with their line."""
    texts = set() if values.dtype.kind in "biuf" else set(map(str, values.tolist()))
    bad = [text for text in texts if not text or text.strip() != text or set(text) & {"\n", "\r"}]
    if bad:
        raise ArgumentError(
            "text in CSV and TSV files cannot be blank, have spaces around it or contain line "
            f"breaks; got {min(bad)!r}. Use another format."
        )
