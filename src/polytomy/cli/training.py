"""The command that trains models: train."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from polytomy.cli.class_orders import ClassOrder, parse_class_order
from polytomy.cli.data_options import (
    AsJson,
    DataFile,
    Format,
    Header,
    Jobs,
    OneHot,
    Scale,
    Seed,
    Target,
    ZeroBased,
    check_choice,
    join_choices,
    make_scaler,
    parse_column,
    read_samples,
    to_json,
)
from polytomy.cli.final_calibrations import (
    FinalCalibration,
    find_score,
    parse_final_calibration,
    score_to_text,
)
from polytomy.cli.text_files import check_output, print_text
from polytomy.errors import ArgumentError, PolytomyWarning
from polytomy.inputs.choices import CALIBRATIONS, CLASS_WEIGHTS
from polytomy.solvers import METHODS

__all__ = ["register"]

_CALIBRATIONS = (*CALIBRATIONS, "none")


def register(app: typer.Typer) -> None:
    """Add the command of this module to the command line."""
    app.command()(train)


def train(
    data: DataFile,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Model file to write, such as model.polytomy."
        ),
    ],
    scheme: Annotated[
        str, typer.Option(metavar="SCHEME", help='Design, "auto", control file or control text.')
    ] = "one-vs-one",
    estimator: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            help='Binary classifier, such as "svc C=10" or LIBSVM options, "-t 2 -c 10".',
        ),
    ] = "svc",
    solver: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"Solver for the class probabilities: {join_choices(METHODS)}.",
        ),
    ] = "least-squares",
    calibration: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"Calibration of the binary classifiers: {join_choices(_CALIBRATIONS)}.",
        ),
    ] = "auto",
    final_calibration: FinalCalibration = "auto",
    folds: Annotated[
        int,
        typer.Option(
            min=2, metavar="N", help="Number of folds for both calibrations, and for --scheme auto."
        ),
    ] = 5,
    class_weight: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"Class weights: {join_choices(CLASS_WEIGHTS)}."),
    ] = None,
    class_order: ClassOrder = None,
    scale: Scale = "standard",
    target: Target = "-1",
    format: Format = None,
    header: Header = None,
    zero_based: ZeroBased = "auto",
    one_hot: OneHot = False,
    features: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Number of features, if LIBSVM data to predict may have more."
        ),
    ] = None,
    jobs: Jobs = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Train a classifier on a data file and save it.

    Example: `polytomy train iris.csv --scheme one-vs-rest --estimator "svc C=10" -o iris.polytomy`
    """
    from sklearn.pipeline import make_pipeline

    from polytomy.binary.preparation import resolve_estimator, takes_pairwise_values
    from polytomy.classifier import PolytomyClassifier
    from polytomy.persistence import save

    check_output(output, data)
    check_choice("--calibration", calibration, _CALIBRATIONS)
    if class_weight is not None:
        check_choice("--class-weight", class_weight, CLASS_WEIGHTS)
    classifier: Any = PolytomyClassifier(
        resolve_estimator(estimator),
        scheme,
        solver=solver,
        calibration=None if calibration == "none" else calibration,
        final_calibration=parse_final_calibration(final_calibration),
        cv=folds,
        n_jobs=jobs,
        random_state=seed,
        verbose=int(sys.stderr is not None and sys.stderr.isatty()),
        class_weight=class_weight,
        class_order=parse_class_order(class_order),
    )
    _check_kernel(takes_pairwise_values(classifier), format, scale)
    samples, labels = read_samples(
        data,
        target=target,
        format=format,
        header=header,
        one_hot=one_hot,
        zero_based=zero_based,
        features=features,
    )
    scaler = make_scaler(scale, samples.X)
    model = classifier if scaler is None else make_pipeline(scaler, classifier)
    model.fit(samples.X, labels)
    if len(classifier.classes_) == 1:
        label = classifier.classes_[0]
        warnings.warn(
            f"{data}: all samples have the label {label}; the model will always predict it",
            PolytomyWarning,
            stacklevel=1,
        )
    classifier.set_params(verbose=0)
    n_added = sum(len(values) - 1 for values in samples.categories.values())
    description = {
        "columns": None if samples.columns is None else list(samples.columns),
        "n_columns": samples.n_features - n_added,
        "categories": {name: list(values) for name, values in samples.categories.items()},
        "target": parse_column(target),
        "is_sparse": hasattr(samples.X, "toarray"),
        "zero_based": samples.is_zero_based,
    }
    save(model, output, metadata=description)
    score = find_score(classifier)
    summary = {
        "model": str(output),
        "samples": samples.n_samples,
        "features": samples.n_features,
        "classes": len(classifier.classes_),
        "binaries": sum(each.is_counted for each in classifier.composition_.dichotomies),
        "bytes": output.stat().st_size,
        "out_of_fold_score": score,
    }
    if as_json:
        print_text(to_json(summary))
        return
    print_text(
        f"{output}: {summary['classes']} classes, {summary['binaries']} binaries, trained on "
        f"{summary['samples']} samples of {summary['features']} features; {summary['bytes']} bytes"
    )
    if score is not None:
        text = score_to_text(score)
        print_text(f"expected on new samples, judging by held-out folds: {text}")


def _check_kernel(is_precomputed: bool, format: str | None, scale: str) -> None:
    """Raise ArgumentError if kernel values would be taken for features, or features for them."""
    if is_precomputed != (format == "kernel"):
        raise ArgumentError(
            '--estimator "svc kernel=precomputed" and --format kernel must be used together'
        )
    if is_precomputed and scale != "none":
        raise ArgumentError(f"--scale {scale} would change the kernel values. Use --scale none.")
