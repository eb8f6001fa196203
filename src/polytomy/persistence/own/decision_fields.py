"""What a classifier's decisions need in a file: conformity, class frequencies, prior and costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import ModelFileError
from polytomy.model.composition import Composition
from polytomy.model.decisions import ClassFrequencies, Costs, PriorShift
from polytomy.model.sets import ConformityRows
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.number_arrays import NumberReader, NumberWriter
from polytomy.persistence.own.values import read_value, value_to_json

__all__ = [
    "read_conformity",
    "read_decisions",
    "write_conformity",
    "write_decisions",
]

Floats = NDArray[np.float64]

# Sums of products of larger numbers could overflow.
_LARGEST = 1e100
_SUM_TOLERANCE = 1e-6


def write_conformity(rows: ConformityRows, numbers: NumberWriter) -> dict[str, Any]:
    """Return all but the logarithms as JSON; those are a separate member."""
    return {
        "class_indices": numbers.integers(rows.class_indices),
        "weight": numbers.floats(rows.weight),
    }


def read_conformity(
    fields: Fields, log_proba: NDArray[Any], numbers: NumberReader, n_classes: int
) -> ConformityRows:
    """Return out-of-fold probabilities in compact form.

    Parameters
    ----------
    fields : what `write_conformity` returned
    log_proba : the logarithms, finite
    numbers : the numbers of the file
    n_classes : of the classifier
    """
    shape = log_proba.shape
    if log_proba.dtype != np.float16 or len(shape) != 2 or shape[1] != n_classes or not shape[0]:
        raise ModelFileError(f"the conformity is not a float16 array for {n_classes} classes")
    if log_proba.max() > 1e-3:
        raise ModelFileError("the conformity has logarithms that are not those of probabilities")
    class_indices = numbers.integers(fields.fields("class_indices"), below=n_classes)
    weight = numbers.floats(fields.fields("weight"), n_dimensions=1)
    for name, array in {"class_indices": class_indices, "weight": weight}.items():
        if len(array) != shape[0]:
            raise fields.fault(name, f"a number for each of {shape[0]} rows")
    if not (weight.min() > 1e-100 and weight.max() <= _LARGEST):
        raise fields.fault("weight", "a list of positive, moderate numbers")
    return ConformityRows(log_proba, class_indices.astype(np.intp), weight.astype(np.float64))


def write_decisions(composition: Composition, numbers: NumberWriter) -> dict[str, Any]:
    """Return the class frequencies, the prior and the costs, if any, as JSON."""
    written: dict[str, Any] = {}
    frequencies, prior, costs = composition.frequencies, composition.prior, composition.costs
    if frequencies is not None:
        written["frequencies"] = {
            "data": numbers.floats(frequencies.data),
            "model": numbers.floats(frequencies.model),
        }
    if prior is not None:
        written["prior"] = {
            "prior": numbers.floats(prior.prior),
            "training": numbers.floats(prior.training),
        }
    if costs is not None:
        written["costs"] = {
            "matrix": numbers.floats(costs.matrix),
            "reject_cost": costs.reject_cost,
            "reject_label": value_to_json(costs.reject_label),
        }
    return written


def read_decisions(fields: Fields, numbers: NumberReader, composition: Composition) -> Composition:
    """Return the composition with the class frequencies, the prior and the costs of the file."""
    n_classes = len(composition.classes)
    frequencies, prior, costs = None, None, None
    if "frequencies" in fields:
        written = fields.fields("frequencies")
        both = [_read_distribution(written, name, numbers, n_classes) for name in ("data", "model")]
        frequencies = ClassFrequencies(*both)
    if "prior" in fields:
        written = fields.fields("prior")
        names = ("prior", "training")
        prior = PriorShift(
            *[_read_distribution(written, name, numbers, n_classes) for name in names]
        )
        if ((prior.prior > 0) & (prior.training == 0)).any():
            raise written.fault("prior", "zero for the classes that training had none of")
    if "costs" in fields:
        costs = _read_costs(fields.fields("costs"), numbers, composition.classes)
    return replace(composition, frequencies=frequencies, prior=prior, costs=costs)


def _read_distribution(fields: Fields, name: str, numbers: NumberReader, n_classes: int) -> Floats:
    array = numbers.floats(fields.fields(name)).astype(np.float64)
    is_right = array.shape == (n_classes,) and array.min(initial=0.0) >= 0
    if not is_right or abs(array.sum() - 1) > _SUM_TOLERANCE:
        raise fields.fault(name, f"probabilities of {n_classes} classes")
    return array


def _read_costs(fields: Fields, numbers: NumberReader, classes: NDArray[Any]) -> Costs:
    matrix = numbers.floats(fields.fields("matrix")).astype(np.float64)
    shape = len(classes), len(classes)
    if matrix.shape != shape or np.abs(matrix).max(initial=0.0) > _LARGEST:
        raise fields.fault("matrix", f"moderate numbers of shape {shape}")
    if "reject_cost" not in fields:
        return Costs(matrix)
    label = read_value(fields.raw("reject_label"))
    if not isinstance(label, str | int | float) or label in classes.tolist():
        raise fields.fault("reject_label", "a label that is not a class")
    return Costs(matrix, fields.number("reject_cost"), label)
