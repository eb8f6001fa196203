"""The files in which Numba keeps machine code, found without importing Numba."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["may_have_machine_code"]

_ROUTINES = Path(__file__).parents[1]


@cache
def may_have_machine_code(subject: str) -> bool:
    """Return False if no routine of a subject has machine code that could be loaded.

    Importing Numba takes a third of a second, which small work need not wait for. The files are
    looked for once: a process does not notice what another one compiles later on.

    Examples
    --------
    >>> may_have_machine_code("no_such_subject")
    False
    """
    chosen, sources = os.environ.get("NUMBA_CACHE_DIR"), _ROUTINES / subject
    is_usual = chosen or os.access(sources, os.W_OK) or not sources.exists()
    if os.environ.get("NUMBA_CACHE_LOCATOR_CLASSES") or not is_usual:
        return True  # only Numba knows where its files are
    return any(any(folder.glob("*.nbi")) for folder in _folders(sources, chosen))


def _folders(sources: Path, chosen: str | None) -> Iterator[Path]:
    """Yield the folders that may hold machine code of the functions below a folder.

    They are in the folder that the user has chosen, or next to the sources.
    """
    for folder, _, _ in os.walk(sources):
        if chosen:
            # Numba appends a hash of the path.
            yield from Path(chosen).glob(f"{Path(folder).name}_*")
        else:
            yield Path(folder)
