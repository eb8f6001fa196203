"""Which format a data file has."""

from __future__ import annotations

import os
from pathlib import Path

from polytomy.datasets.lines import peek_line
from polytomy.datasets.streams import Source, Stream
from polytomy.datasets.svmlight import looks_like_svmlight
from polytomy.errors import ArgumentError, DataError

__all__ = ["DELIMITERS", "FORMATS", "find_format"]

#: What separates the fields of CSV files.
DELIMITERS = (",", ";", "\t")

#: Formats, and how the names of their files end (before .gz, for those that are text).
FORMATS: dict[str, tuple[str, ...]] = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "svmlight": (".svm", ".svmlight", ".libsvm", ".scale"),
    "parquet": (".parquet", ".pq"),
    "npz": (".npz",),
    "lvq": (".lvq", ".dat"),
    "agf": (".vec", ".cls"),
    "kernel": (),
}


def find_format(path: Source, format: str | None = None) -> str:
    """Return the format of a file: as given, by its name, or else by its first line.

    Examples
    --------
    >>> find_format("iris.csv.gz"), find_format("letter.scale"), find_format("x.txt", "tsv")
    ('csv', 'svmlight', 'tsv')
    """
    if format is not None:
        if format not in FORMATS:
            raise ArgumentError(f'format="{format}" is not known. Use {_listed()}.')
        return format
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
        f"{os.fspath(path)}: the name does not tell the format. Give format= as {_listed()}."
    )


def _looks_like_csv(line: bytes) -> bool:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return False
    is_shown = text.replace("\t", " ").isprintable()
    return is_shown and any(mark in text for mark in DELIMITERS)


def _listed() -> str:
    return " or ".join(f'"{name}"' for name in FORMATS)
