"""How Numba compiles the kernels, said once.

`kernel` is for the functions that :mod:`polytomy.kernels.dispatch` hands out: their `prange` loops
run in parallel. `helper` is for what they call. Both keep the machine code on disk and use IEEE
arithmetic as written, in which a division by zero is no exception.
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

__all__ = ["MOST_BLOCKS", "helper", "kernel", "read_only", "with_read_only_arguments"]

MOST_BLOCKS = 64
"""Blocks of samples that a kernel makes at most; each has its own workspace."""

_HERE = Path(__file__).parent
_IMPORTED_KERNELS = re.compile(r"^from polytomy\.kernels\.(\w+) import", re.MULTILINE)

_Function = TypeVar("_Function", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": False}


def helper(function: _Function) -> _Function:
    """Compile a function that only kernels call."""
    return cast(_Function, njit(**_OPTIONS)(function))


def kernel(function: _Function) -> _Function:
    """Compile a function whose `prange` loops run in parallel."""
    return cast(_Function, njit(**_OPTIONS, parallel=True)(function))


def with_read_only_arguments(function: _Function) -> _Function:
    """Make a compiled function see all arrays as read-only.

    For Numba a writeable array is of another type than a read-only one. This way it compiles the
    function once, whichever of them the caller has.
    """

    @wraps(function)
    def run(*arguments: Any) -> Any:
        return function(*(read_only(argument) for argument in arguments))

    return cast(_Function, run)


def read_only(argument: Any) -> Any:
    """Return a read-only view of an array; anything else as it is."""
    if not isinstance(argument, np.ndarray):
        return argument
    view = argument.view()
    view.flags.writeable = False
    return view


def _forget_stale_code() -> None:
    """Remove the index of machine code that is older than a source it was compiled from.

    Numba compiles a function again when its own file has changed, but not when only the file of a
    function that it calls has.
    """
    for index in (_HERE / "__pycache__").glob("compiled*.nbi"):
        sources = _kernel_sources(index.name.split(".")[0])
        # Another process may be doing the same, or the directory may be read-only.
        with suppress(OSError):
            newest = max((source.stat().st_mtime for source in sources), default=0.0)
            if index.stat().st_mtime < newest:
                index.unlink()


@cache
def _kernel_sources(module: str) -> frozenset[Path]:
    """Return the files of a kernel module and of all those that it imports."""
    source = _HERE / f"{module}.py"
    if not source.exists():
        return frozenset()
    imported = _IMPORTED_KERNELS.findall(source.read_text(encoding="utf-8"))
    return frozenset({source}).union(*(_kernel_sources(name) for name in imported))


_forget_stale_code()
