"""A code of the dichotomies that best separate the classes in the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy import codes
from polytomy.codes import CodingMatrix
from polytomy.designs.dichotomies import Dichotomies, Side
from polytomy.designs.empirical import empirical_tree
from polytomy.designs.flat import from_matrix
from polytomy.designs.nested_dichotomies import furthest_centroid_tree
from polytomy.inputs.arguments import as_count
from polytomy.inputs.class_samples import ClassSamples, group_samples
from polytomy.inputs.seeds import RandomState, as_generator
from polytomy.scheme import Scheme

__all__ = ["data_driven_code"]


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
    y : array of shape (n_samples,), labels of any kind
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
