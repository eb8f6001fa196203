"""Formats of data files."""

from __future__ import annotations

import os
from pathlib import Path

from polytomy.datasets.folder_files import PARQUET_ENDINGS
from polytomy.datasets.streams import Source, Stream
from polytomy.datasets.svmlight import looks_like_svmlight
from polytomy.datasets.text_lines import peek_line
from polytomy.errors import Argument, ArgumentError, DataError
from polytomy.inputs.arguments import did_you_mean

__all__ = ["DELIMITERS", "FORMATS", "find_format"]

#: Separators of the fields of CSV files.
DELIMITERS = (",", ";", "\t")

#: Formats and their file endings; a text format may have .gz after its ending.
FORMATS: dict[str, tuple[str, ...]] = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "svmlight": (".svm", ".svmlight", ".libsvm", ".scale"),
    "parquet": PARQUET_ENDINGS,
    "npz": (".npz",),
    "lvq": (".lvq", ".dat"),
    "agf": (".vec", ".cls"),
    "kernel": (),
}


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
    if not isinstance(path, Stream) and Path(path).is_dir():
        return "parquet"
    name = Path(path).name.lower().removesuffix(".gz")
    for known, endings in FORMATS.items():
        if name.endswith(endings):
            return known
    target = Path(path)
    if not target.exists() and target.with_name(target.name + ".vec").exists():
        return "agf"
    if isinstance(path, Stream) or target.is_file():
        line = peek_line(path)
        if not line and isinstance(path, Stream):
            raise DataError(f"{os.fspath(path)}: the file is empty")
        if looks_like_svmlight(line):
            return "svmlight"
        if _looks_like_csv(line):
            return "csv"
    raise ArgumentError(
        f"{os.fspath(path)}: the format is not clear from the file name. Set ",
        Argument("format"),
        f" to {_list_formats()}.",
    )


def _looks_like_csv(line: bytes) -> bool:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return False
    is_shown = text.replace("\t", " ").isprintable()
    return is_shown and any(mark in text for mark in DELIMITERS)


def _list_formats() -> str:
    *names, last = (f'"{name}"' for name in FORMATS)
    return f"{', '.join(names)} or {last}"
