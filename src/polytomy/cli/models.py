"""Commands that make and describe models: train, info."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from polytomy.cli.data import (
    AsJson,
    DataFile,
    Features,
    Format,
    Header,
    ModelFile,
    OneHot,
    Scale,
    Target,
    Trusted,
    column_of,
    scaler_of,
    to_json,
)
from polytomy.cli.files import print_text
from polytomy.errors import ArgumentError

__all__ = ["register"]

_ENDING = ".polytomy"


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the command line."""
    app.command()(train)
    app.command()(info)
    app.command()(convert)


def train(
    data: DataFile,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The model, as model.polytomy.")
    ],
    scheme: Annotated[
        str, typer.Option(metavar="SCHEME", help="A design, a control file, or control text.")
    ] = "one-vs-one",
    estimator: Annotated[
        str,
        typer.Option(
            metavar="SPEC", help='The binary classifier: "svc C=10", or "-t 2 -c 10" of LIBSVM.'
        ),
    ] = "svc",
    solver: Annotated[
        str, typer.Option(help="How answers become probabilities.")
    ] = "least-squares",
    calibration: Annotated[
        str, typer.Option(help="auto, sigmoid, isotonic, temperature or none.")
    ] = "auto",
    folds: Annotated[int, typer.Option(min=2, help="Folds for calibration.")] = 5,
    class_weight: Annotated[
        str | None, typer.Option(help="balanced or balanced-per-partition.")
    ] = None,
    scale: Scale = "standard",
    target: Target = "-1",
    format: Format = None,
    header: Header = None,
    one_hot: OneHot = False,
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", help="Jobs of joblib.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Fixes folds and what is drawn.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Train a classifier on a data file and save it.

    Example: `polytomy train iris.csv --scheme one-vs-rest --estimator "svc C=10" -o iris.polytomy`
    """
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    from polytomy.binary import estimator_from
    from polytomy.classifier import PolytomyClassifier
    from polytomy.datasets import read_data
    from polytomy.persistence import save

    _check_place(output, data)
    classifier: Any = PolytomyClassifier(
        estimator_from(estimator, SVC()),
        scheme,
        solver,
        calibration=None if calibration == "none" else calibration,
        cv=folds,
        n_jobs=jobs,
        random_state=seed,
        verbose=int(sys.stderr is not None and sys.stderr.isatty()),
        class_weight=class_weight,
    )
    column = column_of(target)
    samples = read_data(
        data,
        format=format,
        target=column,
        header=header,
        categories="one-hot" if one_hot else "refuse",
    )
    scaler = scaler_of(scale, samples.X)
    model = classifier if scaler is None else make_pipeline(scaler, classifier)
    model.fit(samples.X, samples.y)
    classifier.set_params(verbose=0)
    n_made = sum(len(values) - 1 for values in samples.categories.values())
    description = {
        "columns": None if samples.columns is None else list(samples.columns),
        "n_columns": samples.n_features - n_made,
        "categories": {name: list(values) for name, values in samples.categories.items()},
        "target": column,
    }
    save(model, output, metadata=description)
    summary = {
        "model": str(output),
        "samples": samples.n_samples,
        "features": samples.n_features,
        "classes": len(classifier.classes_),
        "binaries": len(classifier.binaries_),
        "bytes": output.stat().st_size,
    }
    if as_json:
        print_text(to_json(summary))
        return
    print_text(
        f"{output}: {summary['classes']} classes, {summary['binaries']} binaries, trained on "
        f"{summary['samples']} samples of {summary['features']} features; {summary['bytes']} bytes"
    )


def info(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A file that train wrote.")],
    as_json: AsJson = False,
) -> None:
    """Tell what a saved model is, without loading it.

    Example: `polytomy train iris.csv -o iris.polytomy && polytomy info iris.polytomy`
    """
    from polytomy.persistence import read_info

    found = read_info(model)
    described = {
        "file": model,
        "bytes": found.n_bytes,
        "format": found.format_version,
        "versions": dict(found.versions),
        "classes": found.classes.tolist(),
        "features": found.n_features,
        "feature names": found.feature_names,
        "solver": found.solver,
        "binaries": dict(found.kinds),
        "support vectors": found.n_support_vectors,
        "metadata": dict(found.metadata),
        "scheme": found.scheme,
    }
    if as_json:
        print_text(to_json(described))
        return
    versions = ", ".join(f"{name} {number}" for name, number in found.versions.items())
    kinds = ", ".join(f"{count} × {kind}" for kind, count in found.kinds.items())
    labels = " ".join(map(str, found.classes.tolist()))
    print_text(
        "\n".join(
            [
                f"{model}: {found.n_bytes} bytes, format {found.format_version}",
                f"written by       {versions}",
                f"classes          {len(found.classes)}: {_shortened(labels)}",
                f"features         {found.n_features}",
                f"solver           {found.solver}",
                f"binaries         {kinds}",
                f"support vectors  {found.n_support_vectors}",
                "",
                _shortened(found.scheme, lines=20),
            ]
        )
    )


def convert(
    model: ModelFile,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Ends in .polytomy, or in .model for LIBSVM."
        ),
    ],
    features: Features = None,
    trusted: Trusted = None,
) -> None:
    """Put models of LIBSVM or libAGF into one file, or write a model for LIBSVM.

    Example: `polytomy train iris.csv -o m.polytomy && polytomy convert m.polytomy -o n.polytomy`
    """
    from polytomy.persistence import load, read_info, save, write_libsvm

    _check_place(output, model)
    if output.suffix not in (_ENDING, ".model"):
        raise ArgumentError(f"{output}: the name must end in {_ENDING}, or in .model for LIBSVM")
    loaded = load(model, trusted=tuple(trusted or ()), n_features=features)
    if output.suffix == ".model":
        write_libsvm(loaded, output)
    else:
        with open(model, "rb") as file:
            is_own = file.read(2) == b"PK"
        save(loaded, output, metadata=read_info(model).metadata if is_own else None)
    print_text(f"{output}: {output.stat().st_size} bytes")


def _check_place(output: Path, source: str) -> None:
    """Fail before the training, not after it, if the model cannot be written."""
    if output.resolve() == Path(source).resolve():
        raise ArgumentError(f"{output} would be written over what is read; give another file")
    if output.is_dir():
        raise ArgumentError(
            f"{output} is a folder; give a file, such as {output / 'model'}{_ENDING}"
        )
    if not output.resolve().parent.is_dir():
        raise ArgumentError(f"{output}: the folder {output.resolve().parent} does not exist")


def _shortened(text: str, lines: int = 1, width: int = 300) -> str:
    if lines == 1:
        return text if len(text) <= width else f"{text[: width - 1]}…"
    rows = text.splitlines()
    more = len(rows) - lines
    return text if more <= 0 else "\n".join([*rows[:lines], f"… {more} more lines"])
