"""The discriminant code: splits with the largest mutual information."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.designs.flat import from_matrix
from polytomy.inputs.class_samples import ClassSamples, group_samples
from polytomy.inputs.seeds import RandomState, as_generator
from polytomy.scheme import Scheme

__all__ = ["decoc"]

# For features of unit variance. Without it, a class with no spread has infinite information.
_LEAST_VARIANCE = 1e-2
_EXHAUSTIVE = 10  # with this many classes, all 511 splits are compared
_STARTS = 8
_LEAST_GAIN = 1e-12


def decoc(X: Any, y: ArrayLike, *, random_state: RandomState = 0, name: str = "decoc") -> Scheme:
    """Return the discriminant code: n−1 dichotomies, each as informative as possible.

    The classes are split repeatedly so that the mutual information between features and sides is
    largest (Pujol, Radeva and Vitrià 2006); the nodes of this tree are the rows of a ternary code.
    Each side is modelled by a normal distribution for each feature, and the information is averaged
    over the features. Up to ten classes, all splits are compared; beyond that, a local search moves
    one class at a time.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels of any kind
    random_state : int, generator or None, for the start of the local search
    name : base of the binaries' names

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
    """Counts, sums and sums of squares of the samples of classes, or of sets of classes."""

    counts: NDArray[np.float64]  # (n,)
    sums: NDArray[np.float64]  # (n, n_features)
    squares: NDArray[np.float64]  # (n, n_features)

    def of(self, members: list[int]) -> _Moments:
        return _Moments(*(moment[members] for moment in self))

    def entropy(self) -> NDArray[np.float64]:
        """Return the mean entropy of the features, assumed normal, up to a constant."""
        counts = self.counts[:, np.newaxis]
        variances = self.squares / counts - (self.sums / counts) ** 2
        entropy: NDArray[np.float64] = np.log(np.maximum(variances, _LEAST_VARIANCE)).mean(axis=1)
        return entropy / 2


def _moments(samples: ClassSamples) -> _Moments:
    # Features are centred and scaled, so that the sums of squares do not lose digits.
    scaled = samples.scaled()
    sums = [np.asarray(part.sum(axis=0)).ravel() for part in scaled]
    squares = [np.asarray((part * part).sum(axis=0)).ravel() for part in scaled]
    return _Moments(samples.counts.astype(np.float64), np.array(sums), np.array(squares))


def _mutual_information(positive: _Moments, every: _Moments) -> NDArray[np.float64]:
    """Return the mean information of the features about the sides, for each +1 side."""
    negative = _Moments(*(whole - part for whole, part in zip(every, positive, strict=True)))
    sides = [side.counts / every.counts * side.entropy() for side in (negative, positive)]
    information: NDArray[np.float64] = every.entropy() - sides[0] - sides[1]
    return information


def _most_informative(moments: _Moments, random: np.random.Generator) -> NDArray[np.bool_]:
    """Return which classes are on the +1 side of the most informative split."""
    n = len(moments.counts)
    every = _Moments(*(moment.sum(axis=0, keepdims=True) for moment in moments))
    if n <= _EXHAUSTIVE:
        # The first class is always on the −1 side, so that no split occurs twice.
        splits = (np.arange(1, 1 << (n - 1))[:, np.newaxis] >> np.arange(n - 1) & 1).astype(bool)
        splits = np.column_stack([np.zeros(len(splits), dtype=bool), splits])
        values = _mutual_information(_Moments(*(splits.astype(float) @ m for m in moments)), every)
        best: NDArray[np.bool_] = splits[np.argmax(values)]
        return best
    found = [_climb(random.permutation(n) < n // 2, moments, every) for _ in range(_STARTS)]
    return max(found, key=lambda pair: pair[1])[0]


def _climb(
    is_positive: NDArray[np.bool_], moments: _Moments, every: _Moments
) -> tuple[NDArray[np.bool_], float]:
    """Return the split reached by moving one class at a time, and its information."""
    value = -np.inf
    while True:
        # Moving a class adds its moments to the +1 side, or subtracts them.
        signs = np.where(is_positive, -1.0, 1.0)
        can_move = np.where(is_positive, is_positive.sum() > 1, (~is_positive).sum() > 1)
        moved = _Moments(
            *((is_positive.astype(float) @ m + (signs * m.T).T)[can_move] for m in moments)
        )
        values = _mutual_information(moved, every)
        if values.max() <= value + _LEAST_GAIN:
            return is_positive, value
        value = float(values.max())
        is_positive = is_positive.copy()
        is_positive[np.flatnonzero(can_move)[np.argmax(values)]] ^= True
