"""scikit-learn's callbacks (1.9 and later): each binary is a task of the fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from polytomy.binary.options import TrainingListener

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # pragma: no cover - scikit-learn before 1.9 has none

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Adds nothing."""

    _Method = TypeVar("_Method", bound=Callable[..., Any])

    def with_callbacks(method: _Method) -> _Method:
        """Return the method unchanged."""
        return method


__all__ = ["CallbackListener", "CallbackSupportMixin", "with_callbacks"]


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
