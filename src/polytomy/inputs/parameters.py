"""Parameters of estimators: declared once with their allowed values, checked before any work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.suggestions import did_you_mean

__all__ = [
    "Parameter",
    "check_parameters",
    "is_boolean",
    "is_count",
    "is_job_count",
    "is_nonnegative_number",
    "is_random_state",
]


class Parameter(NamedTuple):
    """A parameter of an estimator, and its allowed values.

    Attributes
    ----------
    name : str
    expected : str
        The allowed values besides `choices`, in words that complete "must be".
    is_valid : function of a value that is not one of the choices
    choices : tuple of str
        Allowed strings. A near miss is suggested.
    allows_none : bool
    """

    name: str
    expected: str = ""
    is_valid: Callable[[Any], bool] = lambda value: False
    choices: tuple[str, ...] = ()
    allows_none: bool = False

    def check(self, value: Any) -> None:
        """Raise an ArgumentError unless the value is allowed.

        Examples
        --------
        >>> colour = Parameter("colour", choices=("red", "green"))
        >>> colour.check("gren")
        Traceback (most recent call last):
            ...
        polytomy.errors.ArgumentError: colour must be "red" or "green"; got 'gren'. Did you mean
        "green"?
        """
        is_choice = isinstance(value, str) and value in self.choices
        if is_choice or (value is None and self.allows_none) or self.is_valid(value):
            return
        raise ArgumentError(
            Argument(self.name),
            f" must be {self._allowed()}; got {value!r}.{did_you_mean(value, self.choices)}",
        )

    def _allowed(self) -> str:
        names = [f'"{choice}"' for choice in self.choices]
        parts = [*names, *([self.expected] if self.expected else [])]
        parts += ["None"] if self.allows_none else []
        return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} or {parts[-1]}"


def check_parameters(owner: Any, checks: Mapping[str, Callable[[Any], object]]) -> None:
    """Run the check of each parameter of an estimator on its value; checks raise ArgumentError."""
    for name, check in checks.items():
        check(getattr(owner, name))


def is_boolean(value: Any) -> bool:
    """Return whether a value is True or False."""
    return isinstance(value, bool | np.bool_)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not is_boolean(value)


def is_count(value: Any) -> bool:
    """Return whether a value is a non-negative integer; True and False count as 1 and 0."""
    return isinstance(value, int | np.integer | np.bool_) and bool(value >= 0)


def is_job_count(value: Any) -> bool:
    """Return whether a value is a number of jobs that joblib accepts."""
    return _is_integer(value) and value != 0


def is_nonnegative_number(value: Any) -> bool:
    """Return whether a value is a non-negative number."""
    is_number = isinstance(value, int | float | np.number) and not is_boolean(value)
    return is_number and bool(value >= 0)


def is_random_state(value: Any) -> bool:
    """Return whether a value is a seed or a legacy generator, as scikit-learn accepts them."""
    if isinstance(value, np.random.RandomState):
        return True
    return _is_integer(value) and 0 <= value < 2**32
