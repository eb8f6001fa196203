"""Results of trials: what is measured, means and standard deviations, and significance."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import Parameter, count_things, make_frame
from polytomy.metrics import METRICS, Metric
from polytomy.trials.datasets import BUNDLED, CATALOGUE
from polytomy.trials.store import read_facts, read_manifest, read_trials


class Measure(NamedTuple):
    """A number that each trial records for each pair.

    Attributes
    ----------
    name : key in files
    title : heading of its table
    best : which value is best, "largest" or "smallest"; None if neither is
    short_title : heading of a narrow column
    is_time : whether it is a time, which depends on the machine
    """

    name: str
    title: str
    best: Literal["largest", "smallest"] | None = "smallest"
    short_title: str = ""
    is_time: bool = False


MAIN_MEASURES = ("uncertainty_coefficient", "brier_score", "fit_seconds", "predict_seconds")
"""The measures of Mills's tables; the first comes first in all tables, and is shown in progress."""

_COSTS = {
    cost.name: cost
    for cost in (
        Measure(
            "out_of_fold_log_loss",
            "Out-of-fold log-loss, expected from training",
            None,
            "expected log-loss",
        ),
        Measure("fit_seconds", "Training time (seconds)", "smallest", "training s", is_time=True),
        Measure(
            "predict_seconds", "Prediction time (seconds)", "smallest", "prediction s", is_time=True
        ),
        Measure("n_binaries", "Number of binaries", None, "binaries"),
        Measure("n_support_vectors", "Number of support vectors", None, "vectors"),
    )
}


def _measure_of(metric: Metric) -> Measure:
    best: Literal["largest", "smallest"] = "largest" if metric.larger_is_better else "smallest"
    return Measure(metric.name, metric.heading, best, short_title=metric.short_title)


class _Measures(Mapping[str, Measure]):
    """Reads the registry of metrics each time, so that it has those that users register."""

    def _by_name(self) -> dict[str, Measure]:
        # Trials know no hierarchy, and do not use the order of the classes.
        found = [each for each in METRICS.values() if each.needs_only_predictions]
        found.sort(key=lambda each: each.name != MAIN_MEASURES[0])
        return {each.name: _measure_of(each) for each in found if each.is_reported} | _COSTS

    def __getitem__(self, name: str) -> Measure:
        return self._by_name()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name())

    def __len__(self) -> int:
        return len(self._by_name())


MEASURES: Mapping[str, Measure] = _Measures()
"""All measures by name, in the order of the tables, with the metrics that users registered."""


def find_measure(name: str) -> Measure:
    """Return the measure with this name.

    Examples
    --------
    >>> find_measure("accuracy").best
    'largest'
    """
    Parameter("measure", choices=tuple(MEASURES)).check(name)
    return MEASURES[name]


# -- significance ----------------------------------------------------------------------------------


Floats = NDArray[np.float64]

# As in SciPy: with ties, the p-value of more differences is that of a normal approximation.
_MOST_EXACT = 13


class Paired(NamedTuple):
    """Two methods compared on the same splits.

    Attributes
    ----------
    n_splits : number of splits on which both were measured
    wins, ties, losses : number of splits on which the first is better, equal, worse
    mean_difference : mean of first minus second
    p_value : two-sided p-value of Wilcoxon's signed-rank test; 1 if no split differs
    """

    n_splits: int
    wins: int
    ties: int
    losses: int
    mean_difference: float
    p_value: float


def compare_pairs(one: ArrayLike, other: ArrayLike, *, largest_is_best: bool) -> Paired:
    """Compare the values of two methods, split by split.

    Wilcoxon's signed-rank test (Wilcoxon 1945) ignores splits without a difference. Repeated splits
    of one dataset overlap, so the p-values are too optimistic (Nadeau and Bengio 2003).

    Parameters
    ----------
    one, other : arrays of shape (n_splits,); NaN where not measured
    largest_is_best : bool

    Examples
    --------
    >>> compare_pairs([3.0, 2.0, 5.0], [1.0, 2.0, 1.0], largest_is_best=True)[:4]
    (3, 2, 1, 0)
    """
    first, second = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise ArgumentError(
            f"Values of shapes {first.shape} and {second.shape} cannot be compared split by split. "
            "Pass two one-dimensional arrays of the same length."
        )
    is_measured = np.isfinite(first) & np.isfinite(second)
    differences = (first - second)[is_measured]
    n_larger, n_smaller = int(np.sum(differences > 0)), int(np.sum(differences < 0))
    wins, losses = (n_larger, n_smaller) if largest_is_best else (n_smaller, n_larger)
    ties = len(differences) - wins - losses
    p_value = 1.0
    if wins + losses:
        p_value = _signed_rank_p_value(differences[differences != 0])
    mean = float(np.mean(differences)) if len(differences) else float("nan")
    return Paired(len(differences), wins, ties, losses, mean, p_value)


def _signed_rank_p_value(differences: Floats) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test."""
    if len(differences) > _MOST_EXACT:
        return float(stats.wilcoxon(differences).pvalue)
    # SciPy lists all signs if there are ties, which takes a second; here, they are counted. Twice
    # a rank is a whole number, ties or not.
    ranks = np.rint(2 * stats.rankdata(np.abs(differences))).astype(np.intp)
    n_ways = np.zeros(ranks.sum() + 1)  # in how many of all ways to choose signs a sum is reached
    n_ways[0] = 1
    for rank in ranks:
        n_ways[rank:] += n_ways[:-rank].copy()
    observed = ranks[differences > 0].sum()
    tail = min(n_ways[: observed + 1].sum(), n_ways[observed:].sum())
    return float(min(1.0, 2 * tail / n_ways.sum()))


class Interval(NamedTuple):
    """A mean and its confidence interval."""

    mean: float
    low: float
    high: float

    @property
    def has_zero(self) -> bool:
        """Whether the interval contains zero, so that the mean may be zero."""
        return self.low <= 0 <= self.high


def mean_interval(differences: ArrayLike, *, test: float, level: float = 0.95) -> Interval | None:
    """Return the mean of differences between two methods, and its confidence interval.

    Training sets of repeated splits overlap, so the differences are not independent. The variance
    of their mean is estimated as (1/n + n_test/n_train) times that of a single difference (Nadeau
    and Bengio 2003); without the second term, intervals would be too narrow.

    Parameters
    ----------
    differences : array of shape (n_splits,); NaN where not measured
    test : fraction of the samples that each split holds out
    level : confidence level

    Returns
    -------
    Interval, or None for fewer than two splits

    Examples
    --------
    >>> mean, low, high = mean_interval([0.02, 0.01, 0.03, 0.02], test=0.3)
    >>> round(mean, 3), round(low, 3), round(high, 3)
    (0.02, -0.001, 0.041)
    """
    values = np.asarray(differences, dtype=np.float64)
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return None
    mean, variance = float(np.mean(values)), float(np.var(values, ddof=1))
    error = np.sqrt((1 / len(values) + test / (1 - test)) * variance)
    half = float(stats.t.ppf((1 + level) / 2, len(values) - 1) * error)
    return Interval(mean, mean - half, mean + half)


class Ranking(NamedTuple):
    """Methods ranked over datasets, or over the trials of one.

    Attributes
    ----------
    mean_ranks : mean rank of each method; 1 is best
    p_value : p-value of Friedman's test that all methods are equal; NaN for fewer than three
    critical_difference : mean ranks that differ by more are significantly different by Nemenyi's
        test; NaN for one dataset
    n_datasets : number of datasets
    """

    mean_ranks: Floats
    p_value: float
    critical_difference: float
    n_datasets: int


def rank_methods(values: ArrayLike, *, largest_is_best: bool, level: float = 0.05) -> Ranking:
    """Rank methods on each dataset, and test whether their mean ranks differ.

    Uses Friedman's test and Nemenyi's critical difference, as Demšar (2006) does.

    Parameters
    ----------
    values : array of shape (n_datasets, n_methods), all finite
    largest_is_best : bool
    level : significance level of the critical difference

    Examples
    --------
    >>> ranking = rank_methods([[0.9, 0.8, 0.7], [0.8, 0.8, 0.5]], largest_is_best=True)
    >>> ranking.mean_ranks
    array([1.25, 1.75, 3.  ])
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or min(table.shape) < 2 or not np.isfinite(table).all():
        raise ArgumentError(
            f"Ranking needs finite values for at least two datasets and two methods; got shape "
            f"{table.shape}."
        )
    n_datasets, n_methods = table.shape
    ranks = stats.rankdata(-table if largest_is_best else table, axis=1)
    mean_ranks = ranks.mean(axis=0)
    p_value = float("nan")
    if n_methods > 2:
        is_alike = bool((table == table[:, :1]).all())
        p_value = 1.0 if is_alike else float(stats.friedmanchisquare(*table.T).pvalue)
    quantile = stats.studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2)
    difference = float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))
    return Ranking(mean_ranks, p_value, difference, n_datasets)


# -- results ---------------------------------------------------------------------------------------


PairName = tuple[str, str]
"""Names of a configuration and a method."""

TIE = 1e-12
"""Relative difference up to which two means are ties: rounding depends on the order of addition."""


_MOST_DECIMALS = 9
_ROUNDING = 1e-13


class Cell(NamedTuple):
    """Mean and standard deviation over the repeats, and how the mean compares with the best.

    The standard deviation is sqrt(Σ (x − mean)² / (n − 1)), NaN for a single repeat. The p-value is
    that of Wilcoxon's signed-rank test against the best; None for the best itself, and for a
    single repeat.
    """

    mean: float
    std: float
    n_repeats: int
    is_best: bool = False
    p_value: float | None = None


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
    rows : names of the pairs
    cells : one list per row; None where nothing was measured
    """

    measure: Measure
    datasets: list[str]
    rows: list[PairName]
    cells: list[list[Cell | None]]

    def cell(self, pair: PairName, column: int = 0) -> Cell | None:
        """Return the value of a pair on a dataset, given by its column; None if there is none."""
        return self.cells[self.rows.index(pair)][column] if pair in self.rows else None

    def entries(self) -> Iterator[tuple[PairName, str, Cell]]:
        """Yield the pair, the dataset and the value of every cell that was measured."""
        for pair, cells in zip(self.rows, self.cells, strict=True):
            for dataset, cell in zip(self.datasets, cells, strict=True):
                if cell is not None:
                    yield pair, dataset, cell

    def to_frame(self) -> Any:
        """Return the means and standard deviations as a pandas frame, one row per pair.

        Examples
        --------
        >>> cells = [[Cell(0.91, 0.012, 5, is_best=True)], [Cell(0.88, 0.009, 5)]]
        >>> rows = [("one-vs-one", "least-squares"), ("tree", "greedy")]
        >>> Table(MEASURES["accuracy"], ["land"], rows, cells).to_frame()["land"].reset_index()
          configuration         method  mean    std
        0    one-vs-one  least-squares  0.91  0.012
        1          tree         greedy  0.88  0.009
        """
        instead = "entries() has the same values."
        values = {
            (dataset, name): [getattr(row[k], name, math.nan) for row in self.cells]
            for k, dataset in enumerate(self.datasets)
            for name in ("mean", "std")
        }
        names = [[pair[k] for pair in self.rows] for k in range(2)]
        pairs = make_frame(dict(zip(("configuration", "method"), names, strict=True)), instead)
        return make_frame(values, instead).set_index([pairs[name] for name in pairs])


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
    Cell(mean=0.75, std=nan, n_repeats=1, is_best=False, p_value=None)
    """

    records: Sequence[Mapping[str, Any]]
    pairs: Sequence[PairName]
    datasets: Sequence[str]
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)

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

        The others have the p-value of a comparison with the best. Rows without values are omitted.
        """
        found = find_measure(measure)
        rows = {
            pair: [self.cell(measure, name, pair) for name in self.datasets] for pair in self.pairs
        }
        rows = {pair: cells for pair, cells in rows.items() if any(cells)}
        if found.best is not None:
            self._compare_with_best(found, rows)
        return Table(found, list(self.datasets), list(rows), list(rows.values()))

    def _compare_with_best(
        self, measure: Measure, rows: Mapping[PairName, list[Cell | None]]
    ) -> None:
        """Mark the best values; the others get the p-value of a comparison with them."""
        choose = max if measure.best == "largest" else min
        for k, dataset in enumerate(self.datasets):
            cells = {pair: cell for pair, row in rows.items() if (cell := row[k]) is not None}
            top = choose((cell.mean for cell in cells.values()), default=0.0)
            best = [pair for pair in cells if math.isclose(cells[pair].mean, top, rel_tol=TIE)]
            for pair, cell in cells.items():
                if pair in best:
                    rows[pair][k] = cell._replace(is_best=True)
                elif cell.n_repeats > 1:
                    values = [self.values(measure.name, dataset, each) for each in (pair, best[0])]
                    p_value = compare_pairs(*values, largest_is_best=True).p_value
                    rows[pair][k] = cell._replace(p_value=p_value)

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

        For trials of one dataset, these are the mean ranks over its trials. Their p-value and
        critical difference are NaN: the trials share samples, so the tests do not apply. Pairs
        without any value are omitted. Returns None for fewer than two pairs, and if all pairs were
        measured only on one of several datasets.
        """
        found = find_measure(measure)
        table = self.table(measure)
        if len(table.datasets) == 1 and found.best is not None and len(table.rows) > 1:
            own = [self.values(measure, table.datasets[0], pair) for pair in table.rows]
            trials = np.array(own).T
            trials = trials[np.isfinite(trials).all(axis=1)]
            ranks = stats.rankdata(-trials if found.best == "largest" else trials, axis=1)
            nan = float("nan")
            return (table.rows, Ranking(ranks.mean(axis=0), nan, nan, 1)) if len(trials) else None
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
        return make_frame(self.rows(), "Use rows() for a list of dicts.")

    def __repr__(self) -> str:
        things = {"trial": self.records, "pair": self.pairs, "dataset": self.datasets}
        trials, pairs, datasets = [count_things(len(each), name) for name, each in things.items()]
        return f"<Results: {trials} of {pairs} on {datasets}>"


def _sort_datasets(names: Iterable[str]) -> list[str]:
    """Return datasets in the order of the experiments' tables, then by name."""
    known = [*CATALOGUE, *BUNDLED]
    return sorted(
        names, key=lambda name: (known.index(name) if name in known else len(known), name)
    )
