"""Random Fourier features: cosines whose inner products approximate an rbf kernel.

They are computed in single precision, in which NumPy's cosine is 20 times as fast. The error of a
feature is about 1e-6, and that of the approximation itself is far larger.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from polytomy.inputs.sparse import is_sparse
from polytomy.inputs.training_data import Samples
from polytomy.onnx_graph import Graph, Value
from polytomy.states import State, stored_as

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# Singles have too few digits for the angle after several turns.
_MOST_RADIANS = 30.0


@stored_as("estimator/fourier")
class FourierFeatures(BaseEstimator):  # type: ignore[misc]
    """A transformer from x to cos((x − c)·W + b) (Rahimi and Recht 2007).

    Parameters
    ----------
    centre : array of shape (n_features,), c
        Subtracted before rounding, so that large values keep the digits that differ.
    frequencies : array of shape (n_features, n_components), W
    phases : array of shape (n_components,), b

    Examples
    --------
    The mean product of the features of two samples is half the kernel value, exp(−γ|x − y|²).

    >>> features = FourierFeatures.draw(np.zeros(1), 20_000, gamma=0.5, seed=0)
    >>> values = features.transform(np.array([[0.0], [1.0]]))
    >>> print(f"{2 * np.mean(values[0] * values[1]):.2f} {np.exp(-0.5):.2f}")
    0.60 0.61
    """

    def __init__(self, centre: Floats, frequencies: Singles, phases: Singles) -> None:
        self.centre = centre
        self.frequencies = frequencies
        self.phases = phases

    @classmethod
    def draw(
        cls,
        centre: Floats,
        n_components: int,
        gamma: float,
        seed: int,
        factor: Floats | float = 1.0,
    ) -> FourierFeatures:
        """Return random features of the kernel exp(−γ|f(x − y)|²), with f the factor.

        The frequencies come in blocks of orthogonal vectors, which approximate the kernel better
        than independent ones (Yu and others 2016).
        """
        generator = np.random.default_rng(seed)
        n_features = len(centre)
        n_blocks, width = -(-n_components // n_features), min(n_features, n_components)
        blocks = np.linalg.qr(generator.normal(size=(n_blocks, n_features, width)))[0]
        blocks *= np.sqrt(2.0 * gamma * generator.chisquare(n_features, size=(n_blocks, 1, width)))
        frequencies = np.concatenate(blocks, axis=1)[:, :n_components]
        frequencies *= np.reshape(factor, (-1, 1))
        phases = generator.uniform(0.0, 2.0 * np.pi, n_components)
        return cls(centre, frequencies.astype(np.float32), phases.astype(np.float32))

    @property
    def n_features_in_(self) -> int:
        """Number of features of the samples."""
        return len(self.frequencies)

    def fit(self, X: Any, y: Any = None) -> FourierFeatures:
        """Return the transformer itself: it is fitted already."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def transform(self, X: Any) -> Singles:
        """Return an array of shape (n_samples, n_components)."""
        # The classifier has compared the names of features.
        X = Samples(X).as_numbers(None, self.n_features_in_)
        if is_sparse(X):
            frequencies = self.frequencies.astype(np.float64)
            return self._cosines(X @ frequencies - self.centre @ frequencies)
        centred = X - self.centre
        values: Singles = centred.astype(np.float32) @ self.frequencies
        values += self.phases
        np.cos(values, out=values)
        largest = np.linalg.norm(self.frequencies, axis=0).max()
        is_far = np.linalg.norm(centred, axis=1) * largest > _MOST_RADIANS
        if is_far.any():
            values[is_far] = self._cosines(centred[is_far] @ self.frequencies.astype(np.float64))
        return values

    def _cosines(self, products: Any) -> Singles:
        """Return the features, given (x − c)·W in double precision."""
        values = np.asarray(products) + self.phases
        values -= 2.0 * np.pi * np.rint(values / (2.0 * np.pi))
        cosines: Singles = np.cos(values.astype(np.float32))
        return cosines

    def to_onnx(self, graph: Graph, X: Value) -> Value:
        """Return `transform` as a graph, in double precision."""
        frequencies, phases = (each.astype(np.float64) for each in (self.frequencies, self.phases))
        # A sine, because onnxruntime before 1.29 has no cosine in double precision.
        return graph.add("Sin", (X - self.centre) @ frequencies + (phases + np.pi / 2))

    def state(self) -> dict[str, Any]:
        """Return the centre, frequencies and phases."""
        return {"centre": self.centre, "frequencies": self.frequencies, "phases": self.phases}

    @classmethod
    def from_state(cls, state: State) -> FourierFeatures:
        """Return the transformer of a state."""
        frequencies = state.floats("frequencies", (None, None))
        if not frequencies.size:
            raise state.fault("frequencies", "an array of one feature and component or more")
        n_features, n_components = frequencies.shape
        return cls(
            state.floats("centre", (n_features,)),
            frequencies.astype(np.float32),
            state.floats("phases", (n_components,)).astype(np.float32),
        )

    def __repr__(self) -> str:
        return f"<FourierFeatures of {len(self.phases)} components>"
