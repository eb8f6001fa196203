"""libAGF's border classifier: samples of the border between two classes (Mills 2011)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from polytomy.errors import ArgumentError, DataError
from polytomy.inputs.training_data import Samples
from polytomy.onnx_graph import Graph, Value
from polytomy.states import State, stored_as

# Larger values would overflow when they are squared or multiplied.
_LARGEST = 1e100


@stored_as("estimator/borders")
@dataclass(frozen=True, slots=True, eq=False)
class BorderMachine:
    """A fitted binary classifier that compares samples with the nearest border sample.

    The decision value of x is g·(x − b), where b is the border sample nearest to x and g its
    gradient. tanh of the decision value is P(+1) − P(−1).

    Parameters
    ----------
    borders : array of shape (n_borders, n_features)
        Points on the border between the two sides.
    gradients : array of the same shape
        Gradients of P(+1) − P(−1) at these points.

    Examples
    --------
    >>> machine = BorderMachine(np.array([[0.0], [4.0]]), np.array([[1.0], [-2.0]]))
    >>> machine.decision_function(np.array([[1.0], [3.5]]))
    array([1., 1.])
    """

    kind_of_model: ClassVar[str] = "borders"

    borders: NDArray[np.float64]
    gradients: NDArray[np.float64]
    _tree: KDTree = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.borders.ndim != 2 or not self.borders.size:
            raise ArgumentError(
                "borders must have the shape (n_borders, n_features), one border sample or more; "
                f"got the shape {self.borders.shape}"
            )
        if self.borders.shape != self.gradients.shape:
            raise ArgumentError(
                f"borders and gradients must have the same shape; got {self.borders.shape} and "
                f"{self.gradients.shape}"
            )
        for name, values in (("borders", self.borders), ("gradients", self.gradients)):
            if not np.abs(values).max() <= _LARGEST:
                raise ArgumentError(
                    f"{name} must be finite, and not larger than {_LARGEST:g} in absolute value"
                )
        object.__setattr__(self, "_tree", KDTree(self.borders))

    @property
    def classes_(self) -> NDArray[np.int64]:
        """The two labels, −1 and +1."""
        return np.array([-1, 1])

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return int(self.borders.shape[1])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the decision value of each row of X, positive for the +1 side."""
        X = Samples(X).as_numbers(self, self.n_features_in_)
        if not isinstance(X, np.ndarray):
            raise DataError("X is sparse, but border classifiers need dense samples")
        if X.size and np.abs(X).max() > _LARGEST:
            raise DataError(
                f"X has a value larger than {_LARGEST:g} in absolute value, which border "
                "classifiers cannot compare"
            )
        nearest = self._tree.query(X)[1]
        values: NDArray[np.float64] = np.einsum(
            "ij,ij->i", self.gradients[nearest], X - self.borders[nearest]
        )
        return values

    def to_onnx(self, graph: Graph, X: Value) -> Value:
        """Return `decision_function` as a graph, of shape (n_samples, 1)."""
        distances = (self.borders**2).sum(axis=1) - (X @ self.borders.T) * 2.0
        nearest = graph.add("ArgMin", distances, axis=1, keepdims=0)
        borders = graph.constant(self.borders).take(nearest, axis=0)
        gradients = graph.constant(self.gradients).take(nearest, axis=0)
        return (gradients * (X - borders)).sum(axis=1)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return −1 or +1 for each row of X."""
        return np.where(self.decision_function(X) > 0, 1, -1)

    def state(self) -> dict[str, Any]:
        """Return the border samples and their gradients."""
        return {"borders": self.borders, "gradients": self.gradients}

    @classmethod
    def from_state(cls, state: State) -> BorderMachine:
        """Return the machine of a state."""
        return cls(*[state.floats(name, (None, None)) for name in ("borders", "gradients")])

    def __repr__(self) -> str:
        return f"<BorderMachine of {len(self.borders)} border samples>"
