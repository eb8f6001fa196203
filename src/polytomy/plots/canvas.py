"""Where pictures are drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polytomy.errors import ArgumentError

__all__ = ["AS_WRITTEN", "length_of", "new_axes", "pyplot"]

# A dollar sign in a label is a dollar sign, not the beginning of a formula.
AS_WRITTEN = {"parse_math": False}

# Blue and orange differ for readers of all kinds of colour vision, and so do their tints.
NEGATIVE, POSITIVE, PAPER = "#2166ac", "#b2501f", "#f7f7f7"
INK, FAINT = "#222222", "#999999"


def pyplot() -> Any:
    """Return matplotlib.pyplot, or say how to get it."""
    try:
        import matplotlib.pyplot
    except ImportError:
        raise ArgumentError(
            'pictures need matplotlib, which is not installed: pip install "polytomy[plots]"'
        ) from None
    return matplotlib.pyplot


def length_of(labels: Iterable[str]) -> float:
    """Return about how long the longest label is, in inches, at 8 points; never the whole page."""
    return min(0.075 * max(map(len, labels), default=0), 3.0)


def new_axes(ax: Any, width: float, height: float) -> Any:
    """Return the axes that were given, or those of a new figure of a size in inches."""
    if ax is not None:
        return ax
    return pyplot().subplots(figsize=(width, height), layout="constrained")[1]
