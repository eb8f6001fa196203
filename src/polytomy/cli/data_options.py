"""Options of the commands that read data, and the data they read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polytomy.cli.completing import complete_names
from polytomy.cli.regression import as_numbers
from polytomy.cli.text_files import STANDARD_INPUT, STANDARD_INPUT_NAME, standard_input
from polytomy.errors import Argument, ArgumentError, DataError
from polytomy.inputs.arguments import did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polytomy.datasets import Data, Source

__all__ = [
    "AsJson",
    "Dask",
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
    "ZeroBased",
    "check_choice",
    "check_class_labels",
    "join_choices",
    "make_scaler",
    "open_data",
    "parse_column",
    "parse_zero_based",
    "read_samples",
    "read_scaled",
    "to_json",
]

SCALES = ("standard", "minmax", "none")
_FORMATS = ("csv", "tsv", "svmlight", "parquet", "npz", "lvq", "agf", "kernel")
_DATA = "Data"
_RUNNING = "Running"


def join_choices(choices: Iterable[str]) -> str:
    """Return choices as text: a, b or c."""
    *names, last = choices
    return f"{', '.join(names)} or {last}"


DataFile = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, LIBSVM, Parquet, npz, LVQ or libAGF file, or a folder of Parquet files; "
        "text formats may be gzipped; - reads standard input.",
    ),
]
Target = Annotated[
    str,
    typer.Option(
        metavar="COLUMN",
        help="Label column: its name or position; -1 is the last.",
        rich_help_panel=_DATA,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help=f"File format: {join_choices(_FORMATS)}; detected by default.",
        autocompletion=complete_names(_FORMATS),
        rich_help_panel=_DATA,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line names the columns; detected by default.",
        rich_help_panel=_DATA,
    ),
]
_ZERO_BASED: dict[str, Any] = {"auto": "auto", "yes": True, "no": False}
ZeroBased = Annotated[
    str,
    typer.Option(
        "--zero-based",
        metavar="auto|yes|no",
        help="Whether feature indices in LIBSVM data start at 0; auto: if index 0 occurs.",
        autocompletion=complete_names(_ZERO_BASED),
        rich_help_panel=_DATA,
    ),
]
OneHot = Annotated[
    bool,
    typer.Option("--one-hot", help="One-hot encode text columns.", rich_help_panel=_DATA),
]
Scale = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help=f"Scaling of the features: {join_choices(SCALES)}.",
        autocompletion=complete_names(SCALES),
        rich_help_panel=_DATA,
    ),
]
ModelFile = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="Model written by train, LIBSVM model, or control file that names trained binaries.",
    ),
]
Features = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Number of features, for LIBSVM models.",
        rich_help_panel=_DATA,
    ),
]
Trusted = Annotated[
    list[str] | None,
    typer.Option("--trust", metavar="TYPE", help="Type to trust when loading (repeatable)."),
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS|local",
        help="Run on the Dask cluster at this address, or on all cores of this machine; DATA is "
        "a folder of Parquet, CSV or TSV files.",
        rich_help_panel=_RUNNING,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _check_jobs(jobs: int | None) -> int | None:
    if jobs == 0:
        raise typer.BadParameter("0 is too few; use 1 or more, or -1 for all cores")
    return jobs


def _check_seed(seed: int) -> int:
    # Not the option's min and max: the help would show them, and they take half of its width.
    if not 0 <= seed < 2**32:
        raise typer.BadParameter(f"{seed} is not between 0 and {2**32 - 1}")
    return seed


Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        callback=_check_jobs,
        metavar="N",
        help="Number of parallel jobs; -1 for all cores.",
        rich_help_panel=_RUNNING,
    ),
]
Seed = Annotated[
    int,
    typer.Option(callback=_check_seed, metavar="N", help="Random seed.", rich_help_panel=_RUNNING),
]


def open_data(path: str) -> Source:
    """Return the data source: standard input for -, a pipe, or a file."""
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
    zero_based: str,
    features: int | None = None,
    is_number: bool = False,
) -> tuple[Data, NDArray[Any]]:
    """Return the samples of a file and their labels; DataError if the labels are not classes.

    With `is_number`, the labels are the numeric targets of a regressor.
    """
    from polytomy.datasets import read_data

    source = open_data(path)
    column = parse_column(target)
    data = read_data(
        source,
        format=format,
        target=column,
        header=header,
        categories="one-hot" if one_hot else "refuse",
        features=features,
        zero_based=parse_zero_based(zero_based),
    )
    labels = data.y
    assert labels is not None, "a label column was requested"
    if is_number:
        return data, as_numbers(data, os.fspath(source))
    check_class_labels(labels, os.fspath(source), column, data.label_name)
    return data, labels


def check_class_labels(
    labels: NDArray[Any], source: str, column: str | int, label_name: str | None
) -> None:
    """Raise DataError if labels are fractions, which are not classes."""
    fractions = labels[labels % 1 != 0].tolist() if labels.dtype.kind == "f" else []
    if fractions:
        place = repr(column) if label_name is None else f'"{label_name}"'
        raise DataError(
            f"{source}, column {place}: labels must be classes; {fractions[0]:g} is neither a word "
            "nor an integer. Set ",
            Argument("target"),
            " to the label column. For numbers, use train --regress.",
        )


def read_scaled(
    path: str,
    *,
    target: str,
    scale: str,
    format: str | None,
    header: bool | None,
    one_hot: bool,
    zero_based: str,
) -> tuple[Any, NDArray[Any]]:
    """Return the scaled features of a file and its labels."""
    if format == "kernel":
        raise ArgumentError(
            "--format kernel has no features; only train, predict and evaluate can use it"
        )
    data, labels = read_samples(
        path, target=target, format=format, header=header, one_hot=one_hot, zero_based=zero_based
    )
    scaler = make_scaler(scale, data.X)
    return (data.X if scaler is None else scaler.fit_transform(data.X)), labels


def parse_column(target: str) -> str | int:
    """Return the column that an option names: an integer is a position, other text a name."""
    try:
        return int(target)
    except ValueError:
        return target


def parse_zero_based(text: str) -> Any:
    """Return the value of the argument `zero_based` that an option names."""
    check_choice("--zero-based", text, tuple(_ZERO_BASED))
    return _ZERO_BASED[text]


def check_choice(option: str, value: str, allowed: Sequence[str]) -> None:
    """Raise ArgumentError if the value of an option is not allowed."""
    if value not in allowed:
        raise ArgumentError(
            f'{option} must be {join_choices(allowed)}; got "{value}".'
            + did_you_mean(value, allowed)
        )


def make_scaler(scale: str, X: Any) -> Any:
    """Return the unfitted scaler that an option names; None for no scaling."""
    from scipy.sparse import issparse
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

    check_choice("--scale", scale, SCALES)
    if scale == "none":
        return None
    if issparse(X):
        # These keep zeros, so sparse data stays sparse.
        return StandardScaler(with_mean=False) if scale == "standard" else MaxAbsScaler()
    return StandardScaler() if scale == "standard" else MinMaxScaler()


def to_json(value: Any) -> str:
    """Return a value as JSON; numbers that are not finite become null."""
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):  # a NumPy value
        return _plain(value.tolist())
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return None
    return value
