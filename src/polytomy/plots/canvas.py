"""The look of all plots: colours, sizes of text, axes and their labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import ArgumentError

# Dollar signs in labels must not start formulas.
PLAIN_TEXT = {"parse_math": False}

# Blue and orange, and their tints, are distinguishable with any colour vision. The −1 side of a
# partition is blue, and so are correct predictions; the +1 side is orange, and so are errors and
# what was chosen.
NEGATIVE, POSITIVE, PAPER = "#2166ac", "#b2501f", "#f7f7f7"
FAINT = "#999999"
# Curves also differ in lightness and in their markers.
CURVES = (NEGATIVE, POSITIVE, "#44aa99", "#882255", "#ddaa33", "#555555")
MARKERS = ("o", "s", "^", "D", "v", "P")
# The colour map for magnitudes, which keeps their order when printed in grey.
MAGNITUDES = "cividis"

# Sizes of text in points.
SMALL, NORMAL, TITLE = 8, 9, 10

_LABEL_HEIGHT = 0.13  # inches per label, with the gap to the next
_STEPS = [step * 10**power for power in range(7) for step in (1, 2, 5)]


def import_pyplot() -> Any:
    """Import matplotlib.pyplot, or raise an error that says how to install it."""
    try:
        import matplotlib.pyplot
    except ImportError:
        raise ArgumentError(
            'Plots need matplotlib, which is not installed. Run: pip install "polytomy[plots]"'
        ) from None
    return matplotlib.pyplot


def axes_or_new(ax: Any, width: float, height: float, *, is_square: bool = False) -> Any:
    """Return the given axes, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    layout = "compressed" if is_square else "constrained"
    return import_pyplot().subplots(figsize=(width, height), layout=layout)[1]


def size_in_inches(ax: Any) -> tuple[float, float]:
    """Return the width and height of axes in inches."""
    extent = ax.get_window_extent()
    return extent.width / ax.figure.dpi, extent.height / ax.figure.dpi


def ink() -> Any:
    """Return the colour of text, black unless a style sheet says otherwise."""
    return import_pyplot().rcParams["text.color"]


def paper_behind(ax: Any) -> Any:
    """Return the background colour of axes without a frame."""
    colour = ax.figure.get_facecolor()
    return colour if colour[3] else import_pyplot().rcParams["axes.facecolor"]


def contrasting_ink(colour: Any) -> str:
    """Return the colour of text on a background, "white" or "black"."""
    red, green, blue = colour[:3]
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


def write_in_cells(image: Any, texts: Sequence[Sequence[str | None]], **style: Any) -> NDArray[Any]:
    """Write texts in the cells of an image, in an ink that contrasts with them; return them."""
    colours = image.cmap(image.norm(image.get_array()))
    drawn = np.empty(colours.shape[:2], dtype=object)
    for i, j in np.ndindex(drawn.shape):
        if texts[i][j] is None:
            continue
        own = {"ha": "center", "va": "center", "color": contrasting_ink(colours[i, j])}
        drawn[i, j] = image.axes.text(j, i, texts[i][j], **own | style)
    return drawn


def add_colorbar(image: Any, title: str, **options: Any) -> Any:
    """Add a colour bar without a frame to the axes of an image; return it."""
    bar = image.figure.colorbar(image, ax=image.axes, **options)
    bar.set_label(title, fontsize=SMALL)
    bar.ax.tick_params(labelsize=SMALL)
    bar.outline.set_visible(False)
    return bar


def style_axes(ax: Any, *, is_matrix: bool = False) -> None:
    """Give axes the look of all plots: small text, no frame, and a grid behind curves."""
    ax.xaxis.label.set_size(NORMAL)
    ax.yaxis.label.set_size(NORMAL)
    ax.title.set_size(TITLE)
    if is_matrix:
        ax.tick_params(length=0, labelsize=SMALL)
        ax.spines[:].set_visible(False)
        ax.grid(visible=False)
        return
    ax.tick_params(labelsize=SMALL)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, color=FAINT, alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)


def estimate_length(labels: Iterable[str]) -> float:
    """Estimate the length of the longest label at 8 points in inches, at most 3."""
    return min(0.075 * max(map(len, labels), default=0), 3.0)


def label_classes(axis: Any, labels: Sequence[str], inches: float) -> None:
    """Label an axis with a name at each whole number, or at every second, fifth, tenth, …

    Parameters
    ----------
    axis : ``ax.xaxis`` or ``ax.yaxis``
    labels : the names at 0, 1, 2, …
    inches : length of the axis; names that would overlap are left out
    """
    room = inches / max(1, len(labels))
    is_level = axis.axis_name == "x"
    is_turned = is_level and estimate_length(labels) + 0.05 > room and max(map(len, labels)) > 2
    needed = estimate_length(labels) + 0.08 if is_level and not is_turned else _LABEL_HEIGHT
    step = next(each for each in _STEPS if each * room >= needed or each >= len(labels))
    shown = np.arange(0, len(labels), step)
    rotation = {"rotation": 90} if is_turned else {}
    axis.set_ticks(shown, [labels[k] for k in shown.tolist()], **rotation, **PLAIN_TEXT)
