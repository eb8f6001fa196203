"""How a classifier is composed: its dichotomies, and which of them answer for its scheme.

This is the one place that knows what a fitted PolytomyClassifier keeps.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.binary import TrainedBinary, estimator_from, is_fitted
from polytomy.classifier import PolytomyClassifier
from polytomy.composition import (
    Arrangement,
    Dichotomy,
    Solver,
    bind_classes,
    check_solver,
    members_of,
)
from polytomy.errors import ModelFileError, PolytomyWarning
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.number_arrays import NumberReader, NumberWriter
from polytomy.scheme import BinaryName, Scheme
from polytomy.scheme.ensemble import SchemeEnsemble

__all__ = [
    "Places",
    "Sides",
    "fitted_classifier",
    "read_composition",
    "write_composition",
]


class Places(NamedTuple):
    """Where binaries stand in a scheme.

    Attributes
    ----------
    columns : for each partition of the scheme the binary that answers
    signs : −1 where the binary has the sides of the partition the other way round, else 1
    """

    columns: NDArray[np.intp]
    signs: NDArray[np.float64]


class Sides(NamedTuple):
    """What a binary tells apart.

    Attributes
    ----------
    binary : the name or specification in the scheme that it was trained for
    negative, positive : positions of the classes on its two sides
    model : the name of the estimator that was given for it, if any
    """

    binary: BinaryName
    negative: tuple[int, ...]
    positive: tuple[int, ...]
    model: str | None = None


def write_composition(classifier: PolytomyClassifier, numbers: NumberWriter) -> dict[str, Any]:
    """Return the dichotomies of a classifier and their places in its schemes as JSON."""
    trained: list[Dichotomy] = classifier._dichotomies
    arrangements: list[Arrangement] = classifier._arrangements
    sides = [np.array((*each.negative, *each.positive), dtype=np.int64) for each in trained]
    return {
        "names": [each.binary.text for each in trained],
        "specifications": [k for k, each in enumerate(trained) if each.binary.is_specification],
        "models": {str(k): each.model for k, each in enumerate(trained) if each.model is not None},
        "sides": numbers.integers(np.concatenate([np.empty(0, np.int64), *sides])),
        "n_negative": numbers.integers([len(each.negative) for each in trained]),
        "n_positive": numbers.integers([len(each.positive) for each in trained]),
        "places": [
            {
                "columns": numbers.integers(arrangement.columns),
                "is_swapped": numbers.integers(arrangement.signs < 0),
            }
            for arrangement in arrangements
        ],
    }


def read_composition(
    fields: Fields, numbers: NumberReader, n_classes: int
) -> tuple[list[Sides], list[Places]]:
    """Return the sides of all binaries, and their places in each scheme."""
    names = fields.texts("names")
    specifications = set(fields.items("specifications"))
    models = fields.fields("models")
    classes = numbers.integers(fields.fields("sides"), below=n_classes)
    counts = [
        numbers.integers(fields.fields(name), below=n_classes + 1)
        for name in ("n_negative", "n_positive")
    ]
    ends = np.cumsum(np.column_stack(counts)) if len(counts[0]) == len(counts[1]) else np.empty(0)
    if len(ends) != 2 * len(names) or (ends[-1] if len(ends) else 0) != len(classes):
        raise fields.fault("sides", "two sides for each binary")
    parts = [tuple(part.tolist()) for part in np.split(classes, ends)[:-1]]
    sides = [
        Sides(
            BinaryName(name, k in specifications),
            parts[2 * k],
            parts[2 * k + 1],
            models.text(str(k)) if str(k) in models else None,
        )
        for k, name in enumerate(names)
    ]
    places = []
    for each in fields.all_fields("places"):
        columns = numbers.integers(each.fields("columns"), below=len(names))
        is_swapped = numbers.integers(each.fields("is_swapped"), below=2)
        places.append(Places(columns.astype(np.intp), np.where(is_swapped, -1.0, 1.0)))
    return sides, places


def fitted_classifier(
    binaries: Sequence[TrainedBinary],
    sides: Sequence[Sides],
    classes: NDArray[Any],
    scheme: Scheme | SchemeEnsemble,
    *,
    places: Sequence[Places] | None = None,
    n_features: int | None = None,
    feature_names: Sequence[str] | None = None,
    **parameters: Any,
) -> PolytomyClassifier:
    """Return a fitted classifier of binaries that were trained before.

    Parameters
    ----------
    binaries : the trained binaries
    sides : what each of them tells apart
    classes : labels of the data
    scheme : how the binaries' answers are put together
    places : where the binaries stand in the scheme, or in each one of an ensemble
        By default they are those of the partitions, in order.
    n_features, feature_names : of the data
    **parameters : parameters of the classifier
    """
    members = members_of(scheme)
    if places is None:
        places = [Places(np.arange(len(binaries)), np.ones(len(binaries)))]
    if len(binaries) != len(sides) or len(places) != len(members):
        raise ModelFileError(
            f"there are {len(binaries)} binaries with {len(sides)} pairs of sides, and places in "
            f"{len(places)} schemes of {len(members)}"
        )
    if feature_names is not None and len(feature_names) != n_features:
        raise ModelFileError(f"there are {len(feature_names)} names for {n_features} features")
    classifier = PolytomyClassifier(scheme=scheme, **parameters)
    arrangements = [
        _arrangement(member, classes, place, classifier.solver)
        for member, place in zip(members, places, strict=True)
    ]
    classifier.classes_ = classes
    classifier.scheme_ = scheme
    classifier._dichotomies = [
        _dichotomy(classifier, binary, each) for binary, each in zip(binaries, sides, strict=True)
    ]
    classifier._arrangements = arrangements
    classifier._keep_binaries(list(binaries))
    if n_features is not None:
        classifier.n_features_in_ = n_features
    if feature_names is not None:
        classifier.feature_names_in_ = np.array(feature_names, dtype=object)
    return classifier


def _arrangement(
    scheme: Scheme, classes: NDArray[Any], places: Places, solver: Solver
) -> Arrangement:
    if not len(places.columns) == len(places.signs) == scheme.n_partitions:
        raise ModelFileError(
            f"there are {len(places.columns)} binaries in a scheme of {scheme.n_partitions} "
            "partitions"
        )
    check_solver(scheme, solver)
    with warnings.catch_warnings():
        # Classes without data were warned of when the model was fitted.
        warnings.simplefilter("ignore", PolytomyWarning)
        return Arrangement(scheme, bind_classes(scheme, classes), *places)


def _dichotomy(classifier: PolytomyClassifier, binary: TrainedBinary, sides: Sides) -> Dichotomy:
    """Return a dichotomy with the estimator that would be trained further on new samples."""
    estimator, trained = classifier.binary_estimator(), None
    if sides.model is not None:
        estimator = (classifier.models or {}).get(sides.model, binary.estimator)
        trained = binary if is_fitted(estimator) else None
    elif sides.binary.is_specification:
        estimator = estimator_from(sides.binary.text, estimator)
    return Dichotomy(
        binary.name, sides.negative, sides.positive, sides.binary, estimator, trained, sides.model
    )
