"""Text in and out of the command line; `-` is standard input."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from polytomy.language import MAX_CHARACTERS
from polytomy.scheme.reading import decode_text, read_text

__all__ = ["STANDARD_INPUT", "read_control", "write_text"]

STANDARD_INPUT = "-"


def read_control(file: str) -> tuple[str, str]:
    """Return a control text and what messages call it."""
    if file != STANDARD_INPUT:
        return read_text(file), file
    name = "<standard input>"
    return decode_text(sys.stdin.buffer.read(4 * MAX_CHARACTERS + 1), name), name


def write_text(text: str, output: Path | None) -> None:
    """Print a text, or write it to a file that appears whole or not at all."""
    if output is None:
        print(text)
        return
    descriptor, temporary = tempfile.mkstemp(dir=output.parent, prefix=f".{output.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        # A temporary file is private; the result gets the mode any new file would have.
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(output)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
