"""Reliability of the probabilities of a whole model."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import Parameter
from polytomy.metrics.metric import JudgedSamples, check_judged_samples
from polytomy.plots import canvas
from polytomy.plots.fitted import ask_probabilities, name_estimator
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
        pos_label: Any = None,
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
        pos_label : label, optional
            With ``kind="classwise"``, use the probabilities of this class only.
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
        predicted, observed, weight = _select(judged, kind, pos_label)
        bins = make_bins(predicted, observed, weight, n_bins, strategy)
        event = "the predicted class"
        if kind == "classwise":
            event = "a class" if pos_label is None else str(pos_label)
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
        self.intervals_ = None
        if intervals:
            self.intervals_ = ax.vlines(
                self.bins.predicted, self.bins.lower, self.bins.upper,
                color=self.line_.get_color(), alpha=0.45, linewidth=1.2, zorder=1.5,
            )  # fmt: skip
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


def _select(
    judged: JudgedSamples, kind: str, pos_label: Any
) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.float64]]:
    """Return probabilities of events, whether they happened, and weights."""
    if kind == "confidence":
        if pos_label is not None:
            raise ArgumentError(
                Argument("pos_label", pos_label), " needs ", Argument("kind", "classwise"), "."
            )
        return *judged.confidence(), judged.weight
    if pos_label is None:
        n_classes = judged.proba.shape[1]
        return judged.proba.ravel(), judged.indicators.ravel(), np.repeat(judged.weight, n_classes)
    if pos_label not in judged.classes:
        raise ArgumentError(
            Argument("pos_label", pos_label),
            f" is not one of the classes ({', '.join(map(repr, judged.classes))}).",
        )
    column = judged.classes.index(pos_label)
    return judged.proba[:, column], judged.indicators[:, column], judged.weight


def draw_diagonal(ax: Any) -> Any:
    """Draw the line where probabilities equal frequencies, once per axes; return the line."""
    for line in ax.lines:
        if line.get_label() == _DIAGONAL:
            return line
    (line,) = ax.plot(
        [0, 1], [0, 1], color=canvas.FAINT, linewidth=1, linestyle="--", label=_DIAGONAL, zorder=1
    )
    return line
