"""Where pictures are drawn."""

from __future__ import annotations

from typing import Any

from polytomy.errors import ArgumentError

__all__ = ["new_axes", "pyplot"]

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


def new_axes(ax: Any, width: float, height: float) -> Any:
    """Return the axes that were given, or those of a new figure of a size in inches."""
    if ax is not None:
        return ax
    return pyplot().subplots(figsize=(width, height), layout="constrained")[1]
