"""The command `predict`: classes, probabilities, sets and explanations, or numbers.

Also the priors and costs that decide which class is predicted.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from polytomy.cli.data import (
    check_output,
    count_samples,
    is_file,
    open_data,
    print_text,
    read_short_text,
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
    given,
    name_given,
    option,
    parse_column,
    refuse_options,
)
from polytomy.errors import ArgumentError
from polytomy.inputs.arguments import count_things

# The value of --prior that estimates the prior from the data.
_ESTIMATE = "estimate"


@dataclass(frozen=True, kw_only=True)
class DecisionOptions:
    """Prior and costs of the classes."""

    prior: str | None = option(
        metavar="PRIOR",
        help='Class frequencies of the data: "a=0.2,b=0.8", a CSV file of labels and '
        'probabilities, or "estimate" to estimate them, which reads all data into memory.',
        panel=DECISIONS,
    )
    training_prior: str | None = option(
        metavar="PRIOR",
        help="Class frequencies of the training data, for models that do not store them.",
        panel=DECISIONS,
    )
    matrix: Path | None = option(
        "--cost",
        metavar="FILE",
        help="CSV file of costs: one row per true class and one column per predicted class, "
        "with or without labels. The class with the lowest expected cost is predicted.",
        panel=DECISIONS,
    )
    reject_cost: float | None = option(
        metavar="COST",
        help="Cost of making no prediction; without --cost, every error costs 1.",
        panel=DECISIONS,
    )
    reject_label: str | None = option(
        metavar="LABEL", help='Label for no prediction; default: -1 or "unknown".', panel=DECISIONS
    )


def take_decisions(
    loaded: LoadedModel, blocks: Iterator[Any], options: DecisionOptions
) -> Iterator[Any]:
    """Apply the prior and the costs given as options to a model; return the data to predict.

    Parameters
    ----------
    loaded : LoadedModel, changed in place
    blocks : samples to predict; all of them are read to estimate a prior
    options : prior and costs
    """
    labels = loaded.classes.tolist()
    assumed = None
    if options.training_prior is not None:
        assumed = parse_prior(options.training_prior, labels, "--training-prior")
    if options.prior == _ESTIMATE:
        every = list(blocks)
        blocks = iter(every)
        target = _estimate_prior(loaded, every, assumed)
        loaded.change(lambda core: core.with_prior(target, training_prior=assumed))
    elif options.prior is not None:
        given_prior = parse_prior(options.prior, labels)
        loaded.change(lambda core: core.with_prior(given_prior, training_prior=assumed))
    elif options.training_prior is not None:
        raise ArgumentError("--training-prior has no effect without --prior")
    matrix, reject_cost, reject_label = options.matrix, options.reject_cost, options.reject_label
    if not (matrix is None and reject_cost is None and reject_label is None):
        costs = None if matrix is None else read_costs(matrix, labels)
        label = parse_reject_label(reject_label, labels)
        loaded.change(lambda core: core.with_cost(costs, reject_cost, label))
    return blocks


def _estimate_prior(loaded: LoadedModel, blocks: Sequence[Any], training_prior: Any) -> Any:
    """Return the prior estimated from all samples, which may be in several blocks."""
    import numpy as np

    from polytomy.model.decisions import find_training_prior, maximise_likelihood

    if not blocks:
        raise ArgumentError("--prior estimate needs data, but there are no samples")
    plain = [
        loaded.ask(each.X, lambda core, X: core.with_prior(None).predict_proba(X))
        for each in blocks
    ]
    training = loaded.ask(
        blocks[0].X,
        lambda core, X: find_training_prior(
            core.classes_, core.composition_.frequencies, training_prior
        ),
    )
    return maximise_likelihood(np.concatenate(plain), training)


def name_sets(levels: Sequence[float]) -> list[str]:
    """Return the names of the columns of sets."""
    return [f"set {level:g}" for level in levels]


def predict_sets(loaded: LoadedModel, X: Any, options: SetOptions) -> Any:
    """Return the prediction sets of samples, of shape (n_samples, n_classes, n_levels)."""
    if not loaded.has_probabilities:
        raise ArgumentError("the model's solver gives no probabilities; leave out --set")
    return loaded.ask(X, lambda core, samples: core.predict_set(samples, **given(options)))


def sets_to_text(sets: Any, labels: Sequence[Any]) -> list[list[str]]:
    """Return the labels in each set, joined by semicolons.

    Parameters
    ----------
    sets : bool array of shape (n_samples, n_classes, n_levels)
    labels : labels of the classes

    Examples
    --------
    >>> import numpy as np
    >>> sets_to_text(np.array([[[True, True], [False, True]]]), ["a", "b"])
    [['a', 'a;b']]
    """
    names = [str(label) for label in labels]
    return [
        [";".join(names[k] for k in level.nonzero()[0]) for level in sample.T] for sample in sets
    ]


def parse_prior(text: str, labels: Sequence[Any], option: str = "--prior") -> dict[Any, float]:
    """Return the prior given by an option: "a=0.2,b=0.8", or a CSV file of such pairs.

    Examples
    --------
    >>> parse_prior("1=0.25, 2=0.75", [1, 2])
    {1: 0.25, 2: 0.75}
    """
    if is_file(text):
        pairs = [row for row in _read_rows(text, option) if row]
        source = f"{option} {text}"
    else:
        pairs = [list(each.rpartition("=")[::2]) for each in next(csv.reader([text]), [])]
        source = f"{option} {text!r}"
    prior: dict[Any, float] = {}
    for number, pair in enumerate(pairs):
        value = _to_number(pair[1]) if len(pair) == 2 else None
        if value is None:
            if number == 0 and is_file(text) and len(pair) == 2:
                continue  # a header
            shown = "=".join(filter(None, pair))
            raise ArgumentError(
                f"{source}: cannot read {shown!r}. Write labels and probabilities, such "
                'as "a=0.2,b=0.8".'
            )
        label = _find_label(pair[0], labels, source)
        if label in prior:
            raise ArgumentError(f"{source}: {pair[0].strip()!r} occurs twice.")
        prior[label] = value
    return prior


def read_costs(path: Path, labels: Sequence[Any]) -> Any:
    """Return the costs in a CSV file: a list of rows, or a dict of dicts if it has labels."""
    rows = [row for row in _read_rows(path, "--cost") if row]
    source, n_classes = f"--cost {path}", len(labels)
    has_labels = len(rows) == n_classes + 1 and len(rows[0]) == n_classes + 1
    if not has_labels and any(_to_number(cell) is None for row in rows for cell in row):
        raise ArgumentError(
            f"{source}: {n_classes} classes need {n_classes} rows of {n_classes} numbers, or one "
            "more row and column with the labels."
        )
    if not has_labels:
        if len(rows) != n_classes or any(len(row) != n_classes for row in rows):
            widths = sorted({len(row) for row in rows})
            raise ArgumentError(
                f"{source}: the table has {len(rows)} rows of "
                f"{' or '.join(map(str, widths)) or 'no'} numbers; {n_classes} classes need "
                f"{n_classes} rows of {n_classes}."
            )
        return [[_to_number(cell) for cell in row] for row in rows]
    predicted = [_find_label(cell, labels, source) for cell in rows[0][1:]]
    costs: dict[Any, dict[Any, float]] = {}
    for row in rows[1:]:
        numbers = [_to_number(cell) for cell in row[1:]]
        if len(row) != n_classes + 1 or any(number is None for number in numbers):
            raise ArgumentError(f"{source}: cannot read the row {','.join(row)!r}.")
        costs[_find_label(row[0], labels, source)] = dict(zip(predicted, numbers, strict=True))  # type: ignore[arg-type]
    return costs


def parse_reject_label(text: str | None, labels: Sequence[Any]) -> Any:
    """Return the label for no prediction, as a number if it is one and the classes are numbers."""
    if text is None or any(isinstance(label, str) for label in labels):
        return text
    try:
        return int(text)
    except ValueError:
        return text


def _find_label(text: str, labels: Sequence[Any], source: str) -> Any:
    word = text.strip()
    for label in labels:
        if str(label) == word:
            return label
    shown = ", ".join(map(str, labels[:5])) + (", …" if len(labels) > 5 else "")
    raise ArgumentError(f"{source}: {word!r} is not a class of the model. The classes are {shown}.")


def _to_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _read_rows(path: str | Path, option: str) -> list[list[str]]:
    content = read_short_text(path, option, "a table of classes")
    return [[cell.strip() for cell in row] for row in csv.reader(content.splitlines())]


# -- The command `predict`: classes, probabilities, sets and explanations, or numbers --


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
    from polytomy.model.decisions import check_top_k

    if cluster.dask is None:
        check_output(output, model, data)
    levels, chosen = sets.confidence_level, name_given(answer, decisions, sets)
    if answer.explain and {"--proba", "--set", "--top"} & set(chosen):
        raise ArgumentError("--explain prints text; leave out --proba, --set and --top")
    for other in ("--proba", "--set"):
        if {"--top", other} <= set(chosen):
            raise ArgumentError(f"--top and {other} cannot be used together; leave one out")
    loaded = LoadedModel(model, loading, reading)
    column = None if target is None else parse_column(target)
    if loaded.regressor is not None:
        refuse_options(
            [*chosen, *(["--dask"] if cluster.dask else [])],
            "is only for classifiers; use --quantiles or --interval",
        )
        head, predict_rows = _prepare_numbers(loaded, numbers)
        blocks = loaded.unlabelled_blocks(open_data(data), column)
        _write_rows(blocks, head, predict_rows, output, escape)
        return
    refuse_options(name_given(numbers), "is only for regressors, trained with train --regress")
    needing = [name for name in chosen if name != "--explain"]
    if needing and not loaded.has_probabilities:
        raise ArgumentError(f"the model's solver gives no probabilities; leave out {needing[0]}")
    if answer.k is not None:
        check_top_k(answer.k, len(loaded.classes))
    top_columns = [] if answer.k is None else _name_top_columns(answer.k)
    if cluster.dask is not None:
        if set(chosen) - {"--proba", "--top"}:
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
    print_text(f"{output}: predictions for {count_things(n_samples, 'sample')}")


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


def _prepare_numbers(
    loaded: LoadedModel, options: NumberOptions
) -> tuple[list[str], Callable[[Any], list[list[Any]]]]:
    """Return the names of the columns for a regressor, and the function that predicts rows."""
    import numpy as np

    from polytomy.inputs.numbers import check_confidence_levels, check_levels

    interval, levels = options.interval, _parse_levels(options.levels)
    check_levels("levels", levels)
    head = ["prediction", *[f"quantile({level:g})" for level in levels]]
    if interval is not None:
        check_confidence_levels("interval", interval)
        head += [f"lower({interval:g})", f"upper({interval:g})"]

    def predict_rows(X: Any) -> list[list[Any]]:
        regressor, X = loaded.regressor, loaded.transform(X)
        statistic = "median" if options.median else regressor.statistic
        columns = [regressor.predict(X, statistic)[:, np.newaxis]]
        if levels:
            columns.append(regressor.predict_quantiles(X, levels))
        if interval is not None:
            columns.append(regressor.predict_interval(X, interval))
        rows: list[list[Any]] = np.hstack(columns).tolist()
        return rows

    return head, predict_rows


def _parse_levels(text: str | None) -> list[float]:
    try:
        return [] if text is None else [float(word) for word in text.split(",")]
    except ValueError:
        raise ArgumentError(
            f'--quantiles must be comma-separated numbers, such as 0.1,0.5,0.9; got "{text}"'
        ) from None
