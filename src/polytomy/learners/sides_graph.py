"""Models of partitions with more than two sides as an ONNX graph.

Linear models have a decision value for each side. A support vector machine of several classes has
one for each pair of them, which scikit-learn converts to a value for each class: votes, with ties
broken by the sums of the values. Vector scaling or the softmax gives the probabilities.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import SVC, LinearSVC, NuSVC

from polytomy.errors import ArgumentError
from polytomy.inputs.sparse import is_sparse
from polytomy.learners.preparation import name_kind
from polytomy.learners.scaling import Scaling, peel_scalers
from polytomy.learners.sides import SidesModel
from polytomy.learners.svm.kernels import KernelFunction, name_kernels
from polytomy.learners.trained import Output
from polytomy.onnx_graph import Graph, Value

Floats = NDArray[np.float64]


def export_sides(graph: Graph, X: Value, model: SidesModel) -> Value:
    """Return 2 q − 1 for the probability q of each side, of shape (n_samples, n_sides).

    Parameters
    ----------
    graph : Graph to add nodes to
    X : samples, in double precision
    model : SidesModel

    Raises
    ------
    ArgumentError
        If the model cannot be exported.
    """
    if model.estimator is None:
        return graph.repeat(2.0 * model.predict_proba(np.zeros((1, 1)))[0] - 1.0, X)
    peeled = peel_scalers(model.estimator)
    values = None if peeled is None else _decision_values(graph, X, *peeled)
    chances = None if values is None else _probabilities(graph, values, model)
    if chances is None:
        raise ArgumentError(_describe_problem(model))
    if len(model.known_sides) == model.n_sides:
        spread = graph.pick(chances, np.argsort(model.known_sides), model.n_sides)
    else:
        spread = chances @ np.eye(model.n_sides)[list(model.known_sides)]
    return spread * 2.0 - 1.0


def _decision_values(graph: Graph, X: Value, scaling: Scaling | None, model: Any) -> Value | None:
    """Return the decision values of the sides that the model knows, as `SidesModel.values` does."""
    samples = X if scaling is None else scaling.to_onnx(X)
    has_mixin = getattr(type(model), "decision_function", None) is LinearSVC.decision_function
    if has_mixin or type(model) is LinearDiscriminantAnalysis:
        weights = _dense(model.coef_)
        values = samples @ weights.T + np.ravel(model.intercept_).astype(np.float64)
        is_of_two = len(weights) == 1
    elif type(model) in (SVC, NuSVC) and (function := KernelFunction.of(model)) is not None:
        vectors, coefficients = _dense(model.support_vectors_), _pair_coefficients(model)
        values = function.to_onnx(graph, samples, vectors) @ coefficients
        values = values + np.ravel(model.intercept_).astype(np.float64)
        is_of_two = len(model.n_support_) == 2
        if not is_of_two:
            values = _values_of_classes(graph, values, len(model.n_support_))
    else:
        return None
    return values * np.array([-0.5, 0.5]) if is_of_two else values


def _pair_coefficients(machine: Any) -> Floats:
    """Return the coefficients of the support vectors for each pair of classes, by columns.

    In the pair (i, j), with i < j, vectors of class i have those in row j − 1 of ``dual_coef_``,
    and vectors of class j those in row i.
    """
    dual = _dense(machine.dual_coef_)
    ends = np.cumsum(machine.n_support_)
    members = [slice(end - count, end) for end, count in zip(ends, machine.n_support_, strict=True)]
    if len(members) == 2:
        return dual.T
    pairs = list(combinations(range(len(members)), 2))
    coefficients = np.zeros((dual.shape[1], len(pairs)))
    for column, (i, j) in enumerate(pairs):
        coefficients[members[i], column] = dual[j - 1, members[i]]
        coefficients[members[j], column] = dual[i, members[j]]
    return coefficients


def _values_of_classes(graph: Graph, values: Value, n_classes: int) -> Value:
    """Return a value for each class, given one for each pair, positive for its first class.

    A class gets one vote per pair that it wins, and s / (3 (|s| + 1)) for the sum s of its values.
    """
    pairs = np.array(list(combinations(range(n_classes), 2)))
    of_class = np.zeros((len(pairs), n_classes))
    of_class[np.arange(len(pairs)), pairs[:, 0]] = 1.0
    of_class[np.arange(len(pairs)), pairs[:, 1]] = -1.0
    is_second = graph.add("Where", graph.add("Less", values, 0.0), 1.0, 0.0)
    n_first: Floats = np.maximum(of_class, 0.0).sum(axis=0)
    votes = is_second @ (-of_class) + n_first
    sums = values @ of_class
    return votes + sums / (graph.add("Abs", sums) * 3.0 + 3.0)


def _probabilities(graph: Graph, values: Value, model: SidesModel) -> Value | None:
    """Return the probabilities of the sides that the model knows, or None."""
    if model.output is Output.MARGIN and model.scaling is not None:
        known = list(model.known_sides)
        logits = values * model.scaling.slopes[known] + model.scaling.intercepts[known]
        return graph.add("Softmax", logits, axis=1)
    peeled = peel_scalers(model.estimator)
    if model.output is not Output.PROBABILITY or model.scaling is not None or peeled is None:
        return None
    own = getattr(type(peeled[1]), "predict_proba", None)
    if own in (LogisticRegression.predict_proba, LinearDiscriminantAnalysis.predict_proba):
        return graph.add("Softmax", values, axis=1)
    if isinstance(peeled[1], SGDClassifier) and peeled[1].loss == "log_loss":
        if len(model.known_sides) == 2:
            return graph.add("Softmax", values, axis=1)
        return _normalised_logistic(graph, values, len(model.known_sides))
    return None


def _normalised_logistic(graph: Graph, values: Value, n_sides: int) -> Value:
    """Return the logistic functions of the values, divided by their sum."""
    chances = graph.add("Reciprocal", graph.add("Exp", values * -1.0) + 1.0)
    totals = chances.sum(axis=1)
    is_lost = graph.add("Equal", totals, 0.0)
    shares = chances / graph.add("Where", is_lost, 1.0, totals)
    return graph.add("Where", is_lost, 1.0 / n_sides, shares)


def _describe_problem(model: SidesModel) -> str:
    return (
        f'the model of partition "{model.name}" is a {name_kind(model.estimator)} for '
        f"{model.n_sides} sides, which cannot be exported. Fit with logistic regression, another "
        f"linear classifier, SVC or NuSVC (kernel {name_kernels()}; without "
        "probability=True), alone or after scalers; or use binary partitions, such as @one-vs-one, "
        "in its place."
    )


def _dense(matrix: Any) -> Floats:
    return np.asarray(matrix.toarray() if is_sparse(matrix) else matrix, dtype=np.float64)
