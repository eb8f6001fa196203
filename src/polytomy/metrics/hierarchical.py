"""Scores of predictions in a hierarchy of classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.judged_samples import check_predicted_labels

__all__ = ["HierarchicalScore", "hierarchical_score"]


class Hierarchy(Protocol):
    """The part of a scheme that tells which classes are below which nodes."""

    @property
    def classes(self) -> Sequence[Any]:
        """The labels."""

    @property
    def branch_starts(self) -> Sequence[Sequence[int]]:
        """For each node, the first class of each branch, then the end of the last branch."""


class HierarchicalScore(NamedTuple):
    """Hierarchical precision, recall and F score, from 0 to 1."""

    precision: float
    recall: float
    f_score: float


def hierarchical_score(
    y: ArrayLike,
    predicted: ArrayLike,
    hierarchy: Hierarchy,
    *,
    sample_weight: ArrayLike | None = None,
) -> HierarchicalScore:
    """Return the hierarchical precision, recall and F score (Kiritchenko et al. 2006).

    A class counts together with the nodes that it is below, without the root. Precision is the
    share of the predicted classes and nodes that are true, recall the share of the true ones that
    were predicted, both summed over the samples; the F score is their harmonic mean. So a wrong
    class in the right branch costs less than one in another branch.

    Parameters
    ----------
    y, predicted : arrays of shape (n_samples,), true and predicted labels
    hierarchy : Scheme whose classes are these labels
    sample_weight : array of shape (n_samples,), optional

    Examples
    --------
    >>> from polytomy.scheme import parse
    >>> land = parse("land {field {corn wheat} forest {pine oak}}")
    >>> hierarchical_score(["corn", "pine"], ["wheat", "pine"], land)
    HierarchicalScore(precision=0.75, recall=0.75, f_score=0.75)
    """
    true_labels, predicted_labels, weight = check_predicted_labels(y, predicted, sample_weight)
    above = _nodes_above(hierarchy)
    true_sets = [_find(label, above, "y") for label in true_labels]
    predicted_sets = [_find(label, above, "predicted") for label in predicted_labels]
    pairs = list(zip(true_sets, predicted_sets, strict=True))
    common = weight @ np.array([len(true & found) for true, found in pairs])
    precision = float(common / (weight @ np.array([len(found) for _, found in pairs])))
    recall = float(common / (weight @ np.array([len(true) for true, _ in pairs])))
    total = precision + recall
    return HierarchicalScore(precision, recall, 2 * precision * recall / total if total else 0.0)


def _nodes_above(hierarchy: Hierarchy) -> dict[Hashable, frozenset[int]]:
    """Return, for each class, itself and the nodes it is below, without the root."""
    above: list[list[int]] = [[~index] for index in range(len(hierarchy.classes))]
    for node, starts in enumerate(hierarchy.branch_starts):
        for index in range(starts[0], starts[-1] if node else starts[0]):
            above[index].append(node)
    return dict(zip(hierarchy.classes, map(frozenset, above), strict=True))


def _find(label: Hashable, above: dict[Hashable, frozenset[int]], argument: str) -> frozenset[int]:
    if label not in above:
        raise ArgumentError(
            Argument(argument), f" has the label {label!r}, which is not a class of the hierarchy."
        )
    return above[label]
