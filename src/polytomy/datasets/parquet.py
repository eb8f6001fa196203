"""Tables in Parquet files, read with the optional package pyarrow."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.datasets.categories import Categories, CategoryIndex
from polytomy.datasets.columns import Columns, ColumnTable, Features, Target, choose_columns
from polytomy.datasets.label_index import (
    InvalidLabelError,
    LabelIndex,
    number_labels,
    show_label,
)
from polytomy.datasets.located_errors import error_at
from polytomy.datasets.table_blocks import NoRowsError, RawBlock
from polytomy.errors import Argument, ArgumentError, DataError

__all__ = ["ParquetTable", "count_parquet_rows", "import_pyarrow"]

# Bytes of a column to read ahead; without a limit, it would be a whole row group.
_READ_AHEAD = 2**18


def import_pyarrow() -> Any:
    """Return pyarrow; if it is missing, raise an ArgumentError that says how to install it."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ArgumentError(
            "Parquet files need pyarrow. Install it with: pip install polytomy[parquet]"
        ) from error
    return pyarrow


def count_parquet_rows(path: str | os.PathLike[str]) -> int:
    """Return the number of rows that a Parquet file declares; DataError if it is not one."""
    arrow = import_pyarrow()
    try:
        return int(arrow.parquet.read_metadata(path).num_rows)
    except (arrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataError(f"{os.fspath(path)}: this is not a Parquet file: {error}") from error


def _without_index(schema: Any, target: Target, features: Features) -> list[str]:
    """Return the names of the columns, without the index of a pandas frame.

    An index is a column only if it is requested by name: row numbers are not a feature, and they
    reveal the classes if the rows were sorted by class.
    """
    asked = {target} if isinstance(features, int | None) else {target, *features}
    index = {
        name
        for name in (schema.pandas_metadata or {}).get("index_columns", ())
        if isinstance(name, str) and name not in asked
    }
    return [name for name in schema.names if name not in index]


class ParquetTable(ColumnTable):
    """A table in a Parquet file, which is read page by page.

    Parameters
    ----------
    path : file
    target, features : see `choose_columns`
    categories : see `polytomy.datasets.read_data`
    label_index : collects the labels
    row_groups : numbers of consecutive row groups to read; all by default

    Attributes
    ----------
    rows_of_groups : tuple of int, number of rows of each row group of the file
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        target: Target,
        features: Features,
        categories: Categories,
        label_index: LabelIndex,
        row_groups: Sequence[int] | None = None,
    ) -> None:
        self._arrow = import_pyarrow()
        self._source, self.label_index = os.fspath(path), label_index
        with self._reporting("this is not a Parquet file"):
            self._file = self._arrow.parquet.ParquetFile(path, buffer_size=_READ_AHEAD)
            schema = self._file.schema_arrow
            metadata = self._file.metadata
            sizes = [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]
        self.rows_of_groups = tuple(sizes)
        chosen = range(len(sizes)) if row_groups is None else row_groups
        self._row_groups = list(chosen)
        self._first_row = 1 + sum(sizes[: self._row_groups[0]] if self._row_groups else [])
        self.n_rows = sum(sizes[k] for k in self._row_groups)
        if self.n_rows < 1:
            raise NoRowsError(f"{self._source}: the file has no rows")
        names = _without_index(schema, target, features)
        self.columns: Columns = choose_columns(self._source, len(names), names, target, features)
        given = categories if isinstance(categories, Mapping) else {}
        self.categories: dict[int, CategoryIndex] = {}
        for k, name in enumerate(self.feature_names or ()):
            kind = schema.field(name).type
            is_text = self._is_text(kind)
            if is_text and (categories == "one-hot" or name in categories):
                self.categories[k] = CategoryIndex(given.get(name))
            elif is_text or not self._is_number(kind):
                message: list[str | Argument] = [f"the column has type {kind}, not a number"]
                if is_text:
                    message += [". Use ", Argument("categories", "one-hot"), " for text columns."]
                raise error_at(self._source, *message, column=self.columns.features[k], names=names)

        label = self.columns.target
        if label is not None and not self._is_label(kind := schema.field(names[label]).type):
            what = f"the column has type {kind}; labels must be numbers, text or booleans"
            raise error_at(self._source, what, column=label, names=names)

    @contextmanager
    def _reporting(self, problem: str) -> Iterator[None]:
        """Raise DataError instead of the errors that pyarrow raises for damaged files."""
        try:
            yield
        except (self._arrow.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the file cannot be read at all
            raise DataError(f"{self._source}: {problem}: {error}") from error

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""
        names = self.columns.names or ()
        wanted = list(self.feature_names or ())
        target = None if self.columns.target is None else names[self.columns.target]
        first = self._first_row
        with self._reporting("the Parquet file is damaged"):
            batches = self._file.iter_batches(
                n_rows, self._row_groups, columns=wanted if target is None else [*wanted, target]
            )
            for batch in batches:
                rows = np.arange(first, first + len(batch), dtype=np.int64)
                X = np.empty((len(batch), len(wanted)))
                for k, name in enumerate(wanted):
                    X[:, k] = self._numbers(batch.column(name), k, rows)
                labels = None
                if target is not None:
                    labels = self._label_numbers(batch.column(target), rows)
                yield RawBlock(X, labels, rows)
                first += len(batch)

    def _label_numbers(self, column: Any, rows: NDArray[np.int64]) -> NDArray[np.intp]:
        position = self.columns.target
        self._check_complete(column, position, rows)
        if self._arrow.types.is_dictionary(column.type):
            column = column.dictionary_decode()
            self._check_complete(column, position, rows)
        if not self._is_text(column.type):
            values = column.to_numpy(zero_copy_only=False)
            return number_labels(self.label_index, values, rows, self._source)
        values = column.to_pylist()
        numbers = np.empty(len(values), dtype=np.intp)
        for k, value in enumerate(values):
            try:
                numbers[k] = self.label_index.number(value)
            except InvalidLabelError as error:
                what = f"label {show_label(value)} {error}"
                raise self._error(what, int(rows[k]), position) from None
        return numbers

    def _numbers(self, column: Any, k: int, rows: NDArray[np.int64]) -> NDArray[Any]:
        position = self.columns.features[k]
        self._check_complete(column, position, rows)
        if k in self.categories:
            values = self.categories[k]
            for row, text in zip(rows.tolist(), column.to_pylist(), strict=True):
                if reason := values.why_invalid(str(text).strip()):
                    raise self._error(reason, row, position)
            return np.array([values.number(str(text)) for text in column.to_pylist()])
        numbers = column.to_numpy(zero_copy_only=False).astype(np.float64)
        if not np.isfinite(numbers).all():
            first = int(np.argmin(np.isfinite(numbers)))
            value = numbers[first]
            is_missing = np.isnan(value)
            what = "the value is missing (nan)" if is_missing else f"{value} is not a finite number"
            raise self._error(what, int(rows[first]), position)
        return np.asarray(numbers)

    def _check_complete(self, column: Any, position: int | None, rows: NDArray[np.int64]) -> None:
        if column.null_count:
            first = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise self._error("the value is missing", int(rows[first]), position)

    def _error(self, what: str, row: int, position: int | None) -> DataError:
        return error_at(self._source, what, row=row, column=position, names=self.columns.names)

    def _is_text(self, kind: Any) -> bool:
        types = self._arrow.types
        if types.is_dictionary(kind):
            kind = kind.value_type
        return bool(types.is_string(kind) or types.is_large_string(kind))

    def _is_label(self, kind: Any) -> bool:
        if self._arrow.types.is_dictionary(kind):
            kind = kind.value_type
        return self._is_text(kind) or self._is_number(kind)

    def _is_number(self, kind: Any) -> bool:
        types = self._arrow.types
        return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))
