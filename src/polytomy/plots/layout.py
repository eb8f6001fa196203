"""What is drawn and where, computed once for the plots and for the report."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.inputs.arguments import Parameter
from polytomy.metrics.scores import check_bins, tabulate_reliability
from polytomy.scheme import Scheme

Floats = NDArray[np.float64]

STRATEGY = Parameter("strategy", choices=("uniform", "quantile"))
"""How wide the bins are: equal widths, or equal numbers of samples."""

_LEAST_SHARE = 1e-3  # rarer errors have the palest shade
_QUANTILE_95 = 1.959963984540054  # of the normal distribution, two-sided


def distances_at_nodes(scheme: Scheme, distances: Floats) -> list[Floats]:
    """Return for each node the distances between classes in different branches.

    Parameters
    ----------
    scheme : Scheme
    distances : array of shape (n_classes, n_classes), in the order of ``scheme.classes``
    """
    found = []
    for starts in scheme.branch_starts:
        branches = [slice(start, end) for start, end in pairwise(starts)]
        pairs = [distances[one, other].ravel() for one, other in combinations(branches, 2)]
        found.append(np.concatenate(pairs))
    return found


def shares_of_rows(matrix: NDArray[Any]) -> Floats:
    """Return each entry as a share of its row; zeros for a row of zeros."""
    totals = matrix.sum(axis=1, keepdims=True)
    shares: Floats = np.zeros(matrix.shape)
    np.divide(matrix, totals, out=shares, where=totals > 0)
    return shares


def shade_confusion(shares: Floats) -> Floats:
    """Return shades of a confusion matrix: 0 to 1 if correct, 0 to −1 for errors, by share of row.

    The logarithmic scale of errors shows rare ones too: an error rate of 1 % is a third of the
    scale, 10 % two thirds.
    """
    errors = np.clip(1 + np.log10(np.maximum(shares, _LEAST_SHARE)) / 3, 0.08, 1)
    return np.where(np.eye(len(shares), dtype=bool), shares, np.where(shares > 0, -errors, 0))


class ReliabilityBins(NamedTuple):
    """Bins of the probabilities of an event, without empty bins.

    Attributes
    ----------
    predicted : mean probability in each bin
    observed : frequency of the event in each bin
    weight : sum of the sample weights in each bin
    lower, upper : Wilson's 95 % interval of the frequency, given the number of samples
    """

    predicted: Floats
    observed: Floats
    weight: Floats
    lower: Floats
    upper: Floats

    @property
    def mean_gap(self) -> float:
        """Mean difference between probability and frequency, weighted by bin."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.weight))


def make_bins(
    predicted: Floats, observed: NDArray[Any], weight: Floats, n_bins: int, strategy: str
) -> ReliabilityBins:
    """Return the bins of probabilities of one event.

    Parameters
    ----------
    predicted : array of shape (n_samples,), probabilities of the event
    observed : array of shape (n_samples,), whether it happened
    weight : array of shape (n_samples,)
    n_bins : int; there are fewer if some would be empty, or many probabilities are equal
    strategy : "quantile" for bins of the same weight, "uniform" for bins of the same width
    """
    edges = check_bins(n_bins)
    if strategy == "quantile":
        edges = _quantile_edges(predicted, weight, edges)
    table = tabulate_reliability(predicted, observed, weight, edges)
    table = table[table["weight"] > 0]
    # Unequal weights reduce the effective number of samples (Kish 1965).
    samples_per_weight = weight.sum() / (weight @ weight)
    lower, upper = _wilson_interval(table["observed"], table["weight"] * samples_per_weight)
    return ReliabilityBins(
        table["predicted"].copy(), table["observed"].copy(), table["weight"].copy(), lower, upper
    )


def _quantile_edges(values: Floats, weight: Floats, shares: Floats) -> Floats:
    order = np.argsort(values, kind="stable")
    cumulated = np.cumsum(weight[order])
    # The value after the one that completes a share starts the next bin.
    places = np.searchsorted(cumulated, shares[1:-1] * cumulated[-1] * (1 + 1e-12), side="right")
    inner = values[order][np.minimum(places, len(values) - 1)]
    return np.unique(np.concatenate([[0.0], np.clip(inner, 0.0, 1.0), [1.0]]))


def _wilson_interval(share: Floats, n: Floats) -> tuple[Floats, Floats]:
    square = _QUANTILE_95**2
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = np.sqrt(share * (1 - share) / n + square / (4 * n**2)) / (1 + square / n)
    half *= _QUANTILE_95
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
