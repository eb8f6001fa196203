"""Probabilities of least divergence, and pairwise coupling."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from polytomy.onnx_graph import Graph, Value
from polytomy.routines.dispatch import routine
from polytomy.scheme import CodingMatrix, Scheme, SchemeEnsemble
from polytomy.scheme.structure import row_blocks
from polytomy.solvers.least_squares import solve_least_squares
from polytomy.solvers.method import ONE_VS_ONE, Method, check_decisions, scale_weights

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


# -- Pairwise coupling: class probabilities from one-vs-one answers --


# LIBSVM's own constants: its stopping criteria, and its bound on a pair's share.
_LIBSVM_TOLERANCE = 0.005
_LIBSVM_STEPS = 100
_LIBSVM_LEAST_SHARE = 1e-7
# Replaces the outflow of a class if it has underflowed to zero.
_LEAST_OUTFLOW = 1e-300
# Size of the pair shares in memory at a time; each sample has an n_classes² matrix.
_BLOCK_BYTES = 2**24


class _Pairs(NamedTuple):
    """The answers of all pairs of classes, each pair once."""

    first: NDArray[np.intp]  # (n_pairs,), the lower class of the pair
    second: NDArray[np.intp]  # (n_pairs,), the higher
    decisions: FloatArray  # (n_samples, n_pairs), +1 for the first class; NaN means no answer


def solve_hastie_tibshirani(
    code: CodingMatrix, decisions: ArrayLike, weights: ArrayLike | None = None
) -> FloatArray:
    """Return the probabilities with the least divergence from one-vs-one answers.

    Minimises Σ w [ μ_ij log(μ_ij/q_ij) + μ_ji log(μ_ji/q_ji) ], where q_ij = p_i/(p_i + p_j) and
    the sum is over all partitions (Hastie and Tibshirani 1998). They use the number of training
    samples of each pair as its weight.

    Parameters
    ----------
    code : CodingMatrix, one-vs-one
    decisions : array of shape (n_samples, n_partitions), in [-1, 1]; NaN means no answer
    weights : array of shape (n_partitions,), default all one

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one

    Examples
    --------
    >>> code = CodingMatrix([[1, -1, 0], [1, 0, -1], [0, 1, -1]])
    >>> solve_hastie_tibshirani(code, [[1 / 3, 3 / 5, 1 / 3]]).round(4)
    array([[0.5714, 0.2857, 0.1429]])
    """
    return solve_divergence(code, decisions, weights)


def solve_wu_lin_weng_1(code: CodingMatrix, decisions: ArrayLike) -> FloatArray:
    """Return the probabilities of the first method of Wu, Lin and Weng (2004).

    They solve p_i = Σ_j μ_ij (p_i + p_j)/(n_classes − 1), with the sum over the other classes. This
    is the stationary distribution of a Markov chain. A pair without an answer is left out of the
    sums of both its classes. If answers are missing or exactly 0 or 1, there may be several
    stationary distributions, each on its own set of classes; the result is their least-norm
    mixture.

    Parameters
    ----------
    code : CodingMatrix, one-vs-one
    decisions : array of shape (n_samples, n_partitions), in [-1, 1]; NaN means no answer

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one

    Examples
    --------
    >>> code = CodingMatrix([[1, -1, 0], [1, 0, -1], [0, 1, -1]])
    >>> solve_wu_lin_weng_1(code, [[1 / 3, 3 / 5, 1 / 3]]).round(4)
    array([[0.5714, 0.2857, 0.1429]])
    """
    pairs = _collect_pairs(code, decisions)
    n_classes = code.n_classes
    probabilities = np.zeros((len(pairs.decisions), n_classes))
    is_connected = (np.abs(pairs.decisions) < 1.0).all(axis=1)  # every class can be reached
    connected = np.flatnonzero(is_connected)
    size = max(1, _BLOCK_BYTES // (8 * n_classes**2))
    for start in range(0, len(connected), size):
        rows = connected[start : start + size]
        probabilities[rows] = _find_stationary(_rates(pairs, rows, n_classes))
    for row in np.flatnonzero(~is_connected):
        (rates,) = _rates(pairs, np.array([row]), n_classes)
        for members in _closed_sets(rates):
            (part,) = _find_stationary(rates[np.newaxis, members[:, np.newaxis], members])
            # The least-norm mixture weights each part by the inverse of its squared length.
            probabilities[row, members] = part / (part @ part)
        probabilities[row] /= probabilities[row].sum()
    return probabilities


def _rates(pairs: _Pairs, rows: NDArray[np.intp], n_classes: int) -> FloatArray:
    """Return the rates at which the chains of some samples move from each class to each other.

    From class j to class i it is μ_ij; zero for pairs without an answer.
    """
    answers = pairs.decisions[rows]
    rates = np.zeros((len(rows), n_classes, n_classes))
    rates[:, pairs.second, pairs.first] = np.nan_to_num((1.0 + answers) / 2.0)
    rates[:, pairs.first, pairs.second] = np.nan_to_num((1.0 - answers) / 2.0)
    return rates


def _closed_sets(rates: FloatArray) -> list[NDArray[np.intp]]:
    """Return the closed communicating classes of a chain, as sets of its states."""
    reaches: NDArray[np.bool_] = (rates > 0) | np.eye(len(rates), dtype=np.bool_)
    for middle in range(len(rates)):
        reaches |= np.outer(reaches[:, middle], reaches[middle])
    returns = reaches & reaches.T
    return [
        np.flatnonzero(returns[state])
        for state in range(len(rates))
        if np.array_equal(returns[state], reaches[state]) and returns[state].argmax() == state
    ]


def _find_stationary(rates: FloatArray) -> FloatArray:
    """Return the stationary distributions of irreducible chains, given their rates.

    They are found by the elimination of Grassmann, Taksar and Heyman (1985), which has no
    subtractions, so that small probabilities stay accurate.
    """
    n_chains, n_states, _ = rates.shape
    outflow = np.ones((n_chains, n_states))
    for state in range(n_states - 1, 0, -1):
        leaving = rates[:, state, :state]
        outflow[:, state] = np.maximum(leaving.sum(axis=1), _LEAST_OUTFLOW)
        entering = rates[:, :state, state] / outflow[:, state, np.newaxis]
        rates[:, :state, :state] += entering[:, :, np.newaxis] * leaving[:, np.newaxis]
    p = np.ones((n_chains, n_states))
    for state in range(1, n_states):
        p[:, state] = (p[:, :state] * rates[:, :state, state]).sum(axis=1) / outflow[:, state]
        # Ratios of neighbours are multiplied; dividing by the largest prevents overflow.
        p[:, : state + 1] /= p[:, : state + 1].max(axis=1, keepdims=True)
    stationary: FloatArray = p / p.sum(axis=1, keepdims=True)
    return stationary


def solve_price(code: CodingMatrix, decisions: ArrayLike) -> FloatArray:
    """Return the probabilities of Price, Knerr, Personnaz and Dreyfus (1994).

    p_i = 1 / (Σ_j 1/μ_ij − (n_classes − 2)), with the sum over the other classes, normalised to
    sum to one. A pair without an answer is left out of the sum, and one less is subtracted. If
    every class has an answer μ_ij = 0, the formula gives 0/0. Then its limit is used, as all these
    answers go to zero together: p_i is inversely proportional to their number.

    Parameters
    ----------
    code : CodingMatrix, one-vs-one
    decisions : array of shape (n_samples, n_partitions), in [-1, 1]; NaN means no answer

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one

    Examples
    --------
    >>> code = CodingMatrix([[1, -1, 0], [1, 0, -1], [0, 1, -1]])
    >>> solve_price(code, [[1 / 3, 3 / 5, 1 / 3]]).round(4)
    array([[0.5714, 0.2857, 0.1429]])
    """
    pairs = _collect_pairs(code, decisions)
    shape = (len(pairs.decisions), code.n_classes)
    n_opponents, n_lost, inverses = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for classes, sign in ((pairs.first, 1.0), (pairs.second, -1.0)):
        entries = (np.ones(len(classes)), (np.arange(len(classes)), classes))
        members = scipy.sparse.csr_array(entries, shape=(len(classes), code.n_classes))
        share = 0.5 * (1.0 + sign * pairs.decisions)
        n_opponents += ~np.isnan(share) @ members
        n_lost += (share == 0.0) @ members
        inverses += np.divide(1.0, share, out=np.zeros_like(share), where=share > 0.0) @ members
    # If an answer is zero, its inverse is infinite, and so is the denominator.
    masses = np.where(n_lost == 0, 1.0 / np.maximum(inverses - (n_opponents - 1.0), 1.0), 0.0)
    has_none = ~masses.any(axis=1)
    masses[has_none] = 1.0 / n_lost[has_none]
    probabilities: FloatArray = masses / masses.sum(axis=1, keepdims=True)
    return probabilities


def solve_like_libsvm(code: CodingMatrix, decisions: ArrayLike) -> FloatArray:
    """Return the probabilities that LIBSVM's ``svm-predict -b 1`` gives for one-vs-one answers.

    LIBSVM approaches the minimum of least squares class by class (Wu, Lin and Weng 2004,
    algorithm 2) and stops early, when no class violates the conditions for a minimum by more than
    0.005 / n_classes. So its probabilities depend on the order of the classes. The exact minimum is
    returned for two classes, which need no iteration, and for samples with missing answers, which
    LIBSVM does not allow.

    Parameters
    ----------
    code : CodingMatrix, one-vs-one
    decisions : array of shape (n_samples, n_partitions), in [-1, 1]; NaN means no answer

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one

    Examples
    --------
    >>> code = CodingMatrix([[1, -1, 0], [1, 0, -1], [0, 1, -1]])
    >>> solve_like_libsvm(code, [[1 / 3, 3 / 5, 1 / 3]]).round(4)
    array([[0.5728, 0.2844, 0.1428]])
    """
    pairs = _collect_pairs(code, decisions)
    n_classes = code.n_classes
    of_first = np.clip(
        0.5 * (1.0 + pairs.decisions), _LIBSVM_LEAST_SHARE, 1.0 - _LIBSVM_LEAST_SHARE
    )
    if n_classes == 2:
        return np.where(np.isnan(of_first), 0.5, np.hstack([of_first, 1.0 - of_first]))
    probabilities = np.empty((len(of_first), n_classes))
    is_whole = ~np.isnan(of_first).any(axis=1)
    whole = np.flatnonzero(is_whole)
    # Each sample has its own matrices, so process a limited number of samples at a time.
    size = max(1, _BLOCK_BYTES // (8 * n_classes**2))
    for start in range(0, len(whole), size):
        rows = whole[start : start + size]
        shares = np.zeros((len(rows), n_classes, n_classes))
        shares[:, pairs.first, pairs.second] = of_first[rows]
        shares[:, pairs.second, pairs.first] = 1.0 - of_first[rows]
        probabilities[rows] = _approach_minimum(shares)
    if not is_whole.all():
        rest = check_decisions(decisions, code.n_partitions)[~is_whole]
        probabilities[~is_whole] = solve_least_squares(code, rest)
    return probabilities


def _approach_minimum(shares: FloatArray) -> FloatArray:
    """Return LIBSVM's p: minimise pᵀQp class by class, and stop when p is close enough."""
    n_samples, n_classes, _ = shares.shape
    matrices = -shares * shares.transpose(0, 2, 1)
    diagonal = np.arange(n_classes)
    matrices[:, diagonal, diagonal] = np.sum(shares**2, axis=1)
    probabilities = np.full((n_samples, n_classes), 1.0 / n_classes)
    active = np.arange(n_samples)
    for _ in range(max(_LIBSVM_STEPS, n_classes)):
        p, Q = probabilities[active], matrices[active]
        slopes = np.einsum("sij,sj->si", Q, p)
        value = np.sum(p * slopes, axis=1)
        goes_on = np.abs(slopes - value[:, np.newaxis]).max(axis=1) >= (
            _LIBSVM_TOLERANCE / n_classes
        )
        active, p, Q = active[goes_on], p[goes_on], Q[goes_on]
        slopes, value = slopes[goes_on], value[goes_on]
        if not len(active):
            break
        for k in range(n_classes):
            change = (value - slopes[:, k]) / Q[:, k, k]
            total = 1.0 + change
            value = (value + change * (change * Q[:, k, k] + 2.0 * slopes[:, k])) / total**2
            slopes = (slopes + change[:, np.newaxis] * Q[:, :, k]) / total[:, np.newaxis]
            p[:, k] += change
            p /= total[:, np.newaxis]
        probabilities[active] = p
    return probabilities


def _collect_pairs(code: CodingMatrix, decisions: ArrayLike) -> _Pairs:
    answers = check_decisions(decisions, code.n_partitions)
    n_classes = code.n_classes
    assert code.pairs is not None
    negative, positive = code.pairs
    lower, higher = np.minimum(positive, negative), np.maximum(positive, negative)
    keys, pair_of_row = np.unique(lower * n_classes + higher, return_inverse=True)
    first, second = np.divmod(keys, n_classes)
    signed = np.where(positive == lower, answers, -answers)
    if len(keys) == code.n_partitions:
        # Each pair occurs once, so only the order of the columns has to change.
        return _Pairs(first, second, np.ascontiguousarray(signed[:, np.argsort(pair_of_row)]))
    totals, counts = np.zeros((len(keys), len(answers))), np.zeros((len(keys), len(answers)))
    np.add.at(totals, pair_of_row, np.nan_to_num(signed.T, nan=0.0))
    np.add.at(counts, pair_of_row, ~np.isnan(signed.T))
    means = np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0)
    return _Pairs(first, second, np.ascontiguousarray(means.T))


HASTIE_TIBSHIRANI = Method(
    "hastie-tibshirani",
    solve_hastie_tibshirani,
    summary="the probabilities with the least divergence from the pairs",
    reference="Hastie and Tibshirani 1998",
    needs=ONE_VS_ONE,
)
WU_LIN_WENG_1 = Method(
    "wu-lin-weng-1",
    solve_wu_lin_weng_1,
    summary="the stationary distribution of a Markov chain over the classes",
    reference="Wu, Lin and Weng 2004, first method",
    needs=ONE_VS_ONE,
)
PRICE = Method(
    "price",
    solve_price,
    summary="probabilities by a closed formula for each class",
    reference="Price, Knerr, Personnaz and Dreyfus 1994",
    needs=ONE_VS_ONE,
)
LIBSVM = Method(
    "libsvm",
    solve_like_libsvm,
    summary="the probabilities of LIBSVM's ``svm-predict -b 1``",
    reference="Chang and Lin 2011",
    needs=ONE_VS_ONE,
)
