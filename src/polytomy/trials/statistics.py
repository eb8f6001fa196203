"""Significance tests for differences between methods."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from polytomy.errors import ArgumentError

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
    """Methods ranked over datasets.

    Attributes
    ----------
    mean_ranks : mean rank of each method; 1 is best
    p_value : p-value of Friedman's test that all methods are equal; NaN for fewer than three
    critical_difference : mean ranks that differ by more are significantly different by Nemenyi's
        test
    groups : maximal groups of two or more methods that do not differ significantly, as indices,
        best first; for the diagram
    n_datasets : number of datasets
    """

    mean_ranks: Floats
    p_value: float
    critical_difference: float
    groups: list[list[int]]
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
    return Ranking(
        mean_ranks, p_value, difference, _find_groups(mean_ranks, difference), n_datasets
    )


def _find_groups(mean_ranks: Floats, difference: float) -> list[list[int]]:
    order = np.argsort(mean_ranks, kind="stable").tolist()
    groups: list[list[int]] = []
    end = 0
    for start, first in enumerate(order):
        reach = [i for i in order[start:] if mean_ranks[i] - mean_ranks[first] <= difference]
        # A group that ends where an earlier one ends is contained in it.
        if len(reach) > 1 and start + len(reach) > end:
            groups.append(reach)
            end = start + len(reach)
    return groups
