"""Unfitted estimators as JSON: their types and parameters.

Fitted estimators are written with the same parameters; `estimator_reader` reads them with the
functions here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from polytomy.errors import ArgumentError, ModelFileError
from polytomy.learners.specification import estimator_from, specification_of
from polytomy.persistence.own.estimator_kinds import DEEPEST_PIPELINE, SCALER_NAMES, SCALERS
from polytomy.persistence.own.estimator_writer import EstimatorWriter, changed_parameters
from polytomy.persistence.own.fields import Fields, is_finite_number
from polytomy.persistence.own.values import NotPlainError, read_value, value_to_json

__all__ = [
    "check_step_names",
    "estimator_from_fields",
    "read_template",
    "scaler_from_fields",
    "write_template",
]


def write_template(estimator: Any, writer: EstimatorWriter) -> dict[str, Any]:
    """Return an unfitted estimator as JSON; those that are not plain are saved with skops."""
    try:
        return _write_plain(estimator)
    except NotPlainError:
        return writer.write_with_skops(estimator)


def _write_plain(estimator: Any, depth: int = 0) -> dict[str, Any]:
    if type(estimator) in SCALERS:
        changed = value_to_json(changed_parameters(estimator))
        return {"scaler": type(estimator).__name__, "parameters": changed}
    if type(estimator) is Pipeline:
        if changed_parameters(estimator).keys() - {"steps"} or depth >= DEEPEST_PIPELINE:
            raise NotPlainError("the pipeline has options, or is nested too deeply")
        steps = [
            [name, None if step is None or isinstance(step, str) else _write_plain(step, depth + 1)]
            for name, step in estimator.steps
        ]
        return {"pipeline": steps}
    try:
        return {"specification": specification_of(estimator)}
    except ArgumentError as error:
        raise NotPlainError(str(error)) from error


def read_template(
    fields: Fields, read_skops_object: Callable[[Fields], Any], depth: int = 0
) -> Any:
    """Return the unfitted estimator that `write_template` wrote.

    Parameters
    ----------
    fields : the estimator as JSON
    read_skops_object : function that returns the object that a reference points to
    depth : number of pipelines around the estimator
    """
    if "specification" in fields:
        return estimator_from_fields(fields)
    if "scaler" in fields:
        return scaler_from_fields(fields, "scaler")
    if "pipeline" in fields:
        return _read_pipeline_template(fields, read_skops_object, depth)
    estimator = read_skops_object(fields)
    if not isinstance(estimator, BaseEstimator):
        raise ModelFileError(f"{fields.where} is not a scikit-learn estimator")
    return estimator


def _read_pipeline_template(
    fields: Fields, read_skops_object: Callable[[Fields], Any], depth: int
) -> Pipeline:
    if depth >= DEEPEST_PIPELINE:
        raise ModelFileError(f"{fields.where} is nested too deeply")
    steps = []
    for step in fields.items("pipeline"):
        if not (isinstance(step, list) and len(step) == 2 and isinstance(step[0], str)):
            raise fields.fault("pipeline", "a list of steps")
        name, written = step
        inner: Any = "passthrough"
        if written is not None:
            inner_fields = Fields(written, f"a step of {fields.where}")
            inner = read_template(inner_fields, read_skops_object, depth + 1)
        steps.append((name, inner))
    check_step_names([name for name, _ in steps], fields, "pipeline")
    return Pipeline(steps)


def check_step_names(names: list[str], fields: Fields, field: str) -> None:
    """Raise ModelFileError unless a pipeline of scikit-learn could have steps of these names."""
    parameters = Pipeline([("a", "passthrough")]).get_params(deep=False)
    are_valid = all("__" not in name and name not in parameters for name in names)
    if not names or len(set(names)) < len(names) or not are_valid:
        raise fields.fault(field, "a list of steps with different names")


def estimator_from_fields(fields: Fields) -> Any:
    """Return a new estimator of the type and with the parameters of the field "specification"."""
    try:
        return estimator_from(fields.text("specification"), SVC())
    except ArgumentError as error:
        raise ModelFileError(
            f"{fields.where}: {error} The file may come from another version of scikit-learn."
        ) from error


def scaler_from_fields(fields: Fields, field: str) -> Any:
    """Return a new scaler of the type that a field names, with the parameters of "parameters"."""
    kind = SCALER_NAMES.get(fields.text(field))
    if kind is None:
        raise fields.fault(field, f"one of {', '.join(SCALER_NAMES)}")
    parameters = read_value(fields.raw("parameters"))
    expected = f"a dict of parameters of {kind.__name__}"
    if not isinstance(parameters, dict) or not parameters.keys() <= kind().get_params().keys():
        raise fields.fault("parameters", expected)
    scaler: Any = kind(**parameters)
    try:
        scaler._validate_params()
    except ValueError as error:
        raise fields.fault("parameters", expected) from error
    if isinstance(scaler, MinMaxScaler) and not _is_range(scaler.feature_range):
        raise fields.fault("parameters", expected)
    return scaler


def _is_range(bounds: Any) -> bool:
    return len(bounds) == 2 and all(map(is_finite_number, bounds)) and bounds[0] < bounds[1]
