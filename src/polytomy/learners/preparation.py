"""Estimators before and while they are fitted: checks, clones, seeds, weights, rows."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from polytomy.errors import Argument, ArgumentError, PythonOnly
from polytomy.inputs.numbers import check_weights
from polytomy.inputs.rows import count_rows, take_rows
from polytomy.inputs.seeds import seed_all
from polytomy.learners.specification import estimator_from


def split_pipeline(estimator: Any) -> tuple[list[Any], Any]:
    """Return the steps of a pipeline before the last, and the last step.

    Parameters
    ----------
    estimator : Pipeline, or any other estimator, which has no steps before it

    Returns
    -------
    before : list of transformers; steps that do nothing ("passthrough" or None) are left out
    last : the last step, or the estimator itself

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> split_pipeline(Pipeline([("scale", StandardScaler()), ("svc", SVC())]))
    ([StandardScaler()], SVC())
    >>> split_pipeline(SVC())
    ([], SVC())
    """
    if type(estimator) is not Pipeline:
        return [], estimator
    *before, (_, last) = estimator.steps
    return _acting(before), last


def list_steps(pipeline: Pipeline | None) -> list[Any]:
    """Return the steps of a pipeline that do something; none for None."""
    return [] if pipeline is None else _acting(pipeline.steps)


def _acting(steps: Sequence[tuple[str, Any]]) -> list[Any]:
    return [step for _, step in steps if not (step is None or isinstance(step, str))]


def name_kind(estimator: Any) -> str:
    """Return the name of an estimator's class; for a pipeline, also those of its steps."""
    kind, steps = type(estimator).__name__, getattr(estimator, "steps", None)
    if steps is None:
        return kind
    return f"{kind} of {', '.join(type(step).__name__ for _, step in steps)}"


_PLAIN_TYPES = frozenset({bool, int, float, str, type(None)})


def prepare_estimator(estimator: Any, seed: int | None) -> Any:
    """Return an unfitted clone of the estimator, with every random_state in it set from the seed.

    ``probability=True`` of a support vector machine is reset: its decision values are calibrated
    like those of other estimators, not by scikit-learn's deprecated calibration.

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


def copy_unfitted(estimator: Any) -> Any:
    """Return a copy of an unfitted estimator, as ``clone`` does.

    `clone` looks up the names of all parameters and compares their values. If all values are
    numbers, strings or None, a plain copy is equivalent and takes a tenth of the time.

    Examples
    --------
    >>> copy_unfitted(SVC(C=10))
    SVC(C=10)
    """
    return copy.copy(estimator) if has_plain_attributes(estimator) else clone(estimator)


def has_plain_attributes(estimator: Any) -> bool:
    """Return whether an estimator is unfitted and all its parameters are plain values."""
    attributes = getattr(estimator, "__dict__", {})
    return bool(attributes) and _PLAIN_TYPES.issuperset(map(type, attributes.values()))


def side_labels(estimator: Any) -> tuple[int, int]:
    """Return the labels of the −1 and the +1 side in the targets that the estimator is fitted to.

    They are 0 and 1, which every classifier accepts: some reject −1, and for scikit-learn's
    semi-supervised classifiers it means that the label is unknown. They are −1 and 1 if the
    estimator's own ``class_weight`` has −1, as with LIBSVM's option ``-w-1``.

    Examples
    --------
    >>> side_labels(SVC()), side_labels(SVC(class_weight={-1: 2.0}))
    ((0, 1), (-1, 1))
    """
    if has_plain_attributes(estimator):
        return (0, 1)  # skips get_params, which is slow and would find no dict
    for name, value in estimator.get_params(deep=True).items():
        is_weight = name == "class_weight" or name.endswith("__class_weight")
        if is_weight and isinstance(value, Mapping):
            _check_side_weights(estimator, name, value)
            if -1 in value:
                return (-1, 1)
    return (0, 1)


def _check_side_weights(estimator: Any, name: str, weights: Mapping[Any, float]) -> None:
    """Raise ArgumentError if weights are for classes, which a binary does not know."""
    is_of_sides = any(all(label in sides for label in weights) for sides in ((0, 1), (-1, 1)))
    if not is_of_sides:
        raise ArgumentError(
            f"{name}={dict(weights)!r} of {type(estimator).__name__} has labels other than 0 and "
            "1, the two sides of a partition. To weight classes, set ",
            Argument("class_weight"),
            PythonOnly(" of PolytomyClassifier instead"),
            ".",
        )


def request_weights(estimator: Any) -> None:
    """Make the last step of a pipeline request weights, unless the user has set that.

    With scikit-learn's metadata routing, a pipeline passes weights only to steps that request
    them, and raises an error if a step that accepts them has not been configured either way.
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
    """Return the name of the `fit` argument for weights; for a pipeline, that of its last step.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> weight_parameter(make_pipeline("passthrough", SVC()))
    'svc__sample_weight'
    """
    path, inner = "", estimator
    while isinstance(inner, Pipeline):
        if get_config()["enable_metadata_routing"]:
            return "sample_weight"  # the steps of the pipeline request what they need
        name, inner = inner.steps[-1]
        path += f"{name}__"
    if hasattr(inner, "fit"):
        parameters = inspect.signature(inner.fit).parameters
        takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        if takes_any or "sample_weight" in parameters:
            return f"{path}sample_weight"
    raise ArgumentError(
        f"{type(inner).__name__} does not support sample_weight. Fit without weights, or use an "
        "estimator whose fit has that argument."
    )


def drops_rows_by_weight(estimator: Any, X: Any, n_samples: int) -> bool:
    """Return whether to leave rows out by giving them weight zero instead of copying the others.

    For a linear model, the result is the same, or as good if it is trained by random steps. A copy
    of nearly all rows would double the memory.

    Parameters
    ----------
    estimator : prepared estimator
    X : the whole training data
    n_samples : number of rows of X in the problem

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> drops_rows_by_weight(LogisticRegression(), np.eye(3), 3)
    True
    """
    is_linear = isinstance(estimator, LinearClassifierMixin)
    is_whole = isinstance(X, np.ndarray) and len(X) == n_samples
    return is_linear and is_whole and has_fit_parameter(estimator, "sample_weight")


def takes_pairwise_values(estimator: Any) -> bool:
    """Return whether the estimator expects X to be a matrix of kernel values or distances."""
    tags = tags_of(estimator)
    return tags is not None and bool(tags.input_tags.pairwise)


def check_classifier(estimator: Any) -> None:
    """Raise an ArgumentError unless the estimator is a classifier that can be cloned."""
    if isinstance(estimator, type):
        raise ArgumentError(
            Argument("estimator"),
            f" is the class {estimator.__name__}. Use an object: {estimator.__name__}().",
        )
    if not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        raise ArgumentError(
            Argument("estimator", estimator),
            " is not a scikit-learn estimator: it has no fit or no get_params.",
        )
    tags = tags_of(estimator)
    if tags is not None and tags.estimator_type == "regressor":
        raise ArgumentError(
            Argument("estimator", estimator),
            " is a regressor. Use a classifier, such as SVC().",
        )


def resolve_estimator(estimator: Any) -> Any:
    """Return the estimator that a value of the parameter ``estimator`` describes.

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
        estimator = _estimator_from_text(estimator)
    check_classifier(estimator)
    side_labels(estimator)  # raises errors now rather than in the middle of training
    return estimator


def _estimator_from_text(text: str) -> Any:
    if not text.strip():
        raise ArgumentError(Argument("estimator"), ' is empty. Use a specification: "svc C=10".')
    try:
        return estimator_from(text, SVC())
    except ArgumentError as error:
        reason = [part for part in error.args[1:] if not isinstance(part, PythonOnly)]
        raise ArgumentError(Argument("estimator", text), " cannot be used: ", *reason) from None


def check_nested_parameters(estimator: Any, params: Mapping[str, Any]) -> None:
    """Raise an ArgumentError if nested parameters are set on an estimator that is text or None."""
    nested = [name for name in params if name.startswith("estimator__")]
    if nested and (estimator is None or isinstance(estimator, str)):
        raise ArgumentError(
            f"{nested[0]} cannot be set, because ",
            Argument("estimator", estimator),
            " is not an object. Write the parameter into the text, as in ",
            Argument("estimator", "svc C=10"),
            ", or pass SVC().",
        )


LIMIT_ATTRIBUTES = ("max_classes", "max_num_classes", "max_n_classes", "MAX_NUMBER_OF_CLASSES")
"""Attributes in which a model, or TabPFN's inference configuration, states how many classes it
takes."""


def class_limit(estimator: Any) -> int | None:
    """Return how many classes a model takes, or None if it does not say so.

    The limit is one of `LIMIT_ATTRIBUTES` of the model, of the last step of a pipeline, of the
    estimator in another one such as CalibratedClassifierCV, or of what ``get_inference_config()``
    of TabPFN returns. A fitted model, in a FrozenEstimator, has no limit: it knows its classes.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> model = GaussianNB()
    >>> class_limit(model)
    >>> model.max_classes = 10
    >>> class_limit(model)
    10
    """
    model = _final_step(resolve_estimator(estimator) if isinstance(estimator, str) else estimator)
    while model is not None and not isinstance(model, FrozenEstimator):
        holders = [model]
        if hasattr(model, "get_inference_config"):
            # TabPFN loads its weights into the model, so ask a copy.
            holders.append(clone(model).get_inference_config())
        for holder in holders:
            for name in LIMIT_ATTRIBUTES:
                value = getattr(holder, name, None)
                if isinstance(value, int | np.integer) and value >= 2:
                    return int(value)
        model = _final_step(getattr(model, "estimator", None))
    return None


def check_refusal(estimator: Any, n_sides: int, name: str, error: Exception) -> None:
    """Raise an ArgumentError with a way out if a model seems to have refused its many classes."""
    if "class" not in str(error).lower():
        return
    raise ArgumentError(
        f'{name_kind(estimator)} did not accept the {n_sides} sides of partition "{name}": '
        f"{str(error).rstrip(' .')}. If it takes fewer classes, say how many: ",
        Argument("scheme", "limited"),
        ", ",
        Argument("max_sides", min(10, n_sides - 1)),
        ".",
    ) from error


def accepts_missing(estimator: Any) -> bool:
    """Return whether an estimator says that it accepts missing values, written as NaN."""
    tags = tags_of(estimator)
    return tags is not None and bool(tags.input_tags.allow_nan)


def tags_of(estimator: Any) -> Any:
    """Return the tags of a value of the parameter ``estimator``, or None if it has none."""
    try:
        is_template = estimator is None or isinstance(estimator, str)
        resolved = resolve_estimator(estimator) if is_template else estimator
        # scikit-learn 1.7 makes up tags for objects that have none, and warns.
        return get_tags(resolved) if hasattr(resolved, "__sklearn_tags__") else None
    except (AttributeError, TypeError, ArgumentError):  # incomplete tags, or invalid
        return None


def _final_step(estimator: Any) -> Any:
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def parameters_with_weights(
    estimator: Any, fit_params: Mapping[str, Any], weight: NDArray[np.float64] | None
) -> dict[str, Any]:
    """Return the parameters of ``fit``, including the weights.

    Parameters
    ----------
    estimator : prepared estimator; it is set to pass weights on if there are any
    fit_params : parameters of ``fit`` besides the weights
    weight : array of shape (n_rows,), or None if all weights are one
    """
    parameters = dict(fit_params)
    if weight is not None:
        parameters[weight_parameter(estimator)] = weight
        request_weights(estimator)
    return parameters


def fit_batch(
    fitted: Any,
    estimator: Any,
    X: Any,
    problem: Any,
    random_state: int | None,
    sample_weight: ArrayLike | None,
) -> Any:
    """Return a copy of the fitted estimator after one more batch; for the first, of the estimator.

    Return None if the batch has no sample of the problem.

    Parameters
    ----------
    fitted : the result of the previous batch; None for the first
    estimator : classifier with ``partial_fit``
    X : array, sparse matrix or frame of shape (n_rows, n_features)
    problem : Problem, the rows of X to train on, and their sides
    random_state : seed of every random_state in the estimator
    sample_weight : array of shape (n_rows,), optional
    """
    if not hasattr(estimator, "partial_fit"):
        raise ArgumentError(
            f"{estimator!r} has no partial_fit. Use fit, or an estimator such as SGDClassifier()."
        )
    parameters = {}
    if sample_weight is not None:
        weight = check_weights(sample_weight, count_rows(X))
        problem = problem.keep(weight[problem.rows] > 0)
        parameters["sample_weight"] = weight[problem.rows]
    if not len(problem.rows):
        return None
    model = prepare_estimator(estimator, random_state) if fitted is None else copy.deepcopy(fitted)
    is_binary = problem.n_sides == 2
    classes = np.array(side_labels(model) if is_binary else range(problem.n_sides))
    targets = classes[problem.sides.astype(np.intp)]
    model.partial_fit(take_rows(X, problem.rows), targets, classes=classes, **parameters)
    return model


def check_neighbours(estimator: Any, name: str) -> None:
    """Raise an ArgumentError if a problem has fewer samples than the number of neighbours.

    The estimator itself would fail only at prediction.
    """
    last = split_pipeline(estimator)[1]
    wanted, known = (getattr(last, each, None) for each in ("n_neighbors", "n_samples_fit_"))
    if isinstance(wanted, int) and isinstance(known, int) and wanted > known:
        raise ArgumentError(
            f'Partition "{name}" has {known} samples, fewer than the n_neighbors={wanted} of '
            f"{type(last).__name__}. Use n_neighbors={known} or fewer."
        )


def check_objective(estimator: Any, error: Exception) -> None:
    """Raise an ArgumentError if an estimator failed because it has an objective for many classes.

    XGBoost sets it when an XGBClassifier is fitted on more than two classes, and clones keep it.
    """
    last = split_pipeline(estimator)[1]
    objective = getattr(last, "objective", None)
    if isinstance(objective, str) and objective.startswith("multi"):
        other = "binary:logistic" if ":" in objective else "binary"
        raise ArgumentError(
            f'{type(last).__name__} has objective="{objective}", which is for more than two '
            f"classes, but a binary has two: {error}. Fitting on many classes sets it. Use an "
            f'estimator that has not been fitted, or set_params(objective="{other}").'
        ) from error
