"""Estimators of scikit-learn as states: their parameters, and the arrays that they learn.

Support vector machines of two classes, linear models of two classes, scalers, and pipelines of
these are plain. Any other estimator is saved with skops.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.linear_model import (
    LogisticRegression,
    PassiveAggressiveClassifier,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer, MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from polytomy.learners.svm.kernels import validate_parameters
from polytomy.learners.svm.machines import KernelMachine, kernel_of, merge_vectors, share_vectors
from polytomy.states import State, find_kind_of, is_plain, register_kind

LINEAR = (
    LogisticRegression,
    LinearSVC,
    SGDClassifier,
    RidgeClassifier,
    Perceptron,
    PassiveAggressiveClassifier,
)
#: Scalers and the arrays that they learn.
SCALERS: dict[type, tuple[str, ...]] = {
    StandardScaler: ("mean_", "var_", "scale_"),
    MinMaxScaler: ("min_", "scale_", "data_min_", "data_max_", "data_range_"),
    MaxAbsScaler: ("max_abs_", "scale_"),
}
_LARGEST_SEED = 2**32 - 1


def features_of(estimator: Any) -> int | None:
    """Return the number of features that an estimator expects; None if it is unknown."""
    if isinstance(estimator, Pipeline):
        first = next((step for _, step in estimator.steps if not isinstance(step, str)), None)
        return features_of(first)
    return getattr(estimator, "n_features_in_", None)


@lru_cache(maxsize=64)
def _default_parameters(type_: type) -> dict[str, Any]:
    """Return the parameters of an estimator of scikit-learn, except its seed."""
    estimator: Any = type_([("a", "passthrough")]) if type_ is Pipeline else type_()
    parameters: dict[str, Any] = estimator.get_params(deep=False)
    parameters.pop("random_state", None)
    return parameters


def _parameters_state(estimator: Any) -> dict[str, Any] | None:
    """Return the parameters that are not at their defaults; None if they are not plain."""
    changed = {}
    type_: Any = type(estimator)
    for name, default in _default_parameters(type_).items():
        value = getattr(estimator, name)
        if value is not default and (type(value) is not type(default) or value != default):
            changed[name] = value
    seed = getattr(estimator, "random_state", None)
    if not is_plain(changed) or not is_plain(seed):
        return None
    # Seeds differ between binaries. Without them, binaries have the same parameters.
    return {"parameters": changed, "seed": seed}


class _Parameters(dict[str, Any]):
    """Parameters as the key of a cache; 1, 1.0 and True are different values."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(repr(self))

    def __eq__(self, other: object) -> bool:
        return repr(self) == repr(other)


@lru_cache(maxsize=64)
def _check_parameters(type_: type, parameters: _Parameters) -> Any:
    """Return an estimator with parameters, or raise ValueError."""
    unknown = parameters.keys() - _default_parameters(type_).keys()
    if unknown:
        raise ValueError(
            f"{type_.__name__} has no parameter {min(unknown)}. The file may come from another "
            "version of scikit-learn."
        )
    estimator: Any = type_(**parameters)
    validate_parameters(estimator)
    if isinstance(estimator, MinMaxScaler):
        low, high = estimator.feature_range
        if not float(low) < float(high):
            raise ValueError("feature_range is not two ascending numbers")
    return estimator


def _new_estimator(type_: type, state: State) -> Any:
    """Return an unfitted estimator with the parameters of a state."""
    parameters = state.value("parameters")
    if not isinstance(parameters, dict) or not all(isinstance(name, str) for name in parameters):
        raise state.fault("parameters", "a dict of parameters")
    # Thousands of binaries have the same parameters, which are never changed in place.
    estimator = copy.copy(_check_parameters(type_, _Parameters(parameters)))
    if "seed" in state:
        estimator.random_state = state.integer("seed", most=_LARGEST_SEED)
    return estimator


def _names_state(estimator: Any) -> dict[str, Any]:
    names = getattr(estimator, "feature_names_in_", None)
    return {} if names is None else {"feature_names": [str(name) for name in names]}


def _set_features(estimator: Any, state: State, n_features: int) -> Any:
    estimator.n_features_in_ = n_features
    if "feature_names" in state:
        names = state.texts("feature_names")
        if len(names) != n_features:
            raise state.fault("feature_names", f"{n_features} names")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return estimator


def _linear_state(model: Any) -> dict[str, Any] | None:
    parameters = _parameters_state(model)
    if parameters is None or not hasattr(model, "coef_"):
        return parameters
    is_averaged = bool(getattr(model, "average", False))
    if is_averaged or len(model.classes_) != 2 or issparse(model.coef_):
        return None
    return {
        **parameters,
        "coefficients": model.coef_,
        "intercept": np.ravel(model.intercept_),
        "n_updates": float(model.t_) if hasattr(model, "t_") else None,
        "classes": model.classes_,
        **_names_state(model),
    }


def _read_linear(type_: type, state: State) -> Any:
    model = _new_estimator(type_, state)
    if "coefficients" not in state:
        return model
    n_dimensions = getattr(state.value("coefficients"), "ndim", 2)
    shape = (1, None)[-n_dimensions:] if n_dimensions in (1, 2) else (1, None)
    # scikit-learn fits some models in single precision, and then also predicts in it.
    model.coef_ = state.floats("coefficients", shape, dtype=None)
    if not model.coef_.size:
        raise state.fault("coefficients", "a row of numbers")
    model.intercept_ = state.floats("intercept", (1,), dtype=None)
    if "n_updates" in state:
        model.t_ = state.number("n_updates", least=0.0)
    set_classes(model, state.labels("classes", 2))
    return _set_features(model, state, model.coef_.size)


def set_classes(estimator: Any, classes: Any) -> None:
    """Set the classes of a fitted linear model."""
    if isinstance(estimator, RidgeClassifier):
        estimator._label_binarizer = _binarizer_of(classes.dtype.str, tuple(classes.tolist()))
    # Before scikit-learn 1.8, the classes of a RidgeClassifier are those of its binarizer.
    if not isinstance(getattr(type(estimator), "classes_", None), property):
        estimator.classes_ = classes


@lru_cache(maxsize=64)
def _binarizer_of(type_: str, classes: tuple[Any, ...]) -> LabelBinarizer:
    """Return the label binarizer that a fitted RidgeClassifier holds."""
    return LabelBinarizer(neg_label=-1).fit(np.array(classes, dtype=type_))


class _SharedSvc(NamedTuple):
    """A fitted SVC or NuSVC, and the same as a machine whose vectors may be shared."""

    svc: Any
    machine: KernelMachine


class _SharedNuSvc(_SharedSvc):
    """The same for a NuSVC, which is another kind."""


_SHARED = {SVC: _SharedSvc, NuSVC: _SharedNuSvc}


def share_support_vectors(estimators: Iterable[Any]) -> dict[int, Any]:
    """Return what to save in place of machines, by their ids: machines that share their vectors.

    Parameters
    ----------
    estimators : fitted estimators of any kind, or pipelines; only machines are replaced
    """
    machines: dict[int, KernelMachine] = {}
    svcs: dict[int, tuple[Any, KernelMachine]] = {}
    for estimator in estimators:
        last = estimator
        while type(last) is Pipeline:
            last = last.steps[-1][1]
        if isinstance(last, KernelMachine):
            machines[id(last)] = last
        elif (machine := KernelMachine.of(last)) is not None:
            svcs[id(last)] = last, machine
    shared: dict[int, Any] = dict(zip(machines, share_vectors([*machines.values()]), strict=True))
    merged = merge_vectors([machine for _, machine in svcs.values()])
    for (key, (svc, _)), machine in zip(svcs.items(), merged, strict=True):
        shared[key] = _SHARED[type(svc)](svc, machine)
    return shared


def _svc_state(svc: Any) -> dict[str, Any] | None:
    if not hasattr(svc, "support_"):
        return _parameters_state(svc)
    machine = KernelMachine.of(svc)
    return None if machine is None else _shared_state(_SharedSvc(svc, machine))


def _shared_state(shared: _SharedSvc) -> dict[str, Any] | None:
    parameters = _parameters_state(shared.svc)
    if parameters is None:
        return None
    names = _names_state(shared.svc)
    return {**parameters, "machine": shared.machine, "classes": shared.svc.classes_, **names}


def _read_svc(type_: type, state: State) -> Any:
    svc = _new_estimator(type_, state)
    if "machine" not in state:
        return svc
    machine = state.part("machine", "estimator")
    if not isinstance(machine, KernelMachine) or not len(machine.support_):
        raise state.fault("machine", "a machine with one support vector or more")
    # Copy what `fit` sets, but not the parameters.
    for name, value in vars(machine.to_svc()).items():
        if name not in vars(svc):
            setattr(svc, name, value)
    if kernel_of(svc) != machine.kernel:
        raise state.fault("parameters", "those of a machine with this kernel")
    svc.classes_ = state.labels("classes", 2)
    return _set_features(svc, state, machine.n_features_in_)


def _scaler_state(scaler: Any) -> dict[str, Any] | None:
    parameters = _parameters_state(scaler)
    if parameters is None or not hasattr(scaler, "n_features_in_"):
        return parameters
    n_samples: Any = scaler.n_samples_seen_
    if np.ndim(n_samples):
        return None  # features with missing values
    return {
        **parameters,
        "n_features": int(scaler.n_features_in_),
        "n_samples": np.asarray(n_samples).item(),
        **{name: getattr(scaler, name) for name in SCALERS[type(scaler)]},
        **_names_state(scaler),
    }


def _read_scaler(type_: type, state: State) -> Any:
    scaler = _new_estimator(type_, state)
    if "n_features" not in state:
        return scaler
    n_features = state.integer("n_features", least=1)
    needed = set(SCALERS[type_])
    if type_ is StandardScaler:
        needed = {"scale_", "var_"} if scaler.with_std else set()
        needed |= {"mean_"} if scaler.with_mean else set()
    for name in SCALERS[type_]:
        is_there = name in needed or name in state
        values = state.floats(name, (n_features,), dtype=None) if is_there else None
        setattr(scaler, name, values)
    if scaler.scale_ is not None and not np.all(scaler.scale_):
        raise state.fault("scale_", "free of zeros")
    state.number("n_samples", least=0)
    scaler.n_samples_seen_ = state.value("n_samples")
    return _set_features(scaler, state, n_features)


def _pipeline_state(pipeline: Pipeline) -> dict[str, Any] | None:
    options = {**_default_parameters(Pipeline), "steps": pipeline.steps}
    if any(getattr(pipeline, name) != default for name, default in options.items()):
        return None
    return {
        "names": [name for name, _ in pipeline.steps],
        "steps": ["passthrough" if step is None else step for _, step in pipeline.steps],
    }


def _read_pipeline(state: State) -> Pipeline:
    names, steps = state.texts("names"), state.items("steps")
    check_step_names(names, steps, state)
    own = [step for step in steps if type(step) in (*SCALERS, *LINEAR, *_SHARED)]
    if len({features_of(step) is None for step in own}) > 1:
        raise state.fault("steps", "a list of steps that are all fitted, or none")
    expected = None
    for step in steps:
        n_features = features_of(step)
        if None not in (expected, n_features) and n_features != expected:
            raise state.fault("steps", "a list of steps for one number of features")
        is_idle = isinstance(step, str)
        expected = n_features if type(step) in SCALERS else expected if is_idle else None
    return Pipeline(list(zip(names, steps, strict=True)))


def check_step_names(names: list[str], steps: list[Any], state: State) -> None:
    """Raise ModelFileError unless a pipeline of scikit-learn could have these steps and names."""
    parameters = _default_parameters(Pipeline)
    are_valid = all("__" not in name and name not in parameters for name in names)
    if not names or len(set(names)) < len(names) or not are_valid:
        raise state.fault("names", "a list of different names of steps")
    if len(names) != len(steps):
        raise state.fault("names", "a name for each step")
    for number, step in enumerate(steps):
        kind = find_kind_of(step)
        is_estimator = hasattr(step, "fit") if kind is None else kind.family == "estimator"
        is_right = is_estimator and (hasattr(step, "transform") or number == len(steps) - 1)
        if not is_right and step != "passthrough":
            raise state.fault("steps", "a list of transformers that may end in a classifier")


for _type in LINEAR:
    register_kind(f"estimator/{_type.__name__}", _type, _linear_state, partial(_read_linear, _type))
for _type in SCALERS:
    register_kind(f"estimator/{_type.__name__}", _type, _scaler_state, partial(_read_scaler, _type))
for _type, _shared in _SHARED.items():
    _name, _read = f"estimator/{_type.__name__}", partial(_read_svc, _type)
    register_kind(_name, _shared, _shared_state, _read)
    register_kind(_name, _type, _svc_state, _read)
register_kind("estimator/Pipeline", Pipeline, _pipeline_state, _read_pipeline)
