"""Commands that make and describe models: train, info, convert."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from polytomy.cli.data_options import (
    AsJson,
    DataFile,
    Features,
    Format,
    Header,
    Jobs,
    ModelFile,
    OneHot,
    Scale,
    Seed,
    Target,
    Trusted,
    check_choice,
    column_of,
    read_samples,
    scaler_of,
    to_json,
)
from polytomy.cli.text_files import check_place, print_text
from polytomy.errors import ArgumentError, PolytomyWarning

__all__ = ["register"]

_ENDING = ".polytomy"
# In Python they may be objects as well, which cannot be typed.
_CALIBRATIONS = ("auto", "sigmoid", "isotonic", "temperature", "none")
_CLASS_WEIGHTS = ("balanced", "balanced-per-partition")


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
        str, typer.Option(help=f"{', '.join(_CALIBRATIONS[:-1])} or {_CALIBRATIONS[-1]}.")
    ] = "auto",
    folds: Annotated[int, typer.Option(min=2, help="Folds for calibration.")] = 5,
    class_weight: Annotated[
        str | None, typer.Option(help=f"{' or '.join(_CLASS_WEIGHTS)}.")
    ] = None,
    scale: Scale = "standard",
    target: Target = "-1",
    format: Format = None,
    header: Header = None,
    one_hot: OneHot = False,
    features: Annotated[
        int | None,
        typer.Option(min=1, help="Number of features, where LIBSVM data may later have more."),
    ] = None,
    jobs: Jobs = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Train a classifier on a data file and save it.

    Example: `polytomy train iris.csv --scheme one-vs-rest --estimator "svc C=10" -o iris.polytomy`
    """
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    from polytomy.binary import estimator_from
    from polytomy.binary.preparation import is_pairwise
    from polytomy.classifier import PolytomyClassifier
    from polytomy.persistence import save

    check_place(output, data)
    check_choice("--calibration", calibration, _CALIBRATIONS)
    if class_weight is not None:
        check_choice("--class-weight", class_weight, _CLASS_WEIGHTS)
    classifier: Any = PolytomyClassifier(
        estimator_from(estimator, SVC()),
        scheme,
        solver=solver,
        calibration=None if calibration == "none" else calibration,
        cv=folds,
        n_jobs=jobs,
        random_state=seed,
        verbose=int(sys.stderr is not None and sys.stderr.isatty()),
        class_weight=class_weight,
    )
    _check_kernel(is_pairwise(classifier), format, scale)
    samples, labels = read_samples(
        data, target=target, format=format, header=header, one_hot=one_hot, features=features
    )
    scaler = scaler_of(scale, samples.X)
    model = classifier if scaler is None else make_pipeline(scaler, classifier)
    model.fit(samples.X, labels)
    if len(classifier.classes_) == 1:
        label = classifier.classes_[0]
        warnings.warn(
            f"{data}: all samples are of class {label}; the model will answer nothing else",
            PolytomyWarning,
            stacklevel=1,
        )
    classifier.set_params(verbose=0)
    n_made = sum(len(values) - 1 for values in samples.categories.values())
    description = {
        "columns": None if samples.columns is None else list(samples.columns),
        "n_columns": samples.n_features - n_made,
        "categories": {name: list(values) for name, values in samples.categories.items()},
        "target": column_of(target),
        "is_sparse": hasattr(samples.X, "toarray"),
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


def info(model: ModelFile, as_json: AsJson = False) -> None:
    """Tell what the model in a file is: its scheme, binaries, support vectors, versions.

    Example: `polytomy train iris.csv -o iris.polytomy && polytomy info iris.polytomy`
    """
    from polytomy.persistence import read_info

    found = read_info(model)
    described = {
        "file": model,
        "kind": found.kind,
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
    labels = ", ".join(map(str, found.classes.tolist()))
    lines = {
        "written by": versions,
        "classes": f"{len(found.classes)}: {_shortened(labels)}",
        "features": "" if found.n_features is None else str(found.n_features),
        "solver": found.solver,
        "binaries": kinds,
        "support vectors": str(found.n_support_vectors),
    }
    version = "" if found.format_version is None else f", format {found.format_version}"
    head = f"{model}: {found.kind}, {found.n_bytes} bytes{version}"
    table = [f"{name:17}{text}" for name, text in lines.items() if text]
    print_text("\n".join([head, *table, "", _shortened(found.scheme, lines=20)]))


def convert(
    model: ModelFile,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Ends in .polytomy, or in .model for LIBSVM."
        ),
    ],
    ranges: Annotated[
        Path | None,
        typer.Option("--range", metavar="FILE", help="The model's scaling, for svm-scale -r."),
    ] = None,
    features: Features = None,
    trusted: Trusted = None,
    as_json: AsJson = False,
) -> None:
    """Put models of LIBSVM or libAGF into one file, or write a model for LIBSVM.

    Example: `polytomy train iris.csv -o m.polytomy && polytomy convert m.polytomy -o n.polytomy`
    """
    from polytomy.persistence import FileKind, find_kind, load, read_info, save, write_libsvm

    is_for_libsvm = output.suffix == ".model"
    if output.suffix not in (_ENDING, ".model"):
        raise ArgumentError(f"{output}: the name must end in {_ENDING}, or in .model for LIBSVM")
    if ranges is not None and not is_for_libsvm:
        raise ArgumentError(f"--range {ranges} is for LIBSVM; give an output that ends in .model")
    check_place(output, model)
    check_place(ranges, model, str(output))
    loaded = load(model, trusted=tuple(trusted or ()), n_features=features)
    if is_for_libsvm:
        write_libsvm(loaded, output, range_file=ranges)
    else:
        is_own = find_kind(model) is FileKind.OWN
        save(loaded, output, metadata=read_info(model).metadata if is_own else None)
    written = {str(file): file.stat().st_size for file in (output, ranges) if file is not None}
    if as_json:
        print_text(to_json([{"file": file, "bytes": size} for file, size in written.items()]))
        return
    print_text("\n".join(f"{file}: {size} bytes" for file, size in written.items()))


def _check_kernel(is_precomputed: bool, format: str | None, scale: str) -> None:
    """Raise ArgumentError where kernel values would be taken for features, or the reverse."""
    if is_precomputed != (format == "kernel"):
        raise ArgumentError(
            "a precomputed kernel and rows of kernel values need each other: give --estimator "
            '"svc kernel=precomputed" and --format kernel'
        )
    if is_precomputed and scale != "none":
        raise ArgumentError(f"--scale {scale} would change kernel values; give --scale none")


def _shortened(text: str, lines: int = 1, width: int = 300) -> str:
    if lines == 1:
        return text if len(text) <= width else f"{text[: width - 1]}…"
    rows = text.splitlines()
    more = len(rows) - lines
    return text if more <= 0 else "\n".join([*rows[:lines], f"… {more} more lines"])
