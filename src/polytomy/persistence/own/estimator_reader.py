"""Reads fitted estimators from plain data; whatever is not as it must be is a ModelFileError."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.linear_model import (
    RidgeClassifier,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer, StandardScaler
from sklearn.svm import SVC, NuSVC

from polytomy.binary import estimator_from
from polytomy.binary.borders import BorderMachine
from polytomy.errors import ArgumentError, ModelFileError
from polytomy.persistence.own.estimator_kinds import LINEAR, SCALER_NAMES, SCALERS
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.number_arrays import NumberReader
from polytomy.persistence.own.values import (
    read_labels,
    read_value,
)
from polytomy.svm.kernel_functions import KernelFunction
from polytomy.svm.machines import KernelMachine, VectorPool

__all__ = ["EstimatorReader", "features_of"]


class EstimatorReader:
    """Reads what an EstimatorWriter wrote; what is not so is a ModelFileError.

    Parameters
    ----------
    numbers : where arrays are kept
    pools : the matrices of vectors
    others : what skops has read
    """

    def __init__(self, numbers: NumberReader, pools: Sequence[Any], others: Sequence[Any]) -> None:
        self._numbers, self._others = numbers, others
        self._pools = [VectorPool(matrix) for matrix in pools]
        self._templates: dict[str, Any] = {}

    def read(self, fields: Fields) -> Any:
        """Return an estimator."""
        readers = {
            "machine": self._machine,
            "borders": self._borders,
            "linear": self._linear,
            "scaler": self._scaler,
            "pipeline": self._pipeline,
            "other": self.read_other,
        }
        kind = fields.text("kind")
        if kind not in readers:
            raise fields.fault("kind", f"one of {', '.join(readers)}")
        return readers[kind](fields)

    def read_other(self, fields: Fields) -> Any:
        """Return what skops has read."""
        return self._others[fields.integer("number", least=0, most=len(self._others) - 1)]

    def _machine(self, fields: Fields) -> Any:
        number = fields.integer("pool", least=0, most=len(self._pools) - 1)
        pool = self._pools[number]
        rows = self._numbers.integers(fields.fields("rows"), below=pool.vectors.shape[0])
        coefficients = self._numbers.floats(fields.fields("coefficients"), n_dimensions=1)
        if len(rows) != len(coefficients):
            raise fields.fault("coefficients", "as long as its rows")
        machine = KernelMachine(
            _read_kernel(fields),
            pool,
            rows.astype(np.intp),
            coefficients.astype(np.float64),
            fields.number("intercept"),
        )
        if "specification" not in fields:
            return machine
        estimator = self._identity(fields, (SVC, NuSVC))
        if not len(rows):
            raise fields.fault("rows", "one support vector or more")
        # All that scikit-learn sets in `fit`, without what it sets when an object is made.
        for name, value in vars(machine.to_svc()).items():
            if name not in vars(estimator):
                setattr(estimator, name, value)
        return _with_labels(estimator, fields, machine.n_features_in_)

    def _identity(self, fields: Fields, kinds: tuple[type, ...]) -> Any:
        """Return a new estimator of the kind and with the parameters that a file tells."""
        specification = fields.text("specification")
        if specification not in self._templates:
            try:
                self._templates[specification] = estimator_from(specification, SVC())
            except ArgumentError as error:
                raise ModelFileError(
                    f"{fields.where}: {error} The file may come from another version of "
                    "scikit-learn."
                ) from error
        # Thousands of binaries have the same parameters, and nothing in those can be changed.
        estimator = copy.copy(self._templates[specification])
        if type(estimator) not in kinds:
            raise fields.fault("specification", f"one of {', '.join(k.__name__ for k in kinds)}")
        if "random_state" in fields:
            estimator.random_state = fields.integer("random_state", least=0)
        return estimator

    def _borders(self, fields: Fields) -> BorderMachine:
        parts = [
            self._numbers.floats(fields.fields(name), n_dimensions=2)
            for name in ("borders", "gradients")
        ]
        return BorderMachine(*parts)

    def _linear(self, fields: Fields) -> Any:
        model = self._identity(fields, LINEAR)
        model.coef_ = self._numbers.floats(fields.fields("coefficients"))
        model.intercept_ = self._numbers.floats(fields.fields("intercept"), n_dimensions=1)
        if not model.coef_.size or model.coef_.shape[:-1] not in ((), (1,)):
            raise fields.fault("coefficients", "a row")
        if model.intercept_.shape != (1,):
            raise fields.fault("intercept", "one number")
        model.t_ = fields.number("n_updates")
        if not model.t_:
            del model.t_
        _with_labels(model, fields, model.coef_.shape[-1])
        if isinstance(model, RidgeClassifier):
            model._label_binarizer = _binarizer_of(
                model.classes_.dtype.str, tuple(model.classes_.tolist())
            )
        return model

    def _scaler(self, fields: Fields) -> Any:
        kind = SCALER_NAMES.get(fields.text("type"))
        if kind is None:
            raise fields.fault("type", f"one of {', '.join(SCALER_NAMES)}")
        scaler = kind(**_read_parameters(fields, kind))
        n_features = fields.integer("n_features", least=1)
        arrays = fields.fields("arrays")
        for name in SCALERS[kind]:
            if name not in arrays:
                setattr(scaler, name, None)
                continue
            array = self._numbers.floats(arrays.fields(name), n_dimensions=1)
            if len(array) != n_features:
                raise arrays.fault(name, f"of {n_features} features")
            setattr(scaler, name, array)
        needed = set(SCALERS[kind])
        if kind is StandardScaler:
            # Without means, or without deviations, it learns less.
            needed = {"scale_", "var_"} if scaler.with_std else set()
            needed |= {"mean_"} if scaler.with_mean else set()
        missing = sorted(name for name in needed if getattr(scaler, name) is None)
        if missing:
            raise arrays.fault(missing[0], "there")
        if scaler.scale_ is not None and not np.all(scaler.scale_):
            raise arrays.fault("scale_", "made of numbers other than zero")
        fields.number("n_samples")
        scaler.n_samples_seen_ = fields.raw("n_samples")
        return _with_names(scaler, fields, n_features)

    def _pipeline(self, fields: Fields) -> Pipeline:
        steps: list[tuple[str, Any]] = []
        for each in fields.all_fields("steps"):
            step = self.read(each.fields("step")) if "step" in each else "passthrough"
            if isinstance(step, Pipeline):
                raise each.fault("step", "one estimator")
            steps.append((each.text("name"), step))
        if not steps or len({name for name, _ in steps}) < len(steps):
            raise fields.fault("steps", "a list of steps with different names")
        if len({n for _, step in steps if (n := features_of(step)) is not None}) > 1:
            raise fields.fault("steps", "a list of steps for one number of features")
        return Pipeline(steps)


def features_of(estimator: Any) -> int | None:
    """Return the number of features that an estimator takes; None where it does not tell."""
    return getattr(estimator, "n_features_in_", None)


def _with_labels(estimator: Any, fields: Fields, n_features: int) -> Any:
    estimator.classes_ = read_labels(fields.fields("classes"))
    if len(estimator.classes_) != 2:
        raise fields.fault("classes", "two labels")
    return _with_names(estimator, fields, n_features)


def _with_names(estimator: Any, fields: Fields, n_features: int) -> Any:
    estimator.n_features_in_ = n_features
    if "feature_names" in fields:
        names = fields.texts("feature_names")
        if len(names) != n_features:
            raise fields.fault("feature_names", f"{n_features} names")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return estimator


def _read_kernel(fields: Fields) -> KernelFunction:
    match fields.items("kernel"):
        case [str(kind), int() | float() as gamma, int(degree), int() | float() as coef0] if (
            np.isfinite([gamma, coef0]).all() and 0 <= degree < 2**31
        ):
            try:
                return KernelFunction(kind, gamma, degree, coef0)
            except ArgumentError as error:
                raise ModelFileError(f"{fields.where}: {error}") from error
    raise fields.fault("kernel", "a kernel")


def _read_parameters(fields: Fields, kind: type) -> dict[str, Any]:
    parameters = read_value(fields.raw("parameters"))
    known = kind().get_params(deep=False)
    if not isinstance(parameters, dict) or not parameters.keys() <= known.keys():
        raise fields.fault("parameters", f"a dict of parameters of {kind.__name__}")
    return parameters


@lru_cache(maxsize=64)
def _binarizer_of(kind: str, classes: tuple[Any, ...]) -> LabelBinarizer:
    """Return what a ridge classifier keeps of its two labels."""
    return LabelBinarizer(neg_label=-1).fit(np.array(classes, dtype=kind))
