"""The files in which Numba keeps machine code, found without importing Numba."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["may_have_machine_code"]

_ROUTINES = Path(__file__).parents[1]


@cache
def may_have_machine_code(subject: str) -> bool:
    """Return False if no routine of a subject seems to have machine code that could be loaded.

    Importing Numba takes a third of a second, which small tasks need not wait for. The files are
    looked for once: a process does not notice what another one compiles later on.

    Numba writes to the folder NUMBA_CACHE_DIR, or else next to the sources. If it may not, or if
    it is set up differently, the answer is True, and Numba itself looks for the files.
    """
    sources, chosen = _ROUTINES / subject, os.environ.get("NUMBA_CACHE_DIR")
    places = [Path(chosen)] if chosen else [folder / "__pycache__" for folder in _folders(sources)]
    if (
        "numba" in sys.modules
        or not sources.is_dir()  # in a zip file
        or not all(map(_is_writable, places))
        or os.environ.get("NUMBA_CACHE_LOCATOR_CLASSES")
        or Path(".numba_config.yaml").exists()
    ):
        return True
    if chosen:
        # In subfolders with the names of the source folders, and a hash.
        places = [found for each in _folders(sources) for found in places[0].glob(f"{each.name}_*")]
    return any(any(folder.glob("*.nbi")) for folder in places)


def _folders(sources: Path) -> Iterator[Path]:
    """Yield a folder of sources, and those inside it."""
    yield sources
    for folder in sources.rglob("[!_]*/"):
        if folder.is_dir():
            yield folder


def _is_writable(folder: Path) -> bool:
    """Return whether a folder can be written to; if it does not exist, whether it can be made."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK)
