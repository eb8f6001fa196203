"""States: what the parts of a model are saved as, and how each part is made from one again.

A kind of part that can be saved has a method ``state()`` and a class method ``from_state(state)``.
``state()`` returns a dict of numbers, text, lists, NumPy arrays, sparse matrices and other parts; a
dataclass without it is saved field by field. ``from_state`` gets the same values as a `State`. They
may come from a file that somebody changed, so every value is checked when it is read. Classes
register themselves with `stored_as`, classes of other packages are registered with `register_kind`;
a file can only contain registered kinds.

Examples
--------
>>> @stored_as("example/line")
... class Line:
...     def __init__(self, slope):
...         self.slope = slope
...
...     def state(self):
...         return {"slope": self.slope}
...
...     @classmethod
...     def from_state(cls, state):
...         return cls(state.number("slope", least=0.0))
>>> Line.from_state(State({"slope": 2.0}, "model.line")).slope
2.0
>>> Line.from_state(State({"slope": -2.0}, "model.line"))
Traceback (most recent call last):
    ...
polytomy.errors.ModelFileError: model.line.slope is not a number from 0 to 1e+100
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from polytomy.errors import ModelFileError

#: Limit of most numbers in a state: sums of products of larger ones could overflow.
LARGEST = 1e100

T = TypeVar("T")


class Kind(NamedTuple):
    """A kind of part that can be saved.

    Attributes
    ----------
    name : str
        Its family and its own name, such as "calibrator/sigmoid".
    family : str
        What it can be used as: a calibrator, an estimator, …
    state : function that returns the state of an instance; None if that instance has no plain one
    from_state : function that makes an instance from a `State`
    """

    name: str
    family: str
    state: Callable[[Any], Mapping[str, Any] | None]
    from_state: Callable[[State], Any]


_KINDS: dict[str, Kind] = {}
_KINDS_OF_TYPES: dict[type, Kind] = {}


def register_kind(
    name: str,
    type_: type,
    state: Callable[[Any], Mapping[str, Any] | None] | None = None,
    from_state: Callable[[State], Any] | None = None,
) -> None:
    """Register a class whose instances can be saved.

    Parameters
    ----------
    name : str
        Family and name, such as "calibrator/sigmoid".
    type_ : class; its subclasses are not registered
    state, from_state : functions, by default those of the class
        A dataclass without ``state`` is saved field by field.
    """
    own: Any = type_
    own_state: Any = state or getattr(own, "state", field_values)
    kind = Kind(name, name.partition("/")[0], own_state, from_state or own.from_state)
    _KINDS[name] = _KINDS_OF_TYPES[type_] = kind


def stored_as(name: str) -> Callable[[type[T]], type[T]]:
    """Return a decorator that registers a class; see `register_kind`."""

    def register(type_: type[T]) -> type[T]:
        register_kind(name, type_)
        return type_

    return register


def find_kind(name: Any) -> Kind | None:
    """Return the kind of a name, or None."""
    return _KINDS.get(name) if isinstance(name, str) else None


def find_kind_of(instance: Any) -> Kind | None:
    """Return the kind of an object, or None if its class is not registered."""
    return _KINDS_OF_TYPES.get(type(instance))


def field_values(instance: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name; the state of many kinds."""
    return {field.name: getattr(instance, field.name) for field in dataclasses.fields(instance)}


def is_plain(value: Any) -> bool:
    """Return whether a value consists of numbers, text and collections of them.

    Examples
    --------
    >>> is_plain({"a": [1, None, (0.5, "b")]}), is_plain([object()])
    (True, False)
    """
    if isinstance(value, Mapping):
        return all(is_plain(each) for pair in value.items() for each in pair)
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    return value is None or isinstance(value, bool | int | float | str | np.generic)


class State:
    """Values by name, each checked when it is read; ModelFileError if one is wrong.

    Parameters
    ----------
    values : dict of values, arrays and instances of registered kinds
    where : place in the file, for messages
    """

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self._values, self.where = values, where

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def value(self, name: str) -> Any:
        """Return a value of any type; None if it is missing."""
        return self._values.get(name)

    def text(self, name: str, choices: Sequence[str] = ()) -> str:
        """Return a text, one of the choices if there are any."""
        value = self._values.get(name)
        if not isinstance(value, str) or (choices and value not in choices):
            raise self.fault(name, f"one of {', '.join(choices)}" if choices else "text")
        return value

    def boolean(self, name: str) -> bool:
        """Return a value that is true or false."""
        value = self._values.get(name)
        if not isinstance(value, bool):
            raise self.fault(name, "true or false")
        return value

    def integer(self, name: str, least: int = 0, most: int = 2**53) -> int:
        """Return an integer within bounds."""
        value = self._values.get(name)
        if type(value) is not int or not least <= value <= most:
            raise self.fault(name, f"an integer from {least} to {most}")
        return value

    def number(self, name: str, least: float = -LARGEST, most: float = LARGEST) -> float:
        """Return a number within bounds."""
        value = self._values.get(name)
        if type(value) not in (int, float) or not least <= value <= most:  # type: ignore[operator]
            raise self.fault(name, f"a number from {least:g} to {most:g}")
        return float(value)  # type: ignore[arg-type]

    def items(self, name: str) -> list[Any]:
        """Return a list."""
        value = self._values.get(name)
        if not isinstance(value, list):
            raise self.fault(name, "a list")
        return value

    def texts(self, name: str) -> list[str]:
        """Return a list of texts."""
        value = self.items(name)
        if not all(isinstance(each, str) for each in value):
            raise self.fault(name, "a list of texts")
        return value

    def inner(self, name: str) -> State:
        """Return a dict of values by name."""
        value = self._values.get(name)
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise self.fault(name, "a dict of values by name")
        return State(value, f"{self.where}.{name}")

    def numbers(self, name: str) -> dict[str, float]:
        """Return a dict of numbers by name."""
        inner, largest = self.inner(name), sys.float_info.max
        return {key: inner.number(key, -largest, largest) for key in inner}

    def floats(
        self,
        name: str,
        shape: tuple[int | None, ...],
        least: float = -LARGEST,
        most: float = LARGEST,
        dtype: Any = np.float64,
    ) -> NDArray[Any]:
        """Return an array of floats within bounds.

        Parameters
        ----------
        name : str
        shape : its shape; None for any length
        least, most : bounds of its values, which are finite
        dtype : type of the result; values of another type are converted only to float64
            None keeps the type in the file.
        """
        value: Any = self._values.get(name)
        is_array = isinstance(value, np.ndarray) and value.dtype.kind == "f"
        if not is_array or not _has_shape(value, shape):
            raise self.fault(name, f"an array of floats of shape {_describe(shape)}")
        dtype = value.dtype if dtype is None else dtype
        if value.dtype != dtype and dtype != np.float64:
            raise self.fault(name, f"an array of type {np.dtype(dtype)}")
        if value.size and not (float(value.min()) >= least and float(value.max()) <= most):
            raise self.fault(name, f"an array of numbers from {least:g} to {most:g}")
        array: NDArray[Any] = value.astype(dtype, copy=False)
        return array

    def indices(self, name: str, below: int, length: int | None = None) -> NDArray[np.intp]:
        """Return an array of integers from 0 to below a bound."""
        value: Any = self._values.get(name)
        is_array = isinstance(value, np.ndarray) and value.dtype.kind in "iu"
        if not is_array or not _has_shape(value, (length,)):
            raise self.fault(name, f"an array of integers of shape {_describe((length,))}")
        if value.size and not (value.min() >= 0 and value.max() < below):
            raise self.fault(name, f"an array of integers below {below}")
        return np.asarray(value.astype(np.intp, copy=False))

    def matrix(self, name: str, n_columns: int | None = None) -> Any:
        """Return an array of two dimensions, or a sparse matrix, of float64 or float32."""
        value: Any = self._values.get(name)
        is_matrix = scipy.sparse.issparse(value) or (
            isinstance(value, np.ndarray) and value.ndim == 2
        )
        if not is_matrix or value.dtype.name not in ("float64", "float32"):
            raise self.fault(name, "a matrix of floats")
        if n_columns not in (None, value.shape[1]):
            raise self.fault(name, f"a matrix of {n_columns} columns")
        return value

    def labels(self, name: str, length: int | None = None) -> NDArray[Any]:
        """Return an array of different labels."""
        value = self._values.get(name)
        if not isinstance(value, np.ndarray) or not _has_shape(value, (length,)):
            raise self.fault(name, f"an array of labels of shape {_describe((length,))}")
        if len(set(value.tolist())) < len(value):
            raise self.fault(name, "an array of different labels")
        return value

    def part(self, name: str, family: str, *methods: str) -> Any:
        """Return an instance of a kind of a family, or another object with some methods."""
        value = self._values.get(name)
        self._check_part(value, name, family, methods)
        return value

    def parts(self, name: str, family: str) -> list[Any]:
        """Return a list of instances of kinds of a family."""
        values = self.items(name)
        for each in values:
            self._check_part(each, name, family, ())
        return values

    def _check_part(self, value: Any, name: str, family: str, methods: Sequence[str]) -> None:
        kind = _KINDS_OF_TYPES.get(type(value))
        is_right = bool(methods) if kind is None else kind.family == family
        for method in methods:
            if not hasattr(value, method):
                raise self.fault(name, f"a kind of {family} with {method}")
        if not is_right:
            raise self.fault(name, f"a kind of {family}")

    def fault(self, name: str, expected: str) -> ModelFileError:
        """Return the error that says what a value should be."""
        return ModelFileError(f"{self.where}.{name} is not {expected}")


def _has_shape(array: Any, shape: tuple[int | None, ...]) -> bool:
    return array.ndim == len(shape) and all(
        wanted in (None, own) for wanted, own in zip(shape, array.shape, strict=True)
    )


def _describe(shape: tuple[int | None, ...]) -> str:
    lengths = ["any" if length is None else str(length) for length in shape]
    return f"({', '.join(lengths)}{',' * (len(lengths) == 1)})"
