"""Trained binaries and their answers: r = P(+1) − P(−1) for each sample.

Also how a fitted model becomes a binary: which of its methods is called, and which of its classes
belong to the two sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from polytomy.calibration.calibrators import (
    Calibration,
    Calibrator,
    UncalibratedMap,
    calibrate,
    export_calibration,
)
from polytomy.errors import ArgumentError, DataError, PolytomyError, SchemeError
from polytomy.inputs.rows import count_rows, take_columns
from polytomy.inputs.sparse import check_sparse, is_sparse
from polytomy.learners.preparation import name_kind, split_pipeline
from polytomy.onnx_graph import Graph, Value
from polytomy.states import State, stored_as


class Output(StrEnum):
    """Which method of the estimator is called, and how its result becomes a score."""

    PROBABILITY = "probability"  #: predict_proba; the score is P(+1) − P(−1)
    LOG_ODDS = "log-odds"  #: predict_proba; the score is log P(+1) − log P(−1)
    MARGIN = "margin"  #: decision_function, positive for the +1 side
    LABEL = "label"  #: predict; the score is −1 or +1
    CONSTANT = "constant"  #: no method; the score is always the same
    SIDE = "side"  #: one side of a model with several; the score is 2 P(side) − 1


#: The method of an estimator that an output calls.
METHODS = {
    Output.PROBABILITY: "predict_proba",
    Output.LOG_ODDS: "predict_proba",
    Output.MARGIN: "decision_function",
    Output.LABEL: "predict",
}


@stored_as("binary")
@dataclass(frozen=True, slots=True, eq=False)
class TrainedBinary:
    """A fitted two-class model, and how its output becomes an answer.

    Attributes
    ----------
    name : str
        Name of the partition, for messages.
    output : Output
        Which method of the estimator is called.
    estimator : object, optional
        The fitted model; None if the answer is constant.
    calibrator : Calibrator, optional
        Turns scores into P(+1). Without one, the scores are the answers.
    classes : tuple of two labels
        The estimator's labels, in its own order.
    positive_index : int
        Position of the +1 side in `classes`; for Output.SIDE, the number of the side.
    constant : float
        The answer, if it is constant.
    columns : array of int, optional
        The training samples whose columns of a precomputed kernel matrix the estimator uses.
    shortcoming : str
        Why it could not be calibrated, as a sentence; empty if it could.
    seconds : float
        Training time, including the folds for calibration.
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
        """Return the input of the calibrator for each row of X, or r if there is no calibrator."""
        if self.is_side:
            return 2.0 * self.side_chances(X)[:, self.positive_index] - 1.0
        if self.output is Output.CONSTANT:
            return np.full(count_rows(X), self.constant)
        return self._ask(self._raw_scores, X, self.name)

    def side_chances(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of all sides of the model, for Output.SIDE."""
        model = self.estimator
        return self._ask(model.predict_proba, X, model.name)

    def _ask(
        self, method: Callable[[Any], NDArray[np.float64]], X: Any, partition: str
    ) -> NDArray[np.float64]:
        X = check_sparse(X)
        if self.columns is not None:
            X = take_columns(X, self.columns)
        try:
            return method(X)
        except Exception as error:
            place = f'{name_kind(self.fitted_estimator)} of partition "{partition}"'
            is_plain = isinstance(error, TypeError | ValueError)
            if is_sparse(X) and is_plain and not isinstance(error, PolytomyError):
                raise DataError(
                    f"X is sparse, but the {place} needs dense samples: {str(error).rstrip('.')}. "
                    "Use X.toarray()."
                ) from error
            error.add_note(f"while predicting with the {place}")
            raise

    @property
    def is_side(self) -> bool:
        """Whether it is one side of a model with several."""
        return self.output is Output.SIDE

    @property
    def fitted_estimator(self) -> Any:
        """The user's estimator, fitted; None if the answer is constant."""
        return self.estimator.estimator if self.is_side else self.estimator

    def state(self) -> dict[str, Any]:
        """Return the fields that are not at their defaults, and the output as text."""
        given = {"name": self.name, "output": str(self.output)}
        for name, default in _DEFAULTS.items():
            value = getattr(self, name)
            if value is not default and (name == "columns" or value != default):
                given[name] = value
        return given

    @classmethod
    def from_state(cls, state: State) -> TrainedBinary:
        """Return the binary of a state."""
        output = Output(state.text("output", list(Output)))
        given: dict[str, Any] = {"name": state.text("name"), "output": output}
        if "seconds" in state:
            given["seconds"] = state.number("seconds", least=0.0)
        if "shortcoming" in state:
            given["shortcoming"] = state.text("shortcoming")
        if "columns" in state:
            given["columns"] = state.indices("columns", 2**31)
        if output is Output.CONSTANT:
            constant = state.number("constant", -1.0, 1.0) if "constant" in state else 0.0
            return cls(**given, constant=constant)
        last_index = 1
        if output is Output.SIDE:
            given["estimator"] = state.part("estimator", "sided model")
            last_index = given["estimator"].n_sides - 1
        else:
            given |= _read_model(state, output)
        if "positive_index" in state:
            given["positive_index"] = state.integer("positive_index", most=last_index)
        return cls(**given)

    def _raw_scores(self, X: Any) -> NDArray[np.float64]:
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
                f'The decision_function of binary "{self.name}" returned an array of shape '
                f"{margins.shape}; a two-class model returns one value for each sample."
            )
        return margins if self.positive_index == 1 else -margins

    def _probabilities(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        proba = np.asarray(self.estimator.predict_proba(X), dtype=np.float64)
        if proba.ndim != 2 or proba.shape[1] != 2:
            raise ArgumentError(
                f'The predict_proba of binary "{self.name}" returned an array of shape '
                f"{proba.shape}; a two-class model returns two columns."
            )
        return proba[:, 1 - self.positive_index], proba[:, self.positive_index]

    def _sides(self, X: Any) -> NDArray[np.float64]:
        labels = np.asarray(self.estimator.predict(X))
        is_positive = labels == self.classes[self.positive_index]
        is_unknown = ~is_positive & (labels != self.classes[1 - self.positive_index])
        if np.any(is_unknown):
            raise ArgumentError(
                f'Binary "{self.name}" predicts {labels[is_unknown][0]}, which is neither of its '
                f"two classes, {_join_labels(self.classes)}."
            )
        return np.where(is_positive, 1.0, -1.0)


_DEFAULTS = {
    field.name: field.default for field in fields(TrainedBinary) if field.default is not MISSING
}


def _read_model(state: State, output: Output) -> dict[str, Any]:
    """Return the estimator, its classes and its calibrator."""
    estimator = state.part("estimator", "estimator", METHODS[output])
    if not (hasattr(estimator, "n_features_in_") or is_fitted(estimator)):
        raise state.fault("estimator", "fitted")
    model: dict[str, Any] = {"estimator": estimator}
    if "classes" in state:
        classes = state.value("classes")
        if not isinstance(classes, tuple) or len(classes) != 2:
            raise state.fault("classes", "two labels")
        model["classes"] = classes
    if "calibrator" in state:
        calibrator = state.part("calibrator", "calibrator", "predict")
        probability = np.asarray(calibrator.predict(np.zeros(1)))
        if probability.shape != (1,) or not 0 <= probability[0] <= 1:
            raise state.fault("calibrator", "a map to probabilities")
        model["calibrator"] = calibrator
    elif output in (Output.MARGIN, Output.LOG_ODDS):
        raise state.fault("calibrator", f"a map of a {output} to probabilities")
    return model


def decisions_from_scores(
    binaries: Sequence[TrainedBinary], scores: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the answers of many binaries; all calibrators are applied at once.

    Parameters
    ----------
    binaries : sequence of n_partitions trained binaries
    scores : array of shape (n_samples, n_partitions)
        The results of :meth:`TrainedBinary.scores`, one column for each binary.

    Returns
    -------
    array of shape (n_samples, n_partitions), in [−1, 1]
    """
    decisions = np.array(scores, dtype=np.float64)
    calibrators = _find_calibrators(binaries)
    if calibrators:
        columns = list(calibrators)
        probabilities = calibrate(list(calibrators.values()), decisions[:, columns])
        decisions[:, columns] = 2.0 * probabilities - 1.0
    return decisions


def export_decisions(graph: Graph, scores: Value, binaries: Sequence[TrainedBinary]) -> Value:
    """Return `decisions_from_scores` as a graph."""
    calibrators = _find_calibrators(binaries)
    others = [column for column in range(len(binaries)) if column not in calibrators]
    columns, answers = [*calibrators, *others], []
    if calibrators:
        values = graph.pick(scores, np.array(list(calibrators)), len(binaries))
        names = [binaries[column].name for column in calibrators]
        answers.append(export_calibration(graph, values, list(calibrators.values()), names))
    if others:
        answers.append(graph.pick(scores, np.array(others), len(binaries)))
    return graph.pick(graph.join(answers), np.argsort(columns), len(binaries))


def _find_calibrators(binaries: Sequence[TrainedBinary]) -> dict[int, Calibrator]:
    """Return the calibrators of binaries that have one, by the columns of the binaries."""
    found = {column: binary.calibrator for column, binary in enumerate(binaries)}
    return {column: each for column, each in found.items() if each is not None}


def is_fitted(model: Any) -> bool:
    """Return whether a model that the user provided is already fitted.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> is_fitted(SVC()), is_fitted(SVC().fit([[0], [1]], [0, 1]))
    (False, True)
    """
    if not hasattr(model, "fit") or not hasattr(model, "get_params"):
        return True  # it cannot be cloned or trained
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):  # a class instead of an object raises a TypeError
        return False
    except AttributeError:  # a model that is not built on scikit-learn's base class
        return hasattr(model, "classes_")
    return True


def adopt_fitted(
    model: Any, negative: Sequence[Any], positive: Sequence[Any], *, name: str
) -> TrainedBinary:
    """Return a model that was fitted elsewhere as a trained binary, without training it again.

    It answers with ``predict_proba`` if it has one, otherwise with ``decision_function`` through
    the logistic function, otherwise with ``predict``, as ±1. Its ``classes_`` determine the sides:
    if each side is a single class, they may be the labels of the two classes, in either order;
    otherwise they are −1/+1, 0/1 or False/True. A model without ``classes_`` is assumed to have −1
    and +1.

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
    >>> binary.decisions([[0], [1]]).round(2)  # corn, the +1 side, is more likely at 0
    array([ 0.11, -0.11])
    """
    if not is_fitted(model):
        raise SchemeError(f'Model "{name}", {model!r}, is not fitted. Fit it first.')
    for attribute, value in getattr(split_pipeline(model)[1], "__dict__", {}).items():
        check_sparse(value, f'{attribute} of model "{name}"')
    classes, positive_index = match_sides(model, negative, positive, name)
    return without_calibration(
        TrainedBinary(name, Output.LABEL, model, classes=classes, positive_index=positive_index)
    )


def without_calibration(binary: TrainedBinary) -> TrainedBinary:
    """Return the binary with the uncalibrated answers of its estimator."""
    output = choose_output(binary.estimator, None)
    calibrator = UncalibratedMap() if output is Output.MARGIN else None
    return replace(binary, output=output, calibrator=calibrator)


def choose_output(estimator: Any, calibration: Calibration) -> Output:
    """Return which output of a fitted estimator a value of the option ``calibration`` needs.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> choose_output(LogisticRegression(), "auto"), choose_output(LogisticRegression(), "sigmoid")
    (<Output.PROBABILITY: 'probability'>, <Output.MARGIN: 'margin'>)
    """
    uses_own = calibration is None or (isinstance(calibration, str) and calibration == "auto")
    if uses_own and hasattr(estimator, "predict_proba"):
        return Output.PROBABILITY
    if hasattr(estimator, "decision_function"):
        return Output.MARGIN
    if hasattr(estimator, "predict_proba"):
        return Output.LOG_ODDS
    if hasattr(estimator, "predict"):
        return Output.LABEL
    raise ArgumentError(
        f"{estimator!r} has no predict_proba, decision_function or predict, and needs one of them."
    )


def match_sides(
    model: Any, negative: Sequence[Any], positive: Sequence[Any], name: str
) -> tuple[tuple[Any, Any], int]:
    """Return a model's two labels, and the position of the +1 side among them."""
    if getattr(model, "classes_", None) is None:
        return (-1, 1), 1
    classes = np.asarray(model.classes_).tolist()
    if len(classes) != 2:
        raise SchemeError(
            f'Model "{name}" has the classes {_join_labels(classes)}; a binary has exactly two.'
        )
    pair = (classes[0], classes[1])
    if len(negative) == len(positive) == 1:
        # Compare by value, where 1 equals 1.0; then as text, where 3 in a scheme equals "3".
        for key in (_label_key, str):
            labels, sides = [key(label) for label in pair], [key(negative[0]), key(positive[0])]
            if labels in (sides, sides[::-1]):
                return pair, labels.index(sides[1])
    if pair in ((-1, 1), (0, 1)):  # False and True equal 0 and 1
        return pair, 1
    raise SchemeError(
        f'Model "{name}" has the classes {_join_labels(classes)}, which are not the sides of its '
        f"partition, {_join_labels(negative)} / {_join_labels(positive)}. Fit it on -1 and 1, or "
        "on 0 and 1."
    )


def _label_key(label: Any) -> tuple[type | None, Any]:
    # False and True are the two sides, not the classes 0 and 1.
    return next((kind for kind in (str, bool) if isinstance(label, kind)), None), label


def _join_labels(labels: Sequence[Any]) -> str:
    return " ".join(map(str, labels))
