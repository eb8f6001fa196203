"""Answers that use the tree of a scheme: nodes instead of classes, and the k likeliest classes.

The k likeliest classes are found in blocks of samples, so that memory stays bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError, SchemeError
from polytomy.inputs.arguments import Parameter, is_boolean, is_count
from polytomy.inputs.rows import count_rows, take_block
from polytomy.inputs.training_data import blocks_of_rows
from polytomy.model.arrangement import Arrangement
from polytomy.scheme import ClassRef, NodeRef, Scheme

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

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


# -- the k likeliest classes -----------------------------------------------------------------------


def check_top_k(k: Any, n_classes: int) -> int:
    """Return a number of classes, or raise an ArgumentError unless it is from 1 to all."""
    is_number = isinstance(k, int | np.integer) and not isinstance(k, bool)
    if not is_number or not 1 <= k <= n_classes:
        raise ArgumentError(
            Argument("k", k),
            f" must be a whole number from 1 to {n_classes}, the number of classes.",
        )
    return int(k)


def take_top_classes(
    X: Any, k: int, n_binaries: int, score: Callable[[Any], Floats]
) -> tuple[Indices, Floats]:
    """Return the k classes with the largest scores, in blocks of rows, and their scores.

    Parameters
    ----------
    X : samples
    k : number of classes
    n_binaries : number of decision values per sample
    score : function that returns the scores of some samples
    """
    n_rows = count_rows(X)
    classes = np.empty((n_rows, k), dtype=np.intp)
    best = np.empty((n_rows, k))
    for block in blocks_of_rows(n_rows, n_binaries):
        scores = score(take_block(X, block))
        classes[block] = sort_best(scores, k)
        best[block] = np.take_along_axis(scores, classes[block], axis=1)
    return classes, best


def sort_best(scores: Floats, k: int) -> Indices:
    """Return the positions of the k largest scores of each row, the largest first.

    Ties go to the score that comes first.

    Examples
    --------
    >>> sort_best(np.array([[0.2, 0.3, 0.3, 0.2]]), 3)
    array([[1, 2, 0]])
    """
    n_rows, n_scores = scores.shape
    if 8 * k >= n_scores:
        return np.argsort(-scores, axis=1, kind="stable")[:, :k]
    lowest = np.partition(scores, n_scores - k, axis=1)[:, [n_scores - k]]
    is_chosen = scores >= lowest
    (tied,) = (np.count_nonzero(is_chosen, axis=1) > k).nonzero()
    if len(tied):
        # Among scores equal to the lowest, the first are chosen.
        is_lowest = scores[tied] == lowest[tied]
        n_above = np.count_nonzero(scores[tied] > lowest[tied], axis=1)
        is_late = np.cumsum(is_lowest, axis=1) > (k - n_above)[:, np.newaxis]
        is_chosen[tied] &= ~(is_lowest & is_late)
    chosen = np.nonzero(is_chosen)[1].reshape(n_rows, k)
    own = np.take_along_axis(scores, chosen, axis=1)
    order = np.argsort(-own, axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)
