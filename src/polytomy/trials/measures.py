"""What a trial measures: the reported metrics, and what training and prediction cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import did_you_mean
from polytomy.metrics import METRICS, Metric


class Measure(NamedTuple):
    """A number that each trial records for each pair.

    Attributes
    ----------
    name : key in files
    title : heading of its table
    best : which value is best, "largest" or "smallest"; None if neither is
    of_scheme : whether all methods of a configuration share the value
    counts_calibration : whether a final calibration adds to the value, so that methods with one
        do not share it
    short_title : heading of a narrow column
    is_time : whether it is a time, which depends on the machine
    """

    name: str
    title: str
    best: Literal["largest", "smallest"] | None = "smallest"
    of_scheme: bool = False
    counts_calibration: bool = False
    short_title: str = ""
    is_time: bool = False


MAIN_MEASURES = ("uncertainty_coefficient", "brier_score", "fit_seconds", "predict_seconds")
"""The measures of Mills's tables; the first comes first in all tables, and is shown in progress."""

_COSTS = {
    cost.name: cost
    for cost in (
        Measure(
            "out_of_fold_log_loss",
            "Out-of-fold log-loss, expected from training",
            None,
            short_title="expected log-loss",
        ),
        Measure(
            "fit_seconds",
            "Training time (seconds)",
            of_scheme=True,
            counts_calibration=True,
            short_title="training s",
            is_time=True,
        ),
        Measure(
            "predict_seconds", "Prediction time (seconds)", short_title="prediction s", is_time=True
        ),
        Measure("n_binaries", "Number of binaries", None, True, short_title="binaries"),
        Measure("n_support_vectors", "Number of support vectors", None, True, False, "vectors"),
    )
}


def _measure_of(metric: Metric) -> Measure:
    best: Literal["largest", "smallest"] = "largest" if metric.larger_is_better else "smallest"
    return Measure(metric.name, metric.heading, best, short_title=metric.short_title)


class _Measures(Mapping[str, Measure]):
    """Reads the registry of metrics each time, so that it has those that users register."""

    def _by_name(self) -> dict[str, Measure]:
        # Trials know no hierarchy, and do not use the order of the classes.
        found = [each for each in METRICS.values() if each.needs_only_predictions]
        found.sort(key=lambda each: each.name != MAIN_MEASURES[0])
        return {each.name: _measure_of(each) for each in found if each.is_reported} | _COSTS

    def __getitem__(self, name: str) -> Measure:
        return self._by_name()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name())

    def __len__(self) -> int:
        return len(self._by_name())


MEASURES: Mapping[str, Measure] = _Measures()
"""All measures by name, in the order of the tables, with the metrics that users registered."""


def find_measure(name: str) -> Measure:
    """Return the measure with this name.

    Examples
    --------
    >>> find_measure("accuracy").best
    'largest'
    """
    if not isinstance(name, str) or name not in MEASURES:
        raise ArgumentError(
            Argument("measure", name),
            f" is unknown.{did_you_mean(name, MEASURES)} Use one of {', '.join(MEASURES)}.",
        )
    return MEASURES[name]
