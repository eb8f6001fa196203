"""Metrics of predicted classes, of class probabilities and of ordered classes, and their table."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.label_order import has_natural_order, match_class_order, order_labels
from polytomy.metrics.hierarchical import score_hierarchy
from polytomy.metrics.metric import (
    JudgedSamples,
    Metric,
    check_judged_samples,
    check_predicted_labels,
    mean_over_samples,
    register,
    root_mean_over_samples,
)
from polytomy.metrics.reliability import CLASSWISE_ERROR

Floats = NDArray[np.float64]


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
    return _uncertainty_coefficient(rows, columns, weight)


def _uncertainty_coefficient(
    rows: NDArray[np.intp], columns: NDArray[np.intp], weight: Floats
) -> float:
    """Return the uncertainty coefficient of true and predicted class indices."""
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


def _surprises_at_prediction(judged: JudgedSamples) -> Floats:
    """Return −log P(truth | prediction), with the frequencies among these samples.

    Its mean is the entropy of the true class given the predicted one: the entropy of the true
    class, which all candidates share, times one minus the uncertainty coefficient.
    """
    truth, predicted = judged.truth, judged.predicted
    joint = np.zeros((len(judged.classes), len(judged.classes)))
    np.add.at(joint, (truth, predicted), judged.weight)
    among = joint[truth, predicted] / joint.sum(axis=0)[predicted]
    # A prediction may occur only in samples of weight zero.
    return np.asarray(-np.log(np.where(np.isnan(among) | (among <= 0), 1.0, among)))


def _entropy(distribution: NDArray[Any]) -> float:
    positive = distribution[distribution > 0]
    return -float(np.sum(positive * np.log(positive)))


def _number_labels(labels: list[Hashable]) -> NDArray[np.intp]:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.intp)


def _errors(judged: JudgedSamples) -> Floats:
    return np.asarray(judged.predicted != judged.truth, dtype=np.float64)


def _hits(judged: JudgedSamples) -> Floats:
    return 1.0 - _errors(judged)


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
    judged = check_judged_samples(y, proba, classes, sample_weight)
    losses = _mean_squared_errors if per_class else _squared_errors
    return root_mean_over_samples(losses)(judged)


def _squared_errors(judged: JudgedSamples) -> Floats:
    return np.asarray(np.sum((judged.proba - judged.indicators) ** 2, axis=1))


def _mean_squared_errors(judged: JudgedSamples) -> Floats:
    return np.asarray(_squared_errors(judged) / judged.proba.shape[1])


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
    return root_mean_over_samples(_errors_of_winners)(judged)


def _errors_of_winners(judged: JudgedSamples) -> Floats:
    confidence, right = judged.confidence()
    return np.asarray((confidence - right) ** 2)


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
    return mean_over_samples(_surprises)(check_judged_samples(y, proba, classes, sample_weight))


def _surprises(judged: JudgedSamples) -> Floats:
    of_truth = judged.proba[np.arange(len(judged.truth)), judged.truth]
    return np.asarray(-np.log(np.clip(of_truth, np.finfo(np.float64).eps, 1.0)))


def ranked_probability_score(
    y: ArrayLike,
    proba: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    class_order: Iterable[Any] | None = None,
    normalize: bool = False,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean squared error of the cumulative probabilities (Epstein 1969; Murphy 1971).

    For each sample, the squared errors of the probabilities P(y ≤ k) are summed over all classes
    k but the last. A certain prediction that is d ranks from the truth scores d, so the score is in
    the unit of `mean_absolute_rank_error`. With two classes it is the mean squared error of the
    probability of one of them. The score is proper: on average, true probabilities score best.

    Parameters
    ----------
    y, proba, classes, sample_weight
        As in :func:`brier_score`.
    class_order : list of labels, optional
        All classes, from first to last. By default, numbers are ordered by value, including those
        written as text, and other labels are in the order of `classes`. If that is alphabetical,
        a ClassOrderWarning is issued.
    normalize : bool, default=False
        Whether to divide by n_classes − 1, so that the worst score is one.

    Returns
    -------
    float, in [0, n_classes − 1], or in [0, 1] if normalised; zero is best

    Examples
    --------
    Both samples have probability 0.6 on a wrong class; the second wrong class is further away:

    >>> order = ["low", "mid", "high"]
    >>> round(ranked_probability_score(["low"], [[0.4, 0.6, 0.0]], order), 6)
    0.36
    >>> round(ranked_probability_score(["low"], [[0.4, 0.0, 0.6]], order), 6)
    0.72
    """
    judged = check_judged_samples(y, proba, classes, sample_weight)
    if class_order is None and _are_in_chosen_order(judged.classes):
        class_order = judged.classes
    order = _order("ranked_probability_score", judged.classes, class_order)
    column_of = {label: column for column, label in enumerate(judged.classes)}
    judged = judged._replace(class_order=[column_of[label] for label in order])
    score = mean_over_samples(_errors_of_ranks)(judged)
    return score / max(1, len(order) - 1) if normalize else score


def _errors_of_ranks(judged: JudgedSamples) -> Floats:
    in_order = (judged.proba - judged.indicators)[:, judged.class_order]
    return np.asarray(np.sum(np.cumsum(in_order, axis=1)[:, :-1] ** 2, axis=1))


def mean_absolute_rank_error(
    y: ArrayLike,
    predicted: ArrayLike,
    class_order: Iterable[Any] | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean number of ranks between the predicted and the true class.

    Parameters
    ----------
    y, predicted : arrays of shape (n_samples,)
        True and predicted labels.
    class_order : list of labels, optional
        All classes, from first to last. By default, the classes are the labels of `y` and
        `predicted`. Numbers are ordered by value, including those written as text, and other text
        alphabetically, with a ClassOrderWarning. Pass it if `y` and `predicted` lack a class.
    sample_weight : array of shape (n_samples,), optional

    Returns
    -------
    float, in [0, n_classes − 1], zero is best

    Examples
    --------
    One prediction is right, one is off by one rank, one by two:

    >>> order = ["low", "mid", "high"]
    >>> mean_absolute_rank_error(["low", "mid", "high"], ["low", "high", "low"], order)
    1.0
    """
    labels, predictions, weight = check_predicted_labels(y, predicted, sample_weight)
    found = list(dict.fromkeys([*labels, *predictions]))
    order = _order("mean_absolute_rank_error", found, class_order, allows_more=True)
    rank_of = {label: rank for rank, label in enumerate(order)}
    pairs = zip(labels, predictions, strict=True)
    distances = [abs(rank_of[label] - rank_of[prediction]) for label, prediction in pairs]
    return float(np.average(distances, weights=weight))


def _order(
    metric: str,
    labels: Sequence[Any],
    class_order: Iterable[Any] | None,
    *,
    allows_more: bool = False,
) -> list[Any]:
    if class_order is not None:
        return match_class_order(class_order, labels, allows_more=allows_more)
    try:
        in_order: list[Any] = sorted(labels)
    except TypeError:
        raise ArgumentError(
            "The labels cannot be sorted. Pass all of them, from first to last, as ",
            Argument("class_order"),
            ".",
        ) from None
    return order_labels(in_order, [metric])


def _are_in_chosen_order(classes: Sequence[Any]) -> bool:
    """Return whether labels are text in an order that is not alphabetical."""
    is_text = all(isinstance(label, str) for label in classes)
    return is_text and not has_natural_order(classes) and list(classes) != sorted(classes)


def _rank_errors(judged: JudgedSamples) -> Floats:
    ranks = np.argsort(judged.class_order)
    return np.asarray(np.abs(ranks[judged.truth] - ranks[judged.predicted]), dtype=np.float64)


def _joint_surprises(judged: JudgedSamples) -> Floats:
    """Return the uncertainty about the class given the probabilities plus that given the winner."""
    return _surprises(judged) + _surprises_at_prediction(judged)


for _metric in (
    Metric("accuracy", mean_over_samples(_hits), larger_is_better=True, losses=_errors),
    Metric(
        "uncertainty_coefficient",
        lambda judged: _uncertainty_coefficient(judged.truth, judged.predicted, judged.weight),
        larger_is_better=True,
        short_title="uncert. coeff.",
        losses=_surprises_at_prediction,
    ),
    Metric(
        "brier_score",
        root_mean_over_samples(_mean_squared_errors),
        needs=("probabilities",),
        title="Brier score",
        losses=_squared_errors,
    ),
    Metric(
        "winner_brier_score",
        root_mean_over_samples(_errors_of_winners),
        needs=("confidence",),
        title="Brier score of the winning class",
        short_title="winner Brier",
    ),
    Metric(
        "log_loss",
        mean_over_samples(_surprises),
        needs=("probabilities",),
        range=(0.0, math.inf),
        title="log-loss",
        losses=_surprises,
    ),
    Metric(
        "joint_log_loss",
        lambda judged: float(np.average(_joint_surprises(judged), weights=judged.weight)),
        needs=("probabilities",),
        range=(0.0, math.inf),
        is_reported=False,
        losses=_joint_surprises,
    ),
    Metric(
        "calibration_error",
        CLASSWISE_ERROR,
        needs=("probabilities",),
        title="classwise calibration error",
        short_title="calib. error",
    ),
    # The same, under the name of its function.
    Metric(
        "classwise_calibration_error", CLASSWISE_ERROR, needs=("probabilities",), is_reported=False
    ),
    Metric(
        "mean_absolute_rank_error",
        mean_over_samples(_rank_errors),
        needs=("labels", "order"),
        range=(0.0, math.inf),
        unit="ranks",
    ),
    Metric(
        "ranked_probability_score",
        mean_over_samples(_errors_of_ranks),
        needs=("probabilities", "order"),
        range=(0.0, math.inf),
        unit="ranks",
    ),
    *(
        Metric(
            f"hierarchical_{part}",
            score_hierarchy(part),
            needs=("labels", "hierarchy"),
            larger_is_better=True,
        )
        for part in ("precision", "recall", "f_score")
    ),
):
    register(_metric)
