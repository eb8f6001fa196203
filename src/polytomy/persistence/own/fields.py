"""Reading the fields of a JSON object, each with its type and range checked."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from polytomy.errors import ModelFileError

__all__ = ["Fields", "is_finite_number"]


class Fields:
    """A JSON object whose fields are read by name and type; ModelFileError if one is wrong.

    Parameters
    ----------
    value : what should be a JSON object
    where : name of the object in messages

    Examples
    --------
    >>> Fields({"size": 3}, "pool 0").integer("size", least=1)
    3
    """

    def __init__(self, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise ModelFileError(f"{where} is not an object")
        self._value, self.where = value, where

    def __contains__(self, name: str) -> bool:
        return self._value.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._value)

    def raw(self, name: str) -> Any:
        """Return a field of any type; None if it is missing."""
        return self._value.get(name)

    def text(self, name: str, default: str | None = None) -> str:
        """Return a field that is text."""
        value = self._value.get(name, default)
        if not isinstance(value, str):
            raise self.fault(name, "text")
        return value

    def integer(self, name: str, *, least: int, most: int = 2**53) -> int:
        """Return a field that is an integer within bounds."""
        value = self._value.get(name)
        if type(value) is not int or not least <= value <= most:
            raise self.fault(name, f"an integer from {least} to {most}")
        return value

    def number(self, name: str) -> float:
        """Return a field that is a finite number."""
        value = self._value.get(name)
        if not is_finite_number(value):
            raise self.fault(name, "a finite number")
        return float(value)  # type: ignore[arg-type]

    def boolean(self, name: str) -> bool:
        """Return a field that is true or false."""
        value = self._value.get(name)
        if not isinstance(value, bool):
            raise self.fault(name, "true or false")
        return value

    def items(self, name: str) -> list[Any]:
        """Return a field that is a list."""
        value = self._value.get(name)
        if not isinstance(value, list):
            raise self.fault(name, "a list")
        return value

    def texts(self, name: str) -> list[str]:
        """Return a field that is a list of texts."""
        value = self.items(name)
        if not all(isinstance(each, str) for each in value):
            raise self.fault(name, "a list of texts")
        return value

    def integers(self, name: str, *, least: int, most: int = 2**53) -> list[int]:
        """Return a field that is a list of integers within bounds."""
        value = self.items(name)
        if not all(type(each) is int and least <= each <= most for each in value):
            raise self.fault(name, f"a list of integers from {least} to {most}")
        return value

    def fields(self, name: str) -> Fields:
        """Return a field that is an object."""
        return Fields(self._value.get(name), f"{name} of {self.where}")

    def all_fields(self, name: str) -> Iterator[Fields]:
        """Yield the objects of a field that is a list of objects."""
        for i, each in enumerate(self.items(name)):
            yield Fields(each, f"{name} {i} of {self.where}")

    def fault(self, name: str, expected: str) -> ModelFileError:
        """Return the error that says what a field should be."""
        return ModelFileError(f"{name} of {self.where} is not {expected}")


def is_finite_number(value: Any) -> bool:
    """Return whether a value is a finite float, or an integer that a float can hold.

    Examples
    --------
    >>> is_finite_number(2), is_finite_number(10**400), is_finite_number(True)
    (True, False, False)
    """
    return type(value) in (int, float) and abs(value) <= sys.float_info.max
