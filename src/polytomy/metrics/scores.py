"""Scores of predicted classes and of class probabilities."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.metrics.judged_samples import (
    JudgedSamples,
    check_judged_samples,
    check_predicted_labels,
)


def uncertainty_coefficient(
    y: ArrayLike, predicted: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the share of the uncertainty about the true class that the predictions remove.

    It is I(y; predicted) / H(y), the mutual information over the entropy of the true classes
    (Shannon 1948; Press et al. 1992): zero if the predictions carry no information, one if they
    determine the class. A classifier that always swaps two classes scores as well as one that never
    does. If there is only one true class, the score is one.

    Parameters
    ----------
    y, predicted : arrays of shape (n_samples,)
        True and predicted labels; their sets of labels may differ.
    sample_weight : array of shape (n_samples,), optional

    Returns
    -------
    float, in [0, 1]

    Examples
    --------
    Each prediction reduces four possible classes to two:

    >>> round(uncertainty_coefficient(["a", "b", "c", "d"], ["a", "a", "c", "c"]), 6)
    0.5
    """
    true_labels, predicted_labels, weight = check_predicted_labels(y, predicted, sample_weight)
    rows, columns = _number_labels(true_labels), _number_labels(predicted_labels)
    return uncertainty_coefficient_of_indices(rows, columns, weight)


def uncertainty_coefficient_of_indices(
    rows: NDArray[np.intp], columns: NDArray[np.intp], weight: NDArray[np.float64]
) -> float:
    """Return the uncertainty coefficient of class indices, without checking them.

    Parameters
    ----------
    rows, columns : arrays of shape (n_samples,), the true and the predicted class indices
    weight : array of shape (n_samples,)
    """
    shares = weight / weight.sum()
    of_truth = np.bincount(rows, shares)
    if np.count_nonzero(of_truth) == 1:
        return 1.0
    # Only pairs that occur are counted: with many classes, the whole table would be large.
    _, pairs = np.unique(rows * (columns.max() + 1) + columns, return_inverse=True)
    entropy = _entropy(of_truth)
    information = entropy + _entropy(np.bincount(columns, shares))
    information -= _entropy(np.bincount(pairs, shares))
    return float(np.clip(information / entropy, 0.0, 1.0))


def brier_score(
    y: ArrayLike,
    proba: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    per_class: bool = True,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the root-mean-square error of the probabilities (after Brier 1950).

    Parameters
    ----------
    y : array of shape (n_samples,)
        True labels.
    proba : array of shape (n_samples, n_classes)
        Probabilities; rows sum to one.
    classes : array of shape (n_classes,), optional
        Labels of the columns; the sorted labels of `y` by default.
    per_class : bool, default=True
        Whether to average over samples and classes, or over samples only, which gives a score
        sqrt(n_classes) times as large.
    sample_weight : array of shape (n_samples,), optional

    Returns
    -------
    float
        sqrt(Σ_i Σ_j (p_ij − [y_i = j])² / (n · n_classes)); zero is best.

    Examples
    --------
    >>> y, proba = [0, 1], [[1.0, 0.0], [0.8, 0.2]]
    >>> round(brier_score(y, proba), 6)  # sqrt((0.8² + 0.8²) / 4)
    0.565685
    >>> round(brier_score(y, proba, per_class=False), 6)
    0.8
    """
    return brier_score_of(
        check_judged_samples(y, proba, classes, sample_weight), per_class=per_class
    )


def brier_score_of(judged: JudgedSamples, *, per_class: bool = True) -> float:
    """Return the Brier score of samples that are already checked."""
    squares = np.sum((judged.proba - judged.indicators) ** 2, axis=1)
    if per_class:
        squares /= judged.proba.shape[1]
    return float(np.sqrt(np.average(squares, weights=judged.weight)))


def winner_brier_score(
    y: ArrayLike,
    proba: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the root-mean-square error of the predicted class's probability.

    It is sqrt(mean (p_winner − [the winner is right])²), the error of the prediction's confidence.
    Ties go to the first class.

    Parameters
    ----------
    y, proba, classes, sample_weight
        As in :func:`brier_score`.

    Returns
    -------
    float, zero is best

    Examples
    --------
    The first sample is right with confidence 1, the second wrong with confidence 0.8:

    >>> round(winner_brier_score([0, 1], [[1.0, 0.0], [0.8, 0.2]]), 6)  # sqrt(0.8² / 2)
    0.565685
    """
    judged = check_judged_samples(y, proba, classes, sample_weight)
    confidence, right = judged.confidence()
    return float(np.sqrt(np.average((confidence - right) ** 2, weights=judged.weight)))


def log_loss(
    y: ArrayLike,
    proba: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean of −log(probability of the true class).

    A probability of zero counts as 2.2e-16, the spacing of floating-point numbers at one, so that
    such a sample costs 36 instead of infinity.

    Parameters
    ----------
    y, proba, classes, sample_weight
        As in :func:`brier_score`.

    Returns
    -------
    float, zero is best

    Examples
    --------
    >>> round(log_loss(["no", "yes"], [[0.5, 0.5], [0.75, 0.25]]), 6)  # (log 2 + log 4) / 2
    1.039721
    """
    return log_loss_of(check_judged_samples(y, proba, classes, sample_weight))


def log_loss_of(judged: JudgedSamples) -> float:
    """Return the log-loss of samples that are already checked."""
    of_truth = judged.proba[np.arange(len(judged.truth)), judged.truth]
    losses = -np.log(np.clip(of_truth, np.finfo(np.float64).eps, 1.0))
    return float(np.average(losses, weights=judged.weight))


def _entropy(distribution: NDArray[Any]) -> float:
    positive = distribution[distribution > 0]
    return -float(np.sum(positive * np.log(positive)))


def _number_labels(labels: list[Hashable]) -> NDArray[np.intp]:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.intp)
