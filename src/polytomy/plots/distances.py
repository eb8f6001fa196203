"""Heat map of class distances next to their dendrogram."""

from __future__ import annotations

import warnings
from typing import Any, Literal, get_args

import numpy as np
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from polytomy.distances import ClassDistances
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import did_you_mean
from polytomy.plots.canvas import (
    MAGNITUDES,
    SMALL,
    contrasting_ink,
    estimate_length,
    import_pyplot,
    ink,
    label_classes,
    size_in_inches,
    style_axes,
)

__all__ = ["distances"]

Linkage = Literal["single", "complete", "average"]
_MOST_NUMBERS = 12
_CELL, _LEAST_SIDE = 0.32, 1.6  # inches


def distances(
    between: ClassDistances,
    *,
    linkage: Linkage = "single",
    figure: Any = None,
    ax: Any = None,
) -> Any:
    """Draw distances between classes as a heat map, in the order of the dendrogram next to it.

    Parameters
    ----------
    between : ClassDistances, as returned by the functions of `polytomy.distances`
    linkage : {"single", "complete", "average"}
    figure : matplotlib figure, optional
    ax : matplotlib axes, optional
        Axes to divide between the dendrogram and the heat map, instead of a figure.

    Returns
    -------
    axes of the dendrogram, axes of the heat map

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import polytomy as pt
    >>> X, y = load_iris(return_X_y=True)
    >>> dendrogram, heat_map = pt.plots.distances(pt.distances.separability(X, y))
    >>> [label.get_text() for label in heat_map.get_yticklabels()]
    ['0', '1', '2']
    """
    if not isinstance(between, ClassDistances):
        raise ArgumentError(
            Argument("between"),
            f" must be ClassDistances; got {type(between).__name__}. Compute them with "
            "polytomy.distances.",
        )
    if linkage not in get_args(Linkage):
        raise ArgumentError(
            Argument("linkage", linkage),
            f" is unknown.{did_you_mean(linkage, get_args(Linkage))} Use one of "
            f"{', '.join(get_args(Linkage))}.",
        )
    n_classes = len(between)
    if n_classes < 2:
        raise ArgumentError("A single class has no distances to draw.")
    if figure is not None and ax is not None:
        raise ArgumentError("Pass ", Argument("figure"), " or ", Argument("ax"), ", not both.")
    left, right = _make_axes(between, figure, ax)
    joined = hierarchy.linkage(squareform(between.matrix, checks=False), linkage)
    with warnings.catch_warnings():
        # If all distances are zero, its axis has no length until it is set below.
        warnings.filterwarnings("ignore", "Attempting to set identical", UserWarning)
        drawn = hierarchy.dendrogram(
            joined, ax=left, orientation="left", no_labels=True, color_threshold=0,
            above_threshold_color=ink(),
        )  # fmt: skip
    order = np.array(drawn["leaves"], dtype=np.intp)
    labels = [str(between.classes[k]) for k in order]
    # The dendrogram numbers its leaves from the bottom, ten units apart.
    shown = between.matrix[np.ix_(order, order)]
    # The zeros on the diagonal are masked, so that the colours span the other distances.
    off_diagonal = np.ma.masked_array(shown, np.eye(n_classes, dtype=bool))
    image = right.imshow(off_diagonal, cmap=MAGNITUDES, origin="lower", aspect="auto")
    width, height = size_in_inches(right)
    label_classes(right.xaxis, labels, width)
    label_classes(right.yaxis, labels, height)
    right.yaxis.tick_right()
    style_axes(right, is_matrix=True)
    if n_classes <= _MOST_NUMBERS:
        colours = image.cmap(image.norm(off_diagonal))
        for row, column in zip(*np.nonzero(~np.ma.getmaskarray(off_diagonal)), strict=True):
            right.text(
                column, row, f"{shown[row, column]:.2g}", ha="center", va="center",
                fontsize=SMALL - 1, color=contrasting_ink(colours[row, column]),
            )  # fmt: skip
    if ax is None:
        bar = right.figure.colorbar(image, ax=right, location="top", shrink=0.8)
    else:
        place = right.inset_axes([0.1, 1.04, 0.8, 0.04])
        bar = right.figure.colorbar(image, cax=place, orientation="horizontal", location="top")
    bar.set_label(between.name, fontsize=SMALL)
    bar.ax.tick_params(labelsize=SMALL)
    bar.outline.set_visible(False)
    left.set_ylim(0, 10 * n_classes)
    lowest, highest = joined[0, 2], joined[-1, 2]
    margin = 0.15 * (highest - lowest) or 0.15 * highest or 1.0
    left.set_xlim(highest + margin / 3, max(0.0, lowest - margin))
    left.spines[["top", "left", "right"]].set_visible(False)
    left.set_xlabel(f"{between.name},\n{linkage} linkage", fontsize=SMALL)
    left.tick_params(labelsize=SMALL)
    return left, right


def _make_axes(between: ClassDistances, figure: Any, ax: Any) -> tuple[Any, Any]:
    """Return axes for the dendrogram and the heat map."""
    if ax is not None:
        ax.set_axis_off()
        return ax.inset_axes([0.0, 0.0, 0.28, 0.85]), ax.inset_axes([0.32, 0.0, 0.68, 0.85])
    if figure is None:
        side = max(_LEAST_SIDE, _CELL * min(len(between), 40))
        margin = estimate_length(map(str, between.classes))
        size = 1.5 * side + margin + 1.6, side + margin + 1.4
        figure = import_pyplot().figure(figsize=size, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 2.2))
    return left, right
