"""The composition of a classifier in a file: its dichotomies, and which answer for its scheme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import ModelFileError
from polytomy.learners.preparation import resolve_estimator
from polytomy.learners.specification import estimator_from
from polytomy.learners.trained import TrainedBinary, is_fitted
from polytomy.model.arrangement import Arrangement, ClassTranslation
from polytomy.model.composition import Composition
from polytomy.model.dichotomies import Dichotomy, WholePartition
from polytomy.model.scheme_argument import members_of
from polytomy.persistence.fitted import arrange_in_order, compose_trained, order_in_scheme
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.number_arrays import NumberReader, NumberWriter
from polytomy.scheme import BinaryName, Scheme, SchemeEnsemble
from polytomy.scheme.partitions import compact_classes

__all__ = ["read_composition", "write_composition"]

# Sides with more class indices are not written if they follow from the scheme.
_MOST_ENTRIES = 2**20


def write_composition(composition: Composition, numbers: NumberWriter) -> dict[str, Any]:
    """Return the dichotomies of a composition, and where its schemes use them, as JSON."""
    trained = composition.dichotomies
    if _follow_from_scheme(composition):
        written_sides: dict[str, Any] = {}
    else:
        written_sides = _write_sides(trained, numbers)
    return {
        "names": [each.binary.text for each in trained],
        "specifications": [k for k, each in enumerate(trained) if each.binary.is_specification],
        "models": {str(k): each.model for k, each in enumerate(trained) if each.model is not None},
        **written_sides,
        "places": [
            {
                "columns": numbers.integers(arrangement.columns),
                "is_swapped": numbers.integers(arrangement.signs < 0),
            }
            for arrangement in composition.arrangements
        ],
        "tie_order": None if composition.tie_order is None else list(composition.tie_order),
        **_write_wholes(trained, numbers),
    }


def _follow_from_scheme(composition: Composition) -> bool:
    """Return whether the sides are many, and those of the partitions of the scheme in order."""
    trained = composition.dichotomies
    n_entries = sum(len(each.negative) + len(each.positive) for each in trained)
    has_many = n_entries > _MOST_ENTRIES and len(composition.arrangements) == 1
    return has_many and composition.arrangements[0].uses_all_in_order(len(trained))


def _write_sides(trained: Sequence[Dichotomy], numbers: NumberWriter) -> dict[str, Any]:
    sides = [np.asarray(side, dtype=np.int64) for each in trained for side in each[1:3]]
    return {
        "sides": numbers.integers(np.concatenate([np.empty(0, np.int64), *sides])),
        "n_negative": numbers.integers([len(each.negative) for each in trained]),
        "n_positive": numbers.integers([len(each.positive) for each in trained]),
    }


def _write_wholes(trained: Sequence[Dichotomy], numbers: NumberWriter) -> dict[str, Any]:
    """Return the partitions with more than two sides, and the partition and side of each binary."""
    wholes = list(dict.fromkeys([each.whole for each in trained if each.whole is not None]))
    if not wholes:
        return {}
    return {
        "wholes": [
            {
                "name": whole.name,
                "classes": numbers.integers([k for side in whole.sides for k in side]),
                "n_classes": numbers.integers([len(side) for side in whole.sides]),
            }
            for whole in wholes
        ],
        "sides_of_wholes": {
            str(k): [wholes.index(each.whole), each.side]
            for k, each in enumerate(trained)
            if each.whole is not None
        },
    }


def _read_wholes(
    fields: Fields, numbers: NumberReader, n_classes: int
) -> dict[str, tuple[WholePartition, int]]:
    """Return, for the binaries that are one of several sides, their partition and their side."""
    if "wholes" not in fields:
        return {}
    wholes = []
    for each in fields.all_fields("wholes"):
        classes = numbers.integers(each.fields("classes"), below=n_classes)
        counts = numbers.integers(each.fields("n_classes"), below=n_classes + 1)
        if counts.sum() != len(classes):
            raise each.fault("n_classes", f"numbers that sum to {len(classes)}")
        parts = np.split(classes, np.cumsum(counts))[:-1]
        sides = tuple(tuple(part.tolist()) for part in parts)
        wholes.append(WholePartition(each.text("name"), sides))
    found = {}
    places = fields.fields("sides_of_wholes")
    for key in places:
        number, side = [*places.integers(key, least=0), -1, -1][:2]
        if not (0 <= number < len(wholes) and 0 <= side < len(wholes[number].sides)):
            raise places.fault(key, "a partition and one of its sides")
        found[key] = wholes[number], side
    return found


def read_composition(
    fields: Fields,
    numbers: NumberReader,
    binaries: Sequence[TrainedBinary],
    classes: NDArray[Any],
    scheme: Scheme | SchemeEnsemble,
    parameters: Mapping[str, Any],
) -> Composition:
    """Return the composition that a file describes.

    Parameters
    ----------
    fields : what `write_composition` returned
    numbers : the numbers of the file
    binaries, classes, scheme : read from other fields of the file
    parameters : parameters of the classifier
    """
    if len(fields.texts("names")) != len(binaries):
        raise fields.fault("names", f"a name for each of {len(binaries)} binaries")
    if "sides" in fields:
        sides = _read_sides(fields, numbers, len(binaries), len(classes))
    else:
        sides = _find_sides(scheme, classes, len(binaries))
    dichotomies = _read_dichotomies(fields, numbers, binaries, sides, len(classes), parameters)
    members, places = members_of(scheme), list(fields.all_fields("places"))
    if len(places) != len(members):
        raise ModelFileError(f"there are {len(places)} places for {len(members)} schemes")
    arrangements = [
        _read_arrangement(each, numbers, len(binaries), member, classes)
        for each, member in zip(places, members, strict=True)
    ]
    return compose_trained(
        binaries,
        dichotomies,
        classes,
        scheme,
        parameters["solver"],
        arrangements=arrangements,
        prediction_dtype=parameters["prediction_dtype"],
        tie_order=_read_tie_order(fields, arrangements[0]),
    )


def _read_tie_order(fields: Fields, first: Arrangement) -> list[int] | None:
    if "tie_order" not in set(fields):
        # Version 0.1 broke ties by the order in which the scheme names the classes, and did not
        # write that order. Its models still predict as they did.
        return order_in_scheme(first)
    if fields.raw("tie_order") is None:
        return None
    order = fields.items("tie_order")
    n_classes = len(first.positions)
    if any(type(k) is not int for k in order) or sorted(order) != list(range(n_classes)):
        raise fields.fault("tie_order", f"a list of the numbers from 0 to {n_classes - 1}")
    return order


def _read_arrangement(
    fields: Fields,
    numbers: NumberReader,
    n_binaries: int,
    scheme: Scheme,
    classes: NDArray[Any],
) -> Arrangement:
    columns = numbers.integers(fields.fields("columns"), below=n_binaries)
    is_swapped = numbers.integers(fields.fields("is_swapped"), below=2)
    if not len(columns) == len(is_swapped) == scheme.n_rows:
        raise fields.fault("columns", f"a binary for each of {scheme.n_rows} partitions")
    return arrange_in_order(scheme, classes)._replace(
        columns=columns.astype(np.intp), signs=np.where(is_swapped, -1.0, 1.0)
    )


def _read_sides(
    fields: Fields, numbers: NumberReader, n_binaries: int, n_classes: int
) -> list[Sequence[int]]:
    """Return the −1 and the +1 side of each binary, one after the other."""
    classes = numbers.integers(fields.fields("sides"), below=n_classes)
    counts = [
        numbers.integers(fields.fields(name), below=n_classes + 1)
        for name in ("n_negative", "n_positive")
    ]
    ends = np.cumsum(np.column_stack(counts)) if len(counts[0]) == len(counts[1]) else np.empty(0)
    if len(ends) != 2 * n_binaries or (ends[-1] if len(ends) else 0) != len(classes):
        raise fields.fault("sides", "two sides for each binary")
    return [compact_classes(part) for part in np.split(classes, ends)[:-1]]


def _find_sides(
    scheme: Scheme | SchemeEnsemble, classes: NDArray[Any], n_binaries: int
) -> list[Sequence[int]]:
    """Return the sides of a scheme's partitions, one after the other."""
    if not isinstance(scheme, Scheme) or not scheme.is_binary or scheme.n_rows != n_binaries:
        raise ModelFileError("the sides of the binaries are missing")
    positions = arrange_in_order(scheme, classes).positions
    translate = ClassTranslation(positions, len(scheme.classes))
    return [
        translate(compact_classes(side))
        for partition in scheme.partitions
        for side in partition.side_arrays
    ]


def _read_dichotomies(
    fields: Fields,
    numbers: NumberReader,
    binaries: Sequence[TrainedBinary],
    sides: Sequence[Sequence[int]],
    n_classes: int,
    parameters: Mapping[str, Any],
) -> list[Dichotomy]:
    names = fields.texts("names")
    specifications = set(fields.integers("specifications", least=0))
    models = fields.fields("models")
    wholes = _read_wholes(fields, numbers, n_classes)
    dichotomies = []
    for k, (name, binary) in enumerate(zip(names, binaries, strict=True)):
        reference = BinaryName(name, k in specifications)
        model = models.text(str(k)) if str(k) in models else None
        estimator, trained = _estimator_to_train(binary, reference, model, parameters)
        dichotomy = Dichotomy(
            binary.name, sides[2 * k], sides[2 * k + 1], reference, estimator, trained, model
        )
        if str(k) in wholes:
            whole, side = wholes[str(k)]
            dichotomy = dichotomy._replace(whole=whole, side=side)
        dichotomies.append(dichotomy)
    return dichotomies


def _estimator_to_train(
    binary: TrainedBinary, reference: BinaryName, model: str | None, parameters: Mapping[str, Any]
) -> tuple[Any, TrainedBinary | None]:
    """Return the estimator to train on new samples, and the binary if it was passed trained."""
    default = resolve_estimator(parameters.get("estimator"))
    if model is not None:
        estimator = (parameters.get("models") or {}).get(model, binary.fitted_estimator)
        return estimator, binary if is_fitted(estimator) else None
    if reference.is_specification:
        return estimator_from(reference.text, default), None
    return default, None
