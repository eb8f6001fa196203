"""Metrics: what is judged, a metric that tells everything about itself, and the registry."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.numbers import as_floats, check_weights

Floats = NDArray[np.float64]
Fact = Literal["labels", "confidence", "probabilities", "order", "hierarchy"]
"""What may be known: predicted labels, their probabilities, those of all classes, and so on."""

# Accepts probabilities rounded to a few digits; rows that were not normalised are far beyond it.
_SUM_TOLERANCE = 1e-3
# Accepts rounding errors below zero or above one.
_RANGE_TOLERANCE = 1e-9


class JudgedSamples(NamedTuple):
    """Samples with their true classes, and what was predicted for them.

    Attributes
    ----------
    truth : array of shape (n_samples,), the column of each sample's true class
    proba : array of shape (n_samples, n_classes)
        Probabilities, or other scores of a solver that gives none. Without columns if there are
        neither.
    weight : array of shape (n_samples,)
    classes : labels of the columns
    predicted : array of shape (n_samples,), the column of each predicted class
    known : what a metric may use
    class_order : all columns from first to last, if the order of the classes is known
    hierarchy : Scheme over the labels in `classes`, if there is one
    """

    truth: NDArray[np.intp]
    proba: Floats
    weight: Floats
    classes: Sequence[Hashable]
    predicted: NDArray[np.intp]
    known: frozenset[str] = frozenset({"labels", "confidence", "probabilities"})
    class_order: Sequence[int] = ()
    hierarchy: Any = None

    @property
    def indicators(self) -> Floats:
        """One in the column of the true class, zero elsewhere."""
        indicators = np.zeros_like(self.proba)
        indicators[np.arange(len(self.truth)), self.truth] = 1.0
        return indicators

    def confidence(self) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the winner's probability and whether it is right; ties go to the first class."""
        winner = np.argmax(self.proba, axis=1)
        return self.proba[np.arange(len(winner)), winner], winner == self.truth


def check_judged_samples(
    y: ArrayLike, proba: ArrayLike, classes: ArrayLike | None, sample_weight: ArrayLike | None
) -> JudgedSamples:
    """Return the checked arguments of a metric of probabilities, or raise ArgumentError."""
    labels = check_labels(y, "y")
    probabilities = _check_probabilities(proba, len(labels))
    columns = find_columns(labels, classes, probabilities.shape[1], "proba")
    truth = np.array([columns[label] for label in labels], dtype=np.intp)
    weight = check_weights(sample_weight, len(labels))
    return JudgedSamples(truth, probabilities, weight, tuple(columns), probabilities.argmax(axis=1))


def check_predicted_labels(
    y: ArrayLike, predicted: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[list[Hashable], list[Hashable], Floats]:
    """Return the checked arguments of a metric of predicted labels, or raise ArgumentError."""
    true_labels, predicted_labels = check_labels(y, "y"), check_labels(predicted, "predicted")
    if len(true_labels) != len(predicted_labels):
        raise ArgumentError(
            f"y has {len(true_labels)} labels, but predicted has {len(predicted_labels)}. "
            "Pass one prediction for each sample."
        )
    return true_labels, predicted_labels, check_weights(sample_weight, len(true_labels))


def check_labels(labels: ArrayLike, name: str) -> list[Hashable]:
    """Return the labels as Python objects; messages call the argument `name`."""
    # An object array keeps mixed labels such as 1 and "a"; otherwise all would become text.
    array = np.asarray(labels, dtype=object if isinstance(labels, list | tuple) else None)
    if array.ndim != 1:
        raise ArgumentError(
            f"{name} has shape {array.shape}; it needs one label for each sample. "
            "Use np.ravel for a column, or np.argmax for indicators."
        )
    if not len(array):
        raise ArgumentError(f"{name} is empty; at least one label is needed.")
    values = array.tolist()
    missing = [i for i, value in enumerate(values) if _is_missing(value)]
    if missing:
        raise ArgumentError(
            f"{name}[{missing[0]}] is {values[missing[0]]}, which is not a label. Remove it."
        )
    return cast(list[Hashable], values)


def _is_missing(value: Hashable) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # of pandas
        return True
    return isinstance(value, float) and value != value


def find_columns(
    labels: list[Hashable], classes: ArrayLike | None, n_columns: int, name: str
) -> dict[Hashable, int]:
    """Return the column of each class, by label, for true labels `y` and an argument `name`.

    The columns are those of `classes`, or the sorted labels.
    """
    if classes is not None:
        names = check_labels(classes, "classes")
    else:
        try:
            names = sorted(set(labels))  # type: ignore[type-var]
        except TypeError:
            raise ArgumentError(
                f"The labels of y cannot be sorted. Pass the label of each column of {name} as ",
                Argument("classes"),
                ".",
            ) from None
    if len(names) != n_columns:
        source = "y has" if classes is None else "classes has"
        raise ArgumentError(
            f"{name} has {n_columns} columns, but {source} {len(names)} different labels. Pass the "
            "label of each column as ",
            Argument("classes"),
            ".",
        )
    columns = {label: column for column, label in enumerate(names)}
    if len(columns) != len(names):
        twice = next(label for column, label in enumerate(names) if columns[label] != column)
        raise ArgumentError(
            Argument("classes"),
            f" has the label {twice!r} twice. Pass a different label for each column.",
        )
    unknown = [label for label in labels if label not in columns]
    if unknown:
        raise ArgumentError(
            f"Label {unknown[0]!r} of y is not one of the classes "
            f"({', '.join(map(repr, columns))}). Pass the labels of all columns of {name} as ",
            Argument("classes"),
            ".",
        )
    return columns


def _check_probabilities(proba: ArrayLike, n_samples: int) -> Floats:
    array = as_floats("proba", proba)
    if array.ndim != 2:
        raise ArgumentError(
            f"proba has shape {array.shape}; it needs one row for each sample and one column for "
            "each class. For two classes, use np.column_stack([1 - p, p])."
        )
    if len(array) != n_samples:
        raise ArgumentError(f"proba has {len(array)} rows, but y has {n_samples} labels.")
    if np.any(bad := np.any(np.isnan(array), axis=1)):
        raise ArgumentError(f"Row {np.argmax(bad)} of proba has NaN. Remove such samples.")
    outside = (array < -_RANGE_TOLERANCE) | (array > 1 + _RANGE_TOLERANCE)
    if np.any(bad := np.any(outside, axis=1)):
        row = np.argmax(bad)
        raise ArgumentError(
            f"Row {row} of proba has {array[row][outside[row]][0]:g}, which is not a probability. "
            "Use the output of predict_proba, not of decision_function."
        )
    if np.any(bad := np.abs(array.sum(axis=1) - 1) > _SUM_TOLERANCE):
        row = np.argmax(bad)
        raise ArgumentError(
            f"Row {row} of proba sums to {array[row].sum():g}, not to one. "
            "Divide each row by its sum."
        )
    return array


# -- metrics and their registry --------------------------------------------------------------------


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
    return lambda judged: np.array([(losses(judged) * judged.weight).sum(), judged.weight.sum()])


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
