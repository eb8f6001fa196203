"""Models of partitions with more than two sides as JSON; several binaries share each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polytomy.calibration.vector_scaling import VectorScaling
from polytomy.learners.sides import SidesModel
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.persistence.own.estimator_reader import EstimatorReader
from polytomy.persistence.own.estimator_writer import EstimatorWriter
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.number_arrays import NumberReader, NumberWriter
from polytomy.persistence.own.values import labels_to_json, read_labels

__all__ = ["list_sided_models", "read_sided_model", "write_sided_model"]

_METHODS = {
    Output.PROBABILITY: "predict_proba",
    Output.MARGIN: "decision_function",
    Output.LABEL: "predict",
}


def list_sided_models(binaries: Sequence[TrainedBinary]) -> list[SidesModel]:
    """Return the models of binaries that answer for one side of several, each once."""
    models = [binary.estimator for binary in binaries if binary.output is Output.SIDE]
    return list(dict.fromkeys(models))


def write_sided_model(
    model: SidesModel, estimators: EstimatorWriter, numbers: NumberWriter
) -> dict[str, Any]:
    """Return a model as JSON; its estimator is saved with skops."""
    written: dict[str, Any] = {
        "name": model.name,
        "n_sides": model.n_sides,
        "known_sides": list(model.known_sides),
    }
    if model.estimator is None:
        return written
    written["estimator"] = estimators.write_with_skops(model.estimator)
    written["labels"] = labels_to_json(np.array(model.labels, dtype=object))
    written["output"] = str(model.output)
    if model.scaling is not None:
        written["slopes"] = numbers.floats(model.scaling.slopes)
        written["intercepts"] = numbers.floats(model.scaling.intercepts)
    return written


def read_sided_model(
    fields: Fields, estimators: EstimatorReader, numbers: NumberReader
) -> SidesModel:
    """Return a model with more than two sides."""
    name, n_sides = fields.text("name"), fields.integer("n_sides", least=2, most=2**31)
    known = tuple(fields.integers("known_sides", least=0))
    if len(set(known)) != len(known) or any(side >= n_sides for side in known):
        raise fields.fault("known_sides", f"different numbers below {n_sides}")
    if "estimator" not in fields:
        if len(known) > 1:
            raise fields.fault("estimator", "a classifier")
        return SidesModel(name, n_sides, None, known)
    try:
        output = Output(fields.text("output"))
        method = _METHODS[output]
    except (KeyError, ValueError):
        raise fields.fault("output", f"one of {', '.join(_METHODS)}") from None
    estimator = estimators.read_skops_object(fields.fields("estimator"))
    if not hasattr(estimator, method):
        raise fields.fault("estimator", f"an estimator with {method}")
    labels = tuple(read_labels(fields.fields("labels")).tolist())
    if len(labels) != len(known):
        raise fields.fault("labels", f"a label for each of {len(known)} sides")
    scaling = None
    if "slopes" in fields:
        slopes = numbers.floats(fields.fields("slopes"), n_dimensions=1)
        intercepts = numbers.floats(fields.fields("intercepts"), n_dimensions=1)
        is_map = len(slopes) == len(intercepts) == n_sides
        if not is_map or not (np.isfinite(slopes) & np.isfinite(intercepts) & (slopes > 0)).all():
            raise fields.fault("slopes", f"{n_sides} positive numbers")
        scaling = VectorScaling(slopes, intercepts)
    elif output is Output.MARGIN:
        raise fields.fault("slopes", "a map of decision values to probabilities")
    return SidesModel(name, n_sides, estimator, known, labels, output, scaling)
