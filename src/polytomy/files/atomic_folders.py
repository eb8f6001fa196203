"""Folders that are written completely or not at all."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from polytomy.errors import ArgumentError

__all__ = ["check_output_folder", "open_folder_atomically"]

_PART = re.compile(r"part-\d+\.parquet")
# Another computer that shares the folder may have a process with the same ID.
_COMPUTER = re.sub(r"\W", "_", platform.node())


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


@contextmanager
def open_folder_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary folder that replaces `path` when everything in it is written.

    If the body of the ``with`` statement fails, an existing folder stays as it was. The next
    process that writes the same folder deletes what a killed process left behind.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp(), "answers")
    >>> with open_folder_atomically(target) as folder:
    ...     n_characters = (folder / "part-0.parquet").write_text("42")
    >>> [file.name for file in target.iterdir()]
    ['part-0.parquet']
    """
    check_output_folder(path)
    target = Path(path).resolve()
    _delete_leftovers(target)
    temporary = target.with_name(f"{_prefix(target)}{os.getpid()}")
    earlier = target.with_name(f"{_prefix(target)}{os.getpid()}-earlier")
    temporary.mkdir()
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


def _prefix(target: Path) -> str:
    return f".{target.name}.polytomy-{_COMPUTER}-"


def _delete_leftovers(target: Path) -> None:
    """Delete the temporary folders of processes that no longer run."""
    pattern = re.compile(re.escape(_prefix(target)) + r"(\d+)(-earlier)?")
    for entry in target.parent.iterdir():
        match = pattern.fullmatch(entry.name)
        if match is None:
            continue
        try:
            os.kill(int(match[1]), 0)
        except ProcessLookupError:
            if match[2] and not target.exists():
                entry.replace(target)  # the process was killed between the two renames
            else:
                shutil.rmtree(entry, ignore_errors=True)
        except (OSError, OverflowError):
            continue  # the process belongs to another user
    with suppress(FileNotFoundError):
        shutil.rmtree(target.with_name(f"{_prefix(target)}{os.getpid()}"))
