"""Making an estimator ready for one binary problem: copied, seeded, its weights routed."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC
from sklearn.utils import get_tags

from polytomy.binary.specification import estimator_from
from polytomy.errors import Argument, ArgumentError, PythonOnly
from polytomy.inputs.seeds import seed_all

__all__ = [
    "check_classifier",
    "is_pairwise",
    "prepare_estimator",
    "request_weights",
    "resolve_estimator",
    "side_labels",
    "tags_of",
    "weight_parameter",
]


def prepare_estimator(estimator: Any, seed: int | None) -> Any:
    """Return an unfitted copy of the estimator, with every random_state in it set from the seed.

    A support vector machine loses ``probability=True``: its decision values are calibrated as
    those of other estimators are, in place of its own, deprecated calibration.

    Examples
    --------
    >>> from sklearn.linear_model import SGDClassifier
    >>> prepare_estimator(SGDClassifier(alpha=0.1), seed=None)
    SGDClassifier(alpha=0.1)
    """
    check_classifier(estimator)
    prepared = clone(estimator)
    machine = _final_step(prepared)
    if isinstance(machine, SVC | NuSVC) and "probability" in machine.get_params():
        default = inspect.signature(type(machine)).parameters["probability"].default
        machine.set_params(probability=default)
    seed_all(prepared, seed)
    return prepared


def side_labels(estimator: Any) -> tuple[int, int]:
    """Return the targets that stand for the −1 and the +1 side when the estimator is fitted.

    They are 0 and 1, which every classifier takes: some refuse −1, and to scikit-learn's
    semi-supervised ones it means that the label is not known. They are −1 and 1 where the
    estimator's own ``class_weight`` names −1, as LIBSVM's option ``-w-1`` does.

    Examples
    --------
    >>> side_labels(SVC()), side_labels(SVC(class_weight={-1: 2.0}))
    ((0, 1), (-1, 1))
    """
    for name, value in estimator.get_params(deep=True).items():
        is_weight = name == "class_weight" or name.endswith("__class_weight")
        if is_weight and isinstance(value, Mapping):
            _check_side_weights(estimator, name, value)
            if -1 in value:
                return (-1, 1)
    return (0, 1)


def _check_side_weights(estimator: Any, name: str, weights: Mapping[Any, float]) -> None:
    """Raise ArgumentError if weights are those of classes, which a binary does not know."""
    is_of_sides = any(all(label in sides for label in weights) for sides in ((0, 1), (-1, 1)))
    if not is_of_sides:
        raise ArgumentError(
            f"{name}={dict(weights)!r} of {type(estimator).__name__} names other labels than 0 and "
            "1, the two sides of a partition. To weight classes, set ",
            Argument("class_weight"),
            PythonOnly(" of PolytomyClassifier instead"),
            ".",
        )


def request_weights(estimator: Any) -> None:
    """Let the last step of a pipeline ask for weights, where its user left that open.

    With scikit-learn's metadata routing a pipeline passes weights on only to steps that ask for
    them, and refuses them while a step that could take them has said neither yes nor no.
    """
    if not (isinstance(estimator, Pipeline) and get_config()["enable_metadata_routing"]):
        return
    for _, step in estimator.steps:
        is_last = step is estimator.steps[-1][1]
        if isinstance(step, Pipeline):
            if is_last:
                request_weights(step)
        elif hasattr(step, "set_fit_request"):
            requests = step.get_metadata_routing().fit.requests
            if requests.get("sample_weight", False) is None:
                step.set_fit_request(sample_weight=is_last)


def weight_parameter(estimator: Any) -> str:
    """Return the name under which `fit` takes weights; of a pipeline, its final step takes them.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> weight_parameter(make_pipeline("passthrough", SVC()))
    'svc__sample_weight'
    """
    path, inner = "", estimator
    while isinstance(inner, Pipeline):
        if get_config()["enable_metadata_routing"]:
            return "sample_weight"  # the pipeline's steps say themselves what they take
        name, inner = inner.steps[-1]
        path += f"{name}__"
    if hasattr(inner, "fit"):
        parameters = inspect.signature(inner.fit).parameters
        takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        if takes_any or "sample_weight" in parameters:
            return f"{path}sample_weight"
    raise ArgumentError(
        f"{type(inner).__name__} takes no sample_weight. Fit without weights, or use an estimator "
        "whose fit takes them."
    )


def is_pairwise(estimator: Any) -> bool:
    """Return whether the estimator takes a matrix of kernel values or distances for X."""
    tags = tags_of(estimator)
    return tags is not None and bool(tags.input_tags.pairwise)


def check_classifier(estimator: Any) -> None:
    """Raise an ArgumentError unless a binary can be trained from the estimator."""
    if isinstance(estimator, type):
        raise ArgumentError(
            f"estimator={estimator.__name__} is a class. Give an object: {estimator.__name__}()."
        )
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise ArgumentError(
            f"estimator={estimator!r} is no estimator of scikit-learn: it needs fit and get_params."
        )
    tags = tags_of(estimator)
    if tags is not None and tags.estimator_type == "regressor":
        raise ArgumentError(
            f"estimator={estimator!r} is a regressor; a binary needs a classifier, such as SVC()."
        )


def resolve_estimator(estimator: Any) -> Any:
    """Return the estimator that the parameter ``estimator`` stands for.

    Parameters
    ----------
    estimator : classifier, specification such as "svc C=10", or None for SVC()

    Examples
    --------
    >>> resolve_estimator("logistic-regression C=10")
    LogisticRegression(C=10)
    """
    if estimator is None:
        return SVC()
    if isinstance(estimator, str):
        estimator = estimator_from(estimator, SVC())
    check_classifier(estimator)
    side_labels(estimator)  # an error now rather than in the middle of the training
    return estimator


def tags_of(estimator: Any) -> Any:
    """Return the tags of an estimator, or None of one that is not built on scikit-learn's."""
    try:
        return get_tags(estimator)
    except (AttributeError, TypeError):  # not built on scikit-learn's base class, or no object
        return None


def _final_step(estimator: Any) -> Any:
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator
