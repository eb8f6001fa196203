"""Reference routines stand in for routines that would have to be compiled first.

Compiling a routine takes seconds, and its reference twin may be done by then. So the twin does the
work as long as the routine is neither in memory nor in Numba's cache. A reference routine calls
`spend` with the seconds that its work will take, before it writes anything. Once the calls of a
routine add up to more than the budget, the twin stops and the routine is compiled, so no process
keeps using the slow twin.

The seconds are estimated from the sizes of the arguments. The figures were measured on one machine
and rounded up. They do not depend on a clock, so the same calls always use the same twins.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

__all__ = ["BUDGET", "OverBudget", "run_stand_in", "spend"]

BUDGET = 2.0
"""Seconds that the twin of a routine may take in a process: less than most take to compile."""

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
    >>> run_stand_in("wait", wait, (1.5,))
    'waited 1.5 s'
    >>> run_stand_in("wait", wait, (1.5,))
    Traceback (most recent call last):
    polytomy.routines.stand_ins.OverBudget
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
        left = _left.get(name, BUDGET)
        _left[name] = max(0.0, left - seconds)
        if seconds > left:
            raise OverBudget
