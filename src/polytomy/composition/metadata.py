"""Metadata routing: which arguments of a fit go to the estimator, to models, to the splitter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from polytomy.binary import is_fitted
from polytomy.binary.options import FitArguments
from polytomy.calibration.hold_out import is_splitter
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.rows import take_values

__all__ = ["RoutedArguments", "make_router", "route_arguments", "take_groups"]


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
