"""Folders of Parquet files, read as one table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from polytomy.datasets.categories import Categories, CategoryIndex
from polytomy.datasets.columns import Columns, ColumnTable, Features, Target
from polytomy.datasets.folder_files import PARQUET_ENDINGS, list_files
from polytomy.datasets.label_index import LabelIndex
from polytomy.datasets.parquet import ParquetTable, count_parquet_rows
from polytomy.datasets.table_blocks import RawBlock
from polytomy.errors import DataError

__all__ = ["ParquetFolder"]


class ParquetFolder(ColumnTable):
    """A table whose rows are in several Parquet files; only one of them is open at a time.

    All files must have the columns of the first. Files without rows are skipped.

    Parameters
    ----------
    path : folder
    target, features, categories, label_index : see `ParquetTable`
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        target: Target,
        features: Features,
        categories: Categories,
        label_index: LabelIndex,
    ) -> None:
        counts = {part: count_parquet_rows(part) for part in list_files(path, PARQUET_ENDINGS)}
        self._parts = [part for part, n_rows in counts.items() if n_rows]
        if not self._parts:
            raise DataError(f"{os.fspath(path)}: the *.parquet files in the folder have no rows")
        self.n_rows = sum(counts.values())
        self.label_index = label_index
        self._options: dict[str, Any] = {"label_index": label_index, "categories": categories}
        first = ParquetTable(self._parts[0], target=target, features=features, **self._options)
        self.columns: Columns = first.columns
        self.categories: Mapping[int, CategoryIndex] = first.categories
        for part in self._parts[1:]:
            self._open(part)  # its columns are checked before anything is read

    def _open(self, part: Path) -> ParquetTable:
        columns = self.columns
        table = ParquetTable(
            part, target=columns.label_name, features=columns.feature_names, **self._options
        )
        table.categories = dict(self.categories)  # values are numbered across all files
        return table

    def blocks(self, n_rows: int) -> Iterator[RawBlock]:
        """Yield the samples, at most `n_rows` at a time; DataError gives the place of a bad one."""
        for part in self._parts:
            yield from self._open(part).blocks(n_rows)
