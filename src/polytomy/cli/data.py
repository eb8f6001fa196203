"""Options of the commands that read data, and what they mean."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polytomy.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "AsJson",
    "DataFile",
    "Features",
    "Format",
    "Header",
    "ModelFile",
    "OneHot",
    "Scale",
    "Target",
    "Trusted",
    "column_of",
    "read_scaled",
    "scaler_of",
    "to_json",
]

SCALES = ("standard", "minmax", "none")

DataFile = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, LIBSVM, Parquet, npz, LVQ or .vec file, text also as .gz.",
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
        "--format", help="csv, tsv, svmlight, parquet, npz, lvq or agf; else by the name."
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
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


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
    from polytomy.datasets import read_data

    data = read_data(
        path,
        format=format,
        target=column_of(target),
        header=header,
        categories="one-hot" if one_hot else "refuse",
    )
    if data.y is None:
        raise ArgumentError(f"{path} has no labels; give a file that has")
    scaler = scaler_of(scale, data.X)
    return (data.X if scaler is None else scaler.fit_transform(data.X)), data.y


def column_of(target: str) -> str | int:
    """Return a column as it is given on the command line: a number is a position."""
    try:
        return int(target)
    except ValueError:
        return target


def scaler_of(scale: str, X: Any) -> Any:
    """Return the unfitted scaler that an option names; None for no scaling."""
    from scipy.sparse import issparse
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

    if scale not in SCALES:
        raise ArgumentError(f"--scale {scale} is not known; use one of {', '.join(SCALES)}")
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
