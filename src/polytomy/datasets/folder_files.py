"""The data files of a folder."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["PARQUET_ENDINGS", "list_files"]

#: Endings of the names of Parquet files.
PARQUET_ENDINGS = (".parquet", ".pq")

# Other programs write such files next to the data, or while they are running.
_HIDDEN = (".", "_")


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
