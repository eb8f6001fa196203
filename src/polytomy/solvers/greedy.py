"""The greedy walk down a tree: it takes the more probable side at each node."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.codes import CodingMatrix, TreeShape
from polytomy.solvers.decisions import check_decisions

__all__ = ["score_greedily", "score_tree_greedily"]

FloatArray = NDArray[np.float64]


def score_greedily(code: CodingMatrix, decisions: ArrayLike) -> FloatArray:
    """Return the probability of the class at the end of the greedy walk, and 0 for all others.

    The walk starts at the root and takes the most probable side at each node; in a tie, the first.
    At a node without an answer, all sides are equally probable. The score is the product of the
    probabilities along the path. It is the winner's probability, but another class may have a
    larger one; least squares gives the probabilities of all classes of a tree.

    Parameters
    ----------
    code : CodingMatrix, a tree
    decisions : array of shape (n_samples, n_rows), in [-1, 1]; NaN means no answer

    Returns
    -------
    array of shape (n_samples, n_classes), one positive value in each row

    Examples
    --------
    >>> code = CodingMatrix([[-1, -1, 1, 1], [-1, 1, 0, 0], [0, 0, -1, 1]])
    >>> score_greedily(code, [[0.5, 0.0, -0.5]])
    array([[0.    , 0.    , 0.5625, 0.    ]])
    """
    assert code.tree is not None
    answers = check_decisions(decisions, code.n_partitions, code.rows_per_partition)
    return score_tree_greedily(code.tree, code.rows_per_partition, answers, code.n_classes)


def score_tree_greedily(
    tree: TreeShape,
    rows_per_partition: NDArray[np.intp],
    decisions: FloatArray,
    n_classes: int,
) -> FloatArray:
    """Return the scores of `score_greedily`, given decisions in the order of the partitions."""
    scores = np.zeros((len(decisions), n_classes))
    samples = np.arange(len(decisions))
    sides, chances = _choose_sides(rows_per_partition, decisions)
    # Where each walk is: at a partition of the tree, or at the leaf of class k, written ~k.
    place = np.full(len(decisions), tree.order[0] if len(tree.order) else ~0)
    probability = np.ones(len(decisions))
    while True:
        has_ended = place < 0
        # A product of many factors may underflow to zero, but its class is still the winner.
        scores[samples[has_ended], ~place[has_ended]] = np.maximum(
            probability[has_ended], np.finfo(np.float64).tiny
        )
        goes_on = ~has_ended
        samples, place, probability = samples[goes_on], place[goes_on], probability[goes_on]
        if not len(samples):
            return scores
        probability *= chances[samples, place]
        place = tree.children[place, sides[samples, place]]


def _choose_sides(
    rows_per_partition: NDArray[np.intp], decisions: FloatArray
) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the most probable side of each partition, and its probability."""
    starts = np.cumsum(rows_per_partition) - rows_per_partition
    answers = np.nan_to_num(decisions[:, starts], nan=0.0)
    sides, chances = (answers > 0).astype(np.intp), 0.5 * (1.0 + np.abs(answers))
    for partition in np.flatnonzero(rows_per_partition > 1).tolist():
        n_sides = int(rows_per_partition[partition])
        own = decisions[:, starts[partition] : starts[partition] + n_sides]
        own = np.nan_to_num(0.5 * (1.0 + own), nan=1.0 / n_sides)
        sides[:, partition], chances[:, partition] = own.argmax(axis=1), own.max(axis=1)
    return sides, chances
