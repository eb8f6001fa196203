"""Text in and out of the command line; `-` is standard input."""

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
    "check_place",
    "explain_failure",
    "print_text",
    "read_control",
    "standard_input",
    "write_text",
]

STANDARD_INPUT = "-"
#: What messages call it.
STANDARD_INPUT_NAME = "<standard input>"


def standard_input() -> BinaryIO:
    """Return the bytes of standard input; OSError if it is closed."""
    if sys.stdin is None:
        raise _closed(STANDARD_INPUT_NAME)
    return sys.stdin.buffer


def read_control(file: str) -> tuple[str, str]:
    """Return a control text and what messages call it."""
    name = STANDARD_INPUT_NAME if file == STANDARD_INPUT else file
    try:
        if file != STANDARD_INPUT:
            return read_text(file), name
        return decode_text(standard_input().read(4 * MAX_CHARACTERS + 1), name), name
    except OSError as error:
        # Reading, unlike opening, does not tell which file it was.
        error.filename = name
        raise


def print_text(text: str) -> None:
    """Print a text, or end quietly if its reader has gone, as in `polytomy show FILE | head`."""
    if sys.stdout is None:
        raise _closed("<standard output>")
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # Python writes what is left when it ends, and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None


def write_text(text: str, output: Path | None) -> None:
    """Print a text, or write it to a file that appears whole or not at all."""
    if output is None:
        print_text(text)
        return
    with open_atomically(output) as file:
        file.write(f"{text}\n".encode())


def check_place(output: Path | None, *sources: str) -> None:
    """Fail before the work, not after it, if its result cannot be written there."""
    if output is None:
        return
    if any(output.resolve() == Path(source).resolve() for source in sources):
        raise ArgumentError(f"{output} would be written over what is read; give another file")
    if output.is_dir():
        raise ArgumentError(f"{output} is a folder; give a file in it")
    if not output.resolve().parent.is_dir():
        raise ArgumentError(f"{output}: the folder {output.resolve().parent} does not exist")


def _closed(name: str) -> OSError:
    return OSError(errno.EBADF, os.strerror(errno.EBADF), name)


def explain_failure(error: OSError) -> str:
    """Return in one line what could not be read or written, and why."""
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason
