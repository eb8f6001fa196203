"""Options of the commands that make decisions: sets, priors, costs, explanations."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from polytomy.cli.completing import complete_names
from polytomy.cli.data_options import check_choice, join_choices
from polytomy.cli.loaded_models import LoadedModel
from polytomy.errors import ArgumentError

__all__ = [
    "Cost",
    "Explain",
    "Levels",
    "PerClass",
    "Prior",
    "RejectCost",
    "RejectLabel",
    "SetScore",
    "TrainingPrior",
    "check_set_score",
    "name_sets",
    "predict_sets",
    "sets_to_text",
    "take_decisions",
]

ESTIMATE = "estimate"
"""The value of --prior that estimates the prior from the data."""

SET_SCORES = ("lac", "aps", "raps")
# A file of priors or costs is small; a larger file must be something else.
_MOST_BYTES = 2**26

_DECISIONS = "Decisions"

Levels = Annotated[
    list[float] | None,
    typer.Option(
        "--set",
        metavar="LEVEL",
        help="Also print a set of classes that contains the true one with this probability, such "
        "as 0.9 (repeatable).",
        rich_help_panel=_DECISIONS,
    ),
]
SetScore = Annotated[
    str,
    typer.Option(
        "--set-score",
        metavar="NAME",
        help=f"Score of the sets: {join_choices(SET_SCORES)}.",
        autocompletion=complete_names(SET_SCORES),
        rich_help_panel=_DECISIONS,
    ),
]
PerClass = Annotated[
    bool,
    typer.Option(
        "--per-class",
        help="Reach the probability of --set in each class, not only on average.",
        rich_help_panel=_DECISIONS,
    ),
]
Prior = Annotated[
    str | None,
    typer.Option(
        "--prior",
        metavar="PRIOR",
        help='Class frequencies of the data: "a=0.2,b=0.8", a CSV file of labels and '
        'probabilities, or "estimate" to estimate them, which reads all data into memory.',
        rich_help_panel=_DECISIONS,
    ),
]
TrainingPrior = Annotated[
    str | None,
    typer.Option(
        "--training-prior",
        metavar="PRIOR",
        help="Class frequencies of the training data, for models that do not store them.",
        rich_help_panel=_DECISIONS,
    ),
]
Cost = Annotated[
    Path | None,
    typer.Option(
        "--cost",
        metavar="FILE",
        help="CSV file of costs: one row per true class and one column per predicted class, with "
        "or without labels. The class with the lowest expected cost is predicted.",
        rich_help_panel=_DECISIONS,
    ),
]
RejectCost = Annotated[
    float | None,
    typer.Option(
        "--reject-cost",
        metavar="COST",
        help="Cost of making no prediction; without --cost, every error costs 1.",
        rich_help_panel=_DECISIONS,
    ),
]
RejectLabel = Annotated[
    str | None,
    typer.Option(
        "--reject-label",
        metavar="LABEL",
        help='Label for no prediction; default: -1 or "unknown".',
        rich_help_panel=_DECISIONS,
    ),
]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="Print how much each partition adds to the winner, as text instead of CSV.",
        rich_help_panel=_DECISIONS,
    ),
]


def check_set_score(score: str) -> str:
    """Return the name of a set score; raise ArgumentError if it is unknown."""
    check_choice("--set-score", score, SET_SCORES)
    return score


def take_decisions(
    loaded: LoadedModel,
    blocks: Iterator[Any],
    prior: str | None,
    training_prior: str | None,
    cost: Path | None,
    reject_cost: float | None,
    reject_label: str | None,
) -> Iterator[Any]:
    """Apply the prior and the costs given as options to a model; return the data to predict.

    Parameters
    ----------
    loaded : LoadedModel, changed in place
    blocks : samples to predict; all of them are read to estimate a prior
    prior, training_prior, cost, reject_cost, reject_label : values of the options
    """
    labels = loaded.classes.tolist()
    is_asked = [each is not None for each in (prior, cost, reject_cost)]
    if any(is_asked) and not loaded.has_probabilities:
        options = zip(("--prior", "--cost", "--reject-cost"), is_asked, strict=True)
        name = next(option for option, is_given in options if is_given)
        raise ArgumentError(f"the model's solver gives no probabilities; leave out {name}")
    assumed = None
    if training_prior is not None:
        assumed = parse_prior(training_prior, labels, "--training-prior")
    if prior == ESTIMATE:
        every = list(blocks)
        blocks = iter(every)
        target = _estimate_prior(loaded, every, assumed)
        loaded.change(lambda core: core.with_prior(target, training_prior=assumed))
    elif prior is not None:
        given = parse_prior(prior, labels)
        loaded.change(lambda core: core.with_prior(given, training_prior=assumed))
    elif training_prior is not None:
        raise ArgumentError("--training-prior has no effect without --prior")
    if not (cost is None and reject_cost is None and reject_label is None):
        matrix = None if cost is None else read_costs(cost, labels)
        label = parse_reject_label(reject_label, labels)
        loaded.change(lambda core: core.with_cost(matrix, reject_cost, label))
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


def predict_sets(
    loaded: LoadedModel, X: Any, levels: Sequence[float], score: str, per_class: bool
) -> Any:
    """Return the prediction sets of samples, of shape (n_samples, n_classes, n_levels)."""
    if not loaded.has_probabilities:
        raise ArgumentError("the model's solver gives no probabilities; leave out --set")
    return loaded.ask(
        X, lambda core, samples: core.predict_set(samples, levels, score, per_class=per_class)
    )


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
    if _is_file(text):
        pairs = [row for row in _read_rows(Path(text), option) if row]
        source = f"{option} {text}"
    else:
        pairs = [list(each.rpartition("=")[::2]) for each in next(csv.reader([text]), [])]
        source = f"{option} {text!r}"
    prior: dict[Any, float] = {}
    for number, pair in enumerate(pairs):
        value = _to_number(pair[1]) if len(pair) == 2 else None
        if value is None:
            if number == 0 and _is_file(text) and len(pair) == 2:
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


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # too long for a file name
        return False


def _read_rows(path: Path, option: str) -> list[list[str]]:
    if path.is_file() and path.stat().st_size > _MOST_BYTES:
        raise ArgumentError(f"{option} {path}: the file is too large for a table of classes")
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ArgumentError(f"{option} {path}: the file is not UTF-8 text") from None
    return [[cell.strip() for cell in row] for row in csv.reader(content.splitlines())]
