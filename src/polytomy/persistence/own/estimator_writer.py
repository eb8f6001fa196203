"""Writes fitted estimators as plain data: machines, linear models, scalers, pipelines of them.

What is none of these is left to skops. An estimator's parameters are kept as the specification
that a control text would have, so reading them never evaluates anything.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from polytomy.binary import specification_of
from polytomy.binary.borders import BorderMachine
from polytomy.errors import ArgumentError
from polytomy.persistence.own.estimator_kinds import LINEAR, SCALERS
from polytomy.persistence.own.number_arrays import NumberWriter
from polytomy.persistence.own.values import (
    NotPlainError,
    labels_to_json,
    value_to_json,
)
from polytomy.persistence.own.vector_pools import SupportPools, is_machine
from polytomy.svm.kernel_functions import KernelFunction
from polytomy.svm.machines import KernelMachine

__all__ = ["EstimatorWriter", "machines_in"]


def machines_in(estimators: Sequence[Any]) -> list[Any]:
    """Return the support vector machines among estimators, and at the ends of pipelines."""
    ends = [each.steps[-1][1] if type(each) is Pipeline else each for each in estimators]
    return [each for each in ends if is_machine(each)]


class EstimatorWriter:
    """Writes fitted estimators.

    Attributes
    ----------
    others : list of objects that are no plain data

    Parameters
    ----------
    numbers : where arrays are kept
    pools : where the machines' vectors are
    """

    def __init__(self, numbers: NumberWriter, pools: SupportPools) -> None:
        self.others: list[Any] = []
        self._numbers, self._pools = numbers, pools

    def write(self, estimator: Any) -> dict[str, Any]:
        """Return an estimator as JSON; what is no plain data is kept in `others`."""
        try:
            return self._plain(estimator)
        except (NotPlainError, ArgumentError):
            return self.write_other(estimator)

    def write_other(self, thing: Any) -> dict[str, Any]:
        """Return the reference to something that is left to skops."""
        self.others.append(thing)
        return {"kind": "other", "number": len(self.others) - 1}

    def _plain(self, estimator: Any) -> dict[str, Any]:
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
            return self._pipeline(estimator)
        raise NotPlainError(f"{kind.__name__} is no plain data")

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
            raise NotPlainError("an averaged model has more to keep")
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
            "parameters": value_to_json(_changed_parameters(scaler)),
            "n_features": int(scaler.n_features_in_),
            "n_samples": value_to_json(scaler.n_samples_seen_),
            "arrays": {
                name: self._numbers.floats(array)
                for name, array in arrays.items()
                if array is not None
            },
            **_names(scaler),
        }

    def _pipeline(self, pipeline: Pipeline) -> dict[str, Any]:
        if _changed_parameters(pipeline).keys() - {"steps"}:
            raise NotPlainError("the pipeline has options")
        steps = []
        for name, step in pipeline.steps:
            is_empty = step is None or isinstance(step, str)
            steps.append({"name": name, "step": None if is_empty else self._plain(step)})
        return {"kind": "pipeline", "steps": steps}


def _identity(estimator: Any) -> dict[str, Any]:
    """Return what tells an estimator's kind, parameters and labels."""
    seed = getattr(estimator, "random_state", None)
    if seed is not None:
        # Each binary has its own; without it they share a specification, which is read once.
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


def _changed_parameters(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the parameters that are not those of a new object."""
    if isinstance(estimator, Pipeline):
        usual = Pipeline([("a", "passthrough")]).get_params(deep=False)
    else:
        usual = type(estimator)().get_params(deep=False)
    given = estimator.get_params(deep=False)
    return {
        name: value
        for name, value in given.items()
        if value is not usual[name] and value != usual[name]
    }
