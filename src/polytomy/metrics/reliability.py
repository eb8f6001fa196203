"""Calibration: whether predicted probabilities match observed frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.metrics.metric import Additive, JudgedSamples, check_judged_samples

_ERROR_BINS = 15

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
    bins: int = _ERROR_BINS,
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
    judged = check_judged_samples(y, proba, classes, sample_weight)
    return _classwise_error(check_bins(bins))(judged)


def _classwise_error(edges: NDArray[np.float64]) -> Additive:
    """Return the function of judged samples that is their classwise calibration error."""
    return Additive(
        lambda judged: reliability_sums(judged, edges),
        lambda sums: float(np.mean([_mean_gap(_divide_sums(each, edges)) for each in sums])),
    )


def confidence_calibration_error(
    y: ArrayLike,
    proba: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    bins: int = _ERROR_BINS,
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
    return _mean_gap(tabulate_reliability(confidence, right, judged.weight, check_bins(bins)))


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
    edges = check_bins(bins)
    sums = reliability_sums(check_judged_samples(y, proba, classes, sample_weight), edges)
    return np.stack([_divide_sums(of_class, edges) for of_class in sums])


def reliability_sums(judged: JudgedSamples, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sums over the samples in each bin of each class's probability.

    Returns
    -------
    array of shape (n_classes, 3, n_bins)
        The weight, the weight times the probability, and the weight of the samples of the class.
    """
    columns = zip(judged.proba.T, judged.indicators.T, strict=True)
    return np.stack([_sum_in_bins(*column, judged.weight, edges) for column in columns])


def tabulate_reliability(
    predicted: NDArray[np.float64],
    observed: NDArray[Any],
    weight: NDArray[np.float64],
    edges: NDArray[np.float64],
) -> NDArray[np.void]:
    """Return a row of `reliability_table` for each bin, for probabilities of one event."""
    return _divide_sums(_sum_in_bins(predicted, observed, weight, edges), edges)


def _sum_in_bins(
    predicted: NDArray[np.float64],
    observed: NDArray[Any],
    weight: NDArray[np.float64],
    edges: NDArray[np.float64],
) -> NDArray[np.float64]:
    n_bins = len(edges) - 1
    place = np.clip(np.searchsorted(edges, predicted, side="right") - 1, 0, n_bins - 1)
    values = (weight, weight * predicted, weight * observed)
    return np.stack([np.bincount(place, each, n_bins) for each in values])


def _divide_sums(sums: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.void]:
    """Return the table of one event from the sums in its bins."""
    table = np.zeros(len(edges) - 1, dtype=_RELIABILITY_BIN)
    table["lower"], table["upper"] = edges[:-1], edges[1:]
    table["weight"] = sums[0]
    with np.errstate(invalid="ignore"):  # 0 / 0 is the NaN of an empty bin
        table["predicted"], table["observed"] = sums[1:] / sums[0]
    return table


def _mean_gap(table: NDArray[np.void]) -> float:
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


CLASSWISE_ERROR = _classwise_error(check_bins(_ERROR_BINS))
"""The classwise calibration error as a function of judged samples."""
