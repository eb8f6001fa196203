"""Checks of values that were read from JSON; each says where the first wrong value is.

A check is a function of a value, which raises Damage if the value is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from polytomy.errors import DataError

__all__ = [
    "LARGEST_NUMBER",
    "Check",
    "Damage",
    "OptionalField",
    "check_at",
    "check_count",
    "check_fraction",
    "check_matrix",
    "check_name",
    "check_object",
    "check_text",
    "check_whole_number",
    "damage_as_data_error",
    "list_of",
    "number_between",
    "object_of",
    "or_none",
    "parse_json",
    "show_value",
    "values_of",
]

LARGEST_NUMBER = 1e15
"""No count, time or distance is larger; sums and squares of such numbers stay finite."""

_MOST_SHOWN = 40

Check = Callable[[Any], None]


def parse_json(content: bytes) -> dict[str, Any]:
    """Return the object in a JSON file; DataError if there is none.

    Examples
    --------
    >>> parse_json(b'{"repeat": NaN}')
    Traceback (most recent call last):
    polytomy.errors.DataError: NaN is not a JSON number
    """
    try:
        found = json.loads(content, parse_constant=_refuse_constant)
    except RecursionError:
        raise DataError("it is nested too deeply") from None
    except DataError:
        raise
    except ValueError:
        raise DataError("it is not JSON, or it is incomplete") from None
    if not isinstance(found, dict):
        raise DataError(f"{show_value(found)} is not an object")
    return found


def _refuse_constant(name: str) -> None:
    raise DataError(f"{name} is not a JSON number")


@contextmanager
def damage_as_data_error() -> Iterator[None]:
    """Turn Damage in the body of the ``with`` statement into DataError."""
    try:
        yield
    except Damage as damage:
        raise DataError(str(damage)) from None


class Damage(Exception):
    """A value that is wrong, and its place from the outermost key inwards."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.places: list[str] = []

    def __str__(self) -> str:
        return ": ".join([*filter(None, [", ".join(self.places)]), super().__str__()])


def show_value(value: Any) -> str:
    """Return a value as short JSON text."""
    try:
        text = json.dumps(value, ensure_ascii=True)
    except ValueError:  # an integer with too many digits
        text = "a very large number"
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"


def check_at(place: str | int, check: Callable[..., None], *values: Any) -> None:
    """Run a check of the value in a place."""
    try:
        check(*values)
    except Damage as damage:
        damage.places.insert(0, str(place))
        raise


def check_object(value: Any, fields: Mapping[str, Check]) -> None:
    """Check the fields of an object; those whose check is OptionalField may be missing."""
    if not isinstance(value, dict):
        raise Damage(f"{show_value(value)} is not an object")
    for key in value:
        check_at("a key", check_text, key)
    for key, check in fields.items():
        if key in value:
            check_at(key, check, value[key])
        elif not isinstance(check, OptionalField):
            check_at(key, _refuse_missing)


def _refuse_missing() -> None:
    raise Damage("it is missing")


class OptionalField:
    """The check of a field that may be missing."""

    def __init__(self, check: Check) -> None:
        self._check = check

    def __call__(self, value: Any) -> None:
        """Check the value of a field that is not missing."""
        self._check(value)


def check_text(value: Any) -> None:
    """Check that a value is text, without lone surrogates."""
    if not isinstance(value, str):
        raise Damage(f"{show_value(value)} is not text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Damage(f"{show_value(value)} has a lone surrogate") from None


def check_name(value: Any) -> None:
    """Check that a value is text, and not empty."""
    check_text(value)
    if not value:
        raise Damage("it is empty")


def _check_number(value: Any, least: float, most: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Damage(f"{show_value(value)} is not a number")
    # NaN is in no interval.
    if not least <= value <= most:
        raise Damage(f"{show_value(value)} is not between {least:g} and {most:g}")


def number_between(least: float, most: float) -> Check:
    """Return the check of a number in an interval."""
    return lambda value: _check_number(value, least, most)


def check_count(value: Any) -> None:
    """Check that a value is a whole number of zero or more."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise Damage(f"{show_value(value)} is not a whole number")
    _check_number(value, 0, LARGEST_NUMBER)


def check_whole_number(value: Any) -> None:
    """Check that a value is a whole number."""
    check_count(abs(value) if isinstance(value, int) and not isinstance(value, bool) else value)


def check_fraction(value: Any) -> None:
    """Check that a number is strictly between 0 and 1."""
    _check_number(value, 0, 1)
    if not 0 < value < 1:
        raise Damage(f"{show_value(value)} is not between 0 and 1")


def or_none(check: Check) -> Check:
    """Return the check of a value that may be None."""

    def check_unless_none(value: Any) -> None:
        if value is not None:
            check(value)

    return check_unless_none


def list_of(check: Check) -> Check:
    """Return the check of a list, from that of its items."""

    def check_items(value: Any) -> None:
        if not isinstance(value, list):
            raise Damage(f"{show_value(value)} is not a list")
        for number, item in enumerate(value):
            check_at(number, check, item)

    return check_items


def values_of(check: Check) -> Check:
    """Return the check of an object with any keys, from that of its values."""

    def check_values(value: Any) -> None:
        if not isinstance(value, dict):
            raise Damage(f"{show_value(value)} is not an object")
        for key, item in value.items():
            check_at("a key", check_text, key)
            check_at(key, check, item)

    return check_values


def object_of(fields: Mapping[str, Check]) -> Check:
    """Return the check of an object, from those of its fields; see `check_object`."""
    return lambda value: check_object(value, fields)


def check_matrix(value: Any, n_rows: int, n_columns: int, check: Check) -> None:
    """Check that a value is a list of lists of numbers, with these lengths."""
    list_of(list_of(check))(value)
    if len(value) != n_rows or any(len(row) != n_columns for row in value):
        raise Damage(f"it is not a table of {n_rows} × {n_columns} numbers")
