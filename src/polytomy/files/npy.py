"""NumPy's npy format, read without trusting the file.

The declared shape of an array is compared with the size of its data before memory is allocated.
Only numbers, booleans and text are read; nothing is ever unpickled.
"""

from __future__ import annotations

import math
import sys
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

__all__ = ["ArrayHeader", "read_array", "read_array_header", "write_array"]

_KINDS = "biufU"
_LONGEST_HEADER = 4096


class ArrayHeader(NamedTuple):
    """Header of an array.

    Attributes
    ----------
    shape : tuple of int
    is_fortran : whether the values are in Fortran order
    dtype : type of the values
    n_bytes : length of the header
    """

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]
    n_bytes: int

    @property
    def size(self) -> int:
        """Size of the header and the values in bytes."""
        return self.n_bytes + math.prod(self.shape) * self.dtype.itemsize


def read_array_header(stream: BinaryIO) -> ArrayHeader:
    """Return the header of an array; ValueError if it is invalid or declares objects."""
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    counted = _Counted(stream)
    version = npy.read_magic(counted)  # type: ignore[arg-type]
    if version not in readers:
        raise ValueError(f"version {version[0]}.{version[1]} of the npy format is not supported")
    try:
        shape, is_fortran, dtype = readers[version](counted, max_header_size=_LONGEST_HEADER)  # type: ignore[arg-type]
    except Exception as error:
        # NumPy parses the header as a Python literal, which can raise many kinds of errors.
        raise ValueError("the header of the array is invalid") from error
    if dtype.hasobject:
        raise ValueError(f"an array of type {dtype} holds objects, which are not read")
    if any(type(length) is not int or length < 0 for length in shape):
        raise ValueError(f"an array of shape {shape} is not supported")
    return ArrayHeader(shape, is_fortran, dtype, counted.n_bytes)


def read_array(stream: BinaryIO, n_bytes: int) -> NDArray[Any]:
    """Return an array whose header and values take up `n_bytes`; ValueError if it is invalid.

    The array has at most two dimensions and holds numbers, booleans or text.
    """
    header = read_array_header(stream)
    if header.dtype.kind not in _KINDS or header.dtype.itemsize == 0:
        raise ValueError(f"an array of type {header.dtype} holds neither numbers nor text")
    if len(header.shape) > 2:
        raise ValueError(f"an array of shape {header.shape} is not supported")
    if header.size != n_bytes:
        raise ValueError(
            f"an array of shape {header.shape} takes {header.size} bytes; the file has {n_bytes}"
        )
    content = bytearray(stream.read(n_bytes - header.n_bytes + 1))
    if len(content) != n_bytes - header.n_bytes:
        raise ValueError(f"an array of shape {header.shape} is truncated")
    if header.dtype.kind == "U" and content:
        letters = np.frombuffer(content, np.dtype("u4").newbyteorder(header.dtype.byteorder))
        if letters.max() > sys.maxunicode:
            raise ValueError("an array of text has values that are not characters")
    array: NDArray[Any] = np.frombuffer(content, header.dtype)
    if header.is_fortran:
        return array.reshape(header.shape[::-1]).T
    return array.reshape(header.shape)


def write_array(stream: BinaryIO, array: NDArray[Any]) -> None:
    """Write an array of numbers or text."""
    npy.write_array(stream, array, allow_pickle=False)


class _Counted:
    """A stream that counts the bytes read from it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.n_bytes = 0

    def read(self, size: int) -> bytes:
        content = self._stream.read(size)
        self.n_bytes += len(content)
        return content
