"""Masked arrays, whose hidden values must not be treated as data."""

from __future__ import annotations

from typing import Any

import numpy as np

from polytomy.errors import DataError

__all__ = ["refuse_masked"]


def refuse_masked(values: Any, name: str) -> None:
    """Raise DataError if values are masked; most functions would use the hidden values.

    Examples
    --------
    >>> refuse_masked(np.ma.array([1.0, 2.0], mask=[False, False]), "X")
    >>> refuse_masked(np.ma.array([1.0, 2.0], mask=[False, True]), "X")
    Traceback (most recent call last):
        ...
    polytomy.errors.DataError: X has 1 masked value. Remove it, or fill it with X.filled().
    """
    if not isinstance(values, np.ma.MaskedArray):
        return
    n_masked = int(np.ma.getmaskarray(values).sum())
    if n_masked:
        what, them = (
            ("1 masked value", "it") if n_masked == 1 else (f"{n_masked} masked values", "them")
        )
        raise DataError(f"{name} has {what}. Remove {them}, or fill {them} with {name}.filled().")
