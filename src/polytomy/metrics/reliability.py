"""Calibration: whether predicted probabilities match observed frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.metrics.judged_samples import check_judged_samples

__all__ = [
    "check_bins",
    "classwise_calibration_error",
    "confidence_calibration_error",
    "mean_gap",
    "reliability_table",
    "tabulate_reliability",
]

_RELIABILITY_BIN = np.dtype(
    [
        ("lower", np.float64),
        ("upper", np.float64),
        ("predicted", np.float64),
        ("observed", np.float64),
        ("weight", np.float64),
    ]
)


def classwise_calibration_error(
    y: ArrayLike,
    proba: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    bins: int = 15,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the classwise expected calibration error (Kull et al. 2019).

    For each class, samples are binned by the probability of the class. The difference between mean
    probability and observed frequency is averaged over the bins, weighted by their samples, and
    then over the classes.

    Parameters
    ----------
    y, proba, classes, sample_weight
        As in :func:`brier_score`.
    bins : int, default=15
        Number of bins of equal width.

    Returns
    -------
    float, in [0, 1], zero is best

    Examples
    --------
    Class 1 has probability 0.3 but frequency 0.5, so both classes are off by 0.2:

    >>> round(classwise_calibration_error([0, 1], [[0.7, 0.3], [0.7, 0.3]]), 6)
    0.2
    """
    table = reliability_table(y, proba, classes, bins=bins, sample_weight=sample_weight)
    return float(np.mean([mean_gap(of_class) for of_class in table]))


def confidence_calibration_error(
    y: ArrayLike,
    proba: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    bins: int = 15,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the expected calibration error of the prediction's confidence (Guo et al. 2017).

    Samples are binned by the probability of the predicted class, and the difference between that
    probability and the accuracy is averaged over the bins.

    Parameters
    ----------
    y, proba, classes, bins, sample_weight
        As in :func:`classwise_calibration_error`.

    Returns
    -------
    float, in [0, 1], zero is best

    Examples
    --------
    The confidence is 0.7, the accuracy 0.5:

    >>> round(confidence_calibration_error([0, 1], [[0.7, 0.3], [0.7, 0.3]]), 6)
    0.2
    """
    judged = check_judged_samples(y, proba, classes, sample_weight)
    confidence, right = judged.confidence()
    return mean_gap(tabulate_reliability(confidence, right, judged.weight, check_bins(bins)))


def reliability_table(
    y: ArrayLike,
    proba: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    bins: int = 10,
    sample_weight: ArrayLike | None = None,
) -> NDArray[np.void]:
    """Return the mean probability and the frequency of each class, in bins of its probability.

    Parameters
    ----------
    y, proba, classes, sample_weight
        As in :func:`brier_score`.
    bins : int, default=10
        Number of bins of equal width. A bin includes its lower edge, the last bin both edges.

    Returns
    -------
    structured array of shape (n_classes, bins)
        Fields: ``lower`` and ``upper``, the edges; ``predicted``, the mean probability;
        ``observed``, the frequency of the class; ``weight``, the sum of sample weights. An empty
        bin has weight zero and NaN for both means.

    Examples
    --------
    >>> table = reliability_table(["a", "b", "b"], [[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]], bins=2)
    >>> table["predicted"].round(6)
    array([[0.2, 0.8],
           [0.2, 0.8]])
    >>> table["observed"]
    array([[0. , 0.5],
           [0.5, 1. ]])
    >>> table["weight"]
    array([[1., 2.],
           [2., 1.]])
    """
    judged = check_judged_samples(y, proba, classes, sample_weight)
    edges = check_bins(bins)
    columns = zip(judged.proba.T, judged.indicators.T, strict=True)
    return np.stack(
        [tabulate_reliability(proba, is_class, judged.weight, edges) for proba, is_class in columns]
    )


def tabulate_reliability(
    predicted: NDArray[np.float64],
    observed: NDArray[Any],
    weight: NDArray[np.float64],
    edges: NDArray[np.float64],
) -> NDArray[np.void]:
    """Return a row of `reliability_table` for each bin, for probabilities of one event."""
    n_bins = len(edges) - 1
    place = np.clip(np.searchsorted(edges, predicted, side="right") - 1, 0, n_bins - 1)
    table = np.zeros(n_bins, dtype=_RELIABILITY_BIN)
    table["lower"], table["upper"] = edges[:-1], edges[1:]
    total = np.bincount(place, weight, n_bins)
    table["weight"] = total
    with np.errstate(invalid="ignore"):  # 0 / 0 is the NaN of an empty bin
        table["predicted"] = np.bincount(place, weight * predicted, n_bins) / total
        table["observed"] = np.bincount(place, weight * observed, n_bins) / total
    return table


def mean_gap(table: NDArray[np.void]) -> float:
    """Return the mean difference between probability and frequency, weighted by bin."""
    filled = table[table["weight"] > 0]
    gaps = np.abs(filled["predicted"] - filled["observed"])
    return float(np.average(gaps, weights=filled["weight"]))


def check_bins(bins: int) -> NDArray[np.float64]:
    """Return the edges of this many bins of equal width; ArgumentError if `bins` is invalid."""
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise ArgumentError(Argument("bins", bins), " is not a whole number of 1 or more.")
    # Division makes the edge at 0.3 equal to the literal 0.3; repeated addition would not.
    return np.arange(int(bins) + 1) / int(bins)
