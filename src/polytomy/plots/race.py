"""The candidates of a search: how good against how dear."""

from __future__ import annotations

from typing import Any

import numpy as np

from polytomy.errors import ArgumentError
from polytomy.plots.canvas import FAINT, NEGATIVE, POSITIVE, new_axes

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
    is_above = True
    for i in np.argsort(across):
        if np.isfinite(across[i]) and np.isfinite(up[i]):
            # By turns above and below, so that near points do not write over each other.
            ax.annotate(
                results["candidate"][i], (across[i], up[i]), (4, 5 if is_above else -11),
                textcoords="offset points", fontsize=8,
            )  # fmt: skip
            is_above = not is_above
    front = _front(across, up, greater_is_better=y.endswith(("coefficient", "accuracy")))
    ax.plot(across[front], up[front], color=NEGATIVE, linewidth=1, zorder=1)
    if np.nanmin(across) > 0 and np.nanmax(across) > 20 * np.nanmin(across):
        ax.set_xscale("log")
    ax.set_xlabel(_words(x))
    ax.set_ylabel(_words(y))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


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
