"""How Numba compiles the routines.

Compiled functions release the GIL and start no threads. Python calls *entries*, whose machine code
is cached on disk. Entries call *helpers*, which Python cannot call. Without code that converts
arguments, and without files of their own, helpers compile in a third less time.

Functions use IEEE arithmetic as written, where a division by zero raises nothing. *Fused* functions
may turn a product and a sum into one operation with one rounding: a quarter less time, and just as
accurate.

The routines that :mod:`polytomy.routines.dispatch` returns are Python functions. They call entries
through :mod:`polytomy.routines.threads`. The name of an entry begins with that of its routine.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from os.path import commonpath
from pathlib import Path
from typing import Any, TypeVar

from numba import njit

from polytomy.routines.dispatch import time_of_change

_Function = TypeVar("_Function", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_FUSED: dict[str, Any] = {"fastmath": {"contract"}}
_HELPER: dict[str, Any] = {**_OPTIONS, "no_cpython_wrapper": True}
_entries: list[Any] = []


def entry(function: _Function) -> _Function:
    """Compile a function that Python calls."""
    return _note_entry(njit(cache=True, **_OPTIONS)(function))


def fused_entry(function: _Function) -> _Function:
    """Compile a function that Python calls, with fused operations."""
    return _note_entry(njit(cache=True, **_OPTIONS, **_FUSED)(function))


helper = njit(**_HELPER)
"""Compile a function that entries call."""

fused_helper = njit(**_HELPER, **_FUSED)
"""Compile a function that entries call, with fused operations."""

unfused_inlined_helper = njit(**_HELPER, forceinline=True)
"""Compile an innermost loop that is inlined into its callers.

A call in a loop would update the reference counts of its array arguments.
"""

inlined_helper = njit(**_HELPER, **_FUSED, forceinline=True)
"""Compile an innermost loop, with fused operations, that is inlined into its callers."""

summing_helper = njit(**_HELPER, fastmath={"contract", "reassoc", "nsz"}, forceinline=True)
"""Compile an innermost sum like `inlined_helper`, with terms that may be added in any order.

The processor can then add several terms at a time.
"""


def count_compiled() -> int:
    """Return how often this process has compiled an entry, once for each set of argument types."""
    return sum(len(each.signatures) - sum(each.stats.cache_hits.values()) for each in _entries)


def machine_code_folder() -> Path:
    """Return the folder with the machine code of all entries imported so far."""
    return Path(commonpath([each.stats.cache_path for each in _entries]))


def _note_entry(compiled: Any) -> Any:
    """List an entry, without machine code that is older than a file it was compiled from.

    Numba compiles a function again if its own file has changed, but not if only the file of a
    function that it calls has changed.
    """
    _entries.append(compiled)
    subject = Path(compiled.py_func.__code__.co_filename).stem
    for index in Path(compiled.stats.cache_path).glob(f"{subject}.{compiled.__name__}-*.nbi"):
        # Another process may be doing the same, or the directory may be read-only.
        with suppress(OSError):
            if index.stat().st_mtime < time_of_change(subject):
                index.unlink()
    return compiled
