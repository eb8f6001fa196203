"""Trained binaries and what they answer: r = P(+1) − P(−1) for each sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from polytomy.calibration.calibrators import Calibrator, UncalibratedMap
from polytomy.calibration.option import Calibration, calibrate
from polytomy.errors import ArgumentError, SchemeError
from polytomy.inputs.pipelines import split_pipeline
from polytomy.inputs.rows import count_rows, take_columns
from polytomy.inputs.sparse import check_sparse

__all__ = [
    "Output",
    "TrainedBinary",
    "adopt_fitted",
    "choose_output",
    "decisions_from_scores",
    "is_fitted",
    "match_sides",
    "uncalibrated",
]


class Output(StrEnum):
    """What of a binary is asked, and so what its scores are."""

    PROBABILITY = "probability"  #: predict_proba; the score is P(+1) − P(−1)
    LOG_ODDS = "log-odds"  #: predict_proba; the score is log P(+1) − log P(−1)
    MARGIN = "margin"  #: decision_function, positive for the +1 side
    LABEL = "label"  #: predict; the score is −1 or +1
    CONSTANT = "constant"  #: nothing; the score is always the same


@dataclass(frozen=True, slots=True, eq=False)
class TrainedBinary:
    """A two-class model that has been fitted, and how its output becomes an answer.

    Attributes
    ----------
    name : str
        Name of the partition, for messages.
    output : Output
        What of the estimator is asked.
    estimator : object, optional
        The fitted model; None where the answer is constant.
    calibrator : Calibrator, optional
        Takes scores to P(+1). Where there is none the scores are the answers.
    classes : tuple of two labels
        The estimator's labels, in its own order.
    positive_index : int
        Which of the two is the +1 side.
    constant : float
        The answer, where it is constant.
    columns : array of int, optional
        The training samples whose columns a precomputed kernel matrix is reduced to.
    shortcoming : str
        Why it could not be calibrated as asked, in a sentence; empty where it could.
    seconds : float
        How long it took to train, the folds for its calibration included.
    """

    name: str
    output: Output
    estimator: Any = None
    calibrator: Calibrator | None = None
    classes: tuple[Any, Any] = (-1, 1)
    positive_index: int = 1
    constant: float = 0.0
    columns: NDArray[np.intp] | None = None
    shortcoming: str = ""
    seconds: float = 0.0

    def decisions(self, X: Any) -> NDArray[np.float64]:
        """Return r = P(+1) − P(−1), in [−1, 1], for each row of X."""
        return decisions_from_scores([self], self.scores(X)[:, np.newaxis])[:, 0]

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return for each row of X what the calibrator takes, or r where there is none."""
        X = check_sparse(X)
        if self.output is Output.CONSTANT:
            return np.full(count_rows(X), self.constant)
        if self.columns is not None:
            X = take_columns(X, self.columns)
        try:
            return self._asked(X)
        except Exception as error:
            error.add_note(f'while asking the binary of partition "{self.name}"')
            raise

    def _asked(self, X: Any) -> NDArray[np.float64]:
        if self.output is Output.MARGIN:
            return self._margins(X)
        if self.output is Output.LABEL:
            return self._sides(X)
        negative, positive = self._probabilities(X)
        if self.output is Output.PROBABILITY:
            return positive - negative
        smallest = np.finfo(np.float64).eps
        return np.log(np.maximum(positive, smallest)) - np.log(np.maximum(negative, smallest))

    def _margins(self, X: Any) -> NDArray[np.float64]:
        margins = np.asarray(self.estimator.decision_function(X), dtype=np.float64)
        if margins.ndim == 2 and margins.shape[1] == 1:
            margins = margins[:, 0]
        if margins.ndim != 1:
            raise ArgumentError(
                f'Binary "{self.name}" has a decision_function of shape {margins.shape}; a '
                "two-class model gives one value for each sample."
            )
        return margins if self.positive_index == 1 else -margins

    def _probabilities(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        proba = np.asarray(self.estimator.predict_proba(X), dtype=np.float64)
        if proba.ndim != 2 or proba.shape[1] != 2:
            raise ArgumentError(
                f'Binary "{self.name}" has a predict_proba of shape {proba.shape}; a two-class '
                "model gives two columns."
            )
        return proba[:, 1 - self.positive_index], proba[:, self.positive_index]

    def _sides(self, X: Any) -> NDArray[np.float64]:
        labels = np.asarray(self.estimator.predict(X))
        is_positive = labels == self.classes[self.positive_index]
        is_strange = ~is_positive & (labels != self.classes[1 - self.positive_index])
        if np.any(is_strange):
            raise ArgumentError(
                f'Binary "{self.name}" predicts {labels[is_strange][0]}, which is neither of its '
                f"two classes, {_listed(self.classes)}."
            )
        return np.where(is_positive, 1.0, -1.0)


def decisions_from_scores(
    binaries: Sequence[TrainedBinary], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the answers of many binaries, calibrated all at once.

    Parameters
    ----------
    binaries : sequence of n_partitions trained binaries
    scores : array of shape (n_samples, n_partitions)
        What :meth:`TrainedBinary.scores` of each gives.

    Returns
    -------
    array of shape (n_samples, n_partitions), in [−1, 1]
    """
    decisions = np.array(scores, dtype=np.float64)
    calibrators = {
        column: binary.calibrator
        for column, binary in enumerate(binaries)
        if binary.calibrator is not None
    }
    if calibrators:
        columns = list(calibrators)
        probabilities = calibrate(list(calibrators.values()), decisions[:, columns])
        decisions[:, columns] = 2.0 * probabilities - 1.0
    return decisions


def is_fitted(model: Any) -> bool:
    """Return whether a model given under a name can answer, or is still to be trained.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> is_fitted(SVC()), is_fitted(SVC().fit([[0], [1]], [0, 1]))
    (False, True)
    """
    if not hasattr(model, "fit") or not hasattr(model, "get_params"):
        return True  # it cannot be trained here
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):  # a TypeError for a class in place of an object
        return False
    except AttributeError:  # a model that is not built on scikit-learn's base class
        return hasattr(model, "classes_")
    return True


def adopt_fitted(
    model: Any, negative: Sequence[Any], positive: Sequence[Any], *, name: str
) -> TrainedBinary:
    """Return a model that was fitted elsewhere as a trained binary, used as it is.

    It answers by ``predict_proba`` where it has one; else by ``decision_function``, through the
    logistic function; else by ``predict``, as ±1. Its ``classes_`` tell its sides: the two sides'
    own labels where each side is a single class, in either order; else −1/+1, 0/1 or
    False/True. A model without ``classes_`` is taken to have −1 and +1.

    Parameters
    ----------
    model : object
        Any fitted two-class model.
    negative, positive : sequences of labels
        The classes on the −1 and on the +1 side of the partition.
    name : str
        Name of the model, for messages.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0], [1]], ["corn", "wheat"])
    >>> binary = adopt_fitted(model, negative=["wheat"], positive=["corn"], name="cereals")
    >>> bool(binary.decisions([[0]])[0] > 0)  # more likely corn, the +1 side
    True
    """
    if not is_fitted(model):
        raise SchemeError(f'Model "{name}", {model!r}, is not fitted. Fit it first.')
    for attribute, value in getattr(split_pipeline(model)[1], "__dict__", {}).items():
        check_sparse(value, f'{attribute} of model "{name}"')
    classes, positive_index = match_sides(model, negative, positive, name)
    return uncalibrated(
        TrainedBinary(name, Output.LABEL, model, classes=classes, positive_index=positive_index)
    )


def uncalibrated(binary: TrainedBinary) -> TrainedBinary:
    """Return the binary with the answer that its estimator gives without calibration."""
    output = choose_output(binary.estimator, None)
    calibrator = UncalibratedMap() if output is Output.MARGIN else None
    return replace(binary, output=output, calibrator=calibrator)


def choose_output(estimator: Any, calibration: Calibration) -> Output:
    """Return what of a fitted estimator is asked under a value of the option ``calibration``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> choose_output(LogisticRegression(), "auto"), choose_output(LogisticRegression(), "sigmoid")
    (<Output.PROBABILITY: 'probability'>, <Output.MARGIN: 'margin'>)
    """
    as_it_is = calibration is None or (isinstance(calibration, str) and calibration == "auto")
    if as_it_is and hasattr(estimator, "predict_proba"):
        return Output.PROBABILITY
    if hasattr(estimator, "decision_function"):
        return Output.MARGIN
    if hasattr(estimator, "predict_proba"):
        return Output.LOG_ODDS
    if hasattr(estimator, "predict"):
        return Output.LABEL
    raise ArgumentError(
        f"{estimator!r} cannot answer: it needs predict_proba, decision_function or predict."
    )


def match_sides(
    model: Any, negative: Sequence[Any], positive: Sequence[Any], name: str
) -> tuple[tuple[Any, Any], int]:
    """Return a model's two labels and the index of the one that is the +1 side."""
    if getattr(model, "classes_", None) is None:
        return (-1, 1), 1
    classes = np.asarray(model.classes_).tolist()
    if len(classes) != 2:
        raise SchemeError(
            f'Model "{name}" has the classes {_listed(classes)}; a binary has exactly two.'
        )
    pair = (classes[0], classes[1])
    if len(negative) == len(positive) == 1:
        # By value, where 1 and 1.0 are one; else as text: the text's 3 is the data's "3".
        for same in (_value, str):
            labels, sides = [same(label) for label in pair], [same(negative[0]), same(positive[0])]
            if labels in (sides, sides[::-1]):
                return pair, labels.index(sides[1])
    if pair in ((-1, 1), (0, 1)):  # False and True are 0 and 1 to Python
        return pair, 1
    raise SchemeError(
        f'Model "{name}" has the classes {_listed(classes)}, which are not the sides of its '
        f"partition, {_listed(negative)} / {_listed(positive)}. Fit it on -1 and 1, or on 0 and 1."
    )


def _value(label: Any) -> tuple[type | None, Any]:
    # A model's False and True are the two sides, and not the classes 0 and 1.
    return next((kind for kind in (str, bool) if isinstance(label, kind)), None), label


def _listed(labels: Sequence[Any]) -> str:
    return " ".join(map(str, labels))
