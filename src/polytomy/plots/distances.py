"""Heat map of class distances next to their dendrogram."""

from __future__ import annotations

import warnings
from typing import Any, Literal, get_args

import numpy as np
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from polytomy.distances import ClassDistances
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.suggestions import did_you_mean
from polytomy.plots.canvas import INK, PLAIN_TEXT, estimate_length, import_pyplot

__all__ = ["distances"]

Linkage = Literal["single", "complete", "average"]
_MOST_NUMBERS, _MOST_NAMES = 12, 60
_CELL, _LEAST_SIDE = 0.32, 1.6  # inches


def distances(between: ClassDistances, *, linkage: Linkage = "single", figure: Any = None) -> Any:
    """Draw distances between classes as a heat map, in the order of the dendrogram next to it.

    Parameters
    ----------
    between : ClassDistances, as returned by the functions of `polytomy.distances`
    linkage : {"single", "complete", "average"}
    figure : figure of matplotlib, optional

    Returns
    -------
    axes of the dendrogram, axes of the heat map
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
    if figure is None:
        side = max(_LEAST_SIDE, _CELL * min(n_classes, 40))
        margin = estimate_length(map(str, between.classes)) if n_classes <= _MOST_NAMES else 0.0
        size = 1.5 * side + margin + 1.6, side + margin + 1.4
        figure = import_pyplot().figure(figsize=size, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 2.2))
    joined = hierarchy.linkage(squareform(between.matrix, checks=False), linkage)
    with warnings.catch_warnings():
        # If all distances are zero, its axis has no length until it is set below.
        warnings.filterwarnings("ignore", "Attempting to set identical", UserWarning)
        drawn = hierarchy.dendrogram(
            joined, ax=left, orientation="left", no_labels=True, color_threshold=0,
            above_threshold_color=INK,
        )  # fmt: skip
    order = np.array(drawn["leaves"], dtype=np.intp)
    labels = [str(between.classes[k]) for k in order]
    # The dendrogram numbers its leaves from the bottom, ten units apart.
    shown = between.matrix[np.ix_(order, order)]
    # The zeros on the diagonal are masked, so that the colours span the other distances.
    off_diagonal = np.ma.masked_array(shown, np.eye(n_classes, dtype=bool))
    image = right.imshow(off_diagonal, cmap="cividis", origin="lower", aspect="auto")
    # Without names there are no ticks either, because numbers would look like names.
    labels = labels if n_classes <= _MOST_NAMES else []
    rotation = 90 if max(map(len, labels), default=0) > 3 else 0
    right.set_xticks(np.arange(len(labels)), labels, rotation=rotation, **PLAIN_TEXT)
    right.set_yticks(np.arange(len(labels)), labels, **PLAIN_TEXT)
    right.yaxis.tick_right()
    right.tick_params(length=0, labelsize=8)
    if n_classes <= _MOST_NUMBERS:
        middle = (off_diagonal.min() + off_diagonal.max()) / 2
        for row, column in zip(*np.nonzero(~np.ma.getmaskarray(off_diagonal)), strict=True):
            value = shown[row, column]
            right.text(
                column, row, f"{value:.2g}", ha="center", va="center", fontsize=7,
                color="white" if value < middle else "black",
            )  # fmt: skip
    figure.colorbar(image, ax=right, label=between.name, location="top", shrink=0.8)
    left.set_ylim(0, 10 * n_classes)
    lowest, highest = joined[0, 2], joined[-1, 2]
    margin = 0.15 * (highest - lowest) or 0.15 * highest or 1.0
    left.set_xlim(highest + margin / 3, max(0.0, lowest - margin))
    left.spines[["top", "left", "right"]].set_visible(False)
    left.set_xlabel(f"{between.name},\n{linkage} linkage", fontsize=8)
    left.tick_params(labelsize=8)
    return left, right
