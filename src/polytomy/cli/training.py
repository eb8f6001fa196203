"""The command `train`, for data in memory, in blocks of bounded memory, or on a cluster."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from polytomy.cli.data import (
    check_class_labels,
    check_output,
    count_samples,
    has_terminal,
    make_scaler,
    open_data,
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
    FeatureOptions,
    class_order,
    complete,
    final_calibration,
    flag,
    given,
    name_given,
    option,
    parse_none,
    refuse_options,
)
from polytomy.errors import ArgumentError, DataError, PolytomyWarning
from polytomy.inputs.arguments import count_things

if TYPE_CHECKING:
    from polytomy.datasets import Data, Source
    from polytomy.datasets.reading import Scan

# A block of this many rows should have rows of most classes.
_LARGE_BLOCK = 500
_STREAMS = "Data larger than memory"


@dataclass(frozen=True, kw_only=True)
class TrainingDataOptions(FeatureOptions):
    """How to read the training data."""

    features: int | None = option(
        min=1,
        metavar="N",
        help="Number of features, if LIBSVM data to predict may have more.",
        panel="Data",
    )

    def reading(self) -> dict[str, Any]:
        """Return the arguments of the functions that read data."""
        return {**super().reading(), "features": self.features}


@dataclass(frozen=True, kw_only=True)
class StreamOptions:
    """How to train on data in blocks."""

    stream: bool = flag(
        "--stream",
        "Read the data in blocks, for files larger than memory; needs an estimator that learns "
        "in batches.",
        _STREAMS,
    )
    passes: int = option(
        min=1, metavar="N", help="Passes over the data, with --stream.", panel=_STREAMS, default=1
    )
    classes: str | None = option(
        metavar="LABELS",
        help="All labels, with --stream: a,b,c or a file with one label per line; "
        "needed for a pipe, and otherwise found in a first pass.",
        panel=_STREAMS,
    )
    reservoir_size: int | None = option(
        "--reservoir",
        min=0,
        metavar="N",
        sets="classifier:PolytomyClassifier",
        help="Maximum number of rows to hold out for calibration, with --stream.",
        panel=_STREAMS,
    )

    def check(self) -> None:
        """Raise ArgumentError if there are options for streams without one."""
        if not self.stream and (self.passes > 1 or self.classes is not None):
            raise ArgumentError("--passes and --classes need --stream. Add it, or leave them out.")

    def class_labels(self) -> Any:
        """Return the labels of the option --classes as an array, sorted; None without it."""
        import numpy as np

        from polytomy.datasets.columns import typed_labels

        listed = parse_labels(self.classes, "--classes")
        return None if listed is None else np.unique(typed_labels([str(each) for each in listed]))


class TrainedModel(NamedTuple):
    """A trained model, and a description of its training data.

    Attributes
    ----------
    model : fitted classifier, or pipeline of a scaler and the classifier
    description : dict, the metadata of its file
    n_samples, n_features : size of the data
    """

    model: Any
    description: dict[str, Any]
    n_samples: int
    n_features: int

    @property
    def last_step(self) -> Any:
        """The classifier, or the last step of the pipeline."""
        from polytomy.learners.preparation import split_pipeline

        return split_pipeline(self.model)[1]


def train_stream(
    classifier: Any, path: str, reading: TrainingDataOptions, stream: StreamOptions
) -> TrainedModel:
    """Train a classifier on data in blocks, and return it with its scaler.

    A first pass over a file finds the classes, unless they are given, and fits the scaler. A pipe
    is read once: its classes must be given, and the scaler is fitted to the first block.

    Parameters
    ----------
    classifier : PolytomyClassifier whose estimator has ``partial_fit``
    path : name of the data file
    reading, stream : how to read the data, and how to train on it
    """
    from sklearn.pipeline import make_pipeline

    from polytomy.datasets import Stream

    _check_estimator(classifier)
    weights = classifier.class_weight
    if weights not in (None, "balanced"):
        raise ArgumentError(
            f"--class-weight {weights} needs all the data at once. With --stream, use "
            "--class-weight balanced."
        )
    data = open_data(path)  # once: a pipe cannot be opened again
    is_pipe = isinstance(data, Stream)
    if is_pipe:
        _check_pipe(data, path, reading, stream, weights)
    scan, scaler, passes = None, None, stream.passes
    needs_scan = stream.classes is None or reading.one_hot or weights or reading.scale != "none"
    if not is_pipe and needs_scan:
        scan, scaler = _scan(data, reading, stream)
        check_class_labels(scan.classes, path, reading.column, scan.label_name)
        _balance(classifier, scan)
    classes = stream.class_labels() if scan is None else scan.classes
    total = None if scan is None else passes * scan.n_rows
    n_samples, last = 0, None
    with count_samples("trained", total) as advance:
        for number in range(passes):
            if number:
                classifier.begin_pass()
            for block in _read_blocks(data, path, _reading_after(reading, scan), classes):
                if last is None:
                    scaler = _fit_first(scaler, reading.scale, block, is_pipe)
                    _warn_if_sorted(block, classes)
                X = block.X if scaler is None else scaler.transform(block.X)
                classifier.partial_fit(X, block.y, classes=classes)
                n_samples += block.n_samples if number == 0 else 0
                last = block
                advance(block.n_samples)
    assert last is not None, "data without rows was rejected earlier"
    model = classifier if scaler is None else make_pipeline(scaler, classifier)
    return TrainedModel(model, describe_data(last, reading), n_samples, last.n_features)


def _reading_after(reading: TrainingDataOptions, scan: Scan | None) -> dict[str, Any]:
    """Return the arguments of the functions that read data, with what a first pass found."""
    options = reading.reading()
    if scan is not None:
        options["features"] = scan.columns or scan.n_features
        options["categories"] = scan.categories or "refuse"
        if scan.is_zero_based is not None:
            options["zero_based"] = scan.is_zero_based
    return options


def _read_blocks(data: Source, path: str, options: dict[str, Any], classes: Any) -> Iterator[Data]:
    """Return the blocks of the data for one pass."""
    from polytomy.datasets import open_blocks

    blocks = open_blocks(data, classes=classes, **options)
    first = next(blocks, None)
    if first is None:
        raise DataError(f"{path}: the file has no rows")
    return chain([first], blocks)


def _check_estimator(classifier: Any) -> None:
    if not hasattr(classifier.estimator, "partial_fit"):
        raise ArgumentError(
            f"--stream needs an estimator that learns in batches; "
            f"{type(classifier.estimator).__name__} does not. Use --estimator sgd or "
            '"sgd loss=log_loss", or leave out --stream.'
        )


def _check_pipe(
    data: Source, path: str, reading: TrainingDataOptions, stream: StreamOptions, class_weight: Any
) -> None:
    from polytomy.datasets import FORMATS, find_format

    for is_wrong, words in (
        (stream.classes is None, "name all labels: --classes a,b,c"),
        (class_weight is not None, "leave out --class-weight"),
        (stream.passes > 1, "use --passes 1"),
        (reading.one_hot, "leave out --one-hot"),
    ):
        if is_wrong:
            raise ArgumentError(
                f"{path}: a pipe is read only once. To train on it, {words}; or save the data to a "
                "file first."
            )
    kind = FORMATS[find_format(data, reading.format)]
    if reading.features is None and kind.is_read_twice:
        raise ArgumentError("LIBSVM data from a pipe needs --features, the number of features.")


def _scan(data: Source, reading: TrainingDataOptions, stream: StreamOptions) -> tuple[Scan, Any]:
    """Return what a pass over a file finds, and the fitted scaler."""
    from polytomy.datasets import open_blocks
    from polytomy.datasets.reading import open_table, scan_table
    from polytomy.datasets.tables import ReadOptions

    scaler: list[Any] = []

    def fit_scaler(X: Any) -> None:
        if not scaler:
            scaler.append(make_scaler(reading.scale, X))
        if scaler[0] is not None:
            scaler[0].partial_fit(X)

    with count_samples("scanned") as advance:

        def visit(X: Any) -> None:
            if not reading.one_hot:
                fit_scaler(X)
            advance(X.shape[0])

        options = reading.reading()
        format = options.pop("format")
        wanted = ReadOptions(classes=stream.class_labels(), **options)
        scan = scan_table(open_table(data, format, wanted), visit)
        if reading.one_hot and reading.scale != "none":
            # The values of text columns are known only now.
            for block in open_blocks(data, classes=scan.classes, **_reading_after(reading, scan)):
                fit_scaler(block.X)
                advance(block.n_samples)
    return scan, scaler[0] if scaler else None


def _balance(classifier: Any, scan: Scan) -> None:
    """Replace the class weight "balanced" with the weights that it stands for."""
    if classifier.class_weight == "balanced":
        counts = scan.counts[scan.counts > 0]
        labels = scan.classes[scan.counts > 0].tolist()
        weights = counts.sum() / (len(counts) * counts)
        classifier.set_params(class_weight=dict(zip(labels, weights.tolist(), strict=True)))


def _fit_first(scaler: Any, scale: str, block: Data, is_pipe: bool) -> Any:
    """Return the scaler; for a pipe, fit it to the first block."""
    if not is_pipe:
        return scaler
    scaler = make_scaler(scale, block.X)
    return scaler if scaler is None else scaler.fit(block.X)


def _warn_if_sorted(block: Data, classes: Any) -> None:
    import numpy as np

    found = len(np.unique(np.asarray(block.y)))
    if block.n_samples >= _LARGE_BLOCK and 2 * found < min(len(classes), block.n_samples // 10):
        warnings.warn(
            f"the first {block.n_samples} rows have {found} of {len(classes)} classes. If the rows "
            "are sorted by class, training in blocks works badly: shuffle them first.",
            PolytomyWarning,
            stacklevel=1,
        )


def describe_data(data: Any, reading: TrainingDataOptions) -> dict[str, Any]:
    """Return the description of the data that the model file stores.

    Parameters
    ----------
    data : Data of the file, or survey of a folder
    reading : how it was read
    """
    return {
        "columns": None if data.columns is None else list(data.columns),
        "n_columns": data.n_columns,
        "categories": {name: list(values) for name, values in data.categories.items()},
        "target": reading.column,
        "is_sparse": hasattr(getattr(data, "X", None), "toarray"),
        "zero_based": getattr(data, "is_zero_based", None),
        "missing": reading.missing,
    }


# -- The command `train`, for data in memory, in blocks, or on a cluster --


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
            for_classes = {"--class-weight", "--class-order"} & set(name_given(self))
            refuse_options(
                sorted(for_classes), "is only for classifiers; leave it out with --regress"
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
    reading = reading.for_estimator(made)
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
    counts = [
        count_things(n_classes, "bin" if model.regress else "class", kind),
        count_things(summary["binaries"], "binary", "binaries"),
        f"trained on {count_things(summary['samples'], 'sample')}",
    ]
    features = count_things(summary["features"], "feature")
    text = f"{output}: {', '.join(counts)} of {features}; {summary['bytes']} bytes"
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
    description = describe_data(samples, reading)
    return TrainedModel(model, description, samples.n_samples, samples.n_features)


def _train_on_cluster(
    classifier: Any, data: str, reading: TrainingDataOptions, cluster: ClusterOptions
) -> TrainedModel:
    """Return a classifier trained on a folder of files, by the workers of a cluster."""
    import numpy as np

    from polytomy.dask.folders import connect, survey_folder, train_on_folder
    from polytomy.datasets.tables import ReadOptions

    assert cluster.dask is not None, "the caller has checked it"
    options = reading.reading()
    how = options.pop("format"), ReadOptions(**options)
    with connect(cluster.dask, cluster.n_jobs) as client:
        survey = survey_folder(client, data, *how)
        check_class_labels(survey.classes, data, reading.column, survey.label_name)
        scaler = make_scaler(reading.scale, np.empty((1, 1)))
        classifier.set_params(n_jobs=None)
        model = train_on_folder(client, survey, *how, classifier, scaler)
    description = describe_data(survey, reading)
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
