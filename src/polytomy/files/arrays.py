"""Arrays in files: NumPy's npy format, read without trusting the file, and temporary rows.

The declared shape of an array is compared with the size of its data before memory is allocated.
Only numbers, booleans and text are read; nothing is ever unpickled.
"""

from __future__ import annotations

import math
import mmap
import sys
import tempfile
from collections.abc import Iterable
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

_KINDS = "biufSU"
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
    start = stream.tell()
    version = npy.read_magic(stream)
    if version not in readers:
        raise ValueError(f"version {version[0]}.{version[1]} of the npy format is not supported")
    try:
        shape, is_fortran, dtype = readers[version](stream, max_header_size=_LONGEST_HEADER)
    except Exception as error:
        # NumPy parses the header as a Python literal, which can raise many kinds of errors.
        raise ValueError("the header of the array is invalid") from error
    if dtype.hasobject:
        raise ValueError(f"an array of type {dtype} holds objects, which are not read")
    if any(type(length) is not int or length < 0 for length in shape):
        raise ValueError(f"an array of shape {shape} is not supported")
    return ArrayHeader(shape, is_fortran, dtype, stream.tell() - start)


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


def write_temporary_rows(blocks: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate blocks of rows into one read-only array in a temporary file.

    The operating system reads parts of the file when they are used, and may drop them again. The
    file has no name, and is deleted with the array.

    Parameters
    ----------
    blocks : iterable of arrays of the same type and width, at least one

    Raises
    ------
    OSError
        If the file cannot be written, for example because the disk is full.

    Examples
    --------
    >>> blocks = [np.zeros((2, 3)), np.ones((1, 3))]
    >>> write_temporary_rows(blocks).sum(axis=1)
    array([0., 0., 3.])
    """
    dtype, width = np.dtype(np.float64), 0
    try:
        # Write to the file, not to the memory map: there, a full disk would kill the process.
        with tempfile.TemporaryFile(prefix="polytomy-") as file:
            for block in blocks:
                dtype, width = block.dtype, block.shape[1]
                file.write(np.ascontiguousarray(block).data)
            file.flush()
            # Not np.memmap: joblib would look for a file with its name.
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise OSError(
            f"Cannot write the pre-processed rows to a temporary file in {tempfile.gettempdir()}: "
            f"{error.strerror or error}. Set the environment variable TMPDIR to a folder with more "
            "space, or increase memory_budget to keep the rows in memory."
        ) from error
    return np.frombuffer(mapped, dtype=dtype).reshape(-1, width)
