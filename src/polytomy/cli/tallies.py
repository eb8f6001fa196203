"""Scores of predictions that are added up block by block, so that memory is bounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Tally", "add_tallies", "tally_block"]

_BINS = 15


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """What is known about the predictions of some samples.

    Attributes
    ----------
    confusion : array of shape (n_classes, n_classes), samples by true and predicted class
    sums : array with the sums over samples of the squared Brier score, the squared Brier score of
        the winner, the log-loss and the ranked probability score; None without probabilities
    reliability : array of shape (3, n_classes, n_bins)
        Samples, summed probabilities and summed frequencies by bin; None without probabilities
    """

    confusion: NDArray[Any]
    sums: NDArray[Any] | None = None
    reliability: NDArray[Any] | None = None

    def __add__(self, other: Tally) -> Tally:
        if self.sums is None or other.sums is None:
            return Tally(self.confusion + other.confusion)
        return Tally(
            self.confusion + other.confusion,
            self.sums + other.sums,
            self.reliability + other.reliability,  # type: ignore[operator]
        )

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.confusion.sum())

    @property
    def pairs(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """True and predicted class indices that occur together, and how often."""
        true, predicted = self.confusion.nonzero()
        return true, predicted, self.confusion[true, predicted]

    def measure(self) -> dict[str, float]:
        """Return the scores of the predictions, and of the probabilities if there are any."""
        import numpy as np

        from polytomy.metrics.scores import uncertainty_coefficient_of_indices

        n_samples = self.n_samples
        true, predicted, count = self.pairs
        measured = {
            "accuracy": float(np.trace(self.confusion) / n_samples),
            "uncertainty_coefficient": uncertainty_coefficient_of_indices(
                true, predicted, count.astype(np.float64)
            ),
        }
        if self.sums is not None:
            brier, winner, loss, _ = (self.sums / n_samples).tolist()
            measured |= {
                "brier_score": brier**0.5,
                "winner_brier_score": winner**0.5,
                "log_loss": loss,
                "calibration_error": self._calibration_error(),
            }
        return measured

    @property
    def ranked_probability_score(self) -> float | None:
        """The ranked probability score; None without probabilities."""
        return None if self.sums is None else float(self.sums[3] / self.n_samples)

    def _calibration_error(self) -> float:
        import numpy as np

        assert self.reliability is not None
        _, predicted, observed = self.reliability
        return float(np.mean(np.abs(predicted - observed).sum(axis=1) / self.n_samples))


def tally_block(
    y: NDArray[Any],
    predicted: NDArray[Any],
    P: NDArray[Any] | None,
    classes: NDArray[Any],
    order: Sequence[Any] | None = None,
) -> Tally:
    """Return the tally of one block of samples.

    Parameters
    ----------
    y, predicted : arrays of true and predicted labels
    P : array of probabilities, or None
    classes : array of all labels, sorted
    order : the labels from first to last, if they are ordered
    """
    import numpy as np

    from polytomy import metrics

    table = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(table, (np.searchsorted(classes, y), np.searchsorted(classes, predicted)), 1)
    if P is None:
        return Tally(table)
    means = [
        metrics.brier_score(y, P, classes) ** 2,
        metrics.winner_brier_score(y, P, classes) ** 2,
        metrics.log_loss(y, P, classes),
        0.0
        if order is None
        else metrics.ranked_probability_score(y, P, classes, class_order=order),
    ]
    bins = metrics.reliability_table(y, P, classes, bins=_BINS)
    filled = bins["weight"] > 0
    sums = [
        np.where(filled, bins["weight"] * bins[name], 0.0) for name in ("predicted", "observed")
    ]
    return Tally(table, len(y) * np.array(means), np.stack([bins["weight"], *sums]))


def add_tallies(tallies: Sequence[Tally]) -> Tally:
    """Return the tally of the samples of all tallies; at least one."""
    return reduce(Tally.__add__, tallies)
