"""Trees grown from the root by a rule that splits each node's classes, and ensembles of trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike

from polytomy.designs.dichotomies import Dichotomies
from polytomy.designs.flat import class_labels
from polytomy.designs.trees import Nested, from_tree, random_tree
from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import as_count
from polytomy.inputs.class_samples import group_samples
from polytomy.inputs.seeds import RandomState, as_generator
from polytomy.scheme import Scheme, SchemeEnsemble

_Split: TypeAlias = Callable[[list[int]], tuple[list[int], list[int]]]


def furthest_centroid_tree(X: Any, y: ArrayLike, *, name: str = "centroids") -> Scheme:
    """Return a tree that splits around the two classes whose means are furthest apart.

    At each node, the two classes whose means are furthest apart go to different sides, and every
    other class joins the one with the nearer mean (Duarte-Villaseñor et al. 2012). Features are
    scaled to unit variance first.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
    y : array of shape (n_samples,), labels of any kind
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

    def split(members: list[int]) -> tuple[list[int], list[int]]:
        among = between[np.ix_(members, members)]
        one, other = divmod(int(np.argmax(among)), len(members))
        # Classes whose means are all equal still have to be split.
        one, other = (one, other) if one != other else (0, 1)
        is_nearer = among[one] < among[other]
        is_nearer[[one, other]] = True, False
        return _divided(members, is_nearer)

    return from_tree(_divide_down(samples.classes, split), name=name)


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
    y : array of shape (n_samples,), labels of any kind
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
    if by not in ("classes", "samples"):
        raise ArgumentError(Argument("by", by), ' is not one of "classes" and "samples".')
    samples = group_samples(X, y)
    random = as_generator(random_state)
    sizes = samples.counts if by == "samples" else np.ones(len(samples.classes), dtype=np.intp)

    def split(members: list[int]) -> tuple[list[int], list[int]]:
        shuffled = random.permutation(members)
        # Cut where the two sides are most equal in size.
        total = np.cumsum(sizes[shuffled])[:-1]
        cut = int(np.argmin(np.abs(2 * total - sizes[shuffled].sum()))) + 1
        return shuffled[:cut].tolist(), shuffled[cut:].tolist()

    return from_tree(_divide_down(samples.classes, split), name=name)


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
    y : array of shape (n_samples,), labels of any kind
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

    def split(members: list[int]) -> tuple[list[int], list[int]]:
        one, other = random.choice(len(members), 2, replace=False)
        pair = frozenset([members[one]]), frozenset([members[other]])
        scores = dichotomies.scores(*pair, of_classes=frozenset(members))
        counts = dichotomies.samples.counts[sorted(members)]
        by_class = np.split(scores < 0, np.cumsum(counts)[:-1])
        share = dict(zip(sorted(members), (part.mean() for part in by_class), strict=True))
        is_with_one = np.array([share[member] > 0.5 for member in members])
        is_with_one[[one, other]] = True, False
        return _divided(members, is_with_one)

    return from_tree(_divide_down(samples.classes, split), name=name)


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
    y : array of shape (n_samples,), labels of any kind
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
    y : array of shape (n_samples,), labels of any kind
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


def _divided(members: Sequence[int], is_left: Any) -> tuple[list[int], list[int]]:
    left = [member for member, flag in zip(members, is_left, strict=True) if flag]
    right = [member for member, flag in zip(members, is_left, strict=True) if not flag]
    return left, right


def _divide_down(classes: Sequence[Any], split: _Split) -> Nested:
    """Return nested lists of classes, split from the root down."""
    top: list[Nested] = [None]
    waiting: list[tuple[list[int], list[Nested], int]] = [(list(range(len(classes))), top, 0)]
    while waiting:
        members, holder, place = waiting.pop()
        if len(members) == 1:
            holder[place] = classes[members[0]]
            continue
        pair: list[Nested] = [None, None]
        holder[place] = pair
        left, right = split(members)
        waiting += [(right, pair, 1), (left, pair, 0)]
    return top[0]
