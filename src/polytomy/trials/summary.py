"""What trials showed: the result in one sentence, and beside the figures of Mills's tables."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.svm import SVC

from polytomy.inputs.arguments import shorten
from polytomy.learners.specification import estimator_from
from polytomy.metrics.scores import HEADLINE
from polytomy.trials.datasets import CATALOGUE
from polytomy.trials.protocol import PAPER_PAIRS, Protocol, describe_estimator
from polytomy.trials.results import (
    MEASURES,
    TIE,
    Cell,
    Interval,
    PairName,
    Results,
    format_cell,
    mean_interval,
)

_MOST_NAMES = 3
_MOST_CHARACTERS = 80


class Lead(NamedTuple):
    """The best pair on a dataset, and its lead over the best pair of another scheme.

    Attributes
    ----------
    pair, cell : the best pair, and its score
    rival : the best pair of another scheme, or the next pair if there is only one scheme; None if
        no other pair was measured
    ahead : how much larger the mean score of the best pair is; 0 for ties
    interval : 95% confidence interval of the difference; None after a single trial
    """

    pair: PairName
    cell: Cell
    rival: PairName | None
    ahead: float
    interval: Interval | None

    @property
    def is_noise(self) -> bool:
        """Whether the difference may be zero."""
        return self.interval is not None and self.interval.has_zero


def summarise(results: Results) -> str:
    """Return the result of trials in one sentence.

    It names the estimator, the data and the most accurate scheme, and says how far the next
    scheme is behind, with a 95% confidence interval for one dataset and Nemenyi's critical
    difference of ranks for several. It says so if the lead is within noise.

    Parameters
    ----------
    results : Results

    Examples
    --------
    >>> def trial(repeat, *accuracies):
    ...     names = ("one-vs-one", "tree")
    ...     cells = [
    ...         {"configuration": name, "method": "least-squares", "scores": {"accuracy": accuracy}}
    ...         for name, accuracy in zip(names, accuracies)
    ...     ]
    ...     return {"dataset": "land", "repeat": repeat, "cells": cells}
    >>> pairs = [("one-vs-one", "least-squares"), ("tree", "least-squares")]
    >>> records = [trial(0, 0.90, 0.85), trial(1, 0.92, 0.86), trial(2, 0.91, 0.86)]
    >>> print(summarise(Results(records, pairs, ["land"])))
    On land, one-vs-one (least-squares) was the most accurate of 2 pairs: 0.910 ± 0.010 over 3
    trials, 0.053 above the next scheme, tree (least-squares), with a 95% confidence interval from
    0.032 to 0.075.
    """
    if not results.records:
        return "No trials have finished yet."
    estimator = describe_estimators(results)
    start = f"With {estimator} on" if estimator else "On"
    start = f"{start} {describe_data(results)}, "
    if len(results.datasets) == 1:
        return start + _describe_lead(results, results.datasets[0])
    return start + _describe_ranks(results)


def find_lead(results: Results, dataset: str) -> Lead | None:
    """Return the best pair on a dataset and its lead; None if nothing was measured."""
    found = {pair: results.cell(HEADLINE, dataset, pair) for pair in results.pairs}
    cells = {pair: cell for pair, cell in found.items() if cell is not None}
    if not cells:
        return None
    order = sorted(cells, key=lambda pair: -cells[pair].mean)
    best, rival = order[0], _find_rival(order)
    if rival is None:
        return Lead(best, cells[best], None, 0.0, None)
    is_tie = math.isclose(cells[best].mean, cells[rival].mean, rel_tol=TIE)
    ahead = 0.0 if is_tie else cells[best].mean - cells[rival].mean
    interval = compare_on(results, HEADLINE, dataset, best, rival)
    return Lead(best, cells[best], rival, ahead, interval)


def compare_on(
    results: Results, measure: str, dataset: str, one: PairName, other: PairName
) -> Interval | None:
    """Return the mean of one pair's scores minus another's; see `mean_interval`."""
    values, others = (results.values(measure, dataset, pair) for pair in (one, other))
    protocol = results.manifest.get("protocol", {})
    return mean_interval(values - others, test=float(protocol.get("test", Protocol.test)))


def describe_estimators(results: Results) -> str:
    """Return the binary classifier of the trials, shortened; empty if it is unknown."""
    known = [results.facts[name] for name in results.datasets if name in results.facts]
    texts = list(dict.fromkeys(facts["estimator"] for facts in known))
    if len(texts) == 1:
        return shorten(texts[0], _MOST_CHARACTERS)
    return f"{len(texts)} binary classifiers (by dataset)" if texts else ""


def describe_data(results: Results) -> str:
    """Return the names of the datasets, or their number if there are many."""
    names = results.datasets
    if len(names) > _MOST_NAMES:
        return f"{len(names)} datasets"
    *most, last = names or ["no data yet"]
    return f"{', '.join(most)} and {last}" if most else last


def _find_rival(order: Sequence[PairName]) -> PairName | None:
    others = [pair for pair in order if pair[0] != order[0][0]] or order[1:]
    return others[0] if others else None


def _describe_lead(results: Results, dataset: str) -> str:
    lead = find_lead(results, dataset)
    if lead is None:
        return "no pair could be run."
    n_trials = lead.cell.n_repeats
    trials = f"over {n_trials} trials" if n_trials > 1 else "in a single trial"
    score = f"{format_cell(lead.cell)} {trials}"
    best = _name_pair(lead.pair)
    if lead.rival is None:
        return f"{best} had an accuracy of {score}."
    table = results.table(HEADLINE)
    n_pairs = len(table.rows)
    if lead.ahead == 0:
        n_tied = sum(cell is not None and cell.is_best for (cell,) in table.cells)
        names = f"{best} and {_name_pair(lead.rival)}"
        if n_tied > 2:
            names = f"{best}, {_name_pair(lead.rival)} and {n_tied - 2} more"
        return f"{names} were the most accurate of {n_pairs} pairs: {score}."
    text = (
        f"{best} was the most accurate of {n_pairs} pairs: {score}, {_format(lead.ahead)} above "
        f"{_next(lead.pair, lead.rival)}"
    )
    if lead.interval is None:
        return f"{text}; one trial cannot show how much of that is noise."
    low, high = _format(lead.interval.low), _format(lead.interval.high)
    text = f"{text}, with a 95% confidence interval from {low} to {high}"
    return text + (": the difference is within noise." if lead.is_noise else ".")


def _next(pair: PairName, rival: PairName) -> str:
    return f"the next {'scheme' if rival[0] != pair[0] else 'pair'}, {_name_pair(rival)}"


def _describe_ranks(results: Results) -> str:
    title = MEASURES[HEADLINE].title.lower()
    ranked = results.rank(HEADLINE)
    if ranked is None:
        return f"the pairs cannot be ranked; the table has the best {title} on each dataset."
    pairs, ranking = ranked
    order = [pairs[k] for k in np.argsort(ranking.mean_ranks, kind="stable")]
    ranks = dict(zip(pairs, ranking.mean_ranks.tolist(), strict=True))
    best, rival = order[0], _find_rival(order)
    assert rival is not None, "a ranking has two pairs"
    n_worse = sum(rank > ranks[best] + ranking.critical_difference for rank in ranks.values())
    ahead = ranks[rival] - ranks[best]
    if ahead == 0:
        found = f"{_name_pair(best)} and {_name_pair(rival)} share the best mean rank of {title}"
        text = f"{found}, {ranks[best]:.2f} among {len(pairs)} pairs; "
    else:
        is_noise = ahead <= ranking.critical_difference
        text = (
            f"{_name_pair(best)} had the best mean rank of {title}, {ranks[best]:.2f} among "
            f"{len(pairs)} pairs, {ahead:.2f} ahead of {_next(best, rival)}: the difference is "
            f"{'within noise' if is_noise else 'significant'}, and "
        )
    worse = f"{n_worse} of the {len(pairs) - 1} other pairs" if n_worse else "no other pair"
    verb = "is" if n_worse < 2 else "are"
    difference = f"critical difference {ranking.critical_difference:.2f}"
    return f"{text}{worse} {verb} significantly worse ({difference})."


def _name_pair(pair: PairName) -> str:
    return f"{pair[0]} ({pair[1]})" if pair[1] else pair[0]


def _format(value: float) -> str:
    """Format with three decimals, and a proper minus.

    Examples
    --------
    >>> _format(-0.0123), _format(-0.0001)
    ('−0.012', '0.000')
    """
    text = f"{value:.3f}"
    return "0.000" if text == "-0.000" else text.replace("-", "−")


# -- beside the published figures ------------------------------------------------------------------


# Largest difference that counts as agreement, in published standard deviations.
_MOST_DEVIATIONS = 2
_PAPER_NAMES = {(pair.configuration, pair.method) for pair in PAPER_PAIRS}


class Published(NamedTuple):
    """A published mean over ten repeats, its standard deviation, and a note, often empty."""

    mean: float
    std: float
    note: str = ""


class Beside(NamedTuple):
    """One of our cells next to the published one.

    Attributes
    ----------
    measure, dataset, pair : place of the cell
    ours : Cell
    theirs : Published
    verdict : "agrees" if ours is within two published standard deviations, else "better" or
        "worse"
    """

    measure: str
    dataset: str
    pair: PairName
    ours: Cell
    theirs: Published
    verdict: Literal["agrees", "better", "worse"]


def find_published(measure: str, dataset: str, pair: PairName) -> Published | None:
    """Return a figure from the tables of Mills (2019); None if they do not have it.

    Parameters
    ----------
    measure : name of a measure
    dataset : name of a dataset
    pair : configuration and method, as in PAPER_PAIRS

    Examples
    --------
    >>> find_published("winner_brier_score", "sat", ("one-vs-one", "least-squares"))
    Published(mean=0.246, std=0.006, note='')
    """
    found = _figures().get((measure, dataset, *pair))
    if found is None and pair in _PAPER_NAMES:  # all methods of a configuration share the value
        found = _figures().get((measure, dataset, pair[0], ""))
    return found


def beside_published(results: Results) -> list[Beside]:
    """Compare every cell that the published tables also have, if it was measured in the same way.

    Only the protocol of the paper is compared: its datasets, with their size and the order of their
    classes; its binary classifiers; its split and calibration; its schemes and solvers.
    """
    protocol = results.manifest.get("protocol", {})
    paper = Protocol(PAPER_PAIRS).describe()
    if any(protocol.get(key) != paper[key] for key in ("test", "calibration", "folds")):
        return []
    # A user's own scheme may have the same name as one of the paper's.
    pairs = [
        (pair["configuration"], pair["method"])
        for pair in protocol["pairs"]
        if pair in paper["pairs"]
    ]
    found = []
    for table in results.tables():
        largest = table.measure.best == "largest"
        for pair, dataset, ours in table.entries():
            theirs = find_published(table.measure.name, dataset, pair)
            is_same = pair in pairs and _is_published(dataset, results.facts.get(dataset, {}))
            if theirs is not None and is_same:
                verdict = _compare_with_paper(ours, theirs, largest=largest)
                found.append(Beside(table.measure.name, dataset, pair, ours, theirs, verdict))
    return found


def _is_published(name: str, facts: Mapping[str, Any]) -> bool:
    """Return whether a dataset, the order of its classes and its classifier are the paper's."""
    known = CATALOGUE.get(name)
    if known is None or not facts:
        return False
    estimator = describe_estimator(estimator_from(known.estimator, SVC()))
    ours = facts["n_features"], list(facts["counts"]), facts["estimator"]
    return ours == (known.n_features, list(known.counts), estimator)


def _compare_with_paper(
    ours: Cell, theirs: Published, *, largest: bool
) -> Literal["agrees", "better", "worse"]:
    difference = ours.mean - theirs.mean
    if abs(difference) <= _MOST_DEVIATIONS * theirs.std:
        return "agrees"
    return "better" if (difference > 0) == largest else "worse"


@cache
def _figures() -> dict[tuple[str, str, str, str], Published]:
    text = files("polytomy.trials").joinpath("published.csv").read_text(encoding="utf-8")
    return {
        (row["measure"], row["dataset"], row["configuration"], row["method"]): Published(
            float(row["mean"]), float(row["std"]), row["note"]
        )
        for row in csv.DictReader(text.splitlines())
    }
