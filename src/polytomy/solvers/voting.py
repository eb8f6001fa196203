"""Decodings: scores of the classes, which rank them but are no probabilities.

A larger score is better in every one of them, so that the class of the largest score, the first
among equals, is the decision. A partition without an answer is left out of all sums.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.codes import CodingMatrix
from polytomy.codes.structure import row_blocks
from polytomy.errors import ArgumentError
from polytomy.solvers.decisions import check_decisions
from polytomy.solvers.weights import check_weights

__all__ = [
    "LOSSES",
    "Loss",
    "score_losses",
    "score_matches",
    "score_votes",
    "score_weighted_losses",
]

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
"""Losses of the margin a·r of a class in a partition, scaled to 1/2 where the margin is zero."""

DEFAULT_LOSS = "quadratic"


def score_votes(code: CodingMatrix, decisions: ArrayLike) -> FloatArray:
    """Return Aᵀr: the sum of the decision values for each class, less that of those against it.

    Parameters
    ----------
    code : CodingMatrix
    decisions : array of shape (n_samples, n_partitions), in [-1, 1]; NaN is no answer

    Returns
    -------
    array of shape (n_samples, n_classes)

    Examples
    --------
    >>> score_votes(CodingMatrix([[1, -1, 0], [1, 0, -1], [0, 1, -1]]), [[0.5, 0.25, -1.0]])
    array([[ 0.75, -1.5 ,  0.75]])
    """
    answers = check_decisions(decisions, code.n_partitions)
    return _sum_rows(np.nan_to_num(answers, nan=0.0), code.matrix)


def score_matches(code: CodingMatrix, decisions: ArrayLike) -> FloatArray:
    """Return Aᵀsign(r): the number of answers for each class, less that of those against it.

    A decision value of zero takes no side. For a strict code the largest score is the least Hamming
    distance.

    Parameters
    ----------
    code : CodingMatrix
    decisions : array of shape (n_samples, n_partitions), in [-1, 1]; NaN is no answer

    Returns
    -------
    array of shape (n_samples, n_classes)

    Examples
    --------
    >>> score_matches(CodingMatrix([[1, -1, 0], [1, 0, -1], [0, 1, -1]]), [[0.5, 0.25, -1.0]])
    array([[ 2., -2.,  0.]])
    """
    answers = check_decisions(decisions, code.n_partitions)
    return _sum_rows(np.sign(np.nan_to_num(answers, nan=0.0)), code.matrix)


def score_losses(
    code: CodingMatrix, decisions: ArrayLike, loss: str | Loss = DEFAULT_LOSS
) -> FloatArray:
    """Return −Σ_i L(a_ij r_i): loss-based decoding of Allwein, Schapire and Singer (2000).

    A class that a partition leaves out has the margin zero there, and the loss L(0).

    Parameters
    ----------
    code : CodingMatrix
    decisions : array of shape (n_samples, n_partitions), in [-1, 1]; NaN is no answer
    loss : one of LOSSES, or a function from an array of margins to one of losses of its shape

    Returns
    -------
    array of shape (n_samples, n_classes)

    Examples
    --------
    >>> code = CodingMatrix([[1, -1, 0], [1, 0, -1], [0, 1, -1]])
    >>> score_losses(code, [[0.5, 0.25, -1.0]], loss="hinge")
    array([[-1.125, -2.25 , -1.125]])
    """
    answers = check_decisions(decisions, code.n_partitions)
    if_for, if_against, if_out = _losses_of_rows(answers, loss)
    scores = _sum_rows(if_for, code.matrix == 1)
    scores += _sum_rows(if_against, code.matrix == -1)
    scores += _sum_rows(if_out, code.matrix == 0)
    return -scores


def score_weighted_losses(
    code: CodingMatrix,
    decisions: ArrayLike,
    loss: str | Loss = DEFAULT_LOSS,
    weights: ArrayLike | None = None,
) -> FloatArray:
    """Return −Σ_i w_ij |a_ij| L(a_ij r_i) / Σ_i w_ij |a_ij|, the mean loss where a class stands.

    This is the loss-weighted decoding of Escalera, Pujol and Radeva (2010), in which w_ij is how
    often binary i is right on class j. A class without an answer has the score −L(0).

    Parameters
    ----------
    code : CodingMatrix
    decisions : array of shape (n_samples, n_partitions), in [-1, 1]; NaN is no answer
    loss : one of LOSSES, or a function from an array of margins to one of losses of its shape
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
    answers = check_decisions(decisions, code.n_partitions)
    weights_of_rows = _spread_weights(code, weights)
    if_for, if_against, _ = _losses_of_rows(answers, loss)
    is_answered = (~np.isnan(answers)).astype(np.float64)
    losses, total = np.zeros((2, len(answers), code.n_classes))
    for place, block in row_blocks(code.matrix):
        sides = weights_of_rows[place] * block
        losses += if_for[:, place] @ np.maximum(sides, 0.0)
        losses += if_against[:, place] @ np.maximum(-sides, 0.0)
        total += is_answered[:, place] @ np.abs(sides)
    neutral = _evaluate_loss(loss, np.zeros((1, 1))).item()
    return -np.divide(losses, total, out=np.full_like(losses, neutral), where=total > 0)


def _spread_weights(code: CodingMatrix, weights: ArrayLike | None) -> FloatArray:
    """Return the weights of all entries, or of all rows as a column."""
    if weights is None:
        return np.ones((code.n_partitions, 1))
    if np.ndim(weights) == 2:
        return check_weights(weights, code.shape)
    return check_weights(weights, (code.n_partitions,))[:, np.newaxis]


def _sum_rows(values: FloatArray, entries: NDArray[Any]) -> FloatArray:
    """Return the product of values and entries, which stay in their small type but for a block."""
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
            f"the loss must return an array of the shape of the margins, {margins.shape}, "
            f"not {losses.shape}. Compute it element by element."
        )
    wrong = ~np.isfinite(losses)
    if wrong.any():
        raise ArgumentError(
            f"the loss at the margin {margins[wrong][0]:g} is {losses[wrong][0]:g}. "
            "It must be a finite number for every margin in [-1, 1]."
        )
    return losses


def _find_loss(loss: str | Loss) -> Loss:
    if callable(loss):
        return loss
    if loss in LOSSES:
        return LOSSES[loss]
    near = get_close_matches(str(loss), LOSSES, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ArgumentError(
        f"loss={loss!r} is not known; there are {', '.join(LOSSES)}, or give a function.{hint}"
    )
