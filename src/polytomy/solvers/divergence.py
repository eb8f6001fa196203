"""Class probabilities that minimise the Kullback-Leibler divergence from the answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.onnx_graph import Graph, Value
from polytomy.routines.dispatch import routine
from polytomy.scheme import CodingMatrix, Scheme, SchemeEnsemble
from polytomy.scheme.structure import row_blocks
from polytomy.solvers.least_squares import solve_least_squares
from polytomy.solvers.method import Method, check_decisions, scale_weights

FloatArray = NDArray[np.float64]

# Each halves the interval of the multiplier, which ends with the precision of a double.
_N_HALVINGS = 60

_SHORTER = 1e-9
"""Two minimisers differ by more than rounding if their squared norms differ by more than this."""


def solve_divergence(
    code: CodingMatrix, decisions: ArrayLike, weights: ArrayLike | None = None
) -> FloatArray:
    """Return the class probabilities with the least weighted Kullback-Leibler divergence.

    Let m⁺ = (1 + r)/2 and m⁻ = (1 − r)/2 be the answers of a partition, and μ⁺ and μ⁻ the answers
    that probabilities p would give: the mass of one side divided by the mass of both. This is the
    minimum over the simplex of Σ w [ m⁺ log(m⁺/μ⁺) + m⁻ log(m⁻/μ⁻) ]. Hastie and Tibshirani (1998)
    used it for pairs, Zadrozny (2001) for any code. A partition with more than two sides adds
    w Σ_s q_s log(q_s/μ_s), with the answer q_s for each side s.

    The conditions for a minimum hold to a relative precision of 1e-12. If the code is strict,
    pairwise or a tree, the minimum is global; otherwise it is the best of several descents. If
    there are several minimisers, the one with the least norm is returned.

    Parameters
    ----------
    code : CodingMatrix
    decisions : array of shape (n_samples, n_rows), in [-1, 1]; NaN means no answer
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
    answers = check_decisions(decisions, code.n_partitions, code.rows_per_partition)
    if weights is None:
        shares = np.ones(code.n_rows)
    else:
        shares = scale_weights(weights, (code.n_partitions,))[code.partition_of_row]
        answers = np.where(shares > 0, answers, np.nan)
    if code.is_tree:
        # A tree can match every answer exactly, so the divergence is zero.
        return solve_least_squares(code, answers)
    single = code.single_classes
    if single is None or not shares.all():
        return _minimise(code, answers, shares)
    probabilities = np.empty((len(answers), code.n_classes))
    is_inside = (np.abs(answers) < 1.0).all(axis=1)
    order = np.argsort(single.classes)
    chances = (1.0 + answers[is_inside] * single.signs)[:, order] / 2.0
    minimise = routine("minimise_one_vs_rest", "divergence")
    probabilities[is_inside] = minimise(chances, shares[order])
    if not is_inside.all():
        probabilities[~is_inside] = _minimise(code, answers[~is_inside], shares)
    return probabilities


def _minimise(code: CodingMatrix, answers: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the minimum for a code of any kind."""
    is_convex = code.is_strict or code.is_pairwise
    minimise = routine("minimise_divergence", "divergence")
    # Numba gives read-only arrays a different type, and would compile the routine again.
    writeable = np.require(answers, requirements="W")
    # If a partition has several rows, only their +1 sides count.
    of_negative = np.where(code.row_weights == 1.0, shares, 0.0)
    side_weights = np.column_stack([of_negative, shares])
    probabilities: FloatArray = minimise(code.matrix, writeable, side_weights, is_convex)
    return _minimise_norm(code, answers, probabilities)


def _minimise_norm(
    code: CodingMatrix, answers: FloatArray, probabilities: FloatArray
) -> FloatArray:
    """Return the least-norm minimiser for samples whose answers allow several minimisers.

    All minimisers imply the same answers for the partitions with an answer. So the shortest one is
    the least-norm least-squares solution for the implied answers.
    """
    has_gaps = np.isnan(answers).any(axis=1)
    is_open = has_gaps if code.is_determined else np.ones_like(has_gaps)
    if not is_open.any():
        return probabilities
    found = probabilities[is_open]
    shortest = solve_least_squares(code, _implied_answers(code, answers[is_open], found))
    is_shorter = (shortest**2).sum(axis=1) < (found**2).sum(axis=1) - _SHORTER
    found[is_shorter] = shortest[is_shorter]
    probabilities[is_open] = found
    return probabilities


def _implied_answers(
    code: CodingMatrix, answers: FloatArray, probabilities: FloatArray
) -> FloatArray:
    """Return the answers that probabilities imply, or the given ones without mass or an answer."""
    implied = answers.copy()
    for rows, block in row_blocks(code.matrix):
        difference = probabilities @ block.T.astype(np.float64)
        total = probabilities @ np.abs(block).T.astype(np.float64)
        has_answer = (total > 0) & ~np.isnan(answers[:, rows])
        np.divide(difference, total, out=implied[:, rows], where=has_answer)
    return np.clip(implied, -1.0, 1.0)


# -- as an ONNX graph ----------------------------------------------------------------------------


def _export_one_vs_rest(graph: Graph, decisions: Value, code: CodingMatrix) -> Value:
    """Return the probabilities of a one-vs-rest code, for decisions strictly inside (−1, 1).

    They are p(μ) of the routine `minimise_one_vs_rest`, at the μ where their sum is one. With n
    classes it lies between −2 and 2n: p < 2/(1 + μ) for μ > 0, so beyond 2n the sum is less than
    one; and p ≥ 1 + 1/μ for μ < −1, so below −2 it is more than n/2.
    """
    assert code.single_classes is not None
    classes, signs = code.single_classes
    order = np.argsort(classes)
    chances = decisions.take(order, axis=1) * (signs[order] / 2.0) + 0.5
    doubled = chances * 2.0

    def probabilities(body: Graph, multiplier: Value) -> Value:
        root = body.add(
            "Sqrt", (multiplier + 1.0) * (multiplier + 1.0) - multiplier * doubled * 2.0
        )
        above = body.add("Div", doubled, multiplier + 1.0 + root)
        below = (multiplier + 1.0 - root) / (multiplier * 2.0)
        return body.add("Where", body.add("Greater", multiplier, -1.0), above, below)

    def halve(body: Graph, number: Value, interval: Value) -> Value:
        low, high = interval.take(np.array([0]), axis=1), interval.take(np.array([1]), axis=1)
        middle = (low + high) * 0.5
        is_low = body.add("Greater", probabilities(body, middle).sum(axis=1), 1.0)
        return body.add(
            "Concat",
            body.add("Where", is_low, middle, low),
            body.add("Where", is_low, high, middle),
            axis=1,
        )

    start = graph.repeat(np.array([-2.0, 2.0 * code.n_classes]), decisions)
    interval = graph.loop(_N_HALVINGS, start, halve)
    p = probabilities(graph, interval.take(np.array([0]), axis=1))
    return p / p.sum(axis=1)


def is_flat_one_vs_rest(scheme: Scheme | SchemeEnsemble) -> bool:
    """Return whether a scheme is a single one-vs-rest code."""
    if isinstance(scheme, SchemeEnsemble) or not (scheme.is_flat and scheme.n_partitions):
        return False
    return scheme.code.is_one_vs_rest


DIVERGENCE = Method(
    "divergence",
    solve_divergence,
    summary="the probabilities with the least Kullback-Leibler divergence",
    reference="Zadrozny 2001",
    to_onnx=_export_one_vs_rest,
    can_export=lambda scheme, is_inside: is_inside and is_flat_one_vs_rest(scheme),
)
