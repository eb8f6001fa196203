"""Choose between the twins: the compiled routine where Numba works, else the reference routine.

The routine `name` of the subject `s` is the function `name` of both `routines/s/reference` and
`routines/s/compiled`. The compiled module is imported when one of its routines is first called, and
not earlier, because importing Numba takes most of a second.

The environment variable POLYTOMY_ROUTINES forces one side: `reference` or `compiled`. If it is not
set and Numba fails (it is not installed, cannot write its cache, has no thread pool, …), a
RoutineWarning says so once and the reference routines are used from then on. If it is set to
`compiled`, the failure is raised.
"""

from __future__ import annotations

import importlib
import os
import threading
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

from polytomy.errors import ArgumentError, RoutineWarning

__all__ = ["ENVIRONMENT_VARIABLE", "prefers_compiled", "routine"]

ENVIRONMENT_VARIABLE = "POLYTOMY_ROUTINES"

_OLD_ENVIRONMENT_VARIABLE = "POLYTOMY_KERNELS"
"""Its name in version 0.1, which still works."""

Routine = Callable[..., Any]


class _CompiledSide:
    """What this process knows about its compiled routines."""

    def __init__(self) -> None:
        self.usable = True
        self.has_run = False
        self.is_forked = False
        # Numba's simplest thread pool ends the whole process when two threads enter it at once.
        self.lock = threading.Lock()

    def check_fork(self) -> None:
        """Raise an error where Numba would end the process.

        The threads of GNU OpenMP do not survive a fork, and Numba ends a child that uses them.
        """
        if not self.is_forked:
            return
        try:
            layer = importlib.import_module("numba").threading_layer()
        except ValueError:  # Numba has not started any threads
            return
        if layer == "omp":
            raise RuntimeError(
                "this process was forked after they had run; start workers with spawn or forkserver"
            )

    def give_up(self, reason: str) -> None:
        """Use the reference routines from now on, and say why, once."""
        if not self.usable:
            return
        self.usable = False
        warnings.warn(
            f"the compiled routines cannot be used ({reason}); the slower reference routines are "
            f"used instead. Set {ENVIRONMENT_VARIABLE}=reference to choose them without this "
            "warning.",
            RoutineWarning,
            stacklevel=4,
        )


_compiled_side = _CompiledSide()


def routine(name: str, subject: str, *, is_serial: bool = False) -> Routine:
    """Return the routine of that name, compiled if possible.

    Parameters
    ----------
    name : str
        Name of the function, the same in both twins.
    subject : str
        Name of the folder that holds the twins: "smo" for `routines/smo`.
    is_serial : bool, default=False
        Whether the compiled routine starts no threads of its own. Only one thread at a time may
        run a routine that does; any number of threads may run the others.

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
    reference: Routine = getattr(_twin("reference", subject), name)
    if not prefers_compiled():
        return reference
    return _compiled_or(
        reference, name, subject, is_forced=_forced_side() == "compiled", is_serial=is_serial
    )


def prefers_compiled() -> bool:
    """Return whether routines are the compiled ones, as far as is known yet."""
    side = _forced_side()
    return side == "compiled" or (side == "" and _compiled_side.usable)


def _forced_side() -> str:
    variable = ENVIRONMENT_VARIABLE
    if variable not in os.environ and _OLD_ENVIRONMENT_VARIABLE in os.environ:
        variable = _OLD_ENVIRONMENT_VARIABLE
    side = os.environ.get(variable, "").strip().lower()
    if side not in ("", "reference", "compiled"):
        raise ArgumentError(
            f'{variable} must be "reference" or "compiled", or not set; got {side!r}.'
        )
    return side


def _twin(side: str, subject: str) -> ModuleType:
    return importlib.import_module(f"polytomy.routines.{subject}.{side}")


def _compiled_or(
    reference: Routine, name: str, subject: str, *, is_forced: bool, is_serial: bool
) -> Routine:
    """Return a function that runs the compiled routine, or the reference where Numba fails."""

    def run(*arguments: Any) -> Any:
        try:
            if is_serial:
                return getattr(_twin("compiled", subject), name)(*arguments)
            with _compiled_side.lock:
                _compiled_side.check_fork()
                compiled = getattr(_twin("compiled", subject), name)
                _compiled_side.has_run = True
                return compiled(*arguments)
        except MemoryError:
            raise
        except Exception as error:
            # Routines raise nothing themselves: what arrives here is Numba or its surroundings.
            if is_forced:
                raise
            first_line = (str(error).strip() or "no message").splitlines()[0]
            _compiled_side.give_up(f"{type(error).__name__}: {first_line}")
            return reference(*arguments)

    return run


def _after_fork_in_child() -> None:
    # A thread of the parent may have held the lock; it does not exist here to release it.
    _compiled_side.lock = threading.Lock()
    _compiled_side.is_forked = _compiled_side.has_run


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
