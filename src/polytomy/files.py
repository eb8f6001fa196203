"""Files of any kind: written completely or not at all, CSV text, arrays, and temporary rows.

Arrays are read from NumPy's npy format without trusting the file. The declared shape of an array is
compared with the size of its data before memory is allocated. Only numbers, booleans and text are
read; nothing is ever unpickled. Spreadsheets do not run the cells of CSV text.
"""

from __future__ import annotations

import csv
import math
import mmap
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

_PREFIX = ".polytomy-"
# A spreadsheet runs a cell as a formula if it starts with one of these signs, even if it is quoted.
# Spreadsheets skip a tab or a line break before a formula; those for East Asian languages also
# accept the full-width signs.
_SIGNS = "=+@\t\r\n\uff1d\uff0b\uff0d\uff20-"
_FORMULA = re.compile(f"'*[{_SIGNS}].", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@contextmanager
def open_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a temporary file that replaces `path` when everything is written and on disk.

    If the body of the ``with`` statement fails, an existing file stays as it was. A symbolic link
    stays a link, and its target is replaced. A device or a pipe is written to directly.

    A process that is killed while it writes leaves its temporary file, .polytomy-…, behind.

    Parameters
    ----------
    path : file to write

    Examples
    --------
    >>> folder = tempfile.mkdtemp()
    >>> with open_atomically(Path(folder, "answer.txt")) as file:
    ...     n_bytes = file.write(b"42")
    >>> Path(folder, "answer.txt").read_text()
    '42'
    """
    given = Path(path)
    target = given.resolve()
    if _is_stream(given) or (target.exists() and not target.is_file()):
        with given.open("wb") as device:
            yield device
        return
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=_PREFIX)
    except OSError as error:
        error.filename = str(path)
        raise
    # Temporary files are private; this one gets the mode of the file that it replaces.
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_read_umask()
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _is_stream(path: Path) -> bool:
    """Return whether a path is an open file of this process, such as /dev/stdout."""
    streams = ("/dev/stdin", "/dev/stdout", "/dev/stderr")
    return str(path) in streams or path.is_relative_to("/dev/fd") or path.is_relative_to("/proc")


def _read_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def escape_formula(value: Any) -> Any:
    """Return text with a leading apostrophe if a spreadsheet would run it; other values as is.

    A spreadsheet runs a cell as a formula if it starts with ``=``, ``+``, ``-`` or ``@``, even if
    it is quoted. The apostrophe marks the cell as text. Numbers stay as they are, and so does a
    single sign, which is not a formula. Text that already starts with apostrophes before such a
    sign gets one more, so removing one apostrophe always restores it.

    Examples
    --------
    >>> [escape_formula(text) for text in ("=1+1", "-x", "oak", "'=1+1")]
    ["'=1+1", "'-x", 'oak', "''=1+1"]
    >>> [escape_formula(value) for value in (-1.5, "-1.5", "+", "'s-Hertogenbosch")]
    [-1.5, '-1.5', '+', "'s-Hertogenbosch"]
    """
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def to_csv(rows: Iterable[Iterable[Any]], *, escape: bool = True) -> str:
    """Return rows as CSV text.

    Parameters
    ----------
    rows : cells, row by row
    escape : whether to put an apostrophe before text that a spreadsheet would run
    """
    if escape:
        rows = ([escape_formula(cell) for cell in row] for row in rows)
    lines = _Lines()
    # With this line terminator, cells that contain either of its characters are quoted.
    csv.writer(lines, lineterminator="\r\n").writerows(rows)
    return "".join(lines.written)


class _Lines:
    """A file-like object for the csv module, which writes one row at a time."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, line: str) -> None:
        self.written.append(f"{line[:-2]}\n")


# -- arrays ----------------------------------------------------------------------------------------
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
    start = stream.tell()
    header = read_array_header(stream)
    if header.dtype.kind not in _KINDS or header.dtype.itemsize == 0:
        raise ValueError(f"an array of type {header.dtype} holds neither numbers nor text")
    if len(header.shape) > 2:
        raise ValueError(f"an array of shape {header.shape} is not supported")
    if header.size != n_bytes:
        raise ValueError(
            f"an array of shape {header.shape} takes {header.size} bytes; the file has {n_bytes}"
        )
    stream.seek(start)
    array: NDArray[Any] = npy.read_array(stream, max_header_size=_LONGEST_HEADER)
    if array.dtype.kind == "U" and array.size:
        letters = np.ravel(array, "K").view(np.dtype("u4").newbyteorder(array.dtype.byteorder))
        if letters.max() > sys.maxunicode:
            raise ValueError("an array of text has values that are not characters")
    return array


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
