"""Parameter values and labels as JSON that reads back as the same values."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import ModelFileError
from polytomy.persistence.own.fields import Fields

__all__ = ["NotPlainError", "labels_to_json", "read_labels", "read_value", "value_to_json"]

_DEEPEST = 20
_BYTE_ORDERS = "<>=|"
#: Types of label arrays, without their byte order.
_DTYPES = {np.dtype(code).str[1:] for code in "?bhilqBHILQefdg"} | {"O"}
#: Python types that labels of an array may have in JSON, by the kind of the array's dtype.
_LABELS: dict[str, tuple[type, ...]] = {
    "b": (bool,),
    "i": (int,),
    "u": (int,),
    "f": (int, float),
    "U": (str,),
    "O": (str, bool, int, float),
}


class NotPlainError(ValueError):
    """A value that is not made of numbers, text and collections of them."""


def value_to_json(value: Any) -> Any:
    """Return a plain value as JSON; NotPlainError if it is not plain.

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
    raise NotPlainError(f"{value!r} is not a plain value")


def read_value(value: Any, depth: int = 0) -> Any:
    """Return the value that `value_to_json` wrote."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ModelFileError("a value of the model is a number that is too large")
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
    raise ModelFileError("a value of the model has an unknown type")


def labels_to_json(labels: NDArray[Any] | Sequence[Any]) -> dict[str, Any]:
    """Return an array of labels with its type."""
    array = np.asarray(labels)
    kind = array.dtype.str if array.dtype.kind in "biufU" else "|O"
    return {"type": kind, "values": [value_to_json(label) for label in array.tolist()]}


def read_labels(fields: Fields) -> NDArray[Any]:
    """Return an array of different labels of one type."""
    dtype, values = fields.text("type"), fields.items("values")
    kind = dtype[1:2]
    is_known = dtype[:1] in _BYTE_ORDERS and (kind == "U" or dtype[1:] in _DTYPES)
    if not is_known or not all(type(each) in _LABELS[kind] for each in values):
        raise fields.fault("values", "a list of labels of one type")
    if kind == "U":
        # NumPy finds the length itself: a huge length that the file declares is not allocated.
        labels = np.array(values, dtype=np.str_)
    elif all(_can_hold(each, np.dtype(dtype)) for each in values):
        labels = np.array(values, dtype=dtype)
    else:
        raise fields.fault("values", f"a list of labels of type {dtype}")
    if len(set(labels.tolist())) < len(values):
        raise fields.fault("values", "a list of different labels")
    return labels


def _can_hold(label: Any, dtype: np.dtype[Any]) -> bool:
    """Return whether an array of a type can hold a label; infinity is not a label."""
    if isinstance(label, str | bool):
        return True
    if dtype.kind in "iu":
        return bool(np.iinfo(dtype).min <= label <= np.iinfo(dtype).max)
    if dtype.kind == "O" and isinstance(label, int):
        return True
    largest = np.finfo(np.float64 if dtype.kind == "O" else dtype).max
    return bool(abs(label) <= min(float(largest), sys.float_info.max))
