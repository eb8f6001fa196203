"""The parameters of a classifier: what a new fit would need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from polytomy.binary import estimator_from, specification_of
from polytomy.calibration import make_calibrator
from polytomy.classifier import PolytomyClassifier
from polytomy.designs import DESIGNS
from polytomy.errors import ArgumentError, ModelFileError, PolytomyWarning, warn_caller
from polytomy.persistence.own.binaries import CALIBRATOR_NAMES
from polytomy.persistence.own.estimator_kinds import SCALER_NAMES, SCALERS
from polytomy.persistence.own.estimator_reader import EstimatorReader
from polytomy.persistence.own.estimator_writer import EstimatorWriter
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.values import NotPlainError, read_value, value_to_json

__all__ = ["read_parameters", "write_parameters"]

#: Parameters that are plain values, and what they may be beside None.
_PLAIN: dict[str, tuple[type, ...]] = {
    "cv": (int, list, tuple),
    "n_jobs": (int,),
    "random_state": (int,),
    "verbose": (int,),
    "class_weight": (str, dict),
    "memory_budget": (int, float),
}
_PRECISIONS = ("float64", "float32")


def write_parameters(classifier: PolytomyClassifier, writer: EstimatorWriter) -> dict[str, Any]:
    """Return the parameters as JSON; a warning names those that cannot be kept."""
    precision = str(np.dtype(classifier.prediction_dtype))
    written: dict[str, Any] = {"solver": classifier.solver, "prediction_dtype": precision}
    if not isinstance(classifier.solver, str):
        raise ArgumentError(
            f"solver={classifier.solver!r} is a function, which cannot be saved. Save "
            'classifier.with_solver("least-squares"), and give the function again after loading.'
        )
    for name in _PLAIN:
        value = getattr(classifier, name)
        try:
            written[name] = value_to_json(value)
        except NotPlainError:
            warn_caller(
                f"{name}={value!r} is not kept in the file; a loaded classifier has the default, "
                "which matters only if it is fitted again",
                PolytomyWarning,
            )
    if isinstance(classifier.scheme, str) and not _is_file(classifier.scheme):
        written["scheme"] = classifier.scheme
    if classifier.estimator is not None:
        written["estimator"] = _write_template(classifier.estimator, writer)
    written["calibration"] = _write_calibration(classifier.calibration, writer)
    if classifier.models is not None:
        written["models"] = _write_models(classifier, writer)
    return written


def read_parameters(fields: Fields, reader: EstimatorReader, binaries: list[Any]) -> dict[str, Any]:
    """Return the parameters that a file has; the scheme only where it is a text."""
    parameters: dict[str, Any] = {
        name: fields.text(name) for name in ("solver", "prediction_dtype")
    }
    if parameters["prediction_dtype"] not in _PRECISIONS:
        raise fields.fault("prediction_dtype", f"one of {', '.join(_PRECISIONS)}")
    for name, kinds in _PLAIN.items():
        if name in fields:
            parameters[name] = read_value(fields.raw(name))
            if not isinstance(parameters[name], kinds):
                raise fields.fault(name, "of its kind")
    if "scheme" in fields:
        parameters["scheme"] = fields.text("scheme")
    if "estimator" in fields:
        parameters["estimator"] = _read_template(fields.fields("estimator"), reader)
    parameters["calibration"] = _read_calibration(fields, reader)
    if "models" in fields:
        parameters["models"] = {}
        for each in fields.all_fields("models"):
            model: Any
            if "binary" in each:
                model = binaries[each.integer("binary", least=0, most=len(binaries) - 1)].estimator
            else:
                model = _read_template(each.fields("estimator"), reader)
            parameters["models"][each.text("name")] = model
    return parameters


def _is_file(scheme: str) -> bool:
    """Tell whether the text of the option names a file, which may be gone when it is read."""
    if scheme in DESIGNS or "\n" in scheme or "\0" in scheme:
        return False
    try:
        return Path(scheme).is_file()
    except OSError:  # too long for a name
        return False


def _write_template(estimator: Any, writer: EstimatorWriter) -> dict[str, Any]:
    """Return an estimator that is not fitted as JSON: only its parameters matter."""
    if type(estimator) in SCALERS:
        usual = type(estimator)().get_params()
        changed = {k: v for k, v in estimator.get_params().items() if v != usual[k]}
        return {"scaler": type(estimator).__name__, "parameters": value_to_json(changed)}
    if type(estimator) is Pipeline and estimator.memory is None:
        try:
            steps = [[name, _write_step(step, writer)] for name, step in estimator.steps]
            return {"pipeline": steps}
        except NotPlainError:
            return writer.write_other(estimator)
    try:
        return {"specification": specification_of(estimator)}
    except ArgumentError:
        return writer.write_other(estimator)


def _write_step(step: Any, writer: EstimatorWriter) -> Any:
    if step is None or step == "passthrough":
        return None
    written = _write_template(step, writer)
    if written.get("kind") == "other":
        writer.others.pop()
        raise NotPlainError(f"{step!r} is no plain estimator")
    return written


def _read_template(fields: Fields, reader: EstimatorReader) -> Any:
    if "specification" in fields:
        try:
            return estimator_from(fields.text("specification"), SVC())
        except ArgumentError as error:
            raise ModelFileError(
                f"{fields.where}: {error} The file may come from another version of scikit-learn."
            ) from error
    if "scaler" in fields:
        kind = SCALER_NAMES.get(fields.text("scaler"))
        parameters = read_value(fields.raw("parameters"))
        if kind is None or not isinstance(parameters, dict):
            raise fields.fault("scaler", f"one of {', '.join(SCALER_NAMES)}")
        if not parameters.keys() <= kind().get_params().keys():
            raise fields.fault("parameters", f"parameters of {kind.__name__}")
        return kind(**parameters)
    if "pipeline" in fields:
        steps = []
        for step in fields.items("pipeline"):
            if not (isinstance(step, list) and len(step) == 2 and isinstance(step[0], str)):
                raise fields.fault("pipeline", "a list of steps")
            if isinstance(step[1], dict) and "pipeline" in step[1]:
                raise fields.fault("pipeline", "a list of single steps")
            inner = "passthrough" if step[1] is None else _read_step(step[1], fields, reader)
            steps.append((step[0], inner))
        if not steps:
            raise fields.fault("pipeline", "a list of steps")
        return Pipeline(steps)
    estimator = reader.read_other(fields)
    if not isinstance(estimator, BaseEstimator):
        raise ModelFileError(f"{fields.where} is no estimator")
    return estimator


def _read_step(step: Any, fields: Fields, reader: EstimatorReader) -> Any:
    return _read_template(Fields(step, f"a step of {fields.where}"), reader)


def _write_calibration(calibration: Any, writer: EstimatorWriter) -> Any:
    if calibration is None or isinstance(calibration, str):
        return calibration
    kind = CALIBRATOR_NAMES.get(type(calibration))
    return writer.write_other(calibration) if kind is None else {"kind": kind}


def _read_calibration(fields: Fields, reader: EstimatorReader) -> Any:
    if "calibration" not in fields:
        return None
    if isinstance(fields.raw("calibration"), str):
        name = fields.text("calibration")
    else:
        written = fields.fields("calibration")
        if written.text("kind") == "other":
            return reader.read_other(written)
        name = written.text("kind")
    try:
        make_calibrator(None if name == "none" else name)
    except ArgumentError as error:
        raise ModelFileError(f"{fields.where}: {error}") from error
    is_name = isinstance(fields.raw("calibration"), str)
    return name if is_name else make_calibrator(None if name == "none" else name)


def _write_models(classifier: PolytomyClassifier, writer: EstimatorWriter) -> list[dict[str, Any]]:
    """Return the models by name: those that were used as they are, by the binary they became."""
    numbers = {id(binary.estimator): k for k, binary in enumerate(classifier.binaries_)}
    written = []
    for name, model in (classifier.models or {}).items():
        if id(model) in numbers:
            written.append({"name": name, "binary": numbers[id(model)]})
        else:
            written.append({"name": name, "estimator": _write_template(model, writer)})
    return written
