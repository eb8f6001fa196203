"""Folders of data files with the same columns, such as those that clusters write.

Each file is a part of the data. A survey of all files first finds what every part needs to
know: the classes and the values of text columns. So files can be read on different machines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.datasets.columns import Target
from polytomy.datasets.dataset import Data
from polytomy.datasets.file_reader import (
    open_table,
    read_data,
    read_row_groups,
    rows_per_block,
)
from polytomy.datasets.folder_files import list_files
from polytomy.datasets.formats import FORMATS, find_format
from polytomy.datasets.label_index import LabelIndex
from polytomy.datasets.parquet import count_parquet_rows
from polytomy.datasets.table_blocks import NoRowsError
from polytomy.errors import Argument, ArgumentError, DataError

__all__ = [
    "FilePart",
    "FileSurvey",
    "FolderSurvey",
    "divide_files",
    "is_empty_file",
    "list_data_files",
    "merge_surveys",
    "read_part",
    "survey_file",
]

_KINDS = ("parquet", "csv", "tsv")

# Size of the samples of a part of a Parquet file.
_PART_BYTES = 2**27


def list_data_files(path: str | Path, format: str | None = None) -> list[Path]:
    """Return the data files of a folder, sorted by name; or the file itself."""
    folder = Path(path)
    if not folder.exists():
        raise DataError(f"{folder}: there is no such folder")
    if not folder.is_dir():
        return [folder]
    endings = tuple(ending for kind in _KINDS for ending in FORMATS[kind])
    files = list_files(folder, endings if format is None else ())
    if not files:
        raise DataError(f"{folder}: the folder has no Parquet, CSV or TSV files")
    kinds = {find_format(file, format) for file in files}
    if len(kinds) > 1:
        raise DataError(
            f"{folder}: the folder has files of the formats {' and '.join(sorted(kinds))}. Set ",
            Argument("format"),
            " or use one folder for each.",
        )
    if not kinds <= set(_KINDS):
        raise ArgumentError(
            Argument("format", kinds.pop()),
            " cannot be read from a folder. Use Parquet, CSV or TSV files.",
        )
    return files


def is_empty_file(file: Path, format: str | None = None, header: bool | None = None) -> bool:
    """Return whether a file has no rows, like some of the files that clusters write."""
    if find_format(file, format) == "parquet":
        return count_parquet_rows(file) == 0
    try:
        open_table(file, format, None, header, None, "refuse", None)
    except NoRowsError:
        return True
    return False


@dataclass(frozen=True, slots=True, eq=False)
class FileSurvey:
    """The survey of one file.

    Attributes
    ----------
    n_rows : int
    labels : list of the labels that occur
    columns : names of the columns of features, or None
    n_columns : number of these columns
    label_name : name of the label column, or None
    categories : dict of text columns and their values
    row_groups : number of rows of each row group of a Parquet file; empty for other formats
    """

    n_rows: int = 0
    labels: list[Any] = field(default_factory=list)
    columns: tuple[str, ...] | None = None
    n_columns: int = 0
    label_name: str | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    row_groups: tuple[int, ...] = ()


def survey_file(
    file: Path, target: Target, format: str | None, header: bool | None, one_hot: bool
) -> FileSurvey:
    """Return the survey of one file, which is read in blocks.

    Parameters
    ----------
    file, target, format, header : see `polytomy.datasets.read_data`
    one_hot : bool, whether to one-hot encode text columns
    """
    if is_empty_file(file, format, header):
        return FileSurvey()
    categories = "one-hot" if one_hot else "refuse"
    table = open_table(file, format, target, header, None, categories, None)
    numbers: set[int] = set()
    n_rows = 0
    for block in table.blocks(rows_per_block(table)):
        assert block.labels is not None, "labels were requested"
        numbers.update(np.unique(block.labels).tolist())
        n_rows += len(block.row_numbers)
    # Labels stay as they are written, because their type also depends on the other files.
    labels = table.label_index.labels(sorted(numbers), are_all=False)
    names = table.feature_names
    called = names or tuple(f"x{k + 1}" for k in range(table.n_features))
    chosen = getattr(table, "columns", None)
    return FileSurvey(
        n_rows,
        np.unique(labels).tolist(),
        names,
        table.n_features,
        None if chosen is None else chosen.label_name,
        {called[k]: index.values for k, index in table.categories.items()},
        getattr(table, "rows_of_groups", ()),
    )


@dataclass(frozen=True, slots=True, eq=False)
class FolderSurvey:
    """The survey of a folder: what all its files have in common.

    Attributes
    ----------
    n_rows : int
    classes : array of all labels, sorted; integers if all labels are integers
    columns, n_columns, label_name : as in `FileSurvey`
    categories : dict of text columns and all of their values, sorted
    """

    n_rows: int
    classes: NDArray[Any]
    columns: tuple[str, ...] | None
    n_columns: int
    label_name: str | None
    categories: dict[str, tuple[str, ...]]

    @property
    def n_features(self) -> int:
        """Number of features after one-hot encoding."""
        return self.n_columns + sum(len(values) - 1 for values in self.categories.values())


def merge_surveys(files: Sequence[Path], surveys: Sequence[FileSurvey]) -> FolderSurvey:
    """Return what all files have in common; DataError if their columns differ."""
    filled = [pair for pair in zip(files, surveys, strict=True) if pair[1].n_rows]
    if not filled:
        raise DataError(f"{files[0].parent}: the files have no rows")
    first_file, first = filled[0]
    labels: dict[Any, None] = {}
    categories: dict[str, set[str]] = {}
    for file, survey in filled:
        if (survey.columns, survey.n_columns) != (first.columns, first.n_columns):
            raise DataError(
                f"{file}: the columns are not those of {first_file}. All files of a folder need "
                "the same columns, in the same order."
            )
        if {isinstance(label, str) for label in (*survey.labels, *labels)} == {True, False}:
            kind = "text" if isinstance(survey.labels[0], str) else "numbers"
            raise DataError(
                f"{file}: the labels are {kind}, but not in the files before it. Use one kind of "
                "labels."
            )
        labels.update(dict.fromkeys(survey.labels))
        for name, values in survey.categories.items():
            categories.setdefault(name, set()).update(values)
    index = LabelIndex()
    numbers = [index.number(label) for label in labels]
    return FolderSurvey(
        sum(survey.n_rows for _, survey in filled),
        np.unique(index.labels(numbers)),
        first.columns,
        first.n_columns,
        first.label_name,
        {name: tuple(sorted(values)) for name, values in categories.items()},
    )


class FilePart(NamedTuple):
    """A file, or some row groups of a large Parquet file.

    Attributes
    ----------
    file : Path
    row_groups : numbers of consecutive row groups; None for all of the file
    """

    file: Path
    row_groups: tuple[int, ...] | None = None


def divide_files(
    files: Sequence[Path], surveys: Sequence[FileSurvey], survey: FolderSurvey
) -> list[FilePart]:
    """Return the parts in which to read files: whole files, and large Parquet files in pieces.

    A piece has as many row groups as fit in 128 MB, or one if it is larger. Files without rows have
    no part.
    """
    parts: list[FilePart] = []
    most_rows = max(1, _PART_BYTES // (8 * max(1, survey.n_features)))
    for file, own in zip(files, surveys, strict=True):
        if not own.n_rows:
            continue
        if own.n_rows <= most_rows or len(own.row_groups) < 2:
            parts.append(FilePart(file))
            continue
        piece: list[int] = []
        for number, n_rows in enumerate(own.row_groups):
            if piece and sum(own.row_groups[k] for k in piece) + n_rows > most_rows:
                parts.append(FilePart(file, tuple(piece)))
                piece = []
            piece.append(number)
        parts.append(FilePart(file, tuple(piece)))
    return parts


def read_part(
    part: FilePart, survey: FolderSurvey, target: Target, format: str | None, header: bool | None
) -> tuple[Any, NDArray[Any]]:
    """Return the samples of one part and their labels, typed as those of all files."""
    options: dict[str, Any] = {
        "target": target,
        "features": survey.n_columns if survey.columns is None else survey.columns,
        "categories": survey.categories or "refuse",
        "classes": survey.classes,
    }
    data: Data
    if part.row_groups is not None:
        data = read_row_groups(part.file, part.row_groups, **options)
    else:
        data = read_data(part.file, format=format, header=header, **options)
    assert data.y is not None
    return data.X, data.y
