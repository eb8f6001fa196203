"""The command that evaluates a model."""

from __future__ import annotations

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
from polytomy.cli.deciding import Levels, PerClass, SetScore, check_set_score, predict_sets
from polytomy.cli.loaded_models import LoadedModel
from polytomy.cli.regression import evaluate_numbers, refuse_options, show_number_scores
from polytomy.cli.running_scores import RunningScores
from polytomy.cli.sample_counter import count_samples
from polytomy.cli.text_files import print_text, read_control
from polytomy.errors import ArgumentError
from polytomy.scheme import parse as parse_scheme

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(evaluate)


def evaluate(
    model: ModelFile,
    data: DataFile,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Label column; as in training by default.",
            rich_help_panel="Data",
        ),
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
            "file with one label per line; as in training by default.",
        ),
    ] = None,
    hierarchy: Annotated[
        str | None,
        typer.Option(
            metavar="CONTROL",
            help="Also print scores for a hierarchy of the classes, given as a control file.",
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

    For a regressor: errors, the score of its distributions (CRPS) and the coverage of intervals.
    The data is read in blocks, so it may be larger than memory.

    The scores expected from training, estimated on its held-out folds, are printed next to these.

    Example: `polytomy train iris.csv -o m.polytomy && polytomy evaluate m.polytomy iris.csv`
    """
    check_set_score(set_score)
    loaded = LoadedModel(model, trusted, features)
    loaded.set_zero_based(parse_zero_based(zero_based))
    column = None if target is None else parse_column(target)
    if loaded.regressor is not None:
        own = {
            "--ordered": ordered,
            "--class-order": class_order,
            "--hierarchy": hierarchy,
            "--set": level,
            "--dask": dask,
        }
        refuse_options(own, "is only for classifiers")
        with count_samples("evaluated") as advance:
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
        if level:
            raise ArgumentError("--set and --dask cannot be used together; leave one out")
        from polytomy.cli.cluster_jobs import connect, evaluate_folder

        options: dict[str, Any] = {"target": column, "format": format, "header": header}
        with connect(dask, jobs) as client:
            scores = evaluate_folder(client, data, loaded, scores, **options)
        _print_evaluation(scores, loaded, as_json)
        return
    with count_samples("evaluated") as advance:
        for block in loaded.labelled_blocks(open_data(data), column, format, header):
            scores.add(block.y, *loaded.predict(block.X))
            if level:
                sets = predict_sets(loaded, block.X, level, set_score, per_class)
                scores.add_sets(block.y, sets)
            advance(block.n_samples)
    _print_evaluation(scores, loaded, as_json)


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


def _score_line(name: str, value: float, expected: float | None) -> str:
    line = f"{name.replace('_', ' '):30}{value:10.4f}"
    return line if expected is None else f"{line}   expected from training: {expected:.4f}"


def _find_order(loaded: LoadedModel, class_order: Any, is_ordered: bool) -> list[Any] | None:
    """Return the classes in order: as requested, as in training, or, if ordered, by value."""
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
