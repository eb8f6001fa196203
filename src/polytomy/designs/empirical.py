"""Trees from distances between classes: nearby classes are separated last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.designs.trees import Nested, from_hierarchy, from_tree
from polytomy.distances.registry import DistanceArgument, compute_distances
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import did_you_mean
from polytomy.inputs.class_samples import group_samples
from polytomy.scheme import Scheme

LINKAGES = ("single", "complete", "average", "recomputed")


def empirical_tree(
    X: Any,
    y: ArrayLike,
    *,
    distance: DistanceArgument = "hausdorff",
    linkage: str = "single",
    merge: float | None = None,
    nodes: str = "direct",
    name: str = "empirical",
) -> Scheme:
    """Return the dendrogram of the classes as a tree of binaries, or of wider nodes.

    The two nearest groups of classes are joined until one group is left (Benabdeslem and Bennani
    2006). The defaults give the empirical tree of Mills (2019): Hausdorff distances and single
    linkage. The larger side goes left; if both have the same size, the one with the later class.
    Hausdorff distances depend on the scales of the features, so standardise X first.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels of any kind
    distance : name of a distance in `polytomy.distances`, ClassDistances, a matrix in the order of
        the sorted labels, or a function of (X, y) that returns one of these
    linkage : {"single", "complete", "average", "recomputed"}
        Distance between groups of classes: the smallest, largest or mean distance between their
        members, or the distance between their pooled samples
    merge : float, optional
        Merges nodes with their parents where the dendrogram has no gap: if a node was joined at a
        distance of at least this share of its parent's, from 0 to 1. By default all nodes have
        two branches.
    nodes : what decides between the branches of a node of three or more: "direct" is one model with
        a side for each branch; or a design such as "one-vs-one"
    name : base of the binaries' names

    Examples
    --------
    >>> X = [[0.0], [1.0], [5.0], [7.0]]
    >>> print(empirical_tree(X, ["corn", "wheat", "pine", "oak"]))
    empirical {
      empirical.00 {wheat corn}
      empirical.01 {pine oak}
    }
    >>> print(empirical_tree(X, ["corn", "wheat", "pine", "oak"], merge=0.4))
    empirical {
      empirical.00 {wheat corn}
      pine
      oak
    }
    """
    _check_merge(merge)
    if linkage not in LINKAGES:
        raise ArgumentError(
            Argument("linkage", linkage),
            f" is not one of {', '.join(LINKAGES)}.{did_you_mean(linkage, LINKAGES)}",
        )
    is_recomputed = linkage == "recomputed"
    if is_recomputed and not (isinstance(distance, str) or callable(distance)):
        raise ArgumentError(
            Argument("linkage", "recomputed"),
            " needs a distance that can be computed again. Give ",
            Argument("distance"),
            " as a name or a function, or use ",
            Argument("linkage", "average"),
            ".",
        )
    samples = group_samples(X, y)
    if len(samples.classes) == 1:
        return from_tree(samples.classes[0], name=name)
    if is_recomputed:
        class_indices = np.empty(len(samples.order), dtype=np.intp)
        class_indices[samples.order] = samples.class_indices
        nested = _join_samples(X, class_indices, _Forest(samples.classes, merge), distance)
    else:
        matrix = compute_distances(distance, X, y).matrix
        nested = _join_by_linkage(matrix, _Forest(samples.classes, merge), linkage)
    return from_hierarchy(nested, name=name, nodes=nodes)


def _check_merge(merge: float | None) -> None:
    """Raise an ArgumentError unless the share is None or a number from 0 to 1."""
    is_number = isinstance(merge, int | float) and not isinstance(merge, bool)
    if merge is not None and not (is_number and 0 <= merge <= 1):
        raise ArgumentError(Argument("merge", merge), " must be a number from 0 to 1, or None.")


def separability_tree(X: Any, y: ArrayLike, *, name: str = "empirical") -> Scheme:
    """Return the dendrogram of how well a linear model separates the classes.

    It is `empirical_tree` with ``distance="separability"`` and ``linkage="average"``, and does not
    depend on the scales of the features.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels of any kind
    name : base of the binaries' names

    Examples
    --------
    >>> noise = np.random.default_rng(0).normal(0, 1.0, 80)
    >>> X = (np.repeat([0.0, 1.0, 8.0, 9.0], 20) + noise)[:, np.newaxis]
    >>> print(separability_tree(X, np.repeat(["corn", "wheat", "pine", "oak"], 20)))
    empirical {
      empirical.00 {wheat corn}
      empirical.01 {pine oak}
    }
    """
    return empirical_tree(X, y, distance="separability", linkage="average", name=name)


class _Forest:
    """The subtrees joined so far, each with its number of classes and its first class."""

    def __init__(self, classes: Sequence[Any], merge: float | None) -> None:
        self.trees: list[Nested] = list(classes)
        self.sizes = [1] * len(classes)
        self.firsts = list(range(len(classes)))
        self._heights = [0.0] * len(classes)
        self._merge = merge

    def __len__(self) -> int:
        return len(self.trees)

    def join(self, one: int, other: int, height: float) -> None:
        """Replace the first of two subtrees by both joined; the other is no longer used."""
        ranks = [(self.sizes[i], self.firsts[i]) for i in (one, other)]
        left, right = (one, other) if ranks[0] > ranks[1] else (other, one)
        self.trees[one] = [*self._branches(left, height), *self._branches(right, height)]
        self.sizes[one] += self.sizes[other]
        self.firsts[one] = self.firsts[left]
        self._heights[one] = height

    def _branches(self, subtree: int, height: float) -> list[Nested]:
        """Return what a subtree adds to the node that joins it: itself, or its branches."""
        is_merged = self._merge is not None and self._heights[subtree] >= self._merge * height
        is_node = self.sizes[subtree] > 1
        return self.trees[subtree] if is_node and is_merged else [self.trees[subtree]]


def _join_by_linkage(matrix: NDArray[np.float64], forest: _Forest, linkage: str) -> Nested:
    """Join the two nearest groups until one is left, in about n² steps.

    Each group stores its nearest group among those after it. After a join, only the groups whose
    nearest group was joined search again; usually these are few.
    """
    n_groups = len(forest)
    between = matrix.copy()
    # Each pair is stored once, in the row of its first group.
    between[np.tri(n_groups, dtype=np.bool_)] = np.inf
    nearest = between.argmin(axis=1)
    distances = between[np.arange(n_groups), nearest]
    for _ in range(n_groups - 1):
        one = int(np.argmin(distances))
        other, height = int(nearest[one]), float(distances[one])
        to_one, to_other = _distances_of(between, one), _distances_of(between, other)
        if linkage == "single":
            joined = np.minimum(to_one, to_other)
        elif linkage == "complete":
            joined = np.maximum(to_one, to_other)
        else:
            weights = forest.sizes[one], forest.sizes[other]
            joined = np.average([to_one, to_other], axis=0, weights=weights)
        is_gone = ~np.isfinite(to_one)
        is_gone[[one, other]] = True
        joined[is_gone] = np.inf
        between[:one, one], between[one, one + 1 :] = joined[:one], joined[one + 1 :]
        between[:other, other] = between[other, other + 1 :] = np.inf
        distances[other] = np.inf
        _update_nearest(between, nearest, distances, joined, one, other)
        forest.join(one, other, height)
    return forest.trees[0]


def _distances_of(between: NDArray[np.float64], group: int) -> NDArray[np.float64]:
    """Return the distances from a group to all others; infinite to itself and to joined groups."""
    return np.concatenate([between[:group, group], between[group, group:]])


def _update_nearest(
    between: NDArray[np.float64],
    nearest: NDArray[np.intp],
    distances: NDArray[np.float64],
    joined: NDArray[np.float64],
    one: int,
    other: int,
) -> None:
    """Find the nearest group again, in place, where a join has changed it."""
    before = np.arange(one)
    is_nearer = joined[:one] < distances[:one]
    # Among groups at the same distance, the first is used.
    is_nearer |= (joined[:one] == distances[:one]) & (one < nearest[:one])
    is_nearer &= np.isfinite(joined[:one])
    was_near = ((nearest == one) | (nearest == other)) & np.isfinite(distances)
    was_near[before[is_nearer]] = False
    was_near[one] = True
    nearest[before[is_nearer]], distances[before[is_nearer]] = one, joined[:one][is_nearer]
    for group in np.flatnonzero(was_near):
        nearest[group] = between[group].argmin()
        distances[group] = between[group, nearest[group]]


def _join_samples(
    X: Any, class_indices: NDArray[np.intp], forest: _Forest, distance: DistanceArgument
) -> Nested:
    group_of = class_indices.copy()
    for _ in range(len(forest) - 1):
        distances = compute_distances(distance, X, group_of)
        between = np.array(distances)
        np.fill_diagonal(between, np.inf)
        pair = divmod(int(np.argmin(between)), len(between))
        one, other = sorted(distances.classes[i] for i in pair)
        group_of[group_of == other] = one
        forest.join(one, other, float(between[pair]))
    return forest.trees[0]
