"""Values of parameters, and labels, as JSON that reads back as the same values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import ModelFileError
from polytomy.persistence.own.fields import Fields

__all__ = ["NotPlainError", "labels_to_json", "read_labels", "read_value", "value_to_json"]

_DEEPEST = 20
#: What the labels of an array are, by the letter of its type.
_LABELS: dict[str, tuple[type, ...]] = {
    "b": (bool,),
    "i": (int,),
    "u": (int,),
    "f": (int, float),
    "U": (str,),
    "O": (str, bool, int, float),
}


class NotPlainError(ValueError):
    """A value that is more than numbers, text and collections of them."""


def value_to_json(value: Any) -> Any:
    """Return a plain value as JSON; NotPlainError if it is something else.

    Examples
    --------
    >>> value_to_json((0, np.float64(0.5), None))
    {'tuple': [0, 0.5, None]}
    >>> read_value({"tuple": [0, 0.5, None]})
    (0, 0.5, None)
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if type(value) is tuple:
        return {"tuple": [value_to_json(each) for each in value]}
    if type(value) is list:
        return [value_to_json(each) for each in value]
    if isinstance(value, Mapping):
        return {"dict": [[value_to_json(k), value_to_json(v)] for k, v in value.items()]}
    raise NotPlainError(f"{value!r} is no plain value")


def read_value(value: Any, depth: int = 0) -> Any:
    """Return the value that JSON stands for."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if depth > _DEEPEST:
        raise ModelFileError("a value of the model is nested too deeply")
    if isinstance(value, list):
        return [read_value(each, depth + 1) for each in value]
    match value:
        case {"tuple": list(items)}:
            return tuple([read_value(each, depth + 1) for each in items])
        case {"float": "inf" | "-inf" | "nan" as name}:
            return float(name)
        case {"dict": list(pairs)} if all(isinstance(p, list) and len(p) == 2 for p in pairs):
            read = [(read_value(k, depth + 1), read_value(v, depth + 1)) for k, v in pairs]
            if all(isinstance(k, bool | int | float | str | None) for k, _ in read):
                return dict(read)
    raise ModelFileError("a value of the model is of an unknown kind")


def labels_to_json(labels: NDArray[Any] | Sequence[Any]) -> dict[str, Any]:
    """Return an array of labels with its type."""
    array = np.asarray(labels)
    kind = array.dtype.str if array.dtype.kind in "biufU" else "|O"
    return {"type": kind, "values": [value_to_json(label) for label in array.tolist()]}


def read_labels(fields: Fields) -> NDArray[Any]:
    """Return an array of labels, all of one type and each once."""
    kind, values = fields.text("type"), fields.items("values")
    letter = kind[1:2]
    if letter not in _LABELS or not all(type(each) in _LABELS[letter] for each in values):
        raise fields.fault("values", "a list of labels of one type")
    if len(set(values)) < len(values):
        raise fields.fault("values", "a list of different labels")
    try:
        # The longest text decides the length: a huge one that is declared is not allocated.
        return np.array(values, dtype=np.str_ if letter == "U" else np.dtype(kind))
    except (TypeError, ValueError, OverflowError) as error:
        raise fields.fault("values", f"a list of labels of type {kind}") from error
