"""Conformal correction of intervals, from out-of-fold predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.regression.distribution import BinnedDistribution
from polytomy.states import LARGEST, State, field_values, stored_as

__all__ = ["IntervalCorrection", "distance_to_median"]

Floats = NDArray[np.float64]

# Number of extra samples that may be anywhere: the new one, and one more because folds are
# stratified, so out-of-fold predictions know the frequencies of the bins better than predictions
# for new samples do. With one, intervals from 40 to 100 training samples covered about one point
# too little.
_ADDED_SAMPLES = 2.0
# Allows for rounding where an atom begins exactly at the end of an interval.
_NUDGE = 1e-10
# Maximum number of distances. More would only change the fourth digit of a confidence level.
_MOST_DISTANCES = 2**14


def distance_to_median(predicted: BinnedDistribution, y: Floats) -> Floats:
    """Return |F(y) − ½| for the distribution F of each sample.

    If y is an atom, it is the smallest d such that some of its probability lies between ½ − d and
    ½ + d; negative if ½ is inside the atom.

    Examples
    --------
    >>> predicted = BinnedDistribution([0.0, 0.0, 1.0], [[0.6, 0.4], [0.6, 0.4], [0.2, 0.8]])
    >>> distance_to_median(predicted, np.array([0.0, 1.0, 0.0])).round(2)
    array([-0.1,  0.5,  0.3])
    """
    return np.asarray(np.maximum(0.5 - predicted.cdf(y), predicted.cdf_before(y) - 0.5))


@stored_as("interval correction")
@dataclass(frozen=True, slots=True, eq=False)
class IntervalCorrection:
    """How far true values are from the median, in probability, out of fold.

    The interval from the predicted quantile ½ − d to ½ + d has confidence c if a share c of the
    training values are within d of their predicted medians (distributional conformal
    prediction; Chernozhukov, Wüthrich and Zhu 2021).

    Attributes
    ----------
    distances : array of shape (n_distances,), ascending
    reached : array of shape (n_distances,), the share of the samples within each distance
    n_effective : float, the number of samples; fewer if their weights differ
    """

    distances: Floats
    reached: Floats
    n_effective: float

    def state(self) -> dict[str, Any]:
        """Return all fields."""
        return field_values(self)

    @classmethod
    def from_state(cls, state: State) -> IntervalCorrection:
        """Return the correction of a state."""
        distances = state.floats("distances", (None,), -1.0, 1.0)
        reached = state.floats("reached", distances.shape, most=1 + 1e-6)
        if not len(distances) or np.any(np.diff(distances) < 0):
            raise state.fault("distances", "an array of ascending numbers")
        if np.any(np.diff(reached) < 0):
            raise state.fault("reached", "an array of ascending numbers")
        return cls(distances, reached, state.number("n_effective", least=1 / LARGEST))

    @classmethod
    def learn(cls, distances: Floats, weight: Floats) -> IntervalCorrection:
        """Return the correction learnt from out-of-fold predictions of training values.

        Parameters
        ----------
        distances : array of shape (n_samples,), from `distance_to_median`
        weight : array of shape (n_samples,), positive
        """
        order = np.argsort(distances, kind="stable")
        weight = weight[order] / weight.max()
        reached = np.cumsum(weight)
        step = -(-len(order) // _MOST_DISTANCES)
        kept = np.arange(len(order) - 1, -1, -step)[::-1]
        n_effective = float(reached[-1] ** 2 / np.sum(weight**2))
        return cls(distances[order][kept], reached[kept] / reached[-1], n_effective)

    def half_width(self, confidence_level: float) -> float:
        """Return d for a confidence level; ½, the whole range, if there are too few samples.

        Examples
        --------
        >>> correction = IntervalCorrection(np.linspace(0.01, 0.48, 48), np.arange(1, 49) / 48, 48)
        >>> round(correction.half_width(0.8), 6)  # 40 of 48, and of 50 if two may be anywhere
        0.4
        >>> correction.half_width(0.99)
        0.5
        """
        needed = confidence_level * (1.0 + _ADDED_SAMPLES / self.n_effective)
        place = int(np.searchsorted(self.reached, needed - 1e-12))
        if place == len(self.reached):
            return 0.5
        return float(np.clip(self.distances[place] + _NUDGE, 0.0, 0.5))
