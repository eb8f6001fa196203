"""Tables in text files: CSV, TSV and LVQ, parsed by pyarrow or NumPy block by block."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray

from polytomy.datasets.arrow_text import ArrowParser, ParsedText
from polytomy.datasets.categories import Categories, CategoryIndex
from polytomy.datasets.columns import Columns, ColumnTable, Features, Target, choose_columns
from polytomy.datasets.headers import is_header
from polytomy.datasets.label_index import InvalidLabelError, LabelIndex, show_label
from polytomy.datasets.located_errors import error_at
from polytomy.datasets.number_fields import is_text, why_not_a_number
from polytomy.datasets.read_ahead import read_ahead
from polytomy.datasets.streams import Source, Stream
from polytomy.datasets.table_blocks import NoRowsError, RawBlock
from polytomy.datasets.text_lines import TextBlock, text_blocks
from polytomy.errors import Argument, ArgumentError, DataError
from polytomy.inputs.arguments import did_you_mean

__all__ = ["DelimitedTable", "Dialect"]

# Number of lines from which text columns are detected.
_N_SAMPLED = 1000
# Number of parsing threads. More would not help, because one thread reads the file.
_MOST_THREADS = 4
#: Limit on the number of columns of a text table.
MOST_COLUMNS = 2**20


class Dialect(NamedTuple):
    """How a table is written.

    Attributes
    ----------
    delimiter : separator of the fields; None for any whitespace
    header : whether the first line names the columns; None to detect it
    comment : start of a comment line
    skip : number of lines before the table
    """

    delimiter: str | None
    header: bool | None = None
    comment: bytes | None = None
    skip: int = 0

    def fields(self, line: str) -> list[str]:
        """Return the fields of a line."""
        if self.delimiter is None:
            return line.split()
        return [field.strip() for field in next(csv.reader([line], delimiter=self.delimiter))]


class DelimitedTable(ColumnTable):
    """A table in a text file.

    Parameters
    ----------
    path : file or stream, gzipped or not
    dialect : how the table is written
    target, features : see `choose_columns`
    categories : see `polytomy.datasets.read_data`
    label_index : collects the labels
    """

    n_rows = None

    def __init__(
        self,
        path: Source,
        dialect: Dialect,
        *,
        target: Target,
        features: Features,
        categories: Categories,
        label_index: LabelIndex,
    ) -> None:
        self._path, self._source, self._dialect = path, os.fspath(path), dialect
        self.label_index = label_index
        first = next(self._text_blocks(_N_SAMPLED), None)
        if first is None:
            raise NoRowsError(f"{self._source}: the file is empty")
        sample, numbers = self._decoded(first), first.numbers.tolist()
        # Only text columns need more than a header and a sample.
        n_parsed = len(sample) if categories == "one-hot" else 2
        pairs = zip(sample[:n_parsed], numbers[:n_parsed], strict=True)
        fields = [self._fields(line, number) for line, number in pairs]
        self._first_line = numbers[0]
        self._has_header = dialect.header or False
        if dialect.header is None:
            self._has_header = is_header(
                fields[0], target, features, self._source, self._first_line
            )
        names = fields.pop(0) if self._has_header else None
        if not fields:
            raise NoRowsError(f"{self._source}: the file has a header but no data")
        n_columns = len(fields[0] if names is None else names)
        self.columns: Columns = choose_columns(self._source, n_columns, names, target, features)
        self._feature_at = {column: k for k, column in enumerate(self.columns.features)}
        self.categories = self._open_categories(categories, fields)
        # Given features come from a trained model, which determines how text columns are read.
        self._are_features_given = features is not None

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""
        # A pipe may be slow: its samples are not held back until later ones arrive.
        n_threads = 0 if isinstance(self._path, Stream) else min(_MOST_THREADS, cpu_count())
        delimiter, columns = self._dialect.delimiter, self.columns
        if delimiter is None:
            yield from map(self._parse, self._sample_blocks(n_rows))
            return
        converters = self._text_numbers()
        parser = ArrowParser(delimiter, columns.n_columns, columns.features, converters)

        def parse(block: TextBlock) -> list[ParsedText] | None:
            return parser.parse(block.text, len(block.numbers))

        for block, parsed in read_ahead(parse, self._sample_blocks(n_rows), n_threads):
            converted = None if parsed is None else self._convert(parsed, block.numbers)
            yield from converted or [self._parse(block)]

    @cached_property
    def _text_features(self) -> dict[int, list[int]]:
        """The features that are columns of text, by their position in the table."""
        columns = self._text_numbers()
        places: dict[int, list[int]] = {}
        for k, column in enumerate(self.columns.features):
            if column in columns:
                places.setdefault(column, []).append(k)
        return places

    def _sample_blocks(self, n_rows: int) -> Iterator[TextBlock]:
        """Yield the lines that hold samples."""
        is_first = True
        for block in self._text_blocks(n_rows, is_last=True):
            samples = block.split(1)[1] if is_first and self._has_header else block
            is_first = False
            if len(samples.numbers):
                yield samples

    def _convert(
        self, parsed: list[ParsedText], numbers: NDArray[np.int64]
    ) -> list[RawBlock] | None:
        """Return the samples of a block; None if `_parse` has to find an error."""
        converted: list[RawBlock] = []
        first = 0
        for part in parsed:
            last = first + len(part.X)
            block = self._convert_part(part, numbers[first:last])
            if block is None:
                return None
            converted.append(block)
            first = last
        return converted

    def _convert_part(self, parsed: ParsedText, numbers: NDArray[np.int64]) -> RawBlock | None:
        """Return samples with numbers for their text; None if a text has no number."""
        labels = None
        for column, number_of in self._text_numbers().items():
            found = parsed.convert_text(column, number_of)
            if found is None:
                return None
            if column == self.columns.target:
                labels = found.astype(np.intp)
            # A column may be several features, and the labels may be one too.
            for k in self._text_features.get(column, ()):
                parsed.X[:, k] = found
        return RawBlock(parsed.X, labels, numbers)

    def _parse(self, block: TextBlock) -> RawBlock:
        columns, lines, numbers = self.columns, self._decoded(block), block.numbers
        try:
            table = np.loadtxt(
                lines,
                delimiter=self._dialect.delimiter,
                comments=None,
                quotechar=None if self._dialect.delimiter is None else '"',
                converters=self._converters(),
                encoding="utf-8",
                ndmin=2,
            )
        except ValueError as error:
            if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt | MemoryError):
                raise (error.__cause__ or error.__context__) from None  # type: ignore[misc]
            raise self._explain(lines, numbers, error) from None
        # A quoted field that spans several lines makes fewer rows than lines, unless it starts in
        # the last line.
        delimiter = self._dialect.delimiter
        is_open = delimiter is not None and _is_open(lines[-1], delimiter)
        if is_open or table.shape != (len(lines), columns.n_columns):
            raise self._explain(lines, numbers, None)
        X = table[:, list(columns.features)]
        if not np.all(np.isfinite(X)):
            raise self._explain(lines, numbers, None)
        labels = None if columns.target is None else table[:, columns.target].astype(np.intp)
        return RawBlock(X, labels, numbers)

    def _converters(self) -> dict[int | str, Callable[[str], float]]:
        """Return functions that turn text and labels into numbers, and unused columns into 0."""
        used = {*self.columns.features, self.columns.target}
        texts = self._text_numbers()
        return {
            i: texts.get(i, _ignore)
            for i in range(self.columns.n_columns)
            if i in texts or i not in used
        }

    def _text_numbers(self) -> dict[int, Callable[[str], float]]:
        """Return functions that turn the text of some columns into numbers."""
        features, target = self.columns.features, self.columns.target
        converters: dict[int, Callable[[str], float]] = {
            features[k]: values.number for k, values in self.categories.items()
        }
        return converters if target is None else {**converters, target: self._label_number}

    def _label_number(self, text: str) -> int:
        text = text.strip()
        if not text:
            raise ValueError("the label is missing")
        return self.label_index.number(text)

    def _explain(
        self, lines: list[str], numbers: NDArray[np.int64], error: ValueError | None
    ) -> DataError:
        """Return the error of the first bad line of a block."""
        columns = self.columns
        for line, number in zip(lines, numbers.tolist(), strict=True):
            fields = self._fields(line, number)
            if self._dialect.delimiter is not None and _is_open(line, self._dialect.delimiter):
                what = "a quoted field does not end on this line. Put each sample on one line."
                return error_at(self._source, what, line=number)
            if len(fields) != columns.n_columns:
                what = f"expected {columns.n_columns} fields; found {len(fields)}"
                return error_at(self._source, what, line=number)
            for column, text in enumerate(fields):
                if message := self._explain_field(column, text):
                    if number == self._first_line and self._dialect.header is None:
                        message += [". Use ", Argument("header", True)]
                        message += [" if this line names the columns"]
                    end = "." if len(message) > 1 else ""  # advice is a sentence of its own
                    return error_at(
                        self._source, *message, end, line=number, column=column, names=columns.names
                    )
        reason = "" if error is None else f": {error}"
        return DataError(
            f"{self._source}: lines {numbers[0]} to {numbers[-1]} cannot be parsed{reason}"
        )

    def _explain_field(self, column: int, text: str) -> list[str | Argument]:
        """Return the message for a bad field; empty if nothing is wrong."""
        if column == self.columns.target:
            try:
                self._label_number(text)
            except InvalidLabelError as error:
                return [f"label {show_label(text)} {error}"]
            except ValueError as error:
                return [str(error)]
            return []
        if column not in self._feature_at:
            return []
        values = self.categories.get(self._feature_at[column])
        reason = why_not_a_number(text) if values is None else values.why_invalid(text)
        if reason is None:
            return []
        if values is not None or self._are_features_given or not is_text(text):
            return [reason]
        return [
            f"{reason}. Use ",
            Argument("categories", "one-hot"),
            " for text columns, or set ",
            Argument("target"),
            " to the label column",
        ]

    def _fields(self, line: str, number: int) -> list[str]:
        # Counted before the line is split: each field takes far more memory than its text.
        if line.count(self._dialect.delimiter or " ") >= MOST_COLUMNS:
            what = f"the line has more than {MOST_COLUMNS:,} fields, the limit"
            raise error_at(self._source, what, line=number)
        try:
            return self._dialect.fields(line)
        except csv.Error:
            what = (
                f"a field is longer than {csv.field_size_limit():,} characters. Is a closing "
                "quote missing?"
            )
            raise error_at(self._source, what, line=number) from None

    def _text_blocks(self, n_rows: int, *, is_last: bool = False) -> Iterator[TextBlock]:
        skip, comment = self._dialect.skip, self._dialect.comment
        options: dict[str, Any] = {"is_last": is_last, "are_full": not is_last}
        for block in text_blocks(self._path, n_rows, comment=comment, **options):
            n_skipped = min(skip, len(block.numbers))
            skip -= n_skipped
            samples = block.split(n_skipped)[1] if n_skipped else block
            if len(samples.numbers):
                yield samples

    def _decoded(self, block: TextBlock) -> list[str]:
        """Return the lines of a block; DataError if one of them is not UTF-8 text."""
        try:
            return block.text.decode().split("\n")
        except UnicodeDecodeError:
            pass
        for line, number in zip(block.text.split(b"\n"), block.numbers.tolist(), strict=True):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                what = f"byte {line[error.start]:#04x} is not UTF-8 text; save the file as UTF-8"
                raise error_at(self._source, what, line=number) from None
        raise AssertionError("lines that decode one by one also decode together")

    def _open_categories(
        self, categories: Categories, sample: list[list[str]]
    ) -> dict[int, CategoryIndex]:
        """Return the indexes that collect the values of text features."""
        columns = self.columns
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
                f' has "{unknown[0]}", which is not a feature of {self._source}. Its features are '
                f"{', '.join(list(called)[:20])}.{did_you_mean(unknown[0], called)}",
            )
        given = categories if isinstance(categories, Mapping) else dict.fromkeys(categories)
        return {called[name]: CategoryIndex(values) for name, values in given.items()}


def _ignore(_: str) -> float:
    return 0.0


def _is_open(line: str, delimiter: str) -> bool:
    """Return whether a line ends inside a quoted field."""
    if line.count('"') % 2 == 0:
        return False
    closed: list[str] = next(csv.reader([line + '"'], delimiter=delimiter))
    as_it_is: list[str] = next(csv.reader([line], delimiter=delimiter))
    return closed == as_it_is
