"""The discriminant code: halves of the classes about which the features tell most."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.designs.flat import from_matrix
from polytomy.inputs.class_samples import ClassSamples, group_samples
from polytomy.inputs.random_states import RandomState, as_generator
from polytomy.scheme import Scheme

__all__ = ["decoc"]

# Of features of unit variance. Without it a class without spread would be worth any sum.
_LEAST_VARIANCE = 1e-2
_EXHAUSTIVE = 10  # classes, of which all 511 halves are looked at
_STARTS = 8
_LEAST_GAIN = 1e-12


def decoc(X: Any, y: ArrayLike, *, random_state: RandomState = 0, name: str = "decoc") -> Scheme:
    """Return the discriminant code of n−1 dichotomies, each as informative as can be.

    The classes are halved again and again such that the mutual information of features and sides
    is the largest (Pujol, Radeva and Vitrià 2006); the nodes of that tree are the rows of a ternary
    code. The information is that of normal distributions, one for each side, and the mean over the
    features. All halves of up to ten classes are looked at; of more, those that moving one class
    after the other leads to.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels of any kind
    random_state : of the halves at which the search starts, past ten classes
    name : base of the names of its binaries

    Examples
    --------
    >>> X = np.repeat([0.0, 1.0, 6.0, 9.0], 5)[:, np.newaxis]
    >>> print(decoc(X, np.repeat(["a", "b", "c", "d"], 5)))
    decoc-00 0 1 / 2 3;
    decoc-01 0 / 1;
    decoc-02 2 / 3;
    {a b c d}
    """
    samples = group_samples(X, y)
    if len(samples.classes) == 1:
        return from_matrix(np.zeros((0, 1)), samples.classes, name=name)
    moments = _moments(samples)
    random = as_generator(random_state)
    rows = []
    waiting = [list(range(len(samples.classes)))]
    while waiting:
        members = waiting.pop()
        if len(members) < 2:
            continue
        is_positive = _most_informative(moments.of(members), random)
        row = np.zeros(len(samples.classes), dtype=np.int8)
        row[members] = np.where(is_positive, 1, -1)
        rows.append(row)
        waiting += [np.flatnonzero(row > 0).tolist(), np.flatnonzero(row < 0).tolist()]
    return from_matrix(np.array(rows), samples.classes, name=name)


class _Moments(NamedTuple):
    """Numbers of samples, sums and sums of squares, of classes or of sets of classes."""

    counts: NDArray[np.float64]  # (n,)
    sums: NDArray[np.float64]  # (n, n_features)
    squares: NDArray[np.float64]  # (n, n_features)

    def of(self, members: list[int]) -> _Moments:
        return _Moments(*(moment[members] for moment in self))

    def entropy(self) -> NDArray[np.float64]:
        """Return the mean entropy of a feature, as of normal ones, but for a constant."""
        counts = self.counts[:, np.newaxis]
        variances = self.squares / counts - (self.sums / counts) ** 2
        entropy: NDArray[np.float64] = np.log(np.maximum(variances, _LEAST_VARIANCE)).mean(axis=1)
        return entropy / 2


def _moments(samples: ClassSamples) -> _Moments:
    # Features of unit variance about zero, so that their squares cancel nothing.
    scaled = samples.scaled()
    sums = [np.asarray(part.sum(axis=0)).ravel() for part in scaled]
    squares = [np.asarray((part * part).sum(axis=0)).ravel() for part in scaled]
    return _Moments(samples.counts.astype(np.float64), np.array(sums), np.array(squares))


def _information(positive: _Moments, every: _Moments) -> NDArray[np.float64]:
    """Return the mean information of features about the sides, for each +1 side."""
    negative = _Moments(*(whole - part for whole, part in zip(every, positive, strict=True)))
    sides = [side.counts / every.counts * side.entropy() for side in (negative, positive)]
    information: NDArray[np.float64] = every.entropy() - sides[0] - sides[1]
    return information


def _most_informative(moments: _Moments, random: np.random.Generator) -> NDArray[np.bool_]:
    """Return which classes are on the +1 side of the most informative half of them all."""
    n = len(moments.counts)
    every = _Moments(*(moment.sum(axis=0, keepdims=True) for moment in moments))
    if n <= _EXHAUSTIVE:
        # The first class is on the −1 side, or each half would come twice.
        halves = (np.arange(1, 1 << (n - 1))[:, np.newaxis] >> np.arange(n - 1) & 1).astype(bool)
        halves = np.column_stack([np.zeros(len(halves), dtype=bool), halves])
        values = _information(_Moments(*(halves.astype(float) @ m for m in moments)), every)
        best: NDArray[np.bool_] = halves[np.argmax(values)]
        return best
    found = [_climb(random.permutation(n) < n // 2, moments, every) for _ in range(_STARTS)]
    return max(found, key=lambda pair: pair[1])[0]


def _climb(
    half: NDArray[np.bool_], moments: _Moments, every: _Moments
) -> tuple[NDArray[np.bool_], float]:
    """Return the half that moving single classes to the other side leads to, and its value."""
    value = -np.inf
    while True:
        # To move a class adds its moments to the +1 side, or takes them away.
        signs = np.where(half, -1.0, 1.0)
        can_move = np.where(half, half.sum() > 1, (~half).sum() > 1)
        moved = _Moments(*((half.astype(float) @ m + (signs * m.T).T)[can_move] for m in moments))
        values = _information(moved, every)
        if values.max() <= value + _LEAST_GAIN:
            return half, value
        value = float(values.max())
        half = half.copy()
        half[np.flatnonzero(can_move)[np.argmax(values)]] ^= True
