"""A mean and its standard deviation as text."""

from __future__ import annotations

import math

from polytomy.trials.results import Cell

__all__ = ["format_cell"]

_MOST_DECIMALS = 9
_ROUNDING = 1e-13


def format_cell(cell: Cell, sign: str = " ± ") -> str:
    """Format mean and standard deviation, with two significant digits of the latter.

    Examples
    --------
    >>> format_cell(Cell(0.93184, 0.00923, 10)), format_cell(Cell(151.2, 13.1, 10))
    ('0.9318 ± 0.0092', '151 ± 13')
    >>> format_cell(Cell(0.9, float("nan"), 1)), format_cell(Cell(45.0, 0.0, 10))
    ('0.9000', '45')
    """
    # Anything smaller is rounding error.
    least = _ROUNDING * max(abs(cell.mean), 1)
    if not math.isfinite(cell.std) or cell.std < least:
        is_whole = abs(cell.mean - round(cell.mean)) < least
        return f"{abs(cell.mean):.0f}" if is_whole else _four_digits(cell.mean)
    decimals = min(max(1 - math.floor(math.log10(cell.std)), 0), _MOST_DECIMALS)
    return f"{cell.mean:.{decimals}f}{sign}{cell.std:.{decimals}f}"


def _four_digits(value: float) -> str:
    decimals = 3 - math.floor(math.log10(abs(value)))
    # 0.9000 rather than 0.9: the digits show the precision.
    return f"{value:.{min(max(decimals, 0), _MOST_DECIMALS)}f}"
