"""Folders of data files with the same columns, such as those that clusters write.

Each file is a part of the data. A survey of all files first finds what every part needs to
know: the classes and the values of text columns. So files can be read on different machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.datasets import FORMATS, find_format
from polytomy.datasets.columns import LabelIndex, Target
from polytomy.datasets.parquet import ParquetTable
from polytomy.datasets.reading import Scan, open_table, read_table, scan_table
from polytomy.datasets.sources import list_files
from polytomy.datasets.tables import NoRowsError, ReadOptions
from polytomy.errors import Argument, ArgumentError, DataError

# Size of the samples of a part of a Parquet file.
_PART_BYTES = 2**27


def list_data_files(path: str | Path, format: str | None = None) -> list[Path]:
    """Return the data files of a folder, sorted by name; or the file itself."""
    folder = Path(path)
    if not folder.exists():
        raise DataError(f"{folder}: there is no such folder")
    if not folder.is_dir():
        return [folder]
    known = [kind for kind in FORMATS.values() if kind.is_in_folders]
    endings = tuple(ending for kind in known for ending in kind.endings)
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
    if not FORMATS[min(kinds)].is_in_folders:
        raise ArgumentError(
            Argument("format", kinds.pop()),
            " cannot be read from a folder. Use Parquet, CSV or TSV files.",
        )
    return files


class FileSurvey(NamedTuple):
    """The survey of one file.

    Attributes
    ----------
    scan : what a pass over the file has found; None if it has no rows
    row_groups : number of rows of each row group of a Parquet file; empty for other formats
    """

    scan: Scan | None
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
    options = ReadOptions(target, header, categories="one-hot" if one_hot else "refuse")
    try:
        table = open_table(file, format, options)
    except NoRowsError:
        return FileSurvey(None)
    # Labels stay as they are written, because their type also depends on the other files.
    scan = scan_table(table, are_all=False)
    return FileSurvey(scan, table.rows_of_groups if isinstance(table, ParquetTable) else ())


@dataclass(frozen=True, slots=True, eq=False)
class FolderSurvey:
    """The survey of a folder: what all its files have in common.

    Attributes
    ----------
    n_rows : int
    classes : array of all labels, sorted; integers if all labels are integers
    columns : names of the columns of features, or None
    n_columns : number of these columns
    label_name : name of the label column, or None
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
    filled = [
        (file, survey.scan)
        for file, survey in zip(files, surveys, strict=True)
        if survey.scan is not None
    ]
    if not filled:
        raise DataError(f"{files[0].parent}: the files have no rows")
    first_file, first = filled[0]
    index = LabelIndex()
    categories: dict[str, set[str]] = {}
    for file, scan in filled:
        if (scan.columns, scan.n_features) != (first.columns, first.n_features):
            raise DataError(
                f"{file}: the columns are not those of {first_file}. All files of a folder need "
                "the same columns, in the same order."
            )
        if (scan.classes.dtype.kind == "U") != (first.classes.dtype.kind == "U"):
            kind = "text" if scan.classes.dtype.kind == "U" else "numbers"
            raise DataError(
                f"{file}: the labels are {kind}, but not in the files before it. Use one kind of "
                "labels."
            )
        for label in scan.classes.tolist():
            index.number(label)
        for name, values in scan.categories.items():
            categories.setdefault(name, set()).update(values)
    return FolderSurvey(
        sum(scan.n_rows for _, scan in filled),
        np.unique(index.found()),
        first.columns,
        first.n_features,
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
        if own.scan is None:
            continue
        if own.scan.n_rows <= most_rows or len(own.row_groups) < 2:
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
    options = ReadOptions(
        target,
        header,
        survey.n_columns if survey.columns is None else survey.columns,
        survey.categories or "refuse",
        survey.classes,
    )
    if part.row_groups is None:
        data = read_table(open_table(part.file, format, options))
    else:
        data = read_table(ParquetTable(part.file, options, part.row_groups))
    assert data.y is not None
    return data.X, data.y
