"""Scores of prediction sets, and the cost of predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.numbers import check_weights
from polytomy.metrics.metric import check_labels, check_predicted_labels, find_columns

Floats = NDArray[np.float64]


def set_coverage(
    y: ArrayLike,
    sets: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> Any:
    """Return the share of samples whose set contains the true class.

    Parameters
    ----------
    y : array of shape (n_samples,)
        True labels.
    sets : bool array of shape (n_samples, n_classes), or (n_samples, n_classes, n_levels)
        As `predict_set` returns them.
    classes : array of shape (n_classes,), optional
        Labels of the columns; the sorted labels of `y` by default.
    sample_weight : array of shape (n_samples,), optional

    Returns
    -------
    float, or array of shape (n_levels,)

    Examples
    --------
    >>> set_coverage(["a", "b"], [[True, True], [True, False]])
    0.5
    """
    truth, members, _ = _check_sets(y, sets, classes)
    weight = check_weights(sample_weight, len(truth))
    covered = members[np.arange(len(truth)), truth]
    return _plain(np.average(covered, axis=0, weights=weight))


def mean_set_size(sets: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Any:
    """Return the mean number of classes in a set.

    Parameters
    ----------
    sets, sample_weight
        As in :func:`set_coverage`.

    Returns
    -------
    float, or array of shape (n_levels,)

    Examples
    --------
    >>> mean_set_size([[True, True], [True, False]])
    1.5
    """
    members = _read_sets(sets)
    weight = check_weights(sample_weight, len(members))
    return _plain(np.average(members.sum(axis=1), axis=0, weights=weight))


def class_coverage(
    y: ArrayLike,
    sets: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> Floats:
    """Return for each class the share of its samples whose set contains it.

    Parameters
    ----------
    y, sets, classes, sample_weight
        As in :func:`set_coverage`.

    Returns
    -------
    array of shape (n_classes,), or (n_classes, n_levels); NaN for classes without samples

    Examples
    --------
    >>> class_coverage(["a", "b", "b"], [[True, False], [True, False], [False, True]])
    array([1. , 0.5])
    """
    truth, members, n_classes = _check_sets(y, sets, classes)
    weight = check_weights(sample_weight, len(truth))
    covered = members[np.arange(len(truth)), truth].astype(np.float64)
    totals = np.bincount(truth, weight, n_classes)
    sums = np.zeros((n_classes, *covered.shape[1:]))
    np.add.at(sums, truth, (covered.T * weight).T)
    totals = totals.reshape(-1, *[1] * (sums.ndim - 1))
    return np.divide(sums, totals, out=np.full_like(sums, np.nan), where=totals > 0)


def mean_cost(
    y: ArrayLike,
    predicted: ArrayLike,
    matrix: ArrayLike,
    classes: ArrayLike | None = None,
    *,
    reject_cost: float | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean cost of predictions.

    Parameters
    ----------
    y, predicted : arrays of shape (n_samples,)
        True and predicted labels.
    matrix : array of shape (n_classes, n_classes)
        Rows are true classes, columns predicted ones.
    classes : array of shape (n_classes,), optional
        Labels of its rows and columns; the sorted labels of `y` by default.
    reject_cost : float, optional
        Cost of predictions that are not one of the classes.
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> mean_cost(["a", "b", "b"], ["a", "a", "?"], [[0, 1], [6, 0]], reject_cost=3)
    3.0
    """
    true_labels, guesses, weight = check_predicted_labels(y, predicted, sample_weight)
    costs = np.asarray(matrix, dtype=np.float64)
    places = find_columns(true_labels, classes, len(costs), "matrix")
    if costs.shape != (len(places), len(places)):
        raise ArgumentError(
            Argument("matrix"),
            f" has shape {costs.shape}; {len(places)} classes need {(len(places), len(places))}.",
        )
    paid = np.empty(len(guesses))
    for i, (true, guess) in enumerate(zip(true_labels, guesses, strict=True)):
        if guess in places:
            paid[i] = costs[places[true], places[guess]]
        elif reject_cost is not None:
            paid[i] = reject_cost
        else:
            raise ArgumentError(
                f"predicted[{i}] is {guess!r}, which is not one of the classes. Pass its cost as ",
                Argument("reject_cost"),
                ".",
            )
    return float(np.average(paid, weights=weight))


def _check_sets(
    y: ArrayLike, sets: ArrayLike, classes: ArrayLike | None
) -> tuple[NDArray[np.intp], NDArray[np.bool_], int]:
    labels, members = check_labels(y, "y"), _read_sets(sets)
    if len(members) != len(labels):
        raise ArgumentError(f"sets has {len(members)} rows, but y has {len(labels)} labels.")
    places = find_columns(labels, classes, members.shape[1], "sets")
    return np.array([places[label] for label in labels], dtype=np.intp), members, len(places)


def _read_sets(sets: ArrayLike) -> NDArray[np.bool_]:
    members = np.asarray(sets)
    if members.ndim not in (2, 3) or not len(members):
        raise ArgumentError(
            f"sets has shape {members.shape}; it needs a row for each sample, a column for each "
            "class and, if there are several levels, a third axis for them."
        )
    if members.dtype != np.bool_ and not np.isin(members, (0, 1)).all():
        raise ArgumentError("sets must be True or False for each class, as predict_set returns it.")
    return members.astype(np.bool_)


def _plain(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value
