"""Which arguments of a classifier's fit go where: to the estimator, to models, to the splitter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from polytomy.assembly.data import class_weights
from polytomy.binary import is_fitted
from polytomy.binary.folds import RoutedSplitter
from polytomy.binary.rows import take_values

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
    classifier: Any,
    method: str,
    sample_weight: ArrayLike | None,
    others: Mapping[str, Any],
) -> RoutedArguments:
    """Deal out the arguments of a classifier's `fit` or `partial_fit`.

    With scikit-learn's metadata routing each part gets what it asks for. Without, all estimators
    get all of them, but for ``groups``, which go to the splitter where there is one.
    """
    if not get_config()["enable_metadata_routing"]:
        others = dict(others)
        has_splitter = method == "fit" and hasattr(classifier.cv, "split")
        groups = {"groups": others.pop("groups")} if has_splitter and "groups" in others else {}
        return RoutedArguments(Arguments(sample_weight, others), {}, groups)
    given = others if sample_weight is None else {"sample_weight": sample_weight, **others}
    routed = process_routing(classifier, method, **given)
    return RoutedArguments(
        _arguments(routed["estimator"][method]),
        {name: _arguments(routed[_key(name)][method]) for name in _trainable(classifier.models)},
        dict(routed["splitter"].split) if method == "fit" else {},
    )


def training_options(
    classifier: Any, routed: RoutedArguments, classes: NDArray[Any], codes: NDArray[np.intp]
) -> dict[str, Any]:
    """Return the options of `fit_binaries` that a classifier's parameters and arguments mean.

    Parameters
    ----------
    classifier : with the parameters of PolytomyClassifier
    routed : the arguments of its fit
    classes : the labels
    codes : the index of each sample's class
    """

    def weights(arguments: Arguments) -> NDArray[np.float64] | None:
        weight = arguments.sample_weight
        return class_weights(classifier.class_weight, classes, codes, weight)

    is_text = isinstance(classifier.class_weight, str)
    cv = classifier.cv
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
