"""Choose between the twins: the compiled routine if Numba works, otherwise the reference routine.

The routine `name` of the subject `s` is the function `name` of both `routines/reference/s.py` and
`routines/compiled/s.py`. While a routine is not compiled, its twin may stand in for it
(:mod:`polytomy.routines.threads`). The compiled module, and with it Numba, is imported when there
is machine code to load or a routine has to be compiled.

The environment variable POLYTOMY_ROUTINES forces one of them: `reference` or `compiled`. If it is
not set and Numba fails (it is not installed, cannot write its cache, …), a RoutineWarning says so
once, and the reference routines are used from then on. If it is set to `compiled`, the failure is
raised. Only failures on another thread count: an exception in the calling thread may come from a
signal handler.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from polytomy.errors import ArgumentError, RoutineWarning, warn_caller
from polytomy.routines.threads import (
    Budgets,
    NotCompiled,
    OverBudget,
    RoutineFailure,
    find_stand_in,
    run_aside,
    without_compiling,
)

__all__ = [
    "ENVIRONMENT_VARIABLE",
    "compiled_routine",
    "explain_cause",
    "may_have_machine_code",
    "prefers_compiled",
    "routine",
]

_SOURCES = Path(__file__).parent / "compiled"


@cache
def may_have_machine_code(subject: str) -> bool:
    """Return False if no routine of a subject seems to have machine code that could be loaded.

    Importing Numba takes a third of a second, which small tasks need not wait for. The files are
    looked for once: a process does not notice what another one compiles later on.

    Numba writes to the folder NUMBA_CACHE_DIR, or else next to the sources. If it may not, or if
    it is set up differently, the answer is True, and Numba itself looks for the files.
    """
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(chosen) if chosen else _SOURCES / "__pycache__"
    if (
        "numba" in sys.modules
        or not _SOURCES.is_dir()  # in a zip file
        or not _is_writable(folder)
        or os.environ.get("NUMBA_CACHE_LOCATOR_CLASSES")
        or Path(".numba_config.yaml").exists()
    ):
        return True
    # In a chosen folder, the files are in a subfolder named after the sources' folder and a hash.
    return any(folder.glob(f"{_SOURCES.name}_*/{subject}.*.nbi" if chosen else f"{subject}.*.nbi"))


def _is_writable(folder: Path) -> bool:
    """Return whether a folder can be written to; if it does not exist, whether it can be made."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK)


ENVIRONMENT_VARIABLE = "POLYTOMY_ROUTINES"

_OLD_ENVIRONMENT_VARIABLE = "POLYTOMY_KERNELS"
"""The variable's name in version 0.1, which still works."""

Routine = Callable[..., Any]


class _CompiledSide:
    """State of the compiled routines in this process."""

    def __init__(self) -> None:
        self.usable = True

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
_budgets = Budgets()
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
    compiled: Routine = getattr(_compiled_twin(subject), name)
    return compiled


def prefers_compiled() -> bool:
    """Return whether compiled routines are used, as far as is known without importing Numba."""
    side = _forced_side()
    if side or not _compiled_side.usable:
        return side == "compiled"
    if not _is_numba_installed():
        _compiled_side.give_up("Numba is not installed")
    return _compiled_side.usable


@cache
def _is_numba_installed() -> bool:
    return find_spec("numba") is not None


def _forced_side() -> str:
    variable = ENVIRONMENT_VARIABLE
    value = os.environ.get(variable)
    if value is None:
        variable = _OLD_ENVIRONMENT_VARIABLE
        value = os.environ.get(variable, "")
    side = value.strip().lower()
    if side not in ("", "reference", "compiled"):
        raise ArgumentError(
            f'{variable} must be "reference" or "compiled", or not set; got {side!r}.'
        )
    return side


def _twin(side: str, subject: str) -> ModuleType:
    return importlib.import_module(f"polytomy.routines.{side}.{subject}")


@cache
def _compiled_or_reference(
    name: str, subject: str, *, is_forced: bool, needs_compiled: bool
) -> Routine:
    """Return a function that runs the compiled routine, or the reference if Numba fails."""
    reference: Routine = getattr(_twin("reference", subject), name)

    stand_in = None if is_forced else find_stand_in(name, subject)

    def run(*arguments: Any) -> Any:
        try:
            if stand_in is not None:
                with suppress(OverBudget):
                    try:
                        return _run_without_compiling(name, subject, arguments)
                    except NotCompiled:
                        key = f"{subject}.{name}"
                        return _budgets.answer(key, stand_in, reference, arguments)
            return compiled_routine(name, subject)(*arguments)
        except RoutineFailure as failure:
            if is_forced and failure.__cause__ is not None:
                raise failure.__cause__ from None
            _compiled_side.give_up(explain_cause(failure))
            if needs_compiled:
                raise
        return reference(*arguments)

    return run


def _run_without_compiling(name: str, subject: str, arguments: tuple[Any, ...]) -> Any:
    """Return the answer of a compiled routine; raise NotCompiled if it is not compiled yet."""
    if subject not in _imported and not may_have_machine_code(subject):
        raise NotCompiled
    with without_compiling():
        return compiled_routine(name, subject)(*arguments)


def explain_cause(failure: RoutineFailure) -> str:
    """Return the type and the first line of the error that made a routine fail."""
    error = failure.__cause__
    first_line = (str(error).strip() or "no message").splitlines()[0]
    return f"{type(error).__name__}: {first_line}"


def _compiled_twin(subject: str) -> ModuleType:
    if subject not in _imported:
        # On another thread, because an interrupted import of Numba cannot be retried.
        _imported[subject] = run_aside(_import_compiled, subject, cost=float("inf"))
    return _imported[subject]


def _import_compiled(subject: str, stop: object) -> ModuleType:
    return _twin("compiled", subject)
