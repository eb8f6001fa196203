"""Scores and distances from the out-of-fold probabilities of a classifier of bins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polytomy.classifier import PolytomyClassifier
from polytomy.regression.distribution import BinnedDistribution
from polytomy.regression.intervals import distance_to_median

__all__ = ["JudgedRows", "find_probabilities", "forget_probabilities", "locate"]

Floats = NDArray[np.float64]


class JudgedRows:
    """Measures the predicted distributions of rows that arrive in blocks, in order.

    Parameters
    ----------
    y : array of shape (n_rows,), true values
    statistic : "mean" or "median", the statistic to predict
    """

    def __init__(self, y: Floats, statistic: str) -> None:
        self._rest, self._statistic = y, statistic

    def measure(self, predicted: BinnedDistribution) -> Floats:
        """Return a row for each sample: its distance to the median, its prediction and its CRPS."""
        y, self._rest = np.split(self._rest, [len(predicted)])
        points = locate(predicted, self._statistic)
        return np.column_stack([distance_to_median(predicted, y), points, predicted.crps(y)])


def locate(distribution: BinnedDistribution, statistic: str) -> Floats:
    """Return the mean or the median of each distribution."""
    return distribution.mean() if statistic == "mean" else distribution.median()


def find_probabilities(classifier: PolytomyClassifier, n_rows: int) -> Floats | None:
    """Return out-of-fold probabilities of the bins, NaN for some rows; None if there are none."""
    if classifier.n_classes_ == 1:
        return np.ones((n_rows, 1))
    proba: Floats | None = getattr(classifier, "out_of_fold_proba_", None)
    return proba


def forget_probabilities(classifier: PolytomyClassifier) -> PolytomyClassifier:
    """Return the classifier without its out-of-fold probabilities, which use a lot of memory."""
    composition = classifier.composition_
    final, scores = composition.final, composition.out_of_fold
    classifier.keep_out_of_fold = False
    classifier.composition_ = replace(
        composition,
        final=None if final is None else replace(final, probabilities=None),
        out_of_fold=None if scores is None else replace(scores, keeps_probabilities=False),
    )
    return classifier
