"""The command `train`, for data in memory, in blocks, or on a cluster."""

from __future__ import annotations

import warnings
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

from polytomy.cli.data import (
    check_class_labels,
    check_output,
    has_terminal,
    make_scaler,
    parse_labels,
    print_answer,
    read_samples,
)
from polytomy.cli.evaluating import score_to_text
from polytomy.cli.options import (
    AS_JSON,
    SEED,
    ClusterOptions,
    DataFile,
    class_order,
    complete,
    final_calibration,
    flag,
    given,
    option,
    parse_none,
)
from polytomy.cli.streaming import (
    StreamOptions,
    TrainedModel,
    TrainingDataOptions,
    describe_data,
    train_stream,
)
from polytomy.errors import ArgumentError, PolytomyWarning

_CLASSIFIER = "classifier:PolytomyClassifier"
_REGRESSION = "Regression"


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Parameters of the model; None stands for the default of its constructor."""

    scheme: str | None = option(
        metavar="SCHEME",
        autocompletion=complete("schemes", before=["auto"], files="*.control"),
        sets=_CLASSIFIER,
        help='Design (see "polytomy design --help"), "auto", control file or control text; '
        'with --regress, "ordered" unless given.',
    )
    estimator: str | None = option(
        metavar="SPEC",
        help='Binary classifier, such as "svc C=10" or LIBSVM options, "-t 2 -c 10"; svc by '
        "default, and sgd with --stream.",
    )
    solver: str | None = option(
        names="solvers", sets=_CLASSIFIER, help="Solver for the class probabilities: {solvers}."
    )
    calibration: str | None = option(
        names="calibrations",
        is_checked=True,
        sets=_CLASSIFIER,
        help="Calibration of the binary classifiers: {calibrations}.",
    )
    final_calibration: str | None = final_calibration(_CLASSIFIER)
    cv: int | None = option(
        "--folds",
        min=2,
        metavar="N",
        help="Number of folds for both calibrations, and for --scheme auto; by default 5, or "
        "one held-out part if there are 100,000 rows or more.",
    )
    class_weight: str | None = option(
        names="class_weights", is_checked=True, help="Class weights: {class_weights}."
    )
    class_order: str | None = class_order()
    regress: bool = flag(
        "--regress", "Train a regressor: the target is a number, split into bins.", _REGRESSION
    )
    n_bins: str | None = option(
        "--bins",
        metavar="N",
        sets="regression.regressor:PolytomyRegressor",
        help="Largest number of bins, for --regress.",
        panel=_REGRESSION,
    )

    def make(self, default_estimator: str | None, **more: Any) -> Any:
        """Return the unfitted model.

        Parameters
        ----------
        default_estimator : specification of the estimator if the user gave none; optional
        **more : further parameters
        """
        from polytomy import PolytomyClassifier, PolytomyRegressor
        from polytomy.learners.preparation import resolve_estimator

        parameters = given(
            self,
            calibration=parse_none,
            final_calibration=parse_none,
            class_order=parse_labels,
            n_bins=parse_bins,
        )
        parameters["estimator"] = resolve_estimator(self.estimator or default_estimator)
        is_regressor = parameters.pop("regress", False)
        make = PolytomyRegressor if is_regressor else PolytomyClassifier
        return make(**parameters, **more)

    def check(self) -> None:
        """Raise ArgumentError if there are options for both numbers and classes."""
        if self.regress:
            own = {"--class-weight": self.class_weight, "--class-order": self.class_order}
            for name, value in own.items():
                if value is not None:
                    raise ArgumentError(
                        f"{name} is only for classifiers; leave it out with --regress"
                    )
        elif self.n_bins is not None:
            raise ArgumentError("--bins is only for regressors; use it with --regress")


def train(
    data: DataFile,
    *,
    output: Path = option(
        "-o",
        "--output",
        metavar="FILE",
        help="Model file to write, such as model.polytomy.",
        default=MISSING,
    ),
    model: ModelOptions,
    reading: TrainingDataOptions,
    stream: StreamOptions,
    cluster: ClusterOptions,
    random_state: int = SEED,
    as_json: bool = AS_JSON,
) -> None:
    """Train a classifier, or with --regress a regressor, on a data file and save it.

    With --dask, train it on a folder of files.

    Example: `polytomy train iris.csv --scheme one-vs-rest --estimator "svc C=10" -o iris.polytomy`
    """
    from polytomy.learners.preparation import takes_pairwise_values
    from polytomy.persistence import save

    check_output(output, data)
    stream.check()
    model.check()
    if stream.stream and model.cv is not None:
        raise ArgumentError("--folds cannot be used with --stream. Use --reservoir.")
    if model.regress and (stream.stream or cluster.dask is not None):
        raise ArgumentError("--regress needs all data in memory; leave out --stream and --dask")
    if stream.stream and cluster.dask is not None:
        raise ArgumentError("--stream and --dask cannot be used together; leave one out")
    more = {} if stream.reservoir_size is None else {"reservoir_size": stream.reservoir_size}
    made = model.make(
        "sgd" if stream.stream else None,
        n_jobs=cluster.n_jobs,
        random_state=random_state,
        verbose=int(has_terminal()),
        **({} if model.regress else more),
    )
    _check_kernel(takes_pairwise_values(made), reading)
    if cluster.dask is not None:
        trained = _train_on_cluster(made, data, reading, cluster)
    elif stream.stream:
        trained = train_stream(made, data, reading, stream)
    else:
        trained = _train_whole(made, data, reading, is_number=model.regress)
    fitted = trained.last_step
    core = fitted.classifier_ if model.regress else fitted
    n_classes = fitted.n_bins_ if model.regress else len(fitted.classes_)
    if n_classes == 1:
        label = fitted.bins_.last_values[0] if model.regress else fitted.classes_[0]
        warnings.warn(
            f"{data}: all samples have the label {label}; the model will always predict it",
            PolytomyWarning,
            stacklevel=1,
        )
    fitted.set_params(verbose=0)
    save(trained.model, output, metadata=trained.description)
    kind = "bins" if model.regress else "classes"
    score: dict[str, float] | None = getattr(fitted, "out_of_fold_score_", None)
    summary = {
        "model": str(output),
        "samples": trained.n_samples,
        "features": trained.n_features,
        kind: n_classes,
        "binaries": sum(each.is_counted for each in core.composition_.dichotomies),
        "bytes": output.stat().st_size,
        "out_of_fold_score": score,
    }
    text = (
        f"{output}: {n_classes} {kind}, {summary['binaries']} binaries, trained on "
        f"{summary['samples']} samples of {summary['features']} features; {summary['bytes']} bytes"
    )
    if score is not None:
        judges = "rows" if stream.stream else "folds"
        text += f"\nexpected on new samples, judging by held-out {judges}: {score_to_text(score)}"
    print_answer(summary, text, as_json)


def _train_whole(
    model: Any, data: str, reading: TrainingDataOptions, *, is_number: bool
) -> TrainedModel:
    """Return a model trained on the data of a file, all at once, with its scaler."""
    from sklearn.pipeline import make_pipeline

    samples, labels = read_samples(data, reading, is_number=is_number)
    scaler = make_scaler(reading.scale, samples.X)
    model = model if scaler is None else make_pipeline(scaler, model)
    model.fit(samples.X, labels)
    description = describe_data(samples, reading.column)
    return TrainedModel(model, description, samples.n_samples, samples.n_features)


def _train_on_cluster(
    classifier: Any, data: str, reading: TrainingDataOptions, cluster: ClusterOptions
) -> TrainedModel:
    """Return a classifier trained on a folder of files, by the workers of a cluster."""
    import numpy as np

    from polytomy.dask.folders import connect, survey_folder, train_on_folder

    assert cluster.dask is not None, "the caller has checked it"
    options = reading.column, reading.format, reading.header, reading.one_hot
    with connect(cluster.dask, cluster.n_jobs) as client:
        folder = survey_folder(client, data, *options)
        survey = folder.survey
        check_class_labels(survey.classes, data, reading.column, survey.label_name)
        scaler = make_scaler(reading.scale, np.empty((1, 1)))
        model = train_on_folder(client, folder, classifier.set_params(n_jobs=None), scaler)
    description = {
        "columns": None if survey.columns is None else list(survey.columns),
        "n_columns": survey.n_columns,
        "categories": {name: list(values) for name, values in survey.categories.items()},
        "target": reading.column,
        "is_sparse": False,
        "zero_based": None,
    }
    return TrainedModel(model, description, survey.n_rows, model.n_features_in_)


def _check_kernel(is_precomputed: bool, reading: TrainingDataOptions) -> None:
    """Raise ArgumentError if kernel values would be used as features, or the other way round."""
    if is_precomputed != (reading.format == "kernel"):
        raise ArgumentError(
            '--estimator "svc kernel=precomputed" and --format kernel must be used together'
        )
    if is_precomputed and reading.scale != "none":
        raise ArgumentError(
            f"--scale {reading.scale} would change the kernel values. Use --scale none."
        )


def parse_bins(text: str) -> int | str:
    """Return the value of the parameter `n_bins` that the option names.

    Examples
    --------
    >>> parse_bins("auto"), parse_bins("12")
    ('auto', 12)
    """
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise ArgumentError(f'--bins must be auto or an integer; got "{text}"') from None
