"""Chooses between the twins: compiled kernels where Numba works, else the reference kernels.

A kernel `name` of the family `f` is the function `name` of `reference_f.py` and of `compiled_f.py`
(`reference.py` and `compiled.py` for the family without a name). The compiled module is imported at
the first use of one of its kernels, never before: importing Numba takes most of a second.

The environment variable POLYTOMY_KERNELS forces a side: `reference` or `compiled`. Without it a
failure of Numba (it is not installed, cannot write its cache, has no thread pool, …) is told once,
as a KernelWarning, and the reference kernels answer from then on. Forced to `compiled`, the failure
is raised.
"""

from __future__ import annotations

import importlib
import os
import threading
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

from polytomy.errors import ArgumentError, KernelWarning

__all__ = ["ENVIRONMENT_VARIABLE", "kernel", "prefers_compiled"]

ENVIRONMENT_VARIABLE = "POLYTOMY_KERNELS"

Kernel = Callable[..., Any]


class _CompiledSide:
    """What this process knows about its compiled kernels."""

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
                "this process was forked after they had run; start workers by spawn or forkserver"
            )

    def give_up(self, reason: str) -> None:
        """Answer with the reference kernels from now on, and say why, once."""
        if not self.usable:
            return
        self.usable = False
        warnings.warn(
            f"the compiled kernels cannot be used ({reason}); the slower reference kernels "
            f"answer instead. Set {ENVIRONMENT_VARIABLE}=reference to choose them without "
            "this warning.",
            KernelWarning,
            stacklevel=4,
        )


_compiled_side = _CompiledSide()


def kernel(name: str, family: str = "", *, is_serial: bool = False) -> Kernel:
    """Return the kernel of that name, compiled if possible.

    Parameters
    ----------
    name : str
        Name of the function, the same in both twins.
    family : str, default=""
        The rest of the twins' module names: "coupling" for `reference_coupling.py` and
        `compiled_coupling.py`.
    is_serial : bool, default=False
        Whether the compiled kernel starts no threads of its own. Only one thread at a time may be
        in a kernel that does; any number may be in the others.

    Returns
    -------
    callable

    Examples
    --------
    >>> import numpy as np
    >>> kernel("project_answers")(np.array([[0.5, 0.75, -3.0]]), np.eye(3))
    array([[0.375, 0.625, 0.   ]])
    """
    reference: Kernel = getattr(_twin("reference", family), name)
    if not prefers_compiled():
        return reference
    return _compiled_or(
        reference, name, family, is_forced=_forced_side() == "compiled", is_serial=is_serial
    )


def prefers_compiled() -> bool:
    """Return whether kernels are compiled ones, for all that is known so far."""
    side = _forced_side()
    return side == "compiled" or (side == "" and _compiled_side.usable)


def _forced_side() -> str:
    side = os.environ.get(ENVIRONMENT_VARIABLE, "").strip().lower()
    if side not in ("", "reference", "compiled"):
        raise ArgumentError(
            f"{ENVIRONMENT_VARIABLE}={side!r} is not a kind of kernels. "
            'Set it to "reference" or "compiled", or leave it out.'
        )
    return side


def _twin(side: str, family: str) -> ModuleType:
    module = f"{side}_{family}" if family else side
    return importlib.import_module(f"polytomy.kernels.{module}")


def _compiled_or(
    reference: Kernel, name: str, family: str, *, is_forced: bool, is_serial: bool
) -> Kernel:
    """Return a function that runs the compiled kernel, or the reference where Numba fails."""

    def run(*arguments: Any) -> Any:
        try:
            if is_serial:
                return getattr(_twin("compiled", family), name)(*arguments)
            with _compiled_side.lock:
                _compiled_side.check_fork()
                compiled = getattr(_twin("compiled", family), name)
                _compiled_side.has_run = True
                return compiled(*arguments)
        except MemoryError:
            raise
        except Exception as error:
            # Kernels raise nothing themselves: what arrives here is Numba or its surroundings.
            if is_forced:
                raise
            first_line = (str(error).strip() or "no message").splitlines()[0]
            _compiled_side.give_up(f"{type(error).__name__}: {first_line}")
            return reference(*arguments)

    return run


def _after_fork_in_child() -> None:
    # Another thread of the parent may have held the lock; here it would never let go of it.
    _compiled_side.lock = threading.Lock()
    _compiled_side.is_forked = _compiled_side.has_run


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
