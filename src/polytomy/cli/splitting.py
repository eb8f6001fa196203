"""The command that splits data into a training set and a test set: split."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from polytomy.cli.data_options import (
    AsJson,
    DataFile,
    Format,
    Header,
    Seed,
    Target,
    ZeroBased,
    read_samples,
    to_json,
)
from polytomy.cli.text_files import STANDARD_INPUT, print_text
from polytomy.errors import ArgumentError

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command of this module to the command line."""
    app.command()(split)


def split(
    data: DataFile,
    test: Annotated[
        float, typer.Option(metavar="FRACTION", help="Fraction of each class to hold out.")
    ] = 0.3,
    target: Target = "-1",
    format: Format = None,
    header: Header = None,
    zero_based: ZeroBased = "auto",
    seed: Seed = 0,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="PREFIX",
            help="Prefix of both file names, or a folder for them. By default, the files are in "
            "the working directory.",
        ),
    ] = None,
    training_file: Annotated[
        Path | None,
        typer.Option(
            "--train-file", metavar="FILE", help="Training set; NAME.train.csv by default."
        ),
    ] = None,
    test_file: Annotated[
        Path | None,
        typer.Option("--test-file", metavar="FILE", help="Test set; NAME.test.csv by default."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Split a data file into a training set and a test set, stratified by class.

    The files NAME.train.csv and NAME.test.csv are written to the working directory. Both have the
    label column last, under its own name.

    Example: `polytomy split iris.csv --test 0.3`
    """
    import numpy as np

    from polytomy.datasets import write_data
    from polytomy.trials.protocol import split_classes

    if not 0 < test < 1:
        raise ArgumentError(f"--test must be between 0 and 1; got {test:g}")
    is_named = training_file is not None and test_file is not None
    has_prefix = output is not None and not _is_folder(output)
    if data == STANDARD_INPUT and not (is_named or has_prefix):
        raise ArgumentError(
            "standard input has no name; use --output PREFIX, or --train-file and --test-file"
        )
    samples, labels = read_samples(
        data, target=target, format=format, header=header, one_hot=True, zero_based=zero_based
    )
    class_indices = np.unique(labels, return_inverse=True)[1]
    is_held_out = split_classes(class_indices, test, np.random.default_rng(seed))
    if not is_held_out.any():
        raise ArgumentError(f"{data}: no class has enough samples to hold out {test:g} of them")
    prefix, ending = _name_files(data, output)
    files = {
        "train": training_file or Path(f"{prefix}.train{ending}"),
        "test": test_file or Path(f"{prefix}.test{ending}"),
    }
    places = [file.resolve() for file in (Path(data), *files.values())]
    if len(set(places)) < len(places):
        raise ArgumentError(
            "the data, the training set and the test set must be three different files"
        )
    masks = {"train": ~is_held_out, "test": is_held_out}
    default = "svmlight" if hasattr(samples.X, "toarray") else "csv"
    if output is not None and _is_folder(output):
        Path(output).mkdir(parents=True, exist_ok=True)
    for part, file in files.items():
        write_data(
            file,
            _select(samples, masks[part]),
            format=_choose_format(file, format or default),
            target=samples.label_name or "label",
        )
    counts = {part: int(mask.sum()) for part, mask in masks.items()}
    if as_json:
        print_text(
            to_json(
                {part: {"file": str(file), "samples": counts[part]} for part, file in files.items()}
            )
        )
        return
    for part, file in files.items():
        print_text(f"{file}: {counts[part]} samples")


def _select(samples: Any, mask: Any) -> Any:
    from dataclasses import replace

    return replace(
        samples, X=samples.X[mask], y=samples.y[mask], row_numbers=samples.row_numbers[mask]
    )


def _choose_format(file: Path, default: str) -> str:
    """Return the format given by a file name, or the default."""
    from polytomy.datasets import find_format

    try:
        return find_format(file)
    except ArgumentError:
        return default


def _name_files(data: str, output: str | None) -> tuple[str, str]:
    """Return the prefix of both file names, and their extension."""
    if data == STANDARD_INPUT:
        return output or "", ".csv"
    path = Path(data)
    ending = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    name = path.name.removesuffix(ending)
    if output is None:
        return name, ending
    return str(Path(output, name)) if _is_folder(output) else output, ending


def _is_folder(output: str) -> bool:
    return output.endswith(("/", os.sep)) or Path(output).is_dir()
