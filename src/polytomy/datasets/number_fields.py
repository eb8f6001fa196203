"""Fields of text files that should be numbers."""

from __future__ import annotations

import re

__all__ = ["is_text", "why_not_a_number"]

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MISSING = {"", "?", "na", "n/a", "nan", "null", "none"}
_LONGEST_SHOWN = 40


def why_not_a_number(field: str) -> str | None:
    """Return why a field is not a finite number; None if it is one.

    Examples
    --------
    >>> why_not_a_number("1.5e3"), why_not_a_number("NA"), why_not_a_number("red")
    (None, 'the value is missing (NA)', '"red" is not a number')
    """
    field = field.strip()
    if field.lower() in _MISSING:
        return f"the value is missing ({field})" if field else "the value is missing"
    shown = field if len(field) <= _LONGEST_SHOWN else field[:_LONGEST_SHOWN] + "…"
    if _is_infinite(field):
        return f"{shown} is not a finite number"
    if is_text(field):
        return f'"{shown}" is not a number'
    if abs(float(field)) == float("inf"):
        return f"{shown} is too large for a 64-bit number"
    return None


def is_text(field: str) -> bool:
    """Return whether a field is neither a number nor missing.

    Examples
    --------
    >>> is_text("red"), is_text("-1e5"), is_text("NA")
    (True, False, False)
    """
    field = field.strip()
    is_number = _NUMBER.fullmatch(field) or _is_infinite(field)
    return not is_number and field.lower() not in _MISSING


def _is_infinite(field: str) -> bool:
    return field.lower().lstrip("+-") in ("inf", "infinity")
