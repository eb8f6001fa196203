"""The formats of data files, and which one a file has."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from weakref import finalize

from polytomy.datasets.agf import AgfFormat
from polytomy.datasets.delimited import CsvFormat, LvqFormat, TsvFormat
from polytomy.datasets.npz import NpzFormat
from polytomy.datasets.parquet import ParquetFormat
from polytomy.datasets.sources import Source, Stream, first_lines, list_files
from polytomy.datasets.svmlight import KernelFormat, SvmlightFormat
from polytomy.datasets.tables import Format
from polytomy.errors import Argument, ArgumentError, DataError
from polytomy.inputs.arguments import did_you_mean

_ALL: tuple[Format, ...] = (
    CsvFormat(),
    TsvFormat(),
    SvmlightFormat(),
    ParquetFormat(),
    NpzFormat(),
    LvqFormat(),
    AgfFormat(),
    KernelFormat(),
)
FORMATS: dict[str, Format] = {each.name: each for each in _ALL}
"""All formats of data files by name."""


def find_format(path: Source, format: str | None = None) -> str:
    """Return the format of a file: as given, or found from its name or its first line.

    Examples
    --------
    >>> find_format("iris.csv.gz"), find_format("letter.scale"), find_format("x.txt", "tsv")
    ('csv', 'svmlight', 'tsv')
    """
    if format is not None:
        if format not in FORMATS:
            raise ArgumentError(
                Argument("format"),
                f' must be {_list_formats()}; got "{format}".{did_you_mean(format, FORMATS)}',
            )
        return format
    for name, kind in FORMATS.items():
        if kind.matches_path(Path(path)):
            return name
    if isinstance(path, Stream) or Path(path).is_file():
        line = first_lines(path, 1).text
        if not line and isinstance(path, Stream):
            raise DataError(f"{os.fspath(path)}: the file is empty")
        for name in reversed(FORMATS):  # CSV accepts the most, and comes last
            if FORMATS[name].matches_line(line):
                return name
    raise ArgumentError(
        f"{os.fspath(path)}: the format is not clear from the file name. Set ",
        Argument("format"),
        f" to {_list_formats()}.",
    )


def _list_formats() -> str:
    *names, last = (f'"{name}"' for name in FORMATS)
    return f"{', '.join(names)} or {last}"


def open_source(path: Source) -> Source:
    """Return the path of a file or folder, or a stream if the path is a pipe or device.

    A folder can be read only if it may be a table in several Parquet files.
    """
    if isinstance(path, Stream):
        return path
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        # libAGF names a pair of files by their common name without endings.
        if Path(os.fspath(path) + ".vec").exists():
            return path
        raise
    if stat.S_ISDIR(mode):
        if list_files(path, FORMATS["parquet"].endings):
            return path
        reason = (
            f"{os.strerror(errno.EISDIR)}, and has no Parquet files. Merge its files, or use "
            'Dask ("--dask local" on the command line), which reads folders of CSV and TSV files.'
        )
        raise IsADirectoryError(errno.EISDIR, reason, os.fspath(path))
    if stat.S_ISREG(mode):
        return path
    file = Path(path).open("rb")  # noqa: SIM115, closed with the stream
    stream = Stream(file, os.fspath(path))
    finalize(stream, file.close)
    return stream
