"""The greedy walk down a tree: to the more probable side at each node."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.codes import CodingMatrix, TreeShape
from polytomy.solvers.decisions import check_decisions

__all__ = ["score_greedily", "score_tree_greedily"]

FloatArray = NDArray[np.float64]


def score_greedily(code: CodingMatrix, decisions: ArrayLike) -> FloatArray:
    """Return the probability of the class at the end of the greedy walk, and 0 for all others.

    The walk starts at the root and goes to the more probable side at each node. At a tie, or at a
    node without an answer, it goes to the −1 side with probability 1/2. The score is the product
    of the probabilities along the way. It is the winner's probability, but another class may have
    a larger one; least squares gives the probabilities of all classes of a tree.

    Parameters
    ----------
    code : CodingMatrix, a tree
    decisions : array of shape (n_samples, n_partitions), in [-1, 1]; NaN means no answer

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
    return score_tree_greedily(code.tree, check_decisions(decisions, code.n_partitions))


def score_tree_greedily(tree: TreeShape, decisions: FloatArray) -> FloatArray:
    """Return the scores of `score_greedily`; row k of the tree is answered by column k."""
    n_samples, n_rows = decisions.shape
    scores = np.zeros((n_samples, n_rows + 1))
    samples = np.arange(n_samples)
    # Where each walk stands: at a row of the tree, or at the leaf of class k, written ~k.
    place = np.full(n_samples, tree.order[0] if n_rows else ~0)
    probability = np.ones(n_samples)
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
        answers = np.nan_to_num(decisions[samples, place], nan=0.0)
        probability *= 0.5 * (1.0 + np.abs(answers))
        place = tree.children[place, (answers > 0).astype(np.intp)]
