"""Methods that an estimator has only with some parameters; the error says why one is missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any

from polytomy.errors import ArgumentError

__all__ = ["available_unless"]


class _ExplainedMethod:
    """A method that may be missing: accessing it then raises AttributeError with the reason."""

    def __init__(self, function: Callable[..., Any], why_missing: Callable[[Any], str]) -> None:
        self._function, self._why_missing = function, why_missing
        update_wrapper(self, function)  # type: ignore[arg-type]

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self._function
        try:
            reason = self._why_missing(owner)
        except ArgumentError:
            reason = ""  # a parameter is invalid, which fit will report
        if reason:
            name = self._function.__name__
            # The first words, and the cause, are those of scikit-learn's available_if.
            message = f"This {type(owner).__name__!r} has no attribute {name!r}: {reason}"
            raise AttributeError(message, name=name, obj=owner) from AttributeError(reason)
        return MethodType(self._function, owner)


def available_unless(why_missing: Callable[[Any], str]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for a method that some estimators do not have.

    It works like scikit-learn's ``available_if``, but the error says why the method is missing.

    Parameters
    ----------
    why_missing : function of the estimator that returns the reason, or "" if the method exists

    Examples
    --------
    >>> class Kettle:
    ...     water = 0
    ...     @available_unless(lambda kettle: "" if kettle.water else "it is empty. Fill it.")
    ...     def boil(self):
    ...         return "boiling"
    >>> hasattr(Kettle(), "boil")
    False
    >>> Kettle().boil()
    Traceback (most recent call last):
        ...
    AttributeError: This 'Kettle' has no attribute 'boil': it is empty. Fill it.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        return _ExplainedMethod(function, why_missing)

    return decorate
