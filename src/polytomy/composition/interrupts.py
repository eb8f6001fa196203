"""A fit that is interrupted leaves the estimator as it was."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

__all__ = ["undone_if_interrupted"]

_Method = TypeVar("_Method", bound=Callable[..., Any])


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
