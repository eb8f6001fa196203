"""Plots of a model's answers: reliability of the whole model and of its binaries, explanations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import Parameter, as_count, count_things, did_you_mean
from polytomy.inputs.numbers import check_weights
from polytomy.metrics.metric import check_judged_samples
from polytomy.model.composition import Composition
from polytomy.plots import canvas
from polytomy.plots.fitted import (
    ask_probabilities,
    find_class_indices,
    find_fitted,
    name_estimator,
)
from polytomy.plots.layout import STRATEGY, ReliabilityBins, make_bins

_KIND = Parameter("kind", choices=("confidence", "classwise"))
_DIAGONAL = "perfectly calibrated"
_CURVE = "reliability"  # marks the curves in axes, so that each has a colour of its own


class ReliabilityDisplay:
    """Observed frequencies against predicted probabilities: can the probabilities be trusted?

    Of all samples with a probability of 0.8, four in five should belong to the class. Points below
    the diagonal are overconfident, points above it underconfident. Use `from_estimator` or
    `from_predictions` to create one. To compare models, pass the axes of the first to the others.

    Parameters
    ----------
    bins : ReliabilityBins
        ``predicted``, ``observed``, ``weight``, ``lower`` and ``upper``: the mean probability, the
        frequency, the weight of the samples and the interval of the frequency in each bin.
    name : str, optional
        Name in the legend.
    event : str, default="the predicted class"
        The event that the probabilities are of, for the axis labels.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_ : the curve
    intervals_ : vertical lines at the points, 95 % intervals of the frequencies; or None
    diagonal_ : the line of perfect calibration, or None

    See Also
    --------
    polytomy.plots.BinaryReliabilityDisplay : the same for each binary.
    polytomy.metrics.reliability_table : the same as a table, per class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import polytomy as pt
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = pt.PolytomyClassifier(random_state=0).fit(X[::2], y[::2])
    >>> display = pt.plots.ReliabilityDisplay.from_estimator(
    ...     classifier, X[1::2], y[1::2], n_bins=3, strategy="quantile"
    ... )
    >>> display.bins.weight
    array([25., 25., 25.])
    >>> display.ax_.get_xlabel()
    'probability of the predicted class'
    """

    def __init__(
        self, bins: ReliabilityBins, *, name: str | None = None, event: str = "the predicted class"
    ) -> None:
        self.bins = bins
        self.name = name
        self.event = event

    @property
    def mean_gap(self) -> float:
        """Mean difference between probability and frequency, averaged over the samples."""
        return self.bins.mean_gap

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, name: str | None = None, **options: Any
    ) -> Self:
        """Draw the reliability of a fitted classifier on labelled samples.

        Parameters
        ----------
        estimator : any fitted classifier with ``predict_proba``
        X, y : samples that the classifier was not trained on, and their labels
        name : str, optional
            Name in the legend, by default that of the estimator's class.
        **options : as in `from_predictions`, except `classes`
        """
        proba = ask_probabilities(estimator, X)
        name = name_estimator(estimator) if name is None else name
        return cls.from_predictions(y, proba, classes=estimator.classes_, name=name, **options)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        proba: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        kind: str = "confidence",
        n_bins: int = 10,
        strategy: str = "uniform",
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the reliability of predicted probabilities.

        Parameters
        ----------
        y : array of shape (n_samples,), true labels
        proba : array of shape (n_samples, n_classes), probabilities
        classes : array of shape (n_classes,), optional
            The label of each column of `proba`; by default the labels in `y`, sorted.
        kind : {"confidence", "classwise"}, default="confidence"
            "confidence" uses the probability of the predicted class, and whether it is right.
            "classwise" uses the probabilities of all classes together.
        n_bins : int, default=10
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of the same width, or with the same number of samples.
        sample_weight : array of shape (n_samples,), optional
        name : str, optional
            Name in the legend.
        ax : matplotlib axes, optional
        **options : arguments of `plot`
        """
        _KIND.check(kind)
        STRATEGY.check(strategy)
        judged = check_judged_samples(y, proba, classes, sample_weight)
        observed: NDArray[Any]
        predicted, observed, weight = *judged.confidence(), judged.weight
        if kind == "classwise":
            predicted, observed = judged.proba.ravel(), judged.indicators.ravel()
            weight = np.repeat(weight, judged.proba.shape[1])
        bins = make_bins(predicted, observed, weight, n_bins, strategy)
        event = "a class" if kind == "classwise" else "the predicted class"
        return cls(bins, name=name, event=event).plot(ax=ax, **options)

    def plot(
        self,
        *,
        ax: Any = None,
        name: str | None = None,
        ref_line: bool = True,
        intervals: bool = True,
        **line_options: Any,
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib axes, optional
        name : str, optional
            Name in the legend, instead of that of the display.
        ref_line : bool, default=True
            Whether to draw the diagonal.
        intervals : bool, default=True
            Whether to draw the 95 % intervals of the frequencies, given the number of samples.
        **line_options : arguments of matplotlib's ``plot`` for the curve
        """
        ax = canvas.axes_or_new(ax, 4.6, 4.4)
        n_before = sum(line.get_gid() == _CURVE for line in ax.lines)
        name = self.name if name is None else name
        self.diagonal_ = draw_diagonal(ax) if ref_line else None
        style: dict[str, Any] = {
            "color": canvas.CURVES[n_before % len(canvas.CURVES)],
            "marker": canvas.MARKERS[n_before % len(canvas.MARKERS)],
            "markersize": 5,
            "linewidth": 1.6,
            "label": f"mean gap {self.mean_gap:.3f}"
            if name is None
            else f"{name} (mean gap {self.mean_gap:.3f})",
        }
        (self.line_,) = ax.plot(self.bins.predicted, self.bins.observed, **style | line_options)
        self.line_.set_gid(_CURVE)
        self.intervals_ = _draw_intervals(ax, self.bins, self.line_, 1.2) if intervals else None
        ax.set_xlabel(f"probability of {self.event}", **canvas.PLAIN_TEXT)
        ax.set_ylabel(
            "fraction that is right"
            if self.event == "the predicted class"
            else "observed frequency"
        )
        canvas.style_axes(ax)
        legend = ax.legend(fontsize=canvas.SMALL, loc="best")
        for text in legend.get_texts():
            text.set_parse_math(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _draw_intervals(ax: Any, bins: ReliabilityBins, line: Any, width: float) -> Any:
    """Draw the intervals of the frequencies in the colour of the curve; return them."""
    return ax.vlines(
        bins.predicted, bins.lower, bins.upper, color=line.get_color(), alpha=0.45,
        linewidth=width, zorder=1.5,
    )  # fmt: skip


def draw_diagonal(ax: Any) -> Any:
    """Draw the line where probabilities equal frequencies, once per axes; return the line."""
    for line in ax.lines:
        if line.get_label() == _DIAGONAL:
            return line
    (line,) = ax.plot(
        [0, 1], [0, 1], color=canvas.FAINT, linewidth=1, linestyle="--", label=_DIAGONAL, zorder=1
    )
    return line


# -- the binaries ----------------------------------------------------------------------------------


_TITLES = {
    "log-odds": "log P(winner) − log P(runner-up)",
    "probability": "P(winner) − P(runner-up)",
    "score": "score of the winner − score of the runner-up",
}
_PANEL = 1.75  # inches
_MOST_COLUMNS = 4
_LONGEST_SIDE, _LONGEST_NAME = 10, 21  # letters


def explanation(explained: Any, *, most: int = 12, ax: Any = None) -> Any:
    """Draw an explanation: a bar for each partition, for each other term, and for the sum.

    Blue bars to the right favour the winner; orange bars to the left favour the runner-up.

    Parameters
    ----------
    explained : Explanation, one item of what ``classifier.explain(X)`` returns
    most : int, default=12
        Number of partitions that get their own bar; the others share one.
    ax : matplotlib axes, optional

    Returns
    -------
    axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import polytomy as pt
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = pt.PolytomyClassifier(random_state=0).fit(X, y)
    >>> axes = pt.plots.explanation(classifier.explain(X[[77]])[0])
    >>> axes.get_title()
    '2 over 1'
    """
    if not hasattr(explained, "terms"):
        raise ArgumentError(
            Argument("explained"), " must be one explanation, such as classifier.explain(X)[0]."
        )
    terms, others = explained.terms[:most], explained.terms[most:]
    bars = [(f"{term.name}   {term.describe()}", term.adds) for term in terms]
    if others:
        more = count_things(len(others), "more partition")
        bars.append((more, sum(term.adds for term in others)))
    bars += explained.rest.items()
    ax = canvas.axes_or_new(ax, 7.4, 0.9 + 0.28 * (len(bars) + 1))
    values = [adds for _, adds in bars] + [explained.difference]
    colours = [canvas.NEGATIVE if value >= 0 else canvas.POSITIVE for value in values]
    colours[-1] = canvas.ink()
    places = range(len(values))
    ax.barh(places, values, color=colours, height=0.7)
    ax.axvline(0.0, color=canvas.FAINT, linewidth=0.8)
    ax.set_yticks(places, [name for name, _ in bars] + ["sum"], **canvas.PLAIN_TEXT)
    ax.invert_yaxis()
    for place, value in zip(places, values, strict=True):
        ax.annotate(
            f"{value:+.2f}", (value, place), (4 if value >= 0 else -4, 0),
            textcoords="offset points", va="center", ha="left" if value >= 0 else "right",
            fontsize=canvas.SMALL,
        )  # fmt: skip
    ax.margins(x=0.15)
    ax.set_title(f"{explained.winner} over {explained.runner_up}", **canvas.PLAIN_TEXT)
    ax.set_xlabel(_TITLES[explained.scale])
    canvas.style_axes(ax)
    ax.grid(visible=False, axis="y")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


class BinaryReliabilityDisplay:
    """Reliability of the probabilities of each binary: which of them cannot be trusted?

    Each panel plots the frequency of a binary's +1 side against the probability that the binary
    gives it, for samples of the classes that it separates. The title shows the two sides, the −1
    side first. A partition with more than two sides has a panel for each side against the others.
    Use `from_estimator` to create one.

    Parameters
    ----------
    bins : list of ReliabilityBins, one for each binary to draw
    names : list of str, their names
    sides : list of str, what each of them separates

    Attributes
    ----------
    axes_ : array of the axes of the panels
    figure_ : matplotlib figure
    lines_ : list of the curves

    See Also
    --------
    polytomy.plots.ReliabilityDisplay : the same for the whole model.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import polytomy as pt
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = pt.PolytomyClassifier(random_state=0).fit(X[::2], y[::2])
    >>> display = pt.plots.BinaryReliabilityDisplay.from_estimator(classifier, X, y)
    >>> display.names
    ['one-vs-one-02', 'one-vs-one-00', 'one-vs-one-01']
    >>> display.sides
    ['1 / 2', '0 / 1', '0 / 2']
    """

    def __init__(
        self, bins: Sequence[ReliabilityBins], names: Sequence[str], sides: Sequence[str]
    ) -> None:
        self.bins = list(bins)
        self.names = list(names)
        self.sides = list(sides)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        partitions: Sequence[str] | None = None,
        most: int = 12,
        n_bins: int = 5,
        strategy: str = "uniform",
        sample_weight: ArrayLike | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the reliability of the binaries of a fitted classifier on labelled samples.

        Parameters
        ----------
        estimator : fitted PolytomyClassifier, or a pipeline or search of one
        X, y : samples that the classifier was not trained on, and their labels
        partitions : list of names of partitions, optional
            The binaries to draw, in this order. By default those with the largest gap between
            probability and frequency, the largest first.
        most : int, default=12
            Maximum number of binaries to draw, if `partitions` is not given.
        n_bins : int, default=5
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of the same width, or with the same number of samples.
        sample_weight : array of shape (n_samples,), optional
        ax : array of matplotlib axes, optional
            One for each panel.
        """
        STRATEGY.check(strategy)
        most = as_count("most", most)
        fitted = find_fitted(estimator)
        binaries = list(_list_binaries(fitted.composition))
        if not binaries:
            raise ArgumentError("A classifier of a single class has no binaries to draw.")
        chosen = range(len(binaries)) if partitions is None else _choose(binaries, partitions)
        decisions = fitted.decisions(X)
        truth = find_class_indices(y, fitted.composition.classes, len(decisions))
        weight = check_weights(sample_weight, len(truth))
        bins = {}
        for column in chosen:
            sign = binaries[column].signs[truth]
            is_own = (sign != 0) & (weight > 0)
            if is_own.any():
                probability = (1 + decisions[is_own, column]) / 2
                bins[column] = make_bins(
                    probability, sign[is_own] > 0, weight[is_own], n_bins, strategy
                )
        missing = [binaries[column].name for column in chosen if column not in bins]
        if missing and (partitions is not None or not bins):
            raise ArgumentError(
                Argument("y"), f" has no samples of the classes of partition {missing[0]}."
            )
        columns = list(bins)
        if partitions is None:
            columns = sorted(columns, key=lambda column: -bins[column].mean_gap)[:most]
        display = cls(
            [bins[column] for column in columns],
            [binaries[column].name for column in columns],
            [binaries[column].sides for column in columns],
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None, **line_options: Any) -> Self:
        """Draw a panel for each binary.

        Parameters
        ----------
        ax : array of matplotlib axes, optional
            One for each panel.
        **line_options : arguments of matplotlib's ``plot`` for the curves
        """
        panels = self._make_panels(ax)
        self.lines_ = []
        style = {"color": canvas.NEGATIVE, "marker": "o", "markersize": 3.5, "linewidth": 1.4}
        for k, panel in enumerate(panels):
            bins = self.bins[k]
            draw_diagonal(panel)
            (line,) = panel.plot(bins.predicted, bins.observed, **style | line_options)
            _draw_intervals(panel, bins, line, 1)
            panel.set(xlim=(-0.04, 1.04), ylim=(-0.04, 1.04), xticks=[0, 0.5, 1])
            panel.set_yticks([0, 0.5, 1])
            canvas.style_axes(panel)
            panel.set_title(
                f"{_shorten(self.names[k])}\n{self.sides[k]}",
                fontsize=canvas.SMALL,
                **canvas.PLAIN_TEXT,
            )
            panel.annotate(
                f"gap {bins.mean_gap:.3f}", (0.97, 0.05), xycoords="axes fraction", ha="right",
                fontsize=canvas.SMALL - 1,
            )  # fmt: skip
            self.lines_.append(line)
        self.axes_ = np.array(panels, dtype=object)
        self.figure_ = panels[0].figure
        if ax is None:
            self.figure_.supxlabel("probability of the +1 side", fontsize=canvas.NORMAL)
            self.figure_.supylabel("frequency of the +1 side", fontsize=canvas.NORMAL)
        return self

    def _make_panels(self, ax: Any) -> list[Any]:
        n_panels = len(self.bins)
        if ax is not None:
            given = list(np.ravel(ax))
            if len(given) < n_panels:
                raise ArgumentError(
                    Argument("ax"), f" has {len(given)} axes for {n_panels} binaries."
                )
            return given[:n_panels]
        n_columns = min(_MOST_COLUMNS, n_panels)
        n_rows = math.ceil(n_panels / n_columns)
        _, grid = canvas.import_pyplot().subplots(
            n_rows, n_columns, squeeze=False, sharex=True, sharey=True, layout="constrained",
            figsize=(0.5 + _PANEL * n_columns, 0.4 + (_PANEL + 0.45) * n_rows),
        )  # fmt: skip
        for unused in grid.ravel()[n_panels:]:
            unused.set_axis_off()
        for panel in grid.ravel()[:n_panels][-n_columns:]:
            panel.tick_params(labelbottom=True)
        return list(grid.ravel()[:n_panels])


class _Binary(NamedTuple):
    """A column of `decisions`: its name, its sides as text, and the side of each class."""

    name: str
    sides: str
    signs: NDArray[np.int8]


def _list_binaries(composition: Composition) -> Iterator[_Binary]:
    """Yield a description of what each column of `decisions` separates."""
    labels = composition.classes.tolist()
    columns: Sequence[int] = range(len(composition.dichotomies))
    flips: Sequence[float] = [1.0] * len(columns)
    names = [each.name for each in composition.dichotomies]
    if len(composition.arrangements) == 1:
        (arrangement,) = composition.arrangements
        columns, flips = arrangement.columns.tolist(), arrangement.signs.tolist()
        names = [row for each in arrangement.scheme.partitions for row in each.row_names]
    for name, column, flip in zip(names, columns, flips, strict=True):
        dichotomy = composition.dichotomies[column]
        signs = np.zeros(len(labels), dtype=np.int8)
        signs[list(dichotomy.negative)] = -int(flip)
        signs[list(dichotomy.positive)] = int(flip)
        sides = [[labels[k] for k in np.flatnonzero(signs == sign)] for sign in (-1, 1)]
        yield _Binary(name, " / ".join(map(_describe_side, sides)), signs)


def _describe_side(labels: Sequence[Any]) -> str:
    text = " ".join(map(str, labels))
    if len(text) <= _LONGEST_SIDE:
        return text
    return f"{len(labels)} classes" if len(labels) > 1 else f"{text[: _LONGEST_SIDE - 1]}…"


def _shorten(name: str) -> str:
    """Return a name without its middle if it is long: names of nodes differ at the end."""
    if len(name) <= _LONGEST_NAME:
        return name
    start = (_LONGEST_NAME - 1) // 3
    return f"{name[:start]}…{name[start + 1 - _LONGEST_NAME :]}"


def _choose(binaries: Sequence[_Binary], partitions: Sequence[str]) -> list[int]:
    """Return the columns of partitions that are given by name."""
    names = [each.name for each in binaries]
    columns = []
    for wanted in partitions:
        found = [k for k, name in enumerate(names) if wanted in (name, name.rpartition("/")[0])]
        if not found:
            raise ArgumentError(
                Argument("partitions"),
                f" has {wanted!r}, which is not a partition of the scheme."
                f"{did_you_mean(wanted, names)} It has {len(names)}, from {names[0]} to "
                f"{names[-1]}.",
            )
        columns += found
    if not columns:
        raise ArgumentError(Argument("partitions"), " is empty. Name at least one.")
    return columns
