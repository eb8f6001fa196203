"""Ensembles of trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from polytomy.codes.arguments import RandomState, as_count, as_generator
from polytomy.designs.classes import class_labels
from polytomy.designs.trees import random_tree
from polytomy.scheme import Scheme
from polytomy.scheme.ensemble import SchemeEnsemble

__all__ = ["tree_ensemble"]


def tree_ensemble(
    classes: Iterable[Any] | int,
    n_trees: int = 10,
    *,
    make: Callable[..., Scheme] = random_tree,
    random_state: RandomState = None,
) -> SchemeEnsemble:
    """Return nested dichotomies whose probabilities are averaged (Frank and Kramer 2004).

    A dichotomy that occurs in several trees is trained once.

    Parameters
    ----------
    classes : labels, or a number of classes
    n_trees : how many
    make : function of the classes and ``random_state=`` that returns a tree; for one that looks at
        the data, ``lambda classes, random_state: random_pair_tree(X, y, random_state=…)``
    random_state : int, generator or None for other trees each time

    Examples
    --------
    >>> tree_ensemble(["a", "b", "c"], 20, random_state=0)
    <SchemeEnsemble: 20 schemes, 3 classes, 6 different dichotomies>
    """
    n_trees = as_count("n_trees", n_trees)
    labels = class_labels(classes)
    random = as_generator(random_state)
    return SchemeEnsemble([make(labels, random_state=random) for _ in range(n_trees)])
