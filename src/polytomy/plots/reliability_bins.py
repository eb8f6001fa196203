"""Bins of probabilities with their observed frequencies, and the curve through them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.inputs.arguments import Parameter
from polytomy.metrics.reliability import check_bins, tabulate_reliability
from polytomy.plots.canvas import FAINT

__all__ = ["STRATEGY", "ReliabilityBins", "draw_diagonal", "make_bins"]

Floats = NDArray[np.float64]

STRATEGY = Parameter("strategy", choices=("uniform", "quantile"))
"""How wide the bins are: equal widths, or equal numbers of samples."""

_DIAGONAL = "perfectly calibrated"
_QUANTILE_95 = 1.959963984540054  # of the normal distribution, two-sided


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


def draw_diagonal(ax: Any) -> Any:
    """Draw the line where probabilities equal frequencies, once per axes; return the line."""
    for line in ax.lines:
        if line.get_label() == _DIAGONAL:
            return line
    (line,) = ax.plot(
        [0, 1], [0, 1], color=FAINT, linewidth=1, linestyle="--", label=_DIAGONAL, zorder=1
    )
    return line
