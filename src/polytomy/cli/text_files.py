"""Text files of the command line; `-` is standard input."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import BinaryIO

from polytomy.errors import ArgumentError
from polytomy.files import open_atomically
from polytomy.language import MAX_CHARACTERS
from polytomy.scheme.reading import decode_text, read_text

__all__ = [
    "STANDARD_INPUT",
    "STANDARD_INPUT_NAME",
    "check_output",
    "explain_failure",
    "print_text",
    "read_control",
    "standard_input",
    "write_text",
]

STANDARD_INPUT = "-"
#: Its name in messages.
STANDARD_INPUT_NAME = "<standard input>"


def standard_input() -> BinaryIO:
    """Return standard input as a binary file; OSError if it is closed."""
    if sys.stdin is None:
        raise _closed(STANDARD_INPUT_NAME)
    return sys.stdin.buffer


def read_control(file: str) -> tuple[str, str]:
    """Return a control text and its name in messages."""
    name = STANDARD_INPUT_NAME if file == STANDARD_INPUT else file
    try:
        if file != STANDARD_INPUT:
            return read_text(file), name
        return decode_text(standard_input().read(4 * MAX_CHARACTERS + 1), name), name
    except OSError as error:
        # Unlike opening, reading does not set the name of the file.
        error.filename = name
        raise


def print_text(text: str) -> None:
    """Print a text; exit quietly if the pipe is closed, as in `polytomy show FILE | head`."""
    if sys.stdout is None:
        raise _closed("<standard output>")
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # Python flushes standard output at exit, which would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None


def write_text(text: str, output: Path | None) -> None:
    """Print a text, or write it atomically to a file."""
    if output is None:
        print_text(text)
        return
    with open_atomically(output) as file:
        file.write(f"{text}\n".encode())


def check_output(output: Path | None, *sources: str) -> None:
    """Raise ArgumentError if a file cannot be written, before any work is done."""
    if output is None:
        return
    if any(output.resolve() == Path(source).resolve() for source in sources):
        raise ArgumentError(f"{output} is also an input file; choose another output file")
    if output.is_dir():
        raise ArgumentError(f"{output} is a folder, not a file")
    if not output.resolve().parent.is_dir():
        raise ArgumentError(f"{output}: the folder {output.resolve().parent} does not exist")


def _closed(name: str) -> OSError:
    return OSError(errno.EBADF, os.strerror(errno.EBADF), name)


def explain_failure(error: OSError) -> str:
    """Return one line that says which file could not be read or written, and why."""
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason
