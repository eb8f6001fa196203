"""Data that can be read only once, from a pipe or standard input."""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO
from weakref import finalize

from polytomy.datasets.folder_files import PARQUET_ENDINGS, list_files

__all__ = ["Source", "Stream", "open_source"]


class Stream:
    """Bytes that can be read only once, with a start that can be read again.

    Tables look at their first lines before they read all of them. The stream keeps those lines
    for the next reader, but not what the last reader reads, so memory is bounded. ``os.fspath``
    returns the name.

    Parameters
    ----------
    file : source of the bytes
    name : name of the stream in messages

    Examples
    --------
    >>> stream = Stream(io.BytesIO(b"1,2\\n3,4\\n"), "<pipe>")
    >>> stream.reader().readline(), stream.reader(is_last=True).read()
    (b'1,2\\n', b'1,2\\n3,4\\n')
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._name = file, name
        self._head = bytearray()

    def __fspath__(self) -> str:
        return self._name

    def reader(self, *, is_last: bool = False) -> io.BufferedReader:
        """Return a reader from the start of the stream; what the last one reads is not kept."""
        return io.BufferedReader(_StreamReader(self, is_last=is_last))


Source = str | os.PathLike[str] | Stream


def open_source(path: Source) -> Source:
    """Return the path of a file or folder, or a stream if the path is a pipe or device.

    A folder can be read only if it may be a table in several Parquet files.
    """
    if isinstance(path, Stream):
        return path
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        # libAGF names a pair of files by their common name without endings.
        if Path(os.fspath(path) + ".vec").exists():
            return path
        raise
    if stat.S_ISDIR(mode):
        if list_files(path, PARQUET_ENDINGS):
            return path
        reason = (
            f"{os.strerror(errno.EISDIR)}, and has no Parquet files. Merge its files, or use "
            'Dask ("--dask local" on the command line), which reads folders of CSV and TSV files.'
        )
        raise IsADirectoryError(errno.EISDIR, reason, os.fspath(path))
    if stat.S_ISREG(mode):
        return path
    file = Path(path).open("rb")  # noqa: SIM115, closed with the stream
    stream = Stream(file, os.fspath(path))
    finalize(stream, file.close)
    return stream


class _StreamReader(io.RawIOBase):
    """Reads the kept start of a stream, then the stream itself."""

    def __init__(self, stream: Stream, *, is_last: bool) -> None:
        self._stream, self._is_last = stream, is_last
        self._at = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._at < len(self._stream._head):
            part = bytes(self._stream._head[self._at : self._at + len(buffer)])
        else:
            if self._is_last:
                self._stream._head.clear()
            part = self._stream._file.read(len(buffer))
            if not self._is_last:
                self._stream._head += part
        self._at += len(part)
        buffer[: len(part)] = part
        return len(part)
