"""Arguments of functions and estimators: their checks, and the words of their messages.

A `Parameter` declares the allowed values of a parameter once; `check_parameters` checks all
parameters of an estimator before any work.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from functools import update_wrapper
from types import MethodType
from typing import Any, NamedTuple

import numpy as np

from polytomy.errors import Argument, ArgumentError

PRECISIONS = ("float64", "float32")
"""Precision of predictions, and of the input and output of exported models."""

BALANCED = "balanced"
BALANCED_PER_PARTITION = "balanced-per-partition"
CLASS_WEIGHTS = (BALANCED, BALANCED_PER_PARTITION)
"""Class weights. In Python, None and dicts of labels and weights are allowed too."""

VALIDATIONS = ("folds",)
"""Rows on which an estimator is scored while it is fitted, to stop early."""


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


def as_count(name: str, value: object, at_least: int = 1) -> int:
    """Return a whole number as an int, or raise ArgumentError if it is not one or is too small.

    Examples
    --------
    >>> as_count("n_classes", np.int64(4))
    4
    >>> as_count("n_classes", 2.5)
    Traceback (most recent call last):
        ...
    polytomy.errors.ArgumentError: n_classes=2.5 is not a whole number. Use 1 or more.
    """
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(
            Argument(name, value), f" is not a whole number. Use {at_least} or more."
        ) from None
    if count < at_least:
        raise ArgumentError(Argument(name, count), f" is too few. Use {at_least} or more.")
    return count


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Raise ArgumentError, with the nearest choice, unless a value is one of the choices.

    Examples
    --------
    >>> check_choice("linkage", "singel", ("single", "complete"))
    Traceback (most recent call last):
        ...
    polytomy.errors.ArgumentError: linkage="singel" is not one of single, complete. Did you mean
    "single"?
    """
    if not isinstance(value, str) or value not in choices:
        raise ArgumentError(
            Argument(name, value),
            f" is not one of {', '.join(choices)}.{did_you_mean(value, choices)}",
        )


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


# -- words of messages -----------------------------------------------------------------------------


# Names of designs in other packages and in the literature.
_OTHER_NAMES = {
    "all-pairs": "one-vs-one",
    "all-vs-all": "one-vs-one",
    "ecoc": "random",
    "one-against-all": "one-vs-rest",
    "one-against-one": "one-vs-one",
    "one-vs-all": "one-vs-rest",
    "ova": "one-vs-rest",
    "ovo": "one-vs-one",
    "ovr": "one-vs-rest",
    "output-code": "random",
}


def did_you_mean(text: object, choices: Iterable[str]) -> str:
    """Return a sentence that suggests the nearest choice, with a space before it, or nothing.

    A choice is near if others call it by this name, if its spelling is almost the same, or if the
    text abbreviates it. Case does not matter.

    Examples
    --------
    >>> did_you_mean("least-square", ["least-squares", "voting"])
    ' Did you mean "least-squares"?'
    >>> did_you_mean("lsq", ["libsvm", "least-squares"])
    ' Did you mean "least-squares"?'
    >>> did_you_mean("ovr", ["one-vs-one", "one-vs-rest"])
    ' Did you mean "one-vs-rest"?'
    >>> did_you_mean("xgboost", ["libsvm", "least-squares"])
    ''
    """
    if not isinstance(text, str) or not text:
        return ""
    folded = text.lower()
    by_folded = {choice.lower(): choice for choice in choices}
    mark = "@" if folded.startswith("@") else ""  # of a design in a control text
    other = _OTHER_NAMES.get(re.sub(r"[\s_]", "-", folded.removeprefix("@")), "")
    near = [mark + other] if other and mark + other in by_folded else []
    near = near or get_close_matches(folded, by_folded, n=1)
    near = near or [choice for choice in by_folded if _abbreviates(folded, choice)][:1]
    return f' Did you mean "{by_folded[near[0]]}"?' if near else ""


def _abbreviates(text: str, name: str) -> bool:
    letters = iter(name)
    is_long_enough = len(text) > 1
    return is_long_enough and text[0] == name[:1] and all(letter in letters for letter in text)


def list_names(names: Iterable[str], most: int = 5) -> str:
    """Return the first names, and how many more there are.

    Examples
    --------
    >>> list_names(["a", "b"]), list_names(["a", "b", "c", "d"], most=2)
    ('a, b', 'a, b and 2 more')
    """
    names = list(names)
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def shorten(text: str, most: int) -> str:
    """Return a text of at most `most` characters, ending in … if it was longer.

    Examples
    --------
    >>> shorten("one-vs-one", 10), shorten("one-vs-rest", 10)
    ('one-vs-one', 'one-vs-re…')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def count_things(number: int, one: str, many: str | None = None) -> str:
    """Return a number and its noun; the plural ends in s unless `many` is given.

    Examples
    --------
    >>> count_things(1, "split"), count_things(3, "split"), count_things(0, "class", "classes")
    ('1 split', '3 splits', '0 classes')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


def make_frame(values: Any, instead: str) -> Any:
    """Return values as a pandas frame; without pandas, the error says what to use instead."""
    try:
        import pandas
    except ImportError:
        raise ArgumentError(f"a frame needs pandas, which is not installed. {instead}") from None
    return pandas.DataFrame(values)


# -- methods that an estimator has only with some parameters ---------------------------------------


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
