"""The option --class-order: labels from first to last, written out or in a file."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from polytomy.errors import ArgumentError

__all__ = ["ClassOrder", "parse_class_order"]

# A file of labels is small; a larger file must be something else.
_MOST_BYTES = 2**24

ClassOrder = Annotated[
    str | None,
    typer.Option(
        "--class-order",
        metavar="LABELS",
        help="Class labels from first to last, for adjacent, chain and tree: a,b,c or a file with "
        "one label per line.",
    ),
]


def parse_class_order(text: str | None, option: str = "--class-order") -> Any:
    """Return the labels listed by the option; None if it is not given.

    A file has one label per line, or a JSON list of labels. For trials of several datasets, it may
    be a JSON object of dataset names and lists of labels. Labels with commas need quotes.

    Examples
    --------
    >>> parse_class_order('low, high,"very, very high"')
    ['low', 'high', 'very, very high']
    """
    if text is None:
        return None
    try:
        is_file = Path(text).is_file()
    except OSError:  # too long for a file name
        is_file = False
    if is_file:
        return _read_file(Path(text), option)
    rows = list(csv.reader([text], skipinitialspace=True))
    labels = [label.strip() for label in (rows[0] if rows else ())]
    if not labels or not all(labels):
        raise ArgumentError(f"{option} {text}: a label is empty; write labels as a,b,c")
    return labels


def _read_file(path: Path, option: str) -> Any:
    if path.stat().st_size > _MOST_BYTES:
        raise ArgumentError(f"{option} {path}: the file is too large for a list of labels")
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ArgumentError(f"{option} {path}: the file is not UTF-8 text") from None
    if content.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise ArgumentError(f"{option} {path}: the file is not valid JSON") from None
    return [line.strip() for line in content.splitlines() if line.strip()]
