"""Scores of predictions that come in blocks, in bounded memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from polytomy.scheme import Scheme

__all__ = ["RunningScores"]

_BINS = 15


class RunningScores:
    """Accumulates scores over blocks; up to rounding, the result is that of all samples at once.

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

        self._classes, self._order, self._hierarchy = classes, class_order, hierarchy
        columns = (classes if predicted is None else predicted).tolist()
        self._columns = {label: k for k, label in enumerate(columns)}
        self._levels = tuple(levels)
        self.table = np.zeros((len(classes), len(columns)), dtype=np.int64)
        self._sums: dict[str, float] = defaultdict(float)
        self._reliability = np.zeros((3, len(classes), _BINS))
        self._has_probabilities = False

    @property
    def n_samples(self) -> int:
        """Number of samples so far."""
        return int(self.table.sum())

    def add(self, y: Any, predicted: Any, P: Any) -> None:
        """Add a block of true labels, predicted labels, and probabilities or None."""
        import numpy as np

        from polytomy import metrics

        n_samples, classes, order = len(y), self._classes, self._order
        columns = [self._columns[label] for label in predicted.tolist()]
        np.add.at(self.table, (np.searchsorted(classes, y), columns), 1)
        if order is not None:
            error = metrics.mean_absolute_rank_error(y, predicted, order)
            self._sums["mean_absolute_rank_error"] += n_samples * error
        if P is None:
            return
        self._has_probabilities = True
        self._sums["brier_score"] += n_samples * metrics.brier_score(y, P, classes) ** 2
        of_winner = metrics.winner_brier_score(y, P, classes)
        self._sums["winner_brier_score"] += n_samples * of_winner**2
        self._sums["log_loss"] += n_samples * metrics.log_loss(y, P, classes)
        bins = metrics.reliability_table(y, P, classes, bins=_BINS)
        means = np.nan_to_num(np.stack([bins["predicted"], bins["observed"]]))
        self._reliability += np.concatenate([bins["weight"] * means, bins["weight"][np.newaxis]])
        if order is not None:
            ranked = metrics.ranked_probability_score(y, P, classes, class_order=order)
            self._sums["ranked_probability_score"] += n_samples * ranked

    def add_sets(self, y: Any, sets: Any) -> None:
        """Add the prediction sets of a block, of shape (n_samples, n_classes, n_levels)."""
        from polytomy import metrics

        coverage = metrics.set_coverage(y, sets, self._classes)
        size = metrics.mean_set_size(sets)
        for k, level in enumerate(self._levels):
            self._sums[f"coverage_of_sets_{level:g}"] += len(y) * float(coverage[k])
            self._sums[f"mean_size_of_sets_{level:g}"] += len(y) * float(size[k])

    def merge(self, other: RunningScores) -> None:
        """Add the scores of other samples, for the same classes, order and hierarchy."""
        self.table += other.table
        self._reliability += other._reliability
        self._has_probabilities |= other._has_probabilities
        for name, total in other._sums.items():
            self._sums[name] += total

    def measure(self) -> dict[str, float]:
        """Return the scores of all samples so far."""
        import numpy as np

        from polytomy.metrics.scores import uncertainty_coefficient_of_indices

        rows, columns = np.nonzero(self.table)
        counts = self.table[rows, columns].astype(np.float64)
        measured = {
            "accuracy": float(np.trace(self.table) / self.n_samples),
            "uncertainty_coefficient": uncertainty_coefficient_of_indices(rows, columns, counts),
        }
        means = {name: float(total / self.n_samples) for name, total in self._sums.items()}
        if self._has_probabilities:
            measured |= {
                "brier_score": means["brier_score"] ** 0.5,
                "winner_brier_score": means["winner_brier_score"] ** 0.5,
                "log_loss": means["log_loss"],
                "calibration_error": self._calibration_error(),
            }
        for name in ("mean_absolute_rank_error", "ranked_probability_score"):
            if name in means:
                measured[name] = means[name]
        if self._hierarchy is not None:
            measured |= self._measure_hierarchy(rows, columns, counts)
        for name, mean in means.items():
            if "_of_sets_" in name:
                measured[name] = mean
        return measured

    def _calibration_error(self) -> float:
        """Return the classwise expected calibration error."""
        import numpy as np

        predicted, observed, weight = self._reliability
        gaps = np.abs(predicted - observed).sum(axis=1)
        return float(np.mean(gaps / weight.sum(axis=1)))

    def _measure_hierarchy(self, rows: Any, columns: Any, counts: Any) -> dict[str, float]:
        from polytomy import metrics
        from polytomy.model.dichotomies import bind_classes

        scheme = self._hierarchy
        assert scheme is not None, "the caller has checked it"
        positions = bind_classes(scheme, self._classes).tolist()
        names = [scheme.classes[position] for position in positions]
        is_answered = columns < len(names)  # the last label may be that for no prediction
        rows, columns, counts = rows[is_answered], columns[is_answered], counts[is_answered]
        true, found = ([names[k] for k in places.tolist()] for places in (rows, columns))
        score = metrics.hierarchical_score(true, found, scheme, sample_weight=counts)
        return {f"hierarchical_{name}": value for name, value in score._asdict().items()}
