"""Which arguments of a classifier's fit go where: to the estimator, to models, to the splitter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from polytomy.binary import is_fitted
from polytomy.calibration.folds import RoutedSplitter, check_folds, splits_within
from polytomy.errors import ArgumentError
from polytomy.inputs.rows import take_values
from polytomy.inputs.weights import class_weights

__all__ = ["Arguments", "RoutedArguments", "route_arguments", "router_of", "training_options"]


class Arguments(NamedTuple):
    """What the fit of one estimator gets besides the data."""

    sample_weight: ArrayLike | None
    others: Mapping[str, Any]


class RoutedArguments(NamedTuple):
    """The arguments of a fit, dealt out.

    Attributes
    ----------
    of_estimator : for the default estimator, and those made from specifications
    of_models : for estimators under a name; one that is not in it gets the same as the default
    of_splitter : for the splitter of calibration folds
    """

    of_estimator: Arguments
    of_models: Mapping[str, Arguments]
    of_splitter: Mapping[str, Any]

    def take(self, rows: NDArray[np.intp], n_rows: int) -> RoutedArguments:
        """Return the arguments for some rows of the data, of which there are `n_rows`."""

        def cut(arguments: Arguments) -> Arguments:
            weight = arguments.sample_weight
            return Arguments(
                None if weight is None else np.asarray(weight)[rows],
                _cut(arguments.others, rows, n_rows),
            )

        return RoutedArguments(
            cut(self.of_estimator),
            {name: cut(arguments) for name, arguments in self.of_models.items()},
            _cut(self.of_splitter, rows, n_rows),
        )


def router_of(
    classifier: Any, estimator: Any, models: Mapping[str, Any] | None, cv: Any
) -> MetadataRouter:
    """Return who of a classifier's parts may ask for arguments."""
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
    others: Mapping[str, Any],
    *,
    models: Mapping[str, Any] | None,
    cv: Any,
) -> RoutedArguments:
    """Deal out the arguments of a classifier's `fit` or `partial_fit`.

    With scikit-learn's metadata routing each part gets what it asks for. Without, all estimators
    get all of them, but for ``groups``, which go to the splitter where there is one.

    Parameters
    ----------
    owner : the estimator that was called, whose router `router_of` has made
    method : "fit" or "partial_fit"
    sample_weight, others : what it was called with
    models, cv : estimators by name and the splitter
    """
    if not get_config()["enable_metadata_routing"]:
        others = dict(others)
        groups = split_groups(cv, others) if method == "fit" else {}
        return RoutedArguments(Arguments(sample_weight, others), {}, groups)
    given = others if sample_weight is None else {"sample_weight": sample_weight, **others}
    routed = process_routing(owner, method, **given)
    return RoutedArguments(
        _arguments(routed["estimator"][method]),
        {name: _arguments(routed[_key(name)][method]) for name in _trainable(models)},
        dict(routed["splitter"].split) if method == "fit" else {},
    )


def training_options(
    classifier: Any,
    routed: RoutedArguments,
    classes: NDArray[Any],
    codes: NDArray[np.intp],
    rows: NDArray[np.intp] | None = None,
) -> dict[str, Any]:
    """Return the options of `fit_binaries` that a classifier's parameters and arguments mean.

    Parameters
    ----------
    classifier : with the parameters of PolytomyClassifier
    routed : the arguments of its fit
    classes : the labels
    codes : the index of each sample's class
    rows : the samples to train on; all by default
    """
    cv, n_rows = classifier.cv, len(codes)
    check_folds(cv)
    if rows is not None:
        routed, codes, cv = routed.take(rows, n_rows), codes[rows], splits_within(cv, rows, n_rows)

    def weights(arguments: Arguments) -> NDArray[np.float64] | None:
        weight = arguments.sample_weight
        return class_weights(classifier.class_weight, classes, codes, weight)

    is_text = isinstance(classifier.class_weight, str)
    return {
        "calibration": classifier.calibration,
        "cv": RoutedSplitter(cv, routed.of_splitter) if routed.of_splitter else cv,
        "random_state": classifier.random_state,
        "sample_weight": weights(routed.of_estimator),
        "fit_params": routed.of_estimator.others,
        "of_models": {
            name: Arguments(weights(arguments), arguments.others)
            for name, arguments in routed.of_models.items()
        },
        "balance_partitions": is_text and classifier.class_weight == "balanced-per-partition",
        "n_jobs": classifier.n_jobs,
        "memory_budget": classifier.memory_budget,
    }


def split_groups(cv: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Take the groups out of the arguments of a fit, if there is a splitter to give them to."""
    if not hasattr(cv, "split"):
        return {}
    if "groups" in arguments:
        return {"groups": arguments.pop("groups")}
    requests = getattr(cv, "get_metadata_routing", lambda: None)()
    if requests is not None and requests.split.requests.get("groups"):
        raise ArgumentError(f"cv={cv!r} needs groups; give them to fit, as fit(X, y, groups=...)")
    return {}


def _cut(values: Mapping[str, Any], rows: NDArray[np.intp], n_rows: int) -> dict[str, Any]:
    return {name: take_values(value, rows, n_rows) for name, value in values.items()}


def _arguments(routed: Mapping[str, Any]) -> Arguments:
    others = dict(routed)
    return Arguments(others.pop("sample_weight", None), others)


def _trainable(models: Mapping[str, Any] | None) -> dict[str, Any]:
    if not isinstance(models, Mapping):
        return {}
    return {name: model for name, model in models.items() if not is_fitted(model)}


def _key(name: str) -> str:
    # With a space, so that no model's name is that of another part.
    return f"model {name}"
