"""Codes made from data: by mutual information, or by how well dichotomies separate the classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.designs.data_trees import Indices, divide_down, empirical_tree, furthest_centroid_tree
from polytomy.designs.dichotomies import Dichotomies, Side
from polytomy.designs.flat import from_matrix
from polytomy.inputs.arguments import as_count
from polytomy.inputs.class_samples import ClassSamples, group_samples
from polytomy.inputs.seeds import RandomState, as_generator
from polytomy.scheme import CodingMatrix, Scheme, codes

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
    y : array of shape (n_samples,), labels: text, numbers or booleans
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

    def split(members: Indices) -> list[Indices]:
        is_positive = _most_informative(moments.of(members), random)
        row = np.zeros(len(samples.classes), dtype=np.int8)
        row[members] = np.where(is_positive, 1, -1)
        rows.append(row)
        return [members[~is_positive], members[is_positive]]

    divide_down(samples.classes, split)
    return from_matrix(np.array(rows), samples.classes, name=name)


class _Moments(NamedTuple):
    """Counts, sums and sums of squares of the samples of classes, or of sets of classes."""

    counts: NDArray[np.float64]  # (n,)
    sums: NDArray[np.float64]  # (n, n_features)
    squares: NDArray[np.float64]  # (n, n_features)

    def of(self, members: Indices) -> _Moments:
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
    """Return a code of the dichotomies that best separate the classes for their cost.

    The candidates are the nodes of trees, one-vs-rest and random dichotomies. They are added
    greedily: each step adds the one that removes the most doubt between pairs of classes, by
    cross-validation, per sample it is trained on. Zhou, Peng and Suen (2008) choose dichotomies
    from data in a similar way. The code is complete when it has `n_partitions` rows and no two
    classes have equal columns.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels: text, numbers or booleans
    n_partitions : number of dichotomies, or more if the classes would otherwise not be separated;
        by default twice the number of classes
    estimator : binary classifier; by default ridge regression on random Fourier features
    cv : number of folds
    random_state : int, generator, or None for a different code each time
    name : base of the binaries' names

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> y = np.repeat(["a", "b", "c", "d"], 20)
    >>> X = np.repeat([0.0, 1.0, 6.0, 9.0], 20)[:, np.newaxis] + random.normal(0, 0.3, (80, 1))
    >>> print(data_driven_code(X, y, n_partitions=4, random_state=0))
    data-00 0 1 / 2 3;
    data-01 0 2 / 1 3;
    data-02 0 3 / 1 2;
    data-03 0 / 1;
    {a b c d}
    """
    samples = group_samples(X, y)
    n_classes = len(samples.classes)
    n_wanted = 2 * n_classes if n_partitions is None else as_count("n_partitions", n_partitions)
    if n_classes < 3:
        return from_matrix(codes.adjacent(n_classes), samples.classes, name=name)
    random = as_generator(random_state)
    dichotomies = Dichotomies(samples, estimator, cv=cv, random_state=random)
    matrix = _choose_rows(list(_candidates(samples, random)), dichotomies, n_wanted)
    return from_matrix(matrix, samples.classes, name=name)


def _candidates(samples: ClassSamples, random: np.random.Generator) -> Iterator[NDArray[np.int8]]:
    """Yield distinct rows of −1, 0 and 1 whose first non-zero entry is −1."""
    scaled = samples.scaled()
    X, y, n_classes = scaled.rows, scaled.class_indices, len(samples.classes)
    sources = [
        codes.one_vs_rest(n_classes),
        codes.random_strict(n_classes, random_state=random),
    ]
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


class _Split(NamedTuple):
    """A candidate: its two sides, and the share of doubt that remains between their classes."""

    negative: NDArray[np.intp]
    positive: NDArray[np.intp]
    remaining: NDArray[np.float64]  # (n_negative, n_positive)

    def removed_from(self, doubt: NDArray[np.float64]) -> float:
        """Return how much doubt between classes the split removes."""
        return float((doubt[np.ix_(self.negative, self.positive)] * (1 - self.remaining)).sum())


def _choose_rows(
    candidates: list[NDArray[np.int8]], dichotomies: Dichotomies, n_wanted: int
) -> NDArray[np.int8]:
    """Return the chosen rows, in the order in which they were chosen."""
    counts = dichotomies.samples.counts
    splits = [_split_by_row(row, dichotomies) for row in candidates]
    costs = [counts[row != 0].sum() for row in candidates]
    doubt = np.ones((len(counts), len(counts)))  # between two classes, given the rows chosen so far
    chosen: list[int] = []
    # Doubt only decreases, and so does the gain of a row, so an old gain is an upper bound. Only
    # the row with the largest gain has to be evaluated again.
    gain, is_new = np.full(len(candidates), np.inf), np.zeros(len(candidates), dtype=bool)
    while len(chosen) < len(candidates) and (
        len(chosen) < n_wanted or not _is_code(candidates, chosen)
    ):
        best = int(np.argmax(gain))
        if not is_new[best]:
            gain[best] = splits[best].removed_from(doubt) / costs[best]
            is_new[best] = True
            continue
        negative, positive, remaining = splits[best]
        doubt[np.ix_(negative, positive)] *= remaining
        doubt[np.ix_(positive, negative)] *= remaining.T
        gain[best] = -np.inf
        is_new[:] = False
        chosen.append(best)
    return np.array([candidates[i] for i in chosen])


def _is_code(candidates: list[NDArray[np.int8]], chosen: list[int]) -> bool:
    """Return whether every class is in some row, and no two classes have equal columns."""
    matrix = np.array([candidates[i] for i in chosen])
    n_distinct = np.unique(matrix, axis=1).shape[1]
    return bool(matrix.any(axis=0).all()) and n_distinct == matrix.shape[1]


def _split_by_row(row: NDArray[np.int8], dichotomies: Dichotomies) -> _Split:
    """Return the two sides of a row, and the doubt that remains between their classes.

    The doubt is twice the probability that two samples, one from each class, are put on the same
    side: one if the answers are guesses, zero if they are certain and right.
    """
    negative, positive = np.flatnonzero(row < 0), np.flatnonzero(row > 0)
    sides: tuple[Side, Side] = frozenset(negative.tolist()), frozenset(positive.tolist())
    above = (1 + dichotomies.answers(*sides)) / 2
    means = np.array([part.mean() for part in np.split(above, dichotomies.samples.starts[1:-1])])
    below, upper = means[negative], means[positive]
    same_side = np.outer(below, upper) + np.outer(1 - below, 1 - upper)
    return _Split(negative, positive, np.minimum(1, 2 * same_side))
