"""The parameters of a classifier, declared once with their allowed values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from polytomy.calibration import check_folds, make_calibrator
from polytomy.calibration.final import check_final_calibration
from polytomy.calibration.folds import RoutedSplitter, choose_folds, is_splitter, splits_within
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import (
    BALANCED_PER_PARTITION,
    PRECISIONS,
    Parameter,
    is_count,
    is_job_count,
    is_random_state,
)
from polytomy.inputs.numbers import CLASS_WEIGHT, class_weights
from polytomy.inputs.rows import take_values
from polytomy.learners.options import FitArguments, TrainingOptions
from polytomy.learners.svm.matrix import MEMORY_BUDGET
from polytomy.learners.trained import is_fitted
from polytomy.model.scheme_argument import AUTO, choose_final_calibration, gives_probabilities
from polytomy.solvers.solving import METHODS

__all__ = [
    "CLASSIFIER_CHECKS",
    "CLASS_ORDER",
    "PARALLEL_CHECKS",
    "RoutedArguments",
    "TrainingSource",
    "make_router",
    "route_arguments",
    "take_groups",
    "training_source",
]


def _is_precision(value: Any) -> bool:
    is_type = isinstance(value, type | np.dtype)
    return is_type and any(value in (np.dtype(name), np.dtype(name).type) for name in PRECISIONS)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def _declare(*parameters: Parameter) -> dict[str, Callable[[Any], object]]:
    return {parameter.name: parameter.check for parameter in parameters}


def _is_sequence(value: Any) -> bool:
    is_array = getattr(value, "ndim", None) == 1
    return is_array or isinstance(value, list | tuple)


CLASS_ORDER = Parameter(
    "class_order", "a list of all labels, from first to last,", _is_sequence, allows_none=True
)
"""The parameter `class_order`, of every estimator that makes schemes."""

PARALLEL_CHECKS = _declare(
    Parameter("n_jobs", "an integer other than 0", is_job_count, allows_none=True),
    Parameter(
        "random_state",
        "an integer from 0 to 4294967295, a numpy.random.RandomState",
        is_random_state,
        allows_none=True,
    ),
    Parameter("verbose", "a non-negative integer", is_count),
)
"""Checks of the parameters that every estimator here has."""


def _check_solver(value: Any) -> None:
    """Raise an ArgumentError unless a solver is a function or the name of a registered method."""
    names = (AUTO, *METHODS)
    Parameter("solver", "a function of (scheme, decisions)", callable, names).check(value)


CLASSIFIER_CHECKS: dict[str, Callable[[Any], object]] = {
    "solver": _check_solver,
    **_declare(
        Parameter("models", "a dict of names and estimators", _is_mapping, allows_none=True),
        CLASS_WEIGHT,
        MEMORY_BUDGET,
        Parameter("keep_out_of_fold", "True or False", _is_bool),
        Parameter("shared_preprocessing", "True or False", _is_bool),
        Parameter("reservoir_size", "a number of rows, 0 or more", is_count),
        Parameter("prediction_dtype", "", _is_precision, PRECISIONS),
        CLASS_ORDER,
    ),
    "calibration": make_calibrator,
    "final_calibration": check_final_calibration,
    "cv": check_folds,
    **PARALLEL_CHECKS,
}
"""The check of each parameter of `PolytomyClassifier`, except `estimator` and `scheme`."""


# -- Metadata routing: which arguments of a fit go to the estimator, to models, to the splitter --


class RoutedArguments(NamedTuple):
    """The arguments of a fit, divided among the parts of a classifier.

    Attributes
    ----------
    estimator : arguments of the default estimator, and of those made from specifications
    by_model : arguments of estimators with a name; an estimator without an entry gets `estimator`
    splitter : arguments of the splitter that makes calibration folds
    """

    estimator: FitArguments
    by_model: Mapping[str, FitArguments]
    splitter: Mapping[str, Any]

    def take(self, rows: NDArray[np.intp], n_rows: int) -> RoutedArguments:
        """Return the arguments for some of the `n_rows` rows of the data."""

        def cut(arguments: FitArguments) -> FitArguments:
            weight = arguments.sample_weight
            return FitArguments(
                None if weight is None else np.asarray(weight)[rows],
                _cut(arguments.fit_params, rows, n_rows),
            )

        return RoutedArguments(
            cut(self.estimator),
            {name: cut(arguments) for name, arguments in self.by_model.items()},
            _cut(self.splitter, rows, n_rows),
        )


def make_router(
    classifier: Any, estimator: Any, models: Mapping[str, Any] | None, cv: Any
) -> MetadataRouter:
    """Return the router of a classifier, with the parts of it that may request arguments."""
    methods = MethodMapping().add(caller="fit", callee="fit")
    methods.add(caller="partial_fit", callee="partial_fit")
    parts = {_key(name): model for name, model in _trainable(models).items()}
    router = MetadataRouter(owner=classifier).add_self_request(classifier)
    router.add(estimator=estimator, method_mapping=methods)
    if parts:
        router.add(**parts, method_mapping=methods)
    return router.add(splitter=cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))


def route_arguments(
    owner: Any,
    method: str,
    sample_weight: ArrayLike | None,
    fit_params: Mapping[str, Any],
    *,
    models: Mapping[str, Any] | None,
    cv: Any,
) -> RoutedArguments:
    """Divide the arguments of a classifier's `fit` or `partial_fit` among its parts.

    With scikit-learn's metadata routing each part gets what it requests. Without it, all
    estimators get all arguments, except ``groups``, which go to the splitter if there is one.

    Parameters
    ----------
    owner : the estimator that was called; its router is from `make_router`
    method : "fit" or "partial_fit"
    sample_weight, fit_params : the arguments it was called with
    models, cv : its estimators by name, and its splitter
    """
    if not get_config()["enable_metadata_routing"]:
        fit_params = dict(fit_params)
        groups = take_groups(cv, fit_params) if method == "fit" else {}
        return RoutedArguments(FitArguments(sample_weight, fit_params), {}, groups)
    given = fit_params if sample_weight is None else {"sample_weight": sample_weight, **fit_params}
    routed = process_routing(owner, method, **given)
    return RoutedArguments(
        _arguments(routed["estimator"][method]),
        {name: _arguments(routed[_key(name)][method]) for name in _trainable(models)},
        dict(routed["splitter"].split) if method == "fit" else {},
    )


def take_groups(cv: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Remove the groups from the arguments of a fit and return them, if the splitter uses them."""
    if not is_splitter(cv):
        return {}
    if "groups" in arguments:
        return {"groups": arguments.pop("groups")}
    requests = getattr(cv, "get_metadata_routing", lambda: None)()
    if requests is not None and requests.split.requests.get("groups"):
        raise ArgumentError(Argument("cv", cv), " needs groups. Pass them: fit(X, y, groups=…).")
    return {}


def _cut(values: Mapping[str, Any], rows: NDArray[np.intp], n_rows: int) -> dict[str, Any]:
    return {name: take_values(value, rows, n_rows) for name, value in values.items()}


def _arguments(routed: Mapping[str, Any]) -> FitArguments:
    fit_params = dict(routed)
    return FitArguments(fit_params.pop("sample_weight", None), fit_params)


def _trainable(models: Mapping[str, Any] | None) -> dict[str, Any]:
    if not isinstance(models, Mapping):
        return {}
    return {name: model for name, model in models.items() if not is_fitted(model)}


def _key(name: str) -> str:
    # The space prevents a model's name from clashing with another part.
    return f"model {name}"


# -- From a classifier's parameters and `fit` arguments to its training options --


@dataclass(frozen=True, slots=True, eq=False)
class TrainingSource:
    """The source of training options: a classifier's parameters, its fit's arguments, the labels.

    Attributes
    ----------
    parameters : TrainingOptions
        The parameters of the classifier that have the names of the options.
    class_weight : the parameter of that name
    routed : RoutedArguments
    classes : array of labels
    class_indices : array of shape (n_rows,), the index of each sample's class
    """

    parameters: TrainingOptions
    class_weight: Mapping[Any, float] | str | None
    routed: RoutedArguments
    classes: NDArray[Any]
    class_indices: NDArray[np.intp]

    @classmethod
    def from_labels(cls, parameters: TrainingOptions, y: NDArray[Any]) -> TrainingSource:
        """Return the source for training without weights or other arguments."""
        classes, class_indices = np.unique(y, return_inverse=True)
        routed = RoutedArguments(parameters.arguments, parameters.arguments_by_model, {})
        return cls(parameters, None, routed, classes, class_indices)

    def options(self, rows: NDArray[np.intp] | None = None) -> TrainingOptions:
        """Return the options for training on some rows of the data, or on all of them."""
        routed, class_indices, cv = self.routed, self.class_indices, self.parameters.cv
        if rows is not None:
            n_rows = len(class_indices)
            routed = routed.take(rows, n_rows)
            class_indices, cv = class_indices[rows], splits_within(cv, rows, n_rows)

        def weighted(arguments: FitArguments) -> FitArguments:
            weight = class_weights(
                self.class_weight, self.classes, class_indices, arguments.sample_weight
            )
            return FitArguments(weight, arguments.fit_params)

        return replace(
            self.parameters,
            cv=RoutedSplitter(cv, routed.splitter) if routed.splitter else cv,
            arguments=weighted(routed.estimator),
            arguments_by_model={name: weighted(each) for name, each in routed.by_model.items()},
            data_weight=routed.estimator.sample_weight,
            balances_sides=isinstance(self.class_weight, str)
            and self.class_weight == BALANCED_PER_PARTITION,
        )


def training_source(
    classifier: Any,
    method: str,
    sample_weight: ArrayLike | None,
    fit_params: Mapping[str, Any],
    classes: NDArray[Any],
    class_indices: NDArray[np.intp],
    *,
    owner: Any = None,
) -> TrainingSource:
    """Return the source of a classifier's training options.

    Parameters
    ----------
    classifier : estimator with the parameters of PolytomyClassifier
    method : "fit" or "partial_fit"
    sample_weight, fit_params : the arguments of that call
    classes : array of labels
    class_indices : array of shape (n_rows,), the index of each sample's class
    owner : the estimator that was called, if it is not the classifier itself
    """
    parameters = TrainingOptions(
        calibration=classifier.calibration,
        final_calibration=choose_final_calibration(classifier.scheme, classifier.final_calibration),
        wants_probabilities=gives_probabilities(classifier.solver),
        keep_out_of_fold=classifier.keep_out_of_fold,
        cv=choose_folds(classifier.cv, len(class_indices)),
        random_state=classifier.random_state,
        n_jobs=classifier.n_jobs,
        memory_budget=classifier.memory_budget,
        shares_preprocessing=classifier.shared_preprocessing,
    )
    routed = route_arguments(
        classifier if owner is None else owner,
        method,
        sample_weight,
        fit_params,
        models=classifier.models,
        cv=classifier.cv,
    )
    return TrainingSource(parameters, classifier.class_weight, routed, classes, class_indices)
