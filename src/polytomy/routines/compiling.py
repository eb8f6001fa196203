"""How Numba compiles the routines.

Compiled functions release the GIL and start no threads. Python calls *entries*, whose machine code
is cached on disk. Entries call *helpers*, which Python cannot call. Without code that converts
arguments, and without files of their own, helpers compile in a third less time.

Functions use IEEE arithmetic as written, where a division by zero raises nothing. *Fused* functions
may turn a product and a sum into one operation with one rounding: a quarter less time, and just as
accurate.

The routines that :mod:`polytomy.routines.dispatch` returns are Python functions. They call
entries through :mod:`polytomy.routines.threads`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache, wraps
from os.path import commonpath
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numba.core import event

from polytomy.routines.threads import NotCompiled, is_compiling_allowed

__all__ = [
    "count_compiled",
    "entry",
    "fused_entry",
    "fused_helper",
    "helper",
    "inlined_helper",
    "machine_code_folder",
    "read_only",
    "summing_helper",
    "unfused_inlined_helper",
    "with_read_only_arguments",
]

_ROUTINES = Path(__file__).parent
_IMPORTED_ROUTINES = re.compile(r"^from polytomy\.routines\.([\w.]+) import", re.MULTILINE)

_Function = TypeVar("_Function", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": False}
_FUSED: dict[str, Any] = {"fastmath": {"contract"}}
_ENTRY_OPTIONS: dict[str, Any] = {**_OPTIONS, "cache": True, "no_cfunc_wrapper": True}
_HELPER_OPTIONS: dict[str, Any] = {
    **_OPTIONS,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


_entries: list[Any] = []


def entry(function: _Function) -> _Function:
    """Compile a function that Python calls."""
    return _note_entry(njit(**_ENTRY_OPTIONS)(function))


def fused_entry(function: _Function) -> _Function:
    """Compile a function that Python calls, with fused operations."""
    return _note_entry(njit(**_ENTRY_OPTIONS | _FUSED)(function))


def _note_entry(compiled: Any) -> Any:
    _entries.append(compiled)
    return compiled


def helper(function: _Function) -> _Function:
    """Compile a function that entries call."""
    return cast(_Function, njit(**_HELPER_OPTIONS)(function))


def unfused_inlined_helper(function: _Function) -> _Function:
    """Compile an innermost loop like `inlined_helper`, with every operation rounded."""
    return cast(_Function, njit(**_HELPER_OPTIONS, forceinline=True)(function))


def fused_helper(function: _Function) -> _Function:
    """Compile a function that entries call, with fused operations."""
    return cast(_Function, njit(**_HELPER_OPTIONS | _FUSED)(function))


def inlined_helper(function: _Function) -> _Function:
    """Compile an innermost loop, with fused operations, that is inlined into its callers.

    A call in a loop would update the reference counts of its array arguments.
    """
    return cast(_Function, njit(**_HELPER_OPTIONS | _FUSED, forceinline=True)(function))


def summing_helper(function: _Function) -> _Function:
    """Compile an innermost sum like `inlined_helper`, with terms that may be added in any order.

    The processor can then add several terms at a time.
    """
    options = {**_HELPER_OPTIONS, "fastmath": {"contract", "reassoc", "nsz"}}
    return cast(_Function, njit(**options, forceinline=True)(function))


def with_read_only_arguments(function: _Function) -> _Function:
    """Pass all arrays to a compiled function as read-only and in C order.

    Numba then compiles it once, whatever arrays the caller passes.
    """

    @wraps(function)
    def run(*arguments: Any) -> Any:
        return function(*(read_only(argument) for argument in arguments))

    return cast(_Function, run)


def read_only(argument: Any) -> Any:
    """Return a read-only view of an array in C order, and anything else unchanged.

    An array in another order is copied. Numba gives arrays different types depending on their order
    and on whether they are writeable, and would compile a function again for each.
    """
    if not isinstance(argument, np.ndarray):
        return argument
    view = np.ascontiguousarray(argument).view()
    view.flags.writeable = False
    return view


def count_compiled() -> int:
    """Return how often this process has compiled an entry, once for each set of argument types."""
    return sum(len(each.signatures) - sum(each.stats.cache_hits.values()) for each in _entries)


def machine_code_folder() -> Path:
    """Return the folder with the machine code of all entries imported so far."""
    return Path(commonpath([each.stats.cache_path for each in _entries]))


def _delete_stale_code() -> None:
    """Delete the index of machine code that is older than a source it was compiled from.

    Numba compiles a function again if its own file has changed, but not if only the file of a
    function that it calls has changed.
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
    """Return the file of a routine and of all routine modules that it imports."""
    if not source.exists():
        return frozenset()
    imported = _IMPORTED_ROUTINES.findall(source.read_text(encoding="utf-8"))
    files = (_ROUTINES / f"{name.replace('.', '/')}.py" for name in imported)
    return frozenset({source}).union(*map(_sources_of, files))


class _Refusal(event.Listener):
    """Prevents compilation where it is not allowed; Numba has already looked in its cache."""

    def on_start(self, event: Any) -> None:
        if not is_compiling_allowed():
            raise NotCompiled

    def on_end(self, event: Any) -> None:
        pass


_delete_stale_code()
event.register("numba:compile", _Refusal())  # type: ignore[no-untyped-call]
