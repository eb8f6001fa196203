"""The parameters of a classifier, which are needed to fit it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from polytomy.calibration import make_calibrator
from polytomy.calibration.folds import AUTO_FOLDS
from polytomy.classifier import PolytomyClassifier
from polytomy.designs import SCHEME_NAMES
from polytomy.errors import Argument, ArgumentError, ModelFileError, PolytomyWarning, warn_caller
from polytomy.inputs.arguments import PRECISIONS
from polytomy.learners.preparation import resolve_estimator
from polytomy.model.composition import Composition
from polytomy.model.scheme_argument import AUTO
from polytomy.persistence.own.binaries import CALIBRATOR_NAMES
from polytomy.persistence.own.estimator_reader import EstimatorReader
from polytomy.persistence.own.estimator_writer import EstimatorWriter
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.final_fields import read_final_option, write_final_option
from polytomy.persistence.own.templates import read_template, write_template
from polytomy.persistence.own.values import NotPlainError, read_value, value_to_json

__all__ = ["read_parameters", "write_parameters"]

#: Parameters that are plain values, and their types if they are not None.
_PLAIN: dict[str, tuple[type, ...]] = {
    "cv": (int, float, str, list, tuple),
    "n_jobs": (int,),
    "random_state": (int,),
    "verbose": (int,),
    "class_weight": (str, dict),
    "memory_budget": (int, float),
    "keep_out_of_fold": (bool,),
    "class_order": (list, tuple),
    "shared_preprocessing": (bool,),
    "reservoir_size": (int,),
}
# More jobs than any machine has cores; joblib would start as many threads as a file says.
_MOST_JOBS = 2**15


def write_parameters(classifier: PolytomyClassifier, writer: EstimatorWriter) -> dict[str, Any]:
    """Return the parameters as JSON; warn about those that cannot be saved."""
    composition: Composition = classifier.composition_
    # What the fitted classifier predicts with; parameters set after the fit do not change it.
    precision, solver = str(composition.bank.dtype), composition.solver
    written: dict[str, Any] = {"solver": solver, "prediction_dtype": precision}
    if not isinstance(solver, str):
        raise ArgumentError(
            Argument("solver", solver),
            " is a function, which cannot be saved. Save "
            'classifier.with_solver("least-squares"), and set the function again after loading.',
        )
    if isinstance(classifier.solver, str) and classifier.solver == AUTO:
        written["is_solver_automatic"] = True
    for name in _PLAIN:
        value = getattr(classifier, name)
        if name == "class_order" and hasattr(value, "tolist"):  # an array or a column of a frame
            value = value.tolist()
        try:
            written[name] = value_to_json(value)
        except NotPlainError:
            warn_caller(
                PolytomyWarning(
                    Argument(name, value),
                    " cannot be saved. A loaded classifier has the default, which only matters if "
                    "it is fitted again.",
                ),
                PolytomyWarning,
            )
    if isinstance(classifier.scheme, str) and not _is_file(classifier.scheme):
        written["scheme"] = classifier.scheme
    if isinstance(classifier.estimator, str):
        written["estimator_text"] = classifier.estimator
    elif classifier.estimator is not None:
        written["estimator"] = write_template(classifier.estimator, writer)
    written["calibration"] = _write_calibration(classifier.calibration, writer)
    written["final_calibration"] = write_final_option(classifier.final_calibration, writer)
    if classifier.models is not None:
        written["models"] = _write_models(classifier, writer)
    return written


def read_parameters(fields: Fields, reader: EstimatorReader, binaries: list[Any]) -> dict[str, Any]:
    """Return the parameters in a file; the scheme only if it is text."""
    parameters: dict[str, Any] = {
        name: fields.text(name) for name in ("solver", "prediction_dtype")
    }
    if "is_solver_automatic" in fields:
        parameters["is_solver_automatic"] = fields.boolean("is_solver_automatic")
    if parameters["prediction_dtype"] not in PRECISIONS:
        raise fields.fault("prediction_dtype", f"one of {', '.join(PRECISIONS)}")
    for name, kinds in _PLAIN.items():
        if name in fields:
            parameters[name] = read_value(fields.raw(name))
            if not isinstance(parameters[name], kinds):
                raise fields.fault(name, f"of type {' or '.join(kind.__name__ for kind in kinds)}")
    if isinstance(parameters.get("cv"), str) and parameters["cv"] != AUTO_FOLDS:
        raise fields.fault("cv", f'"{AUTO_FOLDS}", a number or a list')
    if abs(parameters.get("n_jobs", 0)) > _MOST_JOBS:
        raise fields.fault("n_jobs", f"an integer from {-_MOST_JOBS} to {_MOST_JOBS}")
    if "scheme" in fields:
        parameters["scheme"] = fields.text("scheme")
    if "estimator_text" in fields:
        parameters["estimator"] = _read_estimator_text(fields)
    elif "estimator" in fields:
        parameters["estimator"] = read_template(
            fields.fields("estimator"), reader.read_skops_object
        )
    parameters["calibration"] = _read_calibration(fields, reader)
    parameters["final_calibration"] = read_final_option(fields, reader)
    if "models" in fields:
        parameters["models"] = {}
        for each in fields.all_fields("models"):
            model: Any
            if "binary" in each:
                number = each.integer("binary", least=0, most=len(binaries) - 1)
                model = binaries[number].fitted_estimator
                if model is None:
                    raise each.fault("binary", "a binary with an estimator")
            else:
                model = read_template(each.fields("estimator"), reader.read_skops_object)
            parameters["models"][each.text("name")] = model
    return parameters


def _read_estimator_text(fields: Fields) -> str:
    text = fields.text("estimator_text")
    try:
        resolve_estimator(text)
    except ArgumentError as error:
        raise ModelFileError(f"{fields.where}: {error}") from error
    return text


def _is_file(scheme: str) -> bool:
    """Return whether the text of the option names a file, which may not exist after loading."""
    if scheme in SCHEME_NAMES or "\n" in scheme or "\0" in scheme:
        return False
    try:
        return Path(scheme).is_file()
    except OSError:  # too long for a file name
        return False


def _write_calibration(calibration: Any, writer: EstimatorWriter) -> Any:
    if calibration is None or isinstance(calibration, str):
        return calibration
    kind = CALIBRATOR_NAMES.get(type(calibration))
    return writer.write_with_skops(calibration) if kind is None else {"kind": kind}


def _read_calibration(fields: Fields, reader: EstimatorReader) -> Any:
    if "calibration" not in fields:
        return None
    is_name = isinstance(fields.raw("calibration"), str)
    calibration: Any = fields.raw("calibration")
    if not is_name:
        written = fields.fields("calibration")
        calibration = written.text("kind")
        if calibration == "other":
            calibration = reader.read_skops_object(written)
        elif calibration == "none":
            calibration = None
    try:
        calibrator = make_calibrator(calibration)
    except ArgumentError as error:
        raise ModelFileError(f"{fields.where}: {error}") from error
    return calibration if is_name or not isinstance(calibration, str | None) else calibrator


def _write_models(classifier: PolytomyClassifier, writer: EstimatorWriter) -> list[dict[str, Any]]:
    """Return the models by name. A fitted model that became a binary is written as its index."""
    numbers = {id(binary.fitted_estimator): k for k, binary in enumerate(classifier.binaries_)}
    written = []
    for name, model in (classifier.models or {}).items():
        if id(model) in numbers:
            written.append({"name": name, "binary": numbers[id(model)]})
        else:
            written.append({"name": name, "estimator": write_template(model, writer)})
    return written
