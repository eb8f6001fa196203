"""Atomic writing: a file appears complete or not at all."""

from __future__ import annotations

import errno
import os
import platform
import re
import stat
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where an open file can neither be deleted nor replaced
    fcntl = None  # type: ignore[assignment]

__all__ = ["open_atomically"]

_PREFIX = ".polytomy-"
# The computer is part of the name, because locks of other computers may be invisible here.
_COMPUTER = f"{zlib.crc32(platform.node().encode()):08x}"
_TEMPORARY_NAME = re.compile(
    re.escape(_PREFIX) + r"(?:(?P<computer>[0-9a-f]{8})-)?[a-z0-9_]{8}", re.ASCII
)
# A temporary file of another computer, or without a lock, counts as left over at this age.
_SECONDS_UNTIL_OLD = 24 * 3600
# Number of attempts if other processes mistake a new file for a leftover.
_MOST_ATTEMPTS = 100


@contextmanager
def open_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a temporary file that replaces `path` when everything is written and on disk.

    If the body of the ``with`` statement fails, an existing file stays as it was. A symbolic link
    stays a link, and its target is replaced. A device or a pipe is written to directly.

    A process that is killed while it writes leaves its temporary file behind. The next one that
    writes to the same folder deletes it. A process holds a lock on its temporary file, so a file
    that is still being written is never deleted.

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
    _delete_leftovers(target.parent)
    try:
        descriptor, lock, temporary = _create_locked(target.parent)
    except OSError as error:
        error.filename = str(path)
        raise
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
    finally:
        if lock is not None:
            os.close(lock)
    _sync_folder(target.parent)


def _create_locked(folder: Path) -> tuple[int, int | None, Path]:
    """Return a new temporary file, a second descriptor that holds its lock, and its path."""
    for _ in range(_MOST_ATTEMPTS):
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=f"{_PREFIX}{_COMPUTER}-")
        if fcntl is None:
            return descriptor, None, Path(name)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Before it was locked, another process may have deleted it as a leftover.
        if os.fstat(descriptor).st_nlink:
            return descriptor, os.dup(descriptor), Path(name)
        os.close(descriptor)
    raise OSError(errno.EAGAIN, "other processes keep deleting the temporary files of this one")


def _delete_leftovers(folder: Path) -> None:
    """Delete the temporary files of killed processes; skip those that cannot be deleted."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = _TEMPORARY_NAME.fullmatch(entry.name)
            if match is None:
                continue
            with suppress(OSError):
                if entry.is_file(follow_symlinks=False):
                    _delete_if_left_over(entry, match["computer"])


def _delete_if_left_over(entry: os.DirEntry[str], computer: str | None) -> None:
    age = time.time() - entry.stat(follow_symlinks=False).st_mtime
    is_old = age >= _SECONDS_UNTIL_OLD
    if not is_old and (computer != _COMPUTER or fcntl is None):
        return
    if fcntl is None:
        os.unlink(entry.path)
        return
    descriptor = os.open(entry.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # it is being written
        except OSError:  # a file system without locks
            if not is_old:
                return
        # Deleted under the lock: a process that has just created the file waits for it, and then
        # sees that the file is gone.
        os.unlink(entry.path)
    finally:
        os.close(descriptor)


def _is_stream(path: Path) -> bool:
    """Return whether a path is an open file of this process, such as /dev/stdout."""
    streams = ("/dev/stdin", "/dev/stdout", "/dev/stderr")
    return str(path) in streams or path.is_relative_to("/dev/fd") or path.is_relative_to("/proc")


def _mode_of(target: Path) -> int:
    """Return the mode of a file, or the mode for a new file; temporary files would be private."""
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
