"""Scores of predicted classes and of class probabilities."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import ArgumentError
from polytomy.inputs.judged_samples import check_judged_samples, check_labels
from polytomy.inputs.weights import check_weights


def uncertainty_coefficient(
    y: ArrayLike, predicted: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the share of the uncertainty about the true class that the predictions take away.

    It is I(y; predicted) / H(y): mutual information over the entropy of the truth (Shannon 1948;
    Press et al. 1992). Zero means that the predictions tell nothing, one that they tell all. It
    asks only for information, so a classifier that swaps two classes always scores as well as one
    that never does. Where only one true class occurs, nothing is uncertain, and it is one.

    Parameters
    ----------
    y, predicted : arrays of shape (n_samples,)
        True and predicted labels; the two need not have the same set of labels.
    sample_weight : array of shape (n_samples,), optional

    Returns
    -------
    float, in [0, 1]

    Examples
    --------
    Knowing the prediction halves the possibilities, from four classes to two:

    >>> round(uncertainty_coefficient(["a", "b", "c", "d"], ["a", "a", "c", "c"]), 6)
    0.5
    """
    true_labels, given_labels = check_labels(y, "y"), check_labels(predicted, "predicted")
    if len(true_labels) != len(given_labels):
        raise ArgumentError(
            f"y has {len(true_labels)} labels and predicted has {len(given_labels)}. "
            "Give one prediction for each sample."
        )
    weight = check_weights(sample_weight, len(true_labels))
    truth, given = _enumerate(true_labels), _enumerate(given_labels)
    joint = np.zeros((truth.max() + 1, given.max() + 1))
    np.add.at(joint, (truth, given), weight / weight.sum())
    of_truth = joint.sum(axis=1)
    if np.count_nonzero(of_truth) == 1:
        return 1.0
    entropy = _entropy(of_truth)
    information = entropy + _entropy(joint.sum(axis=0)) - _entropy(joint.ravel())
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
        Probabilities, rows sum to one.
    classes : array of shape (n_classes,), optional
        Labels of the columns; the sorted labels of `y` by default.
    per_class : bool, default=True
        Whether the mean goes over samples and classes, or over samples only, which is
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
    judged = check_judged_samples(y, proba, classes, sample_weight)
    squares = np.sum((judged.proba - judged.happened) ** 2, axis=1)
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
    """Return the root-mean-square error of the winning class's probability alone.

    It is sqrt(mean (p_winner − [the winner is right])²): how far the confidence of the prediction
    can be trusted. Ties go to the first class.

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
    one such sample costs 36 and not infinity.

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
    judged = check_judged_samples(y, proba, classes, sample_weight)
    of_truth = judged.proba[np.arange(len(judged.truth)), judged.truth]
    losses = -np.log(np.clip(of_truth, np.finfo(np.float64).eps, 1.0))
    return float(np.average(losses, weights=judged.weight))


def _entropy(distribution: NDArray[np.float64]) -> float:
    positive = distribution[distribution > 0]
    return -float(np.sum(positive * np.log(positive)))


def _enumerate(labels: list[Hashable]) -> NDArray[np.intp]:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.intp)
