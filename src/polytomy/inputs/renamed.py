"""Old names of arguments and module attributes, which still work with a warning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from polytomy.errors import warn_caller

__all__ = ["find_renamed", "renamed_arguments"]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def renamed_arguments(
    **new_names: str,
) -> Callable[[Callable[_Arguments, _Result]], Callable[_Arguments, _Result]]:
    """Let a function accept arguments by their old names, with a DeprecationWarning.

    If an old name is now the name of another argument, it keeps its old meaning only in a call that
    would otherwise lack the argument it used to name.

    Parameters
    ----------
    **new_names : for each old name, the new one

    Examples
    --------
    >>> import warnings
    >>> @renamed_arguments(rows="n_partitions")
    ... def draw_code(n_partitions):
    ...     return f"a code of {n_partitions} partitions"
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     print(draw_code(rows=3))
    a code of 3 partitions
    >>> print(caught[0].message)
    draw_code(rows=...) is deprecated. Use n_partitions=... instead.
    """

    def decorate(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        parameters = list(signature(function).parameters)

        @wraps(function)
        def call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
            given: dict[str, Any] = dict(kwargs)
            for old, new in new_names.items():
                is_given = new in given or new in parameters[: len(args)]
                if old not in given or (is_given and old in parameters):
                    continue
                where = f"{function.__name__}({old}=...)"
                if is_given:
                    raise TypeError(f"{where} is the old name of {new}, which is given too")
                warn_caller(f"{where} is deprecated. Use {new}=... instead.", DeprecationWarning)
                given[new] = given.pop(old)
            return function(*args, **given)

        return call

    return decorate


def find_renamed(module: str, name: str, renamed: Mapping[str, Any]) -> Any:
    """Return an object that a module now has under another name, with a DeprecationWarning.

    For a module's ``__getattr__``; raises AttributeError for a name that never existed.

    Parameters
    ----------
    module : name of the module
    name : name of the attribute that was looked up
    renamed : the objects by their old names
    """
    if name not in renamed:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    found = renamed[name]
    message = f"{module}.{name} is deprecated. Use {module}.{found.__name__} instead."
    warn_caller(message, DeprecationWarning)
    return found
