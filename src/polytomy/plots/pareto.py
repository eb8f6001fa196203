"""Score against cost for the candidates of a search."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.plots.canvas import FAINT, NEGATIVE, PLAIN_TEXT, POSITIVE, axes_or_new

__all__ = ["pareto"]


def pareto(search: Any, *, x: str = "mean_fit_time", y: str | None = None, ax: Any = None) -> Any:
    """Draw the candidates of a search by score and cost.

    A line joins the Pareto front: the candidates that no other beats in both. The chosen candidate
    is orange; those dropped early are grey. Their scores were measured on fewer folds, so they are
    drawn where their difference from the best candidate on those folds puts them.

    Parameters
    ----------
    search : fitted SchemeSearchCV, or its ``cv_results_``
    x : name of the result on the horizontal axis, a cost
    y : name of the result on the vertical axis, by default the score that decided
    ax : axes of matplotlib, optional

    Returns
    -------
    axes
    """
    results = search if isinstance(search, dict) else getattr(search, "cv_results_", None)
    if results is None:
        raise ArgumentError(Argument("search"), " has no results yet. Call fit first.")
    y = y or next(name for name in results if name.startswith("mean_"))
    for axis, name in (("x", x), ("y", y)):
        if name not in results:
            known = [each for each in results if each.startswith(("mean_", "n_"))]
            raise ArgumentError(
                Argument(axis, name), f" is not in the results. Use one of {', '.join(known)}."
            )
    costs, scores = np.asarray(results[x], float), _comparable(results, y)
    ax = axes_or_new(ax, 6.4, 4.4)
    is_dropped = np.asarray([bool(reason) for reason in results["reason"]])
    colours = np.where(is_dropped, FAINT, NEGATIVE)
    colours = np.where(results["is_chosen"], POSITIVE, colours)
    ax.scatter(costs, scores, c=list(colours), zorder=2)
    finite = costs[np.isfinite(costs)]
    is_wide = len(finite) > 0 and bool(0 < 20 * finite.min() < finite.max())
    if is_wide:
        ax.set_xscale("log")
    places = np.column_stack([np.log(costs) if is_wide else costs, scores])
    for i in np.flatnonzero(np.isfinite(places).all(axis=1)).tolist():
        # On the side away from the nearest point, so that their names do not overlap.
        offset = 5 if _is_above_its_nearest(places, i) else -11
        ax.annotate(
            results["candidate"][i], (costs[i], scores[i]), (4, offset),
            textcoords="offset points", fontsize=8, **PLAIN_TEXT,
        )  # fmt: skip
    front = _find_pareto_front(
        costs, scores, greater_is_better=y.endswith(("coefficient", "accuracy"))
    )
    ax.plot(costs[front], scores[front], color=NEGATIVE, linewidth=1, zorder=1)
    ax.set_xlabel(_axis_title(x))
    ax.set_ylabel(_axis_title(y))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _comparable(results: Any, name: str) -> NDArray[np.float64]:
    """Return a column as if all candidates had been measured on all folds."""
    means = np.asarray(results[name], float)
    differences = results.get(f"difference_{name.removeprefix('mean_')}")
    if differences is None or "rank" not in results:
        return means
    best = int(np.argmin(results["rank"]))
    return np.asarray(means[best] + np.asarray(differences, float))


def _is_above_its_nearest(places: NDArray[np.float64], i: int) -> bool:
    """Return whether a point is higher than the point closest to it in the plot."""
    spans = np.nanmax(places, axis=0) - np.nanmin(places, axis=0)
    gaps = np.hypot(*((places - places[i]) / np.where(spans > 0, spans, 1.0)).T)
    gaps[i] = np.inf
    nearest = int(np.nanargmin(gaps))
    return (places[i, 1], nearest) >= (places[nearest, 1], i)


def _find_pareto_front(costs: Any, scores: Any, *, greater_is_better: bool) -> list[int]:
    """Return the candidates that no other beats in both, by increasing cost."""
    losses = -scores if greater_is_better else scores
    front: list[int] = []
    for i in np.lexsort((losses, costs)):
        is_known = np.isfinite(costs[i]) and np.isfinite(losses[i])
        if is_known and (not front or losses[i] < losses[front[-1]]):
            front.append(int(i))
    return front


def _axis_title(name: str) -> str:
    words = name.removeprefix("mean_").replace("_", " ")
    words = f"number of {words.removeprefix('n ')}" if name.startswith("n_") else words
    return f"{words} (seconds)" if name.endswith("_time") else words
