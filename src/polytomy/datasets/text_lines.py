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

import numpy as np
from numpy.typing import NDArray

from polytomy.datasets.located_errors import error_at
from polytomy.datasets.streams import Source, Stream
from polytomy.errors import DataError

__all__ = ["LineBlock", "TextBlock", "line_blocks", "open_unzipped", "peek_line", "text_blocks"]

_GZIP = b"\x1f\x8b"
# The first chunk is small, for callers that only need the first lines; each is twice the last.
_FIRST_CHUNK, _CHUNK = 2**16, 2**21
# Size of text that is worth its own block, in bytes.
_LARGE = 2**18
_LINE_END = ord("\n")
# White space has codes up to that of the space.
_LAST_BLANK = ord(" ")
#: Limit on the length of a line, in bytes.
LONGEST_LINE = 2**26


class LineBlock(NamedTuple):
    """Lines of a file without their line ends, and their numbers, counted from one."""

    lines: list[bytes]
    numbers: list[int]


class TextBlock(NamedTuple):
    """Lines of a file as one text.

    Attributes
    ----------
    text : lines joined by LF
    numbers : array of their numbers, counted from one
    line_ends : array of the positions of the LFs, one fewer than lines
    """

    text: bytes
    numbers: NDArray[np.int64]
    line_ends: NDArray[np.intp]

    def split(self, n_lines: int) -> tuple[TextBlock, TextBlock]:
        """Return the first `n_lines` lines, and the others; there must be that many."""
        if n_lines == len(self.numbers):
            return self, TextBlock(b"", self.numbers[:0], self.line_ends[:0])
        end = int(self.line_ends[n_lines - 1])
        numbers, line_ends = self.numbers, self.line_ends
        return (
            TextBlock(self.text[:end], numbers[:n_lines], line_ends[: n_lines - 1]),
            TextBlock(self.text[end + 1 :], numbers[n_lines:], line_ends[n_lines:] - end - 1),
        )


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

    The parameters are those of `text_blocks`.
    """
    for block in text_blocks(path, n_lines, comment=comment, is_last=is_last):
        yield LineBlock(block.text.split(b"\n"), block.numbers.tolist())


def text_blocks(
    path: Source,
    n_lines: int,
    *,
    comment: bytes | None = None,
    is_last: bool = False,
    are_full: bool = True,
) -> Iterator[TextBlock]:
    """Yield the text of a file in blocks of whole lines, without blank lines and comments.

    Lines end in LF, CR LF or CR.

    Parameters
    ----------
    path : file or stream, gzipped or not
    n_lines : maximum number of lines in a block
    comment : start of a comment line
    is_last : whether a stream is read for the last time
    are_full : whether all blocks but the last must have `n_lines` lines
        If not, large blocks may have fewer, and less text is copied.
    """
    waiting: list[TextBlock] = []
    n_wanted = n_lines
    for chunk in _chunks(path, is_last):
        block = _without_blanks(chunk, comment)
        while len(block.numbers) >= n_wanted:
            whole, block = block.split(n_wanted)
            yield _join([*waiting, whole])
            waiting, n_wanted = [], n_lines
        if len(block.numbers):
            waiting.append(block)
            n_wanted -= len(block.numbers)
        if not are_full and len(block.text) >= _LARGE:
            yield _join(waiting)
            waiting, n_wanted = [], n_lines
    if waiting:
        yield _join(waiting)


def _join(blocks: list[TextBlock]) -> TextBlock:
    if len(blocks) == 1:
        return blocks[0]
    text = b"\n".join([block.text for block in blocks])
    numbers = np.concatenate([block.numbers for block in blocks])
    return TextBlock(text, numbers, _find_line_ends(text))


def _find_line_ends(text: bytes) -> NDArray[np.intp]:
    return np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == _LINE_END)


def _without_blanks(block: TextBlock, comment: bytes | None) -> TextBlock:
    """Return the lines of a block that are neither blank nor comments."""
    if comment is None and not _has_indented_line(block):
        return block
    kept = [
        (line, number)
        for line, number in zip(block.text.split(b"\n"), block.numbers.tolist(), strict=True)
        if line and not line.isspace() and not (comment and line.startswith(comment))
    ]
    lines = b"\n".join([line for line, _ in kept])
    numbers = np.array([number for _, number in kept], dtype=np.int64)
    return TextBlock(lines, numbers, _find_line_ends(lines))


def _has_indented_line(block: TextBlock) -> bool:
    """Return whether a line may be blank: it is empty, or starts with white space."""
    text = block.text
    if not text[:1].strip() or text.endswith(b"\n"):
        return True
    starts = np.frombuffer(text, dtype=np.uint8)[block.line_ends + 1]
    return bool((starts <= _LAST_BLANK).any())


def _chunks(path: Source, is_last: bool) -> Iterator[TextBlock]:
    """Yield all lines, one chunk of the file at a time."""
    first, rest = 1, b""
    n_bytes = min(_FIRST_CHUNK, _CHUNK)
    with open_unzipped(path, is_last=is_last) as file:
        while chunk := file.read(n_bytes):
            n_bytes = min(2 * n_bytes, _CHUNK)
            if first == 1 and not rest:
                chunk = chunk.removeprefix(codecs.BOM_UTF8)
            if rest.endswith(b"\r") and not chunk.startswith(b"\n"):
                block, rest = _read_lines(rest[:-1], first), b""
                yield block
                first += len(block.numbers)
            # A CR at the very end may be half of a CR LF.
            end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r", 0, -1)) + 1
            if not end:
                rest += chunk
                if len(rest) > LONGEST_LINE:
                    what = f"the line is longer than the limit of {LONGEST_LINE:,} bytes"
                    raise error_at(os.fspath(path), what, line=first)
                continue
            if end == 1 and chunk.startswith(b"\n"):
                rest = rest.removesuffix(b"\r")
            n_ending = 2 if chunk.endswith(b"\r\n", 0, end) else 1
            # A memoryview, because a slice of the chunk would be a second copy.
            block = _read_lines(b"".join([rest, memoryview(chunk)[: end - n_ending]]), first)
            rest = chunk[end:]
            yield block
            first += len(block.numbers)
    if rest:
        yield _read_lines(rest.removesuffix(b"\r"), first)


def _read_lines(text: bytes, first: int) -> TextBlock:
    """Return lines with any kind of line ends; the last one has none."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    line_ends = _find_line_ends(text)
    return TextBlock(text, np.arange(first, first + len(line_ends) + 1), line_ends)
