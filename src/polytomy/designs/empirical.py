"""Trees from the distances of classes: what is near is told apart last."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.designs.trees import Nested, from_tree
from polytomy.distances.option import DistanceArgument, distances_from
from polytomy.errors import ArgumentError
from polytomy.inputs.class_samples import group_samples
from polytomy.scheme import Scheme

__all__ = ["LINKAGES", "empirical_tree"]

LINKAGES = ("single", "complete", "average", "recomputed")


def empirical_tree(
    X: Any,
    y: ArrayLike,
    *,
    distance: DistanceArgument = "hausdorff",
    linkage: str = "single",
    name: str = "empirical",
) -> Scheme:
    """Return the dendrogram of the classes as a tree of binaries.

    The two nearest classes are joined, then the two nearest of what is left, and so on
    (Benabdeslem and Bennani 2006). With its defaults it is the empirical tree of Mills (2019):
    Hausdorff distances, single linkage; the side of more classes is on the left, and of two equal
    ones that of the later class. Hausdorff distances depend on the scales of the features, so
    standardise X first.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels of any kind
    distance : name of a measure in `polytomy.distances`, ClassDistances, a matrix in the order of
        the sorted labels, or a function of (X, y) that returns one of these
    linkage : {"single", "complete", "average", "recomputed"}
        The distance of joined classes: the smallest, largest or mean one of their members, or that
        of their samples put together
    name : base of the names of its binaries

    Examples
    --------
    >>> X = [[0.0], [1.0], [5.0], [7.0]]
    >>> print(empirical_tree(X, ["corn", "wheat", "pine", "oak"]))
    empirical {
      empirical.00 {wheat corn}
      empirical.01 {pine oak}
    }
    """
    if linkage not in LINKAGES:
        raise ArgumentError(f"linkage={linkage!r} is not one of {', '.join(LINKAGES)}")
    is_recomputed = linkage == "recomputed"
    if is_recomputed and not (isinstance(distance, str) or callable(distance)):
        raise ArgumentError(
            'linkage="recomputed" needs a distance that can be worked out again. Give its name or '
            'a function, or use linkage="average".'
        )
    samples = group_samples(X, y)
    if len(samples.classes) == 1:
        return from_tree(samples.classes[0], name=name)
    if is_recomputed:
        codes = np.empty(len(samples.order), dtype=np.intp)
        codes[samples.order] = samples.class_indices
        nested = _join_samples(X, codes, list(samples.classes), distance)
    else:
        matrix = distances_from(distance, X, y).matrix
        nested = _join_by_linkage(matrix, list(samples.classes), linkage)
    return from_tree(nested, name=name)


class _Forest:
    """What is joined so far: subtrees, each with its number of classes and its first class."""

    def __init__(self, classes: list[Any]) -> None:
        self.trees: list[Nested] = list(classes)
        self.sizes = [1] * len(classes)
        self.firsts = list(range(len(classes)))

    def join(self, one: int, other: int) -> None:
        """Put two subtrees together in the place of the first; the other is no more."""
        ranks = [(self.sizes[i], self.firsts[i]) for i in (one, other)]
        left, right = (one, other) if ranks[0] > ranks[1] else (other, one)
        self.trees[one] = [self.trees[left], self.trees[right]]
        self.sizes[one] += self.sizes[other]
        self.firsts[one] = self.firsts[left]


def _join_by_linkage(matrix: NDArray[np.float64], classes: list[Any], linkage: str) -> Nested:
    forest = _Forest(classes)
    between = matrix.copy()
    np.fill_diagonal(between, np.inf)
    for _ in range(len(classes) - 1):
        one, other = sorted(divmod(int(np.argmin(between)), len(classes)))
        if linkage == "single":
            joined = np.minimum(between[one], between[other])
        elif linkage == "complete":
            joined = np.maximum(between[one], between[other])
        else:
            weights = forest.sizes[one], forest.sizes[other]
            joined = np.average(between[[one, other]], axis=0, weights=weights)
        between[one, :] = between[:, one] = joined
        between[other, :] = between[:, other] = np.inf
        between[one, one] = np.inf
        forest.join(one, other)
    return forest.trees[0]


def _join_samples(
    X: Any, codes: NDArray[np.intp], classes: list[Any], distance: DistanceArgument
) -> Nested:
    forest = _Forest(classes)
    codes = codes.copy()
    for _ in range(len(classes) - 1):
        distances = distances_from(distance, X, codes)
        between = np.array(distances)
        np.fill_diagonal(between, np.inf)
        pair = divmod(int(np.argmin(between)), len(between))
        one, other = sorted(distances.classes[i] for i in pair)
        codes[codes == other] = one
        forest.join(one, other)
    return forest.trees[0]
