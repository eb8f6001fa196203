"""A cascade: a small model guesses the classes of a sample, so that few binaries have to answer.

The student is a linear model of random features. If it is sure of a class, its probabilities are
the answer. Otherwise the binaries answer that separate the candidates, the smallest set of classes
with probability 1 − δ: of one-vs-one, the pairs of candidates. The student's probabilities imply
the answers of all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from polytomy.calibration.final import (
    Weighted,
    find_curvature,
    fit_each_weighting,
    fit_weights,
)
from polytomy.inputs.sparse import is_sparse
from polytomy.learners.bank import Bank
from polytomy.learners.fourier import FourierFeatures
from polytomy.learners.problems import Dichotomy
from polytomy.routines.reference.calibration import softmax
from polytomy.states import State, stored_as

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Relative to the number of samples. Three times more or less changed the student's log-loss by a
# twentieth at most on letter, usps and pendigits.
_PENALTY = 3.0
_TOLERANCE = 1e-4

# The probability that the student leaves to all classes alike.
_FLOOR = 0.001


@stored_as("cascade")
@dataclass(frozen=True, slots=True, eq=False)
class Cascade:
    """Which binaries have to answer for a sample, and what the others would answer.

    Parameters
    ----------
    features : FourierFeatures
    weights : array of shape (n_components, n_classes)
    bias : array of shape (n_classes,)
        The student's probabilities are softmax(features · weights + bias).
    code : CSR array of shape (n_classes, n_binaries), the side of each class: −1, +1 or 0
    rest : float, δ, the probability of the classes that are not candidates
    """

    features: FourierFeatures
    weights: NDArray[np.float32]
    bias: Floats
    code: csr_array
    rest: float

    REST: ClassVar[float] = 0.005

    @classmethod
    def fit(
        cls,
        features: FourierFeatures,
        X: Any,
        class_indices: NDArray[np.intp],
        n_classes: int,
        dichotomies: Sequence[Dichotomy],
    ) -> Cascade:
        """Return a cascade with a student fitted to the classes of samples.

        Four fifths of the samples are for the weights. The others are for a scale and a bias, so
        that the student is as sure as it is right.
        """
        inputs = features.transform(X).astype(np.float64)
        n_samples = max(1, len(inputs) * 4 // 5)
        fitted, others = inputs[:n_samples], inputs[n_samples:]
        none = np.zeros((n_samples, n_classes))
        start = Weighted(1.0, none[0], np.zeros((inputs.shape[1], n_classes)))
        weight = np.ones((1, n_samples))
        (student,) = fit_weights(
            none,
            fitted,
            class_indices[:n_samples],
            weight,
            _PENALTY / n_samples,
            [start],
            find_curvature(none, fitted, weight[0], start),
            tolerance=_TOLERANCE,
        )
        logits = others @ student.weights + student.bias
        weight = np.ones((1, len(others)))
        (found,) = fit_each_weighting(logits, class_indices[n_samples:], weight, has_bias=True)
        sides = [side for each in dichotomies for side in (each.negative, each.positive)]
        lengths = [len(side) for side in sides]
        rows = np.concatenate([np.asarray(side, dtype=np.intp) for side in sides])
        columns = np.repeat(np.arange(len(sides)), lengths) // 2
        signs = np.repeat(np.tile(np.array([-1.0, 1.0], np.float32), len(dichotomies)), lengths)
        return cls(
            features,
            (found.scale * student.weights).astype(np.float32),
            found.scale * student.bias + found.bias,
            csr_array((signs, (rows, columns)), shape=(n_classes, len(dichotomies))),
            cls.REST,
        )

    def guess(self, X: Any) -> Floats:
        """Return the student's probabilities, of shape (n_samples, n_classes)."""
        return softmax(self.features.transform(X) @ self.weights + self.bias)

    def find_candidates(self, shares: Floats) -> tuple[NDArray[np.intp], Mask]:
        """Return the rows with several candidates, and which classes these are."""
        unsure = np.flatnonzero(shares.max(axis=1) < 1.0 - self.rest)
        own = shares[unsure]
        ascending = np.sort(own, axis=1)
        n_left = (np.cumsum(ascending, axis=1) <= self.rest).sum(axis=1, keepdims=True)
        return unsure, own >= np.take_along_axis(ascending, n_left, axis=1)

    def smooth(self, shares: Floats) -> Floats:
        """Return probabilities that are never tiny, where the student knows little."""
        return np.asarray((shares + _FLOOR / shares.shape[1]) / (1.0 + _FLOOR))

    def answer(self, bank: Bank, X: Any, shares: Floats, is_candidate: Mask) -> Floats:
        """Return P(+1) − P(−1) of all binaries: those with candidates on both sides are asked."""
        candidates, is_inside = is_candidate.astype(np.float32), abs(self.code)
        is_needed = np.abs(candidates @ self.code) < candidates @ is_inside
        answers: Floats = shares @ self.code
        answers /= shares @ is_inside
        columns, rows = np.nonzero(is_needed.T)
        answers[rows, columns] = bank.decide_pairs(X, rows, columns)
        return answers

    @classmethod
    def from_state(cls, state: State) -> Cascade:
        """Return the cascade of a state."""
        features = state.part("features", "estimator", "transform")
        if not isinstance(features, FourierFeatures):
            raise state.fault("features", "random features")
        weights = state.floats("weights", (len(features.phases), None))
        n_classes = weights.shape[1]
        code = state.matrix("code")
        has_both = is_sparse(code) and np.abs(code.sum(axis=0)) < abs(code).sum(axis=0)
        if not (code.shape[0] == n_classes and np.all(has_both) and (abs(code.data) == 1).all()):
            raise state.fault("code", "the side of each class in each binary")
        return cls(
            features,
            weights.astype(np.float32),
            state.floats("bias", (n_classes,)),
            csr_array(code),
            state.number("rest", least=1e-12, most=1.0),
        )
