"""Fitted classifiers made from binaries that were trained elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.classifier import PolytomyClassifier
from polytomy.errors import ModelFileError, PolytomyWarning
from polytomy.learners.bank import Bank
from polytomy.learners.preparation import resolve_estimator
from polytomy.learners.problems import Dichotomy
from polytomy.learners.trained import TrainedBinary
from polytomy.model.arrangement import Arrangement, bind_classes
from polytomy.model.composition import Composition
from polytomy.scheme import Scheme


def compose_classifier(
    scheme: Scheme,
    binaries: Sequence[TrainedBinary],
    solver: str,
    n_features: int,
    estimator: Any = None,
) -> PolytomyClassifier:
    """Return the fitted classifier of a scheme and its trained binaries.

    Ties are broken by the order of the classes in the scheme, as LIBSVM and libAGF do.

    Parameters
    ----------
    scheme : Scheme
    binaries : list of TrainedBinary, one for each partition of the scheme
    solver : name of a method
    n_features : number of features
    estimator : parameter of the classifier, to train it again
    """
    # All labels are text if some are, because an array has one type.
    is_mixed = len({isinstance(label, str) for label in scheme.classes}) > 1
    labels = np.array([str(label) if is_mixed else label for label in scheme.classes])
    order: list[int] = np.argsort(labels).tolist()
    rank = {position: i for i, position in enumerate(order)}
    to_train = resolve_estimator(estimator)
    dichotomies = [
        Dichotomy(
            str(each.binary),
            tuple([rank[c] for c in each.negative]),
            tuple([rank[c] for c in each.positive]),
            each.binary,
            to_train,
        )
        for each in scheme.partitions
    ]
    composition = Composition(
        labels[order],
        scheme,
        tuple(dichotomies),
        (arrange_in_order(scheme, labels[order]),),
        Bank(binaries),
        solver,
        tuple([rank[position] for position in range(len(labels))]),
    )
    return fitted_classifier(composition, n_features=n_features, estimator=estimator)


def arrange_in_order(scheme: Scheme, classes: NDArray[Any]) -> Arrangement:
    """Return the arrangement of binaries that are those of the partitions, in order."""
    n_rows = scheme.n_rows
    with warnings.catch_warnings():
        # The user was warned about classes without data when the model was fitted.
        warnings.simplefilter("ignore", PolytomyWarning)
        positions = bind_classes(scheme, classes)
    return Arrangement(scheme, positions, np.arange(n_rows), np.ones(n_rows))


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
