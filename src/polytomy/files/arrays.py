"""NumPy's file format, read as if an enemy had written it.

An array's declared shape is compared with the bytes that are there before anything is allocated,
and only plain numbers, truth values and text are taken: nothing is ever unpickled.
"""

from __future__ import annotations

import math
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

__all__ = ["ArrayHeader", "read_array", "read_array_header", "write_array"]

_KINDS = "biufU"
_LONGEST_HEADER = 4096


class ArrayHeader(NamedTuple):
    """What stands before the values of an array.

    Attributes
    ----------
    shape : tuple of int
    is_fortran : whether the first index runs fastest
    dtype : type of the values
    n_bytes : length of the header
    """

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]
    n_bytes: int

    @property
    def size(self) -> int:
        """Number of bytes of the header and the values together."""
        return self.n_bytes + math.prod(self.shape) * self.dtype.itemsize


def read_array_header(stream: BinaryIO) -> ArrayHeader:
    """Return the header of an array; ValueError if it has none, or the values are objects."""
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    counted = _Counted(stream)
    version = npy.read_magic(counted)  # type: ignore[arg-type]
    if version not in readers:
        raise ValueError(f"an array of format {version[0]}.{version[1]} cannot be read")
    try:
        shape, is_fortran, dtype = readers[version](counted, max_header_size=_LONGEST_HEADER)  # type: ignore[arg-type]
    except Exception as error:
        # NumPy reads the header as a Python literal, which can go wrong in a dozen ways.
        raise ValueError("the array has no valid header") from error
    if dtype.hasobject:
        raise ValueError(f"an array of type {dtype} holds objects")
    if any(type(length) is not int or length < 0 for length in shape):
        raise ValueError(f"an array of shape {shape} cannot be read")
    return ArrayHeader(shape, is_fortran, dtype, counted.n_bytes)


def read_array(stream: BinaryIO, n_bytes: int) -> NDArray[Any]:
    """Return an array whose file has so many bytes; ValueError if it is not what it declares.

    It has at most two dimensions, and holds numbers, truth values or text.
    """
    header = read_array_header(stream)
    if header.dtype.kind not in _KINDS or header.dtype.itemsize == 0:
        raise ValueError(f"an array of type {header.dtype} is neither numbers nor text")
    if len(header.shape) > 2:
        raise ValueError(f"an array of shape {header.shape} cannot be read")
    if header.size != n_bytes:
        raise ValueError(
            f"an array of shape {header.shape} takes {header.size} bytes, but there are {n_bytes}"
        )
    content = bytearray(stream.read(n_bytes - header.n_bytes + 1))
    if len(content) != n_bytes - header.n_bytes:
        raise ValueError(f"an array of shape {header.shape} is cut short")
    array: NDArray[Any] = np.frombuffer(content, header.dtype)
    if header.is_fortran:
        return array.reshape(header.shape[::-1]).T
    return array.reshape(header.shape)


def write_array(stream: BinaryIO, array: NDArray[Any]) -> None:
    """Write an array of numbers or text."""
    npy.write_array(stream, array, allow_pickle=False)


class _Counted:
    """A stream that counts what is read of it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.n_bytes = 0

    def read(self, size: int) -> bytes:
        content = self._stream.read(size)
        self.n_bytes += len(content)
        return content
