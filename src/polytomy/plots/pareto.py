"""Score against cost for the candidates of a search."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.plots.canvas import (
    FAINT,
    NEGATIVE,
    POSITIVE,
    SMALL,
    axes_or_new,
    style_axes,
)
from polytomy.plots.label_placement import place_labels

__all__ = ["ParetoDisplay", "pareto"]

_MOST_NAMES = 24


class ParetoCandidates(NamedTuple):
    """The candidates of a search, with their costs and scores.

    Attributes
    ----------
    names : array of str
    costs, scores : arrays of float; NaN if they are not known
    is_chosen, is_dropped : arrays of bool
    front : positions of the candidates that no other beats in both, by increasing cost
    """

    names: NDArray[Any]
    costs: NDArray[np.float64]
    scores: NDArray[np.float64]
    is_chosen: NDArray[np.bool_]
    is_dropped: NDArray[np.bool_]
    front: list[int]


class ParetoDisplay:
    """The candidates of a search by score and cost: what does a better score cost?

    A line joins the Pareto front: the candidates that no other beats in both. The chosen candidate
    is an orange diamond; those dropped early are grey rings. Their scores were measured on fewer
    folds, so they are placed by their difference from the best candidate on those folds. Use
    `from_estimator` to create one.

    Parameters
    ----------
    candidates : ParetoCandidates
        ``names``, ``costs``, ``scores``, ``is_chosen``, ``is_dropped`` and ``front``.
    cost_name, score_name : str, titles of the axes

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_ : the Pareto front
    labels_ : list of annotations, the names of the candidates

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> import polytomy as pt
    >>> X, y = load_iris(return_X_y=True)
    >>> search = pt.SchemeSearchCV(LogisticRegression(), ["tree", "one-vs-rest"], cv=3)
    >>> display = pt.plots.ParetoDisplay.from_estimator(search.fit(X, y), x="n_binaries")
    >>> display.candidates.costs
    array([2., 3.])
    >>> display.ax_.get_xlabel()
    'number of binaries'
    """

    def __init__(self, candidates: ParetoCandidates, *, cost_name: str, score_name: str) -> None:
        self.candidates = candidates
        self.cost_name = cost_name
        self.score_name = score_name

    @classmethod
    def from_estimator(
        cls, search: Any, *, x: str = "mean_fit_time", y: str | None = None, ax: Any = None
    ) -> Self:
        """Draw the candidates of a fitted search.

        Parameters
        ----------
        search : fitted SchemeSearchCV, or its ``cv_results_``
        x : name of the result on the horizontal axis, a cost
        y : name of the result on the vertical axis, by default the score that decided
        ax : matplotlib axes, optional
        """
        results = search if isinstance(search, dict) else getattr(search, "cv_results_", None)
        if results is None:
            raise ArgumentError(Argument("search"), " has no results yet. Call fit first.")
        if "candidate" not in results:
            raise ArgumentError(
                Argument("search"),
                f" must be a fitted SchemeSearchCV, or its cv_results_; got "
                f"{type(search).__name__}.",
            )
        y = y or next(name for name in results if name.startswith("mean_"))
        for axis, name in (("x", x), ("y", y)):
            if name not in results:
                known = [each for each in results if each.startswith(("mean_", "n_"))]
                raise ArgumentError(
                    Argument(axis, name), f" is not in the results. Use one of {', '.join(known)}."
                )
        costs, scores = np.asarray(results[x], float), _comparable(results, y)
        front = _find_pareto_front(
            costs, scores, greater_is_better=y.endswith(("coefficient", "accuracy"))
        )
        candidates = ParetoCandidates(
            np.asarray(results["candidate"]),
            costs,
            scores,
            np.asarray(results["is_chosen"], dtype=bool),
            np.array([bool(reason) for reason in results["reason"]]),
            front,
        )
        return cls(candidates, cost_name=_axis_title(x), score_name=_axis_title(y)).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the candidates.

        Parameters
        ----------
        ax : matplotlib axes, optional
        """
        ax = axes_or_new(ax, 7.4, 4.4)
        these = self.candidates
        finite = these.costs[np.isfinite(these.costs)]
        if len(finite) and 0 < 20 * finite.min() < finite.max():
            ax.set_xscale("log")
        front = np.column_stack([these.costs[these.front], these.scores[these.front]])
        (self.line_,) = ax.plot(
            *front.T, color=NEGATIVE, linewidth=1.2, zorder=1, label="Pareto front"
        )
        is_known = np.isfinite(these.costs) & np.isfinite(these.scores)
        is_plain = ~these.is_chosen & ~these.is_dropped
        groups = (
            ("chosen", these.is_chosen, {"color": POSITIVE, "marker": "D", "s": 46}),
            ("candidate", is_plain, {"color": NEGATIVE, "s": 32}),
            (
                "dropped early",
                these.is_dropped & ~these.is_chosen,
                {"facecolor": "none", "edgecolor": FAINT, "s": 32},
            ),
        )
        for label, is_own, style in groups:
            shown = is_own & is_known
            if shown.any():
                ax.scatter(these.costs[shown], these.scores[shown], zorder=2, label=label, **style)
        ax.margins(0.12)
        ax.set_xlabel(self.cost_name)
        ax.set_ylabel(self.score_name)
        style_axes(ax)
        if is_known.any():
            # Outside the axes, because names fill the inside.
            ax.legend(
                fontsize=SMALL, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0),
                borderaxespad=0.0,
            )  # fmt: skip
        self._write_names(ax, is_known, front)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _write_names(self, ax: Any, is_known: NDArray[np.bool_], front: Any) -> None:
        """Write the names of the candidates; if there are many, only the important ones."""
        these = self.candidates
        matters = these.is_chosen.copy()
        matters[these.front] = True
        named = np.flatnonzero(is_known & (matters | (is_known.sum() <= _MOST_NAMES)))
        # The important ones come first, and get the better places.
        named = named[np.argsort(~matters[named], kind="stable")]
        places = np.column_stack([these.costs, these.scores])
        others = np.setdiff1d(np.flatnonzero(is_known), named)
        self.labels_ = place_labels(
            ax, places[named], [str(these.names[k]) for k in named], also_avoid=places[others],
            line=front,
        )  # fmt: skip


def pareto(search: Any, *, x: str = "mean_fit_time", y: str | None = None, ax: Any = None) -> Any:
    """Draw the candidates of a search by score and cost, as `ParetoDisplay.from_estimator` does.

    Parameters
    ----------
    search : fitted SchemeSearchCV, or its ``cv_results_``
    x : name of the result on the horizontal axis, a cost
    y : name of the result on the vertical axis, by default the score that decided
    ax : matplotlib axes, optional

    Returns
    -------
    axes
    """
    return ParetoDisplay.from_estimator(search, x=x, y=y, ax=ax).ax_


def _comparable(results: Any, name: str) -> NDArray[np.float64]:
    """Return a column as if all candidates had been measured on all folds."""
    means = np.asarray(results[name], float)
    differences = results.get(f"difference_{name.removeprefix('mean_')}")
    if differences is None or "rank" not in results:
        return means
    best = int(np.argmin(results["rank"]))
    return np.asarray(means[best] + np.asarray(differences, float))


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
