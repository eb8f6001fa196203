"""Draw a scheme as a tree and as a coding matrix: `python docs/figures/scheme.py`.

Writes scheme.png next to this file. The picture is a light card on a transparent background, so it
is readable on white and on dark pages.
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import FancyBboxPatch

import polytomy as pt
from polytomy.scheme import NodeRef

LAND = """
TreeVsField {
  EvergreenVsDeciduous {pine oak}
  CornVsWheat {corn wheat}
}
"""
CARD, EDGE, INK, PALE = "#fcfbf8", "#d5d1c8", "#2b2b2b", "#77736b"
SIDES = {-1: "#2166ac", 0: "#eceae4", 1: "#b2501f"}  # the colours of pt.plots
SIGNS = {-1: "−1", 0: "0", 1: "+1"}
CENTRED = {"ha": "center", "va": "center"}


def draw_tree(axes: Axes, scheme: pt.Scheme) -> None:
    """Draw a tree: the classes in a row, and each node above the classes it divides."""
    heights: dict[int, int] = {}
    middles = {p.node: fmean(p.negative + p.positive) for p in scheme.partitions}
    for position in reversed(range(len(scheme.nodes))):  # children come after their parents
        node = scheme.nodes[position]
        below = [heights[b.index] for b in node.branches if isinstance(b, NodeRef)]
        heights[position] = 1 + max(below, default=0)
        spot = (middles[position], heights[position])
        for side, branch in zip((-1, 1), node.branches, strict=True):
            if isinstance(branch, NodeRef):
                _draw_branch(axes, spot, (middles[branch.index], heights[branch.index]), side)
            else:
                _draw_branch(axes, spot, (branch.index, 0), side)
        box = {"boxstyle": "round,pad=0.45", "facecolor": "white", "edgecolor": PALE}
        axes.text(*spot, str(node.binaries[0]), **CENTRED, fontsize=10, color=INK, bbox=box)
    for index, label in enumerate(scheme.classes):
        axes.text(index, -0.12, label, ha="center", va="top", fontsize=12, color=INK, weight="bold")
    axes.set(xlim=(-0.75, len(scheme.classes) - 0.25), ylim=(-0.45, scheme.depth + 0.35))
    axes.axis("off")


def _draw_branch(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], side: int
) -> None:
    axes.plot(*zip(start, end, strict=True), color=SIDES[side], linewidth=2.2, zorder=1)
    x, y = (0.45 * a + 0.55 * b for a, b in zip(start, end, strict=True))
    gap = {"facecolor": CARD, "edgecolor": "none", "pad": 1.5}
    axes.text(x, y, SIGNS[side], **CENTRED, fontsize=9, color=SIDES[side], bbox=gap)


def draw_matrix(axes: Axes, scheme: pt.Scheme) -> None:
    """Draw the coding matrix of a flat scheme."""
    matrix = scheme.code.matrix
    axes.imshow(matrix, cmap=ListedColormap(list(SIDES.values())), vmin=-1, vmax=1, aspect="equal")
    for (row, column), value in np.ndenumerate(matrix):
        colour = "white" if value else PALE
        axes.text(column, row, SIGNS[value], **CENTRED, fontsize=11, color=colour)
    axes.set_xticks(range(scheme.code.n_classes), scheme.classes, fontsize=12, weight="bold")
    names = [str(partition.binary) for partition in scheme.partitions]
    axes.set_yticks(range(len(names)), names, fontsize=10)
    axes.xaxis.tick_top()
    axes.tick_params(length=0, colors=INK, pad=6)
    axes.spines[:].set_visible(False)
    # Gaps between the cells.
    for edge in range(1, max(matrix.shape)):
        axes.axvline(edge - 0.5, color=CARD, linewidth=3)
        axes.axhline(edge - 0.5, color=CARD, linewidth=3)
    axes.set(xlim=(-0.5, matrix.shape[1] - 0.5), ylim=(matrix.shape[0] - 0.5, -0.5))


def main() -> None:
    """Write the picture."""
    mpl.rcParams["font.family"] = "DejaVu Sans"  # comes with matplotlib
    scheme = pt.parse(LAND)
    figure = plt.figure(figsize=(10.4, 3.3))
    card = FancyBboxPatch(
        (0.012, 0.035),
        0.976,
        0.93,
        boxstyle="round,pad=0,rounding_size=0.02",
        mutation_aspect=10.4 / 3.3,
        transform=figure.transFigure,
        facecolor=CARD,
        edgecolor=EDGE,
        zorder=-1,
    )
    figure.add_artist(card)
    draw_tree(figure.add_axes((0.03, 0.09, 0.47, 0.85)), scheme)
    draw_matrix(figure.add_axes((0.675, 0.13, 0.27, 0.66)), scheme.flatten())
    target = Path(__file__).with_suffix(".png")
    figure.savefig(target, dpi=150, transparent=True, metadata={"Software": None})


if __name__ == "__main__":
    main()
