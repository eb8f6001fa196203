"""The figures published in Mills's tables, compared with ours."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from polytomy.trials.catalogue import CATALOGUE
from polytomy.trials.measures import find_measure
from polytomy.trials.results import Cell, PairName, Results

__all__ = ["Beside", "Published", "beside_published", "find_published"]

# Largest difference that counts as agreement, in published standard deviations.
_MOST_DEVIATIONS = 2


class Published(NamedTuple):
    """A published mean over ten repeats, its standard deviation, and a note, often empty."""

    mean: float
    std: float
    note: str = ""


class Beside(NamedTuple):
    """One of our cells next to the published one.

    Attributes
    ----------
    measure, dataset, pair : place of the cell; the method is empty if all methods share the value
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
    measure : name of a measure; the method is ignored for measures that all methods share
    dataset : name of a dataset
    pair : configuration and method, as in PAPER_PAIRS

    Examples
    --------
    >>> find_published("uncertainty_coefficient", "sat", ("one-vs-one", "least-squares"))
    Published(mean=0.8, std=0.01, note='')
    """
    configuration, method = pair
    if find_measure(measure).of_scheme:
        method = ""
    return _figures().get((measure, dataset, configuration, method))


def beside_published(results: Results) -> list[Beside]:
    """Compare every cell that the published tables also have.

    A dataset with the name of a published one but another size is skipped.
    """
    found = []
    facts = results.facts or {}
    is_known = {name: _is_published(name, facts.get(name, {})) for name in results.datasets}
    for table in results.tables():
        for pair, cells in zip(table.rows, table.cells, strict=True):
            for dataset, ours in zip(table.datasets, cells, strict=True):
                theirs = find_published(table.measure.name, dataset, pair)
                if ours is not None and theirs is not None and is_known[dataset]:
                    verdict = _judge(ours, theirs, largest=table.measure.best == "largest")
                    found.append(Beside(table.measure.name, dataset, pair, ours, theirs, verdict))
    return found


def _is_published(name: str, facts: Mapping[str, Any]) -> bool:
    """Return whether a dataset has the name and, as far as known, the size of a published one."""
    known = CATALOGUE.get(name)
    return known is not None and all(
        facts.get(what, size) == size
        for what, size in (("n_samples", known.n_samples), ("n_features", known.n_features))
    )


def _judge(ours: Cell, theirs: Published, *, largest: bool) -> Literal["agrees", "better", "worse"]:
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
