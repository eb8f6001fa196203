"""The memory of the machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

__all__ = ["CONTAINER_LIMITS", "machine_memory"]

_UNKNOWN_MEMORY = 2**33

#: Files with the memory limit of a container, in the two versions of Linux control groups.
CONTAINER_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def machine_memory(limit_files: Sequence[Path] = CONTAINER_LIMITS) -> int:
    """Return the memory of the machine, or of the container, in bytes.

    Parameters
    ----------
    limit_files : files that may hold a limit in bytes, read once; others are ignored
    """
    return _machine_memory(tuple(limit_files))


@cache
def _machine_memory(limit_files: tuple[Path, ...]) -> int:
    memory = _UNKNOWN_MEMORY
    with suppress(AttributeError, OSError, ValueError):  # not a POSIX system
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in limit_files:
        with suppress(OSError, ValueError):  # there is no file, or it says "max"
            memory = min(memory, int(file.read_text()))
    return memory
