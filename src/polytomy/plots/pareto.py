"""The candidates of a search: how good against how dear."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import ArgumentError
from polytomy.plots.canvas import AS_WRITTEN, FAINT, NEGATIVE, POSITIVE, new_axes

__all__ = ["pareto"]


def pareto(search: Any, *, x: str = "mean_fit_time", y: str | None = None, ax: Any = None) -> Any:
    """Draw the candidates of a search over two of its results.

    What no candidate beats in both is joined by a line; the chosen one is orange, and those that
    did not run to the end are grey.

    Parameters
    ----------
    search : fitted SchemeSearchCV, or its ``cv_results_``
    x, y : names of results; the score that decided by default for y
    ax : axes of matplotlib, optional

    Returns
    -------
    axes
    """
    results = search if isinstance(search, dict) else getattr(search, "cv_results_", None)
    if results is None:
        raise ArgumentError("the search has no results yet; fit it first")
    y = y or next(name for name in results if name.startswith("mean_"))
    for name in (x, y):
        if name not in results:
            numbers = [other for other in results if other.startswith(("mean_", "n_"))]
            raise ArgumentError(f"the results have no {name!r}; there are {', '.join(numbers)}")
    across, up = np.asarray(results[x], float), np.asarray(results[y], float)
    ax = new_axes(ax, 6.4, 4.4)
    is_left = np.asarray([bool(reason) for reason in results["reason"]])
    colours = np.where(is_left, FAINT, NEGATIVE)
    colours = np.where(results["is_chosen"], POSITIVE, colours)
    ax.scatter(across, up, c=list(colours), zorder=2)
    known = across[np.isfinite(across)]
    is_wide = len(known) > 0 and bool(0 < 20 * known.min() < known.max())
    if is_wide:
        ax.set_xscale("log")
    places = np.column_stack([np.log(across) if is_wide else across, up])
    for i in np.flatnonzero(np.isfinite(places).all(axis=1)).tolist():
        # Away from the nearest point, so that the two do not write over each other.
        offset = 5 if _is_above_its_nearest(places, i) else -11
        ax.annotate(
            results["candidate"][i], (across[i], up[i]), (4, offset),
            textcoords="offset points", fontsize=8, **AS_WRITTEN,
        )  # fmt: skip
    front = _front(across, up, greater_is_better=y.endswith(("coefficient", "accuracy")))
    ax.plot(across[front], up[front], color=NEGATIVE, linewidth=1, zorder=1)
    ax.set_xlabel(_words(x))
    ax.set_ylabel(_words(y))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _is_above_its_nearest(places: NDArray[np.float64], i: int) -> bool:
    """Return whether a point is higher than the point nearest to it on the page."""
    spans = np.nanmax(places, axis=0) - np.nanmin(places, axis=0)
    gaps = np.hypot(*((places - places[i]) / np.where(spans > 0, spans, 1.0)).T)
    gaps[i] = np.inf
    nearest = int(np.nanargmin(gaps))
    return (places[i, 1], nearest) >= (places[nearest, 1], i)


def _front(across: Any, up: Any, *, greater_is_better: bool) -> list[int]:
    """Return the candidates that none beats in both, from left to right."""
    heights = -up if greater_is_better else up
    front: list[int] = []
    for i in np.lexsort((heights, across)):
        is_number = np.isfinite(across[i]) and np.isfinite(heights[i])
        if is_number and (not front or heights[i] < heights[front[-1]]):
            front.append(int(i))
    return front


def _words(name: str) -> str:
    words = name.removeprefix("mean_").replace("_", " ")
    words = f"number of {words.removeprefix('n ')}" if name.startswith("n_") else words
    return f"{words}, seconds" if name.endswith("_time") else words
