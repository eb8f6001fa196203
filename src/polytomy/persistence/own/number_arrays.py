"""All numbers of a model in two long arrays, with references into them.

Thousands of small arrays would each need a header and compress worse.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from polytomy.errors import ModelFileError
from polytomy.persistence.own.fields import Fields

__all__ = ["NumberReader", "NumberWriter", "checked_shape"]

_SINGLE = "float32"


class NumberWriter:
    """Collects arrays and returns references to them.

    Examples
    --------
    >>> numbers = NumberWriter()
    >>> numbers.floats(np.array([[1.0, 2.0]])), numbers.floats(np.array([3.0]))
    ({'start': 0, 'shape': [1, 2]}, {'start': 2, 'shape': [1]})
    >>> numbers.all_floats()
    array([1., 2., 3.])
    """

    def __init__(self) -> None:
        self._floats: list[NDArray[np.float64]] = []
        self._integers: list[NDArray[np.int64]] = []
        self._n_floats = self._n_integers = 0

    def floats(self, array: Any, *, by_columns: bool = False) -> dict[str, Any]:
        """Store an array of floats and return the reference to it.

        A matrix whose values repeat within columns compresses better by columns.
        """
        array = np.asarray(array)
        if not np.isfinite(array).all():
            raise ModelFileError("the model has values that are not finite, so it cannot be saved")
        reference = {"start": self._n_floats, "shape": list(array.shape)}
        if array.dtype == np.float32:
            reference["type"] = _SINGLE
        if by_columns:
            reference["order"] = "columns"
        flat = array.ravel("F" if by_columns else "C").astype(np.float64)
        self._floats.append(flat)
        self._n_floats += len(flat)
        return reference

    def integers(self, array: Any) -> dict[str, Any]:
        """Store a one-dimensional array of integers and return the reference to it."""
        flat = np.asarray(array, dtype=np.int64)
        reference = {"start": self._n_integers, "shape": list(flat.shape)}
        self._integers.append(flat)
        self._n_integers += len(flat)
        return reference

    def matrix(self, matrix: Any) -> dict[str, Any]:
        """Store a dense or sparse matrix of floats and return the reference to it."""
        is_sparse: bool = issparse(matrix)
        if not is_sparse:
            return self.floats(matrix, by_columns=True)
        rows: Any = csr_matrix(matrix)
        return {
            "sparse": list(rows.shape),
            "values": self.floats(rows.data),
            "columns": self.integers(rows.indices),
            "ends": self.integers(rows.indptr),
        }

    def all_floats(self) -> NDArray[np.float64]:
        """Return all floats."""
        return np.concatenate([np.empty(0), *self._floats])

    def all_integers(self) -> NDArray[Any]:
        """Return all integers, in the smallest type that holds them."""
        together = np.concatenate([np.empty(0, dtype=np.int64), *self._integers])
        low, high = together.min(initial=0), together.max(initial=0)
        return together.astype(np.promote_types(np.min_scalar_type(low), np.min_scalar_type(high)))


class NumberReader:
    """Returns the arrays that references point to; ModelFileError if a reference is wrong.

    Parameters
    ----------
    floats, integers : the two arrays of a NumberWriter
    """

    def __init__(self, floats: NDArray[Any], integers: NDArray[Any]) -> None:
        if floats.dtype != np.float64 or floats.ndim != 1:
            raise ModelFileError("the floats of the model are not a one-dimensional float64 array")
        if integers.dtype.kind not in "iu" or integers.ndim != 1:
            raise ModelFileError(
                "the integers of the model are not a one-dimensional array of integers"
            )
        self._floats, self._integers = floats, integers

    def floats(self, reference: Fields, *, n_dimensions: int | None = None) -> NDArray[Any]:
        """Return the floats that a reference points to."""
        shape = self._shape(reference)
        if n_dimensions is not None and len(shape) != n_dimensions:
            raise ModelFileError(
                f"{reference.where} has {len(shape)} dimensions instead of {n_dimensions}"
            )
        flat = self._part(self._floats, reference, shape)
        if "order" in reference:
            array = np.ascontiguousarray(flat.reshape(shape[::-1]).T)
        else:
            array = flat.reshape(shape).copy()
        if reference.raw("type") != _SINGLE:
            return array
        if np.abs(array).max(initial=0.0) > np.finfo(np.float32).max:
            raise ModelFileError(f"{reference.where} has values that are too large for {_SINGLE}")
        return array.astype(np.float32)

    def integers(self, reference: Fields, *, below: int) -> NDArray[np.int64]:
        """Return the integers that a reference points to, all at least 0 and below a bound."""
        shape = self._shape(reference)
        if len(shape) != 1:
            raise ModelFileError(f"{reference.where} is not one-dimensional")
        flat = self._part(self._integers, reference, shape)
        if len(flat) and not (flat.min() >= 0 and flat.max() < below):
            raise ModelFileError(f"{reference.where} has values out of range")
        return flat.astype(np.int64)

    def matrix(self, reference: Fields) -> Any:
        """Return the dense or sparse matrix that a reference points to."""
        if "sparse" not in reference:
            return self.floats(reference, n_dimensions=2)
        shape = checked_shape(reference.items("sparse"), reference.where)
        if len(shape) != 2 or max(shape) >= 2**31:
            raise ModelFileError(f"{reference.where} is not a matrix")
        values = self.floats(reference.fields("values"), n_dimensions=1)
        columns = self.integers(reference.fields("columns"), below=shape[1])
        ends = self.integers(reference.fields("ends"), below=len(values) + 1)
        are_ends = len(ends) == shape[0] + 1 and ends[0] == 0 and ends[-1] == len(values)
        if not are_ends or len(columns) != len(values) or np.any(np.diff(ends) < 0):
            raise ModelFileError(f"{reference.where} is not a sparse matrix in CSR format")
        parts = values, columns.astype(np.int32), ends.astype(np.int32)
        return csr_matrix(parts, shape=shape)

    def _shape(self, reference: Fields) -> tuple[int, ...]:
        return checked_shape(reference.items("shape"), reference.where)

    def _part(
        self, numbers: NDArray[Any], reference: Fields, shape: tuple[int, ...]
    ) -> NDArray[Any]:
        start, size = reference.integer("start", least=0), math.prod(shape)
        if start + size > len(numbers):
            raise ModelFileError(f"{reference.where} points beyond the numbers of the model")
        return numbers[start : start + size]


def checked_shape(shape: list[Any], where: str) -> tuple[int, ...]:
    """Return the shape of an array of at most two dimensions, or raise ModelFileError."""
    if len(shape) > 2 or any(type(n) is not int or not 0 <= n < 2**53 for n in shape):
        raise ModelFileError(f"{where} does not have a valid shape")
    return tuple(shape)
