"""What the estimators share: parameters, routing, tags, interrupted fits, and listeners.

The parameters of a classifier are declared once; from them and the arguments of a fit come the
training options. Metadata routing decides which arguments of a fit go to the estimator, to models,
and to the splitter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from polytomy.calibration.calibrators import make_calibrator
from polytomy.calibration.final import check_final_calibration
from polytomy.calibration.folds import RoutedSplitter, check_folds, choose_folds, is_splitter
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import (
    PRECISIONS,
    VALIDATIONS,
    Parameter,
    is_boolean,
    is_count,
    is_job_count,
    is_random_state,
)
from polytomy.inputs.numbers import CLASS_WEIGHT, class_weights
from polytomy.inputs.training_data import check_features
from polytomy.learners.preparation import (
    check_nested_parameters,
    class_limit,
    resolve_estimator,
    tags_of,
)
from polytomy.learners.svm.matrix import MEMORY_BUDGET
from polytomy.learners.trained import is_fitted
from polytomy.learners.validation import Validation, refuse_labels, split_validation
from polytomy.learners.workload import FitArguments, TrainingListener, TrainingOptions
from polytomy.model.arrangement import AUTO, gives_probabilities
from polytomy.solvers.solving import METHODS


def _is_precision(value: Any) -> bool:
    is_type = isinstance(value, type | np.dtype)
    return is_type and any(value in (np.dtype(name), np.dtype(name).type) for name in PRECISIONS)


def _declare(*parameters: Parameter) -> dict[str, Callable[[Any], object]]:
    return {parameter.name: parameter.check for parameter in parameters}


def _is_limit(value: Any) -> bool:
    return is_count(value) and value >= 2


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
        Parameter(
            "models",
            "a dict of names and estimators",
            lambda value: isinstance(value, Mapping),
            allows_none=True,
        ),
        CLASS_WEIGHT,
        MEMORY_BUDGET,
        Parameter("keep_out_of_fold", "True or False", is_boolean),
        Parameter("shared_preprocessing", "True or False", is_boolean),
        Parameter("reservoir_size", "a number of rows, 0 or more", is_count),
        Parameter("prediction_dtype", "", _is_precision, PRECISIONS),
        CLASS_ORDER,
        Parameter("validation", "", choices=VALIDATIONS, allows_none=True),
        Parameter("max_sides", "a whole number of sides, 2 or more", _is_limit, allows_none=True),
    ),
    "calibration": make_calibrator,
    "final_calibration": check_final_calibration,
    "cv": check_folds,
    **PARALLEL_CHECKS,
}
"""The check of each parameter of `PolytomyClassifier`, except `estimator` and `scheme`."""


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


def make_training_options(
    classifier: Any,
    method: str,
    sample_weight: ArrayLike | None,
    fit_params: Mapping[str, Any],
    classes: NDArray[Any],
    class_indices: NDArray[np.intp],
    *,
    owner: Any = None,
) -> TrainingOptions:
    """Return the training options of a classifier: its parameters, and the arguments of its fit.

    With scikit-learn's metadata routing each part gets the arguments that it requests. Without it,
    all estimators get all arguments, except ``groups``, which go to the splitter if there is one.

    Parameters
    ----------
    classifier : estimator with the parameters of PolytomyClassifier
    method : "fit" or "partial_fit"
    sample_weight, fit_params : the arguments of that call
    classes : array of labels
    class_indices : array of shape (n_rows,), the index of each sample's class
    owner : the estimator that was called, if it is not the classifier itself; its router is from
        `make_router`
    """
    by_model: dict[str, dict[str, Any]] = {}
    if not get_config()["enable_metadata_routing"]:
        given = {"sample_weight": sample_weight, **fit_params}
        groups = take_groups(classifier.cv, given) if method == "fit" else {}
    else:
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        routed = process_routing(owner or classifier, method, **weights, **fit_params)
        given = dict(routed["estimator"][method])
        by_model = {
            name: dict(routed[_key(name)][method]) for name in _trainable(classifier.models)
        }
        groups = dict(routed["splitter"].split) if method == "fit" else {}

    def read(validation: Validation) -> Validation:
        # LightGBM, for one, accepts rows with other features, and stops at random.
        try:
            return validation.with_samples(partial(check_features, owner or classifier))
        except ValueError as error:
            raise ArgumentError(f"{validation.names[0]}: {error}") from error

    def weighted(arguments: dict[str, Any]) -> FitArguments:
        own = arguments.pop("sample_weight", None)
        weight = own
        if len(class_indices):  # otherwise the rows are on a cluster
            weight = class_weights(classifier.class_weight, classes, class_indices, own)
        if not arguments:
            return FitArguments(weight, arguments, own)
        others, validation = split_validation(arguments)
        refuse_labels(others, classes)
        if validation and classifier.validation is not None:
            raise ArgumentError(
                Argument("validation", classifier.validation),
                f" and {validation[0].argument} are two sets of validation rows. Use one of them.",
            )
        encoded = tuple([read(each).encoded(classes) for each in validation])
        return FitArguments(weight, others, own, encoded)

    cv = choose_folds(classifier.cv, len(class_indices))
    return TrainingOptions(
        calibration=classifier.calibration,
        final_calibration=classifier.final_calibration,
        cv=RoutedSplitter(cv, groups) if groups else cv,
        random_state=classifier.random_state,
        n_jobs=classifier.n_jobs,
        memory_budget=classifier.memory_budget,
        wants_probabilities=gives_probabilities(classifier.solver),
        keep_out_of_fold=classifier.keep_out_of_fold,
        shares_preprocessing=classifier.shared_preprocessing,
        class_weight=classifier.class_weight,
        validates_on_folds=classifier.validation is not None,
        max_sides=classifier.max_sides or class_limit(classifier.estimator),
        arguments=weighted(given),
        arguments_by_model={name: weighted(each) for name, each in by_model.items()},
        classes=classes,
        class_indices=class_indices,
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


def _trainable(models: Mapping[str, Any] | None) -> dict[str, Any]:
    if not isinstance(models, Mapping):
        return {}
    return {name: model for name, model in models.items() if not is_fitted(model)}


def _key(name: str) -> str:
    # The space prevents a model's name from clashing with another part.
    return f"model {name}"


# -- the tags of an inner estimator, and interrupted fits ------------------------------------------


_Method = TypeVar("_Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as with_callbacks
except ImportError:  # pragma: no cover - scikit-learn before 1.9 has no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Adds nothing."""

    def with_callbacks(method: _Method) -> _Method:
        """Return the method unchanged."""
        return method


class FollowsEstimatorMixin:
    """Methods of a meta-estimator with the parameters ``estimator``, ``models`` and ``cv``."""

    estimator: Any
    models: Mapping[str, Any] | None
    cv: Any

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which arguments of `fit` and `partial_fit` go to estimators and splitter."""
        return make_router(self, resolve_estimator(self.estimator), self.models, self.cv)

    def set_params(self, **params: Any) -> Self:
        """Set the parameters of this estimator, and the inner ones, such as ``estimator__C``."""
        check_nested_parameters(params.get("estimator", self.estimator), params)
        return super().set_params(**params)  # type: ignore[misc,no-any-return]

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()  # type: ignore[misc]
        inner = tags_of(self.estimator)
        if inner is not None:
            for name in ("sparse", "pairwise", "allow_nan", "categorical", "string"):
                setattr(tags.input_tags, name, getattr(inner.input_tags, name))
        return tags


def undone_if_interrupted(fit: _Method) -> _Method:
    """Decorate a `fit`: after Ctrl-C, the estimator has the attributes that it had before.

    Errors do not restore them: an earlier fit must not answer for data that could not be fitted.

    Examples
    --------
    >>> class Estimator:
    ...     @undone_if_interrupted
    ...     def fit(self, X):
    ...         self.n_rows_ = len(X)
    ...         if not X:
    ...             raise KeyboardInterrupt
    >>> estimator = Estimator()
    >>> estimator.fit([1, 2])
    >>> try:
    ...     estimator.fit([])
    ... except KeyboardInterrupt:
    ...     print(estimator.n_rows_)
    2
    """

    @wraps(fit)
    def run(self: Any, *arguments: Any, **named: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *arguments, **named)
        except Exception:
            raise
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(_Method, run)


# -- listeners: what is told about the progress of a fit -------------------------------------------


class _ProgressBar(TrainingListener):
    def __init__(self, bar: Any, task: Any) -> None:
        self._bar, self._task = bar, task

    def trained(self, partition: str) -> None:
        self._bar.update(self._task, advance=1, description=partition)

    def note(self, text: str) -> None:
        self._bar.console.print(text, markup=False, highlight=False)


@contextmanager
def progress_bar(n_partitions: int, verb: str = "training") -> Iterator[TrainingListener]:
    """Show a progress bar with the remaining time on standard error, and notes above it.

    Yields the listener that advances it.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(verb),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        yield _ProgressBar(bar, bar.add_task("", total=n_partitions))


class CallbackListener(TrainingListener):
    """Notifies the callbacks of an estimator about its fit and about each trained binary.

    Everything is passed on to a further listener first.
    """

    def __init__(
        self, estimator: Any, n_tasks: int, X: Any, y: Any, further: TrainingListener
    ) -> None:
        self._estimator, self._further = estimator, further
        self._context: Any = None
        if getattr(estimator, "_skl_callbacks", None) or hasattr(estimator, "_parent_callback_ctx"):
            self._context = estimator._init_callback_context(max_subtasks=n_tasks)
            self._context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def trained(self, partition: str) -> None:
        """Notify the callbacks that a binary has been trained."""
        self._further.trained(partition)
        if self._context is None:
            return
        task = self._context.subcontext(task_name=partition)
        task.call_on_fit_task_begin(estimator=self._estimator)
        task.call_on_fit_task_end(estimator=self._estimator)

    def note(self, text: str) -> None:
        """Pass on a note."""
        self._further.note(text)

    def end(self, X: Any, y: Any) -> None:
        """Notify the callbacks that the fit is done."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator, X=X, y=y)
