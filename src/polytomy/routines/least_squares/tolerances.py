"""Tolerances for treating numbers as zero, shared by both twins.

Each is relative to the scale of the numbers that are compared, in double precision.
"""

from __future__ import annotations

__all__ = [
    "DEPENDENT",
    "DEPENDENT_BY_GRAM",
    "FACE",
    "FINE",
    "NEGLIGIBLE",
    "ROUNDING",
    "UNCHANGED",
]

DEPENDENT = 1e-16
"""Largest squared distance from a unit column to the span of others that counts as zero."""

DEPENDENT_BY_GRAM = 1e-12
"""The same if only products of columns are known and the square is a difference of them."""

ROUNDING = 1e-14
"""A value or gradient this far on the wrong side of zero counts as zero."""

FACE = 1e-9
"""Largest gradient of a class that may take part in other minima."""

UNCHANGED = 1e-11
"""Largest change of the gradient, due to rounding, at another point that is also a minimum."""

NEGLIGIBLE = 1e-13
"""A probability that need not be distinguished from zero."""

FINE = 1e-2
"""A column is tiny if its square is at most this fraction of the mean of all."""
