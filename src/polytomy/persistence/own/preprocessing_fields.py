"""Transformers before the binaries, which all binaries share."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from polytomy.persistence.own.estimator_kinds import SCALERS
from polytomy.persistence.own.estimator_reader import EstimatorReader, features_of
from polytomy.persistence.own.estimator_writer import EstimatorWriter
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.templates import check_step_names

__all__ = ["keeps_features", "read_preprocessing", "read_steps", "write_preprocessing"]


def write_preprocessing(pipeline: Pipeline, writer: EstimatorWriter) -> dict[str, Any]:
    """Return the transformers that all binaries share as JSON."""
    steps = [step for _, step in pipeline.steps]
    return {
        "names": [name for name, _ in pipeline.steps],
        "types": [step if isinstance(step, str) else type(step).__name__ for step in steps],
        "steps": [
            None if step is None or isinstance(step, str) else writer.write(step) for step in steps
        ],
    }


def read_preprocessing(fields: Fields, reader: EstimatorReader, n_features: int | None) -> Pipeline:
    """Return the transformers that all binaries share; ModelFileError if they take other features.

    Parameters
    ----------
    fields : what `write_preprocessing` returned
    reader : EstimatorReader
    n_features : number of features of the model, if it is known
    """
    steps = read_steps(fields, reader)
    names = fields.texts("names")
    if len(names) != len(steps):
        raise fields.fault("names", "a name for each step")
    check_step_names(names, fields, "names")
    pipeline = Pipeline(list(zip(names, steps, strict=True)))
    taken = {features_of(step) for step in steps} if keeps_features(pipeline) else set()
    if not {features_of(pipeline), *taken} <= {None, n_features}:
        raise fields.fault("steps", "for the number of features of the model")
    return pipeline


def read_steps(fields: Fields, reader: EstimatorReader) -> list[Any]:
    """Return the fitted transformers in the field "steps"; null is a step that does nothing."""
    steps: list[Any] = [
        "passthrough" if each is None else reader.read(Fields(each, "a step of the pipeline"))
        for each in fields.items("steps")
    ]
    if not all(isinstance(step, str) or hasattr(step, "transform") for step in steps):
        raise fields.fault("steps", "a list of transformers")
    return steps


def keeps_features(pipeline: Pipeline) -> bool:
    """Return whether the output of transformers has the features of their input."""
    return all(isinstance(step, str) or type(step) in SCALERS for _, step in pipeline.steps)
