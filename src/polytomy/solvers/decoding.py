"""Decoding: scores that rank the classes but are not probabilities.

A larger score is always better: the class with the largest score wins; in a tie, the first one. A
partition without an answer is left out of all sums.

All scores are computed from the *margins* of a class, one for each partition. With two sides, the
margin is a·r. On side s of n, with the answer q_s, it is (n q_s − 1)/(n − 1), which is the same for
n = 2: one if the answer is certain of the side, and zero if all sides are equally probable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import check_choice
from polytomy.onnx_graph import Graph, Value
from polytomy.scheme import CodingMatrix, Scheme
from polytomy.scheme.structure import TreeShape, row_blocks
from polytomy.solvers.method import TREE, Method, check_decisions, scale_weights
from polytomy.solvers.nested import join_trees, row_counts

FloatArray = NDArray[np.float64]
Loss: TypeAlias = Callable[[FloatArray], Any]

_TWO_LOGS_OF_TWO = 2.0 * np.log(2.0)

LOSSES: dict[str, Loss] = {
    "hamming": lambda margin: (1.0 - np.sign(margin)) / 2.0,
    "linear": lambda margin: (1.0 - margin) / 2.0,
    "quadratic": lambda margin: (1.0 - margin) ** 2 / 2.0,
    "exponential": lambda margin: np.exp(-margin) / 2.0,
    "hinge": lambda margin: np.maximum(1.0 - margin, 0.0) / 2.0,
    "logit": lambda margin: np.log1p(np.exp(-margin)) / _TWO_LOGS_OF_TWO,
    "binodeviance": lambda margin: np.log1p(np.exp(-2.0 * margin)) / _TWO_LOGS_OF_TWO,
}
"""Losses as functions of the margin a·r of a class in a partition, scaled to 1/2 at zero."""

DEFAULT_LOSS = "quadratic"


def score_votes(code: CodingMatrix, decisions: ArrayLike) -> FloatArray:
    """Return Aᵀr: the sum of decision values for each class minus the sum against it.

    Parameters
    ----------
    code : CodingMatrix
    decisions : array of shape (n_samples, n_rows), in [-1, 1]; NaN means no answer

    Returns
    -------
    array of shape (n_samples, n_classes)

    Examples
    --------
    >>> score_votes(CodingMatrix([[1, -1, 0], [1, 0, -1], [0, 1, -1]]), [[0.5, 0.25, -1.0]])
    array([[ 0.75, -1.5 ,  0.75]])
    """
    margins = _margins(code, decisions)
    return _sum_rows(np.nan_to_num(margins, nan=0.0), own_sides(code))


def score_matches(code: CodingMatrix, decisions: ArrayLike) -> FloatArray:
    """Return Aᵀsign(r): the number of answers for each class minus the number against it.

    A decision value of zero counts for neither side. In a strict code, the class with the largest
    score has the smallest Hamming distance. A partition with more than two sides answers for the
    most probable side and against the others; tied sides get no vote.

    Parameters
    ----------
    code : CodingMatrix
    decisions : array of shape (n_samples, n_rows), in [-1, 1]; NaN means no answer

    Returns
    -------
    array of shape (n_samples, n_classes)

    Examples
    --------
    >>> score_matches(CodingMatrix([[1, -1, 0], [1, 0, -1], [0, 1, -1]]), [[0.5, 0.25, -1.0]])
    array([[ 2., -2.,  0.]])
    """
    answers = check_decisions(decisions, code.n_partitions, code.rows_per_partition)
    votes = np.sign(np.nan_to_num(answers, nan=0.0))
    ends = np.cumsum(code.rows_per_partition)
    for partition in np.flatnonzero(code.rows_per_partition > 1).tolist():
        columns = slice(ends[partition] - code.rows_per_partition[partition], ends[partition])
        is_best = answers[:, columns] == answers[:, columns].max(axis=1, keepdims=True)
        vote_of_best = np.where(is_best.sum(axis=1, keepdims=True) == 1, 1.0, 0.0)
        votes[:, columns] = np.where(is_best, vote_of_best, -1.0)
        votes[np.isnan(answers[:, columns.start]), columns] = 0.0
    return _sum_rows(votes, own_sides(code))


def score_losses(
    code: CodingMatrix, decisions: ArrayLike, loss: str | Loss = DEFAULT_LOSS
) -> FloatArray:
    """Return −Σ_i L(a_ij r_i): loss-based decoding of Allwein, Schapire and Singer (2000).

    In a partition that does not contain it, a class has margin zero and loss L(0).

    Parameters
    ----------
    code : CodingMatrix
    decisions : array of shape (n_samples, n_rows), in [-1, 1]; NaN means no answer
    loss : one of LOSSES, or a function from an array of margins to an array of losses

    Returns
    -------
    array of shape (n_samples, n_classes)

    Examples
    --------
    >>> code = CodingMatrix([[1, -1, 0], [1, 0, -1], [0, 1, -1]])
    >>> score_losses(code, [[0.5, 0.25, -1.0]], loss="hinge")
    array([[-1.125, -2.25 , -1.125]])
    """
    if_for, if_against, if_out = _losses_of_rows(_margins(code, decisions), loss)
    entries = own_sides(code)
    scores = _sum_rows(if_for, entries == 1)
    scores += _sum_rows(if_against, entries == -1)
    # A partition that leaves out a class does so in all of its rows; it counts once.
    first_rows = np.cumsum(code.rows_per_partition) - code.rows_per_partition
    scores += _sum_rows(if_out[:, first_rows], code.matrix[first_rows] == 0)
    return -scores


def score_weighted_losses(
    code: CodingMatrix,
    decisions: ArrayLike,
    loss: str | Loss = DEFAULT_LOSS,
    weights: ArrayLike | None = None,
) -> FloatArray:
    """Return −Σ_i w_ij |a_ij| L(a_ij r_i) / Σ_i w_ij |a_ij|: a class's mean loss, negated.

    The mean is over the partitions that contain the class. This is the loss-weighted decoding of
    Escalera, Pujol and Radeva (2010), where w_ij is how often binary i is correct on class j. A
    class without any answer gets the score −L(0).

    Parameters
    ----------
    code : CodingMatrix
    decisions : array of shape (n_samples, n_rows), in [-1, 1]; NaN means no answer
    loss : one of LOSSES, or a function from an array of margins to an array of losses
    weights : array of shape (n_partitions,) or (n_partitions, n_classes), default all one

    Returns
    -------
    array of shape (n_samples, n_classes)

    Examples
    --------
    >>> code = CodingMatrix([[1, -1, 0], [1, 0, -1], [0, 1, -1]])
    >>> score_weighted_losses(code, [[0.5, 0.25, -1.0]], loss="hinge")
    array([[-0.3125, -0.875 , -0.3125]])
    """
    margins = _margins(code, decisions)
    weights_of_rows = _spread_weights(code, weights)
    if_for, if_against, _ = _losses_of_rows(margins, loss)
    is_answered = (~np.isnan(margins)).astype(np.float64)
    losses, total = np.zeros((2, len(margins), code.n_classes))
    for place, block in row_blocks(own_sides(code)):
        sides = weights_of_rows[place] * block
        losses += if_for[:, place] @ np.maximum(sides, 0.0)
        losses += if_against[:, place] @ np.maximum(-sides, 0.0)
        total += is_answered[:, place] @ np.abs(sides)
    neutral = _evaluate_loss(loss, np.zeros((1, 1))).item()
    return -np.divide(losses, total, out=np.full_like(losses, neutral), where=total > 0)


def _spread_weights(code: CodingMatrix, weights: ArrayLike | None) -> FloatArray:
    """Return the weights as an array that broadcasts against the code's matrix."""
    if weights is None:
        return np.ones((code.n_rows, 1))
    if np.ndim(weights) == 2:
        scaled = scale_weights(weights, (code.n_partitions, code.n_classes))
    else:
        scaled = scale_weights(weights, (code.n_partitions,))[:, np.newaxis]
    return scaled[code.partition_of_row]


def _margins(code: CodingMatrix, decisions: ArrayLike) -> FloatArray:
    """Return r of each row, or the margin of the row's side if its partition has several rows."""
    answers = check_decisions(decisions, code.n_partitions, code.rows_per_partition)
    if code.is_binary:
        return answers
    n_sides = code.n_sides[code.partition_of_row]
    of_sides = (0.5 * n_sides * (1.0 + answers) - 1.0) / (n_sides - 1)
    return np.where(code.row_weights == 1.0, answers, of_sides)


def own_sides(code: CodingMatrix) -> NDArray[np.int8]:
    """Return the code; in a partition with several rows, a class is only in its own side's row."""
    if code.is_binary:
        return code.matrix
    return np.where(
        (code.row_weights < 1.0)[:, np.newaxis], np.maximum(code.matrix, 0), code.matrix
    )


def _sum_rows(values: FloatArray, entries: NDArray[Any]) -> FloatArray:
    """Return values @ entries, converting the small integers block by block."""
    scores = np.zeros((len(values), entries.shape[1]))
    for place, block in row_blocks(entries):
        scores += values[:, place] @ block.astype(np.float64)
    return scores


def _losses_of_rows(
    answers: FloatArray, loss: str | Loss
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the losses of a class on the +1 side, the −1 side and neither; 0 if unanswered."""
    is_answered = ~np.isnan(answers)
    margins = np.where(is_answered, answers, 0.0)
    for_positive, for_negative, for_none = (
        np.where(is_answered, _evaluate_loss(loss, sign * margins), 0.0)
        for sign in (1.0, -1.0, 0.0)
    )
    return for_positive, for_negative, for_none


def _evaluate_loss(loss: str | Loss, margins: FloatArray) -> FloatArray:
    losses = np.asarray(_find_loss(loss)(margins), dtype=np.float64)
    if losses.shape != margins.shape:
        raise ArgumentError(
            Argument("loss"),
            f" must return an array of the shape of the margins, {margins.shape}; got "
            f"{losses.shape}. Compute it element by element.",
        )
    wrong = ~np.isfinite(losses)
    if wrong.any():
        raise ArgumentError(
            Argument("loss"),
            f" is {losses[wrong][0]:g} at the margin {margins[wrong][0]:g}. "
            "It must be finite for every margin in [-1, 1].",
        )
    return losses


def _find_loss(loss: str | Loss) -> Loss:
    if callable(loss):
        return loss
    check_choice("loss", loss, LOSSES)
    return LOSSES[loss]


# -- the greedy walk down a tree ----------------------------------------------------------------


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


def _score_scheme_greedily(scheme: Scheme, decisions: FloatArray) -> FloatArray:
    return score_tree_greedily(
        join_trees(scheme), row_counts(scheme), decisions, len(scheme.classes)
    )


# -- as ONNX graphs -----------------------------------------------------------------------------


def _export_votes(graph: Graph, decisions: Value, code: CodingMatrix) -> Value:
    """Return `score_votes` as a graph."""
    sides = own_sides(code).astype(np.float64)
    if code.is_binary:
        return decisions @ sides
    is_side, n_sides = code.row_weights < 1.0, code.n_sides[code.partition_of_row]
    slopes = np.where(is_side, 0.5 * n_sides / (n_sides - 1), 1.0)
    offsets = np.where(is_side, (0.5 * n_sides - 1.0) / (n_sides - 1), 0.0)
    return (decisions * slopes + offsets) @ sides


def _export_matches(graph: Graph, decisions: Value, code: CodingMatrix) -> Value:
    """Return `score_matches` as a graph."""
    sides = own_sides(code).astype(np.float64)
    if code.is_binary:
        return graph.add("Sign", decisions) @ sides
    votes, start = [], 0
    for count in code.rows_per_partition.tolist():
        own = decisions.take(np.arange(start, start + count), axis=1)
        start += count
        if count == 1:
            votes.append(graph.add("Sign", own))
            continue
        is_best = graph.add("Equal", own, own.max(axis=1))
        n_best = graph.add("Where", is_best, 1.0, 0.0).sum(axis=1)
        vote_of_best = graph.add("Where", graph.add("Equal", n_best, 1.0), 1.0, 0.0)
        votes.append(graph.add("Where", is_best, vote_of_best, -1.0))
    return graph.join(votes) @ sides


VOTING = Method(
    "voting",
    score_votes,
    summary="scores: sums of decision values",
    reference="Mills, Solving for multi-class: a survey and synthesis",
    gives_probabilities=False,
    to_onnx=_export_votes,
)
HAMMING = Method(
    "hamming",
    score_matches,
    summary="scores: answers for a class minus answers against it",
    reference="Dietterich and Bakiri 1995",
    gives_probabilities=False,
    uses_only_signs=True,
    counts_votes=True,
    to_onnx=_export_matches,
)
LOSS_BASED = Method(
    "loss-based",
    score_losses,
    summary="scores: the negative sum of a class's losses",
    reference="Allwein, Schapire and Singer 2000",
    gives_probabilities=False,
)
LOSS_WEIGHTED = Method(
    "loss-weighted",
    score_weighted_losses,
    summary="scores: the negative mean of a class's losses",
    reference="Escalera, Pujol and Radeva 2010",
    gives_probabilities=False,
)
GREEDY = Method(
    "greedy",
    score_greedily,
    summary="a score for the class at the end of the greedy walk, else zero",
    reference="Mills, Solving for multi-class: a survey and synthesis",
    gives_probabilities=False,
    gives_confidence=True,
    needs=TREE,
    function_of_scheme=_score_scheme_greedily,
)
