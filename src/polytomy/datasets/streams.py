"""Data that come only once, as those of a pipe or of standard input do."""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["Source", "Stream", "open_source"]


class Stream:
    """Bytes that come once, whose beginning can be read again until the last reader takes over.

    Readers of tables look at the first lines before they read all of them. What they see is kept
    for the next reader, so a stream is read in bounded memory. ``os.fspath`` gives what messages
    call it.

    Parameters
    ----------
    file : where the bytes come from
    name : what messages call it

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
        """Return a file that begins where the stream began; what the last one reads is not kept."""
        return io.BufferedReader(_Reader(self._file, self._head, is_last=is_last))


Source = str | os.PathLike[str] | Stream


def open_source(path: Source) -> Source:
    """Return a path as it is, or the stream that it leads to; FileNotFoundError if to nothing."""
    if isinstance(path, Stream):
        return path
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        # libAGF names a pair of files by what they have in common.
        if Path(os.fspath(path) + ".vec").exists():
            return path
        raise
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    return path if stat.S_ISREG(mode) else Stream(Path(path).open("rb"), os.fspath(path))


class _Reader(io.RawIOBase):
    """Reads what is kept of a stream, and then the stream itself."""

    def __init__(self, file: BinaryIO, head: bytearray, *, is_last: bool) -> None:
        self._file, self._head, self._is_last = file, head, is_last
        self._at = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._at < len(self._head):
            part = bytes(self._head[self._at : self._at + len(buffer)])
        else:
            if self._is_last:
                self._head.clear()
            part = self._file.read(len(buffer))
            if not self._is_last:
                self._head += part
        self._at += len(part)
        buffer[: len(part)] = part
        return len(part)
