"""Orders of classes that the data shows, and codes for ordered classes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import squareform

from polytomy.designs.flat import adjacent
from polytomy.designs.seriation import seriate, without_noise
from polytomy.distances.moments import centroid
from polytomy.distances.option import DistanceArgument, distances_from
from polytomy.inputs.class_samples import group_samples
from polytomy.inputs.numbers import as_count
from polytomy.inputs.random_states import RandomState, as_generator
from polytomy.scheme import Scheme

__all__ = ["ClassOrder", "detect_order", "ordered_adjacent"]

# On all data tried, classes that are bins of a number had 0.77 and more, others 0.70 at most.
_STRONG = 0.75
_SIGNIFICANT = 0.05
# What separability leaves open: one sample in doubt among a thousand, and less.
_SHARE_OF_MEANS = 1e-3
# All triples of so many classes; of more, as many are drawn.
_MOST_TRIPLES = 100_000


def ordered_adjacent(
    X: Any,
    y: ArrayLike,
    *,
    distance: DistanceArgument = "separability",
    method: str = "auto",
    name: str = "adjacent",
) -> Scheme:
    """Return the adjacent code of the classes in the order that the data shows.

    The classes are put in an order in which neighbours are near, and cut at each place. Classes
    that a linear model tells apart without doubt are near if their means are.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels of any kind
    distance : name of a measure in `polytomy.distances`, ClassDistances, a matrix in the order of
        the sorted labels, or a function of (X, y) that returns one of these
    method : {"auto", "exact", "optimal-leaf", "spectral"}
        "exact" is the shortest path, up to 12 classes; "auto" is that, or what is quick enough
    name : base of the names of its binaries

    Examples
    --------
    >>> X = [[0.0], [1.0], [9.0], [4.0]]
    >>> print(ordered_adjacent(X, ["dry", "damp", "flooded", "wet"], distance="hausdorff"))
    adjacent-00 0 / 1 2 3;
    adjacent-01 0 1 / 2 3;
    adjacent-02 0 1 2 / 3;
    {dry damp wet flooded}
    """
    classes = group_samples(X, y).classes
    if len(classes) == 1:
        return adjacent(classes, name=name)
    order = seriate(_distances_along(distance, X, y), method)
    return adjacent([classes[i] for i in order], name=name)


@dataclass(frozen=True, slots=True)
class ClassOrder:
    """What the data says about an order of the classes.

    Attributes
    ----------
    order : tuple of labels, from one end to the other
    strength : 1 where distances grow along the order without exception, 0 where they do as much
        as shuffled distances would in their best order; it can be negative
    p_value : how often shuffled distances do as well, or better
    """

    order: tuple[Any, ...]
    strength: float
    p_value: float

    @property
    def is_ordered(self) -> bool:
        """Whether the order is strong (0.75) and no accident (p at most 0.05)."""
        return self.strength >= _STRONG and self.p_value <= _SIGNIFICANT

    def __str__(self) -> str:
        verdict = "ordered" if self.is_ordered else "not ordered"
        line = " ".join(map(str, self.order))
        return f"{verdict} (strength {self.strength:.2f}, p = {self.p_value:.2g}): {line}"


def detect_order(
    X: Any,
    y: ArrayLike,
    *,
    distance: DistanceArgument = "separability",
    method: str = "auto",
    n_permutations: int = 99,
    random_state: RandomState = 0,
) -> ClassOrder:
    """Return whether the classes look ordered, how strongly, and in which order.

    In an order, of three classes the outer two are farther apart than either is from the middle
    one: the matrix of distances is Robinsonian (Robinson 1951). The share of these inequalities
    that hold, in the best order found, is compared with that of shuffled distances in *their* best
    order. The names of the classes do not count. Four classes or fewer are too few to tell.

    Parameters
    ----------
    X, y, distance, method : see `ordered_adjacent`
    n_permutations : how often the distances are shuffled
    random_state : of the shuffling

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> humidity = random.random(800)
    >>> X = np.column_stack([humidity, humidity**2]) + random.normal(0, 0.05, (800, 2))
    >>> words = np.array(["dry", "low", "fair", "damp", "wet", "flooded"])
    >>> found = detect_order(X, words[(6 * humidity).astype(int)])
    >>> found.is_ordered, found.order
    (True, ('dry', 'low', 'fair', 'damp', 'wet', 'flooded'))
    """
    n_permutations = as_count("n_permutations", n_permutations)
    classes = group_samples(X, y).classes
    if len(classes) < 3:
        return ClassOrder(classes, 0.0, 1.0)
    random = as_generator(random_state)
    matrix = without_noise(_distances_along(distance, X, y))
    order = seriate(matrix, method)
    triples = _triples(len(classes), random)
    share = _robinson_share(matrix[np.ix_(order, order)], triples)
    # Sorted, so that what is drawn does not depend on the names of the classes.
    condensed = np.sort(squareform(matrix, checks=False))
    by_chance = np.empty(n_permutations)
    for k in range(n_permutations):
        shuffled = squareform(random.permutation(condensed))
        best = seriate(shuffled, method)
        by_chance[k] = _robinson_share(shuffled[np.ix_(best, best)], triples)
    expected = by_chance.mean()
    strength = (share - expected) / (1 - expected) if expected < 1 else 0.0
    p_value = (1 + np.count_nonzero(by_chance >= share)) / (1 + n_permutations)
    return ClassOrder(tuple(classes[i] for i in order), float(strength), float(p_value))


def _distances_along(distance: DistanceArgument, X: Any, y: ArrayLike) -> NDArray[np.float64]:
    """Return the distances of the classes; where all are told apart, those of means decide."""
    matrix = distances_from(distance, X, y).matrix
    if not isinstance(distance, str) or distance != "separability":
        return matrix
    samples = group_samples(X, y)
    means = centroid(samples.scaled().rows, samples.class_indices).matrix
    return matrix + _SHARE_OF_MEANS * means / (means.max() or 1.0)


def _triples(n: int, random: np.random.Generator) -> NDArray[np.intp]:
    """Return triples of places, each ascending, of shape (3, n_triples)."""
    if n * (n - 1) * (n - 2) // 6 <= _MOST_TRIPLES:
        return np.array(list(combinations(range(n), 3)), dtype=np.intp).T
    drawn = np.sort(random.integers(n, size=(_MOST_TRIPLES, 3)), axis=1)
    return drawn[(np.diff(drawn, axis=1) > 0).all(axis=1)].T


def _robinson_share(matrix: NDArray[np.float64], triples: NDArray[np.intp]) -> float:
    first, middle, last = triples
    across = matrix[first, last]
    holds = [across >= matrix[first, middle], across >= matrix[middle, last]]
    return float(np.mean(holds))
