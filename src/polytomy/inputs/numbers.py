"""Whole numbers that users pass as arguments."""

from __future__ import annotations

import operator

import numpy as np

from polytomy.errors import ArgumentError

__all__ = ["as_count"]


def as_count(name: str, value: object, at_least: int = 1) -> int:
    """Return a whole number of at least so many as an int, or raise ArgumentError.

    Examples
    --------
    >>> as_count("n_classes", np.int64(4))
    4
    >>> as_count("n_classes", 2.5)
    Traceback (most recent call last):
        ...
    polytomy.errors.ArgumentError: n_classes=2.5 is not a whole number. Give 1 or more.
    """
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(
            f"{name}={value!r} is not a whole number. Give {at_least} or more."
        ) from None
    if count < at_least:
        raise ArgumentError(f"{name}={count} is too few. Give {at_least} or more.")
    return count
