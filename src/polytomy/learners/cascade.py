"""A cascade: a small model guesses the classes of a sample, so that few binaries have to answer.

The student is a neural network with one hidden layer. If it is sure of a class, its probabilities
are the answer. Otherwise the binaries answer that separate the candidates, the smallest set of
classes with probability 1 − δ: of one-vs-one, the pairs of candidates. The student's probabilities
imply the answers of all others.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array
from sklearn.exceptions import ConvergenceWarning

from polytomy.calibration.final import fit_each_weighting
from polytomy.inputs.sparse import is_sparse
from polytomy.inputs.training_data import Samples
from polytomy.learners.bank import Bank
from polytomy.learners.problems import Dichotomy
from polytomy.learners.svm.kernels import squared_lengths
from polytomy.routines.threads import one_blas_thread
from polytomy.states import State, stored_as

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Mask = NDArray[np.bool_]

# Compared on pendigits, sat and digits. Ten times the penalty was worse. More epochs were a little
# better on digits and pendigits, not on sat, and take longer.
_OPTIONS = {"alpha": 0.1, "learning_rate_init": 0.003, "batch_size": 128, "random_state": 0}
_SAMPLES_IN_ALL_EPOCHS = 400_000
_FEWEST_EPOCHS, _MOST_EPOCHS = 20, 100

# The probability that the student leaves to all classes alike.
_FLOOR = 0.001


@stored_as("cascade")
@dataclass(frozen=True, eq=False)
class Cascade:
    """Which binaries have to answer for a sample, and what the others would answer.

    The student's probabilities are softmax(max(0, (x − centre) · inner + offsets) · outer + bias).

    Parameters
    ----------
    centre : array of shape (n_features,)
        Subtracted before rounding, so that large values keep the digits that differ.
    inner : array of shape (n_features, n_units)
    offsets : array of shape (n_units,)
    outer : array of shape (n_units, n_classes)
    bias : array of shape (n_classes,)
    code : CSC array of shape (n_classes, n_binaries), the side of each class: −1, +1 or 0
    rest : float, δ, the probability of the classes that are not candidates
    """

    centre: Floats
    inner: Singles
    offsets: Singles
    outer: Singles
    bias: Singles
    code: csc_array
    rest: float

    REST: ClassVar[float] = 0.01

    @classmethod
    def fit(
        cls,
        X: Any,
        class_indices: NDArray[np.intp],
        n_classes: int,
        dichotomies: Sequence[Dichotomy],
        n_units: int,
        factor: Floats | float = 1.0,
    ) -> Cascade:
        """Return a cascade with a student fitted to the classes of samples.

        Four fifths of the samples are for the weights. The others are for a scale and a bias, so
        that the student is as sure as it is right.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
        class_indices : array of shape (n_samples,)
        n_classes : int
        dichotomies : those of the binaries
        n_units : size of the hidden layer
        factor : what the machines multiply the features by
        """
        centre = np.zeros(X.shape[1]) if is_sparse(X) else X.mean(axis=0)
        factor = np.broadcast_to(factor, centre.shape)
        scaled = X.multiply(factor).tocsr() if is_sparse(X) else (X - centre) * factor
        size = np.sqrt(squared_lengths(scaled).mean() / len(centre)) or 1.0
        student = _fit_student(scaled / size, class_indices, n_classes, n_units)
        sides = [side for each in dichotomies for side in (each.negative, each.positive)]
        lengths = [len(side) for side in sides]
        rows = np.concatenate([np.asarray(side, dtype=np.intp) for side in sides])
        columns = np.repeat(np.arange(len(sides)), lengths) // 2
        signs = np.repeat(np.tile([-1.0, 1.0], len(dichotomies)), lengths)
        code = csc_array((signs, (rows, columns)), shape=(n_classes, len(dichotomies)))
        inner, offsets, outer, bias = (each.astype(np.float32) for each in student)
        inner *= (factor / size).astype(np.float32)[:, np.newaxis]
        return cls(centre, inner, offsets, outer, bias, code, cls.REST)

    def guess(self, X: Any) -> Floats:
        """Return the student's probabilities, of shape (n_samples, n_classes)."""
        # The classifier has compared the names of features.
        X = Samples(X).as_numbers(None, len(self.centre))
        with np.errstate(over="ignore", invalid="ignore"):
            return self._guess(X)

    def _guess(self, X: Any) -> Floats:
        if is_sparse(X):
            inner = self.inner.astype(np.float64)
            hidden = np.asarray(X @ inner - self.centre @ inner).astype(np.float32)
        else:
            centred = np.empty(X.shape, np.float32)
            hidden = np.subtract(X, self.centre, out=centred, casting="same_kind") @ self.inner
        hidden += self.offsets
        np.maximum(hidden, 0.0, out=hidden)
        logits = hidden @ self.outer
        logits += self.bias
        # Where numbers overflow, the student knows nothing.
        logits[~np.isfinite(logits).all(axis=1)] = 0.0
        logits -= logits.max(axis=1, keepdims=True)
        shares: Floats = np.exp(logits, out=logits).astype(np.float64)
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

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
        code, members, chosen = self.code, abs(self.code), is_candidate.astype(np.float64)
        answers: Floats = (shares @ code) / (shares @ members)
        rows, columns = np.nonzero(np.abs(chosen @ code) < chosen @ members)
        answers[rows, columns] = bank.decide_pairs(X, rows, columns, self._sides)
        return answers

    def couple(
        self,
        bank: Bank,
        X: Any,
        shares: Floats,
        is_candidate: Mask,
        solve: Callable[[NDArray[np.intp], Floats], Floats],
    ) -> Floats:
        """Return probabilities for one-vs-one, of which only the pairs of candidates are asked.

        `solve` couples the answers of the pairs of each row's candidates, whose class indices are
        its first argument. The other classes keep the student's probabilities.
        """
        columns, signs = self._pairs
        sizes, problems = is_candidate.sum(axis=1), []
        for size in np.unique(sizes):
            rows = np.flatnonzero(sizes == size)
            classes = np.nonzero(is_candidate[rows])[1].reshape(-1, size)
            negative, positive = np.triu_indices(size, 1)
            problems.append((rows, classes, (classes[:, negative], classes[:, positive])))
        pairs = np.concatenate([columns[places].ravel() for _, _, places in problems])
        users = [np.repeat(rows, places[0].shape[1]) for rows, _, places in problems]
        answers = bank.decide_pairs(X, np.concatenate(users), pairs, self._sides)
        ends = np.cumsum([len(own) for own in users])[:-1]
        probabilities = shares.copy()
        for (rows, classes, places), own in zip(problems, np.split(answers, ends), strict=True):
            solved = solve(classes, own.reshape(places[0].shape) * signs[places])
            solved *= np.take_along_axis(shares[rows], classes, axis=1).sum(axis=1, keepdims=True)
            probabilities[rows[:, np.newaxis], classes] = solved
        return probabilities

    @property
    def has_all_pairs(self) -> bool:
        """Whether the binaries are those of one-vs-one."""
        n_classes, n_binaries = self.code.shape
        is_pair = bool((self._sides >= 0).all()) and 2 * n_binaries == n_classes * (n_classes - 1)
        return is_pair and np.count_nonzero(self._pairs[1]) == 2 * n_binaries

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.intp], Floats]:
        """The binary of each pair of classes; 1 if the first is its negative side, −1 if not."""
        shape = self.code.shape[0], self.code.shape[0]
        columns, signs = np.zeros(shape, dtype=np.intp), np.zeros(shape)
        negative, positive = self._sides.T
        columns[negative, positive] = columns[positive, negative] = np.arange(len(self._sides))
        signs[negative, positive], signs[positive, negative] = 1.0, -1.0
        return columns, signs

    @cached_property
    def _sides(self) -> NDArray[np.intp]:
        """The class of each side of each binary, or −1 if it has several; shape (n_binaries, 2)."""
        entries = self.code.tocoo()
        places = entries.col, (entries.data > 0).astype(np.intp)
        sides, counts = np.full((self.code.shape[1], 2), -1), np.zeros((self.code.shape[1], 2))
        sides[places] = entries.row
        np.add.at(counts, places, 1)
        return np.where(counts == 1, sides, -1)

    @classmethod
    def from_state(cls, state: State) -> Cascade:
        """Return the cascade of a state."""
        inner = state.floats("inner", (None, None))
        n_features, n_units = inner.shape
        outer = state.floats("outer", (n_units, None))
        n_classes = outer.shape[1]
        code = state.matrix("code")
        has_both = is_sparse(code) and np.abs(code.sum(axis=0)) < abs(code).sum(axis=0)
        if not (code.shape[0] == n_classes and np.all(has_both) and (abs(code.data) == 1).all()):
            raise state.fault("code", "the side of each class in each binary")
        return cls(
            state.floats("centre", (n_features,)),
            inner.astype(np.float32),
            state.floats("offsets", (n_units,)).astype(np.float32),
            outer.astype(np.float32),
            state.floats("bias", (n_classes,)).astype(np.float32),
            csc_array(code),
            state.number("rest", least=1e-12, most=1.0),
        )


def _fit_student(
    X: Any, class_indices: NDArray[np.intp], n_classes: int, n_units: int
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return `inner`, `offsets`, `outer` and `bias` of a cascade, for scaled samples."""
    from sklearn.neural_network import MLPClassifier  # slow to import

    n_fitted = max(1, len(class_indices) * 4 // 5)
    n_epochs = int(np.clip(_SAMPLES_IN_ALL_EPOCHS // n_fitted, _FEWEST_EPOCHS, _MOST_EPOCHS))
    model = MLPClassifier((n_units,), max_iter=n_epochs, n_iter_no_change=n_epochs, **_OPTIONS)
    # Threads of BLAS would cost more than the small products of a batch.
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "Got `batch_size` less than 1 or larger")
        model.fit(X[:n_fitted], class_indices[:n_fitted])
    (inner, own_outer), (offsets, own_bias) = model.coefs_, model.intercepts_
    if len(model.classes_) == 2:
        own_outer, own_bias = own_outer * [-0.5, 0.5], own_bias * [-0.5, 0.5]
    # Classes without samples are unlikely.
    outer, bias = np.zeros((n_units, n_classes)), np.full(n_classes, -np.log(n_fitted))
    outer[:, model.classes_], bias[model.classes_] = own_outer, own_bias
    logits = np.maximum(X[n_fitted:] @ inner + offsets, 0.0) @ outer + bias
    weight = np.ones((1, len(logits)))
    (found,) = fit_each_weighting(logits, class_indices[n_fitted:], weight, has_bias=True)
    return inner, offsets, found.scale * outer, found.scale * bias + found.bias
