"""Training on data that is read in blocks, in bounded memory: train --stream."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from polytomy.cli.data import (
    check_class_labels,
    count_samples,
    make_scaler,
    open_data,
    parse_labels,
)
from polytomy.cli.options import FeatureOptions, flag, option
from polytomy.errors import ArgumentError, DataError, PolytomyWarning

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

        from polytomy.datasets.fields import typed_labels

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
    return TrainedModel(model, describe_data(last, reading.column), n_samples, last.n_features)


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


def describe_data(block: Data, target: str | int) -> dict[str, Any]:
    """Return the description of the data that the model file stores."""
    n_added = sum(len(values) - 1 for values in block.categories.values())
    return {
        "columns": None if block.columns is None else list(block.columns),
        "n_columns": block.n_features - n_added,
        "categories": {name: list(values) for name, values in block.categories.items()},
        "target": target,
        "is_sparse": hasattr(block.X, "toarray"),
        "zero_based": block.is_zero_based,
    }
