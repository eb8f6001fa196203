"""Heat map of a coding matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from polytomy.codes import CodingMatrix
from polytomy.errors import ArgumentError
from polytomy.plots.canvas import (
    NEGATIVE,
    PAPER,
    PLAIN_TEXT,
    POSITIVE,
    axes_or_new,
    estimate_length,
    import_pyplot,
)
from polytomy.scheme import Scheme

__all__ = ["code"]

_CELL = 0.3  # inches
_MOST_NAMES = 60


def code(scheme: Scheme | CodingMatrix | Any, *, ax: Any = None) -> Any:
    """Draw a coding matrix, one row per partition: blue for −1, orange for +1, empty for 0.

    Parameters
    ----------
    scheme : Scheme, CodingMatrix or array
        A scheme that is not flat is flattened.
    ax : axes of matplotlib, optional

    Returns
    -------
    axes
    """
    import_pyplot()  # raises a helpful error if it is missing
    from matplotlib.colors import ListedColormap

    if isinstance(scheme, Scheme):
        flat = scheme if scheme.is_flat else scheme.flatten()
        matrix, classes = flat.code.matrix, [str(label) for label in flat.classes]
        names = [name for partition in flat.partitions for name in partition.row_names]
    else:
        matrix = (scheme if isinstance(scheme, CodingMatrix) else CodingMatrix(scheme)).matrix
        classes = [str(k) for k in range(matrix.shape[1])]
        names = [str(i) for i in range(len(matrix))]
    n_rows, n_columns = matrix.shape
    if not n_rows:
        raise ArgumentError("A scheme with a single class has no partitions to draw.")
    names = names if n_rows <= _MOST_NAMES else []
    classes = classes if n_columns <= _MOST_NAMES else []
    size = [0.9 + _CELL * max(3, min(n, 40)) for n in matrix.shape]
    ax = axes_or_new(ax, size[1] + estimate_length(names), size[0] + estimate_length(classes))
    colours = ListedColormap([NEGATIVE, PAPER, POSITIVE])
    ax.imshow(matrix, cmap=colours, vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    ax.set_xlabel("class")
    ax.set_ylabel("partition")
    rotation = 90 if max(map(len, classes), default=0) > 3 else 0
    # Without names there are no ticks either, because numbers would look like names.
    ax.set_xticks(np.arange(len(classes)), classes, rotation=rotation, **PLAIN_TEXT)
    ax.set_yticks(np.arange(len(names)), names, **PLAIN_TEXT)
    if names:
        for edge in np.arange(n_rows - 1) + 0.5:
            ax.axhline(edge, color="white", linewidth=1)
        for edge in np.arange(n_columns - 1) + 0.5:
            ax.axvline(edge, color="white", linewidth=1)
    ax.tick_params(length=0, labelsize=8)
    return ax
