"""Fitted classifiers made from binaries that were trained elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.classifier import PolytomyClassifier
from polytomy.errors import ModelFileError, PolytomyWarning, SchemeError
from polytomy.learners.bank import Bank
from polytomy.learners.problems import Dichotomy
from polytomy.learners.trained import TrainedBinary
from polytomy.model.arrangement import Arrangement
from polytomy.model.composition import Composition
from polytomy.model.dichotomies import bind_classes
from polytomy.model.scheme_argument import Solver, members_of
from polytomy.scheme import Scheme, SchemeEnsemble

__all__ = ["arrange_in_order", "compose_trained", "fitted_classifier", "order_in_scheme"]


def compose_trained(
    binaries: Sequence[TrainedBinary],
    dichotomies: Sequence[Dichotomy],
    classes: NDArray[Any],
    scheme: Scheme | SchemeEnsemble,
    solver: Solver,
    *,
    arrangements: Sequence[Arrangement] | None = None,
    prediction_dtype: Any = np.float64,
    tie_order: Sequence[int] | None = None,
) -> Composition:
    """Return the composition of trained binaries, or raise ModelFileError if they do not fit.

    Parameters
    ----------
    binaries : the trained binaries
    dichotomies : what each of them separates
    classes : labels of the data
    scheme : how their answers are combined
    solver : name of a method
    arrangements : which binaries answer for the partitions of each member of the scheme; by default
        the binaries are those of the partitions, in order
    prediction_dtype : float64 or float32
    tie_order : see Composition
    """
    if arrangements is None:
        arrangements = [arrange_in_order(scheme, classes) for scheme in members_of(scheme)]
    try:
        return Composition(
            classes,
            scheme,
            tuple(dichotomies),
            tuple(arrangements),
            Bank(binaries, prediction_dtype),
            solver,
            None if tie_order is None else tuple(tie_order),
        )
    except SchemeError as error:
        raise ModelFileError(str(error)) from error


def arrange_in_order(scheme: Scheme, classes: NDArray[Any]) -> Arrangement:
    """Return the arrangement of binaries that are those of the partitions, in order."""
    n_rows = scheme.n_rows
    with warnings.catch_warnings():
        # The user was warned about classes without data when the model was fitted.
        warnings.simplefilter("ignore", PolytomyWarning)
        positions = bind_classes(scheme, classes)
    return Arrangement(scheme, positions, np.arange(n_rows), np.ones(n_rows))


def order_in_scheme(arrangement: Arrangement) -> list[int]:
    """Return the class indices in the order in which the scheme names the classes."""
    order: list[int] = np.argsort(arrangement.positions).tolist()
    return order


def fitted_classifier(
    composition: Composition,
    *,
    n_features: int | None = None,
    feature_names: Sequence[str] | None = None,
    **parameters: Any,
) -> PolytomyClassifier:
    """Return a fitted classifier with a composition.

    Parameters
    ----------
    composition : Composition
    n_features, feature_names : of the data
    **parameters : parameters of the classifier, except those that the composition has
    """
    if feature_names is not None and len(feature_names) != n_features:
        raise ModelFileError(f"there are {len(feature_names)} names for {n_features} features")
    parameters = {
        "scheme": composition.scheme,
        "solver": composition.solver,
        # Binaries that were trained elsewhere have no final calibration.
        "final_calibration": None,
        **parameters,
    }
    classifier = PolytomyClassifier(**parameters)
    classifier.classes_ = composition.classes
    classifier.composition_ = composition
    if n_features is not None:
        classifier.n_features_in_ = n_features
    if feature_names is not None:
        classifier.feature_names_in_ = np.array(feature_names, dtype=object)
    return classifier
