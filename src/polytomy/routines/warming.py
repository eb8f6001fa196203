"""Compiling all routines ahead of their first use."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from time import perf_counter
from typing import Any, NamedTuple

from polytomy.errors import PolytomyError
from polytomy.routines.examples import examples
from polytomy.routines.runtime.dispatch import compiled_routine, explain_cause
from polytomy.routines.runtime.threads import RoutineFailure

__all__ = ["WarmUp", "WarmUpProgress", "warm_up"]


class WarmUpProgress(NamedTuple):
    """How far `warm_up` has come.

    Attributes
    ----------
    n_done, n_routines : int
    routine : str
        Name of the routine that comes next; empty at the end.
    """

    n_done: int
    n_routines: int
    routine: str


class WarmUp(NamedTuple):
    """What `warm_up` has done.

    Attributes
    ----------
    n_routines : int
        Number of routines that are ready now.
    n_compiled : int
        Number of functions that this process has compiled; the others were in the cache.
    seconds : float
    folder : Path
        Where the machine code is kept.
    """

    n_routines: int
    n_compiled: int
    seconds: float
    folder: Path


def warm_up(on_progress: Callable[[WarmUpProgress], None] | None = None) -> WarmUp:
    """Compile all routines now, so that no later process has to.

    The machine code is kept on disk: beside the package, or in the folder that the environment
    variable NUMBA_CACHE_DIR names. It is valid for this processor type, this Python and this
    version of Numba and of polytomy. Routines that are in the cache already are loaded, which takes
    a second or two for all of them.

    Parameters
    ----------
    on_progress : function, optional
        Called with a `WarmUpProgress` before each routine and at the end.

    Returns
    -------
    WarmUp

    Raises
    ------
    PolytomyError
        If Numba cannot compile, or cannot write the machine code.

    Examples
    --------
    >>> import polytomy as pt
    >>> pt.warm_up().n_routines  # doctest: +SKIP
    17
    """
    started = perf_counter()
    _check_folder()
    report = on_progress or (lambda progress: None)
    calls: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
    for subject, name, arguments in examples():
        calls.setdefault((subject, name), []).append(arguments)
    for n_done, (subject, name) in enumerate(calls):
        report(WarmUpProgress(n_done, len(calls), name))
        try:
            run = compiled_routine(name, subject)
            for arguments in calls[subject, name]:
                run(*arguments)
        except RoutineFailure as failure:
            raise PolytomyError(
                f"The routine {name} cannot be compiled ({explain_cause(failure)}). Numba must be "
                "installed and must be able to write its files: set NUMBA_CACHE_DIR to a folder "
                "that can be written."
            ) from failure.__cause__
    report(WarmUpProgress(len(calls), len(calls), ""))
    # Not at the top, because it imports Numba.
    from polytomy.routines.runtime.compiling import count_compiled, machine_code_folder

    seconds = perf_counter() - started
    return WarmUp(len(calls), count_compiled(), seconds, machine_code_folder())


def _check_folder() -> None:
    """Raise a PolytomyError if NUMBA_CACHE_DIR cannot be written: Numba would not say so."""
    folder = os.environ.get("NUMBA_CACHE_DIR")
    if not folder:
        return
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise PolytomyError(
            f"NUMBA_CACHE_DIR is {folder}, which cannot be written ({error.strerror}). Set it to "
            "a folder that can be written, or unset it to keep the machine code beside the package."
        ) from error
