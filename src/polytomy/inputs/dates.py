"""Dates and durations, which must not be treated as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from polytomy.errors import DataError

__all__ = ["refuse_dates"]


def refuse_dates(values: Any, name: str) -> None:
    """Raise DataError if an array or frame has dates or durations.

    NumPy would turn them into numbers in arbitrary units, and missing ones into -9.2e18.

    Examples
    --------
    >>> refuse_dates(np.array([[1.0, 2.0]]), "X")
    >>> refuse_dates(np.array([["2020-01-01"], ["NaT"]], dtype="datetime64[D]"), "X")
    Traceback (most recent call last):
        ...
    polytomy.errors.DataError: X has values of type datetime64[D], which are not numbers. Convert \
them, for example to days since a date.
    """
    kinds = [values.dtype] if isinstance(values, np.ndarray) else getattr(values, "dtypes", ())
    for each in kinds if np.iterable(kinds) else ():
        if getattr(each, "kind", "") in ("M", "m"):
            raise DataError(
                f"{name} has values of type {each}, which are not numbers. Convert them, for "
                "example to days since a date."
            )
