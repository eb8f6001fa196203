"""Scores of predictions in a hierarchy of classes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.metrics.metric import JudgedSamples, check_judged_samples, check_predicted_labels

Floats = NDArray[np.float64]


class HierarchicalScore(NamedTuple):
    """Hierarchical precision, recall and F score, from 0 to 1."""

    precision: float
    recall: float
    f_score: float


def hierarchical_score(
    y: ArrayLike,
    predicted: ArrayLike,
    hierarchy: Any,
    *,
    sample_weight: ArrayLike | None = None,
) -> HierarchicalScore:
    """Return the hierarchical precision, recall and F score (Kiritchenko et al. 2006).

    A class counts together with the nodes above it, without the root. Precision is the share of the
    predicted classes and nodes that are true, recall the share of the true ones that were
    predicted, both summed over the samples; the F score is their harmonic mean. So a wrong class in
    the right branch costs less than one in another branch.

    Parameters
    ----------
    y : array of shape (n_samples,), true labels
    predicted : array of shape (n_samples,), predicted labels
        Names of nodes are also allowed, as `predict_nodes` returns them. The root adds nothing; if
        only the root is predicted, the precision is 1 and the recall 0.
    hierarchy : Scheme whose classes are these labels
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> from polytomy.scheme import parse
    >>> land = parse("land {field {corn wheat} forest {pine oak}}")
    >>> hierarchical_score(["corn", "pine"], ["wheat", "pine"], land)
    HierarchicalScore(precision=0.75, recall=0.75, f_score=0.75)
    >>> hierarchical_score(["corn", "pine"], ["field", "pine"], land)
    HierarchicalScore(precision=1.0, recall=0.75, f_score=0.8571428571428571)
    """
    true_labels, predicted_labels, weight = check_predicted_labels(y, predicted, sample_weight)
    of_classes, of_nodes = _list_ancestors(hierarchy)
    true_sets = [_find(label, of_classes, "y") for label in true_labels]
    # A class takes precedence over a node of the same name.
    of_both = of_nodes | of_classes
    predicted_sets = [_find(label, of_both, "predicted") for label in predicted_labels]
    pairs = list(zip(true_sets, predicted_sets, strict=True))
    common = weight @ np.array([len(true & found) for true, found in pairs])
    n_predicted = weight @ np.array([len(found) for _, found in pairs])
    precision = float(common / n_predicted) if n_predicted else 1.0
    recall = float(common / (weight @ np.array([len(true) for true, _ in pairs])))
    total = precision + recall
    return HierarchicalScore(precision, recall, 2 * precision * recall / total if total else 0.0)


class NodeScores(NamedTuple):
    """Scores of the nodes of a hierarchy, arrays of shape (n_nodes,) in the order of its nodes.

    Attributes
    ----------
    n_samples : weight of the samples whose class is below the node
    error_rate : share of these whose most probable branch is not their own
    precision : share of the samples predicted below the node whose class is below it
    recall : share of the samples whose class is below the node that are predicted below it
    f_score : harmonic mean of precision and recall

    A share of no samples is NaN.
    """

    n_samples: Floats
    error_rate: Floats
    precision: Floats
    recall: Floats
    f_score: Floats


def node_scores(
    y: ArrayLike,
    proba: ArrayLike,
    hierarchy: Any,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> NodeScores:
    """Return how well the nodes of a hierarchy are separated, and the branches of each node.

    The error rate of a node does not depend on the nodes above it. It counts all samples whose
    class is below the node, including those that are predicted elsewhere.

    Parameters
    ----------
    y : array of shape (n_samples,), true labels
    proba : array of shape (n_samples, n_classes), probabilities of the classes
    hierarchy : Scheme whose classes are these labels
    classes : array of shape (n_classes,), optional
        The label of each column of `proba`; by default the labels in `y`, sorted.
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> from polytomy.scheme import parse
    >>> land = parse("land {field {corn wheat} forest {pine oak}}")
    >>> proba = [[0.2, 0.5, 0.1, 0.2], [0.0, 0.3, 0.6, 0.1], [0.2, 0.1, 0.4, 0.3]]
    >>> scores = node_scores(["corn", "pine", "oak"], proba, land, classes=land.classes)
    >>> scores.error_rate
    array([0. , 1. , 0.5])
    >>> scores.recall
    array([1., 1., 1.])
    """
    judged = check_judged_samples(y, proba, classes, sample_weight)
    places = {label: position for position, label in enumerate(hierarchy.classes)}
    unknown = [label for label in judged.classes if label not in places]
    if unknown:
        raise ArgumentError(
            Argument("classes"),
            f" has the label {unknown[0]!r}, which is not a class of the hierarchy.",
        )
    columns = np.array([places[label] for label in judged.classes])
    in_order = np.zeros((len(judged.proba), len(places)))
    in_order[:, columns] = judged.proba
    truth, weight = columns[judged.truth], judged.weight
    predicted = columns[np.argmax(judged.proba, axis=1)]
    n_samples, n_found, n_both, n_wrong = np.zeros((4, len(hierarchy.branch_starts)))
    for node, starts in enumerate(hierarchy.branch_starts):
        is_below = (truth >= starts[0]) & (truth < starts[-1])
        is_found = (predicted >= starts[0]) & (predicted < starts[-1])
        of_branches = np.add.reduceat(in_order[is_below, : starts[-1]], starts[:-1], axis=1)
        own = np.searchsorted(starts, truth[is_below], side="right") - 1
        n_wrong[node] = weight[is_below] @ (np.argmax(of_branches, axis=1) != own)
        n_samples[node], n_found[node] = weight[is_below].sum(), weight[is_found].sum()
        n_both[node] = weight[is_below & is_found].sum()
    return NodeScores(
        n_samples,
        _share(n_wrong, n_samples),
        _share(n_both, n_found),
        _share(n_both, n_samples),
        _share(2.0 * n_both, n_found + n_samples),
    )


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)


_Ancestors = dict[Hashable, frozenset[int]]


def _list_ancestors(hierarchy: Any) -> tuple[_Ancestors, _Ancestors]:
    """Return, for each class and each node, itself and the nodes above it, without the root."""
    above: list[list[int]] = [[~index] for index in range(len(hierarchy.classes))]
    of_nodes: _Ancestors = {}
    for node, starts in enumerate(hierarchy.branch_starts):
        # Nodes above have been visited: the first class below this node has them all.
        own = [each for each in above[starts[0]] if each >= 0] + ([node] if node else [])
        of_nodes[hierarchy.node_names[node]] = frozenset(own)
        for index in range(starts[0], starts[-1] if node else starts[0]):
            above[index].append(node)
    return dict(zip(hierarchy.classes, map(frozenset, above), strict=True)), of_nodes


def _find(label: Hashable, above: _Ancestors, argument: str) -> frozenset[int]:
    if label not in above:
        raise ArgumentError(
            Argument(argument), f" has the label {label!r}, which is not a class of the hierarchy."
        )
    return above[label]


def score_hierarchy(part: str) -> Callable[[JudgedSamples], float]:
    """Return the function of judged samples that is one part of their hierarchical score."""

    def measure(judged: JudgedSamples) -> float:
        true, found = (
            [judged.classes[column] for column in columns.tolist()]
            for columns in (judged.truth, judged.predicted)
        )
        score = hierarchical_score(true, found, judged.hierarchy, sample_weight=judged.weight)
        return float(getattr(score, part))

    return measure
