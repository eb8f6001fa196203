"""Decision values as an ONNX graph: linear functions and kernel values of scaled samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import ArgumentError
from polytomy.inputs.sparse import is_sparse
from polytomy.learners.scaling import Scaling
from polytomy.learners.svm.kernels import KernelFunction, squared_lengths
from polytomy.onnx_graph import Graph, Value

__all__ = ["dense", "kernel_values", "linear_values", "scale_samples"]

Floats = NDArray[np.float64]

# The largest γ|y|² of a vector y. Distances are computed from inner products, so kernel values have
# errors of about 1e-16 times this, 1e-12.
_LARGEST_EXPONENT = 1e4


def scale_samples(X: Value, scaling: Scaling | None) -> Value:
    """Return the scaled samples."""
    if scaling is None:
        return X
    scaled = (X - scaling.centre) * scaling.factor
    return scaled + scaling.offset if scaling.offset.any() else scaled


def linear_values(
    X: Value,
    weights: Sequence[Floats],
    intercepts: Sequence[float],
    scalings: Sequence[Scaling | None],
) -> Value:
    """Return linear functions of scaled samples by one matrix product.

    Weights w after the map factor·(x − centre) + offset become weights w·factor. They are applied
    to x − c, where c is the mean of all centres, because x may be large compared to its spread.

    Parameters
    ----------
    X : samples
    weights, intercepts : of each function
    scalings : of the samples before each function
    """
    centres = [scaling.centre for scaling in scalings if scaling is not None]
    middle = np.mean(centres, axis=0) if centres else np.zeros(1)
    rows, constants = [], []
    for row, constant, scaling in zip(weights, intercepts, scalings, strict=True):
        if scaling is None:
            constants.append(constant + float(np.sum(row * middle)))
            rows.append(row)
        else:
            moved = scaling.offset + scaling.factor * (middle - scaling.centre)
            constants.append(constant + float(row @ moved))
            rows.append(row * scaling.factor)
    centred = X - middle if middle.any() else X
    return centred @ np.array(rows).T + np.array(constants)


def kernel_values(graph: Graph, X: Value, function: KernelFunction, vectors: Floats) -> Value:
    """Return the kernel of each sample with each vector."""
    gamma = function.gamma
    if function.kind == "linear":
        return X @ vectors.T
    if function.kind != "rbf":
        products = X @ (gamma * vectors.T) + function.coef0
        if function.kind == "sigmoid":
            return graph.add("Tanh", products)
        return graph.add("Pow", products, float(function.degree))
    # −γ|x − y|² from products, which is accurate for rows around the origin.
    centre = vectors.mean(axis=0)
    vectors = vectors - centre
    squares = gamma * squared_lengths(vectors)
    if squares.max() > _LARGEST_EXPONENT:
        raise ArgumentError(
            f"gamma·|x|² of the support vectors is {squares.max():.3g}, but must be at most "
            f"{_LARGEST_EXPONENT:g} for exact kernel values in ONNX. Scale the features, or choose "
            "a smaller gamma."
        )
    moved = X - centre
    exponents = moved @ (2.0 * gamma * vectors.T) - squares - (moved * moved).sum(axis=1) * gamma
    return graph.add("Exp", graph.add("Min", exponents, 0.0))


def dense(matrix: Any) -> Floats:
    """Return an array or a sparse matrix as an array in double precision."""
    return np.asarray(matrix.toarray() if is_sparse(matrix) else matrix, dtype=np.float64)
