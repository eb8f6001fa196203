"""Vector scaling: from decision values of several sides to probabilities (Guo et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from polytomy.states import LARGEST, State, stored_as

Floats = NDArray[np.float64]


@stored_as("vector scaling")
@dataclass(frozen=True, slots=True, eq=False)
class VectorScaling:
    """Probabilities softmax(a·v + b), with a slope and an intercept for each side.

    Attributes
    ----------
    slopes : array of shape (n_sides,), a > 0
    intercepts : array of shape (n_sides,), b

    Examples
    --------
    >>> VectorScaling(np.ones(2), np.zeros(2)).apply(np.array([[0.0, np.log(3)]]))
    array([[0.25, 0.75]])
    """

    slopes: Floats
    intercepts: Floats

    def apply(self, values: Floats) -> Floats:
        """Return the probabilities; −inf in a column means that the side is not known."""
        logits = values * self.slopes + self.intercepts
        logits -= logits.max(axis=1, keepdims=True)
        masses = np.exp(logits)
        probabilities: Floats = masses / masses.sum(axis=1, keepdims=True)
        return probabilities

    @classmethod
    def from_state(cls, state: State) -> VectorScaling:
        """Return the scaling of a state."""
        slopes = state.floats("slopes", (None,), least=1 / LARGEST)
        return cls(slopes, state.floats("intercepts", slopes.shape))


def fit_vector_scaling(
    values: Floats,
    sides: NDArray[np.intp],
    weight: Floats | None = None,
    *,
    common_slope: bool = False,
) -> VectorScaling:
    """Return the vector scaling of maximum likelihood, with a weak prior.

    The logarithms of the slopes, in units of the spread of the values, and the intercepts have unit
    Gaussian priors. So the slopes stay finite even if all samples are on their own side.

    Parameters
    ----------
    values : array of shape (n_samples, n_sides), decision values of held-out samples
    sides : array of shape (n_samples,), the side of each sample
    weight : array of shape (n_samples,), optional
    common_slope : bool, default=False
        Whether all sides have the same slope and no intercepts: temperature scaling.
    """
    n_samples, n_sides = values.shape
    weight = np.ones(n_samples) if weight is None else weight
    spread = float(values.std()) or 1.0
    scaled = values / spread
    is_own = sides[:, np.newaxis] == np.arange(n_sides)

    def loss_and_slope(parameters: Floats) -> tuple[float, Floats]:
        log_slopes, intercepts = _spread_parameters(parameters, n_sides, common_slope)
        slopes = np.exp(log_slopes)
        logits = scaled * slopes + intercepts
        logits -= logits.max(axis=1, keepdims=True)
        masses = np.exp(logits)
        totals = masses.sum(axis=1, keepdims=True)
        loss = weight @ (np.log(totals[:, 0]) - logits[is_own])
        error = weight[:, np.newaxis] * (masses / totals - is_own)
        of_slopes, of_intercepts = (error * scaled).sum(axis=0) * slopes, error.sum(axis=0)
        if common_slope:
            gradient = np.array([of_slopes.sum()])
        else:
            gradient = np.concatenate([of_slopes, of_intercepts])
        return float(loss + 0.5 * parameters @ parameters), gradient + parameters

    start = np.zeros(1 if common_slope else 2 * n_sides)
    found = scipy.optimize.minimize(loss_and_slope, start, jac=True, method="L-BFGS-B").x
    log_slopes, intercepts = _spread_parameters(found, n_sides, common_slope)
    return VectorScaling(np.exp(log_slopes) / spread, intercepts)


def _spread_parameters(
    parameters: Floats, n_sides: int, common_slope: bool
) -> tuple[Floats, Floats]:
    if common_slope:
        return np.full(n_sides, parameters[0]), np.zeros(n_sides)
    return parameters[:n_sides], parameters[n_sides:]
