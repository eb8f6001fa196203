"""Writing files and folders completely or not at all, and CSV text that spreadsheets do not run."""

from __future__ import annotations

import csv
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from polytomy.errors import ArgumentError

_PREFIX = ".polytomy-"
_TEMPORARY_FILE = re.compile(r"\.polytomy-[a-z0-9_]{8}")
_TEMPORARY_FOLDER = re.compile(r"\..+\.polytomy-[a-z0-9_]{8}(-earlier)?")
# What is this old was left over by a process that was killed.
_SECONDS_UNTIL_OLD = 24 * 3600
_PART = re.compile(r"part-\d+\.parquet")
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

    A process that is killed while it writes leaves its temporary file behind. The next one that
    writes to the same folder deletes it when it is a day old.

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


@contextmanager
def open_folder_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary folder that replaces `path` when everything in it is written.

    If the body of the ``with`` statement fails, an existing folder stays as it was. What a killed
    process left behind is deleted as by `open_atomically`.

    Examples
    --------
    >>> target = Path(tempfile.mkdtemp(), "answers")
    >>> with open_folder_atomically(target) as folder:
    ...     n_characters = (folder / "part-0.parquet").write_text("42")
    >>> [file.name for file in target.iterdir()]
    ['part-0.parquet']
    """
    check_output_folder(path)
    target = Path(path).resolve()
    _delete_leftovers(target.parent)
    temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}{_PREFIX}"))
    earlier = temporary.with_name(f"{temporary.name}-earlier")
    temporary.chmod(0o777 & ~_read_umask())
    try:
        yield temporary
        if target.exists():
            target.replace(earlier)
        temporary.replace(target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        if earlier.exists() and not target.exists():
            earlier.replace(target)
        raise
    shutil.rmtree(earlier, ignore_errors=True)


def check_output_folder(path: str | os.PathLike[str]) -> None:
    """Raise an ArgumentError if a folder cannot be written, or contains anything but parts."""
    target = Path(path)
    if target.exists() and not target.is_dir():
        raise ArgumentError(f"{target} is a file. The output is a folder; choose another name.")
    if not target.resolve().parent.is_dir():
        raise ArgumentError(f"{target}: the folder {target.resolve().parent} does not exist")
    others = [each.name for each in target.iterdir()] if target.is_dir() else []
    others = sorted(name for name in others if not _PART.fullmatch(name))
    if others:
        raise ArgumentError(
            f"{target} is a folder that contains {others[0]}, which would be lost. Choose another "
            "folder, or an empty one."
        )


def _delete_leftovers(folder: Path) -> None:
    """Delete old temporary files and folders; skip those that cannot be deleted."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            is_file = entry.is_file(follow_symlinks=False)
            pattern = _TEMPORARY_FILE if is_file else _TEMPORARY_FOLDER
            if not pattern.fullmatch(entry.name):
                continue
            if time.time() - entry.stat(follow_symlinks=False).st_mtime < _SECONDS_UNTIL_OLD:
                continue
            if is_file:
                Path(entry).unlink(missing_ok=True)
            elif entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry, ignore_errors=True)


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
