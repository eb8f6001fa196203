"""Folders of data files with the same columns, such as those that clusters write.

Each file is a part of the data. What a part needs to know of the others, the classes and the values
of text columns, a survey of all files finds first; so files can be read on different machines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.datasets.columns import Target
from polytomy.datasets.dataset import Data
from polytomy.datasets.file_reader import open_blocks, read_data
from polytomy.datasets.formats import FORMATS, find_format
from polytomy.datasets.label_index import LabelIndex
from polytomy.datasets.parquet import import_pyarrow
from polytomy.errors import Argument, ArgumentError, DataError

__all__ = [
    "FileSurvey",
    "FolderSurvey",
    "is_empty_part",
    "list_parts",
    "merge_surveys",
    "read_part",
    "survey_file",
]

_KINDS = ("parquet", "csv", "tsv")


def list_parts(path: str | Path, format: str | None = None) -> list[Path]:
    """Return the data files of a folder, sorted by name; or the file itself.

    Files whose names start with a dot or an underscore are not data.
    """
    folder = Path(path)
    if not folder.exists():
        raise DataError(f"{folder}: there is no such folder")
    if not folder.is_dir():
        return [folder]
    endings = [ending for kind in _KINDS for ending in FORMATS[kind]]
    files = sorted(
        file
        for file in folder.rglob("*")
        if file.is_file()
        and not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
        and (format is not None or file.name.lower().removesuffix(".gz").endswith(tuple(endings)))
    )
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


def is_empty_part(file: Path, format: str | None = None) -> bool:
    """Return whether a Parquet file has no rows, as some of a cluster's files do."""
    if find_format(file, format) != "parquet":
        return False
    arrow = import_pyarrow()
    try:
        return bool(arrow.parquet.read_metadata(file).num_rows == 0)
    except arrow.ArrowException as error:
        raise DataError(f"{file}: this is not a Parquet file: {error}") from error


@dataclass(frozen=True, slots=True, eq=False)
class FileSurvey:
    """What one file has.

    Attributes
    ----------
    n_rows : int
    labels : list of the labels that occur
    columns : names of the columns of features, or None
    n_columns : number of these columns
    label_name : name of the label column, or None
    categories : dict of text columns and their values
    """

    n_rows: int = 0
    labels: list[Any] = field(default_factory=list)
    columns: tuple[str, ...] | None = None
    n_columns: int = 0
    label_name: str | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def survey_file(
    file: Path, target: Target, format: str | None, header: bool | None, one_hot: bool
) -> FileSurvey:
    """Return what one file has, read in blocks unless text columns are to be encoded.

    Parameters
    ----------
    file, target, format, header : see `polytomy.datasets.read_data`
    one_hot : bool, whether to one-hot encode text columns
    """
    if is_empty_part(file, format):
        return FileSurvey()
    options: dict[str, Any] = {"format": format, "target": target, "header": header}
    if one_hot:
        # Blocks cannot be encoded before all values are known.
        whole = read_data(file, categories="one-hot", **options)
        options["categories"] = whole.categories or "refuse"
    labels: set[Any] = set()
    n_rows, last = 0, None
    for block in open_blocks(file, **options):
        assert block.y is not None
        labels.update(np.unique(block.y).tolist())
        n_rows, last = n_rows + block.n_samples, block
    if last is None:
        raise DataError(f"{file}: the file has no rows")
    n_added = sum(len(values) - 1 for values in last.categories.values())
    return FileSurvey(
        n_rows,
        sorted(labels),
        last.columns,
        last.n_features - n_added,
        last.label_name,
        last.categories,
    )


@dataclass(frozen=True, slots=True, eq=False)
class FolderSurvey:
    """What all files of a folder have in common.

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


def read_part(
    file: Path, survey: FolderSurvey, target: Target, format: str | None, header: bool | None
) -> tuple[Any, NDArray[Any]]:
    """Return the samples of one file and their labels, typed as those of all files."""
    if is_empty_part(file, format):
        return np.empty((0, survey.n_features)), survey.classes[:0]
    data: Data = read_data(
        file,
        format=format,
        target=target,
        header=header,
        features=survey.n_columns if survey.columns is None else survey.columns,
        categories=survey.categories or "refuse",
        classes=survey.classes,
    )
    assert data.y is not None
    return data.X, data.y
