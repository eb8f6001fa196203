"""Ensembles of trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from numpy.typing import ArrayLike

from polytomy.designs.classes import class_labels
from polytomy.designs.nested_dichotomies import random_pair_tree
from polytomy.designs.trees import random_tree
from polytomy.inputs.arguments import as_count
from polytomy.inputs.class_samples import group_samples
from polytomy.inputs.seeds import RandomState, as_generator
from polytomy.scheme import Scheme
from polytomy.scheme.ensemble import SchemeEnsemble

__all__ = ["random_pair_trees", "random_trees", "tree_ensemble"]


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
