"""Kernels, and matrices of entries and kernel values, for the tests of routines."""

import math

import numpy as np

from polytomy.routines.reference import kernels as reference
from polytomy.routines.reference.kernels import KINDS

LINEAR, RBF, POLY, SIGMOID = (KINDS[name] for name in ("linear", "rbf", "poly", "sigmoid"))

KERNELS = [
    (LINEAR, (0.0, 0, 0.0)),
    (RBF, (0.4, 0, 0.0)),
    (POLY, (0.3, 3, 1.0)),
    (SIGMOID, (0.1, 0, -0.2)),
]


def entries_of(X, form):
    """Squared distances for the form RBF, else inner products."""
    if form == RBF:
        return np.sum((X[:, np.newaxis] - X) ** 2, axis=2)
    return X @ X.T


def kernel_matrix(entries, form, parameters):
    """Kernel values of entries, rounded to single precision."""
    values = reference.rounded_values(entries.ravel(), form, *parameters)
    return values.reshape(entries.shape).astype(np.float64)


def one_kernel_value(kind: str, x: np.ndarray, y: np.ndarray, gamma: float, degree: int, c: float):
    """The kernel value of two samples, in double precision."""
    product = math.fsum(a * b for a, b in zip(x, y, strict=True))
    if kind == "linear":
        return product
    if kind == "rbf":
        return math.exp(-gamma * math.fsum((a - b) ** 2 for a, b in zip(x, y, strict=True)))
    return math.tanh(gamma * product + c) if kind == "sigmoid" else (gamma * product + c) ** degree
