"""Training the model of a partition batch by batch."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polytomy.errors import ArgumentError
from polytomy.inputs.numbers import check_weights
from polytomy.inputs.rows import count_rows, take_rows
from polytomy.learners.preparation import prepare_estimator, side_labels
from polytomy.learners.problems import BinaryProblem, SidesProblem
from polytomy.learners.sides import SidesModel, choose_sides_output
from polytomy.learners.trained import Output, TrainedBinary, without_calibration


def update_binary(
    binary: TrainedBinary | None,
    estimator: Any,
    X: Any,
    problem: BinaryProblem,
    *,
    random_state: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> TrainedBinary:
    """Return the binary after training on one more batch, with ``partial_fit``.

    Nothing is calibrated: the answers are as with ``calibration=None``. The answer is 0,
    undecided, until the first batch with a sample of the problem.

    Parameters
    ----------
    binary : TrainedBinary, optional
        The result of the previous batch; None for the first. A copy of its estimator is trained, so
        that Ctrl-C or an error leaves the original unchanged.
    estimator : classifier with ``partial_fit``
        It is cloned for the first batch.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
    problem : BinaryProblem
        The rows of X to train on, and their sides.
    random_state : int, optional
        Seed of every random_state in the estimator.
    sample_weight : array of shape (n_rows,), optional

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> problem = BinaryProblem("low-high", np.arange(4), np.array([False, False, True, True]))
    >>> binary = update_binary(None, GaussianNB(), X, problem)
    >>> binary.decisions(X) > 0
    array([False, False,  True,  True])
    """
    if binary is None:
        binary = TrainedBinary(problem.name, Output.CONSTANT)
    model = _train_batch(binary.estimator, estimator, X, problem, random_state, sample_weight)
    if model is None:
        return binary
    return without_calibration(replace(binary, estimator=model, classes=side_labels(model)))


def update_sides(
    model: SidesModel | None,
    estimator: Any,
    X: Any,
    problem: SidesProblem,
    *,
    random_state: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> SidesModel:
    """Return the model of a partition with more than two sides after one more batch.

    Nothing is calibrated. All sides are equally likely until the first batch with a sample of the
    problem.

    Parameters
    ----------
    model : SidesModel, optional
        The result of the previous batch; None for the first. A copy of its estimator is trained.
    estimator, X, random_state, sample_weight : see `update_binary`
    problem : SidesProblem
    """
    if model is None:
        model = SidesModel(problem.name, problem.n_sides, None, ())
    trained = _train_batch(model.estimator, estimator, X, problem, random_state, sample_weight)
    if trained is None:
        return model
    output, scaling = choose_sides_output(trained, None, problem.n_sides)
    every = tuple(range(problem.n_sides))
    return SidesModel(problem.name, problem.n_sides, trained, every, every, output, scaling)


def _train_batch(
    fitted: Any,
    estimator: Any,
    X: Any,
    problem: BinaryProblem | SidesProblem,
    random_state: int | None,
    sample_weight: ArrayLike | None,
) -> Any:
    """Return a copy of the fitted estimator after one more batch; for the first, of the estimator.

    Return None if the batch has no sample of the problem.
    """
    if not hasattr(estimator, "partial_fit"):
        raise ArgumentError(
            f"{estimator!r} has no partial_fit. Use fit, or an estimator such as SGDClassifier()."
        )
    parameters = {}
    if sample_weight is not None:
        weight = check_weights(sample_weight, count_rows(X))
        problem = problem.keep(weight[problem.rows] > 0)
        parameters["sample_weight"] = weight[problem.rows]
    if not len(problem.rows):
        return None
    model = prepare_estimator(estimator, random_state) if fitted is None else deepcopy(fitted)
    is_binary = isinstance(problem, BinaryProblem)
    classes = np.array(side_labels(model) if is_binary else range(problem.n_sides))
    targets = classes[problem.sides.astype(np.intp)]
    model.partial_fit(take_rows(X, problem.rows), targets, classes=classes, **parameters)
    return model
