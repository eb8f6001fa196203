"""What estimators share: the tags of an inner estimator, interrupted fits, and listeners."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, Self, TypeVar, cast

from sklearn.utils import Tags
from sklearn.utils.metadata_routing import MetadataRouter

from polytomy.learners.preparation import check_nested_parameters, resolve_estimator, tags_of
from polytomy.learners.workload import TrainingListener
from polytomy.model.parameters import make_router

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


class ListenerGroup(TrainingListener):
    """Forwards everything to several listeners."""

    def __init__(self, listeners: Sequence[TrainingListener]) -> None:
        self._listeners = tuple(listeners)
        self.wants_estimates = any(each.wants_estimates for each in self._listeners)

    def trained(self, partition: str) -> None:
        """Notify all listeners that a binary has been trained."""
        for listener in self._listeners:
            listener.trained(partition)

    def note(self, text: str) -> None:
        """Pass a note on how the binaries are trained to all listeners."""
        for listener in self._listeners:
            listener.note(text)


class _ProgressBar(TrainingListener):
    wants_estimates = True

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
    """Notifies the callbacks of an estimator about its fit and about each trained binary."""

    def __init__(self, estimator: Any, n_tasks: int, X: Any, y: Any) -> None:
        self._estimator = estimator
        self._context: Any = None
        if getattr(estimator, "_skl_callbacks", None) or hasattr(estimator, "_parent_callback_ctx"):
            self._context = estimator._init_callback_context(max_subtasks=n_tasks)
            self._context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def trained(self, partition: str) -> None:
        """Notify the callbacks that a binary has been trained."""
        if self._context is None:
            return
        task = self._context.subcontext(task_name=partition)
        task.call_on_fit_task_begin(estimator=self._estimator)
        task.call_on_fit_task_end(estimator=self._estimator)

    def end(self, X: Any, y: Any) -> None:
        """Notify the callbacks that the fit is done."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator, X=X, y=y)
