"""Options of the commands that read data, and what they mean."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polytomy.cli.text_files import STANDARD_INPUT, STANDARD_INPUT_NAME, standard_input
from polytomy.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polytomy.datasets import Data, Source

__all__ = [
    "AsJson",
    "DataFile",
    "Features",
    "Format",
    "Header",
    "Jobs",
    "ModelFile",
    "OneHot",
    "Scale",
    "Seed",
    "Target",
    "Trusted",
    "check_choice",
    "column_of",
    "read_samples",
    "read_scaled",
    "scaler_of",
    "source_of",
    "to_json",
]

SCALES = ("standard", "minmax", "none")

DataFile = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, LIBSVM, Parquet, npz, LVQ or .vec file, text also as .gz; "
        "- reads standard input.",
    ),
]
Target = Annotated[
    str,
    typer.Option(
        help="Column of the class: its name, or its position; -1 is the last.", metavar="COLUMN"
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format", help="csv, tsv, svmlight, parquet, npz, lvq, agf or kernel; else by the name."
    ),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line names the columns."),
]
OneHot = Annotated[
    bool, typer.Option("--one-hot", help="Make features of columns of text, one for each value.")
]
Scale = Annotated[str, typer.Option(help="standard, minmax or none.", metavar="HOW")]
ModelFile = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="What train wrote, a model of LIBSVM, or a control file naming such."
    ),
]
Features = Annotated[
    int | None, typer.Option(min=1, help="Number of features, for models of LIBSVM.")
]
Trusted = Annotated[
    list[str] | None,
    typer.Option("--trust", help="A type in the file that may be made; again for each."),
]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="Fixes what is drawn at random, such as folds.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def _check_jobs(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("0 jobs do no work; give 1 or more, or -1 for all cores")
    return jobs


Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", callback=_check_jobs, help="Jobs over the binaries; -1 for all cores."
    ),
]


def source_of(path: str) -> Source:
    """Return what data is read from: standard input for -, a pipe, or a file."""
    from polytomy.datasets import Stream, open_source

    if path == STANDARD_INPUT:
        return Stream(standard_input(), STANDARD_INPUT_NAME)
    return open_source(path)


def read_samples(
    path: str,
    *,
    target: str,
    format: str | None,
    header: bool | None,
    one_hot: bool,
    features: int | None = None,
) -> tuple[Data, NDArray[Any]]:
    """Return the samples of a file, and their labels, which must be classes."""
    from polytomy.datasets import read_data

    source = source_of(path)
    column = column_of(target)
    data = read_data(
        source,
        format=format,
        target=column,
        header=header,
        categories="one-hot" if one_hot else "refuse",
        features=features,
    )
    labels = data.y
    assert labels is not None, "a column was asked for"
    if labels.dtype.kind == "f":
        fractions = labels[labels % 1 != 0].tolist()
        if fractions:
            place = repr(column) if data.label_name is None else f'"{data.label_name}"'
            raise DataError(
                f"{os.fspath(source)}, column {place}: labels such as {fractions[0]:g} are no "
                "classes, which are words or whole numbers. Name the column of the class with "
                "target=."
            )
    return data, labels


def read_scaled(
    path: str,
    *,
    target: str,
    scale: str,
    format: str | None,
    header: bool | None,
    one_hot: bool,
) -> tuple[Any, NDArray[Any]]:
    """Return the features of a file's samples, scaled, and their labels."""
    if format == "kernel":
        raise ArgumentError("--format kernel has no features; it is for train, predict, evaluate")
    data, labels = read_samples(path, target=target, format=format, header=header, one_hot=one_hot)
    scaler = scaler_of(scale, data.X)
    return (data.X if scaler is None else scaler.fit_transform(data.X)), labels


def column_of(target: str) -> str | int:
    """Return a column as it is given on the command line: a number is a position."""
    try:
        return int(target)
    except ValueError:
        return target


def check_choice(option: str, value: str, allowed: Sequence[str]) -> None:
    """Raise ArgumentError if an option has none of the values that are known."""
    if value not in allowed:
        raise ArgumentError(f"{option} {value} is not known; use one of {', '.join(allowed)}")


def scaler_of(scale: str, X: Any) -> Any:
    """Return the unfitted scaler that an option names; None for no scaling."""
    from scipy.sparse import issparse
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

    check_choice("--scale", scale, SCALES)
    if scale == "none":
        return None
    if issparse(X):
        # Zeros stay zeros, so that what is sparse stays sparse.
        return StandardScaler(with_mean=False) if scale == "standard" else MaxAbsScaler()
    return StandardScaler() if scale == "standard" else MinMaxScaler()


def to_json(value: Any) -> str:
    """Return a value as JSON; what is not finite becomes null."""
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):  # of NumPy
        return _plain(value.tolist())
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return None
    return value
