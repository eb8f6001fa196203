"""Arguments that are whole numbers."""

from __future__ import annotations

import operator

import numpy as np

from polytomy.errors import Argument, ArgumentError

__all__ = ["as_count"]


def as_count(name: str, value: object, at_least: int = 1) -> int:
    """Return a whole number as an int, or raise ArgumentError if it is not one or is too small.

    Examples
    --------
    >>> as_count("n_classes", np.int64(4))
    4
    >>> as_count("n_classes", 2.5)
    Traceback (most recent call last):
        ...
    polytomy.errors.ArgumentError: n_classes=2.5 is not a whole number. Use 1 or more.
    """
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(
            Argument(name, value), f" is not a whole number. Use {at_least} or more."
        ) from None
    if count < at_least:
        raise ArgumentError(Argument(name, count), f" is too few. Use {at_least} or more.")
    return count
