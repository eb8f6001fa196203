"""Bins of a continuous target, and predicted distributions over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import ArgumentError
from polytomy.inputs.arguments import count_things
from polytomy.inputs.numbers import check_levels
from polytomy.metrics.continuous import crps_of_bins
from polytomy.states import State, stored_as

Floats = NDArray[np.float64]

# Of levels with the ends of bins, at a time.
_COMPARISONS = 1_000_000


class BinnedDistribution:
    """One distribution per sample: probabilities of bins that all samples share.

    The distribution function is linear inside a bin. A bin without width has all its mass at one
    value. There is no mass outside the first and last edges. The methods have the same names as in
    scipy.stats.

    Parameters
    ----------
    edges : array of shape (n_bins + 1,), not decreasing
    masses : array of shape (n_samples, n_bins), probabilities that sum to one in each row

    Examples
    --------
    >>> distribution = BinnedDistribution([0.0, 1.0, 3.0], [[0.5, 0.5], [0.0, 1.0]])
    >>> distribution.cdf(2.0), distribution.ppf(0.75), distribution.mean()
    (array([0.75, 0.5 ]), array([2. , 2.5]), array([1.25, 2.  ]))
    """

    def __init__(self, edges: ArrayLike, masses: ArrayLike) -> None:
        self.edges: Floats = np.array(edges, dtype=np.float64)
        self.masses: Floats = np.array(masses, dtype=np.float64)
        if self.edges.ndim != 1 or self.masses.shape[1:] != (len(self.edges) - 1,):
            raise ArgumentError(
                f"masses of shape {self.masses.shape} need one edge more than they have columns; "
                f"edges has shape {self.edges.shape}."
            )
        if not np.isfinite(self.edges).all() or np.any(np.diff(self.edges) < 0):
            raise ArgumentError("edges must be finite, and must not decrease.")
        totals = self.masses.sum(axis=1)
        if np.any(self.masses < 0) or not np.all(np.abs(totals - 1.0) < 1e-6):
            raise ArgumentError("masses must not be negative, and must sum to one in each row.")
        cumulative = np.zeros((len(self.masses), len(self.edges)))
        np.cumsum(self.masses, axis=1, out=cumulative[:, 1:])
        cumulative /= cumulative[:, -1:]
        self._cumulative = cumulative
        for array in (self.edges, self.masses, self._cumulative):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.masses)

    def __getitem__(self, rows: Any) -> BinnedDistribution:
        """Return the distributions of some samples."""
        return BinnedDistribution(self.edges, np.atleast_2d(self.masses[rows]))

    def __repr__(self) -> str:
        low, high = self.edges[[0, -1]]
        return (
            f"<BinnedDistribution of {count_things(len(self), 'sample')}: "
            f"{self.masses.shape[1]} bins from {low:.4g} to {high:.4g}>"
        )

    # -- functions -------------------------------------------------------------------------------

    def cdf(self, y: ArrayLike) -> Floats:
        """Return the probability of values up to and including `y`.

        Parameters
        ----------
        y : number, array of shape (n_samples,), or array of shape (n_samples, n_points) or
            (1, n_points)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_points)
        """
        return self._interpolate(y, "right")

    def cdf_before(self, y: ArrayLike) -> Floats:
        """Return the probability of values below `y`, which is less than `cdf` only at atoms."""
        return self._interpolate(y, "left")

    def pdf(self, y: ArrayLike) -> Floats:
        """Return the density at `y`; infinite where a bin without width has mass.

        Parameters and result are as for `cdf`. At an edge, it is the density of the bin above.
        """
        points, is_flat = self._points(y, "y")
        width = np.diff(self.edges)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            density = np.where(self.masses > 0, self.masses / width, 0.0)
        outside = np.zeros((len(self), 1))
        density = np.hstack([density, outside])  # also for y above the last edge
        place = np.searchsorted(self.edges, points, side="right") - 1
        is_last = points == self.edges[-1]  # the last bin includes its upper end
        place = np.where(is_last, len(width) - 1, place)
        rows = np.arange(len(self))[:, np.newaxis]
        answer = np.where(place < 0, 0.0, density[rows, place])
        for atom in np.flatnonzero(width == 0):
            is_here = points == self.edges[atom]
            answer = np.where(is_here & (self.masses[:, [atom]] > 0), np.inf, answer)
        return self._result(answer, is_flat)

    def ppf(self, level: ArrayLike) -> Floats:
        """Return quantiles: the smallest values whose `cdf` is at least `level`.

        Parameters
        ----------
        level : number from 0 to 1, or an array of any shape that `cdf` takes

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_levels)
        """
        check_levels("level", level)
        levels, is_flat = self._points(level, "level")
        levels = np.broadcast_to(levels, (len(self), levels.shape[1]))
        answer = np.empty(levels.shape)
        rows = np.arange(len(self))[:, np.newaxis]
        ends = self._cumulative[:, 1:]
        # As many levels at a time as keep the comparison with all bins small.
        step = max(1, _COMPARISONS // max(1, ends.size))
        for start in range(0, levels.shape[1], step):
            own = levels[:, start : start + step]
            bound, end = own[:, :, np.newaxis], ends[:, np.newaxis]
            is_below = np.where(bound > 0, end < bound, end <= 0)
            place = np.minimum(is_below.sum(axis=2), ends.shape[1] - 1)
            before, after = self._cumulative[rows, place], ends[rows, place]
            low, high = self.edges[place], self.edges[place + 1]
            mass = after - before
            share = np.divide(own - before, mass, out=np.zeros(own.shape), where=mass > 0)
            inside = np.clip(low + np.clip(share, 0.0, 1.0) * (high - low), low, high)
            answer[:, start : start + step] = inside
        return self._result(answer, is_flat)

    def interval(self, confidence: float) -> tuple[Floats, Floats]:
        """Return both ends of the interval with equal probability on either side of it.

        Its coverage is that of the predicted probabilities; the regressor's ``predict_interval``
        corrects it.
        """
        tail = 0.5 * (1.0 - float(check_levels("confidence", confidence)))
        return self.ppf(tail), self.ppf(1.0 - tail)

    # -- numbers ---------------------------------------------------------------------------------

    def mean(self) -> Floats:
        """Return the mean of each distribution, never outside the first and last edges.

        Means of positive values keep their relative precision, however different the values are.
        """
        # Sums are for each row alone, so that one sample and many have the same mean.
        totals = (self.masses * self._middles()).sum(axis=1) / self.masses.sum(axis=1)
        return np.asarray(np.clip(totals, *self.support()))

    def median(self) -> Floats:
        """Return the median of each distribution."""
        return self.ppf(0.5)

    def var(self) -> Floats:
        """Return the variance of each distribution."""
        return np.asarray(self.std() ** 2)

    def std(self) -> Floats:
        """Return the standard deviation of each distribution."""
        scale = float(self.edges[-1] - self.edges[0])
        if scale == 0.0:
            return np.zeros(len(self))
        # In units of the whole range, squares neither overflow nor underflow.
        deviations = self._middles() / scale - self.mean()[:, np.newaxis] / scale
        squares = deviations**2 + (np.diff(self.edges) / scale) ** 2 / 12.0
        return np.asarray(scale * np.sqrt(np.sum(self.masses * squares, axis=1)))

    def support(self) -> tuple[float, float]:
        """Return the first and last edges, which enclose all the mass."""
        return float(self.edges[0]), float(self.edges[-1])

    def crps(self, y: ArrayLike) -> Floats:
        """Return the continuous ranked probability score of each sample; see `metrics.crps`.

        Parameters
        ----------
        y : array of shape (n_samples,), true values
        """
        values = np.asarray(y, dtype=np.float64)
        if values.shape != (len(self),):
            raise ArgumentError(f"y has shape {values.shape}; pass {len(self)} values.")
        return crps_of_bins(values, self.edges, self.masses)

    # -- parts of the above ----------------------------------------------------------------------

    def _middles(self) -> Floats:
        return np.asarray(0.5 * self.edges[:-1] + 0.5 * self.edges[1:])

    def _interpolate(self, y: ArrayLike, side: Any) -> Floats:
        points, is_flat = self._points(y, "y")
        place = np.searchsorted(self.edges, points, side=side) - 1
        inside = np.clip(place, 0, len(self.edges) - 2)
        low, width = self.edges[inside], np.diff(self.edges)[inside]
        with np.errstate(invalid="ignore"):  # for infinite points
            share = np.divide(points - low, width, out=np.zeros(points.shape), where=width > 0)
        rows = np.arange(len(self))[:, np.newaxis]
        before, after = self._cumulative[rows, inside], self._cumulative[rows, inside + 1]
        answer = before + np.clip(share, 0.0, 1.0) * (after - before)
        answer = np.where(place < 0, 0.0, np.where(place > len(self.edges) - 2, 1.0, answer))
        return self._result(answer, is_flat)

    def _points(self, values: ArrayLike, name: str) -> tuple[Floats, bool]:
        """Return points as a table of one row or a row per sample, and whether to undo that."""
        points = np.asarray(values, dtype=np.float64)
        if np.isnan(points).any():
            raise ArgumentError(f"{name} has NaN.")
        if points.ndim == 0:
            return points.reshape(1, 1), True
        if points.shape == (len(self),):
            return points[:, np.newaxis], True
        if points.ndim == 2 and len(points) in (1, len(self)):
            return points, False
        raise ArgumentError(
            f"{name} has shape {points.shape}; pass a number, {len(self)} numbers, or an array of "
            f"shape ({len(self)}, n) or (1, n)."
        )

    def _result(self, answer: Floats, is_flat: bool) -> Floats:
        answer = np.broadcast_to(answer, (len(self), answer.shape[1]))
        return np.array(answer[:, 0] if is_flat else answer)


# -- Bins of a continuous target: the classes of the classifier behind a regressor --


Indices = NDArray[np.intp]

# The number of bins grows with the square root of the number of samples. On data used for no other
# result, these were the fewest bins with close to the best scores.
_BINS_PER_ROOT = 1.2
_MOST_BINS = 30
# A value is an atom if it has this share of its bin, and the weight of this many samples.
_ATOM_SHARE = 0.25
_ATOM_SAMPLES = 5.0
# Bins with less than both of these, half a bin and a few samples, are joined to a neighbour. So
# are bins of one sample, which a classifier cannot learn.
_FEWEST_SHARE = 0.5
_FEWEST_SAMPLES = 5.0
_MORE_THAN_ONE = 1.5


@stored_as("bins")
@dataclass(frozen=True, slots=True, eq=False)
class TargetBins:
    """Bins of a number, and how the training values are spread inside each of them.

    A bin consists of pieces, and the distribution function is linear on each piece. Most bins are
    one piece. The first and last bins, which extend to the extremes, have finer pieces towards
    them. A piece without width is an atom: many training values are the same.

    Attributes
    ----------
    last_values : array of shape (n_bins,), the largest training value of each bin
    edges : array of shape (n_pieces + 1,), not decreasing, from the smallest training value to the
        largest
    bin_of : array of shape (n_pieces,), the bin of each piece, ascending
    shares : array of shape (n_pieces,)
        The share of its bin's probability that each piece gets; they sum to one in each bin.
    """

    last_values: Floats
    edges: Floats
    bin_of: Indices
    shares: Floats

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.last_values)

    def assign(self, y: Floats) -> Indices:
        """Return the bin of each training value."""
        return np.searchsorted(self.last_values[:-1], y, side="left")

    def spread(self, probabilities: Floats) -> Floats:
        """Return the masses of the pieces, given the probabilities of the bins.

        Parameters
        ----------
        probabilities : array of shape (n_samples, n_bins)
        """
        return np.asarray(probabilities[:, self.bin_of] * self.shares)

    @classmethod
    def from_state(cls, state: State) -> TargetBins:
        """Return the bins of a state."""
        largest = np.finfo(np.float64).max / 2  # the difference of two values must be finite
        last_values = state.floats("last_values", (None,), -largest, largest)
        edges = state.floats("edges", (None,), -largest, largest)
        n_bins, n_pieces = len(last_values), len(edges) - 1
        if not n_bins or np.any(np.diff(last_values) <= 0):
            raise state.fault("last_values", "an array of ascending numbers")
        if n_pieces < 1 or np.any(np.diff(edges) < 0):
            raise state.fault("edges", "an array of numbers that do not decrease")
        bin_of = state.indices("bin_of", n_bins, n_pieces)
        if np.any(np.diff(bin_of) < 0):
            raise state.fault("bin_of", "an array of bins in order")
        shares = state.floats("shares", (n_pieces,), least=0.0)
        if np.any(np.abs(np.bincount(bin_of, shares, n_bins) - 1) > 1e-6):
            raise state.fault("shares", "an array of shares that sum to one in each bin")
        return cls(last_values, edges, bin_of, shares)


def choose_n_bins(n_values: float) -> int:
    """Return the number of bins for a number of training values.

    Examples
    --------
    >>> [choose_n_bins(n) for n in (2, 10, 100, 1000, 10_000, 100_000)]
    [2, 4, 12, 30, 30, 30]
    """
    return int(np.clip(np.round(_BINS_PER_ROOT * np.sqrt(n_values)), 2, _MOST_BINS))


def make_bins(y: Floats, weight: Floats, n_bins: int | None) -> TargetBins:
    """Return bins of about the same weight; none is empty.

    A value with the weight of several bins is one bin. If there are no more distinct values than
    bins, each value that repeats is a bin.

    Parameters
    ----------
    y : array of shape (n_samples,), finite
    weight : array of shape (n_samples,), not all zero
        A weight of two counts as two samples; samples without weight are ignored.
    n_bins : int, the maximum number of bins; None leaves the choice to `choose_n_bins`

    Examples
    --------
    >>> bins = make_bins(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0]), np.ones(9), 3)
    >>> bins.last_values, bins.edges
    (array([0., 2., 4.]), array([0. , 0. , 2.5, 3.5, 4. ]))
    """
    is_counted = weight > 0
    values, inverse = np.unique(y[is_counted], return_inverse=True)
    mass: Floats = np.bincount(inverse, weight[is_counted]).astype(np.float64)
    # Weights that sum to one say nothing about the number of samples.
    n_samples = max(float(mass.sum()), float(len(values)))
    mass = np.asarray(mass / mass.sum())
    if n_bins is None:
        n_bins = choose_n_bins(n_samples)
    bin_of = _join_values(mass, n_bins, n_samples)
    groups = _divide_bins(values, mass, bin_of, n_samples)
    is_last = np.append(bin_of[1:] != bin_of[:-1], True)
    return _lay_out(groups, values[is_last])


def _join_values(mass: Floats, n_bins: int, n_samples: float) -> Indices:
    """Return the bin of each value; bins have about the same mass, and none is too small."""
    bin_of = np.arange(len(mass))
    if len(mass) > n_bins:
        bin_of = _share_bins(mass, n_bins)
    few = min(_FEWEST_SAMPLES / n_samples, _FEWEST_SHARE / n_bins)
    fewest = max(few, _MORE_THAN_ONE / n_samples)
    while bin_of[-1] > 0:
        masses = np.bincount(bin_of, mass)
        lightest = int(np.argmin(masses))
        if len(masses) <= n_bins and masses[lightest] >= fewest:
            break
        sides = [k for k in (lightest - 1, lightest + 1) if 0 <= k < len(masses)]
        neighbour = min(sides, key=lambda k: masses[k])
        bin_of = np.where(bin_of >= max(lightest, neighbour), bin_of - 1, bin_of)
    return bin_of


def _share_bins(mass: Floats, n_bins: int) -> Indices:
    """Return the bin of each value, with a few bins too many around heavy values.

    A value with the mass of a bin or more takes one bin, and the other values share the rest.
    """
    is_heavy = mass >= 1.0 / n_bins
    n_light = n_bins - np.count_nonzero(is_heavy)
    sizes = np.where(is_heavy, 1.0, mass * (n_light / mass[~is_heavy].sum()))  # in bins
    slot = np.floor(np.cumsum(sizes) - 0.5 * sizes)
    is_start = np.append(True, np.diff(slot) > 0) | is_heavy | np.append(False, is_heavy[:-1])
    return np.asarray(np.cumsum(is_start) - 1)


class _Groups(NamedTuple):
    """Neighbouring values that form one piece of a bin, with the data that `_lay_out` needs."""

    first: Floats
    last: Floats
    is_atom: NDArray[np.bool_]
    bin_of: Indices
    shares: Floats


def _divide_bins(values: Floats, mass: Floats, bin_of: Indices, n_samples: float) -> _Groups:
    total = np.bincount(bin_of, mass)
    share = mass / total[bin_of]
    n_values = np.bincount(bin_of)
    is_heavy = (share >= _ATOM_SHARE) & (mass * n_samples >= _ATOM_SAMPLES)
    is_heavy |= n_values[bin_of] == 1
    piece = np.zeros(len(values))
    last = bin_of[-1]
    for outer in {0, last}:  # inner bins are one piece
        own = bin_of == outer
        middles = np.cumsum(share[own]) - 0.5 * share[own]
        piece[own] = _number_tail(middles, outer == 0, outer == last)
    starts = np.flatnonzero(
        np.append(True, np.diff(bin_of) > 0)
        | np.append(True, np.diff(piece) != 0)
        | is_heavy
        | np.append(False, is_heavy[:-1])
    )
    ends = np.append(starts[1:], len(values)) - 1
    shares = np.add.reduceat(share, starts)
    return _Groups(values[starts], values[ends], is_heavy[starts], bin_of[starts], shares)


def _number_tail(middles: Floats, is_first: bool, is_last: bool) -> Floats:
    """Return a number for each value of the first or the last bin, the same within a piece.

    Each piece has half the mass of the previous one, towards the extreme, so that a tail or an
    outlier gets no more mass than it has.

    Parameters
    ----------
    middles : array of shape (n_values,), ascending, the mass of the bin up to the middle of each
        value
    is_first, is_last : bool, whether it is the first and whether it is the last bin; the only bin
        has two tails
    """
    outside = middles if is_first else 1.0 - middles
    if is_first and is_last:
        outside = 2.0 * np.minimum(middles, 1.0 - middles)
    piece = np.floor(-np.log2(np.maximum(outside, np.finfo(np.float64).tiny)))
    is_lower = (middles < 0.5) & is_first & is_last
    return np.asarray(np.where(is_lower, -1.0 - piece, piece))


def _lay_out(groups: _Groups, last_values: Floats) -> TargetBins:
    """Return bins whose pieces meet halfway between values, or at an atom."""
    edges: list[float] = [float(groups.first[0])]
    bin_of: list[int] = []
    shares: list[float] = []
    n_groups = len(groups.first)
    for k in range(n_groups):
        own = int(groups.bin_of[k])
        if groups.is_atom[k] and groups.first[k] > edges[-1]:
            # Nothing lies between two neighbouring atoms.
            edges.append(float(groups.first[k]))
            bin_of.append(own)
            shares.append(0.0)
        upper = float(groups.last[k])
        if not groups.is_atom[k] and k < n_groups - 1:
            after = float(groups.first[k + 1])
            upper = after if groups.is_atom[k + 1] else 0.5 * upper + 0.5 * after
        edges.append(upper)
        bin_of.append(own)
        shares.append(float(groups.shares[k]))
    return TargetBins(
        last_values, np.array(edges), np.array(bin_of, dtype=np.intp), np.array(shares)
    )
