"""Results of trials: means and standard deviations, the best pairs, and significance."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.trials.catalogue import CATALOGUE
from polytomy.trials.datasets import BUNDLED
from polytomy.trials.measures import MEASURES, Measure, find_measure
from polytomy.trials.statistics import Paired, Ranking, compare_pairs, rank_methods
from polytomy.trials.store import read_facts, read_manifest, read_trials

Floats = NDArray[np.float64]
PairName = tuple[str, str]
"""Names of a configuration and a method."""

TIE = 1e-12
"""Relative difference up to which two means are ties: rounding depends on the order of addition."""


_MOST_DECIMALS = 9
_ROUNDING = 1e-13


class Cell(NamedTuple):
    """Mean and standard deviation over the repeats, and whether the mean is the best.

    The standard deviation is sqrt(Σ (x − mean)² / (n − 1)), NaN for a single repeat.
    """

    mean: float
    std: float
    n_repeats: int
    is_best: bool = False


def format_cell(cell: Cell, sign: str = " ± ") -> str:
    """Format mean and standard deviation, with two significant digits of the latter.

    Examples
    --------
    >>> format_cell(Cell(0.93184, 0.00923, 10)), format_cell(Cell(151.2, 13.1, 10))
    ('0.9318 ± 0.0092', '151 ± 13')
    >>> format_cell(Cell(0.9, float("nan"), 1)), format_cell(Cell(45.0, 0.0, 10))
    ('0.9000', '45')
    """
    # Anything smaller is rounding error.
    least = _ROUNDING * max(abs(cell.mean), 1)
    if not math.isfinite(cell.std) or cell.std < least:
        is_whole = abs(cell.mean - round(cell.mean)) < least
        return f"{abs(cell.mean):.0f}" if is_whole else _four_digits(cell.mean)
    decimals = min(max(1 - math.floor(math.log10(cell.std)), 0), _MOST_DECIMALS)
    return f"{cell.mean:.{decimals}f}{sign}{cell.std:.{decimals}f}"


def _four_digits(value: float) -> str:
    decimals = 3 - math.floor(math.log10(abs(value)))
    # 0.9000 rather than 0.9: the digits show the precision.
    return f"{value:.{min(max(decimals, 0), _MOST_DECIMALS)}f}"


class Table(NamedTuple):
    """One measure for every pair on every dataset.

    Attributes
    ----------
    measure : Measure
    datasets : names of the columns
    rows : names of the rows; the method is empty if all methods of a configuration share the value
    cells : one list per row; None where nothing was measured
    """

    measure: Measure
    datasets: list[str]
    rows: list[PairName]
    cells: list[list[Cell | None]]

    def row_of(self, pair: PairName) -> PairName:
        """Return the name of the row with the values of a pair."""
        return (pair[0], "") if self.measure.of_scheme and pair not in self.rows else pair


class Comparison(NamedTuple):
    """Two pairs compared split by split on one dataset."""

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
    records : list of dict, the finished trials as returned by `measure_trial`
    pairs : names of the pairs, in order
    datasets : names of the datasets, in order
    facts : description of each dataset, by name
    manifest : protocol, versions and machine

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
        """Read the trials in a folder.

        Parameters
        ----------
        folder : folder that a run wrote to
        datasets : names of the datasets to read, in order; all by default
        repeats : number of repeats to read; all by default
        """
        manifest = read_manifest(folder)
        records = [
            record
            for record in read_trials(folder)
            if repeats is None or record["repeat"] < repeats
        ]
        present = {record["dataset"] for record in records}
        wanted = _sort_datasets(present) if datasets is None else list(datasets)
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
        """Return the cells of a pair on a dataset, repeat by repeat; see `measure_trial`."""
        if pair not in self.pairs or dataset not in self.datasets:
            raise ArgumentError(
                f"No trials of {pair!r} on {dataset!r}. There are trials of "
                f"{', '.join(map(repr, self.pairs))} on {', '.join(self.datasets)}."
            )
        own = [record for record in self.records if record["dataset"] == dataset]
        return [
            cell
            for record in sorted(own, key=lambda each: int(each["repeat"]))
            for cell in record["cells"]
            if (cell["configuration"], cell["method"]) == pair
        ]

    def values(self, measure: str, dataset: str, pair: PairName) -> Floats:
        """Return the value of a measure for each repeat, in order; NaN where it is missing."""
        name = find_measure(measure).name
        found = [each.get("scores", {}).get(name) for each in self.outcomes(dataset, pair)]
        return np.array([np.nan if value is None else value for value in found], dtype=np.float64)

    def total(
        self, what: Literal["confusion", "reliability"], dataset: str, pair: PairName
    ) -> Floats | None:
        """Sum a pair's confusion matrices or reliability counts over the repeats.

        Returns None if there are none. See `measure_trial` for rows and columns.
        """
        parts = [each[what] for each in self.outcomes(dataset, pair) if each.get(what)]
        return np.sum(parts, axis=0, dtype=np.float64) if parts else None

    def cell(self, measure: str, dataset: str, pair: PairName) -> Cell | None:
        """Return mean and standard deviation over the repeats; None if nothing was measured."""
        values = self.values(measure, dataset, pair)
        values = values[np.isfinite(values)]
        if not len(values):
            return None
        std = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
        return Cell(float(np.mean(values)), std, len(values))

    def table(self, measure: str) -> Table:
        """Return one measure for every pair on every dataset, with the best of each marked.

        Rows without values are omitted.
        """
        found = find_measure(measure)
        rows = {
            pair: [self.cell(measure, name, pair) for name in self.datasets] for pair in self.pairs
        }
        if found.of_scheme:
            apart = self._calibrated() if found.counts_calibration else set()
            rows = _merge_methods(rows, apart)
        rows = {pair: cells for pair, cells in rows.items() if any(cells)}
        if found.best is not None:
            _mark_best(list(rows.values()), largest=found.best == "largest")
        return Table(found, list(self.datasets), list(rows), list(rows.values()))

    def _calibrated(self) -> set[PairName]:
        return {
            (cell["configuration"], cell["method"])
            for record in self.records
            for cell in record["cells"]
            if "final_calibration" in cell
        }

    def tables(self) -> list[Table]:
        """Return a table for every measure that has values."""
        return [table for table in map(self.table, MEASURES) if table.rows]

    def compare(self, measure: str) -> list[Comparison]:
        """Compare all pairs with each other on each dataset, split by split."""
        found = find_measure(measure)
        if found.best is None:
            raise ArgumentError(
                Argument("measure", measure), " has no best value, so it cannot compare pairs."
            )
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
        """Rank the pairs over the datasets on which all of them were measured.

        Pairs without any value are omitted. Returns None for fewer than two datasets or pairs.
        """
        found = find_measure(measure)
        table = self.table(measure)
        # A dataset without a value for some pair cannot rank that pair.
        whole = [k for k in range(len(table.datasets)) if all(row[k] for row in table.cells)]
        if found.best is None or len(whole) < 2 or len(table.rows) < 2:
            return None
        means = [[cell.mean for k in whole if (cell := row[k])] for row in table.cells]
        is_largest = found.best == "largest"
        return table.rows, rank_methods(np.array(means).T, largest_is_best=is_largest)

    def problems(self) -> dict[str, list[str]]:
        """Return the problems that excluded pairs, each with the pairs and datasets concerned."""
        found: dict[str, dict[str, None]] = {}
        for record in self.records:
            for cell in record["cells"]:
                if cell.get("problem"):
                    where = f"{cell['configuration']}, {cell['method']} on {record['dataset']}"
                    found.setdefault(cell["problem"], {})[where] = None
        return {problem: list(places) for problem, places in found.items()}

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat dict per pair and trial with the raw values; None where missing."""
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
                "frame() needs pandas, which is not installed. Use rows() for a list of dicts."
            ) from None
        return pandas.DataFrame(self.rows())

    def __repr__(self) -> str:
        return (
            f"<Results: {len(self.records)} trials of {len(self.pairs)} pairs on "
            f"{len(self.datasets)} datasets>"
        )


def _merge_methods(
    rows: Mapping[PairName, list[Cell | None]], apart: Collection[PairName]
) -> dict[PairName, list[Cell | None]]:
    """Merge rows by configuration, taking each value from the first method that has it.

    Rows in `apart` are not merged.
    """
    merged: dict[PairName, list[Cell | None]] = {}
    for pair, cells in rows.items():
        row = pair if pair in apart else (pair[0], "")
        before = merged.get(row, [None] * len(cells))
        merged[row] = [
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
            if cell is not None and math.isclose(cell.mean, best, rel_tol=TIE):
                row[k] = cell._replace(is_best=True)


def _sort_datasets(names: Iterable[str]) -> list[str]:
    """Return datasets in the order of the experiments' tables, then by name."""
    known = [*CATALOGUE, *BUNDLED]
    return sorted(
        names, key=lambda name: (known.index(name) if name in known else len(known), name)
    )
