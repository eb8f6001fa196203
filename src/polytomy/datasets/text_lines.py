"""Lines of a text file, plain or gzipped, in blocks of bounded memory."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from polytomy.datasets.located_errors import error_at
from polytomy.datasets.streams import Source, Stream
from polytomy.errors import DataError

__all__ = ["LineBlock", "line_blocks", "open_unzipped", "peek_line"]

_GZIP = b"\x1f\x8b"
_CHUNK = 2**22
#: Limit on the length of a line, in bytes.
LONGEST_LINE = 2**26


class LineBlock(NamedTuple):
    """Lines of a file without their line ends, and their numbers, counted from one."""

    lines: list[bytes]
    numbers: list[int]


@contextmanager
def open_unzipped(path: Source, *, is_last: bool = False) -> Iterator[BinaryIO]:
    """Yield the bytes of a file, gunzipped if needed; DataError if the gzip file is damaged."""
    source = os.fspath(path)
    with (
        path.reader(is_last=is_last) if isinstance(path, Stream) else Path(path).open("rb")
    ) as file:
        if not file.peek(len(_GZIP)).startswith(_GZIP):
            yield file
            return
        try:
            with gzip.open(file) as unzipped:
                yield io.BufferedReader(unzipped, _CHUNK)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(f"{source}: the gzip file is damaged or truncated: {error}") from error


def peek_line(path: Source) -> bytes:
    """Return the first line that is not blank; empty if there is none."""
    block = next(line_blocks(path, 1), None)
    return b"" if block is None else block.lines[0]


def line_blocks(
    path: Source, n_lines: int, *, comment: bytes | None = None, is_last: bool = False
) -> Iterator[LineBlock]:
    """Yield the lines of a file in blocks, without blank lines and comments.

    Lines end in LF, CR LF or CR.

    Parameters
    ----------
    path : file or stream, gzipped or not
    n_lines : maximum number of lines in a block
    comment : start of a comment line
    is_last : whether a stream is read for the last time
    """
    waiting = LineBlock([], [])
    for lines, first in _chunks(path, is_last):
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


def _chunks(path: Source, is_last: bool) -> Iterator[tuple[list[bytes], int]]:
    """Yield lists of whole lines, each with the number of its first line."""
    first, rest = 1, b""
    with open_unzipped(path, is_last=is_last) as file:
        while chunk := file.read(_CHUNK):
            rest += chunk
            if first == 1:
                rest = rest.removeprefix(codecs.BOM_UTF8)
            # A CR at the very end may be half of a CR LF.
            end = max(rest.rfind(b"\n"), rest.rfind(b"\r", 0, -1)) + 1
            if not end:
                if len(rest) > LONGEST_LINE:
                    what = f"the line is longer than the limit of {LONGEST_LINE:,} bytes"
                    raise error_at(os.fspath(path), what, line=first)
                continue
            lines = _split_lines(rest[:end])
            rest = rest[end:]
            yield lines, first
            first += len(lines)
    if rest:
        yield _split_lines(rest), first


def _split_lines(text: bytes) -> list[bytes]:
    """Return the lines of a text with any kind of line ends."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return text.removesuffix(b"\n").split(b"\n")
