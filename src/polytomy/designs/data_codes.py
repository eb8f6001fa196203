"""Codes whose dichotomies are chosen by what they tell apart in the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy import codes
from polytomy.codes import CodingMatrix
from polytomy.codes.arguments import RandomState, as_count, as_generator
from polytomy.designs.dichotomies import Dichotomies, Side
from polytomy.designs.empirical import empirical_tree
from polytomy.designs.flat import from_matrix
from polytomy.designs.nested_dichotomies import furthest_centroid_tree
from polytomy.distances.samples import ClassSamples, group_samples
from polytomy.scheme import Scheme

__all__ = ["data_driven_code", "decoc"]

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
        sides = [[m for m, side in zip(members, is_positive, strict=True) if side == value]
                 for value in (True, False)]  # fmt: skip
        waiting += sides
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


def data_driven_code(
    X: Any,
    y: ArrayLike,
    *,
    n_partitions: int | None = None,
    estimator: Any = None,
    cv: int = 3,
    random_state: RandomState = None,
    name: str = "data",
) -> Scheme:
    """Return a code of the dichotomies that are worth most, cross-validated, for what they cost.

    Candidates are the nodes of trees, one-vs-rest and random dichotomies. One after the other that
    is taken which removes most of the doubt left between pairs of classes, for each sample it is
    trained on. Zhou, Peng and Suen (2008) choose dichotomies from data like this. It ends when
    `n_partitions` are taken and no two classes have equal columns.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels of any kind
    n_partitions : how many are taken; twice the number of classes if None, and more where classes
        are not told apart otherwise
    estimator : binary classifier; if None, ridge regression on random Fourier features
    cv : number of folds
    random_state : int, generator or None for another code each time
    name : base of the names of its binaries

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> y = np.repeat(["a", "b", "c", "d"], 20)
    >>> X = np.repeat([0.0, 1.0, 6.0, 9.0], 20)[:, np.newaxis] + random.normal(0, 0.3, (80, 1))
    >>> data_driven_code(X, y, n_partitions=4, random_state=0)
    <Scheme: code, 4 classes, 4 partitions>
    """
    samples = group_samples(X, y)
    n_classes = len(samples.classes)
    wanted = 2 * n_classes if n_partitions is None else as_count("n_partitions", n_partitions)
    if n_classes < 3:
        return from_matrix(codes.adjacent(n_classes), samples.classes, name=name)
    random = as_generator(random_state)
    dichotomies = Dichotomies(samples, estimator, cv=cv, random_state=random)
    matrix = _choose(list(_candidates(samples, random)), dichotomies, wanted)
    return from_matrix(matrix, samples.classes, name=name)


def _candidates(samples: ClassSamples, random: np.random.Generator) -> Iterator[NDArray[np.int8]]:
    """Yield distinct rows of −1, 0 and 1, the first class that takes part being −1."""
    scaled = samples.scaled()
    X, y, n_classes = scaled.rows, scaled.codes, len(samples.classes)
    sources = [codes.one_vs_rest(n_classes), codes.random_strict(n_classes, random_state=random)]
    for tree in (empirical_tree(X, y), furthest_centroid_tree(X, y)):
        flat = tree.flatten()
        matrix = np.zeros((flat.n_partitions, n_classes), dtype=np.int8)
        matrix[:, np.array(flat.classes, dtype=np.intp)] = flat.code.matrix
        sources.append(CodingMatrix(matrix))
    seen: set[bytes] = set()
    for code in sources:
        for row in code.matrix:
            first = row[np.flatnonzero(row)[0]]
            same = -row if first > 0 else row
            if same.tobytes() not in seen:
                seen.add(same.tobytes())
                yield same


def _choose(
    candidates: list[NDArray[np.int8]], dichotomies: Dichotomies, wanted: int
) -> NDArray[np.int8]:
    """Return the rows that are taken, the most worth its cost first."""
    counts = dichotomies.samples.counts
    left_by = np.array([_doubt_left(row, dichotomies) for row in candidates])
    costs = np.array([counts[row != 0].sum() for row in candidates], dtype=np.float64)
    doubt = 1 - np.eye(len(counts))  # between two classes, after what is taken so far
    open_rows = list(range(len(candidates)))
    taken: list[int] = []
    while open_rows and (len(taken) < wanted or not _is_code(candidates, taken)):
        removed = (doubt * (1 - left_by[open_rows])).sum(axis=(1, 2))
        best = open_rows.pop(int(np.argmax(removed / costs[open_rows])))
        doubt *= left_by[best]
        taken.append(best)
    return np.array([candidates[i] for i in taken])


def _is_code(candidates: list[NDArray[np.int8]], taken: list[int]) -> bool:
    """Return whether every class stands in a row, and no two have equal columns."""
    if not taken:
        return False
    matrix = np.array([candidates[i] for i in taken])
    n_distinct = np.unique(matrix, axis=1).shape[1]
    return bool(matrix.any(axis=0).all()) and n_distinct == matrix.shape[1]


def _doubt_left(row: NDArray[np.int8], dichotomies: Dichotomies) -> NDArray[np.float64]:
    """Return the part of the doubt between each two classes that a dichotomy leaves.

    Two samples, one of each class, are put on the same side with some probability. It is one half
    where the answers tell nothing, and all doubt is left; it is zero where they are certain.
    """
    negative: Side = frozenset(np.flatnonzero(row < 0).tolist())
    positive: Side = frozenset(np.flatnonzero(row > 0).tolist())
    above = (1 + dichotomies.answers(negative, positive)) / 2
    means = np.array([part.mean() for part in np.split(above, dichotomies.samples.starts[1:-1])])
    same_side = np.outer(means, means) + np.outer(1 - means, 1 - means)
    is_split = np.outer(row, row) < 0
    return np.where(is_split, np.minimum(1, 2 * same_side), 1.0)
