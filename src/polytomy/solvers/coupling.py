"""Pairwise coupling: class probabilities from one-vs-one answers.

μ_ij is the answer for the pair of classes i and j: the share of i, from 0 to 1. The pairs of a code
may be in any order and have either sign. If a pair occurs more than once, the mean of its answers
is used; only Hastie and Tibshirani's method counts each partition separately.

The codes must be one-vs-one; `polytomy.solvers.solving` checks that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from polytomy.routines.dispatch import routine
from polytomy.scheme import CodingMatrix
from polytomy.solvers.divergence import solve_divergence
from polytomy.solvers.least_squares import solve_least_squares
from polytomy.solvers.method import ONE_VS_ONE, Method, check_decisions

FloatArray = NDArray[np.float64]

# LIBSVM's own constants: its stopping criteria, and its bound on a pair's share.
_LIBSVM_TOLERANCE = 0.005
_LIBSVM_STEPS = 100
_LIBSVM_LEAST_SHARE = 1e-7
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
    sums of both its classes.

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
    stationary = routine("stationary_distribution", "coupling")
    probabilities: FloatArray = stationary(
        pairs.first, pairs.second, pairs.decisions, code.n_classes
    )
    return probabilities


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
