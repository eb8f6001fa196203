"""Commands that use models: predict, evaluate."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from polytomy.cli.class_orders import parse_class_order
from polytomy.cli.data_options import (
    AsJson,
    Dask,
    DataFile,
    Features,
    Format,
    Header,
    Jobs,
    ModelFile,
    Trusted,
    ZeroBased,
    open_data,
    parse_column,
    parse_zero_based,
    to_json,
)
from polytomy.cli.deciding import (
    Cost,
    Explain,
    Levels,
    PerClass,
    Prior,
    RejectCost,
    RejectLabel,
    SetScore,
    TrainingPrior,
    check_set_score,
    name_sets,
    predict_sets,
    sets_to_text,
    take_decisions,
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
from polytomy.cli.running_scores import RunningScores
from polytomy.cli.text_files import check_output, print_text, read_control
from polytomy.errors import ArgumentError
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
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            metavar="K",
            help="Print the K likeliest classes of each sample, with their probabilities.",
        ),
    ] = None,
    quantiles: Quantiles = None,
    interval: Interval = None,
    median: Median = False,
    max_depth: Annotated[
        int | None,
        typer.Option(min=0, help="Stop after so many steps down the scheme, and print the node."),
    ] = None,
    min_probability: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Stop before a branch of the scheme that has less, at its node."
        ),
    ] = 0.0,
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
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the CSV to a file; with --dask, a folder of Parquet files.",
        ),
    ] = None,
    dask: Dask = None,
    jobs: Jobs = None,
    escape: Annotated[
        bool,
        typer.Option(
            "--escape/--no-escape",
            help="Whether labels that a spreadsheet would run as formulas get an apostrophe.",
        ),
    ] = True,
    level: Levels = None,
    set_score: SetScore = "lac",
    per_class: PerClass = False,
    prior: Prior = None,
    training_prior: TrainingPrior = None,
    cost: Cost = None,
    reject_cost: RejectCost = None,
    reject_label: RejectLabel = None,
    explain: Explain = False,
) -> None:
    """Predict the class or the number of each sample of a data file and print CSV.

    Example: `polytomy train iris.csv -o iris.polytomy && polytomy predict iris.polytomy iris.csv`
    """
    if dask is None:
        check_output(output, model, data)
    check_set_score(set_score)
    if explain and (proba or level or top is not None):
        raise ArgumentError("--explain prints text; leave out --proba, --set and --top")
    if top is not None and level:
        raise ArgumentError("--top and --set cannot be used together; leave one out")
    loaded = LoadedModel(model, trusted, features)
    numbers = None
    if loaded.regressor is not None:
        refuse_options({"--proba": proba}, "is only for classifiers; use --quantiles or --interval")
        numbers = NumberPredictor(loaded, quantiles, interval, median)
    else:
        own = {"--quantiles": quantiles, "--interval": interval, "--median": median}
        refuse_options(own, "is only for regressors, which train --regress makes")
    stops_at_nodes = max_depth is not None or min_probability > 0
    if (proba or stops_at_nodes) and not loaded.has_probabilities:
        needs = "--proba" if proba else "--max-depth and --min-probability"
        raise ArgumentError(f"the model's solver gives no probabilities; leave out {needs}")
    if top is not None:
        _check_top(top, proba, loaded)
    column = None if target is None else parse_column(target)
    loaded.set_zero_based(parse_zero_based(zero_based))
    if dask is not None:
        if top is not None or level or explain or prior or cost or reject_cost is not None:
            raise ArgumentError("with --dask, predict has labels and --proba only")
        options = {"target": column, "format": format, "header": header, "proba": proba}
        _predict_on_cluster(dask, jobs, data, loaded, output, **options)
        return
    blocks = loaded.unlabelled_blocks(open_data(data), column, format, header)
    blocks = take_decisions(loaded, blocks, prior, training_prior, cost, reject_cost, reject_label)
    if explain:
        _print_explanations(loaded, blocks, output)
        return
    # Written with the first rows, so that a failure before them leaves no output at all.
    labels = loaded.classes.tolist()
    head = ["prediction", *([f"P({label})" for label in labels] if proba else [])]
    waiting: list[list[Any]] = [[*head, *name_sets(level or [])]]
    if top is not None:
        waiting = [_name_top_columns(top)]
    if numbers is not None:
        waiting = [numbers.head]

    def make_rows(X: Any) -> list[list[Any]]:
        if numbers is not None:
            return numbers.predict(X)
        if top is not None:
            return _interleave(*loaded.predict_top_k(X, top))
        predicted, P = loaded.predict(X)
        if stops_at_nodes:
            predicted = loaded.stop_at_nodes(P, max_depth, min_probability)
        rows = _make_rows(predicted, P if proba else None)
        if not level:
            return rows
        texts = sets_to_text(predict_sets(loaded, X, level, set_score, per_class), labels)
        return [[*row, *own] for row, own in zip(rows, texts, strict=True)]

    with _open_csv(output, escape) as write, _count_samples("predicted") as advance:
        for block in blocks:
            write([*waiting, *make_rows(block.X)])
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
    level: Levels = None,
    set_score: SetScore = "lac",
    per_class: PerClass = False,
    dask: Dask = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate a model on labelled data: accuracy, probability scores, confusion matrix.

    The data is read in blocks, in bounded memory. A regressor has its errors, the score of its
    distributions (CRPS) and the coverage of intervals.

    Scores that training expected, from its held-out folds, are shown beside those of the data.

    Example: `polytomy train iris.csv -o m.polytomy && polytomy evaluate m.polytomy iris.csv`
    """
    check_set_score(set_score)
    loaded = LoadedModel(model, trusted, features)
    loaded.set_zero_based(parse_zero_based(zero_based))
    column = None if target is None else parse_column(target)
    if loaded.regressor is not None:
        own = {"--ordered": ordered, "--class-order": class_order, "--hierarchy": hierarchy}
        refuse_options(own, "is only for classifiers")
        with _count_samples("evaluated") as advance:
            blocks = loaded.labelled_blocks(open_data(data), column, format, header)
            measured = evaluate_numbers(loaded, blocks, data, advance)
        expected = loaded.expected_score
        text = to_json({**measured, "out_of_fold_score": expected}) if as_json else None
        print_text(text or show_number_scores(measured, expected))
        return
    order = _find_order(loaded, parse_class_order(class_order), ordered)
    scheme = None if hierarchy is None else parse_scheme(*read_control(hierarchy))
    columns = loaded.predicted_labels
    scores = RunningScores(loaded.classes, order, scheme, predicted=columns, levels=level or ())
    if dask is not None:
        from polytomy.cli.cluster_jobs import connect, evaluate_folder

        options: dict[str, Any] = {"target": column, "format": format, "header": header}
        with connect(dask, jobs) as client:
            scores = evaluate_folder(client, data, loaded, scores, **options)
        _print_evaluation(scores, loaded, as_json)
        return
    with _count_samples("evaluated") as advance:
        for block in loaded.labelled_blocks(open_data(data), column, format, header):
            scores.add(block.y, *loaded.predict(block.X))
            if level:
                sets = predict_sets(loaded, block.X, level, set_score, per_class)
                scores.add_sets(block.y, sets)
            advance(block.n_samples)
    _print_evaluation(scores, loaded, as_json)


def _predict_on_cluster(
    address: str,
    jobs: int | None,
    data: str,
    loaded: LoadedModel,
    output: Path | None,
    **options: Any,
) -> None:
    from polytomy.cli.cluster_jobs import connect, predict_folder
    from polytomy.files import check_output_folder

    if output is None:
        raise ArgumentError("--dask writes a folder of Parquet files. Name it with --output.")
    check_output_folder(output)
    with connect(address, jobs) as client:
        n_samples = predict_folder(client, data, loaded, output, **options)
    print_text(f"{output}: predictions for {n_samples} samples")


def _print_evaluation(scores: RunningScores, loaded: LoadedModel, as_json: bool) -> None:
    measured, table, classes = scores.measure(), scores.table, loaded.classes
    columns = loaded.predicted_labels
    if as_json:
        confusion = {"classes": classes, "counts": table}
        if len(columns) > len(classes):
            confusion["predicted"] = columns
        judged = {
            "samples": scores.n_samples,
            **measured,
            "out_of_fold_score": loaded.expected_score,
        }
        print_text(to_json({**judged, "confusion": confusion}))
        return
    expected = loaded.expected_score or {}
    lines = [f"{scores.n_samples} samples"]
    lines += [_score_line(name, value, expected.get(name)) for name, value in measured.items()]
    names = classes.tolist(), columns.tolist()
    print_text("\n".join([*lines, "", *_confusion_lines(table, *names)]))


def _print_explanations(loaded: LoadedModel, blocks: Any, output: Path | None) -> None:
    from polytomy.files import open_atomically

    def texts() -> Iterator[str]:
        done = 0
        for block in blocks:
            explained = loaded.ask(block.X, lambda core, samples: core.explain(samples))
            yield "\n\n".join(str(replace(each, sample=each.sample + done)) for each in explained)
            done += block.n_samples

    if output is None:
        for text in texts():
            print_text(f"{text}\n")
        return
    with open_atomically(output) as file:
        for text in texts():
            file.write(f"{text}\n\n".encode())


def _score_line(name: str, value: float, expected: float | None) -> str:
    line = f"{name.replace('_', ' '):30}{value:10.4f}"
    return line if expected is None else f"{line}   expected from training: {expected:.4f}"


def _make_rows(labels: Any, P: Any) -> list[list[Any]]:
    if P is None:
        return [[label] for label in labels.tolist()]
    return [[label, *row] for label, row in zip(labels.tolist(), P.tolist(), strict=True)]


def _check_top(top: int, proba: bool, loaded: LoadedModel) -> None:
    """Raise an ArgumentError unless the likeliest classes can be printed."""
    from polytomy.composition.top_classes import check_top_k

    if proba:
        raise ArgumentError("--top and --proba cannot be used together; leave one out")
    if not loaded.has_probabilities:
        raise ArgumentError("the model's solver gives no probabilities; leave out --top")
    check_top_k(top, len(loaded.classes))


def _name_top_columns(top: int) -> list[str]:
    later = [name for k in range(2, top + 1) for name in (f"prediction_{k}", f"probability_{k}")]
    return ["prediction", "probability", *later]


def _interleave(labels: Any, P: Any) -> list[list[Any]]:
    """Return rows of label and probability, label and probability, …"""
    return [
        [each for pair in zip(*row, strict=True) for each in pair]
        for row in zip(labels.tolist(), P.tolist(), strict=True)
    ]


def _find_order(loaded: LoadedModel, class_order: Any, is_ordered: bool) -> list[Any] | None:
    """Return the classes in order: as asked for, as in training, or, if ordered, by value."""
    from polytomy.inputs.label_order import match_class_order, order_labels

    labels = loaded.classes.tolist()
    given = loaded.class_order if class_order is None else class_order
    if given is not None:
        return match_class_order(given, labels)
    return order_labels(labels, ["--ordered"]) if is_ordered else None


def _confusion_lines(table: Any, labels: list[Any], columns: list[Any]) -> list[str]:
    rows = [["true \\ predicted", *map(str, columns)]]
    rows += [
        [str(label), *map(str, row)] for label, row in zip(labels, table.tolist(), strict=True)
    ]
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
