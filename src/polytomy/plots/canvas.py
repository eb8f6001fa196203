"""Axes, colours and sizes shared by the plots."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polytomy.errors import ArgumentError

__all__ = ["PLAIN_TEXT", "axes_or_new", "estimate_length", "import_pyplot"]

# Dollar signs in labels are not formulas.
PLAIN_TEXT = {"parse_math": False}

# Blue and orange, and their tints, are distinguishable with any colour vision.
NEGATIVE, POSITIVE, PAPER = "#2166ac", "#b2501f", "#f7f7f7"
INK, FAINT = "#222222", "#999999"


def import_pyplot() -> Any:
    """Import matplotlib.pyplot, or raise an error that says how to install it."""
    try:
        import matplotlib.pyplot
    except ImportError:
        raise ArgumentError(
            'Plots need matplotlib, which is not installed. Run: pip install "polytomy[plots]"'
        ) from None
    return matplotlib.pyplot


def estimate_length(labels: Iterable[str]) -> float:
    """Estimate the length of the longest label at 8 points in inches, at most 3."""
    return min(0.075 * max(map(len, labels), default=0), 3.0)


def axes_or_new(ax: Any, width: float, height: float) -> Any:
    """Return the given axes, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    return import_pyplot().subplots(figsize=(width, height), layout="constrained")[1]
