"""The command `predict`: classes, probabilities, sets and explanations, or numbers.

Also the priors and costs that decide which class is predicted.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from polytomy.cli.data import (
    check_output,
    count_samples,
    open_data,
    print_text,
    read_short_text,
)
from polytomy.cli.loaded_models import LoadedModel
from polytomy.cli.options import (
    DECISIONS,
    DataFile,
    ModelDataOptions,
    ModelFile,
    SetOptions,
    flag,
    given,
    group,
    name_given,
    option,
    parse_integer,
    refuse_options,
)
from polytomy.errors import ArgumentError
from polytomy.inputs.rows import stack_rows

# The value of --prior that estimates the prior from the data.
_ESTIMATE = "estimate"


@group(DECISIONS)
class DecisionOptions:
    """Prior and costs of the classes."""

    prior: str | None = option(
        metavar="PRIOR",
        help='Class frequencies of the data: "a=0.2,b=0.8", or "estimate" to estimate them, which '
        "reads all data into memory.",
    )
    matrix: Path | None = option(
        "--cost",
        help="CSV file of costs: one row per true class and one column per predicted class, "
        "with labels. The class with the lowest expected cost is predicted.",
    )
    reject_cost: float | None = option(
        metavar="COST", help="Cost of making no prediction; without --cost, every error costs 1."
    )
    reject_novelty: float | None = option(
        metavar="NOVELTY",
        help="Make no prediction for samples whose novelty, from 0 to 1, is larger.",
    )
    reject_label: str | None = option(
        metavar="LABEL", help='Label for no prediction; default: -1 or "unknown".'
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
    if options.prior == _ESTIMATE:
        every = list(blocks)
        blocks = iter(every)
        X = stack_rows([loaded.transform(each.X) for each in every])
        loaded.core = loaded.core.with_prior(loaded.core.estimate_prior(X))
    elif options.prior is not None:
        loaded.core = loaded.core.with_prior(parse_prior(options.prior, labels))
    matrix, cost, novelty = options.matrix, options.reject_cost, options.reject_novelty
    if any(each is not None for each in (matrix, cost, novelty, options.reject_label)):
        costs = None if matrix is None else read_costs(matrix, labels)
        label = parse_reject_label(options.reject_label, labels)
        loaded.core = loaded.core.with_cost(costs, cost, label, reject_novelty=novelty)
    return blocks


def predict_sets(loaded: LoadedModel, X: Any, options: SetOptions) -> Any:
    """Return the prediction sets of samples, of shape (n_samples, n_classes, n_levels)."""
    if not loaded.has_probabilities:
        raise ArgumentError("the model's solver gives no probabilities; leave out --set")
    return loaded.core.predict_set(loaded.transform(X), **given(options))


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


def parse_prior(text: str, labels: Sequence[Any]) -> dict[Any, float]:
    """Return the prior given by the option --prior.

    Examples
    --------
    >>> parse_prior("1=0.25, 2=0.75", [1, 2])
    {1: 0.25, 2: 0.75}
    """
    source = f"--prior {text!r}"
    prior: dict[Any, float] = {}
    for pair in next(csv.reader([text]), []):
        name, _, number = pair.rpartition("=")
        value = _to_number(number)
        if value is None or not name:
            raise ArgumentError(
                f"{source}: cannot read {pair!r}. Write labels and probabilities, such as "
                '"a=0.2,b=0.8".'
            )
        label = _find_label(name, labels, source)
        if label in prior:
            raise ArgumentError(f"{source}: {name.strip()!r} occurs twice.")
        prior[label] = value
    return prior


def read_costs(path: Path, labels: Sequence[Any]) -> dict[Any, dict[Any, float]]:
    """Return the costs in a CSV file, by true and predicted label."""
    content = read_short_text(path, "--cost", "a table of classes")
    rows = [[cell.strip() for cell in row] for row in csv.reader(content.splitlines()) if row]
    source, width = f"--cost {path}", len(labels) + 1
    if len(rows) != width or any(len(row) != width for row in rows):
        raise ArgumentError(
            f"{source}: the table needs a first row with the labels of the predicted classes, and "
            "then a row for each true class: its label and the costs."
        )
    predicted = [_find_label(cell, labels, source) for cell in rows[0][1:]]
    costs: dict[Any, dict[Any, float]] = {}
    for label, *cells in rows[1:]:
        numbers = [_to_number(cell) for cell in cells]
        if None in numbers:
            raise ArgumentError(f"{source}: cannot read the row {','.join([label, *cells])!r}.")
        costs[_find_label(label, labels, source)] = dict(zip(predicted, numbers, strict=True))  # type: ignore[arg-type]
    return costs


def parse_reject_label(text: str | None, labels: Sequence[Any]) -> Any:
    """Return the label for no prediction, as a number if it is one and the classes are numbers."""
    if text is None or any(isinstance(label, str) for label in labels):
        return text
    return parse_integer(text)


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


# -- The command `predict`: classes, probabilities, sets and explanations, or numbers --


_REGRESSION = "Regression"


@group()
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


@group(_REGRESSION)
class NumberOptions:
    """What a regressor predicts."""

    levels: str | None = option(
        "--quantiles", metavar="LEVELS", help="Also print these quantiles, such as 0.1,0.5,0.9."
    )
    interval: float | None = option(
        metavar="LEVEL", help="Also print intervals with this confidence, such as 0.9."
    )
    median: bool = flag("--median", "Predict the median, not the mean.")


def predict(
    model: ModelFile,
    data: DataFile,
    *,
    numbers: NumberOptions,
    answer: AnswerOptions,
    decisions: DecisionOptions,
    sets: SetOptions,
    using: ModelDataOptions,
    output: Path | None = option("-o", "--output", help="Write the CSV to a file."),
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

    check_output(output, model, data)
    levels, chosen = sets.confidence_level, name_given(answer, decisions, sets)
    if answer.explain and {"--proba", "--set", "--top"} & set(chosen):
        raise ArgumentError("--explain prints text; leave out --proba, --set and --top")
    for other in ("--proba", "--set"):
        if {"--top", other} <= set(chosen):
            raise ArgumentError(f"--top and {other} cannot be used together; leave one out")
    loaded = LoadedModel(model, using)
    if loaded.regressor is not None:
        refuse_options(chosen, "is only for classifiers; use --quantiles or --interval")
        head, predict_rows = _prepare_numbers(loaded, numbers)
        blocks = loaded.unlabelled_blocks(open_data(data))
        _write_rows(blocks, head, predict_rows, output, escape)
        return
    refuse_options(name_given(numbers), "is only for regressors, trained with train --regress")
    needing = [name for name in chosen if name != "--explain"]
    if needing and not loaded.has_probabilities:
        raise ArgumentError(f"the model's solver gives no probabilities; leave out {needing[0]}")
    if answer.k is not None:
        check_top_k(answer.k, len(loaded.classes))
    top_columns = [] if answer.k is None else _name_top_columns(answer.k)
    blocks = loaded.unlabelled_blocks(open_data(data))
    blocks = take_decisions(loaded, blocks, decisions)
    if answer.explain:
        _print_explanations(loaded, blocks, output)
        return
    labels = loaded.classes.tolist()
    head = ["prediction", *([f"P({label})" for label in labels] if answer.proba else [])]

    def make_rows(X: Any) -> list[list[Any]]:
        if answer.k is not None:
            best = loaded.core.predict_top_k(loaded.transform(X), answer.k)
            # Rows of label and probability, label and probability, …
            return [
                [each for pair in zip(*row, strict=True) for each in pair]
                for row in zip(*(part.tolist() for part in best), strict=True)
            ]
        predicted, P = loaded.predict(X)
        if answer.stops_at_nodes:
            predicted = loaded.stop_at_nodes(P, answer.max_depth, answer.min_probability)
        rows = _make_rows(predicted, P if answer.proba else None)
        if not levels:
            return rows
        texts = sets_to_text(predict_sets(loaded, X, sets), labels)
        return [[*row, *own] for row, own in zip(rows, texts, strict=True)]

    head += [f"set {level:g}" for level in levels or ()]
    _write_rows(blocks, top_columns or head, make_rows, output, escape)


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


def _print_explanations(loaded: LoadedModel, blocks: Any, output: Path | None) -> None:
    from polytomy.files import open_atomically

    def texts() -> Iterator[str]:
        done = 0
        for block in blocks:
            explained = loaded.core.explain(loaded.transform(block.X))
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
