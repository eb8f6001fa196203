"""Metrics of predicted classes, of class probabilities, their calibration and their order."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.label_order import (
    find_class_order,
    has_natural_order,
    match_class_order,
    order_labels,
    read_categories,
)
from polytomy.metrics.hierarchical import score_hierarchy
from polytomy.metrics.metric import (
    Additive,
    JudgedSamples,
    Metric,
    check_judged_samples,
    check_predicted_labels,
    mean_over_samples,
    register,
    root_mean_over_samples,
)

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


# -- predictions and probabilities -----------------------------------------------------------------


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
    pairs = rows * (columns.max() + 1) + columns
    pairs = np.searchsorted(np.unique(pairs), pairs)
    entropy = _entropy(of_truth)
    information = entropy + _entropy(np.bincount(columns, shares))
    information -= _entropy(np.bincount(pairs, shares))
    return min(max(information / entropy, 0.0), 1.0)


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
    return -float((positive * np.log(positive)).sum())


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
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the squared error of the probabilities, summed over the classes (Brier 1950).

    Parameters
    ----------
    y : array of shape (n_samples,)
        True labels.
    proba : array of shape (n_samples, n_classes)
        Probabilities; rows sum to one.
    classes : array of shape (n_classes,), optional
        Labels of the columns; the sorted labels of `y` by default.
    sample_weight : array of shape (n_samples,), optional

    Returns
    -------
    float
        Σ_i Σ_j (p_ij − [y_i = j])² / n, between zero, which is best, and two. For two classes, it
        is twice the score of one class alone.

    Examples
    --------
    >>> brier_score([0, 1], [[1.0, 0.0], [0.5, 0.5]])  # (0 + 0.5² + 0.5²) / 2
    0.25
    """
    judged = check_judged_samples(y, proba, classes, sample_weight)
    return mean_over_samples(_squared_errors)(judged)


def root_brier_score(
    y: ArrayLike,
    proba: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the root-mean-square error of the probabilities, over samples and classes.

    Parameters
    ----------
    y, proba, classes, sample_weight
        As in :func:`brier_score`.

    Returns
    -------
    float
        sqrt(Σ_i Σ_j (p_ij − [y_i = j])² / (n · n_classes)); zero is best.

    Examples
    --------
    >>> round(root_brier_score([0, 1], [[1.0, 0.0], [0.8, 0.2]]), 6)  # sqrt((0.8² + 0.8²) / 4)
    0.565685
    """
    judged = check_judged_samples(y, proba, classes, sample_weight)
    return root_mean_over_samples(_mean_squared_errors)(judged)


def _squared_errors(judged: JudgedSamples) -> Floats:
    return np.asarray(((judged.proba - judged.indicators) ** 2).sum(axis=1))


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
    return np.asarray(-np.log(of_truth.clip(np.finfo(np.float64).eps, 1.0)))


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
    class_order = find_class_order(judged.classes, class_order, read_categories(y))
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
    if class_order is None:
        class_order = read_categories(y)
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
        mean_over_samples(_squared_errors),
        needs=("probabilities",),
        range=(0.0, 2.0),
        title="Brier score",
        losses=_squared_errors,
    ),
    Metric(
        "root_brier_score",
        root_mean_over_samples(_mean_squared_errors),
        needs=("probabilities",),
        title="root Brier score",
        losses=_squared_errors,
    ),
    Metric(
        "winner_brier_score",
        root_mean_over_samples(_errors_of_winners),
        needs=("confidence",),
        title="root Brier score of the winning class",
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

DECIDING = "log_loss"
"""The metric by which schemes and candidates are chosen, unless another is asked for."""

HEADLINE = "accuracy"
"""The metric that tells which predictions are best: all solvers have it, and it is widely known."""

DEFAULT_SCORING = (DECIDING, "uncertainty_coefficient")
"""The metrics of a search: one of probabilities, which decides, and one of predictions."""

SUMMARY = (DECIDING, "brier_score", HEADLINE, "uncertainty_coefficient")
"""The metrics of out-of-fold probabilities."""
