"""Trained binaries as JSON: the estimator, its sides and its calibrator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polytomy.calibration import (
    Calibrator,
    IsotonicCalibrator,
    ProvidedCalibrator,
    SigmoidCalibrator,
    TemperatureCalibrator,
    UncalibratedMap,
)
from polytomy.learners.sides import SidesModel
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.persistence.own.estimator_reader import EstimatorReader
from polytomy.persistence.own.estimator_writer import EstimatorWriter
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.number_arrays import NumberReader, NumberWriter
from polytomy.persistence.own.values import labels_to_json, read_labels

__all__ = ["CALIBRATOR_NAMES", "logistic_calibrator", "read_binary", "write_binary"]

#: Calibrators with a slope and an intercept, and their names in files.
_LOGISTIC: dict[type, str] = {
    UncalibratedMap: "none",
    SigmoidCalibrator: "sigmoid",
    TemperatureCalibrator: "temperature",
}
CALIBRATOR_NAMES: dict[type, str] = {**_LOGISTIC, IsotonicCalibrator: "isotonic"}


def write_binary(
    binary: TrainedBinary,
    estimators: EstimatorWriter,
    numbers: NumberWriter,
    sided_models: Sequence[SidesModel] = (),
) -> dict[str, Any]:
    """Return a trained binary as JSON; `sided_models` are those that several binaries share."""
    written: dict[str, Any] = {"name": binary.name, "output": str(binary.output)}
    if binary.seconds:
        written["seconds"] = binary.seconds
    if binary.shortcoming:
        written["shortcoming"] = binary.shortcoming
    if binary.output is Output.CONSTANT:
        return {**written, "constant": binary.constant}
    if binary.columns is not None:
        written["columns"] = numbers.integers(binary.columns)
    if binary.output is Output.SIDE:
        number = [model is binary.estimator for model in sided_models].index(True)
        return {**written, "model": number, "side": binary.positive_index}
    return {
        **written,
        "estimator": estimators.write(binary.estimator),
        "calibrator": _write_calibrator(binary.calibrator, estimators, numbers),
        "classes": labels_to_json(np.array(binary.classes, dtype=object)),
        "positive_index": binary.positive_index,
    }


def read_binary(
    fields: Fields,
    estimators: EstimatorReader,
    numbers: NumberReader,
    sided_models: Sequence[SidesModel] = (),
) -> TrainedBinary:
    """Return a trained binary."""
    name, shortcoming = fields.text("name"), fields.text("shortcoming", "")
    seconds = fields.number("seconds") if "seconds" in fields else 0.0
    try:
        output = Output(fields.text("output"))
    except ValueError:
        raise fields.fault("output", f"one of {', '.join(Output)}") from None
    if output is Output.CONSTANT:
        constant = fields.number("constant")
        if not -1 <= constant <= 1:
            raise fields.fault("constant", "from -1 to 1")
        return TrainedBinary(
            name, output, constant=constant, shortcoming=shortcoming, seconds=seconds
        )
    columns = None
    if "columns" in fields:
        columns = numbers.integers(fields.fields("columns"), below=2**31).astype(np.intp)
    if output is Output.SIDE:
        model = sided_models[fields.integer("model", least=0, most=len(sided_models) - 1)]
        return TrainedBinary(
            name,
            output,
            model,
            positive_index=fields.integer("side", least=0, most=model.n_sides - 1),
            columns=columns,
            shortcoming=shortcoming,
            seconds=seconds,
        )
    classes = read_labels(fields.fields("classes")).tolist()
    if len(classes) != 2:
        raise fields.fault("classes", "two labels")
    estimator = estimators.read(fields.fields("estimator"))
    _check_method(estimator, output, fields)
    calibrator = _read_calibrator(fields, estimators, numbers)
    if calibrator is None and output in (Output.MARGIN, Output.LOG_ODDS):
        raise fields.fault("calibrator", f"a map of a {output} to probabilities")
    return TrainedBinary(
        name,
        output,
        estimator,
        calibrator,
        (classes[0], classes[1]),
        fields.integer("positive_index", least=0, most=1),
        columns=columns,
        shortcoming=shortcoming,
        seconds=seconds,
    )


_METHODS = {
    Output.PROBABILITY: "predict_proba",
    Output.LOG_ODDS: "predict_proba",
    Output.MARGIN: "decision_function",
    Output.LABEL: "predict",
}


def _check_method(estimator: Any, output: Output, fields: Fields) -> None:
    if not hasattr(estimator, _METHODS[output]):
        raise fields.fault("estimator", f"an estimator with {_METHODS[output]}")


def _write_calibrator(
    calibrator: Calibrator | None, estimators: EstimatorWriter, numbers: NumberWriter
) -> dict[str, Any] | None:
    if calibrator is None:
        return None
    if isinstance(calibrator, IsotonicCalibrator):
        return {
            "kind": "isotonic",
            "knots": numbers.floats(calibrator.knots_),
            "probabilities": numbers.floats(calibrator.probabilities_),
        }
    if isinstance(calibrator, tuple(_LOGISTIC)):
        slope, intercept = float(calibrator.slope_), float(calibrator.intercept_)  # type: ignore[attr-defined]
        return {"kind": _LOGISTIC[type(calibrator)], "slope": slope, "intercept": intercept}
    if isinstance(calibrator, ProvidedCalibrator):
        return {**estimators.write_with_skops(calibrator.calibrator), "kind": "provided"}
    return estimators.write_with_skops(calibrator)


def _read_calibrator(
    fields: Fields, estimators: EstimatorReader, numbers: NumberReader
) -> Calibrator | None:
    if "calibrator" not in fields:
        return None
    written = fields.fields("calibrator")
    kind = written.text("kind")
    if kind == "provided":
        provided = estimators.read_skops_object(written)
        if not (hasattr(provided, "predict") or hasattr(provided, "predict_proba")):
            raise fields.fault("calibrator", "an object with predict or predict_proba")
        return ProvidedCalibrator(provided)
    if kind == "other":
        calibrator: Calibrator = estimators.read_skops_object(written)
        if not hasattr(calibrator, "predict"):
            raise fields.fault("calibrator", "an object with predict")
        return calibrator
    if kind == "isotonic":
        isotonic = IsotonicCalibrator()
        isotonic.knots_ = numbers.floats(written.fields("knots"), n_dimensions=1)
        isotonic.probabilities_ = numbers.floats(written.fields("probabilities"), n_dimensions=1)
        is_map = len(isotonic.knots_) == len(isotonic.probabilities_) > 0
        is_ascending = np.all(np.diff(isotonic.knots_) >= 0)
        outside = (isotonic.probabilities_ < 0) | (isotonic.probabilities_ > 1)
        if not is_map or not is_ascending or np.any(outside):
            raise fields.fault("calibrator", "a map to probabilities")
        return isotonic
    if kind not in _LOGISTIC.values():
        raise written.fault("kind", f"one of {', '.join(CALIBRATOR_NAMES.values())}")
    return logistic_calibrator(kind, written.number("slope"), written.number("intercept"))


def logistic_calibrator(kind: str, slope: float, intercept: float) -> Calibrator:
    """Return a fitted calibrator: P(+1) = 1 / (1 + exp(−slope·value − intercept))."""
    if kind == "none":
        return UncalibratedMap()
    calibrator = SigmoidCalibrator() if kind == "sigmoid" else TemperatureCalibrator()
    calibrator.slope_, calibrator.intercept_ = slope, intercept
    return calibrator
