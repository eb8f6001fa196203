"""Lines of a text file, plain or gzipped, in blocks of bounded memory."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from polytomy.datasets.places import problem_at
from polytomy.errors import DataError

__all__ = ["LineBlock", "line_blocks", "opened", "peek_line"]

_GZIP = b"\x1f\x8b"
_CHUNK = 2**22
#: No line is longer, in bytes.
LONGEST_LINE = 2**26


class LineBlock(NamedTuple):
    """Lines of a file, without their ends, and the number of each, from one."""

    lines: list[bytes]
    numbers: list[int]


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield the bytes of a file, unpacked if it is gzipped; DataError if it is a damaged one."""
    source = os.fspath(path)
    with Path(path).open("rb") as file:
        is_packed = file.read(len(_GZIP)) == _GZIP
        file.seek(0)
        if not is_packed:
            yield file
            return
        try:
            with gzip.open(file) as unpacked:
                yield io.BufferedReader(unpacked, _CHUNK)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(f"{source}: the gzip file is damaged or cut short: {error}") from error


def peek_line(path: str | os.PathLike[str]) -> bytes:
    """Return the first line that is not blank, or its beginning; empty for an empty file."""
    with opened(path) as file:
        while line := file.readline(LONGEST_LINE):
            if line.strip():
                return _without_mark(line).rstrip(b"\r\n")
    return b""


def line_blocks(
    path: str | os.PathLike[str], n_lines: int, *, comment: bytes | None = None
) -> Iterator[LineBlock]:
    """Yield the lines of a file that are neither blank nor comments, so many at a time.

    Parameters
    ----------
    path : file, gzipped or not
    n_lines : the most lines of a block
    comment : what a line that is a comment begins with
    """
    waiting = LineBlock([], [])
    for lines, first in _chunks(path):
        if comment is None and all(lines) and not any(map(bytes.isspace, lines)):
            waiting.lines.extend(lines)
            waiting.numbers.extend(range(first, first + len(lines)))
        else:
            for number, line in enumerate(lines, first):
                if line and not line.isspace() and not (comment and line.startswith(comment)):
                    waiting.lines.append(line)
                    waiting.numbers.append(number)
        start = 0
        while len(waiting.lines) - start >= n_lines:
            end = start + n_lines
            yield LineBlock(waiting.lines[start:end], waiting.numbers[start:end])
            start = end
        waiting = LineBlock(waiting.lines[start:], waiting.numbers[start:])
    if waiting.lines:
        yield waiting


def _chunks(path: str | os.PathLike[str]) -> Iterator[tuple[list[bytes], int]]:
    """Yield lists of whole lines, and the number of the first one of each."""
    first, rest = 1, b""
    with opened(path) as file:
        while chunk := file.read(_CHUNK):
            rest += chunk
            if first == 1:
                rest = _without_mark(rest)
            end = rest.rfind(b"\n") + 1
            if not end:
                if len(rest) > LONGEST_LINE:
                    what = f"the line is longer than {LONGEST_LINE:,} bytes, which is the limit"
                    raise problem_at(os.fspath(path), what, line=first)
                continue
            lines = rest[: end - 1].replace(b"\r\n", b"\n").split(b"\n")
            rest = rest[end:]
            yield lines, first
            first += len(lines)
    if rest:
        yield [rest], first


def _without_mark(text: bytes) -> bytes:
    return text.removeprefix(b"\xef\xbb\xbf")
