"""What a metric tells about itself, and the registry of all metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import ArgumentError
from polytomy.metrics.judged_samples import Fact, JudgedSamples

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Additive:
    """A function of judged samples that can be found from sums over them.

    So data can be read in blocks: ``function.from_sums(sum(map(function.sums, blocks)))``.

    Attributes
    ----------
    sums : from JudgedSamples to an array of sums over the samples
    from_sums : from these sums to a number
    """

    sums: Callable[[JudgedSamples], Floats]
    from_sums: Callable[[Floats], float]

    def __call__(self, judged: JudgedSamples) -> float:
        """Return the value for all samples at once."""
        return self.from_sums(self.sums(judged))


def mean_over_samples(losses: Callable[[JudgedSamples], Floats]) -> Additive:
    """Return the function that is the mean of one loss for each sample."""
    return Additive(_sum_over_samples(losses), lambda sums: float(sums[0] / sums[1]))


def root_mean_over_samples(losses: Callable[[JudgedSamples], Floats]) -> Additive:
    """Return the function that is the root of the mean of one loss for each sample."""
    return Additive(_sum_over_samples(losses), lambda sums: float(np.sqrt(sums[0] / sums[1])))


def _sum_over_samples(
    losses: Callable[[JudgedSamples], Floats],
) -> Callable[[JudgedSamples], Floats]:
    return lambda judged: np.array([np.sum(losses(judged) * judged.weight), judged.weight.sum()])


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of predicted classes or of class probabilities.

    Attributes
    ----------
    name : str, as users write it, and the key in files
    function : from JudgedSamples to a number
        ``polytomy evaluate`` reads data in blocks, so it leaves out metrics of probabilities whose
        function is not Additive. Metrics of labels need only the confusion matrix.
    needs : what the function uses of the samples
        "labels", the predicted classes; "confidence", the probabilities of these; "probabilities",
        those of all classes; "order", the order of the classes; "hierarchy", their hierarchy.
    larger_is_better : bool, default=False
    range : the smallest and the largest possible value; 0 and 1 by default
    title : str, as in a sentence: "log-loss"; by default the name without underscores
    short_title : str, for narrow columns; the title by default
    unit : str, optional, such as "ranks"
    is_reported : bool, default=True
        Whether trials and ``polytomy evaluate`` measure it. Other metrics are used where they are
        named, as in ``SchemeSearchCV(scoring=...)``.
    losses : from JudgedSamples to one loss each, optional
        Their mean must rank predictions as the metric does. A search compares its candidates
        sample by sample if a metric has losses, and fold by fold otherwise.

    Examples
    --------
    >>> def share_of_truth(judged):
    ...     return judged.proba[np.arange(len(judged.truth)), judged.truth]
    >>> metric = Metric(
    ...     "mean_share", mean_over_samples(share_of_truth), needs=("probabilities",),
    ...     larger_is_better=True, title="mean probability of the true class",
    ... )
    >>> register(metric).heading
    'Mean probability of the true class'
    >>> METRICS.pop("mean_share").range
    (0.0, 1.0)
    """

    name: str
    function: Callable[[JudgedSamples], float]
    needs: tuple[Fact, ...] = ("labels",)
    larger_is_better: bool = False
    range: tuple[float, float] = (0.0, 1.0)
    title: str = ""
    short_title: str = ""
    unit: str = ""
    is_reported: bool = True
    losses: Callable[[JudgedSamples], Floats] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", self.title or self.name.replace("_", " "))
        object.__setattr__(self, "short_title", self.short_title or self.title)

    @property
    def heading(self) -> str:
        """The title with a capital letter, and the unit."""
        return f"{self.title[0].upper()}{self.title[1:]}{self.unit and f' ({self.unit})'}"

    @property
    def needs_probabilities(self) -> bool:
        """Whether it needs the probabilities of the predicted classes, or of all."""
        return "confidence" in self.needs or "probabilities" in self.needs

    @property
    def needs_only_predictions(self) -> bool:
        """Whether it needs neither an order nor a hierarchy of the classes."""
        return "order" not in self.needs and "hierarchy" not in self.needs

    def can_judge(self, judged: JudgedSamples) -> bool:
        """Return whether all that it needs is known."""
        return judged.known.issuperset(self.needs)

    def as_loss(self, value: float) -> float:
        """Return a value, negated if larger is better, so that the smallest is the best."""
        return -value if self.larger_is_better else value


METRICS: dict[str, Metric] = {}
"""All metrics by name, in the order of tables."""


def register(metric: Metric) -> Metric:
    """Add a metric to METRICS, for trials, reports, searches and the command line; return it."""
    if metric.name in METRICS:
        raise ArgumentError(
            f"There is already a metric called {metric.name!r}. Give this one another name."
        )
    METRICS[metric.name] = metric
    return metric
