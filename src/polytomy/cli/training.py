"""The command `train`, for data in memory, in blocks of bounded memory, or on a cluster."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    CLASS_ORDER,
    DATA,
    MAX_SIDES,
    SEED,
    ClusterOptions,
    DataFile,
    FeatureOptions,
    complete,
    final_calibration,
    flag,
    given,
    group,
    name_given,
    option,
    parse_integer,
    parse_none,
    refuse_options,
)
from polytomy.errors import ArgumentError, DataError, PolytomyWarning
from polytomy.inputs.arguments import count_things

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polytomy.datasets import Data

# A block of this many rows should have rows of most classes.
_LARGE_BLOCK = 500
_STREAMS = "Data larger than memory"


@group(DATA)
class TrainingDataOptions(FeatureOptions):
    """How to read the training data."""

    features: int | None = option(
        min=1, help="Number of features, if LIBSVM data to predict may have more."
    )

    def reading(self) -> dict[str, Any]:
        """Return the arguments of the functions that read data."""
        return {**super().reading(), "features": self.features}


@group(_STREAMS)
class StreamOptions:
    """How to train on data in blocks."""

    stream: bool = flag(
        "--stream",
        "Read the data in blocks, for files larger than memory; needs an estimator that learns "
        "in batches.",
    )
    passes: int = option(min=1, help="Passes over the data, with --stream.", default=1)
    reservoir_size: int | None = option(
        "--reservoir",
        min=0,
        sets="classifier:PolytomyClassifier",
        help="Maximum number of rows to hold out for calibration, with --stream.",
    )


Trained = tuple[Any, dict[str, Any], int]
"""A fitted model, the metadata of its file, and the number of samples it was trained on."""


def train_stream(
    classifier: Any, path: str, reading: TrainingDataOptions, stream: StreamOptions
) -> Trained:
    """Train a classifier on data in blocks, and return it with its scaler.

    A first pass over the file finds the classes and fits the scaler.

    Parameters
    ----------
    classifier : PolytomyClassifier whose estimator has ``partial_fit``
    path : name of the data file
    reading, stream : how to read the data, and how to train on it
    """
    from sklearn.pipeline import make_pipeline

    from polytomy.datasets import open_blocks

    _check_stream(classifier, path, reading)
    classes, counts, scaler, last = _scan(path, reading)
    options = reading.reading() | {"features": last.columns or last.n_columns}
    if last.is_zero_based is not None:
        options["zero_based"] = last.is_zero_based
    check_class_labels(classes, path, reading.column, last.label_name)
    if classifier.class_weight == "balanced":
        weights = counts.sum() / (len(classes) * counts)
        balanced = zip(classes.tolist(), weights.tolist(), strict=True)
        classifier.set_params(class_weight=dict(balanced))
    n_samples = int(counts.sum())
    with count_samples("trained", stream.passes * n_samples) as advance:
        for number in range(stream.passes):
            if number:
                classifier.begin_pass()
            for k, block in enumerate(open_blocks(path, classes=classes, **options)):
                if not (number or k):
                    _warn_if_sorted(block, classes)
                X = block.X if scaler is None else scaler.transform(block.X)
                classifier.partial_fit(X, block.y, classes=classes)
                advance(block.n_samples)
    model = classifier if scaler is None else make_pipeline(scaler, classifier)
    return model, describe_data(last, reading), n_samples


def _check_stream(classifier: Any, path: str, reading: TrainingDataOptions) -> None:
    """Raise ArgumentError if a classifier or a source of data cannot be used in blocks."""
    from polytomy.datasets import Stream

    if not hasattr(classifier.estimator, "partial_fit"):
        raise ArgumentError(
            f"--stream needs an estimator that learns in batches; "
            f"{type(classifier.estimator).__name__} does not. Use --estimator sgd or "
            '"sgd loss=log_loss", or leave out --stream.'
        )
    if classifier.class_weight not in (None, "balanced"):
        raise ArgumentError(
            f"--class-weight {classifier.class_weight} needs all the data at once. With --stream, "
            "use --class-weight balanced."
        )
    if classifier.validation is not None:
        raise ArgumentError("--validation needs all the data at once. Leave it out with --stream.")
    if reading.one_hot:
        raise ArgumentError(
            "--one-hot cannot be used with --stream. Encode the text columns first."
        )
    if isinstance(open_data(path), Stream):
        raise ArgumentError(
            f"{path}: --stream reads the data twice, and a pipe can be read only once. Save the "
            "data to a file first."
        )


def _scan(path: str, reading: TrainingDataOptions) -> tuple[NDArray[Any], NDArray[Any], Any, Data]:
    """Return the labels of a file, sorted, their counts, a fitted scaler or None, and a block."""
    import numpy as np

    from polytomy.datasets import open_blocks
    from polytomy.datasets.columns import LabelIndex

    scaler, last = None, None
    counts: Counter[Any] = Counter()
    with count_samples("scanned") as advance:
        for block in open_blocks(path, **reading.reading()):
            if last is None:
                scaler = make_scaler(reading.scale, block.X)
            if scaler is not None:
                scaler.partial_fit(block.X)
            assert block.y is not None, "labels were requested"
            counts.update(block.y.tolist())
            last = block
            advance(block.n_samples)
    if last is None:
        raise DataError(f"{path}: the file has no rows")
    index = LabelIndex()
    for label in counts:
        index.number(label)
    labels = index.found()
    order = np.argsort(labels)
    return labels[order], np.array(list(counts.values()))[order], scaler, last


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


def describe_data(data: Any, reading: FeatureOptions) -> dict[str, Any]:
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


@group()
class ModelOptions:
    """Parameters of the model; None stands for the default of its constructor."""

    scheme: list[str] | None = option(
        metavar="SCHEME",
        autocompletion=complete("schemes", before=["auto", "limited", "pool"], files="*.control"),
        sets=_CLASSIFIER,
        help='Design (see "polytomy design --help"), "auto", "limited", control file or text; '
        'with --regress, "ordered" unless given. "pool" combines three designs, and several '
        "--scheme options combine theirs.",
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
        help="Number of folds for both calibrations, and for --scheme auto; by default 5, or "
        "one held-out part if there are 100,000 rows or more.",
    )
    validation: str | None = option(
        names="validations",
        is_checked=True,
        sets=_CLASSIFIER,
        help="Rows to stop boosted trees early on, those that each fold holds out: {validations}.",
    )
    class_weight: str | None = option(
        names="class_weights", is_checked=True, help="Class weights: {class_weights}."
    )
    class_order: str | None = CLASS_ORDER
    max_sides: int | None = MAX_SIDES
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
            validation=parse_none,
            class_order=parse_labels,
            n_bins=parse_integer,
            scheme=lambda schemes: schemes if len(schemes) > 1 else schemes[0],
        )
        parameters["estimator"] = resolve_estimator(self.estimator or default_estimator)
        is_regressor = parameters.pop("regress", False)
        make = PolytomyRegressor if is_regressor else PolytomyClassifier
        return make(**parameters, **more)

    def check(self) -> None:
        """Raise ArgumentError if there are options for both numbers and classes."""
        if self.regress:
            for_classes = {"--class-weight", "--class-order", "--max-sides"} & set(name_given(self))
            refuse_options(
                sorted(for_classes), "is only for classifiers; leave it out with --regress"
            )
        elif self.n_bins is not None:
            raise ArgumentError("--bins is only for regressors; use it with --regress")


def train(
    data: DataFile,
    *,
    output: Path = option(
        "-o", "--output", help="Model file to write, such as model.polytomy.", default=MISSING
    ),
    model: ModelOptions,
    reading: TrainingDataOptions,
    stream: StreamOptions,
    cluster: ClusterOptions,
    out_of_fold: bool = flag(
        "--out-of-fold", "Save out-of-fold scores too, which extend needs for calibration."
    ),
    random_state: int = SEED,
    as_json: bool = AS_JSON,
) -> None:
    """Train a classifier, or with --regress a regressor, on a data file and save it.

    With --dask, train it on a folder of files.

    Example: `polytomy train iris.csv --scheme one-vs-rest --estimator "svc C=10" -o iris.polytomy`
    """
    from polytomy.learners.preparation import split_pipeline, takes_pairwise_values
    from polytomy.persistence import save

    check_output(output, data)
    if stream.passes > 1 and not stream.stream:
        raise ArgumentError("--passes needs --stream. Add it, or leave --passes out.")
    model.check()
    if stream.stream and model.cv is not None:
        raise ArgumentError("--folds cannot be used with --stream. Use --reservoir.")
    if model.regress and (stream.stream or cluster.dask is not None):
        raise ArgumentError("--regress needs all data in memory; leave out --stream and --dask")
    if stream.stream and cluster.dask is not None:
        raise ArgumentError("--stream and --dask cannot be used together; leave one out")
    if cluster.dask is not None and reading.one_hot:
        raise ArgumentError("--one-hot cannot be used with --dask. Encode the text columns first.")
    more = {} if stream.reservoir_size is None else {"reservoir_size": stream.reservoir_size}
    made = model.make(
        "sgd" if stream.stream else None,
        n_jobs=cluster.n_jobs,
        random_state=random_state,
        verbose=int(has_terminal()),
        **({} if model.regress else more),
    )
    if takes_pairwise_values(made):
        raise ArgumentError("a precomputed kernel can be trained on only in Python")
    reading = reading.for_estimator(made)
    if cluster.dask is not None:
        trained = _train_on_cluster(made, data, reading, cluster)
    elif stream.stream:
        trained = train_stream(made, data, reading, stream)
    else:
        trained = _train_whole(made, data, reading, is_number=model.regress)
    whole, description, n_samples = trained
    fitted = split_pipeline(whole)[1]
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
    save(whole, output, metadata=description, out_of_fold=out_of_fold)
    kind = "bins" if model.regress else "classes"
    score: dict[str, float] | None = getattr(fitted, "out_of_fold_score_", None)
    summary = {
        "model": str(output),
        "samples": n_samples,
        "features": fitted.n_features_in_,
        kind: n_classes,
        "binaries": sum(each.is_counted for each in core.composition_.dichotomies),
        "bytes": output.stat().st_size,
        "out_of_fold_score": score,
    }
    counts = [
        count_things(n_classes, "bin" if model.regress else "class", kind),
        core.composition_.counted_models,
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
) -> Trained:
    """Return a model trained on the data of a file, all at once, with its scaler."""
    from sklearn.pipeline import make_pipeline

    samples, labels = read_samples(data, reading, is_number=is_number)
    scaler = make_scaler(reading.scale, samples.X)
    model = model if scaler is None else make_pipeline(scaler, model)
    model.fit(samples.X, labels)
    return model, describe_data(samples, reading), samples.n_samples


def _train_on_cluster(
    classifier: Any, data: str, reading: TrainingDataOptions, cluster: ClusterOptions
) -> Trained:
    """Return a classifier trained on a folder of files, by the workers of a cluster."""
    from polytomy.dask.estimator import connect, list_data_files, read_first, train_on_files

    assert cluster.dask is not None, "the caller has checked it"
    files, options = list_data_files(data), reading.reading()
    first = read_first(files, **options)
    # All files are read alike, whatever the order of their columns.
    options |= {"features": first.columns or first.n_columns}
    options |= {"target": first.label_name or reading.column}
    with connect(cluster.dask, cluster.n_jobs) as client:
        classifier.set_params(n_jobs=None)
        scaler = make_scaler(reading.scale, first.X)
        model = train_on_files(client, files, classifier, scaler, **options)
    return model, describe_data(first, reading), model.n_samples_
