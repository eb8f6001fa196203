"""Reads the fitted estimators that `EstimatorWriter` wrote; any error is a ModelFileError."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer, StandardScaler
from sklearn.svm import SVC, NuSVC

from polytomy.errors import ArgumentError, ModelFileError
from polytomy.learners.borders import BorderMachine
from polytomy.learners.svm.kernels import KernelFunction
from polytomy.learners.svm.machines import KernelMachine, VectorPool
from polytomy.learners.trained import is_fitted
from polytomy.persistence.own.estimator_kinds import DEEPEST_PIPELINE, LINEAR, SCALERS
from polytomy.persistence.own.fields import Fields, is_finite_number
from polytomy.persistence.own.number_arrays import NumberReader
from polytomy.persistence.own.templates import (
    check_step_names,
    estimator_from_fields,
    scaler_from_fields,
)
from polytomy.persistence.own.values import read_labels
from polytomy.persistence.own.vector_pools import is_machine

__all__ = ["EstimatorReader", "features_of"]

_LARGEST_SEED = 2**32 - 1
# LIBSVM takes the degree of a kernel as a C int.
_LARGEST_DEGREE = 2**31 - 1


class EstimatorReader:
    """Reads fitted estimators.

    Parameters
    ----------
    numbers : NumberReader with the arrays
    pools : list of arrays or CSR matrices, the support vectors of machines
    skops_objects : list of objects that were saved with skops
    """

    def __init__(
        self, numbers: NumberReader, pools: Sequence[Any], skops_objects: Sequence[Any]
    ) -> None:
        self._numbers, self._skops_objects = numbers, skops_objects
        self._pools = [VectorPool(matrix) for matrix in pools]
        self._templates: dict[str, Any] = {}

    def read(self, fields: Fields) -> Any:
        """Return an estimator."""
        if fields.raw("kind") == "other":
            estimator = self.read_skops_object(fields)
            if not is_fitted(estimator):
                raise ModelFileError(f"{fields.where} is not fitted")
            return estimator
        return self._read_plain(fields, 0)

    def read_skops_object(self, fields: Fields) -> Any:
        """Return the object saved with skops that a reference points to."""
        last = len(self._skops_objects) - 1
        return self._skops_objects[fields.integer("number", least=0, most=last)]

    def _read_plain(self, fields: Fields, depth: int) -> Any:
        kind = fields.text("kind")
        if kind == "pipeline":
            return self._pipeline(fields, depth)
        readers = {
            "machine": self._machine,
            "borders": self._borders,
            "linear": self._linear,
            "scaler": self._scaler,
        }
        if kind not in readers:
            raise fields.fault("kind", f"one of {', '.join((*readers, 'pipeline', 'other'))}")
        return readers[kind](fields)

    def _machine(self, fields: Fields) -> Any:
        pool = self._pools[fields.integer("pool", least=0, most=len(self._pools) - 1)]
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
        estimator = self._new_estimator(fields, (SVC, NuSVC))
        if not len(rows):
            raise fields.fault("rows", "one support vector or more")
        # Copy what `fit` sets, but not the parameters.
        for name, value in vars(machine.to_svc()).items():
            if name not in vars(estimator):
                setattr(estimator, name, value)
        is_same_kernel = is_machine(estimator) and KernelFunction.of(estimator) == machine.kernel
        if not is_same_kernel or estimator.degree > _LARGEST_DEGREE:
            raise fields.fault("specification", "a support vector machine with this kernel")
        return _set_labels(estimator, fields, machine.n_features_in_)

    def _new_estimator(self, fields: Fields, kinds: tuple[type, ...]) -> Any:
        """Return a new estimator, of one of these types, with the parameters in the file."""
        specification = fields.text("specification")
        if specification not in self._templates:
            self._templates[specification] = estimator_from_fields(fields)
        # Thousands of binaries have the same parameters, which are never changed in place.
        estimator = copy.copy(self._templates[specification])
        if type(estimator) not in kinds:
            raise fields.fault("specification", f"one of {', '.join(k.__name__ for k in kinds)}")
        if "random_state" in fields:
            estimator.random_state = fields.integer("random_state", least=0, most=_LARGEST_SEED)
        return estimator

    def _borders(self, fields: Fields) -> BorderMachine:
        parts = [
            self._numbers.floats(fields.fields(name), n_dimensions=2)
            for name in ("borders", "gradients")
        ]
        try:
            return BorderMachine(*parts)
        except ArgumentError as error:
            raise ModelFileError(f"{fields.where}: {error}") from error

    def _linear(self, fields: Fields) -> Any:
        model = self._new_estimator(fields, LINEAR)
        model.coef_ = self._numbers.floats(fields.fields("coefficients"))
        model.intercept_ = self._numbers.floats(fields.fields("intercept"), n_dimensions=1)
        n_features = model.coef_.size
        if not n_features or model.coef_.shape not in ((n_features,), (1, n_features)):
            raise fields.fault("coefficients", "a row")
        if model.intercept_.shape != (1,):
            raise fields.fault("intercept", "one number")
        model.t_ = fields.number("n_updates")
        if not model.t_:
            del model.t_
        return _set_labels(model, fields, n_features)

    def _scaler(self, fields: Fields) -> Any:
        scaler = scaler_from_fields(fields, "type")
        kind = type(scaler)
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
            needed = {"scale_", "var_"} if scaler.with_std else set()
            needed |= {"mean_"} if scaler.with_mean else set()
        missing = sorted(name for name in needed if getattr(scaler, name) is None)
        if missing:
            raise ModelFileError(f"{missing[0]} of {arrays.where} is missing")
        if scaler.scale_ is not None and not np.all(scaler.scale_):
            raise arrays.fault("scale_", "free of zeros")
        fields.number("n_samples")
        scaler.n_samples_seen_ = fields.raw("n_samples")
        return _with_names(scaler, fields, n_features)

    def _pipeline(self, fields: Fields, depth: int) -> Pipeline:
        if depth >= DEEPEST_PIPELINE:
            raise ModelFileError(f"{fields.where} is nested too deeply")
        steps: list[tuple[str, Any]] = []
        for each in fields.all_fields("steps"):
            step: Any = "passthrough"
            if "step" in each:
                step = self._read_plain(each.fields("step"), depth + 1)
            steps.append((each.text("name"), step))
        check_step_names([name for name, _ in steps], fields, "steps")
        if not all(_is_transformer(step) for _, step in steps[:-1]):
            raise fields.fault("steps", "a list of scalers that ends in a classifier")
        if len({n for _, step in steps if (n := features_of(step)) is not None}) > 1:
            raise fields.fault("steps", "a list of steps for one number of features")
        return Pipeline(steps)


def features_of(estimator: Any) -> int | None:
    """Return the number of features that an estimator expects; None if it is unknown."""
    if isinstance(estimator, Pipeline):
        first = next((step for _, step in estimator.steps if not isinstance(step, str)), None)
        return features_of(first)
    return getattr(estimator, "n_features_in_", None)


def _is_transformer(step: Any) -> bool:
    return isinstance(step, str) or hasattr(step, "transform")


def _set_labels(estimator: Any, fields: Fields, n_features: int) -> Any:
    classes = read_labels(fields.fields("classes"))
    if len(classes) != 2:
        raise fields.fault("classes", "two labels")
    if isinstance(estimator, RidgeClassifier):
        try:
            estimator._label_binarizer = _binarizer_of(classes.dtype.str, tuple(classes.tolist()))
        except ValueError as error:
            raise fields.fault("classes", "labels of a RidgeClassifier") from error
    # Before scikit-learn 1.8, the classes of a RidgeClassifier are those of its binarizer.
    if not isinstance(getattr(type(estimator), "classes_", None), property):
        estimator.classes_ = classes
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
        case [str(kind), gamma, int(degree), coef0] if is_finite_number(gamma) and is_finite_number(
            coef0
        ):
            try:
                return KernelFunction(kind, gamma, degree, coef0)
            except ArgumentError as error:
                raise ModelFileError(f"{fields.where}: {error}") from error
    raise fields.fault("kernel", "a kernel with its gamma, degree and coef0")


@lru_cache(maxsize=64)
def _binarizer_of(kind: str, classes: tuple[Any, ...]) -> LabelBinarizer:
    """Return the label binarizer that a fitted RidgeClassifier holds."""
    return LabelBinarizer(neg_label=-1).fit(np.array(classes, dtype=kind))
