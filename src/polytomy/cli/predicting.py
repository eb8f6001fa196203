"""The command `predict`: classes, probabilities, sets and explanations, or numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polytomy.cli.data import check_output, count_samples, open_data, print_text
from polytomy.cli.deciding import (
    DecisionOptions,
    name_sets,
    predict_sets,
    refuse_options,
    sets_to_text,
    take_decisions,
)
from polytomy.cli.loaded_models import LoadedModel
from polytomy.cli.options import (
    DATA,
    DECISIONS,
    ClusterOptions,
    DataFile,
    FileOptions,
    LoadOptions,
    ModelFile,
    SetOptions,
    flag,
    option,
    parse_column,
)
from polytomy.errors import ArgumentError

_REGRESSION = "Regression"


@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """What to print for each sample."""

    proba: bool = flag("--proba", "Also print the probability of each class.")
    k: int | None = option(
        "--top",
        metavar="K",
        help="Print the K most likely classes of each sample, with their probabilities.",
    )
    max_depth: int | None = option(
        min=0,
        metavar="N",
        help="Stop after this many steps down the scheme, and print the node.",
        panel=DECISIONS,
    )
    min_probability: float = option(
        min=0,
        max=1,
        metavar="NUMBER",
        help="Stop before a branch that is less likely than this, and print the node.",
        panel=DECISIONS,
        default=0.0,
    )
    explain: bool = flag(
        "--explain",
        "Print how much each partition adds to the winner, as text instead of CSV.",
        DECISIONS,
    )

    @property
    def stops_at_nodes(self) -> bool:
        """Whether a node of the scheme may be the answer."""
        return self.max_depth is not None or self.min_probability > 0


@dataclass(frozen=True, kw_only=True)
class NumberOptions:
    """What a regressor predicts."""

    levels: str | None = option(
        "--quantiles",
        metavar="LEVELS",
        help="Also print these quantiles, such as 0.1,0.5,0.9.",
        panel=_REGRESSION,
    )
    interval: float | None = option(
        metavar="LEVEL",
        help="Also print intervals with this confidence, such as 0.9.",
        panel=_REGRESSION,
    )
    median: bool = flag("--median", "Predict the median, not the mean.", _REGRESSION)


def predict(
    model: ModelFile,
    data: DataFile,
    *,
    numbers: NumberOptions,
    answer: AnswerOptions,
    decisions: DecisionOptions,
    sets: SetOptions,
    reading: FileOptions,
    loading: LoadOptions,
    cluster: ClusterOptions,
    target: str | None = option(
        metavar="COLUMN", help="Label column to ignore; detected by default.", panel=DATA
    ),
    output: Path | None = option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write the CSV to a file; with --dask, a folder of Parquet files.",
    ),
    escape: bool = flag(
        "--escape/--no-escape",
        "Put an apostrophe before labels that a spreadsheet would run as formulas.",
        default=True,
    ),
) -> None:
    """Predict the class or the number of each sample of a data file and print CSV.

    Example: `polytomy train iris.csv -o iris.polytomy && polytomy predict iris.polytomy iris.csv`
    """
    if cluster.dask is None:
        check_output(output, model, data)
    levels = sets.confidence_level
    if answer.explain and (answer.proba or levels or answer.k is not None):
        raise ArgumentError("--explain prints text; leave out --proba, --set and --top")
    if answer.k is not None and levels:
        raise ArgumentError("--top and --set cannot be used together; leave one out")
    loaded = LoadedModel(model, loading, reading)
    column = None if target is None else parse_column(target)
    if loaded.regressor is not None:
        refuse_options(
            {"--proba": answer.proba}, "is only for classifiers; use --quantiles or --interval"
        )
        of_classes = {
            "--top": answer.k,
            "--max-depth": answer.max_depth,
            "--min-probability": answer.min_probability,
            "--set": levels,
            **decisions.deciding,
            "--explain": answer.explain,
            "--dask": cluster.dask,
        }
        refuse_options(of_classes, "is only for classifiers")
        predictor = NumberPredictor(loaded, numbers)
        blocks = loaded.unlabelled_blocks(open_data(data), column)
        _write_rows(blocks, predictor.head, predictor.predict, output, escape)
        return
    of_numbers = {
        "--quantiles": numbers.levels,
        "--interval": numbers.interval,
        "--median": numbers.median,
    }
    refuse_options(of_numbers, "is only for regressors, trained with train --regress")
    _check_answer(answer, loaded)
    top_columns = [] if answer.k is None else _name_top_columns(answer.k)
    if cluster.dask is not None:
        is_decided = any(each is not None for each in decisions.deciding.values())
        if levels or answer.explain or is_decided or answer.stops_at_nodes:
            raise ArgumentError("with --dask, predict supports only labels, --proba and --top")
        options = {"target": column, "proba": answer.proba, "top_columns": top_columns}
        _predict_on_cluster(cluster, data, loaded, output, options)
        return
    blocks = loaded.unlabelled_blocks(open_data(data), column)
    blocks = take_decisions(loaded, blocks, decisions)
    if answer.explain:
        _print_explanations(loaded, blocks, output)
        return
    labels = loaded.classes.tolist()
    head = ["prediction", *([f"P({label})" for label in labels] if answer.proba else [])]

    def make_rows(X: Any) -> list[list[Any]]:
        if answer.k is not None:
            return _interleave(*loaded.predict_top_k(X, answer.k))
        predicted, P = loaded.predict(X)
        if answer.stops_at_nodes:
            predicted = loaded.stop_at_nodes(P, answer.max_depth, answer.min_probability)
        rows = _make_rows(predicted, P if answer.proba else None)
        if not levels:
            return rows
        texts = sets_to_text(predict_sets(loaded, X, sets), labels)
        return [[*row, *own] for row, own in zip(rows, texts, strict=True)]

    _write_rows(blocks, top_columns or [*head, *name_sets(levels or [])], make_rows, output, escape)


def _check_answer(answer: AnswerOptions, loaded: LoadedModel) -> None:
    """Raise ArgumentError if a classifier cannot give the answers that the options ask for."""
    from polytomy.model.trees import check_top_k

    needs = {
        "--proba": answer.proba,
        "--max-depth and --min-probability": answer.stops_at_nodes,
        "--top": answer.k is not None,
    }
    if answer.proba and answer.k is not None:
        raise ArgumentError("--top and --proba cannot be used together; leave one out")
    for name, is_given in needs.items():
        if is_given and not loaded.has_probabilities:
            raise ArgumentError(f"the model's solver gives no probabilities; leave out {name}")
    if answer.k is not None:
        check_top_k(answer.k, len(loaded.classes))


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
    cluster: ClusterOptions,
    data: str,
    loaded: LoadedModel,
    output: Path | None,
    options: dict[str, Any],
) -> None:
    from polytomy.dask.folders import connect, predict_folder
    from polytomy.files import check_output_folder

    if output is None:
        raise ArgumentError("--dask writes a folder of Parquet files. Name it with --output.")
    check_output_folder(output)
    assert cluster.dask is not None, "the caller has checked it"
    with connect(cluster.dask, cluster.n_jobs) as client:
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


class NumberPredictor:
    """The output of `predict` for a regressor.

    Parameters
    ----------
    loaded : LoadedModel with a regressor
    options : what to predict
    """

    def __init__(self, loaded: LoadedModel, options: NumberOptions) -> None:
        from polytomy.inputs.numbers import check_confidence_levels, check_levels

        self._loaded, self._interval = loaded, options.interval
        self._statistic = "median" if options.median else loaded.regressor.statistic
        self._levels = _parse_levels(options.levels)
        check_levels("levels", self._levels)
        if options.interval is not None:
            check_confidence_levels("interval", options.interval)

    @property
    def head(self) -> list[str]:
        """The names of the columns."""
        names = ["prediction", *[f"quantile({level:g})" for level in self._levels]]
        if self._interval is not None:
            names += [f"lower({self._interval:g})", f"upper({self._interval:g})"]
        return names

    def predict(self, X: Any) -> list[list[float]]:
        """Return a row of numbers for each sample."""
        import numpy as np

        regressor, X = self._loaded.regressor, self._loaded.transform(X)
        columns = [regressor.predict(X, self._statistic)[:, np.newaxis]]
        if self._levels:
            columns.append(regressor.predict_quantiles(X, self._levels))
        if self._interval is not None:
            columns.append(regressor.predict_interval(X, self._interval))
        rows: list[list[float]] = np.hstack(columns).tolist()
        return rows


def _parse_levels(text: str | None) -> list[float]:
    try:
        return [] if text is None else [float(word) for word in text.split(",")]
    except ValueError:
        raise ArgumentError(
            f'--quantiles must be comma-separated numbers, such as 0.1,0.5,0.9; got "{text}"'
        ) from None
