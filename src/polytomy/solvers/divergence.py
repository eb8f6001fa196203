"""Class probabilities of least Kullback-Leibler divergence from the binaries' answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.codes import CodingMatrix
from polytomy.codes.structure import row_blocks
from polytomy.routines.runtime.dispatch import routine
from polytomy.solvers.decisions import check_decisions
from polytomy.solvers.least_squares import solve_least_squares
from polytomy.solvers.weights import check_weights

__all__ = ["solve_divergence"]

FloatArray = NDArray[np.float64]

_SHORTER = 1e-9
"""How much less the squared norm must be for another minimum to be another one at all."""


def solve_divergence(
    code: CodingMatrix, decisions: ArrayLike, weights: ArrayLike | None = None
) -> FloatArray:
    """Return the class probabilities of least weighted Kullback-Leibler divergence.

    With m⁺ = (1 + r)/2 and m⁻ = (1 − r)/2 the answers of a partition, and μ⁺ and μ⁻ what
    probabilities p make of them, the mass of one side divided by the mass of both, this is the
    minimum over the simplex of Σ w [ m⁺ log(m⁺/μ⁺) + m⁻ log(m⁻/μ⁻) ]. Hastie and Tibshirani (1998)
    used it for pairs, Zadrozny (2001) for any code.

    The minimum is found to a relative precision of 1e-12 in the conditions for it. For a code that
    is strict, pairwise or a tree it is the global one; for others the lowest of several descents.
    Of several minimisers the answer is the one of least norm.

    Parameters
    ----------
    code : CodingMatrix
    decisions : array of shape (n_samples, n_partitions), in [-1, 1]; NaN is no answer
    weights : array of shape (n_partitions,), default all one
        How much each partition counts, such as the number of samples it was trained on.

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one

    Examples
    --------
    >>> code = CodingMatrix([[-1, 1, 1], [1, -1, 1], [1, 1, -1]])
    >>> solve_divergence(code, [[0.5, 0.5, 0.5], [0.0, 0.0, 1.0]]).round(4)
    array([[0.3333, 0.3333, 0.3333],
           [0.5   , 0.5   , 0.    ]])
    """
    answers = check_decisions(decisions, code.n_partitions)
    if weights is None:
        shares = np.ones(code.n_partitions)
    else:
        shares = check_weights(weights, (code.n_partitions,))
        answers = np.where(shares > 0, answers, np.nan)
    if code.is_tree:
        # A tree can make every answer true at once: no other probabilities diverge less.
        return solve_least_squares(code, answers)
    is_convex = code.is_strict or code.is_pairwise
    minimise = routine("minimise_divergence", "divergence")
    # The kernel is compiled for one kind of array: a read-only one would have it compiled anew.
    writeable = np.require(answers, requirements="W")
    probabilities: FloatArray = minimise(code.matrix, writeable, shares, is_convex)
    return _shorten(code, answers, probabilities)


def _shorten(code: CodingMatrix, answers: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Return, where answers leave a choice of minimisers, the one of least norm.

    Minimisers differ only in what no answered partition sees: they all make the same of its answer.
    So the shortest is the least-norm solution of least squares for the answers they make.
    """
    has_gaps = np.isnan(answers).any(axis=1)
    is_open = has_gaps if code.is_determined else np.ones_like(has_gaps)
    if not is_open.any():
        return probabilities
    found = probabilities[is_open]
    shortest = solve_least_squares(code, _answers_made(code, answers[is_open], found))
    is_shorter = (shortest**2).sum(axis=1) < (found**2).sum(axis=1) - _SHORTER
    found[is_shorter] = shortest[is_shorter]
    probabilities[is_open] = found
    return probabilities


def _answers_made(code: CodingMatrix, answers: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Return the decision values that probabilities imply, where there is mass and an answer."""
    made = answers.copy()
    for rows, block in row_blocks(code.matrix):
        difference = probabilities @ block.T.astype(np.float64)
        total = probabilities @ np.abs(block).T.astype(np.float64)
        has_answer = (total > 0) & ~np.isnan(answers[:, rows])
        np.divide(difference, total, out=made[:, rows], where=has_answer)
    return np.clip(made, -1.0, 1.0)
