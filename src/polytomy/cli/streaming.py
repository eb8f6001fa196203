"""Training on data that is read in blocks, in bounded memory: train --stream."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from polytomy.cli.class_orders import parse_class_order
from polytomy.cli.data_options import make_scaler, open_data, parse_column, parse_zero_based
from polytomy.errors import Argument, ArgumentError, DataError, PolytomyWarning

if TYPE_CHECKING:
    from polytomy.datasets import Data, Source
    from polytomy.datasets.reading import Scan

__all__ = ["StreamSource", "TrainedModel", "describe_data", "train_stream"]

# A block of this many rows should have rows of most classes.
_LARGE_BLOCK = 500


@dataclass(frozen=True, slots=True)
class StreamSource:
    """Data to read in blocks; the attributes are the options of `train`."""

    path: str
    target: str = "-1"
    format: str | None = None
    header: bool | None = None
    zero_based: str = "auto"
    one_hot: bool = False
    features: int | None = None
    classes: str | None = None

    def options(self) -> dict[str, Any]:
        """Return the arguments of the functions that read data."""
        return {
            "format": self.format,
            "target": parse_column(self.target),
            "header": self.header,
            "features": self.features,
            "zero_based": parse_zero_based(self.zero_based),
        }

    def class_labels(self) -> Any:
        """Return the labels of the option --classes as an array, sorted; None without it."""
        import numpy as np

        from polytomy.datasets.fields import typed_labels

        listed = parse_class_order(self.classes, "--classes")
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


def train_stream(classifier: Any, source: StreamSource, *, scale: str, passes: int) -> TrainedModel:
    """Train a classifier on data in blocks, and return it with its scaler.

    A first pass over a file finds the classes, unless they are given, and fits the scaler. A pipe
    is read once: its classes must be given, and the scaler is fitted to the first block.

    Parameters
    ----------
    classifier : PolytomyClassifier whose estimator has ``partial_fit``
    source : StreamSource
    scale : value of the option --scale
    passes : number of passes of training
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
    data = open_data(source.path)  # once: a pipe cannot be opened again
    is_pipe = isinstance(data, Stream)
    if is_pipe:
        _check_pipe(data, source, passes, weights)
    scan, scaler = None, None
    if not is_pipe and (source.classes is None or source.one_hot or weights or scale != "none"):
        scan, scaler = _scan(data, source, scale)
        _check_classes(scan, source)
        _balance(classifier, scan)
    classes = source.class_labels() if scan is None else scan.classes
    total = None if scan is None else passes * scan.n_rows
    n_samples, last = 0, None
    with _show_progress(total) as advance:
        for number in range(passes):
            if number:
                classifier.begin_pass()
            for block in _read_blocks(data, source, scan, classes):
                if last is None:
                    scaler = _fit_first(scaler, scale, block, is_pipe)
                    _warn_if_sorted(block, classes)
                X = block.X if scaler is None else scaler.transform(block.X)
                classifier.partial_fit(X, block.y, classes=classes)
                n_samples += block.n_samples if number == 0 else 0
                last = block
                advance(block.n_samples)
    assert last is not None, "data without rows was rejected earlier"
    model = classifier if scaler is None else make_pipeline(scaler, classifier)
    return TrainedModel(model, describe_data(last, source.target), n_samples, last.n_features)


def _read_blocks(
    data: Source, source: StreamSource, scan: Scan | None, classes: Any
) -> Iterator[Data]:
    """Return the blocks of the data for one pass."""
    from polytomy.datasets import open_blocks

    options = source.options()
    if scan is not None:
        options["features"] = scan.columns or scan.n_features
        options["categories"] = scan.categories or "refuse"
        if scan.is_zero_based is not None:
            options["zero_based"] = scan.is_zero_based
    blocks = open_blocks(data, classes=classes, **options)
    first = next(blocks, None)
    if first is None:
        raise DataError(f"{source.path}: the file has no rows")
    return chain([first], blocks)


def _check_estimator(classifier: Any) -> None:
    if not hasattr(classifier.estimator, "partial_fit"):
        raise ArgumentError(
            f"--stream needs an estimator that learns in batches; "
            f"{type(classifier.estimator).__name__} does not. Use --estimator sgd or "
            '"sgd loss=log_loss", or leave out --stream.'
        )


def _check_pipe(data: Source, source: StreamSource, passes: int, class_weight: Any) -> None:
    from polytomy.datasets import find_format

    for is_wrong, words in (
        (source.classes is None, "name all labels: --classes a,b,c"),
        (class_weight is not None, "leave out --class-weight"),
        (passes > 1, "use --passes 1"),
        (source.one_hot, "leave out --one-hot"),
    ):
        if is_wrong:
            raise ArgumentError(
                f"{source.path}: a pipe is read only once. To train on it, {words}; or save the "
                "data to a file first."
            )
    if source.features is None and find_format(data, source.format) == "svmlight":
        raise ArgumentError("LIBSVM data from a pipe needs --features, the number of features.")


def _scan(data: Source, source: StreamSource, scale: str) -> tuple[Scan, Any]:
    """Return what a pass over a file finds, and the fitted scaler."""
    from polytomy.datasets import open_blocks
    from polytomy.datasets.reading import scan_data

    scaler: list[Any] = []

    def fit_scaler(X: Any) -> None:
        if not scaler:
            scaler.append(make_scaler(scale, X))
        if scaler[0] is not None:
            scaler[0].partial_fit(X)

    with _show_progress(None, "scanned") as advance:

        def visit(X: Any) -> None:
            if not source.one_hot:
                fit_scaler(X)
            advance(X.shape[0])

        scan = scan_data(
            data,
            one_hot=source.one_hot,
            classes=source.class_labels(),
            visit=visit,
            **source.options(),
        )
        if source.one_hot and scale != "none":
            options = {**source.options(), "features": scan.columns or scan.n_features}
            categories = scan.categories or "refuse"
            for block in open_blocks(data, classes=scan.classes, categories=categories, **options):
                fit_scaler(block.X)
                advance(block.n_samples)
    return scan, scaler[0] if scaler else None


def _check_classes(scan: Scan, source: StreamSource) -> None:
    """Raise an error if the labels are not classes, as without --stream."""
    if scan.classes.dtype.kind == "f":
        fractions = scan.classes[scan.classes % 1 != 0].tolist()
        if fractions:
            place = parse_column(source.target) if scan.label_name is None else scan.label_name
            raise DataError(
                f"{source.path}, column {place!r}: labels must be classes; {fractions[0]:g} is "
                "neither a word nor an integer. Set ",
                Argument("target"),
                " to the label column.",
            )


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


def describe_data(block: Data, target: str) -> dict[str, Any]:
    """Return the description of the data that the model file stores."""
    n_added = sum(len(values) - 1 for values in block.categories.values())
    return {
        "columns": None if block.columns is None else list(block.columns),
        "n_columns": block.n_features - n_added,
        "categories": {name: list(values) for name, values in block.categories.items()},
        "target": parse_column(target),
        "is_sparse": hasattr(block.X, "toarray"),
        "zero_based": block.is_zero_based,
    }


@contextmanager
def _show_progress(total: int | None, verb: str = "trained") -> Iterator[Callable[[int], None]]:
    """Yield a function that counts samples; show the count and the time left on a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda n_samples: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    count = TextColumn("{task.completed:,.0f} samples " + verb)
    columns = (
        (SpinnerColumn(), count, TimeElapsedColumn())
        if total is None
        else (BarColumn(), count, TimeRemainingColumn())
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda n_samples: progress.advance(task, n_samples)
