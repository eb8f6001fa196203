"""Orders of the classes: given, found in the data by seriation, and codes for ordered classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from polytomy.designs.flat import adjacent
from polytomy.distances.computing import DistanceArgument, centroid, compute_distances
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import as_count, check_choice
from polytomy.inputs.class_samples import group_samples
from polytomy.inputs.label_order import match_class_order, order_labels
from polytomy.inputs.seeds import RandomState, as_generator
from polytomy.scheme import Label, Scheme
from polytomy.scheme.nodes import normalize_label

METHODS = ("auto", "exact", "optimal-leaf", "spectral")
_MOST_EXACT = 12
_MOST_OPTIMAL_LEAF = 500
_DIGITS = 10

# In all data tried, classes that are bins of a number had at least 0.77, others at most 0.70.
_STRONG = 0.75
_SIGNIFICANT = 0.05

# Below the resolution of separability: one doubtful sample in a thousand.
_SHARE_OF_MEANS = 1e-3

# If there are more triples of classes than this, a random sample of this size is used.
_MOST_TRIPLES = 100_000


def order_classes(
    classes: Iterable[Any],
    class_order: Iterable[Any] | None = None,
    designs: Sequence[str] = (),
) -> list[Label]:
    """Return classes in order, for designs that use one.

    Parameters
    ----------
    classes : labels of the data
    class_order : all labels in order, optional
        By default numbers, including numbers written as text, are sorted by value, and all other
        labels are left as they are.
    designs : names of the designs that use the order
        If there are any, and the labels are text without an order, a warning names them.

    Examples
    --------
    >>> order_classes(["10", "2", "9"])
    ['2', '9', '10']
    >>> order_classes(["damp", "dry", "wet"], ["dry", "damp", "wet"])
    ['dry', 'damp', 'wet']
    """
    labels = [normalize_label(label) for label in classes]
    if class_order is not None:
        return match_class_order(class_order, labels)
    return order_labels(labels, designs)


def ordered_adjacent(
    X: Any,
    y: ArrayLike,
    *,
    distance: DistanceArgument = "separability",
    method: str = "auto",
    name: str = "adjacent",
) -> Scheme:
    """Return the adjacent code of the classes, in the order found in the data.

    The order puts nearby classes next to each other. Classes that a linear model separates
    perfectly are compared by the distance between their means.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels: text, numbers or booleans
    distance : name of a distance in `polytomy.distances`, ClassDistances, a matrix in the order of
        the sorted labels, or a function of (X, y) that returns one of these
    method : {"auto", "exact", "optimal-leaf", "spectral"}
        "exact" finds the shortest path, for up to 12 classes; "auto" uses it where possible
    name : base of the binaries' names

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
    """The best order of the classes found in the data, and how clear it is.

    Attributes
    ----------
    order : tuple of labels, from one end to the other
    strength : 1 if distances always grow along the order, 0 if they do so no more often than for
        shuffled distances in their best order; can be negative
    p_value : how often shuffled distances do at least as well
    """

    order: tuple[Any, ...]
    strength: float
    p_value: float

    @property
    def is_ordered(self) -> bool:
        """Whether the order is strong (at least 0.75) and significant (p at most 0.05)."""
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
    """Return the best order of the classes, and whether they look ordered at all.

    If classes are ordered, the outer two of any three are further apart than either is from the
    middle one: the matrix of distances is Robinsonian (Robinson 1951). The share of these
    inequalities that hold in the best order is compared with the same share for shuffled distances
    in *their* best order. The names of the classes do not matter. With four classes or fewer, no
    order is significant.

    Parameters
    ----------
    X, y, distance, method : see `ordered_adjacent`
    n_permutations : how many times the distances are shuffled
    random_state : int, generator or None, for the shuffling

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> humidity = random.random(800)
    >>> X = np.column_stack([humidity, humidity**2]) + random.normal(0, 0.05, (800, 2))
    >>> words = np.array(["dry", "low", "fair", "damp", "wet", "flooded"])
    >>> print(detect_order(X, words[(6 * humidity).astype(int)]))
    ordered (strength 1.00, p = 0.01): dry low fair damp wet flooded
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
    # Sorted, so that the shuffling does not depend on the names of the classes.
    condensed = np.sort(scipy.spatial.distance.squareform(matrix, checks=False))
    by_chance = np.empty(n_permutations)
    for k in range(n_permutations):
        shuffled = scipy.spatial.distance.squareform(random.permutation(condensed))
        best = seriate(shuffled, method)
        by_chance[k] = _robinson_share(shuffled[np.ix_(best, best)], triples)
    expected = by_chance.mean()
    strength = (share - expected) / (1 - expected) if expected < 1 else 0.0
    p_value = (1 + np.count_nonzero(by_chance >= share)) / (1 + n_permutations)
    return ClassOrder(tuple(classes[i] for i in order), float(strength), float(p_value))


def _distances_along(distance: DistanceArgument, X: Any, y: ArrayLike) -> NDArray[np.float64]:
    """Return the distances between classes; distances between means break ties of separability."""
    matrix = compute_distances(distance, X, y).matrix
    if not isinstance(distance, str) or distance != "separability":
        return matrix
    samples = group_samples(X, y)
    means = centroid(samples.scaled().rows, samples.class_indices).matrix
    return matrix + _SHARE_OF_MEANS * means / (means.max() or 1.0)


def _triples(n: int, random: np.random.Generator) -> NDArray[np.intp]:
    """Return triples of positions, each ascending, as an array of shape (3, n_triples)."""
    if n * (n - 1) * (n - 2) // 6 <= _MOST_TRIPLES:
        return np.array(list(combinations(range(n), 3)), dtype=np.intp).T
    drawn = np.sort(random.integers(n, size=(_MOST_TRIPLES, 3)), axis=1)
    return drawn[(np.diff(drawn, axis=1) > 0).all(axis=1)].T


def _robinson_share(matrix: NDArray[np.float64], triples: NDArray[np.intp]) -> float:
    first, middle, last = triples
    across = matrix[first, last]
    holds = [across >= matrix[first, middle], across >= matrix[middle, last]]
    return float(np.mean(holds))


def seriate(matrix: NDArray[np.float64], method: str = "auto") -> NDArray[np.intp]:
    """Return an order of the rows of a distance matrix that puts nearby rows next to each other.

    Parameters
    ----------
    matrix : symmetric array of shape (n, n)
    method : {"auto", "exact", "optimal-leaf", "spectral"}
        "exact" is the shortest path through all rows, for up to 12 (Held and Karp 1962);
        "optimal-leaf" is the best leaf order of an average-linkage dendrogram (Bar-Joseph, Gifford
        and Jaakkola 2001); "spectral" is the order of the Fiedler vector (Atkins, Boman and
        Hendrickson 1998); "auto" is the first of these that is fast enough

    Returns
    -------
    array of shape (n,), a permutation in the direction that starts with the smaller index

    Examples
    --------
    >>> places = np.array([3.0, 0.0, 1.0])
    >>> seriate(np.abs(places[:, np.newaxis] - places))
    array([0, 2, 1])
    """
    check_choice("method", method, METHODS)
    n = len(matrix)
    if method == "exact" and n > _MOST_EXACT:
        raise ArgumentError(
            Argument("method", "exact"),
            f" takes at most {_MOST_EXACT} classes; got {n}. Use ",
            Argument("method", "optimal-leaf"),
            ".",
        )
    if method == "auto":
        method = (
            "exact" if n <= _MOST_EXACT
            else "optimal-leaf" if n <= _MOST_OPTIMAL_LEAF
            else "spectral"
        )  # fmt: skip
    if n <= 2:
        return np.arange(n)
    search = {"exact": _shortest_path, "optimal-leaf": _best_leaves, "spectral": _fiedler}[method]
    # Ties are broken by the position of the rows. When sorted from the most central row outwards,
    # that position does not depend on the order of the input.
    matrix = without_noise(matrix)
    from_centre = np.argsort(matrix.sum(axis=0).round(_DIGITS), kind="stable")
    order: NDArray[np.intp] = from_centre[search(matrix[np.ix_(from_centre, from_centre)])]
    return order if order[0] < order[-1] else order[::-1]


def without_noise(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix divided by its largest entry, rounded to digits without noise."""
    scaled: NDArray[np.float64] = matrix / (matrix.max() or 1.0)
    return scaled.round(_DIGITS)


def _shortest_path(matrix: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the shortest path by dynamic programming over sets, stored as the bits of an int."""
    n = len(matrix)
    sets = np.arange(1 << n)
    sizes = sum((sets >> i) & 1 for i in range(n))
    shortest = np.full((1 << n, n), np.inf)  # path through a set that ends at a row
    shortest[1 << np.arange(n), np.arange(n)] = 0
    for size in range(1, n):
        of_size = sets[sizes == size]
        for end in range(n):
            without = of_size[(of_size >> end) & 1 == 0]
            shortest[without | 1 << end, end] = (shortest[without] + matrix[:, end]).min(axis=1)
    left, end = (1 << n) - 1, int(shortest[-1].argmin())
    path = [end]
    while left != 1 << end:
        left ^= 1 << end
        end = int((shortest[left] + matrix[:, end]).argmin())
        path.append(end)
    return np.array(path, dtype=np.intp)


def _best_leaves(matrix: NDArray[np.float64]) -> NDArray[np.intp]:
    hierarchy = scipy.cluster.hierarchy
    condensed = scipy.spatial.distance.squareform(matrix, checks=False)
    tree = hierarchy.optimal_leaf_ordering(hierarchy.linkage(condensed, "average"), condensed)
    return np.asarray(hierarchy.leaves_list(tree), dtype=np.intp)


def _fiedler(matrix: NDArray[np.float64]) -> NDArray[np.intp]:
    likeness = matrix.max() - matrix
    np.fill_diagonal(likeness, 0)
    laplacian = np.diag(likeness.sum(axis=0)) - likeness
    second: NDArray[np.float64] = scipy.linalg.eigh(laplacian, subset_by_index=[1, 1])[1][:, 0]
    return np.argsort(second, kind="stable")
