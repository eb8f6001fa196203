"""The final calibration of a classifier in a file, and the option that requests one."""

from __future__ import annotations

from typing import Any

import numpy as np

from polytomy.calibration.final import (
    BiasMap,
    DecoderMap,
    FinalMap,
    ProvidedMap,
    check_final_calibration,
)
from polytomy.errors import ArgumentError, ModelFileError
from polytomy.model.out_of_fold import FinalCalibration
from polytomy.persistence.own.estimator_reader import EstimatorReader
from polytomy.persistence.own.estimator_writer import EstimatorWriter
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.number_arrays import NumberReader, NumberWriter

__all__ = [
    "KINDS",
    "read_final",
    "read_final_option",
    "read_final_summary",
    "read_score",
    "write_final",
    "write_final_option",
]

#: The kinds of final calibrations in files.
KINDS = ("bias", "decoder", "provided")
# Logits made of larger numbers could overflow.
_LARGEST = 1e100


def write_final(
    final: FinalCalibration, writer: EstimatorWriter, numbers: NumberWriter
) -> dict[str, Any]:
    """Return a final calibration as JSON, without its out-of-fold probabilities."""
    score = {name: float(value) for name, value in final.score.items()}
    return {**_write_map(final.map, writer, numbers), "score": score}


def _write_map(final: FinalMap, writer: EstimatorWriter, numbers: NumberWriter) -> dict[str, Any]:
    if isinstance(final, BiasMap):
        return {
            "kind": "bias",
            "scale": float(final.scale),
            "floor": float(final.floor),
            "bias": numbers.floats(final.bias),
        }
    if isinstance(final, DecoderMap):
        base = _write_map(final.base, writer, numbers)
        return {**base, "kind": "decoder", "weights": numbers.floats(final.weights)}
    assert isinstance(final, ProvidedMap)
    reference = writer.write_with_skops(final.calibrator)
    return {**reference, "kind": "provided", "floor": float(final.floor)}


def read_final(
    fields: Fields,
    numbers: NumberReader,
    reader: EstimatorReader,
    n_classes: int,
    n_binaries: int,
) -> FinalCalibration:
    """Return a final calibration without its out-of-fold probabilities.

    Parameters
    ----------
    fields : what `write_final` returned
    numbers : the numbers of the file
    reader : reads objects that were saved with skops
    n_classes, n_binaries : of the classifier
    """
    return FinalCalibration(
        _read_map(fields, numbers, reader, n_classes, n_binaries), read_score(fields)
    )


def _read_map(
    fields: Fields,
    numbers: NumberReader,
    reader: EstimatorReader,
    n_classes: int,
    n_binaries: int,
) -> FinalMap:
    summary = read_final_summary(fields)
    if summary["kind"] == "provided":
        calibrator = reader.read_skops_object(fields)
        if not hasattr(calibrator, "predict_proba"):
            raise fields.fault("number", "that of an object with predict_proba")
        return ProvidedMap(calibrator, summary["floor"], n_classes)
    bias = numbers.floats(fields.fields("bias"))
    if bias.shape != (n_classes,) or not _is_moderate(bias):
        raise fields.fault("bias", f"a moderate number for each of {n_classes} classes")
    base = BiasMap(summary["scale"], summary["floor"], bias.astype(np.float64))
    if summary["kind"] == "bias":
        return base
    weights = numbers.floats(fields.fields("weights"))
    if weights.shape != (n_binaries, n_classes) or not _is_moderate(weights):
        raise fields.fault(
            "weights", f"moderate numbers for {n_binaries} binaries and {n_classes} classes"
        )
    return DecoderMap(base, weights.astype(np.float64))


def read_final_summary(fields: Fields) -> dict[str, Any]:
    """Return the kind of a final calibration and its numbers, without arrays or objects."""
    kind = fields.text("kind")
    if kind not in KINDS:
        raise fields.fault("kind", f"one of {', '.join(KINDS)}")
    names = ("floor",) if kind == "provided" else ("scale", "floor")
    summary: dict[str, Any] = {name: fields.number(name) for name in names}
    for name, value in summary.items():
        if not 0 <= value <= _LARGEST:
            raise fields.fault(name, f"a number from 0 to {_LARGEST:g}")
    # The logarithm of a probability of zero must be finite, or be multiplied by more than zero.
    if summary["floor"] == 0 and not summary.get("scale"):
        raise fields.fault("floor", "a positive number")
    return {"kind": kind, **summary}


def read_score(fields: Fields) -> dict[str, float]:
    """Return the out-of-fold score of a final calibration."""
    score = fields.fields("score")
    return {name: score.number(name) for name in score}


def write_final_option(option: Any, writer: EstimatorWriter) -> Any:
    """Return a value of the parameter ``final_calibration`` as JSON."""
    return option if option is None or isinstance(option, str) else writer.write_with_skops(option)


def read_final_option(fields: Fields, reader: EstimatorReader) -> Any:
    """Return the field "final_calibration"; None if it is missing, as in files of version 0.1."""
    if "final_calibration" not in fields:
        return None
    option = fields.raw("final_calibration")
    if not isinstance(option, str):
        option = reader.read_skops_object(fields.fields("final_calibration"))
    try:
        check_final_calibration(option)
    except ArgumentError as error:
        raise ModelFileError(f"{fields.where}: {error}") from error
    return option


def _is_moderate(array: Any) -> bool:
    return bool(np.abs(array).max(initial=0.0) <= _LARGEST)
