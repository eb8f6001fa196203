"""Decisions of `predict` and `evaluate`: prediction sets, priors and costs."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polytomy.cli.data import is_file, read_short_text
from polytomy.cli.loaded_models import LoadedModel
from polytomy.cli.options import DECISIONS, SetOptions, given, option
from polytomy.errors import ArgumentError

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

    @property
    def deciding(self) -> dict[str, Any]:
        """The options that change which class is predicted."""
        return {"--prior": self.prior, "--cost": self.matrix, "--reject-cost": self.reject_cost}


def refuse_options(options: Mapping[str, Any], why: str) -> None:
    """Raise ArgumentError for the first option that has a value."""
    for name, value in options.items():
        if value not in (None, False):
            raise ArgumentError(f"{name} {why}")


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
    if not loaded.has_probabilities:
        for name, value in options.deciding.items():
            if value is not None:
                raise ArgumentError(f"the model's solver gives no probabilities; leave out {name}")
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
