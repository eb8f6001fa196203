"""Trees over the means of classes, for many classes: balanced k-means, from the root down."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from polytomy.designs.trees import Nested, from_hierarchy
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.class_samples import ClassSamples, group_samples
from polytomy.inputs.seeds import RandomState, as_generator
from polytomy.scheme import Scheme

Floats = NDArray[np.float64]

# Number of starts of k-means; the best result is used.
_STARTS = 3
_MOST_STEPS = 30

# Sparse means with fewer entries than this are made dense, because products are faster.
_DENSE_ENTRIES = 2**25
_BLOCK_BYTES = 2**25


def cluster_tree(
    X: Any,
    y: ArrayLike,
    *,
    branches: int = 2,
    nodes: str = "direct",
    random_state: RandomState = None,
    name: str = "cluster",
) -> Scheme:
    """Return a balanced tree that keeps classes with nearby means together.

    Each node divides its classes into branches of equal size, give or take one, by k-means of the
    class means (Prabhu et al. 2018 do this with labels). It computes n·log(n) distances for n
    classes, so 10,000 classes take seconds. The depth is the smallest possible. Features are scaled
    to unit variance first.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels of any kind
    branches : int, default=2
        Number of branches of each node.
    nodes : what decides between the branches of a node of three or more: "direct" is one model with
        a side for each branch; or a design such as "one-vs-rest"
    random_state : int, generator, or None for a different tree each time
    name : base of the binaries' names

    Examples
    --------
    >>> X = [[0.0], [1.0], [6.0], [9.0]]
    >>> print(cluster_tree(X, ["corn", "wheat", "pine", "oak"], random_state=0))
    cluster {
      cluster.00 {corn wheat}
      cluster.01 {oak pine}
    }
    >>> tree = cluster_tree(np.arange(30.0)[:, np.newaxis], range(30), branches=3, random_state=0)
    >>> tree.depth, [len(node.branches) for node in tree.nodes[:3]]
    (4, [3, 3, 3])
    """
    is_number = isinstance(branches, int | np.integer) and not isinstance(branches, bool)
    if not is_number or branches < 2:
        raise ArgumentError(
            Argument("branches", branches), " must be a whole number, ", Argument("branches", 2),
            " or more.",
        )  # fmt: skip
    samples = group_samples(X, y)
    means = _scaled_means(samples)
    random = as_generator(random_state)
    top: list[Nested] = []
    waiting: list[tuple[NDArray[np.intp], list[Nested]]] = [(np.arange(len(samples.classes)), top)]
    while waiting:
        members, siblings = waiting.pop()
        if len(members) == 1:
            siblings.append(samples.classes[members[0]])
            continue
        below: list[Nested] = []
        siblings.append(below)
        if len(members) <= branches:
            below.extend(samples.classes[k] for k in members)
            continue
        cluster_of = _divide(means[members], int(branches), random)
        # Sort by first class.
        firsts = np.unique(cluster_of, return_index=True)[1]
        parts = [members[cluster_of == cluster_of[first]] for first in np.sort(firsts)]
        waiting.extend((part, below) for part in reversed(parts))
    return from_hierarchy(top[0], nodes=nodes, name=name)


def _scaled_means(samples: ClassSamples) -> Any:
    """Return the class means, with features scaled to unit variance, as an array or CSR array."""
    counts = samples.counts
    shares = np.repeat(1.0 / counts, counts)
    places = np.arange(len(shares))
    averages = scipy.sparse.csr_array(
        (shares, places, samples.starts), shape=(len(counts), len(shares))
    )
    means = averages @ samples.rows
    if samples.is_sparse:
        sums = np.bincount(
            samples.rows.indices, samples.rows.data**2, minlength=samples.rows.shape[1]
        )
        scale = np.sqrt(sums / len(shares))
        means = scipy.sparse.csr_array(means.multiply(1.0 / np.where(scale > 0, scale, 1.0)))
        return means.toarray() if means.shape[0] * means.shape[1] <= _DENSE_ENTRIES else means
    centre = counts @ means / len(shares)
    squares = np.zeros(len(centre))
    size = max(1, _BLOCK_BYTES // (8 * len(centre)))
    for first in range(0, len(shares), size):
        squares += ((samples.rows[first : first + size] - centre) ** 2).sum(axis=0)
    scale = np.sqrt(squares / len(shares))
    return (means - centre) / np.where(scale > 0, scale, 1.0)


def _divide(means: Any, n_clusters: int, random: np.random.Generator) -> NDArray[np.intp]:
    """Return the cluster of each mean: the best of several runs of balanced k-means."""
    squares = _row_squares(means)
    best, best_inertia = np.empty(0, dtype=np.intp), np.inf
    for _ in range(_STARTS):
        centres = _draw_centres(means, squares, n_clusters, random)
        cluster_of = np.empty(0, dtype=np.intp)
        for _ in range(_MOST_STEPS):
            found = _assign_evenly(_distances(means, squares, centres))
            if np.array_equal(found, cluster_of):
                break
            cluster_of = found
            centres = _centres_of(means, cluster_of, n_clusters)
        between = _distances(means, squares, centres)
        inertia = float(between[np.arange(len(cluster_of)), cluster_of].sum())
        if inertia < best_inertia:
            best, best_inertia = cluster_of, inertia
    return best


def _draw_centres(
    means: Any, squares: Floats, n_clusters: int, random: np.random.Generator
) -> Floats:
    """Return initial centres that are far from each other with high probability (k-means++)."""
    chosen = [int(random.integers(len(squares)))]
    nearest = _distances(means, squares, _rows(means, chosen))[:, 0]
    for _ in range(n_clusters - 1):
        total = np.cumsum(nearest)
        place = int(np.searchsorted(total, random.random() * total[-1], side="right"))
        chosen.append(min(place, len(squares) - 1))
        nearest = np.minimum(nearest, _distances(means, squares, _rows(means, chosen[-1:]))[:, 0])
    return _rows(means, chosen)


def _rows(means: Any, chosen: list[int]) -> Floats:
    return _as_array(means[chosen])


def _as_array(rows: Any) -> Floats:
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray())


def _row_squares(means: Any) -> Floats:
    if isinstance(means, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", means, means))
    return np.asarray(means.multiply(means).sum(axis=1)).ravel()


def _distances(means: Any, squares: Floats, centres: Floats) -> Floats:
    """Return the squared distances between means and centres, of shape (n_means, n_centres)."""
    products = np.asarray(means @ centres.T)
    between = squares[:, np.newaxis] - 2.0 * products + np.einsum("ij,ij->i", centres, centres)
    return np.asarray(np.maximum(between, 0.0))


def _centres_of(means: Any, cluster_of: NDArray[np.intp], n_clusters: int) -> Floats:
    order = np.argsort(cluster_of, kind="stable")
    counts = np.bincount(cluster_of, minlength=n_clusters)
    starts = np.concatenate([[0], np.cumsum(counts)])
    shares = np.repeat(1.0 / counts, counts)
    averages = scipy.sparse.csr_array((shares, order, starts), shape=(n_clusters, len(order)))
    return _as_array(averages @ means)


def _assign_evenly(between: Floats) -> NDArray[np.intp]:
    """Assign each mean to a near centre, the same number to each centre, give or take one.

    In each round, the remaining means go to the nearest centre with room. A centre without room
    for all of them takes those that would lose most by going elsewhere.
    """
    n_means, n_centres = between.shape
    if n_centres == 2:
        order = np.argsort(between[:, 0] - between[:, 1], kind="stable")
        found = np.zeros(n_means, dtype=np.intp)
        found[order[(n_means + 1) // 2 :]] = 1
        return found
    room = np.full(n_centres, n_means // n_centres)
    n_larger = n_means % n_centres  # this many centres take one more
    has_more = np.zeros(n_centres, dtype=np.bool_)
    found = np.full(n_means, -1, dtype=np.intp)
    left = np.arange(n_means)
    while len(left):
        is_open = (room > 0) | ((n_larger > 0) & ~has_more)
        own = np.where(is_open, between[left], np.inf)
        nearest = own.argmin(axis=1)
        own_distance = own[np.arange(len(left)), nearest]
        own[np.arange(len(left)), nearest] = np.inf
        second = own.min(axis=1)
        regret = np.where(np.isfinite(second), second - own_distance, 0.0)
        for centre in np.unique(nearest):
            (asking,) = (nearest == centre).nonzero()
            if len(asking) > room[centre] and n_larger > 0 and not has_more[centre]:
                room[centre] += 1
                n_larger, has_more[centre] = n_larger - 1, True
            taken = asking[np.argsort(-regret[asking], kind="stable")[: room[centre]]]
            found[left[taken]] = centre
            room[centre] -= len(taken)
        left = left[found[left] < 0]
    return found
