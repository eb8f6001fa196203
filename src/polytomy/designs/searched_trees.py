"""Trees found by searching for the least cross-validated loss."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from polytomy.designs.dichotomies import Dichotomies
from polytomy.designs.empirical import empirical_tree, separability_tree
from polytomy.designs.nested_dichotomies import furthest_centroid_tree
from polytomy.designs.trees import Nested, from_tree, random_tree
from polytomy.errors import ArgumentError
from polytomy.inputs.arguments import as_count
from polytomy.inputs.class_samples import ClassSamples, group_samples
from polytomy.inputs.seeds import RandomState, as_generator
from polytomy.scheme import ClassRef, Scheme

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
    y : array of shape (n_samples,), labels of any kind
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
    drawn = [random_tree(samples.classes, random_state=random, name=name) for _ in range(n_trees)]
    dichotomies = Dichotomies(samples, estimator, cv=cv, random_state=random)
    return min(drawn, key=dichotomies.loss_of)


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
    y : array of shape (n_samples,), labels of any kind
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
    living = sorted(losses.items(), key=_second)
    for _ in range(generations if n_classes > 2 else 0):
        children = {
            child: _tree_loss(child, dichotomies)
            for child in (_child(living, random) for _ in range(population))
        }
        living = sorted({**dict(living), **children}.items(), key=_second)[:population]
    return from_tree(_replace_by_labels(living[0][0], samples.classes), name=name)


def _second(pair: tuple[_Tree, float]) -> float:
    return pair[1]


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


def _replace_by_labels(tree: _Tree, labels: tuple[Any, ...]) -> Nested:
    if not isinstance(tree, tuple):
        return labels[tree]
    return [_replace_by_labels(tree[0], labels), _replace_by_labels(tree[1], labels)]


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
    one, other = random.choice(_members(mother), 2, replace=False).tolist()
    return _relabelled(mother, {one: other, other: one})


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


def _relabelled(tree: _Tree, names: dict[int, int]) -> _Tree:
    if not isinstance(tree, tuple):
        return names.get(tree, tree)
    return _relabelled(tree[0], names), _relabelled(tree[1], names)
