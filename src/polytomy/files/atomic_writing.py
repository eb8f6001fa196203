"""Atomic writing: a file appears complete or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["open_atomically"]


@contextmanager
def open_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a temporary file that replaces `path` when everything is written and on disk.

    If the body of the ``with`` statement fails, an existing file stays as it was. A symbolic link
    stays a link, and its target is replaced. A device or a pipe is written to directly.

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
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=".polytomy-")
    except OSError as error:
        error.filename = str(path)
        raise
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(_mode_of(target))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _is_stream(path: Path) -> bool:
    """Return whether a path is an open file of this process, such as /dev/stdout."""
    streams = ("/dev/stdin", "/dev/stdout", "/dev/stderr")
    return str(path) in streams or path.is_relative_to("/dev/fd") or path.is_relative_to("/proc")


def _mode_of(target: Path) -> int:
    """Return the mode of a file, or that of a new file; temporary files would be private."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Write the new directory entry to disk, on systems that can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
