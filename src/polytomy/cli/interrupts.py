"""Ctrl-C while modules are imported."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from importlib.machinery import ExtensionFileLoader
from types import FrameType
from typing import Any

__all__ = ["interrupt_after_imports"]

_PAUSE = 0.02
"""Seconds until the next attempt."""


def interrupt_after_imports(command: Callable[[], Any]) -> None:
    """Run a command; where an import would swallow KeyboardInterrupt, raise it a moment later.

    If the import of an extension module is interrupted, it raises ImportError instead. Other
    packages then assume that an optional package is missing, and continue. Callbacks of the import
    system swallow every exception.

    Nothing changes if Ctrl-C is ignored or already handled, in threads other than the main one, and
    on systems without timers, such as Windows.

    Examples
    --------
    >>> interrupt_after_imports(lambda: print("done"))
    done
    """
    outermost = sys._getframe()

    def interrupt(number: int, frame: FrameType | None) -> None:
        if frame is None or not _would_be_lost(frame, outermost):
            raise KeyboardInterrupt
        signal.setitimer(signal.ITIMER_REAL, _PAUSE)

    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not is_default or not hasattr(signal, "setitimer"):
        command()
        return
    try:
        earlier = signal.signal(signal.SIGALRM, interrupt)
    except ValueError:  # not the main thread
        command()
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        command()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)


def _would_be_lost(innermost: FrameType, outermost: FrameType) -> bool:
    """Return whether an exception in the innermost frame may not reach the outermost one."""
    if innermost.f_globals.get("__name__") == "importlib._bootstrap":
        return True
    frame: FrameType | None = innermost
    while frame is not None and frame is not outermost:
        if isinstance(frame.f_locals.get("self"), ExtensionFileLoader):
            return True
        frame = frame.f_back
    return False
