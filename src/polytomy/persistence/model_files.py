"""Opening model files that are not trusted."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from polytomy.errors import ModelFileError

__all__ = ["LARGEST_TEXT_BYTES", "open_model_file", "size_of"]

#: Largest model file that is text. Parsing it takes several times as much memory.
LARGEST_TEXT_BYTES = 2**31


def open_model_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a model file to read its bytes.

    Raises ModelFileError for pipes and devices, which may never end, and OSError if the file cannot
    be opened.
    """
    mode = Path(path).stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise ModelFileError(
            f"{os.fspath(path)}: a model cannot be read from a pipe or a device. Give a file."
        )
    return Path(path).open("rb")


def size_of(file: BinaryIO) -> int:
    """Return the size of an open file in bytes."""
    return os.fstat(file.fileno()).st_size
