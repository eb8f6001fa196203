"""Plots of a search: score against cost, and scores over two parameters."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import check_choice
from polytomy.metrics import METRICS
from polytomy.plots import canvas
from polytomy.selection.choice import pareto_set

Floats = NDArray[np.float64]

_MOST_NAMES = 24
_CELL = 0.55  # inches
_MOST_NUMBERS = 12


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
    costs: Floats
    scores: Floats
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
        results = _results_of(search)
        y = y or next(name for name in results if name.startswith("mean_"))
        for axis, name in (("x", x), ("y", y)):
            if name not in results:
                known = [each for each in results if each.startswith(("mean_", "n_"))]
                raise ArgumentError(
                    Argument(axis, name), f" is not in the results. Use one of {', '.join(known)}."
                )
        costs, scores = np.asarray(results[x], float), _comparable(results, y)
        losses = -scores if _is_larger_better(y) else scores
        measured = np.flatnonzero(np.isfinite(costs) & np.isfinite(losses))
        best = measured[pareto_set(np.column_stack([costs, losses])[measured])]
        front = sorted(best.tolist(), key=lambda k: costs[k])
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
        ax = canvas.axes_or_new(ax, 7.4, 4.4)
        these = self.candidates
        finite = these.costs[np.isfinite(these.costs)]
        if len(finite) and 0 < 20 * finite.min() < finite.max():
            ax.set_xscale("log")
        front = np.column_stack([these.costs[these.front], these.scores[these.front]])
        (self.line_,) = ax.plot(
            *front.T, color=canvas.NEGATIVE, linewidth=1.2, zorder=1, label="Pareto front"
        )
        is_known = np.isfinite(these.costs) & np.isfinite(these.scores)
        is_plain = ~these.is_chosen & ~these.is_dropped
        groups = (
            ("chosen", these.is_chosen, {"color": canvas.POSITIVE, "marker": "D", "s": 46}),
            ("candidate", is_plain, {"color": canvas.NEGATIVE, "s": 32}),
            (
                "dropped early",
                these.is_dropped & ~these.is_chosen,
                {"facecolor": "none", "edgecolor": canvas.FAINT, "s": 32},
            ),
        )
        for label, is_own, style in groups:
            shown = is_own & is_known
            if shown.any():
                ax.scatter(these.costs[shown], these.scores[shown], zorder=2, label=label, **style)
        ax.margins(0.12)
        ax.set_xlabel(self.cost_name)
        ax.set_ylabel(self.score_name)
        canvas.style_axes(ax)
        if is_known.any():
            ax.legend(fontsize=canvas.SMALL)
        self._write_names(ax, is_known)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _write_names(self, ax: Any, is_known: NDArray[np.bool_]) -> None:
        """Write names to the right of the axes; if there are many, only the important ones.

        They are in the order of the scores, and a line leads from each to its candidate.
        """
        these = self.candidates
        matters = these.is_chosen.copy()
        matters[these.front] = True
        named = np.flatnonzero(is_known & (matters | (is_known.sum() <= _MOST_NAMES)))
        named = named[np.argsort(these.scores[named], kind="stable")]
        line = {"arrowstyle": "-", "color": canvas.FAINT, "linewidth": 0.6, "shrinkB": 4}
        self.labels_ = [
            ax.annotate(
                str(these.names[k]), (these.costs[k], these.scores[k]), (1.04, height),
                textcoords="axes fraction", va="center", fontsize=canvas.SMALL, arrowprops=line,
                **canvas.PLAIN_TEXT,
            )
            for k, height in zip(named, (np.arange(len(named)) + 0.5) / len(named), strict=True)
        ]  # fmt: skip


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


def grid(
    search: Any,
    *,
    x: str | None = None,
    y: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw the scores of a search over a grid of parameters, such as C and gamma.

    A cell shows the best score among the candidates with its two values, over all schemes, solvers
    and other parameters. The chosen cell has an orange frame. Hatched cells were dropped early;
    they are drawn with the score of the best candidate plus their difference on the same folds.

    Parameters
    ----------
    search : fitted SchemeSearchCV with a ``param_grid``, or its ``cv_results_``
    x, y : names of the parameters on the axes; by default gamma and C, or else the first two
    ax : matplotlib axes, optional

    Returns
    -------
    axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> import polytomy as pt
    >>> X, y = load_iris(return_X_y=True)
    >>> model, grid = LogisticRegression(), {"C": [0.1, 1, 10]}
    >>> search = pt.SchemeSearchCV(model, ["one-vs-rest"], param_grid=grid, cv=3).fit(X, y)
    >>> axes = pt.plots.grid(search)
    >>> [label.get_text() for label in axes.get_xticklabels()]
    ['0.1', '1', '10']
    """
    results = _results_of(search)
    names = [name.removeprefix("param_") for name in results if name.startswith("param_")]
    if not names:
        raise ArgumentError(
            Argument("search"), " has no grid. Search with ", Argument("param_grid")
        )
    x, y = _choose_axes(names, x, y)
    columns = _values_of(results, x)
    rows = _values_of(results, y) if y is not None else [None]
    deciding = next(name for name in results if name.startswith("mean_"))
    scores = _comparable(results, deciding)
    losses = -scores if _is_larger_better(deciding) else scores
    cell_of: dict[tuple[int, int], int] = {}
    for k in np.flatnonzero(np.isfinite(losses)).tolist():
        column, row = results[f"param_{x}"][k], None if y is None else results[f"param_{y}"][k]
        if column is np.ma.masked or row is np.ma.masked:
            continue
        place = rows.index(row), columns.index(column)
        if place not in cell_of or losses[k] < losses[cell_of[place]]:
            cell_of[place] = k
    labels_x, labels_y = [_text(each) for each in columns], [_text(each) for each in rows]
    width = 1.9 + _CELL * max(3, len(columns)) + canvas.estimate_length(labels_y)
    ax = canvas.axes_or_new(ax, width, 1.3 + _CELL * max(1.5, len(rows)))
    _draw_cells(ax, results, deciding, scores, cell_of, (len(rows), len(columns)))
    ax.set_xticks(np.arange(len(columns)), labels_x, **canvas.PLAIN_TEXT)
    ax.set_yticks(np.arange(len(rows)), labels_y if y is not None else [""], **canvas.PLAIN_TEXT)
    ax.set_xlabel(x, **canvas.PLAIN_TEXT)
    ax.set_ylabel("" if y is None else y, **canvas.PLAIN_TEXT)
    canvas.style_axes(ax, is_matrix=True)
    return ax


def _draw_cells(
    ax: Any,
    results: Any,
    deciding: str,
    scores: Floats,
    cell_of: dict[tuple[int, int], int],
    shape: tuple[int, int],
) -> None:
    """Draw the cells, with their numbers if there are few."""
    canvas.import_pyplot()  # raises a helpful error if it is missing
    from matplotlib.patches import Rectangle

    is_larger_better = _is_larger_better(deciding)
    values: Any = np.ma.masked_all(shape)  # type: ignore[no-untyped-call]
    for place, k in cell_of.items():
        values[place] = scores[k]
    # The worst quarter has one colour, so that the colours of good cells differ more.
    best_to_worst = [1.0, 0.25] if is_larger_better else [0.0, 0.75]
    low, high = sorted(np.quantile(values.compressed(), best_to_worst)) if cell_of else (0.0, 1.0)
    colours = canvas.MAGNITUDES if is_larger_better else f"{canvas.MAGNITUDES}_r"
    image = ax.imshow(values, cmap=colours, vmin=low, vmax=high, origin="lower", aspect="auto")
    shades = image.cmap(image.norm(values))
    for (row, column), k in cell_of.items():
        corner = column - 0.5, row - 0.5
        if results["reason"][k]:
            ax.add_patch(
                Rectangle(corner, 1, 1, fill=False, hatch="///", linewidth=0, alpha=0.35,
                          edgecolor=canvas.contrasting_ink(shades[row, column]))
            )  # fmt: skip
        if results["is_chosen"][k]:
            ax.add_patch(
                Rectangle(
                    corner, 1, 1, fill=False, edgecolor=canvas.POSITIVE, linewidth=3, zorder=3
                )
            )
    if max(shape) <= _MOST_NUMBERS:
        texts = np.full(shape, None, dtype=object)
        for place in cell_of:
            texts[place] = f"{values[place]:.3g}"
        canvas.write_in_cells(image, texts.tolist(), fontsize=canvas.SMALL - 1)
    is_cut = values.min() < low if is_larger_better else values.max() > high
    extend = ("min" if is_larger_better else "max") if cell_of and is_cut else "neither"
    canvas.add_colorbar(image, _axis_title(deciding), extend=extend)


def _choose_axes(names: list[str], x: str | None, y: str | None) -> tuple[str, str | None]:
    """Return the parameters of the axes; y is None if there is only one."""
    for axis, name in (("x", x), ("y", y)):
        if name is not None:
            check_choice(axis, name, names)
    if x is not None and x == y:
        raise ArgumentError(
            Argument("x", x), " and ", Argument("y", y), " are the same. Use different ones."
        )
    # gamma is on the horizontal axis, as in most papers. In a pipeline it has a prefix.
    left = [name for name in names if name not in (x, y)]
    left.sort(key=lambda name: name.split("__")[-1] != "gamma")
    if x is None:
        is_first = y is None and len(left) > 1 and left[0].split("__")[-1] != "gamma"
        x = left.pop(1 if is_first else 0)
    return x, y or (left[0] if left else None)


def _values_of(results: Any, name: str) -> list[Any]:
    """Return the values of a parameter: sorted numbers, then others in order of appearance."""
    column = results[f"param_{name}"]
    found = dict.fromkeys(value for value in column if value is not np.ma.masked)
    numbers = [value for value in found if isinstance(value, int | float | np.number)]
    return [*sorted(numbers), *(value for value in found if value not in numbers)]


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float | np.floating) else str(value)


def _results_of(search: Any) -> Any:
    """Return the results of a fitted search, or raise ArgumentError."""
    results = search if isinstance(search, dict) else getattr(search, "cv_results_", None)
    if results is None:
        raise ArgumentError(Argument("search"), " has no results yet. Call fit first.")
    if "candidate" not in results:
        raise ArgumentError(
            Argument("search"),
            f" must be a fitted SchemeSearchCV, or its cv_results_; got {type(search).__name__}.",
        )
    return results


def _comparable(results: Any, name: str) -> Floats:
    """Return a column as if all candidates had been measured on all folds."""
    means = np.asarray(results[name], float)
    differences = results.get(f"difference_{name.removeprefix('mean_')}")
    if differences is None or "rank" not in results:
        return means
    best = int(np.argmin(results["rank"]))
    return np.asarray(means[best] + np.asarray(differences, float))


def _is_larger_better(name: str) -> bool:
    """Return whether the larger values of a column are better; not for times and other costs."""
    metric = METRICS.get(name.removeprefix("mean_"))
    return metric is not None and metric.larger_is_better


def _axis_title(name: str) -> str:
    """Return the title of a column of the results."""
    name = name.removeprefix("mean_")
    if name in METRICS:
        return METRICS[name].title
    words = name.replace("_", " ")
    words = f"number of {words.removeprefix('n ')}" if name.startswith("n_") else words
    return f"{words} (seconds)" if name.endswith("_time") else words
