"""The coding matrix as a heat map."""

from __future__ import annotations

from typing import Any

import numpy as np

from polytomy.codes import CodingMatrix
from polytomy.plots.canvas import NEGATIVE, PAPER, POSITIVE, new_axes
from polytomy.scheme import Scheme

__all__ = ["code"]

_CELL = 0.3  # inches
_MOST_NAMES = 60


def code(scheme: Scheme | CodingMatrix | Any, *, ax: Any = None) -> Any:
    """Draw a coding matrix: a row for each partition, blue for −1, orange for +1, empty for 0.

    Parameters
    ----------
    scheme : Scheme, CodingMatrix or array
        A scheme that is not flat is flattened.
    ax : axes of matplotlib, optional

    Returns
    -------
    axes
    """
    from matplotlib.colors import ListedColormap

    if isinstance(scheme, Scheme):
        flat = scheme if scheme.is_flat else scheme.flatten()
        matrix, classes = flat.code.matrix, [str(label) for label in flat.classes]
        names = [str(partition.binary) for partition in flat.partitions]
    else:
        matrix = (scheme if isinstance(scheme, CodingMatrix) else CodingMatrix(scheme)).matrix
        classes = [str(k) for k in range(matrix.shape[1])]
        names = [str(i) for i in range(len(matrix))]
    n_rows, n_columns = matrix.shape
    ax = new_axes(ax, 1.8 + _CELL * min(n_columns, 40), 1.0 + _CELL * min(n_rows, 40))
    colours = ListedColormap([NEGATIVE, PAPER, POSITIVE])
    ax.imshow(matrix, cmap=colours, vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    ax.set_xlabel("class")
    ax.set_ylabel("partition")
    if n_columns <= _MOST_NAMES:
        is_long = max(map(len, classes)) > 3
        ax.set_xticks(np.arange(n_columns), classes, rotation=90 if is_long else 0)
    if n_rows <= _MOST_NAMES:
        ax.set_yticks(np.arange(n_rows), names)
        for edge in np.arange(n_rows - 1) + 0.5:
            ax.axhline(edge, color="white", linewidth=1)
        for edge in np.arange(n_columns - 1) + 0.5:
            ax.axvline(edge, color="white", linewidth=1)
    ax.tick_params(length=0, labelsize=8)
    return ax
