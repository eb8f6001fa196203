"""Trained binaries for the tests of banks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels

from polytomy.learners.svm.kernels import KernelFunction
from polytomy.learners.trained import TrainedBinary, adopt_fitted


def three_classes(rng: np.random.Generator, n_rows: int, n_features: int, *, sparse: bool = False):
    """Three classes that overlap, some rows twice."""
    y = np.arange(n_rows) % 3
    X = rng.normal(size=(n_rows, n_features)) + y[:, np.newaxis]
    if sparse:
        X[rng.uniform(size=X.shape) < 0.6] = 0
    X[-3:] = X[:3]
    return X, y


def one_vs_one(model: Any, X: Any, y: np.ndarray) -> list[TrainedBinary]:
    """One binary a pair of the classes 0, 1, 2; the last one with its sides swapped."""
    binaries = []
    for first, second in ((0, 1), (0, 2), (2, 1)):
        rows = np.flatnonzero((y == first) | (y == second))
        part = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
        fitted = clone(model).fit(part, y[rows])
        binaries.append(adopt_fitted(fitted, [first], [second], name=f"{first}-{second}"))
    return binaries


def own_scores(binaries: list[TrainedBinary], X: Any) -> np.ndarray:
    """What each binary gives when it is asked by itself."""
    return np.column_stack([binary.scores(X) for binary in binaries])


def assert_same_scores(
    got: np.ndarray, expected: np.ndarray, tolerance: float = 1e-9, rounding: Any = 0.0
) -> None:
    """Compare scores; `rounding` is what the expected ones themselves may be off by."""
    allowed = tolerance * (1 + np.abs(expected)) + rounding
    excess = np.abs(got - expected) - allowed
    assert got.shape == expected.shape
    assert np.all(excess <= 0), f"off by {np.abs(got - expected).max()}"


def sums_rounding(binaries: list[TrainedBinary], X: Any) -> np.ndarray:
    """The rounding error of sums Σ α K: some machines have coefficients of 1e8 that cancel out."""
    errors = []
    for binary in binaries:
        machine = getattr(binary.estimator, "steps", [(None, binary.estimator)])[-1][1]
        if not hasattr(machine, "dual_coef_"):
            errors.append(0.0)
            continue
        samples = binary.estimator[:-1].transform(X) if hasattr(binary.estimator, "steps") else X
        values = KernelFunction.of(machine).matrix(samples, machine.support_vectors_)
        errors.append(np.abs(machine.dual_coef_).sum() * np.abs(values).max())
    return 4 * np.finfo(np.float64).eps * np.array(errors)


class PoolMachine:
    """A kernel machine that takes its support vectors from a pool it shares with others."""

    classes_ = np.array([-1, 1])

    def __init__(self, kernel: KernelFunction, pool: SimpleNamespace, rng: np.random.Generator):
        self.kernel, self.pool = kernel, pool
        n_stored = pool.vectors.shape[0]
        self.support_ = rng.permutation(n_stored)[: rng.integers(1, n_stored + 1)]
        self.dual_coef_ = rng.normal(size=len(self.support_))
        self.intercept_ = float(rng.normal())

    def decision_function(self, X: Any) -> np.ndarray:
        kernel = self.kernel
        parameters = {"gamma": kernel.gamma, "degree": kernel.degree, "coef0": kernel.coef0}
        values = pairwise_kernels(
            X, self.pool.vectors[self.support_], kernel.kind, filter_params=True, **parameters
        )
        return values @ self.dual_coef_ + self.intercept_
