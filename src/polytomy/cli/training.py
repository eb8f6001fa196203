"""The command that trains models: train."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from polytomy.cli.class_orders import ClassOrder, parse_class_order
from polytomy.cli.completing import complete_names, complete_schemes
from polytomy.cli.data_options import (
    AsJson,
    Dask,
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
from polytomy.cli.regression import Bins, Regress, check_regression_options, parse_bins
from polytomy.cli.streaming import StreamSource, TrainedModel, describe_data, train_stream
from polytomy.cli.text_files import check_output, print_text
from polytomy.errors import ArgumentError, PolytomyWarning
from polytomy.inputs.arguments import CALIBRATIONS, CLASS_WEIGHTS
from polytomy.solvers import METHODS

__all__ = ["register"]

_CALIBRATIONS = (*CALIBRATIONS, "none")
_STREAMS = "Data larger than memory"


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
        str | None,
        typer.Option(
            metavar="SCHEME",
            help='Design (see "polytomy design --help"), "auto", control file or control text; '
            "default: one-vs-one, or ordered with --regress.",
            autocompletion=complete_schemes("auto"),
        ),
    ] = None,
    estimator: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help='Binary classifier, such as "svc C=10" or LIBSVM options, "-t 2 -c 10"; svc by '
            "default, and sgd with --stream.",
        ),
    ] = None,
    solver: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"Solver for the class probabilities: {join_choices(METHODS)}.",
            autocompletion=complete_names(METHODS),
        ),
    ] = "least-squares",
    calibration: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"Calibration of the binary classifiers: {join_choices(_CALIBRATIONS)}.",
            autocompletion=complete_names(_CALIBRATIONS),
        ),
    ] = "auto",
    final_calibration: FinalCalibration = "auto",
    folds: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Number of folds for both calibrations, and for --scheme auto; by default 5, or "
            "one held-out part if there are 100,000 rows or more.",
        ),
    ] = None,
    class_weight: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"Class weights: {join_choices(CLASS_WEIGHTS)}.",
            autocompletion=complete_names(CLASS_WEIGHTS),
        ),
    ] = None,
    class_order: ClassOrder = None,
    regress: Regress = False,
    bins: Bins = "auto",
    scale: Scale = "standard",
    target: Target = "-1",
    format: Format = None,
    header: Header = None,
    zero_based: ZeroBased = "auto",
    one_hot: OneHot = False,
    features: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of features, if LIBSVM data to predict may have more.",
            rich_help_panel="Data",
        ),
    ] = None,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream",
            help="Read the data in blocks, for files larger than memory; needs an estimator "
            "that learns in batches.",
            rich_help_panel=_STREAMS,
        ),
    ] = False,
    passes: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Passes over the data, with --stream.",
            rich_help_panel=_STREAMS,
        ),
    ] = 1,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="LABELS",
            help="All labels, with --stream: a,b,c or a file with one label per line; "
            "needed for a pipe, and otherwise found in a first pass.",
            rich_help_panel=_STREAMS,
        ),
    ] = None,
    reservoir: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Maximum number of rows to hold out for calibration, with --stream.",
            rich_help_panel=_STREAMS,
        ),
    ] = 5000,
    jobs: Jobs = None,
    seed: Seed = 0,
    dask: Dask = None,
    as_json: AsJson = False,
) -> None:
    """Train a classifier, or with --regress a regressor, on a data file and save it.

    With --dask, train it on a folder of files.

    Example: `polytomy train iris.csv --scheme one-vs-rest --estimator "svc C=10" -o iris.polytomy`
    """
    from polytomy.classifier import PolytomyClassifier
    from polytomy.learners.preparation import resolve_estimator, takes_pairwise_values
    from polytomy.persistence import save
    from polytomy.regression import PolytomyRegressor

    check_output(output, data)
    if not stream and (passes > 1 or classes is not None):
        raise ArgumentError("--passes and --classes need --stream. Add it, or leave them out.")
    if stream and folds is not None:
        raise ArgumentError("--folds cannot be used with --stream. Use --reservoir.")
    if regress and (stream or dask is not None):
        raise ArgumentError("--regress needs all data in memory; leave out --stream and --dask")
    own = {"--class-weight": class_weight, "--class-order": class_order}
    check_regression_options(regress, bins, own)
    check_choice("--calibration", calibration, _CALIBRATIONS)
    if class_weight is not None:
        check_choice("--class-weight", class_weight, CLASS_WEIGHTS)
    options: dict[str, Any] = {
        "estimator": resolve_estimator(estimator or ("sgd" if stream else "svc")),
        "solver": solver,
        "calibration": None if calibration == "none" else calibration,
        "final_calibration": parse_final_calibration(final_calibration),
        "n_jobs": jobs,
        "random_state": seed,
        "verbose": int(sys.stderr is not None and sys.stderr.isatty()),
    }
    if folds is not None:
        options["cv"] = folds
    classifier: Any
    if regress:
        options |= {"scheme": scheme or "ordered", "n_bins": parse_bins(bins)}
        classifier = PolytomyRegressor(**options)
    else:
        options |= {
            "scheme": scheme or "one-vs-one",
            "class_weight": class_weight,
            "class_order": parse_class_order(class_order),
            "reservoir_size": reservoir,
        }
        classifier = PolytomyClassifier(**options)
    _check_kernel(takes_pairwise_values(classifier), format, scale)
    reading: dict[str, Any] = {
        "target": target,
        "format": format,
        "header": header,
        "one_hot": one_hot,
        "zero_based": zero_based,
        "features": features,
    }
    if dask is not None:
        if stream:
            raise ArgumentError("--stream and --dask cannot be used together; leave one out")
        trained = _train_on_cluster(dask, jobs, classifier, data, reading, scale)
        classifier = trained.model
    elif stream:
        source = StreamSource(data, classes=classes, **reading)
        trained = train_stream(classifier, source, scale=scale, passes=passes)
    else:
        trained = _train_whole(classifier, data, reading, scale, is_number=regress)
    core = classifier.classifier_ if regress else classifier
    n_classes = classifier.n_bins_ if regress else len(classifier.classes_)
    if n_classes == 1:
        label = classifier.bins_.last_values[0] if regress else classifier.classes_[0]
        warnings.warn(
            f"{data}: all samples have the label {label}; the model will always predict it",
            PolytomyWarning,
            stacklevel=1,
        )
    classifier.set_params(verbose=0)
    save(trained.model, output, metadata=trained.description)
    score = find_score(classifier)
    summary = {
        "model": str(output),
        "samples": trained.n_samples,
        "features": trained.n_features,
        "bins" if regress else "classes": n_classes,
        "binaries": sum(each.is_counted for each in core.composition_.dichotomies),
        "bytes": output.stat().st_size,
        "out_of_fold_score": score,
    }
    if as_json:
        print_text(to_json(summary))
        return
    print_text(
        f"{output}: {n_classes} {'bins' if regress else 'classes'}, "
        f"{summary['binaries']} binaries, trained on "
        f"{summary['samples']} samples of {summary['features']} features; {summary['bytes']} bytes"
    )
    if score is not None:
        text = score_to_text(score)
        judges = "rows" if stream else "folds"
        print_text(f"expected on new samples, judging by held-out {judges}: {text}")


def _train_on_cluster(
    address: str,
    jobs: int | None,
    classifier: Any,
    data: str,
    reading: dict[str, Any],
    scale: str,
) -> TrainedModel:
    """Return a classifier trained on a folder of files, by the workers of a cluster."""
    from polytomy.cli.cluster_jobs import connect, train_on_folder

    target = parse_column(reading["target"])
    options = {name: reading[name] for name in ("format", "header", "one_hot")}
    with connect(address, jobs) as client:
        model, survey = train_on_folder(
            client, data, classifier.set_params(n_jobs=None), target=target, scale=scale, **options
        )
    description = {
        "columns": None if survey.columns is None else list(survey.columns),
        "n_columns": survey.n_columns,
        "categories": {name: list(values) for name, values in survey.categories.items()},
        "target": target,
        "is_sparse": False,
        "zero_based": None,
    }
    return TrainedModel(model, description, survey.n_rows, model.n_features_in_)


def _train_whole(
    classifier: Any, data: str, reading: dict[str, Any], scale: str, *, is_number: bool
) -> TrainedModel:
    """Return a classifier trained on the data of a file, all at once, with its scaler."""
    from sklearn.pipeline import make_pipeline

    samples, labels = read_samples(data, **reading, is_number=is_number)
    scaler = make_scaler(scale, samples.X)
    model = classifier if scaler is None else make_pipeline(scaler, classifier)
    model.fit(samples.X, labels)
    description = describe_data(samples, reading["target"])
    return TrainedModel(model, description, samples.n_samples, samples.n_features)


def _check_kernel(is_precomputed: bool, format: str | None, scale: str) -> None:
    """Raise ArgumentError if kernel values would be used as features, or the other way round."""
    if is_precomputed != (format == "kernel"):
        raise ArgumentError(
            '--estimator "svc kernel=precomputed" and --format kernel must be used together'
        )
    if is_precomputed and scale != "none":
        raise ArgumentError(f"--scale {scale} would change the kernel values. Use --scale none.")
