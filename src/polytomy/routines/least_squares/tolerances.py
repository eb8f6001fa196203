"""Where the kernels draw the line between zero and not, in one place for both twins.

Each is relative to the scale of the numbers compared, as computed in double precision.
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
"""Squared distance of a unit column from the span of others, up to which it lies in that span."""

DEPENDENT_BY_GRAM = 1e-12
"""The same where only products of columns are known, and the square is a difference of these."""

ROUNDING = 1e-14
"""A value or gradient this far on the wrong side of zero is zero."""

FACE = 1e-9
"""Gradient up to which a class may take part in other minima."""

UNCHANGED = 1e-11
"""Change of the gradient up to which another point is a minimum as well; more is no rounding."""

NEGLIGIBLE = 1e-13
"""Probability that need not be told from zero."""

FINE = 1e-2
"""Square of a column, relative to the mean of all, from which down it is tiny."""
