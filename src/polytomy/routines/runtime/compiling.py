"""How Numba compiles the routines.

`parallel_routine` is for functions that :mod:`polytomy.routines.runtime.dispatch` returns: their
`prange` loops run in parallel. `helper` is for the functions they call. Both keep the machine code
on disk and use IEEE arithmetic as written, where a division by zero raises nothing. The `fused`
forms may turn a product and a sum into one operation with one rounding: a quarter less time, and no
less exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

__all__ = [
    "MOST_BLOCKS",
    "fused_helper",
    "fused_parallel_routine",
    "helper",
    "parallel_routine",
    "read_only",
    "with_read_only_arguments",
]

MOST_BLOCKS = 64
"""Most blocks of samples that a routine makes; each has its own workspace."""

_ROUTINES = Path(__file__).parents[1]
_IMPORTED_ROUTINES = re.compile(r"^from polytomy\.routines\.([\w.]+) import", re.MULTILINE)

_Function = TypeVar("_Function", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": False}
_FUSED_OPTIONS: dict[str, Any] = {**_OPTIONS, "fastmath": {"contract"}}


def helper(function: _Function) -> _Function:
    """Compile a function that only routines call."""
    return cast(_Function, njit(**_OPTIONS)(function))


def parallel_routine(function: _Function) -> _Function:
    """Compile a function whose `prange` loops run in parallel."""
    return cast(_Function, njit(**_OPTIONS, parallel=True)(function))


def fused_helper(function: _Function) -> _Function:
    """Compile a function that only routines call, with fused operations."""
    return cast(_Function, njit(**_FUSED_OPTIONS)(function))


def fused_parallel_routine(function: _Function) -> _Function:
    """Compile a function whose `prange` loops run in parallel, with fused operations."""
    return cast(_Function, njit(**_FUSED_OPTIONS, parallel=True)(function))


def with_read_only_arguments(function: _Function) -> _Function:
    """Make a compiled function see all arrays as read-only.

    To Numba a writeable array and a read-only one have different types. This way it compiles the
    function once, whichever of them the caller has.
    """

    @wraps(function)
    def run(*arguments: Any) -> Any:
        return function(*(read_only(argument) for argument in arguments))

    return cast(_Function, run)


def read_only(argument: Any) -> Any:
    """Return a read-only view of an array, and anything else unchanged."""
    if not isinstance(argument, np.ndarray):
        return argument
    view = argument.view()
    view.flags.writeable = False
    return view


def _delete_stale_code() -> None:
    """Delete the index of machine code that is older than a source it was compiled from.

    Numba compiles a function again when its own file has changed, but not when only the file of a
    function that it calls has.
    """
    for index in _ROUTINES.glob("**/__pycache__/*.nbi"):
        sources = _sources_of(index.parents[1] / f"{index.name.split('.')[0]}.py")
        # Another process may be doing the same, or the directory may be read-only.
        with suppress(OSError):
            newest = max((source.stat().st_mtime for source in sources), default=0.0)
            if index.stat().st_mtime < newest:
                index.unlink()


@cache
def _sources_of(source: Path) -> frozenset[Path]:
    """Return the file of a routine and of all modules of routines that it imports."""
    if not source.exists():
        return frozenset()
    imported = _IMPORTED_ROUTINES.findall(source.read_text(encoding="utf-8"))
    files = (_ROUTINES / f"{name.replace('.', '/')}.py" for name in imported)
    return frozenset({source}).union(*map(_sources_of, files))


_delete_stale_code()
