"""Predicted distributions of a number: bins with probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import ArgumentError
from polytomy.inputs.numbers import check_levels
from polytomy.metrics.continuous import crps_of_bins

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
            f"<BinnedDistribution of {len(self)} samples: {self.masses.shape[1]} bins from "
            f"{low:.4g} to {high:.4g}>"
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
        """Return the mean of each distribution."""
        centre = self._centre()
        return np.asarray(centre + self.masses @ (self._middles() - centre))

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
        middles = (self._middles() - self._centre()) / scale
        widths = np.diff(self.edges) / scale
        means = (self.masses @ middles)[:, np.newaxis]
        squares = (middles - means) ** 2 + widths**2 / 12.0
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

    def _centre(self) -> float:
        return float(0.5 * self.edges[0] + 0.5 * self.edges[-1])

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
