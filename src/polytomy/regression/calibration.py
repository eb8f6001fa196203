"""Calibration of predicted distributions and of intervals, on out-of-fold predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from polytomy.regression.distribution import BinnedDistribution
from polytomy.states import LARGEST, State, stored_as

Floats = NDArray[np.float64]

# A slope of zero would put all mass into the outermost bins.
_SMALLEST_SLOPE = 0.05
# Two parameters need no more rows than this.
_MOST_ROWS = 2**15
_TINY = np.finfo(np.float64).tiny
# Number of extra samples that may be anywhere: the new one, and one more because folds are
# stratified, so out-of-fold predictions know the frequencies of the bins better than predictions
# for new samples do. With one, intervals from 40 to 100 training samples covered about one point
# too little.
_ADDED_SAMPLES = 2.0
# Allows for rounding where an atom begins exactly at the end of an interval.
_NUDGE = 1e-10
# Maximum number of distances. More would only change the fourth digit of a confidence level.
_MOST_DISTANCES = 2**14


@stored_as("cumulative scaling")
@dataclass(frozen=True, slots=True)
class CumulativeScaling:
    """F → σ(slope · logit F + shift), for the probabilities F of all values up to a border.

    Bins are calibrated as classes, which have no order, so a row of bins can be right on average
    and still be too wide or too low as a whole. This map corrects that.

    Attributes
    ----------
    slope : float, positive; above one makes distributions narrower
    shift : float; above zero makes values smaller
    """

    slope: float = 1.0
    shift: float = 0.0

    @classmethod
    def from_state(cls, state: State) -> CumulativeScaling:
        """Return the scaling of a state."""
        return cls(state.number("slope", least=1 / LARGEST), state.number("shift"))

    def apply(self, probabilities: Floats) -> Floats:
        """Return calibrated probabilities of the bins.

        Parameters
        ----------
        probabilities : array of shape (n_samples, n_bins)

        Examples
        --------
        >>> CumulativeScaling(slope=2.0).apply(np.array([[0.2, 0.6, 0.2]])).round(3)
        array([[0.059, 0.882, 0.059]])
        """
        if self.slope == 1.0 and self.shift == 0.0:
            return probabilities
        log_odds = self.slope * _log_odds(probabilities) + self.shift
        below, above = expit(log_odds), expit(-log_odds)
        # The differences of the smaller of the two keep their digits.
        first, last = np.zeros((len(below), 1)), np.ones((len(below), 1))
        from_below = np.diff(np.hstack([first, below, last]), axis=1)
        from_above = -np.diff(np.hstack([last, above, first]), axis=1)
        is_low = np.hstack([below, last]) < 0.5
        scaled = np.maximum(np.where(is_low, from_below, from_above), 0.0)
        return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


def fit_cumulative_scaling(
    probabilities: Floats, bin_indices: NDArray[np.intp], weight: Floats
) -> CumulativeScaling:
    """Return the likeliest scaling, given probabilities from models that have not seen the samples.

    The likelihood is that of an ordered logit model, which is log-concave. A prior keeps the slope
    near one and the shift near zero if there are few samples.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_bins)
    bin_indices : array of shape (n_samples,), the bin of each sample
    weight : array of shape (n_samples,); a weight of two counts as two samples
    """
    if probabilities.shape[1] < 3:
        return CumulativeScaling()  # there is nothing to calibrate
    step = -(-len(weight) // _MOST_ROWS)
    rows = np.arange(0, len(weight), step)
    problem = _Problem.of(probabilities[rows], bin_indices[rows], step * weight[rows])
    found = minimize(
        problem.loss_and_gradient,
        np.array([1.0, 0.0]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(_SMALLEST_SLOPE, None), (None, None)],
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    return CumulativeScaling(float(found.x[0]), float(found.x[1]))


class _Problem(NamedTuple):
    """Log-odds of the lower and upper borders of each sample's bin; infinite at the ends."""

    lower: Floats
    upper: Floats
    weight: Floats

    @classmethod
    def of(cls, probabilities: Floats, bin_indices: NDArray[np.intp], weight: Floats) -> _Problem:
        infinite = np.full((len(weight), 1), np.inf)
        borders = np.hstack([-infinite, _log_odds(probabilities), infinite])
        rows = np.arange(len(weight))
        return cls(borders[rows, bin_indices], borders[rows, bin_indices + 1], weight)

    def loss_and_gradient(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the penalised mean of −log P(bin), and its gradient."""
        slope, shift = parameters
        lower, upper = slope * self.lower + shift, slope * self.upper + shift
        # σ(u) − σ(l) = σ(u) σ(−l) (1 − exp(l − u))
        distance = np.maximum(upper - lower, _TINY)
        logarithm = log_expit(upper) + log_expit(-lower) + np.log(-np.expm1(-distance))
        near = 1.0 / np.expm1(np.minimum(distance, 700.0))
        by_upper, by_lower = expit(-upper) + near, -expit(lower) - near
        total = self.weight.sum()
        loss = (-self.weight @ logarithm + 0.5 * ((slope - 1.0) ** 2 + shift**2)) / total
        by_slope = by_upper * _finite(self.upper) + by_lower * _finite(self.lower)
        by_shift = by_upper * np.isfinite(self.upper) + by_lower * np.isfinite(self.lower)
        gradient = np.array([slope - 1.0 - self.weight @ by_slope, shift - self.weight @ by_shift])
        return float(loss), gradient / total


def _finite(log_odds: Floats) -> Floats:
    """Return log-odds with zero for the ends, which no parameter affects."""
    return np.where(np.isfinite(log_odds), log_odds, 0.0)


def _log_odds(probabilities: Floats) -> Floats:
    """Return the log-odds of being below each border between bins, of shape (n, n_bins − 1)."""
    below = np.cumsum(probabilities, axis=1)[:, :-1]
    above = np.cumsum(probabilities[:, ::-1], axis=1)[:, -2::-1]
    return np.asarray(np.log(np.maximum(below, _TINY)) - np.log(np.maximum(above, _TINY)))


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
