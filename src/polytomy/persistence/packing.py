"""Nested states as JSON and a few long arrays, and the way back.

Everything that JSON has no word for is an object with one of these keys:

========  ==========================================================================================
kind      an instance of a registered kind: its name and the values of its state
same      the number of an instance that came before, counted in the order in which they end
object    the number of an object that is not plain, which skops saves
array     the type and the shape of an array; its values are the next ones in the member of its type
sparse    the shape of a sparse matrix, and its values, columns and row ends in CSR format
labels    the type of an array of labels, and the labels
tuple     a list of its items
dict      a list of pairs of keys and values
float     "inf", "-inf" or "nan"
========  ==========================================================================================

Arrays of one type follow each other in one member: thousands of small arrays would each need a
header, and compress worse. They have no positions, so no number can be used twice, and a small file
cannot claim to hold large arrays. Matrices are stored by columns, whose values repeat more often.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from polytomy.errors import ArgumentError, ModelFileError, PolytomyError
from polytomy.states import State, find_kind, find_kind_of

_FLOATS = ("float64", "float32", "float16")
_INTEGERS = tuple(f"{sign}int{bits}" for sign in ("u", "") for bits in (8, 16, 32, 64))
#: Values that are the same in JSON. A kind checks the range of its numbers itself.
_SIMPLE = frozenset((str, int, float, bool, type(None)))
#: How deeply values may be nested.
_DEEPEST = 40
# What a kind that is defined elsewhere may raise if a value is not what it expects.
_WRONG_VALUE = (PolytomyError, ValueError, TypeError, LookupError, AttributeError)


class Packer:
    """Turns values into JSON, and collects the arrays and objects in them.

    Attributes
    ----------
    objects : list of objects to save with skops

    Parameters
    ----------
    substitutes : dict of objects to pack in place of others, by the id of the others

    Examples
    --------
    >>> packer = Packer()
    >>> packer.pack((0, np.array([0.5, 2.0]), {"a": np.array([7, 300])}))
    {'tuple': [0, {'array': ['float64', 2]}, {'dict': [['a', {'array': ['uint16', 2]}]]}]}
    >>> packer.arrays()
    {'float64': array([0.5, 2. ]), 'uint16': array([  7, 300], dtype=uint16)}
    """

    def __init__(self, substitutes: Mapping[int, Any] | None = None) -> None:
        self.objects: list[Any] = []
        self._substitutes = {} if substitutes is None else substitutes
        self._arrays: dict[str, list[NDArray[Any]]] = {}
        self._references: dict[int, dict[str, int]] = {}
        self._n_instances = 0
        # Objects that `state` made must stay alive, or their ids would be used again.
        self._kept: list[Any] = []

    def pack(self, value: Any) -> Any:
        """Return a value as JSON."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if type(value) is tuple:
            return {"tuple": [self.pack(each) for each in value]}
        if type(value) is list:
            return [self.pack(each) for each in value]
        if isinstance(value, Mapping):
            return {"dict": [[self.pack(key), self.pack(each)] for key, each in value.items()]}
        if isinstance(value, np.ndarray):
            return self._pack_array(value)
        if issparse(value):
            return self._pack_sparse(value)
        return self._pack_instance(self._substitutes.get(id(value), value))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the values of all arrays, by their type."""
        return {name: np.concatenate(parts) for name, parts in self._arrays.items()}

    def _pack_array(self, array: NDArray[Any]) -> dict[str, Any]:
        if array.dtype == np.int64:
            low, high = int(array.min(initial=0)), int(array.max(initial=0))
            array = array.astype(np.min_scalar_type(high if low >= 0 else min(low, -1 - high)))
        elif array.dtype.name not in _FLOATS:
            return pack_labels(array)
        elif not np.isfinite(array).all():
            raise ModelFileError("the model has values that are not finite, so it cannot be saved")
        self._arrays.setdefault(array.dtype.name, []).append(array.ravel("F"))
        return {"array": [array.dtype.name, *array.shape]}

    def _pack_sparse(self, matrix: Any) -> dict[str, Any]:
        rows: Any = csr_matrix(matrix)
        indices = [part.astype(np.int64) for part in (rows.indices, rows.indptr)]
        return {"sparse": [self.pack(part) for part in (rows.shape, rows.data, *indices)]}

    def _pack_instance(self, instance: Any) -> dict[str, Any]:
        if id(instance) in self._references:
            return self._references[id(instance)]
        kind = find_kind_of(instance)
        state = None if kind is None else kind.state(instance)
        self._kept.append(instance)
        if kind is not None and state is not None:
            packed = {name: self.pack(each) for name, each in state.items() if each is not None}
            self._references[id(instance)] = {"same": self._n_instances}
            self._n_instances += 1
            return {"kind": kind.name, **packed}
        self._references[id(instance)] = {"object": len(self.objects)}
        self.objects.append(instance)
        return self._references[id(instance)]


def pack_labels(labels: NDArray[Any]) -> dict[str, Any]:
    """Return an array of labels as JSON, with its type."""
    type_ = labels.dtype.str if labels.dtype.kind in "biufU" else "|O"
    values = labels.tolist()
    for label in values:
        if not isinstance(label, str | bool | int | float) or label != label:
            raise ArgumentError(f"the label {label!r} cannot be saved. Use text or numbers.")
    return {"labels": [type_, values]}


class Unpacker:
    """Turns JSON into the values it was made from; ModelFileError if that is impossible.

    Parameters
    ----------
    arrays : dict of the values of all arrays, finite, by their type
    objects : the objects that skops saved
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]], objects: Sequence[Any] = ()) -> None:
        for name, array in arrays.items():
            if array.ndim != 1 or array.dtype.name != name:
                raise ModelFileError(f"the array of {name} has another type or shape")
        self._arrays, self._objects = arrays, objects
        self._n_used = dict.fromkeys(arrays, 0)
        self._instances: list[Any] = []

    def unpack(self, value: Any, where: str, depth: int = 0) -> Any:
        """Return the value that a `Packer` packed.

        Parameters
        ----------
        value : JSON
        where : place in the file, for messages
        depth : number of values around it
        """
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            if not math.isfinite(value):
                raise ModelFileError(f"{where} is a number that is too large")
            return value
        if depth > _DEEPEST:
            raise ModelFileError(f"{where} is nested too deeply")
        if isinstance(value, list):
            return [self.unpack(each, f"{where}[{i}]", depth + 1) for i, each in enumerate(value)]
        if "kind" in value:
            return self._make_instance(value, where, depth)
        match value:
            case {"array": [str(type_), *shape]}:
                return self._read_array(type_, shape, where)
            case {"same": int(number)} if 0 <= number < len(self._instances):
                return self._instances[number]
            case {"tuple": list(items)}:
                return tuple(self.unpack(items, where, depth + 1))
            case {"float": "inf" | "-inf" | "nan" as name}:
                return float(name)
            case {"dict": list(pairs)} if all(isinstance(p, list) and len(p) == 2 for p in pairs):
                read = self.unpack(pairs, where, depth + 1)
                if all(isinstance(key, bool | int | float | str | None) for key, _ in read):
                    return dict(read)
            case {"sparse": [_, _, _, _] as parts}:
                return _make_sparse(self.unpack(parts, where, depth + 1), where)
            case {"labels": [str(type_), list(labels)]}:
                return _make_labels(type_, labels, where)
            case {"object": int(number)} if 0 <= number < len(self._objects):
                return self._objects[number]
        raise ModelFileError(f"{where} is not a value that polytomy writes")

    def check_all_used(self) -> None:
        """Raise ModelFileError if numbers are left that belong to no array."""
        for name, array in self._arrays.items():
            if self._n_used[name] < len(array):
                raise ModelFileError(f"the file has more numbers of type {name} than the model")

    def _make_instance(self, packed: Mapping[str, Any], where: str, depth: int) -> Any:
        kind = find_kind(packed["kind"])
        if kind is None:
            raise ModelFileError(
                f"{where} is of the kind {packed['kind']!s:.40}, which is not known. If another "
                "package defines it, import that first."
            )
        values = {
            # Most values of thousands of binaries are these.
            name: each if type(each) in _SIMPLE else self.unpack(each, f"{where}.{name}", depth + 1)
            for name, each in packed.items()
        }
        try:
            instance = kind.from_state(State(values, where))
        except ModelFileError:
            raise
        except _WRONG_VALUE as error:
            raise ModelFileError(f"{where}: {error}") from error
        self._instances.append(instance)
        return instance

    def _read_array(self, name: str, shape: list[Any], where: str) -> NDArray[Any]:
        if not 1 <= len(shape) <= 2 or any(type(n) is not int or n < 0 for n in shape):
            raise ModelFileError(f"{where} does not have a valid shape")
        start, size = self._n_used.get(name, 0), math.prod(shape)
        if name not in self._arrays or start + size > len(self._arrays[name]):
            raise ModelFileError(f"{where} has more numbers of type {name:.10} than the file")
        self._n_used[name] = start + size
        part = self._arrays[name][start : start + size]
        if name in _INTEGERS:
            part = part.astype(np.int64)
        return part if len(shape) == 1 else np.ascontiguousarray(part.reshape(shape[::-1]).T)


def _make_sparse(parts: list[Any], where: str) -> Any:
    """Return a sparse matrix after checking every index in it."""
    state = State(dict(zip(("shape", "values", "columns", "ends"), parts, strict=True)), where)
    match parts[0]:
        case (int(n_rows), int(n_columns)) if n_rows >= 0 and 0 <= n_columns < 2**31:
            data = state.floats("values", (None,), -sys.float_info.max, sys.float_info.max)
            indices = state.indices("columns", n_columns, len(data))
            indptr = state.indices("ends", len(data) + 1, n_rows + 1)
            if indptr[0] == 0 and indptr[-1] == len(data) and np.all(np.diff(indptr) >= 0):
                stored = data, indices.astype(np.int32), indptr.astype(np.int32)
                return csr_matrix(stored, shape=(n_rows, n_columns))
    raise ModelFileError(f"{where} is not a sparse matrix in CSR format")


def _make_labels(type_: str, values: list[Any], where: str) -> NDArray[Any]:
    """Return an array of labels of one type."""
    try:
        dtype = np.dtype(type_)
        # NumPy finds the length of text itself: a huge length in the file is not allocated.
        with np.errstate(over="ignore"):
            labels = np.array(values, dtype=np.str_ if dtype.kind == "U" else dtype)
        are_labels = all(isinstance(each, str) or abs(each) != math.inf for each in values)
        if labels.dtype.kind in "biufUO" and are_labels and labels.tolist() == values:
            return labels
    except (TypeError, ValueError, OverflowError):  # they are not of this type
        pass
    raise ModelFileError(f"{where} is not a list of labels of type {type_:.10}")
