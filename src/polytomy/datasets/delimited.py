"""Tables as text: CSV, TSV and LVQ, parsed by NumPy's own reader block by block."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.datasets.categories import Categories, CategoryIndex
from polytomy.datasets.columns import Columns, Features, Target, choose_columns
from polytomy.datasets.headers import find_header
from polytomy.datasets.labels import LabelIndex, UnknownLabelError
from polytomy.datasets.lines import LineBlock, line_blocks
from polytomy.datasets.places import is_text, problem_at, what_is_wrong
from polytomy.datasets.streams import Source
from polytomy.datasets.table import RawBlock
from polytomy.errors import ArgumentError, DataError

__all__ = ["DelimitedTable", "Dialect"]

# So many lines show which columns hold text.
_SAMPLE = 1000


class Dialect(NamedTuple):
    """How a table is written.

    Attributes
    ----------
    delimiter : what stands between two fields; None for any white space
    header : whether the first line names the columns; None to look
    comment : what a comment begins with
    skip : how many lines come before the table
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


class DelimitedTable:
    """A table in a text file.

    Parameters
    ----------
    path : file or stream, gzipped or not
    dialect : how it is written
    target, features : see `choose_columns`
    categories : see `polytomy.datasets.read_data`
    index : where the labels are collected
    """

    def __init__(
        self,
        path: Source,
        dialect: Dialect,
        *,
        target: Target,
        features: Features,
        categories: Categories,
        index: LabelIndex,
    ) -> None:
        self._path, self._source, self._dialect, self.index = path, os.fspath(path), dialect, index
        sample, numbers = next(self._text_blocks(_SAMPLE), ([], []))
        if not sample:
            raise DataError(f"{self._source}: the file is empty")
        fields = [self._fields(line, n) for line, n in zip(sample, numbers, strict=True)]
        self._first_line = numbers[0]
        self._has_header = dialect.header or False
        if dialect.header is None:
            self._has_header = find_header(
                fields[0], target, features, self._source, self._first_line
            )
        names = fields.pop(0) if self._has_header else None
        if not fields:
            raise DataError(f"{self._source}: there is a header but no data")
        n_columns = len(fields[0] if names is None else names)
        self.columns: Columns = choose_columns(self._source, n_columns, names, target, features)
        self.categories = self._open_categories(categories, fields)
        # Then it was decided before what becomes of columns of text.
        self._are_known = features is not None

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the features; None without a header."""
        return self.columns.feature_names

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.columns.features)

    @property
    def bytes_of_row(self) -> int:
        """Bytes that a sample takes."""
        return 8 * self.n_features

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, so many at a time; DataError says where one is wrong."""
        is_first = True
        for block in self._text_blocks(n_rows, is_last=True):
            lines, numbers = block
            if is_first and self._has_header:
                lines, numbers = lines[1:], numbers[1:]
            is_first = False
            if lines:
                yield self._parse(lines, np.array(numbers, dtype=np.int64))

    def _parse(self, lines: list[str], numbers: NDArray[np.int64]) -> RawBlock:
        columns = self.columns
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
        # A quoted field that runs over the end of its line makes fewer rows than lines.
        if table.shape != (len(lines), columns.n_columns):
            raise self._explain(lines, numbers, None)
        X = table[:, list(columns.features)]
        if not np.all(np.isfinite(X)):
            raise self._explain(lines, numbers, None)
        labels = None if columns.target is None else table[:, columns.target].astype(np.intp)
        return RawBlock(X, labels, numbers)

    def _converters(self) -> dict[int | str, Callable[[str], float]]:
        """Return what turns columns of text, and the label, into numbers; unused ones into zero."""
        used = {*self.columns.features, self.columns.target}
        converters: dict[int | str, Callable[[str], float]] = {
            i: _ignore for i in range(self.columns.n_columns) if i not in used
        }
        for column, values in self.categories.items():
            converters[self.columns.features[column]] = values.number
        if self.columns.target is not None:
            converters[self.columns.target] = self._label_number
        return converters

    def _label_number(self, text: str) -> int:
        text = text.strip()
        if not text:
            raise ValueError("the label is missing")
        return self.index.number(text)

    def _explain(
        self, lines: list[str], numbers: NDArray[np.int64], error: ValueError | None
    ) -> DataError:
        """Return what is wrong with the first bad line of a block, and where."""
        columns = self.columns
        for line, number in zip(lines, numbers.tolist(), strict=True):
            fields = self._fields(line, number)
            if self._dialect.delimiter is not None and _is_open(line, self._dialect.delimiter):
                what = "a quoted field does not end on this line. Put each sample on one line"
                return problem_at(self._source, what, line=number)
            if len(fields) != columns.n_columns:
                what = f"there are {len(fields)} fields, but {columns.n_columns} columns"
                return problem_at(self._source, what, line=number)
            for column, text in enumerate(fields):
                if wrong := self._what_is_wrong(column, text):
                    if number == self._first_line and self._dialect.header is None:
                        wrong += ". Say header=True if the line names the columns"
                    return problem_at(
                        self._source, wrong, line=number, column=column, names=columns.names
                    )
        reason = "" if error is None else f": {error}"
        return DataError(
            f"{self._source}: lines {numbers[0]} to {numbers[-1]} are no table{reason}"
        )

    def _what_is_wrong(self, column: int, text: str) -> str | None:
        if column == self.columns.target:
            try:
                self._label_number(text)
            except UnknownLabelError as error:
                return f'label "{text}" {error}'
            except ValueError as error:
                return str(error)
            return None
        if column not in self.columns.features:
            return None
        values = self.categories.get(self.columns.features.index(column))
        if values is not None:
            return values.what_is_wrong(text)
        wrong = what_is_wrong(text)
        if is_text(text) and not self._are_known:
            return f"{wrong}" + (
                '. Use categories="one-hot" for columns of text, or target= to name the label'
            )
        return wrong

    def _fields(self, line: str, number: int) -> list[str]:
        try:
            return self._dialect.fields(line)
        except csv.Error:
            what = (
                f"a field is longer than {csv.field_size_limit():,} characters. Is a quotation "
                "mark missing?"
            )
            raise problem_at(self._source, what, line=number) from None

    def _text_blocks(
        self, n_rows: int, *, is_last: bool = False
    ) -> Iterator[tuple[list[str], list[int]]]:
        skip, comment = self._dialect.skip, self._dialect.comment
        for block in line_blocks(self._path, n_rows, comment=comment, is_last=is_last):
            lines, numbers = self._decoded(block), block.numbers
            if skip:
                skip, lines, numbers = max(0, skip - len(lines)), lines[skip:], numbers[skip:]
            if lines:
                yield lines, numbers

    def _decoded(self, block: LineBlock) -> list[str]:
        try:
            return b"\n".join(block.lines).decode().split("\n")
        except UnicodeDecodeError:
            pass
        for line, number in zip(block.lines, block.numbers, strict=True):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                what = f"byte {line[error.start]:#04x} is not UTF-8 text; save the file as UTF-8"
                raise problem_at(self._source, what, line=number) from None
        raise AssertionError("lines that decode one by one decode together")

    def _open_categories(
        self, categories: Categories, sample: list[list[str]]
    ) -> dict[int, CategoryIndex]:
        """Return for each feature that is text where its values are collected."""
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
                f"categories has {unknown[0]!r}, which is no feature of {self._source}. Its "
                f"features are {', '.join(list(called)[:20])}."
            )
        given = categories if isinstance(categories, Mapping) else dict.fromkeys(categories)
        return {called[name]: CategoryIndex(values) for name, values in given.items()}


def _ignore(_: str) -> float:
    return 0.0


def _is_open(line: str, delimiter: str) -> bool:
    """Tell whether a line ends inside a quoted field."""
    if line.count('"') % 2 == 0:
        return False
    closed: list[str] = next(csv.reader([line + '"'], delimiter=delimiter))
    as_it_is: list[str] = next(csv.reader([line], delimiter=delimiter))
    return closed == as_it_is
