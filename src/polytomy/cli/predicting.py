"""Commands that use models: predict, evaluate."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from polytomy.cli.class_orders import parse_class_order
from polytomy.cli.data_options import (
    AsJson,
    DataFile,
    Features,
    Format,
    Header,
    ModelFile,
    Trusted,
    ZeroBased,
    open_data,
    parse_column,
    parse_zero_based,
    to_json,
)
from polytomy.cli.loaded_models import LoadedModel
from polytomy.cli.regression import (
    Interval,
    Median,
    NumberPredictor,
    Quantiles,
    evaluate_numbers,
    refuse_options,
    show_number_scores,
)
from polytomy.cli.text_files import check_output, print_text, read_control
from polytomy.errors import ArgumentError
from polytomy.scheme import Scheme
from polytomy.scheme import parse as parse_scheme

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the command line."""
    app.command()(predict)
    app.command()(evaluate)


def predict(
    model: ModelFile,
    data: DataFile,
    proba: Annotated[
        bool, typer.Option("--proba", help="Also print the probability of each class.")
    ] = False,
    quantiles: Quantiles = None,
    interval: Interval = None,
    median: Median = False,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Label column to ignore; detected by default."),
    ] = None,
    format: Format = None,
    header: Header = None,
    zero_based: ZeroBased = "auto",
    features: Features = None,
    trusted: Trusted = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write the CSV to a file."),
    ] = None,
    escape: Annotated[
        bool,
        typer.Option(
            "--escape/--no-escape",
            help="Whether labels that a spreadsheet would run as formulas get an apostrophe.",
        ),
    ] = True,
) -> None:
    """Predict the class or the number of each sample of a data file and print CSV.

    Example: `polytomy train iris.csv -o iris.polytomy && polytomy predict iris.polytomy iris.csv`
    """
    check_output(output, model, data)
    loaded = LoadedModel(model, trusted, features)
    numbers = None
    if loaded.regressor is not None:
        refuse_options({"--proba": proba}, "is only for classifiers; use --quantiles or --interval")
        numbers = NumberPredictor(loaded, quantiles, interval, median)
    else:
        own = {"--quantiles": quantiles, "--interval": interval, "--median": median}
        refuse_options(own, "is only for regressors, which train --regress makes")
    if proba and not loaded.has_probabilities:
        raise ArgumentError("the model's solver gives no probabilities; leave out --proba")
    column = None if target is None else parse_column(target)
    loaded.set_zero_based(parse_zero_based(zero_based))
    blocks = loaded.unlabelled_blocks(open_data(data), column, format, header)
    # Written with the first rows, so that a failure before them leaves no output at all.
    labels = loaded.classes.tolist() if proba else []
    head = ["prediction", *[f"P({label})" for label in labels]] if numbers is None else numbers.head
    waiting: list[list[Any]] = [head]
    with _open_csv(output, escape) as write, _count_samples("predicted") as advance:
        for block in blocks:
            if numbers is None:
                predicted, P = loaded.predict(block.X)
                rows = _make_rows(predicted, P if proba else None)
            else:
                rows = numbers.predict(block.X)
            write([*waiting, *rows])
            waiting = []
            advance(block.n_samples)


def evaluate(
    model: ModelFile,
    data: DataFile,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Label column; as in training by default."),
    ] = None,
    format: Format = None,
    header: Header = None,
    zero_based: ZeroBased = "auto",
    features: Features = None,
    trusted: Trusted = None,
    ordered: Annotated[
        bool,
        typer.Option(
            "--ordered",
            help="Also print scores for ordered classes; the default if the order is known.",
        ),
    ] = False,
    class_order: Annotated[
        str | None,
        typer.Option(
            "--class-order",
            metavar="LABELS",
            help="Class labels from first to last, for the scores of ordered classes: a,b,c or a "
            "file of one label a line; as in training by default.",
        ),
    ] = None,
    hierarchy: Annotated[
        str | None,
        typer.Option(
            metavar="CONTROL",
            help="Also print scores for a hierarchy of the classes, the scheme of a control file.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate a model on labelled data: accuracy, probability scores, confusion matrix.

    A regressor has its errors, the score of its distributions (CRPS) and the coverage of intervals.

    Scores that training expected, from its held-out folds, are shown beside those of the data.

    Example: `polytomy train iris.csv -o m.polytomy && polytomy evaluate m.polytomy iris.csv`
    """
    import numpy as np

    loaded = LoadedModel(model, trusted, features)
    loaded.set_zero_based(parse_zero_based(zero_based))
    column = None if target is None else parse_column(target)
    if loaded.regressor is not None:
        own = {"--ordered": ordered, "--class-order": class_order, "--hierarchy": hierarchy}
        refuse_options(own, "is only for classifiers")
        with _count_samples("evaluated") as advance:
            blocks = loaded.labelled_blocks(open_data(data), column, format, header)
            scores = evaluate_numbers(loaded, blocks, data, advance)
        text = to_json({**scores, "out_of_fold_score": loaded.expected_score}) if as_json else None
        print_text(text or show_number_scores(scores, loaded.expected_score))
        return
    order = _find_order(loaded, parse_class_order(class_order), ordered)
    scheme = None if hierarchy is None else parse_scheme(*read_control(hierarchy))
    truth: list[Any] = []
    labels: list[Any] = []
    probabilities: list[Any] = []
    with _count_samples("evaluated") as advance:
        for block in loaded.labelled_blocks(open_data(data), column, format, header):
            block_labels, P = loaded.predict(block.X)
            truth.append(block.y)
            labels.append(block_labels)
            probabilities.append(P)
            advance(block.n_samples)
    y, predicted = np.concatenate(truth), np.concatenate(labels)
    P_all = np.concatenate(probabilities) if loaded.has_probabilities else None
    classes = loaded.classes
    measured = _measure(y, P_all, predicted, classes)
    if order is not None:
        measured |= _measure_ordered(y, P_all, predicted, classes, order)
    if scheme is not None:
        measured |= _measure_hierarchical(y, predicted, classes, scheme)
    table = _confusion_matrix(y, predicted, classes)
    if as_json:
        confusion = {"classes": classes, "counts": table}
        judged = {"samples": len(y), **measured, "out_of_fold_score": loaded.expected_score}
        print_text(to_json({**judged, "confusion": confusion}))
        return
    expected = loaded.expected_score or {}
    lines = [f"{len(y)} samples"]
    lines += [_score_line(name, value, expected.get(name)) for name, value in measured.items()]
    print_text("\n".join([*lines, "", *_confusion_lines(table, classes.tolist())]))


def _score_line(name: str, value: float, expected: float | None) -> str:
    line = f"{name.replace('_', ' '):30}{value:10.4f}"
    return line if expected is None else f"{line}   expected from training: {expected:.4f}"


def _make_rows(labels: Any, P: Any) -> list[list[Any]]:
    if P is None:
        return [[label] for label in labels.tolist()]
    return [[label, *row] for label, row in zip(labels.tolist(), P.tolist(), strict=True)]


def _measure(y: Any, P: Any, predicted: Any, classes: Any) -> dict[str, float]:
    from polytomy import metrics

    measured = {
        "accuracy": float((predicted == y).mean()),
        "uncertainty_coefficient": metrics.uncertainty_coefficient(y, predicted),
    }
    if P is not None:
        measured |= {
            "brier_score": metrics.brier_score(y, P, classes),
            "winner_brier_score": metrics.winner_brier_score(y, P, classes),
            "log_loss": metrics.log_loss(y, P, classes),
            "calibration_error": metrics.classwise_calibration_error(y, P, classes),
        }
    return measured


def _find_order(loaded: LoadedModel, class_order: Any, is_ordered: bool) -> list[Any] | None:
    """Return the classes in order: as asked for, as in training, or, if ordered, by value."""
    from polytomy.inputs.label_order import match_class_order, order_labels

    labels = loaded.classes.tolist()
    given = loaded.class_order if class_order is None else class_order
    if given is not None:
        return match_class_order(given, labels)
    return order_labels(labels, ["--ordered"]) if is_ordered else None


def _measure_ordered(
    y: Any, P: Any, predicted: Any, classes: Any, order: list[Any]
) -> dict[str, float]:
    from polytomy import metrics

    measured = {"mean_absolute_rank_error": metrics.mean_absolute_rank_error(y, predicted, order)}
    if P is not None:
        score = metrics.ranked_probability_score(y, P, classes, class_order=order)
        measured["ranked_probability_score"] = score
    return measured


def _measure_hierarchical(y: Any, predicted: Any, classes: Any, scheme: Scheme) -> dict[str, float]:
    import numpy as np

    from polytomy import metrics
    from polytomy.composition.binding import bind_classes

    names = [scheme.classes[position] for position in bind_classes(scheme, classes).tolist()]
    true, found = (
        [names[index] for index in np.searchsorted(classes, labels).tolist()]
        for labels in (y, predicted)
    )
    score = metrics.hierarchical_score(true, found, scheme)
    return {f"hierarchical_{name}": value for name, value in score._asdict().items()}


def _confusion_matrix(y: Any, predicted: Any, classes: Any) -> Any:
    import numpy as np

    table = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(table, (np.searchsorted(classes, y), np.searchsorted(classes, predicted)), 1)
    return table


def _confusion_lines(table: Any, labels: list[Any]) -> list[str]:
    names = [str(label) for label in labels]
    rows = [["true \\ predicted", *names]]
    rows += [[name, *map(str, row)] for name, row in zip(names, table.tolist(), strict=True)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.rjust, row, widths)) for row in rows]


@contextmanager
def _open_csv(output: Path | None, escape: bool) -> Iterator[Any]:
    """Yield a function that writes rows as CSV, to standard output or atomically to a file."""
    from polytomy.files import open_atomically, to_csv

    if output is None:
        yield lambda rows: print_text(to_csv(rows, escape=escape).rstrip("\n"))
        return
    with open_atomically(output) as file:
        yield lambda rows: file.write(to_csv(rows, escape=escape).encode())


@contextmanager
def _count_samples(verb: str) -> Iterator[Any]:
    """Yield a function that counts samples; the count is shown on a terminal only."""
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
