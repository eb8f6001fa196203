"""Random Fourier features: cosines whose inner products approximate an rbf kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from polytomy.inputs.training_data import Samples
from polytomy.onnx_graph import Graph, Value
from polytomy.states import State, stored_as

Floats = NDArray[np.float64]


@stored_as("estimator/fourier")
class FourierFeatures(BaseEstimator):  # type: ignore[misc]
    """A transformer from x to cos(x·W + b) (Rahimi and Recht 2007).

    Parameters
    ----------
    frequencies : array of shape (n_features, n_components), W
    phases : array of shape (n_components,), b

    Examples
    --------
    The mean product of the features of two samples is half the kernel value, exp(−γ|x − y|²).

    >>> features = FourierFeatures.draw(1, 20_000, gamma=0.5, seed=0)
    >>> values = features.transform(np.array([[0.0], [1.0]]))
    >>> print(f"{2 * np.mean(values[0] * values[1]):.2f} {np.exp(-0.5):.2f}")
    0.61 0.61
    """

    def __init__(self, frequencies: Floats, phases: Floats) -> None:
        self.frequencies = frequencies
        self.phases = phases

    @classmethod
    def draw(cls, n_features: int, n_components: int, gamma: float, seed: int) -> FourierFeatures:
        """Return random features of the kernel exp(−γ|x − y|²).

        The frequencies come in blocks of orthogonal vectors, which approximate the kernel better
        than independent ones (Yu and others 2016).
        """
        generator = np.random.default_rng(seed)
        blocks: list[Floats] = []
        for _ in range(-(-n_components // n_features)):
            orthogonal = np.linalg.qr(generator.normal(size=(n_features, n_features)))[0]
            lengths = np.sqrt(generator.chisquare(n_features, size=n_features))
            blocks.append(orthogonal * lengths)
        frequencies = np.sqrt(2.0 * gamma) * np.hstack(blocks)[:, :n_components]
        return cls(frequencies, generator.uniform(0.0, 2.0 * np.pi, n_components))

    @property
    def n_features_in_(self) -> int:
        """Number of features of the samples."""
        return len(self.frequencies)

    def fit(self, X: Any, y: Any = None) -> FourierFeatures:
        """Return the transformer itself: it is fitted already."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def transform(self, X: Any) -> Floats:
        """Return an array of shape (n_samples, n_components)."""
        X = Samples(X).as_numbers(self, self.n_features_in_)
        values = np.asarray(X @ self.frequencies)
        values += self.phases
        cosines: Floats = np.cos(values, out=values)
        return cosines

    def to_onnx(self, graph: Graph, X: Value) -> Value:
        """Return `transform` as a graph."""
        return graph.add("Cos", X @ self.frequencies + self.phases)

    def state(self) -> dict[str, Any]:
        """Return the frequencies and phases."""
        return {"frequencies": self.frequencies, "phases": self.phases}

    @classmethod
    def from_state(cls, state: State) -> FourierFeatures:
        """Return the transformer of a state."""
        frequencies = state.floats("frequencies", (None, None))
        if not frequencies.size:
            raise state.fault("frequencies", "an array of one feature and component or more")
        return cls(frequencies, state.floats("phases", (frequencies.shape[1],)))

    def __repr__(self) -> str:
        return f"<FourierFeatures of {len(self.phases)} components>"
