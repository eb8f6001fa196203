"""Scores for ordered classes: a prediction costs more the further it is from the truth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.label_order import has_natural_order, match_class_order, order_labels
from polytomy.metrics.judged_samples import check_judged_samples, check_predicted_labels


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
    columns = [column_of[label] for label in order]
    errors = np.cumsum((judged.proba - judged.indicators)[:, columns], axis=1)[:, :-1]
    score = float(np.average(np.sum(errors**2, axis=1), weights=judged.weight))
    return score / max(1, len(columns) - 1) if normalize else score


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
