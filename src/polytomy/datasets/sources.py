"""Where data comes from: pipes, folders, and lines of text that may be gzipped.

`read_ahead` works on the next blocks while the caller is busy with the current one.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from polytomy.datasets.columns import error_at
from polytomy.errors import DataError

# Other programs write such files next to the data, or while they are running.
_HIDDEN = (".", "_")
_GZIP = b"\x1f\x8b"
# Text is read in pieces of about this size, which stay in the processor's cache while parsed.
_CHUNK = 3 * 2**19
# The first lines of a file are found in less.
_FEW_BYTES = 2**16
#: Limit on the length of a line, in bytes, beyond that of a chunk.
LONGEST_LINE = 2**26

_Block = TypeVar("_Block")
_Result = TypeVar("_Result")


class Stream:
    """Bytes that can be read only once, with a start that can be read again.

    Tables look at their first lines before they read all of them. The stream keeps those lines
    for the next reader, but not what the last reader reads, so memory is bounded. ``os.fspath``
    returns the name.

    Parameters
    ----------
    file : source of the bytes
    name : name of the stream in messages

    Examples
    --------
    >>> stream = Stream(io.BytesIO(b"1,2\\n3,4\\n"), "<pipe>")
    >>> stream.reader().readline(), stream.reader(is_last=True).read()
    (b'1,2\\n', b'1,2\\n3,4\\n')
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._name = file, name
        self._head = bytearray()

    def __fspath__(self) -> str:
        return self._name

    def reader(self, *, is_last: bool = False) -> io.BufferedReader:
        """Return a reader from the start of the stream; what the last one reads is not kept."""
        return io.BufferedReader(_StreamReader(self, is_last=is_last))


class _StreamReader(io.RawIOBase):
    """Reads the kept start of a stream, then the stream itself."""

    def __init__(self, stream: Stream, *, is_last: bool) -> None:
        self._stream, self._is_last = stream, is_last
        self._at = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._at < len(self._stream._head):
            part = bytes(self._stream._head[self._at : self._at + len(buffer)])
        else:
            if self._is_last:
                self._stream._head.clear()
            part = self._stream._file.read(len(buffer))
            if not self._is_last:
                self._stream._head += part
        self._at += len(part)
        buffer[: len(part)] = part
        return len(part)


Source = str | os.PathLike[str] | Stream


def list_files(folder: str | os.PathLike[str], endings: tuple[str, ...] = ()) -> list[Path]:
    """Return the files of a folder and of the folders in it, sorted by name.

    Files and folders whose names start with a dot or an underscore are not data.

    Parameters
    ----------
    folder : path
    endings : endings of the file names, before .gz; none for all files
    """
    return sorted(
        path
        for path in Path(folder).rglob("*")
        if path.is_file()
        and not any(part.startswith(_HIDDEN) for part in path.relative_to(folder).parts)
        and (not endings or path.name.lower().removesuffix(".gz").endswith(endings))
    )


# -- lines of text --------------------------------------------------------------------------------


class TextBlock(NamedTuple):
    """Lines of a file.

    Attributes
    ----------
    text : lines joined by LF
    numbers : array of their numbers, counted from one
    """

    text: bytes
    numbers: NDArray[np.int64]

    @property
    def lines(self) -> list[bytes]:
        """The lines without their ends."""
        return self.text.split(b"\n")


def text_blocks(
    path: Source,
    n_lines: int,
    *,
    comment: bytes | None = None,
    skip_first: bool = False,
    is_last: bool = False,
    n_bytes: int | None = None,
) -> Iterator[TextBlock]:
    """Yield the lines of a file in blocks of bounded memory, without blank lines and comments.

    Lines end in LF, CR LF or CR.

    Parameters
    ----------
    path : file or stream, gzipped or not
    n_lines : maximum number of lines in a block
    comment : start of a comment line
    skip_first : whether to skip the first line that is neither blank nor a comment
    is_last : whether a stream is read for the last time
    n_bytes : approximate size of the text of a block, by default 1.5 MB
    """
    for block in _chunks(path, comment, is_last, n_bytes or _CHUNK):
        if skip_first and len(block.numbers):
            block = TextBlock(block.text.partition(b"\n")[2], block.numbers[1:])
            skip_first = False
        if 0 < len(block.numbers) <= n_lines:
            yield block
            continue
        lines = block.lines
        for first in range(0, len(block.numbers), n_lines):
            part = slice(first, first + n_lines)
            yield TextBlock(b"\n".join(lines[part]), block.numbers[part])


def first_lines(path: Source, n_lines: int, *, comment: bytes | None = None) -> TextBlock:
    """Return the first lines of a file, at most `n_lines`, without blank lines and comments."""
    lines: list[bytes] = []
    numbers: list[int] = []
    for block in text_blocks(path, n_lines, comment=comment, n_bytes=min(_FEW_BYTES, _CHUNK)):
        lines += block.lines
        numbers += block.numbers.tolist()
        if len(lines) >= n_lines:
            break
    return TextBlock(b"\n".join(lines[:n_lines]), np.array(numbers[:n_lines], dtype=np.int64))


def _chunks(
    path: Source, comment: bytes | None, is_last: bool, n_bytes: int
) -> Iterator[TextBlock]:
    """Yield all lines but blank lines and comments, one chunk of the file at a time."""
    first = 1
    with _open_unzipped(path, is_last) as file:
        while text := file.read(n_bytes):
            rest = file.readline(LONGEST_LINE + 1)
            if len(rest) > LONGEST_LINE:
                what = f"the line is longer than the limit of {LONGEST_LINE:,} bytes"
                line = first + text.count(b"\n")
                raise error_at(os.fspath(path), what, line=line)
            text = text + rest.removesuffix(b"\n") if rest else text.removesuffix(b"\n")
            if first == 1:
                text = text.removeprefix(codecs.BOM_UTF8)
            if b"\r" in text:
                text = text.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            characters = np.frombuffer(text, dtype=np.uint8)
            ends = np.flatnonzero(characters == ord("\n"))
            block = TextBlock(text, np.arange(first, first + len(ends) + 1))
            first += len(ends) + 1
            # A line may be blank if it is empty or starts with white space.
            has_blanks = text[:1] <= b" " or text.endswith(b"\n")
            has_blanks = has_blanks or bool((characters[ends + 1] <= ord(" ")).any())
            yield _without_blanks(block, comment) if comment or has_blanks else block


def _without_blanks(block: TextBlock, comment: bytes | None) -> TextBlock:
    """Return the lines of a block that are neither blank nor comments."""
    kept = [
        (line, number)
        for line, number in zip(block.lines, block.numbers.tolist(), strict=True)
        if line.strip() and not (comment and line.startswith(comment))
    ]
    lines = b"\n".join([line for line, _ in kept])
    return TextBlock(lines, np.array([number for _, number in kept], dtype=np.int64))


@contextmanager
def _open_unzipped(path: Source, is_last: bool) -> Iterator[BinaryIO]:
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


def read_ahead(
    work: Callable[[_Block], _Result], blocks: Iterable[_Block], n_threads: int
) -> Iterator[tuple[_Block, _Result]]:
    """Yield each block with the result of its work, in order.

    Other threads do the work, on as many blocks beyond the current one as there are threads. An
    error in a block is raised after the blocks before it are yielded, as without reading ahead.

    Parameters
    ----------
    work : function of a block; must be thread-safe
    blocks : read in the calling thread
    n_threads : int
        With 0, nothing is read ahead.

    Examples
    --------
    >>> list(read_ahead(str.upper, ["a", "b", "c"], 2))
    [('a', 'A'), ('b', 'B'), ('c', 'C')]
    """
    from concurrent.futures import ThreadPoolExecutor  # not at the top: every help loads this file

    waiting: deque[tuple[_Block, Any]] = deque()
    remaining = iter(blocks)
    with ThreadPoolExecutor(max(1, n_threads)) as pool:
        while True:
            try:
                block = next(remaining)
            except Exception as error:
                end = error
                break
            waiting.append((block, pool.submit(work, block)))
            if len(waiting) > n_threads:
                block, result = waiting.popleft()
                yield block, result.result()
        for block, result in waiting:
            yield block, result.result()
    if not isinstance(end, StopIteration):
        raise end
