"""Scores of predictions that come in blocks, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polytomy.metrics import METRICS, Additive, JudgedSamples
from polytomy.scheme import Scheme

__all__ = ["RunningScores"]


class RunningScores:
    """Accumulates scores over blocks; up to rounding, the result is that of all samples at once.

    The scores are those of METRICS that are reported and apply to the predictions. A metric of
    probabilities must be found from sums over the samples.

    Parameters
    ----------
    classes : array of the labels, in the order of the probabilities
    class_order : labels from first to last, to score ordered classes; optional
    hierarchy : Scheme whose nodes are the hierarchy to score; optional
    predicted : array of the labels that can be predicted; optional
        The classes and, last, the label for no prediction; by default the classes.
    levels : confidence levels of prediction sets; optional
    """

    def __init__(
        self,
        classes: Any,
        class_order: list[Any] | None = None,
        hierarchy: Scheme | None = None,
        *,
        predicted: Any = None,
        levels: Sequence[float] = (),
    ) -> None:
        import numpy as np

        self._classes, self._hierarchy = classes, hierarchy
        columns = (classes if predicted is None else predicted).tolist()
        self._columns = {label: k for k, label in enumerate(columns)}
        self._order = [self._columns[label] for label in class_order or ()]
        self._levels = tuple(levels)
        self.table = np.zeros((len(classes), len(columns)), dtype=np.int64)
        self._sums: dict[str, Any] = {}

    @property
    def n_samples(self) -> int:
        """Number of samples so far."""
        return int(self.table.sum())

    def add(self, y: Any, predicted: Any, P: Any) -> None:
        """Add a block of true labels, predicted labels, and probabilities or None."""
        import numpy as np

        truth = np.searchsorted(self._classes, y)
        columns = np.array([self._columns[label] for label in predicted.tolist()])
        np.add.at(self.table, (truth, columns), 1)
        if P is None:
            return
        judged = JudgedSamples(
            truth,
            np.asarray(P, dtype=np.float64),
            np.ones(len(truth)),
            self._classes.tolist(),
            columns,
            frozenset({"confidence", "probabilities", *(["order"] if self._order else [])}),
            self._order,
        )
        for metric in METRICS.values():
            function, is_wanted = metric.function, metric.is_reported and metric.can_judge(judged)
            if is_wanted and isinstance(function, Additive):
                self._add_sums(metric.name, function.sums(judged))

    def add_sets(self, y: Any, sets: Any) -> None:
        """Add the prediction sets of a block, of shape (n_samples, n_classes, n_levels)."""
        from polytomy import metrics

        coverage = metrics.set_coverage(y, sets, self._classes)
        size = metrics.mean_set_size(sets)
        for k, level in enumerate(self._levels):
            self._add_sums(f"coverage_of_sets_{level:g}", len(y) * float(coverage[k]))
            self._add_sums(f"mean_size_of_sets_{level:g}", len(y) * float(size[k]))

    def merge(self, other: RunningScores) -> None:
        """Add the scores of other samples, for the same classes, order and hierarchy."""
        self.table += other.table
        for name, sums in other._sums.items():
            self._add_sums(name, sums)

    def _add_sums(self, name: str, sums: Any) -> None:
        self._sums[name] = self._sums.get(name, 0.0) + sums

    def measure(self) -> dict[str, float]:
        """Return the scores of all samples so far."""
        measured = {}
        judged, answered = self._judge_labels()
        for metric in METRICS.values():
            # The order and the hierarchy do not have the label for no prediction.
            own = judged if metric.needs_only_predictions else answered
            if metric.is_reported and len(own.truth) and metric.can_judge(own):
                measured[metric.name] = metric.function(own)
            elif metric.name in self._sums and isinstance(metric.function, Additive):
                measured[metric.name] = metric.function.from_sums(self._sums[metric.name])
        of_sets = {name: sums for name, sums in self._sums.items() if name not in METRICS}
        return measured | {name: total / self.n_samples for name, total in of_sets.items()}

    def _judge_labels(self) -> tuple[JudgedSamples, JudgedSamples]:
        """Return the confusion matrix as weighted samples: all, and those with a prediction."""
        import numpy as np

        from polytomy.model.dichotomies import bind_classes

        scheme, names, known = self._hierarchy, self._classes.tolist(), {"labels"}
        if scheme is not None:
            positions = bind_classes(scheme, self._classes).tolist()
            names = [scheme.classes[position] for position in positions]
            known.add("hierarchy")
        if self._order:
            known.add("order")
        found = []
        for n_columns in (self.table.shape[1], len(names)):
            rows, columns = np.nonzero(self.table[:, :n_columns])
            counts = self.table[rows, columns].astype(np.float64)
            proba = np.empty((len(rows), 0))
            found.append(
                JudgedSamples(
                    rows, proba, counts, names, columns, frozenset(known), self._order, scheme
                )
            )
        return found[0], found[1]
