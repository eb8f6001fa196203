"""Trees made from data: dendrograms, clusters, splits from the root down, and searches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from polytomy.designs.dichotomies import Dichotomies
from polytomy.designs.flat import class_labels
from polytomy.designs.trees import Nested, from_hierarchy, from_tree, random_tree
from polytomy.distances.computing import DistanceArgument, compute_distances
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import as_count, check_choice
from polytomy.inputs.class_samples import ClassSamples, group_samples
from polytomy.inputs.rows import take_columns
from polytomy.inputs.seeds import RandomState, as_generator
from polytomy.scheme import ClassRef, Scheme, SchemeEnsemble
from polytomy.scheme.coverings import DEFAULT_SIDES

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

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
    y : array of shape (n_samples,), labels: text, numbers or booleans
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
    check_choice("linkage", linkage, LINKAGES)
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
    y : array of shape (n_samples,), labels: text, numbers or booleans
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


def _join_by_linkage(matrix: Floats, forest: _Forest, linkage: str) -> Nested:
    """Join the two nearest groups until one is left; of pairs at the same distance, the first."""
    between = matrix.copy()
    np.fill_diagonal(between, np.inf)
    for _ in range(len(forest) - 1):
        one = int(np.argmin(between.min(axis=1)))
        other = int(np.argmin(between[one]))
        height = float(between[one, other])
        if linkage == "single":
            joined = np.minimum(between[one], between[other])
        elif linkage == "complete":
            joined = np.maximum(between[one], between[other])
        else:
            weights = forest.sizes[one], forest.sizes[other]
            joined = np.average([between[one], between[other]], axis=0, weights=weights)
        joined[one] = np.inf
        between[one] = between[:, one] = joined
        between[other] = between[:, other] = np.inf
        forest.join(one, other, height)
    return forest.trees[0]


def _join_samples(
    X: Any, class_indices: Indices, forest: _Forest, distance: DistanceArgument
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


# -- Trees over the means of classes, for many classes: balanced k-means, from the root down --


# Number of starts of k-means; the best result is used.
_STARTS = 3
_MOST_STEPS = 30

# Sparse means with fewer entries than this are made dense, because products are faster.
_DENSE_ENTRIES = 2**25
_BLOCK_BYTES = 2**25

# Values of a column of text that count as one if there are more.
_MOST_CATEGORIES = 20


def cluster_tree(
    X: Any,
    y: ArrayLike,
    *,
    branches: int = 2,
    sides: int | None = None,
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
    y : array of shape (n_samples,), labels: text, numbers or booleans
    branches : int, default=2
        Number of branches of each node.
    sides : int, optional
        Largest number of branches, instead of `branches`: the nodes are divided such that there
        are few models, most of them with that many classes. X may then have missing values and
        columns of text.
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
    >>> cluster_tree(np.arange(26.0)[:, np.newaxis], range(26), sides=10).n_partitions
    4
    """
    n_branches = as_count("branches", branches, at_least=2)
    random = as_generator(random_state)
    if sides is None:
        samples = group_samples(X, y)
        return _grow_clusters(samples, lambda n_classes: n_branches, random, nodes, name)
    return _grow_few(group_samples(_as_numbers(X), y), sides, random, nodes, name)


def _grow_clusters(
    samples: ClassSamples,
    count_branches: Callable[[int], int],
    random: np.random.Generator,
    nodes: str,
    name: str,
) -> Scheme:
    """Return the tree whose nodes have a number of branches that depends on their classes."""
    means = _scaled_means(samples)

    def split(members: Indices) -> list[Indices]:
        n_branches = count_branches(len(members))
        if len(members) <= n_branches:
            return np.split(members, len(members))
        cluster_of = _divide(means[members], n_branches, random)
        # Sort by first class.
        firsts = np.unique(cluster_of, return_index=True)[1]
        return [members[cluster_of == cluster_of[first]] for first in np.sort(firsts)]

    return from_hierarchy(divide_down(samples.classes, split), nodes=nodes, name=name)


def _grow_few(
    samples: ClassSamples, sides: int, random: np.random.Generator, nodes: str, name: str
) -> Scheme:
    """Return a tree with few nodes and at most a given number of branches at each."""
    most = as_count("sides", sides, at_least=2)

    def count_branches(n_classes: int) -> int:
        while n_classes > most:
            n_classes = -(-n_classes // most)  # the number of nodes below, on the next level
        return n_classes

    return _grow_clusters(samples, count_branches, random, nodes, name)


def _as_numbers(X: Any) -> Any:
    """Return samples as numbers: text one-hot encoded, missing values replaced by the mean."""
    if scipy.sparse.issparse(X):
        return X
    table = X if hasattr(X, "columns") else np.asarray(X)
    if len(table.shape) != 2:
        return X  # for the message of `group_samples`
    columns = []
    for number in range(table.shape[1]):
        column = np.asarray(take_columns(table, np.array([number])))[:, 0]
        if column.dtype.kind == "M":
            column = np.where(np.isnat(column), np.nan, column.astype(np.float64))
        try:
            values = column.astype(np.float64)[:, np.newaxis]
        except (TypeError, ValueError):
            from sklearn.preprocessing import OneHotEncoder

            encoder = OneHotEncoder(max_categories=_MOST_CATEGORIES, sparse_output=False)
            values = encoder.fit_transform(column.astype(str)[:, np.newaxis])
        is_known = np.isfinite(values)
        centre = np.mean(values, where=is_known) if is_known.any() else 0.0
        columns.append(np.where(is_known, values, centre))
    return np.hstack(columns)


def cluster_trees(
    X: Any,
    y: ArrayLike,
    n_trees: int = 3,
    *,
    sides: int = DEFAULT_SIDES,
    random_state: RandomState = None,
    name: str = "cluster",
) -> SchemeEnsemble:
    """Return an ensemble of varied cluster trees, for models that take only a few classes.

    The first is `cluster_tree`. The others are made from a bootstrap sample of the rows of each
    class and half of the features. Each has few models, most of them with `sides` classes.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        It may have missing values and columns of text.
    y : array of shape (n_samples,), labels: text, numbers or booleans
    n_trees : number of trees
    sides : largest number of sides of a model
    random_state : int, generator, or None for different trees each time
    name : base of the models' names

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> trees = cluster_trees(X, np.arange(60) % 20, random_state=0)
    >>> [tree.n_partitions for tree in trees.schemes]
    [3, 3, 3]
    """
    samples, random = group_samples(_as_numbers(X), y), as_generator(random_state)
    trees = [_grow_few(samples, sides, random, "direct", name)]
    for number in range(1, as_count("n_trees", n_trees)):
        lengths = np.repeat(samples.counts, samples.counts)
        picked = np.repeat(samples.starts[:-1], samples.counts) + random.integers(lengths)
        n_features = samples.rows.shape[1]
        features = np.sort(random.permutation(n_features)[: -(-n_features // 2)])
        varied = replace(samples, rows=samples.rows[picked][:, features])
        trees.append(_grow_few(varied, sides, random, "direct", f"{name}-{number}"))
    return SchemeEnsemble(trees)


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


def _divide(means: Any, n_clusters: int, random: np.random.Generator) -> Indices:
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
    nearest = _distances(means, squares, _as_array(means[chosen]))[:, 0]
    for _ in range(n_clusters - 1):
        total = np.cumsum(nearest)
        place = int(np.searchsorted(total, random.random() * total[-1], side="right"))
        chosen.append(min(place, len(squares) - 1))
        nearest = np.minimum(
            nearest, _distances(means, squares, _as_array(means[chosen[-1:]]))[:, 0]
        )
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


def _centres_of(means: Any, cluster_of: Indices, n_clusters: int) -> Floats:
    order = np.argsort(cluster_of, kind="stable")
    counts = np.bincount(cluster_of, minlength=n_clusters)
    starts = np.concatenate([[0], np.cumsum(counts)])
    shares = np.repeat(1.0 / counts, counts)
    averages = scipy.sparse.csr_array((shares, order, starts), shape=(n_clusters, len(order)))
    return _as_array(averages @ means)


def _assign_evenly(between: Floats) -> Indices:
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


# -- Trees grown from the root by a rule that splits each node's classes, and ensembles of trees --


def furthest_centroid_tree(X: Any, y: ArrayLike, *, name: str = "centroids") -> Scheme:
    """Return a tree that splits around the two classes whose means are furthest apart.

    At each node, the two classes whose means are furthest apart go to different sides, and every
    other class joins the one with the nearer mean (Duarte-Villaseñor et al. 2012). Features are
    scaled to unit variance first.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels: text, numbers or booleans
    name : base of the binaries' names

    Examples
    --------
    >>> X = [[0.0], [1.0], [6.0], [9.0]]
    >>> print(furthest_centroid_tree(X, ["corn", "wheat", "pine", "oak"]))
    centroids {
      centroids.00 {corn wheat}
      centroids.01 {oak pine}
    }
    """
    samples = group_samples(X, y)
    means = samples.scaled().means()
    between = scipy.spatial.distance.cdist(means, means)

    def split(members: Indices) -> list[Indices]:
        among = between[np.ix_(members, members)]
        one, other = divmod(int(np.argmax(among)), len(members))
        # Classes whose means are all equal still have to be split.
        one, other = (one, other) if one != other else (0, 1)
        is_nearer = among[one] < among[other]
        is_nearer[[one, other]] = True, False
        return [members[is_nearer], members[~is_nearer]]

    return from_tree(divide_down(samples.classes, split), name=name)


def class_balanced_tree(
    X: Any,
    y: ArrayLike,
    *,
    by: str = "classes",
    random_state: RandomState = None,
    name: str = "balanced",
) -> Scheme:
    """Return a balanced random tree (Dong, Frank and Kramer 2005).

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features); its values are not used
    y : array of shape (n_samples,), labels: text, numbers or booleans
    by : {"classes", "samples"}
        What each node divides evenly between its two sides; "classes" gives the shallowest tree
    random_state : int, generator, or None for a different tree each time
    name : base of the binaries' names

    Examples
    --------
    >>> import numpy as np
    >>> class_balanced_tree(np.zeros((8, 1)), range(8), random_state=0).depth
    3
    """
    check_choice("by", by, ("classes", "samples"))
    samples = group_samples(X, y)
    random = as_generator(random_state)
    sizes = samples.counts if by == "samples" else np.ones(len(samples.classes), dtype=np.intp)

    def split(members: Indices) -> list[Indices]:
        shuffled = random.permutation(members)
        # Cut where the two sides are most equal in size.
        total = np.cumsum(sizes[shuffled])[:-1]
        cut = int(np.argmin(np.abs(2 * total - sizes[shuffled].sum()))) + 1
        return [shuffled[:cut], shuffled[cut:]]

    return from_tree(divide_down(samples.classes, split), name=name)


def random_pair_tree(
    X: Any,
    y: ArrayLike,
    *,
    estimator: Any = None,
    random_state: RandomState = None,
    name: str = "pairs",
) -> Scheme:
    """Return a tree that splits around pairs of random classes.

    At each node, a binary classifier is trained on two random classes, and every other class goes
    to the side that the classifier predicts for most of its samples (Leathart, Pfahringer and Frank
    2016).

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels: text, numbers or booleans
    estimator : binary classifier; by default ridge regression on random Fourier features
    random_state : int, generator, or None for a different tree each time
    name : base of the binaries' names

    Examples
    --------
    >>> import numpy as np
    >>> noise = np.random.default_rng(0).normal(0, 0.3, 80)
    >>> X = (np.repeat([0.0, 1.0, 6.0, 9.0], 20) + noise)[:, np.newaxis]
    >>> print(random_pair_tree(X, np.repeat(["a", "b", "c", "d"], 20), random_state=0))
    pairs {
      pairs.00 {a b}
      pairs.01 {d c}
    }
    """
    samples = group_samples(X, y)
    random = as_generator(random_state)
    dichotomies = Dichotomies(samples, estimator, random_state=random)

    def split(members: Indices) -> list[Indices]:
        one, other = random.choice(len(members), 2, replace=False)
        pair = frozenset([int(members[one])]), frozenset([int(members[other])])
        scores = dichotomies.scores(*pair, of_classes=frozenset(members.tolist()))
        ends = np.cumsum(dichotomies.samples.counts[members])
        is_with_one = np.array([part.mean() > 0.5 for part in np.split(scores < 0, ends[:-1])])
        is_with_one[[one, other]] = True, False
        return [members[is_with_one], members[~is_with_one]]

    return from_tree(divide_down(samples.classes, split), name=name)


def tree_ensemble(
    classes: Iterable[Any] | int,
    n_trees: int = 10,
    *,
    make: Callable[..., Scheme] = random_tree,
    random_state: RandomState = None,
) -> SchemeEnsemble:
    """Return an ensemble of nested dichotomies (Frank and Kramer 2004).

    Their probabilities are averaged. A dichotomy that occurs in several trees is trained once.

    Parameters
    ----------
    classes : labels, or a number of classes
    n_trees : number of trees
    make : function of the classes and ``random_state=`` that returns a tree; to use data, pass
        ``lambda classes, random_state: random_pair_tree(X, y, random_state=random_state)``
    random_state : int, generator, or None for different trees each time

    Examples
    --------
    >>> tree_ensemble(["a", "b", "c"], 20, random_state=0)
    <SchemeEnsemble: 20 schemes, 3 classes, 6 different dichotomies>
    """
    n_trees = as_count("n_trees", n_trees)
    labels = class_labels(classes)
    random = as_generator(random_state)
    return SchemeEnsemble([make(labels, random_state=random) for _ in range(n_trees)])


def random_trees(
    X: Any, y: ArrayLike, n_trees: int = 10, *, random_state: RandomState = None
) -> SchemeEnsemble:
    """Return an ensemble of random trees over the classes of the data (Frank and Kramer 2004).

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features); its values are not used
    y : array of shape (n_samples,), labels: text, numbers or booleans
    n_trees : number of trees
    random_state : int, generator, or None for different trees each time

    Examples
    --------
    >>> random_trees([[0.0], [1.0], [2.0]], ["a", "b", "c"], random_state=0)
    <SchemeEnsemble: 10 schemes, 3 classes, 6 different dichotomies>
    """
    return tree_ensemble(group_samples(X, y).classes, n_trees, random_state=random_state)


def random_pair_trees(
    X: Any, y: ArrayLike, n_trees: int = 10, *, random_state: RandomState = None
) -> SchemeEnsemble:
    """Return an ensemble of trees that split around pairs of random classes.

    These trees share more dichotomies than random trees, and each one is better (Leathart,
    Pfahringer and Frank 2016).

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels: text, numbers or booleans
    n_trees : number of trees
    random_state : int, generator, or None for different trees each time

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([0.0, 1.0, 6.0, 9.0], 5)[:, np.newaxis]
    >>> random_pair_trees(X, np.repeat(["a", "b", "c", "d"], 5), random_state=0)
    <SchemeEnsemble: 10 schemes, 4 classes, 6 different dichotomies>
    """

    def make(classes: Any, random_state: RandomState) -> Scheme:
        return random_pair_tree(X, y, random_state=random_state)

    classes = group_samples(X, y).classes
    return tree_ensemble(classes, n_trees, make=make, random_state=random_state)


def divide_down(classes: Sequence[Any], split: Callable[[Indices], list[Indices]]) -> Nested:
    """Return nested lists of classes, split from the root down."""
    top: list[Nested] = []
    waiting: list[tuple[Indices, list[Nested]]] = [(np.arange(len(classes)), top)]
    while waiting:
        members, siblings = waiting.pop()
        if len(members) == 1:
            siblings.append(classes[members[0]])
            continue
        below: list[Nested] = []
        siblings.append(below)
        waiting.extend([(part, below) for part in reversed(split(members))])
    return top[0]


# -- Trees found by searching for the least cross-validated loss --


_Tree: TypeAlias = Any  # a class index, or a tuple of two trees

_TOURNAMENT = 3
# A tree can be as deep as its number of classes, and the functions below recurse over its levels.
_MOST_CLASSES = 500


def best_random_tree(
    X: Any,
    y: ArrayLike,
    *,
    estimator: Any = None,
    n_trees: int = 30,
    cv: int = 3,
    random_state: RandomState = None,
    name: str = "tree",
) -> Scheme:
    """Return the random tree with the least cross-validated logarithmic loss.

    A dichotomy that occurs in several trees is trained once for each fold.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels: text, numbers or booleans
    estimator : binary classifier; by default ridge regression on random Fourier features
        (Rahimi and Recht 2007), which evaluates at least a hundred dichotomies per second
    n_trees : number of random trees to compare
    cv : number of folds
    random_state : int, generator, or None for a different tree each time
    name : base of the binaries' names

    Examples
    --------
    >>> import numpy as np
    >>> y = np.repeat(["a", "b", "c"], 20)
    >>> X = np.repeat([0.0, 1.0, 9.0], 20) + np.random.default_rng(0).normal(0, 0.5, 60)
    >>> print(best_random_tree(X[:, np.newaxis], y, random_state=0))
    tree {
      c
      tree.01 {b a}
    }
    """
    n_trees = as_count("n_trees", n_trees)
    samples = group_samples(X, y)
    random = as_generator(random_state)
    n_classes = len(samples.classes)
    drawn = [_nest_tuples(random_tree(n_classes, random_state=random)) for _ in range(n_trees)]
    dichotomies = Dichotomies(samples, estimator, cv=cv, random_state=random)
    best = min(drawn, key=lambda tree: _tree_loss(tree, dichotomies))
    return from_tree(_relabel(best, samples.classes), name=name)


def evolved_tree(
    X: Any,
    y: ArrayLike,
    *,
    estimator: Any = None,
    population: int = 20,
    generations: int = 30,
    cv: int = 3,
    random_state: RandomState = None,
    name: str = "evolved",
) -> Scheme:
    """Return a tree found by genetic search for the least cross-validated logarithmic loss.

    The search starts from random, empirical and furthest-centroid trees. It crosses trees (a
    subtree of one replaces its classes in the other) and mutates them (a subtree moves, or two
    classes swap places), and keeps the best. Lee and Oh (2003) search for trees of support vector
    machines in this way. A dichotomy that occurs in several trees is trained once for each fold.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels: text, numbers or booleans
    estimator : binary classifier; by default ridge regression on random Fourier features
    population : number of trees kept in each generation
    generations : number of generations
    cv : number of folds
    random_state : int, generator, or None for a different tree each time
    name : base of the binaries' names

    Examples
    --------
    >>> import numpy as np
    >>> y = np.repeat(["a", "b", "c", "d"], 20)
    >>> centres = np.repeat([[0, 0], [0, 1], [9, 0], [9, 1]], 20, axis=0)
    >>> X = centres + np.random.default_rng(0).normal(0, 0.4, (80, 2))
    >>> tree = evolved_tree(X, y, generations=5, random_state=0)
    >>> print(tree)
    evolved {
      evolved.00 {a b}
      evolved.01 {c d}
    }
    """
    population = as_count("population", population, at_least=2)
    generations = as_count("generations", generations, at_least=0)
    samples = group_samples(X, y)
    n_classes = len(samples.classes)
    if n_classes > _MOST_CLASSES:
        raise ArgumentError(
            f"evolved_tree takes at most {_MOST_CLASSES} classes; got {n_classes}. "
            "Use separability_tree instead."
        )
    random = as_generator(random_state)
    dichotomies = Dichotomies(samples, estimator, cv=cv, random_state=random)
    first = _good_guesses(samples)
    while len(first) < population:
        first.append(random_tree(n_classes, random_state=random))
    losses = {tree: _tree_loss(tree, dichotomies) for tree in map(_nest_tuples, first)}
    living = sorted(losses.items(), key=itemgetter(1))
    for _ in range(generations if n_classes > 2 else 0):
        children = {
            child: _tree_loss(child, dichotomies)
            for child in (_child(living, random) for _ in range(population))
        }
        living = sorted({**dict(living), **children}.items(), key=itemgetter(1))[:population]
    return from_tree(_relabel(living[0][0], samples.classes), name=name)


def _good_guesses(samples: ClassSamples) -> list[Scheme]:
    """Return trees over 0, 1, … that need no search."""
    scaled = samples.scaled()
    X, y = scaled.rows, scaled.class_indices
    return [furthest_centroid_tree(X, y), empirical_tree(X, y), separability_tree(X, y)]


def _nest_tuples(scheme: Scheme) -> _Tree:
    """Return a tree over 0, 1, … as nested tuples."""
    built: dict[int, _Tree] = {}
    for position in range(len(scheme.nodes) - 1, -1, -1):
        built[position] = tuple(
            scheme.classes[branch.index] if isinstance(branch, ClassRef) else built[branch.index]
            for branch in scheme.nodes[position].branches
        )
    return built[0] if built else scheme.classes[0]


def _relabel(tree: _Tree, labels: Sequence[Any]) -> _Tree:
    """Return the tree with each class index replaced by its label."""
    if not isinstance(tree, tuple):
        return labels[tree]
    return _relabel(tree[0], labels), _relabel(tree[1], labels)


def _members(tree: _Tree) -> list[int]:
    if not isinstance(tree, tuple):
        return [tree]
    return _members(tree[0]) + _members(tree[1])


def _subtrees(tree: _Tree) -> list[_Tree]:
    """Return all subtrees, the tree itself first."""
    if not isinstance(tree, tuple):
        return [tree]
    return [tree, *_subtrees(tree[0]), *_subtrees(tree[1])]


def _tree_loss(tree: _Tree, dichotomies: Dichotomies) -> float:
    return sum(
        dichotomies.loss(_members(node[0]), _members(node[1]))
        for node in _subtrees(tree)
        if isinstance(node, tuple)
    )


# -- children -----------------------------------------------------------------------------------


def _child(living: list[tuple[_Tree, float]], random: np.random.Generator) -> _Tree:
    mother = _parent(living, random)
    chance = random.random()
    if chance < 0.4:
        return _graft(mother, _drawn_subtree(_parent(living, random), random), random)
    if chance < 0.8:
        return _graft(mother, _drawn_subtree(mother, random), random)
    names = list(range(len(_members(mother))))
    one, other = random.choice(_members(mother), 2, replace=False).tolist()
    names[one], names[other] = other, one
    return _relabel(mother, names)


def _parent(living: list[tuple[_Tree, float]], random: np.random.Generator) -> _Tree:
    """Return the best of a few random trees; `living` is sorted by loss."""
    return living[int(random.integers(len(living), size=_TOURNAMENT).min())][0]


def _drawn_subtree(tree: _Tree, random: np.random.Generator) -> _Tree:
    below = _subtrees(tree)[1:]
    return below[random.integers(len(below))]


def _graft(tree: _Tree, branch: _Tree, random: np.random.Generator) -> _Tree:
    """Return the tree with the classes of a branch removed and the branch added anywhere."""
    rest = _without(tree, set(_members(branch)))
    places = _subtrees(rest)
    return _joined_at(rest, places[random.integers(len(places))], branch)


def _without(tree: _Tree, gone: set[int]) -> _Tree:
    """Return a tree without some of its classes; None if no class is left."""
    if not isinstance(tree, tuple):
        return None if tree in gone else tree
    left, right = _without(tree[0], gone), _without(tree[1], gone)
    if left is None or right is None:
        return right if left is None else left
    return left, right


def _joined_at(tree: _Tree, place: _Tree, branch: _Tree) -> _Tree:
    if tree == place:
        return tree, branch
    if not isinstance(tree, tuple):
        return tree
    return _joined_at(tree[0], place, branch), _joined_at(tree[1], place, branch)
