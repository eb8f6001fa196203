"""The figures published in Mills's tables, compared with ours."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from sklearn.svm import SVC

from polytomy.designs.registry import uses_class_order
from polytomy.learners.specification import estimator_from
from polytomy.trials.catalogue import CATALOGUE
from polytomy.trials.measures import find_measure
from polytomy.trials.protocol import PAPER_PAIRS, Protocol, describe_estimator
from polytomy.trials.results import Cell, PairName, Results

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
    measure : name of a measure
    dataset : name of a dataset
    pair : configuration and method, as in PAPER_PAIRS; the method may be empty for measures that
        all methods share

    Examples
    --------
    >>> find_published("winner_brier_score", "sat", ("one-vs-one", "least-squares"))
    Published(mean=0.246, std=0.006, note='')
    """
    configuration, method = pair
    if find_measure(measure).of_scheme and pair in _PAPER_NAMES:
        method = ""
    return _figures().get((measure, dataset, configuration, method))


def beside_published(results: Results) -> list[Beside]:
    """Compare every cell that the published tables also have, if it was measured in the same way.

    Only the protocol of the paper is compared: its datasets, with their size and the order of their
    classes; its binary classifiers; its split and calibration; its schemes and solvers.
    """
    manifest = results.manifest or {}
    protocol = manifest.get("protocol", {})
    if not _is_paper_protocol(protocol):
        return []
    found = []
    facts = results.facts or {}
    configurations = _paper_configurations(protocol)
    known = {
        (name, configuration)
        for name in results.datasets
        for configuration in configurations
        if _is_published(name, facts.get(name, {}), in_order=uses_class_order(configuration))
    }
    for table in results.tables():
        for pair, cells in zip(table.rows, table.cells, strict=True):
            for dataset, ours in zip(table.datasets, cells, strict=True):
                theirs = find_published(table.measure.name, dataset, pair)
                if ours is not None and theirs is not None and (dataset, pair[0]) in known:
                    verdict = _compare_with_paper(
                        ours, theirs, largest=table.measure.best == "largest"
                    )
                    found.append(Beside(table.measure.name, dataset, pair, ours, theirs, verdict))
    return found


def _is_paper_protocol(protocol: Mapping[str, Any]) -> bool:
    """Return whether samples are held out, and binaries calibrated, as in the paper."""
    theirs = Protocol(PAPER_PAIRS).describe()
    return all(protocol.get(key) == theirs[key] for key in ("test", "calibration", "folds"))


def _paper_configurations(protocol: Mapping[str, Any]) -> set[str]:
    """Return the configurations whose schemes and solvers are those of the paper.

    A user's own scheme may have the same name as one of the paper's.
    """
    theirs = {(pair.configuration, pair.method): pair.describe() for pair in PAPER_PAIRS}
    own = [pair for pair in protocol["pairs"] if (pair["configuration"], pair["method"]) in theirs]
    other = {
        pair["configuration"]
        for pair in own
        if pair != theirs[pair["configuration"], pair["method"]]
    }
    return {pair["configuration"] for pair in own} - other


def _is_published(name: str, facts: Mapping[str, Any], *, in_order: bool) -> bool:
    """Return whether a dataset and its binary classifier are those of the paper.

    Parameters
    ----------
    name : name of the dataset
    facts : its description
    in_order : whether its classes must be in the same order
    """
    known = CATALOGUE.get(name)
    if known is None:
        return False
    theirs = {
        "n_samples": known.n_samples,
        "n_features": known.n_features,
        "estimator": describe_estimator(estimator_from(known.estimator, SVC())),
    }
    counts = list(facts.get("counts", ()))
    arranged: Callable[[Iterable[int]], list[int]] = list if in_order else sorted
    is_same_size = arranged(counts) == arranged(known.counts)
    return is_same_size and all(facts.get(key) == value for key, value in theirs.items())


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
