"""scikit-learn's callbacks (1.9 and later): the tasks of a fit are its binaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from polytomy.composition.dichotomies import Dichotomy

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # pragma: no cover - scikit-learn before 1.9 has none

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to mix in."""

    _Method = TypeVar("_Method", bound=Callable[..., Any])

    def with_callbacks(method: _Method) -> _Method:
        """Return the method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "FitTasks", "with_callbacks"]


class FitTasks:
    """Tells the callbacks of an estimator about its fit and about each binary that is trained."""

    def __init__(self, estimator: Any, n_tasks: int, X: Any, y: Any) -> None:
        self._estimator = estimator
        self._context: Any = None
        if getattr(estimator, "_skl_callbacks", None) or hasattr(estimator, "_parent_callback_ctx"):
            self._context = estimator._init_callback_context(max_subtasks=n_tasks)
            self._context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    @property
    def is_heard(self) -> bool:
        """Whether there is anyone to tell."""
        return self._context is not None

    def on_trained(self, dichotomy: Dichotomy) -> None:
        """Tell that a binary has been trained."""
        task = self._context.subcontext(task_name=dichotomy.name)
        task.call_on_fit_task_begin(estimator=self._estimator)
        task.call_on_fit_task_end(estimator=self._estimator)

    def end(self, X: Any, y: Any) -> None:
        """Tell that the fit is done."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator, X=X, y=y)
