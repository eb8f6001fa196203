"""Commands that use models: predict, evaluate."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from polytomy.cli.data import (
    AsJson,
    DataFile,
    Features,
    Format,
    Header,
    ModelFile,
    Trusted,
    column_of,
    to_json,
)
from polytomy.cli.files import print_text
from polytomy.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from polytomy.datasets import Data

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the command line."""
    app.command()(predict)
    app.command()(evaluate)


class _Model(NamedTuple):
    """A loaded classifier, and how the columns of its data were read."""

    classifier: Any
    features: Any
    categories: Any
    target: str | int


def predict(
    model: ModelFile,
    data: DataFile,
    proba: Annotated[
        bool, typer.Option("--proba", help="Probabilities of all classes too.")
    ] = False,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of the class, to leave out; else it is found."),
    ] = None,
    format: Format = None,
    header: Header = None,
    features: Features = None,
    trusted: Trusted = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write CSV there.")
    ] = None,
) -> None:
    """Predict the class of each sample of a file, as CSV; memory does not grow with the file.

    Example: `polytomy train iris.csv -o iris.polytomy && polytomy predict iris.polytomy iris.csv`
    """
    loaded = _load(model, trusted, features)
    blocks = _blocks_to_predict(loaded, data, target, format, header)
    labels = loaded.classifier.classes_.tolist()
    with _rows_of_csv(output) as write, _counting("predicted") as count:
        write([["prediction", *([f"P({label})" for label in labels] if proba else [])]])
        for block in blocks:
            write(_rows(loaded.classifier, block.X, proba))
            count(block.n_samples)


def evaluate(
    model: ModelFile,
    data: DataFile,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of the class; as trained if not given."),
    ] = None,
    format: Format = None,
    header: Header = None,
    features: Features = None,
    trusted: Trusted = None,
    as_json: AsJson = False,
) -> None:
    """Measure a model on labelled data: accuracy, information, probabilities, confusions.

    Example: `polytomy train iris.csv -o m.polytomy && polytomy evaluate m.polytomy iris.csv`
    """
    import numpy as np

    loaded = _load(model, trusted, features)
    classifier = loaded.classifier
    truth: list[Any] = []
    scores: list[Any] = []
    has_probabilities = hasattr(classifier, "predict_proba")
    with _counting("judged") as count:
        for block in _blocks_to_judge(loaded, data, target, format, header):
            truth.append(block.y)
            scores.append(
                classifier.predict_proba(block.X)
                if has_probabilities
                else _indicators(classifier, block.X)
            )
            count(block.n_samples)
    y, P = np.concatenate(truth), np.concatenate(scores)
    predicted = classifier.classes_[P.argmax(axis=1)]
    measured = _measures(y, P, predicted, classifier.classes_, has_probabilities)
    table = _confusions(y, predicted, classifier.classes_)
    if as_json:
        confusion = {"classes": classifier.classes_, "counts": table}
        print_text(to_json({"samples": len(y), **measured, "confusion": confusion}))
        return
    lines = [f"{len(y)} samples"]
    lines += [f"{name.replace('_', ' '):30}{value:10.4f}" for name, value in measured.items()]
    print_text("\n".join([*lines, "", *_drawn(table, classifier.classes_.tolist())]))


def _load(path: str, trusted: list[str] | None, n_features: int | None) -> _Model:
    from polytomy.persistence import load, read_info

    classifier = load(path, trusted=tuple(trusted or ()), n_features=n_features)
    metadata: Any = {}
    with open(path, "rb") as file:
        if file.read(2) == b"PK":
            metadata = read_info(path).metadata
    known = n_features or getattr(classifier, "n_features_in_", None)
    wanted = metadata.get("columns") or metadata.get("n_columns") or known
    categories = metadata.get("categories") or "refuse"
    return _Model(classifier, wanted, categories, metadata.get("target", -1))


def _blocks_to_predict(
    model: _Model, path: str, target: str | None, format: str | None, header: bool | None
) -> Iterator[Data]:
    from polytomy.datasets import open_blocks

    options: dict[str, Any] = {
        "format": format,
        "header": header,
        "features": model.features,
        "categories": model.categories,
    }
    if target is not None:
        return open_blocks(path, target=column_of(target), **options)
    try:
        return open_blocks(path, target=None, **options)
    except DataError as error:
        # One column too many is likely to be the label, where it was in training.
        try:
            return open_blocks(path, target=model.target, **options)
        except DataError:
            raise error from None


def _blocks_to_judge(
    model: _Model, path: str, target: str | None, format: str | None, header: bool | None
) -> Iterator[Data]:
    from polytomy.datasets import open_blocks

    return open_blocks(
        path,
        target=model.target if target is None else column_of(target),
        format=format,
        header=header,
        features=model.features,
        categories=model.categories,
        classes=model.classifier.classes_,
    )


def _rows(classifier: Any, X: Any, proba: bool) -> list[list[Any]]:
    if not proba:
        return [[label] for label in classifier.predict(X).tolist()]
    if not hasattr(classifier, "predict_proba"):
        raise ArgumentError("the model's solver gives no probabilities; leave out --proba")
    P = classifier.predict_proba(X)
    labels = classifier.classes_[P.argmax(axis=1)].tolist()
    return [[label, *row] for label, row in zip(labels, P.tolist(), strict=True)]


def _indicators(classifier: Any, X: Any) -> Any:
    return (classifier.predict(X)[:, None] == classifier.classes_).astype(float)


def _measures(
    y: Any, P: Any, predicted: Any, classes: Any, has_probabilities: bool
) -> dict[str, float]:
    from polytomy import metrics

    measured = {
        "accuracy": float((predicted == y).mean()),
        "uncertainty_coefficient": metrics.uncertainty_coefficient(y, predicted),
    }
    if has_probabilities:
        measured |= {
            "brier_score": metrics.brier_score(y, P, classes),
            "winner_brier_score": metrics.winner_brier_score(y, P, classes),
            "log_loss": metrics.log_loss(y, P, classes),
            "calibration_error": metrics.classwise_calibration_error(y, P, classes),
        }
    return measured


def _confusions(y: Any, predicted: Any, classes: Any) -> Any:
    import numpy as np

    table = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(table, (np.searchsorted(classes, y), np.searchsorted(classes, predicted)), 1)
    return table


def _drawn(table: Any, labels: list[Any]) -> list[str]:
    names = [str(label) for label in labels]
    rows = [["true \\ predicted", *names]]
    rows += [[name, *map(str, row)] for name, row in zip(names, table.tolist(), strict=True)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.rjust, row, widths)) for row in rows]


@contextmanager
def _rows_of_csv(output: Path | None) -> Iterator[Any]:
    """Yield a function that writes rows, to standard output or to a file that appears whole."""
    from polytomy.files import writing_whole

    def encoded(rows: list[list[Any]]) -> str:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue()

    if output is None:
        yield lambda rows: print_text(encoded(rows).rstrip("\n"))
        return
    with writing_whole(output) as file:
        yield lambda rows: file.write(encoded(rows).encode())


@contextmanager
def _counting(verb: str) -> Iterator[Any]:
    """Yield a function to tell of samples that are done; shown on a terminal only."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda n_samples: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.completed:,.0f} samples " + verb),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda n_samples: progress.advance(task, n_samples)
