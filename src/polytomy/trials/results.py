"""What came out of trials: means and standard deviations, the best, and how sure that is."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import ArgumentError
from polytomy.trials.catalogue import CATALOGUE
from polytomy.trials.measures import MEASURES, Measure, find_measure
from polytomy.trials.sources import BUNDLED
from polytomy.trials.statistics import Paired, Ranking, compare_pairs, rank_methods
from polytomy.trials.store import read_facts, read_manifest, read_trials

__all__ = ["Cell", "Comparison", "PairName", "Results", "Table"]

Floats = NDArray[np.float64]
PairName = tuple[str, str]
"""A configuration and a method."""

# Means that differ by no more than the order of additions makes are equally good.
_SAME = 1e-12


class Cell(NamedTuple):
    """Mean and standard deviation over the repeats (NaN for one repeat), and whether none beats it.

    The standard deviation is the ordinary one, sqrt(Σ (x − mean)² / (n − 1)).
    """

    mean: float
    std: float
    n_repeats: int
    is_best: bool = False


class Table(NamedTuple):
    """One measure of every pair on every dataset.

    Attributes
    ----------
    measure : Measure
    datasets : names of the columns
    rows : names of the rows; the method is empty where all of a configuration have the same values
    cells : a list for each row; None where nothing was measured
    """

    measure: Measure
    datasets: list[str]
    rows: list[PairName]
    cells: list[list[Cell | None]]


class Comparison(NamedTuple):
    """Two pairs compared on the splits of one dataset."""

    measure: str
    dataset: str
    one: PairName
    other: PairName
    outcome: Paired


@dataclass(frozen=True, eq=False)
class Results:
    """The trials of a run.

    Attributes
    ----------
    records : list of dict, each a finished trial as `measure_trial` returns it
    pairs : names of what was compared, in order
    datasets : names, in order
    facts : for each dataset what it is
    manifest : protocol, versions and the like

    Examples
    --------
    >>> cells = [{"configuration": "tree", "method": "greedy", "scores": {"accuracy": 0.75}}]
    >>> records = [{"dataset": "iris", "repeat": 0, "cells": cells}]
    >>> results = Results(records, [("tree", "greedy")], ["iris"])
    >>> results.cell("accuracy", "iris", ("tree", "greedy"))
    Cell(mean=0.75, std=nan, n_repeats=1, is_best=False)
    """

    records: Sequence[Mapping[str, Any]]
    pairs: Sequence[PairName]
    datasets: Sequence[str]
    facts: Mapping[str, Mapping[str, Any]] | None = None
    manifest: Mapping[str, Any] | None = None

    @classmethod
    def read(
        cls,
        folder: str | os.PathLike[str],
        datasets: Iterable[str] | None = None,
        repeats: int | None = None,
    ) -> Results:
        """Return the trials that a folder has.

        Parameters
        ----------
        folder : that a run wrote to
        datasets : names of those that are wanted, in order; all by default
        repeats : the number of repeats that are wanted; all by default
        """
        manifest = read_manifest(folder)
        records = [
            record
            for record in read_trials(folder)
            if repeats is None or record["repeat"] < repeats
        ]
        there = {record["dataset"] for record in records}
        wanted = _in_order(there) if datasets is None else list(datasets)
        names = [(pair["configuration"], pair["method"]) for pair in manifest["protocol"]["pairs"]]
        return cls(
            [record for record in records if record["dataset"] in wanted],
            names,
            wanted,
            {
                facts["name"]: facts
                for facts in read_facts(folder)
                if datasets is None or facts["name"] in wanted
            },
            manifest,
        )

    def outcomes(self, dataset: str, pair: PairName) -> list[Mapping[str, Any]]:
        """Return what a pair gave on a dataset, repeat by repeat, as `measure_trial` returns it."""
        if pair not in self.pairs or dataset not in self.datasets:
            raise ArgumentError(
                f"there are no trials of {pair!r} on {dataset!r}; there are those of "
                f"{', '.join(map(repr, self.pairs))} on {', '.join(self.datasets)}"
            )
        own = [record for record in self.records if record["dataset"] == dataset]
        return [
            cell
            for record in sorted(own, key=lambda each: int(each["repeat"]))
            for cell in record["cells"]
            if (cell["configuration"], cell["method"]) == pair
        ]

    def values(self, measure: str, dataset: str, pair: PairName) -> Floats:
        """Return the values of a measure, one for each repeat in their order; NaN where none is."""
        name = find_measure(measure).name
        found = [each.get("scores", {}).get(name) for each in self.outcomes(dataset, pair)]
        return np.array([np.nan if value is None else value for value in found], dtype=np.float64)

    def total(
        self, what: Literal["confusion", "reliability"], dataset: str, pair: PairName
    ) -> Floats | None:
        """Return the sum over the repeats of a pair's confusion matrices, or reliability counts.

        None where there are none. For their rows and columns see `measure_trial`.
        """
        parts = [each[what] for each in self.outcomes(dataset, pair) if each.get(what)]
        return np.sum(parts, axis=0, dtype=np.float64) if parts else None

    def cell(self, measure: str, dataset: str, pair: PairName) -> Cell | None:
        """Return mean and standard deviation over the repeats; None where nothing was measured."""
        values = self.values(measure, dataset, pair)
        values = values[np.isfinite(values)]
        if not len(values):
            return None
        std = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
        return Cell(float(np.mean(values)), std, len(values))

    def table(self, measure: str) -> Table:
        """Return one measure of every pair on every dataset, the best of each dataset marked.

        Rows without any value are left out.
        """
        found = find_measure(measure)
        rows = {
            pair: [self.cell(measure, name, pair) for name in self.datasets] for pair in self.pairs
        }
        if found.of_scheme:
            rows = _by_configuration(rows)
        rows = {pair: cells for pair, cells in rows.items() if any(cells)}
        if found.best is not None:
            _mark_best(list(rows.values()), largest=found.best == "largest")
        return Table(found, list(self.datasets), list(rows), list(rows.values()))

    def tables(self) -> list[Table]:
        """Return the tables of all measures that have values."""
        return [table for table in map(self.table, MEASURES) if table.rows]

    def compare(self, measure: str) -> list[Comparison]:
        """Return how any two pairs compare on each dataset, split by split."""
        found = find_measure(measure)
        if found.best is None:
            raise ArgumentError(f"measure={measure!r} has no best, so nothing is compared by it")
        made = []
        for dataset in self.datasets:
            values = {pair: self.values(measure, dataset, pair) for pair in self.pairs}
            for i, one in enumerate(self.pairs):
                for other in self.pairs[i + 1 :]:
                    outcome = compare_pairs(
                        values[one], values[other], largest_is_best=found.best == "largest"
                    )
                    if outcome.n_splits:
                        made.append(Comparison(measure, dataset, one, other, outcome))
        return made

    def rank(self, measure: str) -> tuple[list[PairName], Ranking] | None:
        """Return the pairs and how they rank over the datasets on which all of them were measured.

        Pairs that were measured nowhere are left out. None for fewer than two datasets or pairs.
        """
        found = find_measure(measure)
        table = self.table(measure)
        # Columns in which some row is empty say nothing of that row's rank.
        whole = [k for k in range(len(table.datasets)) if all(row[k] for row in table.cells)]
        if found.best is None or len(whole) < 2 or len(table.rows) < 2:
            return None
        means = [[cell.mean for k in whole if (cell := row[k])] for row in table.cells]
        is_largest = found.best == "largest"
        return table.rows, rank_methods(np.array(means).T, largest_is_best=is_largest)

    def problems(self) -> dict[str, list[str]]:
        """Return for each problem that made a pair impossible, the pairs and datasets it met."""
        found: dict[str, dict[str, None]] = {}
        for record in self.records:
            for cell in record["cells"]:
                if cell.get("problem"):
                    where = f"{cell['configuration']}, {cell['method']} on {record['dataset']}"
                    found.setdefault(cell["problem"], {})[where] = None
        return {problem: list(places) for problem, places in found.items()}

    def rows(self) -> list[dict[str, Any]]:
        """Return a flat dict for each pair in each trial: the raw values, None where none is."""
        return [
            {
                "dataset": record["dataset"],
                "repeat": record["repeat"],
                "configuration": cell["configuration"],
                "method": cell["method"],
                **{name: cell.get("scores", {}).get(name) for name in MEASURES},
            }
            for record in sorted(
                self.records,
                key=lambda each: (self.datasets.index(each["dataset"]), each["repeat"]),
            )
            for cell in record["cells"]
        ]

    def frame(self) -> Any:
        """Return the raw values as a pandas frame."""
        try:
            import pandas
        except ImportError:
            raise ArgumentError(
                "a frame needs pandas, which is not installed. rows() has the same as dicts."
            ) from None
        return pandas.DataFrame(self.rows())

    def __repr__(self) -> str:
        return (
            f"<Results: {len(self.records)} trials of {len(self.pairs)} pairs on "
            f"{len(self.datasets)} datasets>"
        )


def _by_configuration(
    rows: Mapping[PairName, list[Cell | None]],
) -> dict[PairName, list[Cell | None]]:
    """Return one row for each configuration: what the first of its methods has that has a value."""
    merged: dict[PairName, list[Cell | None]] = {}
    for (configuration, _), cells in rows.items():
        before = merged.get((configuration, ""), [None] * len(cells))
        merged[configuration, ""] = [
            old if old is not None else new for old, new in zip(before, cells, strict=True)
        ]
    return merged


def _mark_best(rows: list[list[Cell | None]], *, largest: bool) -> None:
    for k in range(len(rows[0]) if rows else 0):
        means = [cell.mean for row in rows if (cell := row[k])]
        if not means:
            continue
        best = max(means) if largest else min(means)
        for row in rows:
            cell = row[k]
            if cell is not None and math.isclose(cell.mean, best, rel_tol=_SAME):
                row[k] = cell._replace(is_best=True)


def _in_order(names: Iterable[str]) -> list[str]:
    """Return datasets in the order of the experiments' tables, then by name."""
    known = [*CATALOGUE, *BUNDLED]
    return sorted(
        names, key=lambda name: (known.index(name) if name in known else len(known), name)
    )
