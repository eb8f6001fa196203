"""The choice between a compiled routine and its reference twin, which stands in for it at first.

The routine `name` of the subject `s` is the function `name` of both `reference/s.py` and
`compiled/s.py`. The compiled module, and with it Numba, is imported when there is machine code to
load or a routine has to be compiled.

Compiling a routine takes seconds, and its reference twin may be done by then. So the twin stands in
for it as long as the routine is neither in memory nor in Numba's cache. Each twin has a budget in
seconds (`BUDGETS`), and every call reduces it. A call that exceeds the budget compiles the routine,
so no process keeps using the slow twin. A twin estimates its time from its arguments (`spend`). The
figures were measured on one machine and rounded up; they do not depend on a clock, so the same
calls always use the same twins.

The environment variable POLYTOMY_ROUTINES forces one side: `reference` or `compiled`. If it is not
set and Numba fails (it is not installed, cannot write its cache, …), a RoutineWarning says so once,
and the reference routines are used from then on. If it is set to `compiled`, the failure is raised.
Only failures on another thread count: an exception in the calling thread may come from a signal
handler.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from polytomy.errors import ArgumentError, RoutineWarning, warn_caller
from polytomy.routines.threads import RoutineFailure, run_aside

BUDGETS = {"smo": 2.0, "linear": 2.0}
"""Seconds that the twins of training routines may take in a process, by subject: they take ten
seconds to compile."""

BUDGET = 0.25
"""The same for all others, which compile in a second or two and are called again and again."""

_left: dict[str, float] = {}
"""The remaining seconds of the routines whose twins have been used."""

_standing_in_for: ContextVar[str] = ContextVar("_standing_in_for", default="")


class OverBudget(Exception):
    """The twin would take too long."""


def run_stand_in(name: str, twin: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return the answer of the twin of a routine; raise OverBudget if it takes too long.

    Examples
    --------
    >>> def wait(seconds):
    ...     spend(seconds)
    ...     return f"waited {seconds} s"
    >>> run_stand_in("wait", wait, (0.15,))
    'waited 0.15 s'
    >>> run_stand_in("wait", wait, (0.15,))
    Traceback (most recent call last):
    polytomy.routines.dispatch.OverBudget
    """
    token = _standing_in_for.set(name)
    try:
        return twin(*arguments)
    finally:
        _standing_in_for.reset(token)


def spend(seconds: float) -> None:
    """Reduce the budget of the routine that a reference routine stands in for, if it does.

    Raise OverBudget if the budget does not suffice; it is then used up.
    """
    name = _standing_in_for.get()
    if name:
        left = _left.get(name, BUDGETS.get(name.partition(".")[0], BUDGET))
        _left[name] = max(0.0, left - seconds)
        if seconds > left:
            raise OverBudget


ENVIRONMENT_VARIABLE = "POLYTOMY_ROUTINES"

_COMPILED = Path(__file__).parent / "compiled"

Routine = Callable[..., Any]


class _CompiledSide:
    """State of the compiled routines in this process."""

    def __init__(self) -> None:
        self.usable = True
        self.used: set[tuple[str, str]] = set()

    def give_up(self, reason: str) -> None:
        """Use the reference routines from now on, and warn once with the reason."""
        if not self.usable:
            return
        self.usable = False
        warn_caller(
            f"the compiled routines cannot be used ({reason}); the slower reference routines are "
            f"used instead. Set {ENVIRONMENT_VARIABLE}=reference to choose them without this "
            "warning.",
            RoutineWarning,
        )


_compiled_side = _CompiledSide()
_imported: dict[str, ModuleType] = {}


def routine(name: str, subject: str, *, needs_compiled: bool = False) -> Routine:
    """Return the routine with the given name, compiled if possible.

    Parameters
    ----------
    name : str
        Name of the function, the same in both twins.
    subject : str
        Name of the modules that hold the twins: "smo" for `routines/reference/smo.py`.
    needs_compiled : bool, default=False
        If Numba fails, raise RoutineFailure: the reference is too slow for more than small work.

    Returns
    -------
    callable

    Examples
    --------
    >>> import numpy as np
    >>> project = routine("project_answers", "least_squares")
    >>> project(np.array([[0.5, 0.75, -3.0]]), np.eye(3))
    array([[0.375, 0.625, 0.   ]])
    """
    side = _forced_side()
    if side == "reference" or not (side or _compiled_side.usable):
        if needs_compiled and not side:
            raise RoutineFailure("the compiled routines cannot be used")
        reference: Routine = getattr(_twin("reference", subject), name)
        return reference
    is_forced = side == "compiled"
    return _compiled_or_reference(name, subject, is_forced=is_forced, needs_compiled=needs_compiled)


def compiled_routine(name: str, subject: str) -> Routine:
    """Return the compiled routine with the given name; it raises RoutineFailure if Numba fails."""
    if subject not in _imported:
        # On another thread, because an interrupted import of Numba cannot be retried.
        _imported[subject] = run_aside(_import_compiled, subject, cost=float("inf"))
    compiled: Routine = getattr(_imported[subject], name)
    return compiled


def prefers_compiled() -> bool:
    """Return whether compiled routines are used, as far as is known without importing Numba."""
    side = _forced_side()
    if side or not _compiled_side.usable:
        return side == "compiled"
    if not _is_numba_installed():
        _compiled_side.give_up("Numba is not installed")
    return _compiled_side.usable


def explain_cause(failure: RoutineFailure) -> str:
    """Return the type and the first line of the error that made a routine fail."""
    error = failure.__cause__
    first_line = (str(error).strip() or "no message").splitlines()[0]
    return f"{type(error).__name__}: {first_line}"


@cache
def has_machine_code(name: str, subject: str) -> bool:
    """Return whether there are files with machine code of a routine.

    They are looked for once, and without importing Numba, which takes a third of a second: small
    tasks need not wait for that. Numba writes to the folder NUMBA_CACHE_DIR, or else next to the
    sources. If it may not, and keeps the files elsewhere, they are not found, and the twin of a
    routine does small tasks.

    The name of a file starts with those of the module and the function. The functions of a routine
    are named after it: `_couple_pairs_in_lanes` belongs to `couple_pairs`.
    """
    chosen, version = os.environ.get("NUMBA_CACHE_DIR"), "".join(map(str, sys.version_info[:2]))
    files = f"{subject}._{name}*.py{version}*.nbi"
    # A chosen folder has a subfolder with the name of the folder of sources, and a hash.
    folder = Path(chosen) if chosen else _COMPILED / "__pycache__"
    found = folder.glob(f"{_COMPILED.name}_*/{files}" if chosen else files)
    return any(file.stat().st_mtime >= time_of_change(subject) for file in found)


def time_of_change(subject: str) -> float:
    """Return when a file that the machine code of a subject depends on was last changed.

    These are the files whose names begin with the subject, in either folder of twins, and what all
    subjects share.
    """
    own = _COMPILED.parent.glob(f"[cr]*/{subject}*.py")
    shared = ("compiling.py", "compiled/kernels.py", "compiled/linear_systems.py")
    files = [*own, *(_COMPILED.parent / name for name in shared)]
    return max((file.stat().st_mtime for file in files if file.exists()), default=0.0)


@cache
def _is_numba_installed() -> bool:
    return find_spec("numba") is not None


def _forced_side() -> str:
    side = os.environ.get(ENVIRONMENT_VARIABLE, "").strip().lower()
    if side not in ("", "reference", "compiled"):
        raise ArgumentError(
            f'{ENVIRONMENT_VARIABLE} must be "reference" or "compiled", or not set; got {side!r}.'
        )
    return side


def _twin(side: str, subject: str) -> ModuleType:
    return importlib.import_module(f"polytomy.routines.{side}.{subject}")


def _import_compiled(subject: str, stop: object) -> ModuleType:
    return _twin("compiled", subject)


@cache
def _compiled_or_reference(
    name: str, subject: str, *, is_forced: bool, needs_compiled: bool
) -> Routine:
    """Return a function that runs the compiled routine, or the reference if Numba fails."""
    reference: Routine = getattr(_twin("reference", subject), name)

    def run(*arguments: Any) -> Any:
        is_ready = is_forced or (name, subject) in _compiled_side.used
        if not (is_ready or has_machine_code(name, subject)):
            with suppress(OverBudget):
                return run_stand_in(f"{subject}.{name}", reference, arguments)
        try:
            answer = compiled_routine(name, subject)(*arguments)
        except RoutineFailure as failure:
            if is_forced and failure.__cause__ is not None:
                raise failure.__cause__ from None
            _compiled_side.give_up(explain_cause(failure))
            if needs_compiled:
                raise
            return reference(*arguments)
        _compiled_side.used.add((name, subject))
        return answer

    return run
