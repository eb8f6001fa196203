"""Coding matrices as coloured cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import ArgumentError
from polytomy.plots.canvas import (
    NEGATIVE,
    PAPER,
    POSITIVE,
    SMALL,
    axes_or_new,
    estimate_length,
    import_pyplot,
    label_classes,
    size_in_inches,
    style_axes,
)
from polytomy.plots.fitted import scheme_of
from polytomy.scheme import Scheme
from polytomy.scheme.coding_matrix import CodingMatrix

__all__ = ["code", "draw_cells"]

_CELL = 0.3  # inches
_MOST_EDGES = 60


def code(scheme: Scheme | CodingMatrix | Any, *, ax: Any = None) -> Any:
    """Draw a coding matrix, one row per partition: blue for −1, orange for +1, empty for 0.

    Parameters
    ----------
    scheme : Scheme, CodingMatrix or array, or a fitted classifier, or a pipeline or search of one
        A scheme that is not flat is flattened.
    ax : matplotlib axes, optional

    Returns
    -------
    axes

    Examples
    --------
    >>> import polytomy as pt
    >>> axes = pt.plots.code(pt.parse("m {a n {b c}}"))
    >>> axes.images[0].get_array().tolist()
    [[-1, 1, 1], [0, -1, 1]]
    """
    import_pyplot()  # raises a helpful error if it is missing
    if hasattr(scheme, "fit"):
        scheme = scheme_of(scheme)
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
    size = [0.9 + _CELL * max(3, min(n, 40)) for n in matrix.shape]
    ax = axes_or_new(ax, size[1] + estimate_length(names), size[0] + estimate_length(classes))
    draw_cells(ax, matrix)
    ax.set_xlabel("class")
    ax.set_ylabel("partition")
    width, height = size_in_inches(ax)
    label_classes(ax.xaxis, classes, width)
    label_classes(ax.yaxis, names, height)
    for n, draw in ((n_rows, ax.axhline), (n_columns, ax.axvline)):
        for edge in np.arange(n - 1 if n <= _MOST_EDGES else 0) + 0.5:
            draw(edge, color="white", linewidth=1)
    style_axes(ax, is_matrix=True)
    _explain_colours(ax, matrix)
    return ax


def draw_cells(
    ax: Any, matrix: NDArray[np.int8], extent: tuple[float, float, float, float] | None = None
) -> Any:
    """Draw a matrix of −1, 0 and +1; return the image."""
    from matplotlib.colors import ListedColormap

    # If cells are smaller than pixels, their colours are averaged, not their numbers.
    return ax.imshow(
        matrix, cmap=ListedColormap([NEGATIVE, PAPER, POSITIVE]), vmin=-1, vmax=1, aspect="auto",
        interpolation="antialiased", interpolation_stage="rgba", extent=extent,
    )  # fmt: skip


def _explain_colours(ax: Any, matrix: NDArray[np.int8]) -> None:
    """Draw a legend above the matrix."""
    from matplotlib.patches import Patch

    patches = [Patch(color=NEGATIVE, label="−1"), Patch(color=POSITIVE, label="+1")]
    if (matrix == 0).any():
        patches.append(Patch(facecolor=PAPER, edgecolor="#cccccc", label="not used"))
    ax.legend(
        handles=patches, fontsize=SMALL, frameon=False, ncols=3, loc="lower right",
        bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, handlelength=1.0, columnspacing=1.2,
    )  # fmt: skip
