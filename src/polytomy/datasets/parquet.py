"""Tables in Parquet files, and in folders of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.datasets.columns import NO_WORD, CategoryIndex, choose_columns, number_labels
from polytomy.datasets.sources import list_files
from polytomy.datasets.tables import (
    Data,
    Format,
    NoRowsError,
    RawBlock,
    ReadOptions,
    Table,
    list_columns,
)
from polytomy.errors import Argument, DataError

# Bytes of a column to read ahead; without a limit, it would be a whole row group.
_READ_AHEAD = 2**18


class ParquetTable(Table):
    """A table in a Parquet file, which is read page by page.

    Parameters
    ----------
    source : file
    options : ReadOptions

    Attributes
    ----------
    columns : Columns to read
    """

    n_rows: int

    def __init__(self, source: str | os.PathLike[str], options: ReadOptions) -> None:
        from pyarrow import parquet

        super().__init__(source, options)
        with _reporting(self.source, "this is not a Parquet file"):
            self._file = parquet.ParquetFile(source, buffer_size=_READ_AHEAD)
            schema = self._file.schema_arrow
        self.n_rows = self._file.metadata.num_rows
        if self.n_rows < 1:
            raise NoRowsError(f"{self.source}: the file has no rows")
        names = _without_index(schema, options)
        self.columns = choose_columns(
            self.source, len(names), names, options.target, options.features
        )
        self.feature_names = self.columns.feature_names
        self.label_name = self.columns.label_name
        self.n_features = len(self.columns.features)
        self.bytes_per_row = 8 * self.n_features
        self.categories: Mapping[int, CategoryIndex] = self._open_categories(schema)
        if self.label_name is not None:
            kind = schema.field(self.label_name).type
            if not (_is_text(kind) or _is_number(_type_of_values(kind))):
                what = f"the column has type {kind}; labels must be numbers, text or booleans"
                raise self.error(what, column=self.columns.target, names=names)

    def _open_categories(self, schema: Any) -> dict[int, CategoryIndex]:
        """Return the indexes that collect the values of text features; other text is an error."""
        from pyarrow import types

        categories = self._options.categories
        given = categories if isinstance(categories, Mapping) else {}
        opened: dict[int, CategoryIndex] = {}
        for k, name in enumerate(self.called):
            kind = schema.field(name).type
            if _is_text(kind) and (categories == "one-hot" or name in categories):
                opened[k] = CategoryIndex(given.get(name))
            elif not (_is_number(kind) or types.is_decimal(kind)):
                message: list[str | Argument] = [f"the column has type {kind}, not a number"]
                if _is_text(kind):
                    message += [". Use ", Argument("categories", "one-hot"), " for text columns."]
                place = self.columns.features[k]
                raise self.error(*message, column=place, names=self.columns.names)
        return opened

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""
        wanted = [*self.called, *([] if self.label_name is None else [self.label_name])]
        first = 1
        with _reporting(self.source, "the Parquet file is damaged"):
            for batch in self._file.iter_batches(n_rows, columns=wanted):
                rows = np.arange(first, first + len(batch), dtype=np.int64)
                X = np.empty((len(batch), self.n_features))
                for k, name in enumerate(self.called):
                    X[:, k] = self._numbers(batch.column(name), k, rows)
                labels = None
                if self.label_name is not None:
                    labels = self._label_numbers(batch.column(self.label_name), rows)
                yield RawBlock(X, labels, rows)
                first += len(batch)

    def _label_numbers(self, column: Any, rows: NDArray[np.int64]) -> NDArray[np.intp]:
        position = self.columns.target
        column = self._check_complete(column, position, rows)
        if _is_text(column.type):
            return self._number_texts(column, self.label_index.number, position, rows)
        values = column.to_numpy(zero_copy_only=False)
        return number_labels(self.label_index, values, rows, self.source)

    def _numbers(self, column: Any, k: int, rows: NDArray[np.int64]) -> NDArray[Any]:
        position = self.columns.features[k]
        if k in self.categories:
            column = self._check_complete(column, position, rows)
            return self._number_texts(column, self.categories[k].number, position, rows)
        numbers = column.to_numpy(zero_copy_only=False).astype(np.float64)  # NaN if missing
        is_bad = np.isinf(numbers) if self._options.allows_missing else ~np.isfinite(numbers)
        if is_bad.any():
            first = int(np.argmax(is_bad))
            value = numbers[first]
            message: list[str | Argument] = [f"{value} is not a finite number"]
            if np.isnan(value):
                message = self._options.explain_missing()
            place = {"column": position, "names": self.columns.names}
            raise self.error(*message, row=int(rows[first]), **place)
        return np.asarray(numbers)

    def _number_texts(
        self,
        column: Any,
        number_of: Callable[[str], int],
        position: int | None,
        rows: NDArray[np.int64],
    ) -> NDArray[np.intp]:
        """Return the numbers of texts; each different text is looked up once."""
        words = column.dictionary_encode()
        places = words.indices.to_numpy()
        numbers: list[int] = []
        for text in words.dictionary.to_pylist():
            try:
                numbers.append(number_of(text))
            except ValueError as error:
                row = int(rows[np.argmax(places == len(numbers))])
                raise self._error(str(error), row, position) from None
        return np.asarray(np.array(numbers, dtype=np.intp)[places])

    def _check_complete(self, column: Any, position: int | None, rows: NDArray[np.int64]) -> Any:
        """Return the plain values of a column; DataError if one of them is missing."""
        if _type_of_values(column.type) != column.type:
            column = column.cast(column.type.value_type)
        if column.null_count:
            first = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            what = "the label is missing" if position == self.columns.target else NO_WORD
            raise self._error(what, int(rows[first]), position)
        return column

    def _error(self, what: str, row: int, position: int | None) -> DataError:
        return self.error(what, row=row, column=position, names=self.columns.names)


class ParquetFolder(Table):
    """A table whose rows are in several Parquet files; only one of them is open at a time.

    All files must have the columns of the first. Files without rows are skipped.

    Parameters
    ----------
    source : folder
    options : ReadOptions
    """

    def __init__(self, source: str | os.PathLike[str], options: ReadOptions) -> None:
        super().__init__(source, options)
        files = list_files(source, ParquetFormat.endings)
        counts = {file: _count_rows(file) for file in files}
        self._files = [file for file, n_rows in counts.items() if n_rows]
        if not self._files:
            raise self.error("the *.parquet files in the folder have no rows")
        self.n_rows = sum(counts.values())
        first = ParquetTable(self._files[0], options)
        self.feature_names, self.label_name = first.feature_names, first.label_name
        self.n_features, self.bytes_per_row = first.n_features, first.bytes_per_row
        self.categories = first.categories
        self._options = replace(options, target=first.label_name, features=first.feature_names)
        for file in self._files[1:]:
            ParquetTable(file, self._options)  # columns are checked before anything is read

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""
        for file in self._files:
            table = ParquetTable(file, self._options)
            # Labels and values are numbered across all files.
            table.label_index, table.categories = self.label_index, self.categories
            yield from table.blocks(n_rows)


class ParquetFormat(Format):
    """Parquet files, and folders of them."""

    name = "parquet"
    endings = (".parquet", ".pq")

    def matches_path(self, path: Path) -> bool:
        """Return whether a name ends like these files, or is that of a folder."""
        return path.is_dir() or super().matches_path(path)

    def open(self, source: str | os.PathLike[str], options: ReadOptions) -> Table:
        """Return a file or a folder as a table."""
        kind = ParquetFolder if Path(source).is_dir() else ParquetTable
        return kind(source, options)

    def write_to(self, stream: Any, data: Data, target: str) -> None:
        """Write samples in columns; features without names are called x1, x2, …"""
        import pyarrow as arrow
        from pyarrow import parquet

        names, columns = list_columns(data, target)
        if names is None:
            names = [f"x{k + 1}" for k in range(data.n_features)]
            names += [] if data.y is None else [target]
        parquet.write_table(arrow.table([arrow.array(c) for c in columns], names=names), stream)


def _count_rows(path: Path) -> int:
    """Return the number of rows that a Parquet file declares; DataError if it is not one."""
    from pyarrow import parquet

    with _reporting(os.fspath(path), "this is not a Parquet file"):
        return int(parquet.read_metadata(path).num_rows)


@contextmanager
def _reporting(source: str, problem: str) -> Iterator[None]:
    """Raise DataError instead of the errors that pyarrow raises for damaged files."""
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the file cannot be read at all
        raise DataError(f"{source}: {problem}: {error}") from error


def _without_index(schema: Any, options: ReadOptions) -> list[str]:
    """Return the names of the columns, without the index of a pandas frame.

    An index is a column only if it is requested by name: row numbers are not a feature, and they
    reveal the classes if the rows were sorted by class.
    """
    features = () if isinstance(options.features, int | None) else options.features
    index = (schema.pandas_metadata or {}).get("index_columns", ())
    hidden = {name for name in index if isinstance(name, str)} - {options.target, *features}
    return [name for name in schema.names if name not in hidden]


def _type_of_values(kind: Any) -> Any:
    """Return the type of the values of a column, which may be numbers in a dictionary."""
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    kind = _type_of_values(kind)
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))
