"""Classifiers made of models that libAGF trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polytomy.learners.borders import BorderMachine
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.model.dichotomies import Dichotomy
from polytomy.persistence.fitted import (
    arrange_in_order,
    compose_trained,
    fitted_classifier,
    order_in_scheme,
)
from polytomy.persistence.own.binaries import logistic_calibrator
from polytomy.scheme import Scheme

__all__ = ["border_binary", "compose_models"]


def border_binary(name: str, machine: BorderMachine) -> TrainedBinary:
    """Return border samples as a trained binary."""
    # tanh(p) = 2 / (1 + exp(-2p)) - 1
    return TrainedBinary(name, Output.MARGIN, machine, logistic_calibrator("temperature", 2.0, 0.0))


def compose_models(
    scheme: Scheme,
    binaries: Sequence[TrainedBinary],
    solver: str,
    n_features: int,
    scaler: StandardScaler | None = None,
) -> Any:
    """Return the fitted classifier of a scheme and its trained binaries.

    Parameters
    ----------
    scheme : Scheme
    binaries : list of TrainedBinary, one for each partition of the scheme
    solver : name of a method
    n_features : number of features
    scaler : fitted scaler for the samples, optional

    Returns
    -------
    PolytomyClassifier, or a pipeline of the scaler and one
    """
    labels = _labels_of(scheme)
    rank = {position: i for i, position in enumerate(np.argsort(labels).tolist())}
    dichotomies = [
        Dichotomy(
            str(each.binary),
            tuple([rank[c] for c in each.negative]),
            tuple([rank[c] for c in each.positive]),
            each.binary,
            estimator=SVC(),
        )
        for each in scheme.partitions
    ]
    classes = np.sort(labels)
    arrangement = arrange_in_order(scheme, classes)
    composition = compose_trained(
        binaries,
        dichotomies,
        classes,
        scheme,
        solver,
        arrangements=[arrangement],
        tie_order=order_in_scheme(arrangement),
    )
    classifier = fitted_classifier(composition, n_features=n_features)
    if scaler is None:
        return classifier
    return Pipeline([("scaler", scaler), ("classifier", classifier)])


def _labels_of(scheme: Scheme) -> NDArray[Any]:
    """Return the labels as an array of one type: all as text if some are text."""
    is_mixed = len({isinstance(label, str) for label in scheme.classes}) > 1
    return np.array([str(label) if is_mixed else label for label in scheme.classes])
