"""Writes fitted SVMs, linear models, scalers and pipelines of them as JSON and arrays.

Any other estimator is saved with skops. Parameters of estimators are written as the specification
that a control text would have, so reading them never evaluates code.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from polytomy.errors import ArgumentError
from polytomy.learners.borders import BorderMachine
from polytomy.learners.specification import specification_of
from polytomy.learners.svm.kernels import KernelFunction
from polytomy.learners.svm.machines import KernelMachine
from polytomy.persistence.own.estimator_kinds import DEEPEST_PIPELINE, LINEAR, SCALERS
from polytomy.persistence.own.number_arrays import NumberWriter
from polytomy.persistence.own.values import (
    NotPlainError,
    labels_to_json,
    value_to_json,
)
from polytomy.persistence.own.vector_pools import SupportPools, is_machine

__all__ = ["EstimatorWriter", "changed_parameters", "machines_in"]


def machines_in(estimators: Sequence[Any]) -> list[Any]:
    """Return the estimators, or last steps of pipelines, that are support vector machines."""
    return [last for each in estimators if is_machine(last := _last_pipeline_step(each))]


def _last_pipeline_step(estimator: Any) -> Any:
    while type(estimator) is Pipeline:
        estimator = estimator.steps[-1][1]
    return estimator


class EstimatorWriter:
    """Writes fitted estimators as JSON.

    Attributes
    ----------
    skops_objects : list of objects to save with skops

    Parameters
    ----------
    numbers : NumberWriter that stores the arrays
    pools : SupportPools with the vectors of all machines that will be written
    """

    def __init__(self, numbers: NumberWriter, pools: SupportPools) -> None:
        self.skops_objects: list[Any] = []
        self._numbers, self._pools = numbers, pools

    def write(self, estimator: Any) -> dict[str, Any]:
        """Return an estimator as JSON; add it to `skops_objects` if it is not plain arrays."""
        try:
            return self._plain(estimator)
        except (NotPlainError, ArgumentError):
            return self.write_with_skops(estimator)

    def write_with_skops(self, instance: Any) -> dict[str, Any]:
        """Add an object to `skops_objects` and return the reference to it."""
        self.skops_objects.append(instance)
        return {"kind": "other", "number": len(self.skops_objects) - 1}

    def _plain(self, estimator: Any, depth: int = 0) -> dict[str, Any]:
        kind = type(estimator)
        if is_machine(estimator):
            return self._machine(estimator)
        if isinstance(estimator, BorderMachine):
            return {
                "kind": "borders",
                "borders": self._numbers.matrix(estimator.borders),
                "gradients": self._numbers.matrix(estimator.gradients),
            }
        if kind in LINEAR:
            return self._linear(estimator)
        if kind in SCALERS:
            return self._scaler(estimator)
        if kind is Pipeline:
            return self._pipeline(estimator, depth)
        raise NotPlainError(f"{kind.__name__} is not saved as plain arrays")

    def _machine(self, machine: Any) -> dict[str, Any]:
        is_own = type(machine) is KernelMachine
        kernel: Any = machine.kernel if is_own else KernelFunction.of(machine)
        number, rows = self._pools.place(machine)
        coefficients: Any = machine.dual_coef_
        is_sparse: bool = issparse(coefficients)
        coefficients = coefficients.toarray() if is_sparse else coefficients
        written = {
            "kind": "machine",
            "kernel": [kernel.kind, kernel.gamma, kernel.degree, kernel.coef0],
            "pool": number,
            "rows": self._numbers.integers(rows),
            "coefficients": self._numbers.floats(np.ravel(coefficients)),
            "intercept": float(np.ravel(machine.intercept_)[0]),
        }
        return written if is_own else {**written, **_identity(machine)}

    def _linear(self, model: Any) -> dict[str, Any]:
        if getattr(model, "average", False):
            raise NotPlainError("an averaged model has more attributes")
        coefficients = model.coef_
        if issparse(coefficients):
            raise NotPlainError("sparse coefficients are rare")
        return {
            "kind": "linear",
            "coefficients": self._numbers.floats(coefficients),
            "intercept": self._numbers.floats(np.ravel(model.intercept_)),
            "n_updates": float(getattr(model, "t_", 0.0)),
            **_identity(model),
        }

    def _scaler(self, scaler: Any) -> dict[str, Any]:
        arrays = {name: getattr(scaler, name) for name in SCALERS[type(scaler)]}
        return {
            "kind": "scaler",
            "type": type(scaler).__name__,
            "parameters": value_to_json(changed_parameters(scaler)),
            "n_features": int(scaler.n_features_in_),
            "n_samples": value_to_json(scaler.n_samples_seen_),
            "arrays": {
                name: self._numbers.floats(array)
                for name, array in arrays.items()
                if array is not None
            },
            **_names(scaler),
        }

    def _pipeline(self, pipeline: Pipeline, depth: int) -> dict[str, Any]:
        if changed_parameters(pipeline).keys() - {"steps"} or depth >= DEEPEST_PIPELINE:
            raise NotPlainError("the pipeline has options, or is nested too deeply")
        steps = []
        for name, step in pipeline.steps:
            is_empty = step is None or isinstance(step, str)
            written = None if is_empty else self._plain(step, depth + 1)
            steps.append({"name": name, "step": written})
        return {"kind": "pipeline", "steps": steps}


def _identity(estimator: Any) -> dict[str, Any]:
    """Return the type, parameters and labels of an estimator."""
    seed = getattr(estimator, "random_state", None)
    if seed is not None:
        # Seeds differ between binaries. Without them, binaries share a specification, read once.
        estimator = copy.copy(estimator)
        estimator.random_state = None
    return {
        "specification": specification_of(estimator),
        "random_state": value_to_json(seed),
        "classes": labels_to_json(estimator.classes_),
        **_names(estimator),
    }


def _names(estimator: Any) -> dict[str, Any]:
    names = getattr(estimator, "feature_names_in_", None)
    return {} if names is None else {"feature_names": [str(name) for name in names]}


def changed_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the parameters that differ from the defaults."""
    if isinstance(estimator, Pipeline):
        defaults = Pipeline([("a", "passthrough")]).get_params(deep=False)
    else:
        defaults = type(estimator)().get_params(deep=False)
    actual = estimator.get_params(deep=False)
    return {
        name: value
        for name, value in actual.items()
        if value is not defaults[name] and value != defaults[name]
    }
