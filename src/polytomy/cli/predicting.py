"""The command that predicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from polytomy.cli.data_options import (
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
    refuse_options,
)
from polytomy.cli.sample_counter import count_samples
from polytomy.cli.text_files import check_output, print_text
from polytomy.errors import ArgumentError

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(predict)


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
            help="Print the K most likely classes of each sample, with their probabilities.",
        ),
    ] = None,
    quantiles: Quantiles = None,
    interval: Interval = None,
    median: Median = False,
    max_depth: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Stop after this many steps down the scheme, and print the node.",
            rich_help_panel="Decisions",
        ),
    ] = None,
    min_probability: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            metavar="NUMBER",
            help="Stop before a branch that is less likely than this, and print the node.",
            rich_help_panel="Decisions",
        ),
    ] = 0.0,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Label column to ignore; detected by default.",
            rich_help_panel="Data",
        ),
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
            help="Put an apostrophe before labels that a spreadsheet would run as formulas.",
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
    column = None if target is None else parse_column(target)
    loaded.set_zero_based(parse_zero_based(zero_based))
    if loaded.regressor is not None:
        refuse_options({"--proba": proba}, "is only for classifiers; use --quantiles or --interval")
        of_classes = {
            "--top": top,
            "--max-depth": max_depth,
            "--min-probability": min_probability,
            "--set": level,
            "--prior": prior,
            "--cost": cost,
            "--reject-cost": reject_cost,
            "--explain": explain,
            "--dask": dask,
        }
        refuse_options(of_classes, "is only for classifiers")
        numbers = NumberPredictor(loaded, quantiles, interval, median)
        blocks = loaded.unlabelled_blocks(open_data(data), column, format, header)
        _write_rows(blocks, numbers.head, numbers.predict, output, escape)
        return
    of_numbers = {"--quantiles": quantiles, "--interval": interval, "--median": median}
    refuse_options(of_numbers, "is only for regressors, trained with train --regress")
    stops_at_nodes = max_depth is not None or min_probability > 0
    if (proba or stops_at_nodes) and not loaded.has_probabilities:
        needs = "--proba" if proba else "--max-depth and --min-probability"
        raise ArgumentError(f"the model's solver gives no probabilities; leave out {needs}")
    if top is not None:
        _check_top(top, proba, loaded)
    if dask is not None:
        is_decided = prior or cost or reject_cost is not None
        if level or explain or is_decided or stops_at_nodes:
            raise ArgumentError("with --dask, predict supports only labels, --proba and --top")
        options: dict[str, Any] = {
            "target": column,
            "format": format,
            "header": header,
            "proba": proba,
        }
        if top is not None:
            options["top_columns"] = _name_top_columns(top)
        _predict_on_cluster(dask, jobs, data, loaded, output, **options)
        return
    blocks = loaded.unlabelled_blocks(open_data(data), column, format, header)
    blocks = take_decisions(loaded, blocks, prior, training_prior, cost, reject_cost, reject_label)
    if explain:
        _print_explanations(loaded, blocks, output)
        return
    labels = loaded.classes.tolist()
    head = ["prediction", *([f"P({label})" for label in labels] if proba else [])]
    head = [*head, *name_sets(level or [])] if top is None else _name_top_columns(top)

    def make_rows(X: Any) -> list[list[Any]]:
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

    _write_rows(blocks, head, make_rows, output, escape)


def _write_rows(
    blocks: Iterable[Any],
    head: list[str],
    make_rows: Callable[[Any], list[list[Any]]],
    output: Path | None,
    escape: bool,
) -> None:
    """Write a row for each sample of all blocks as CSV."""
    # The header is written with the first rows, so that an earlier failure leaves no output at all.
    waiting: list[list[Any]] = [head]
    with _open_csv(output, escape) as write, count_samples("predicted") as advance:
        for block in blocks:
            write([*waiting, *make_rows(block.X)])
            waiting = []
            advance(block.n_samples)


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


def _make_rows(labels: Any, P: Any) -> list[list[Any]]:
    if P is None:
        return [[label] for label in labels.tolist()]
    return [[label, *row] for label, row in zip(labels.tolist(), P.tolist(), strict=True)]


def _check_top(top: int, proba: bool, loaded: LoadedModel) -> None:
    """Raise an ArgumentError unless the most likely classes can be printed."""
    from polytomy.model.trees import check_top_k

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


@contextmanager
def _open_csv(output: Path | None, escape: bool) -> Iterator[Any]:
    """Yield a function that writes rows as CSV, to standard output or atomically to a file."""
    from polytomy.files import open_atomically, to_csv

    if output is None:
        yield lambda rows: print_text(to_csv(rows, escape=escape).rstrip("\n"))
        return
    with open_atomically(output) as file:
        yield lambda rows: file.write(to_csv(rows, escape=escape).encode())
