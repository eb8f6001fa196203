"""Compile all routines before their first use."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os.path import commonpath
from pathlib import Path
from tempfile import TemporaryFile
from time import perf_counter
from typing import Any, NamedTuple

from polytomy.errors import PolytomyError
from polytomy.routines.examples import examples
from polytomy.routines.runtime.dispatch import compiled_routine, explain_cause
from polytomy.routines.runtime.machine_code import may_have_machine_code
from polytomy.routines.runtime.stand_ins import find_stand_in
from polytomy.routines.runtime.threads import RoutineFailure

__all__ = ["WarmUp", "WarmUpProgress", "warm_up"]

_Calls = dict[str, list[tuple[Any, ...]]]
"""Arguments of the calls to each routine of a subject."""


class WarmUpProgress(NamedTuple):
    """Progress of `warm_up`.

    Attributes
    ----------
    n_done, n_routines : int
    routine : str
        Name of the next routine; with several jobs, of one that is ready; empty at the end.
    """

    n_done: int
    n_routines: int
    routine: str


class WarmUp(NamedTuple):
    """Result of `warm_up`.

    Attributes
    ----------
    n_routines : int
        Number of routines that are now ready.
    n_compiled : int
        Number of functions that were compiled; the others were in the cache.
    seconds : float
    folder : Path
        Where the machine code is stored.
    """

    n_routines: int
    n_compiled: int
    seconds: float
    folder: Path


class _Compiled(NamedTuple):
    """The compiled part of a subject: its routines, number of new functions, and folder."""

    names: list[str]
    n_new: int
    folder: Path


def warm_up(
    on_progress: Callable[[WarmUpProgress], None] | None = None, *, n_jobs: int | None = None
) -> WarmUp:
    """Compile all routines now, so that no later process has to.

    The machine code is stored on disk: beside the package, or in the folder given by the
    environment variable NUMBA_CACHE_DIR. It is valid for this processor type, this Python and this
    version of Numba and polytomy. Routines that are already in the cache are loaded, which takes a
    second or two for all of them.

    Parameters
    ----------
    on_progress : function, optional
        Called with a `WarmUpProgress` for each routine and at the end.
    n_jobs : int, optional
        Number of processes, or -1 for all cores. Each process compiles on one core.

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
    21
    """
    started = perf_counter()
    _check_folder()
    report = on_progress or (lambda progress: None)
    calls: dict[str, _Calls] = {}
    for subject, name, arguments in examples():
        calls.setdefault(subject, {}).setdefault(name, []).append(arguments)
    n_routines = sum(map(len, calls.values()))
    n_done = 0

    def tell(name: str) -> None:
        nonlocal n_done
        report(WarmUpProgress(n_done, n_routines, name))
        n_done += 1

    if n_jobs in (None, 1):
        done = [_compile(subject, calls[subject], tell) for subject in calls]
    else:
        done = []
        for compiled in _compile_in_processes(calls, n_jobs):
            done.append(compiled)
            for name in compiled.names:
                tell(name)
    tell("")
    may_have_machine_code.cache_clear()  # there is some now
    n_new = sum(compiled.n_new for compiled in done)
    folder = Path(commonpath([compiled.folder for compiled in done]))
    return WarmUp(n_routines, n_new, perf_counter() - started, folder)


def _compile_in_processes(calls: dict[str, _Calls], n_jobs: int | None) -> Iterator[_Compiled]:
    """Yield the compiled part of each subject as soon as it is ready."""
    # Not at the top, because importing joblib is slow.
    from joblib import Parallel, delayed

    def seconds(subject: str) -> float:
        stand_ins = (find_stand_in(name, subject) for name in calls[subject])
        return sum(stand_in.compiling for stand_in in stand_ins if stand_in is not None)

    # A subject stays in one process, because its routines share helpers; the longest come first.
    longest_first = sorted(calls, key=seconds, reverse=True)
    parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator")
    compiled: Iterator[_Compiled] = parallel(
        delayed(_compile)(subject, calls[subject]) for subject in longest_first
    )
    return compiled


def _compile(
    subject: str, calls: _Calls, tell: Callable[[str], None] = lambda name: None
) -> _Compiled:
    """Compile the routines of a subject for the types of all calls."""
    with _explain_failure(next(iter(calls))):
        routines = {name: compiled_routine(name, subject) for name in calls}
    # Not at the top, because it imports Numba, which the lines above do on another thread.
    from polytomy.routines.runtime.compiling import count_compiled, machine_code_folder

    n_before = count_compiled()
    with _rare_collections():
        for name, run in routines.items():
            tell(name)
            with _explain_failure(name):
                for arguments in calls[name]:
                    run(*arguments)
    return _Compiled(list(calls), count_compiled() - n_before, machine_code_folder())


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Let the garbage collector look at the many objects of a compiler less often.

    Most of them are needed until a function is compiled; to look again and again takes a tenth of
    the time.
    """
    before = gc.get_threshold()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def _explain_failure(name: str) -> Iterator[None]:
    """Turn the failure of a routine into a PolytomyError."""
    try:
        yield
    except RoutineFailure as failure:
        raise PolytomyError(
            f"The routine {name} cannot be compiled ({explain_cause(failure)}). Numba must be "
            "installed and must be able to write its files: set NUMBA_CACHE_DIR to a writable "
            "folder."
        ) from failure.__cause__


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
            f"NUMBA_CACHE_DIR is {folder}, which is not writable ({error.strerror}). Set it to "
            "a writable folder, or unset it to keep the machine code beside the package."
        ) from error
