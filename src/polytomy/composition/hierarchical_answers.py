"""Probabilities of the nodes of a nested scheme, and predictions that stop at a node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.composition.arrangement import Arrangement
from polytomy.errors import SchemeError
from polytomy.inputs.parameters import Parameter, is_boolean, is_count
from polytomy.scheme import ClassRef, NodeRef, Scheme

__all__ = ["descend_nodes", "find_hierarchy", "sum_below_nodes"]

Floats = NDArray[np.float64]

_MAX_DEPTH = Parameter(
    "max_depth",
    "a non-negative integer",
    lambda value: is_count(value) and not is_boolean(value),
    allows_none=True,
)
_MIN_PROBABILITY = Parameter(
    "min_probability",
    "a number from 0 to 1",
    lambda value: isinstance(value, int | float | np.number) and bool(0 <= value <= 1),
)


def find_hierarchy(arrangements: Sequence[Arrangement]) -> tuple[Scheme, NDArray[np.intp]]:
    """Return the scheme, and the position of each class in it; SchemeError for an ensemble."""
    if len(arrangements) > 1:
        raise SchemeError("an ensemble has several schemes, not a single hierarchy of nodes")
    return arrangements[0].scheme, arrangements[0].positions


def sum_below_nodes(scheme: Scheme, positions: NDArray[np.intp], proba: Floats) -> Floats:
    """Return the probability of each node: the sum over the classes below it.

    Parameters
    ----------
    scheme : Scheme
    positions : array of shape (n_classes,), the position in the scheme of each column of `proba`
    proba : array of shape (n_samples, n_classes)

    Returns
    -------
    array of shape (n_samples, n_nodes), in the order of ``scheme.nodes``
    """
    sums = np.empty((len(proba), len(scheme.nodes)))
    for node, starts in enumerate(scheme.branch_starts):
        is_below = (positions >= starts[0]) & (positions < starts[-1])
        sums[:, node] = proba[:, is_below].sum(axis=1)
    return sums


def descend_nodes(
    scheme: Scheme,
    positions: NDArray[np.intp],
    proba: Floats,
    max_depth: int | None,
    min_probability: float,
) -> NDArray[Any]:
    """Return the class or the name of the node where the walk down the scheme ends.

    Each step goes to the branch with the largest probability. The walk ends at a class, at the
    depth `max_depth`, and before a branch whose probability is below `min_probability`.
    """
    _MAX_DEPTH.check(max_depth)
    _MIN_PROBABILITY.check(min_probability)
    of_nodes = sum_below_nodes(scheme, positions, proba)
    of_classes = np.zeros((len(proba), len(scheme.classes)))
    of_classes[:, positions] = proba
    found = np.empty(len(proba), dtype=object)
    waiting: list[tuple[ClassRef | NodeRef, int, NDArray[np.intp]]] = [
        (NodeRef(0) if scheme.nodes else ClassRef(0), 0, np.arange(len(proba)))
    ]
    while waiting:
        branch, depth, samples = waiting.pop()
        if isinstance(branch, ClassRef):
            found[samples] = scheme.classes[branch.index]
            continue
        below = scheme.nodes[branch.index].branches
        chances = np.column_stack(
            [
                (of_classes if isinstance(each, ClassRef) else of_nodes)[samples, each.index]
                for each in below
            ]
        )
        best = chances.argmax(axis=1)
        goes_on = chances.max(axis=1) >= min_probability
        if max_depth is not None and depth >= max_depth:
            goes_on[:] = False
        found[samples[~goes_on]] = scheme.node_names[branch.index]
        for position, each in enumerate(below):
            chosen = samples[goes_on & (best == position)]
            if len(chosen):
                waiting.append((each, depth + 1, chosen))
    return found
