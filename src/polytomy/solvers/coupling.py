"""Pairwise coupling: class probabilities from one-vs-one answers.

μ_ij is the answer of the pair of classes i and j: the share of i, from 0 to 1. A code may hold its
pairs in any order and with either sign. Where it holds a pair more than once, the mean of the
answers counts; only in Hastie and Tibshirani's method every partition counts by itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from polytomy.codes import CodingMatrix
from polytomy.errors import ArgumentError
from polytomy.routines.runtime.dispatch import routine
from polytomy.solvers.decisions import check_decisions
from polytomy.solvers.divergence import solve_divergence
from polytomy.solvers.least_squares import solve_least_squares

__all__ = [
    "solve_hastie_tibshirani",
    "solve_like_libsvm",
    "solve_price",
    "solve_wu_lin_weng_1",
]

FloatArray = NDArray[np.float64]

# Of LIBSVM: where its iteration ends, and how near to certain an answer can be.
_LIBSVM_TOLERANCE = 0.005
_LIBSVM_STEPS = 100
_LIBSVM_LEAST_SHARE = 1e-7
# The shares of pairs of so many samples at a time.
_BLOCK_BYTES = 2**24

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class _Pairs(NamedTuple):
    """The answers of all pairs of classes, each pair once."""

    first: NDArray[np.intp]  # (n_pairs,), the lower class of the pair
    second: NDArray[np.intp]  # (n_pairs,), the higher
    decisions: FloatArray  # (n_samples, n_pairs), +1 for the first class; NaN without an answer


def solve_hastie_tibshirani(
    code: CodingMatrix, decisions: ArrayLike, weights: ArrayLike | None = None
) -> FloatArray:
    """Return the probabilities of least divergence from one-vs-one answers.

    Minimises Σ w [ μ_ij log(μ_ij/q_ij) + μ_ji log(μ_ji/q_ji) ], q_ij = p_i/(p_i + p_j), the sum
    over all partitions (Hastie and Tibshirani 1998); their weights are numbers of training samples.

    Parameters
    ----------
    code : CodingMatrix, one-vs-one
    decisions : array of shape (n_samples, n_partitions), in [-1, 1]; NaN is no answer
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
    _check_one_vs_one(code, "hastie-tibshirani")
    return solve_divergence(code, decisions, weights)


def solve_wu_lin_weng_1(code: CodingMatrix, decisions: ArrayLike) -> FloatArray:
    """Return the probabilities of the first method of Wu, Lin and Weng (2004).

    They solve p_i = Σ_j μ_ij (p_i + p_j)/(n_classes − 1), the sum over the other classes: the
    stationary distribution of a chain. Without an answer for a pair it leaves the sums of both
    classes.

    Parameters
    ----------
    code : CodingMatrix, one-vs-one
    decisions : array of shape (n_samples, n_partitions), in [-1, 1]; NaN is no answer

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one

    Examples
    --------
    >>> code = CodingMatrix([[1, -1, 0], [1, 0, -1], [0, 1, -1]])
    >>> solve_wu_lin_weng_1(code, [[1 / 3, 3 / 5, 1 / 3]]).round(4)
    array([[0.5714, 0.2857, 0.1429]])
    """
    pairs = _collect_pairs(code, decisions, "wu-lin-weng-1")
    stationary = routine("stationary_distribution", "coupling")
    probabilities: FloatArray = stationary(
        pairs.first, pairs.second, pairs.decisions, code.n_classes
    )
    return probabilities


def solve_price(code: CodingMatrix, decisions: ArrayLike) -> FloatArray:
    """Return the probabilities of Price, Knerr, Personnaz and Dreyfus (1994).

    p_i = 1 / (Σ_j 1/μ_ij − (n_classes − 2)), the sum over the other classes, divided by their sum.
    A pair without an answer leaves the sum, and the number taken off is one less. Where every class
    has an answer μ_ij = 0 the formula gives 0/0; then the limit for these answers going to zero
    together counts: p_i is in inverse proportion to their number.

    Parameters
    ----------
    code : CodingMatrix, one-vs-one
    decisions : array of shape (n_samples, n_partitions), in [-1, 1]; NaN is no answer

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one

    Examples
    --------
    >>> code = CodingMatrix([[1, -1, 0], [1, 0, -1], [0, 1, -1]])
    >>> solve_price(code, [[1 / 3, 3 / 5, 1 / 3]]).round(4)
    array([[0.5714, 0.2857, 0.1429]])
    """
    pairs = _collect_pairs(code, decisions, "price")
    shape = (len(pairs.decisions), code.n_classes)
    n_opponents, n_lost, inverses = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for classes, sign in ((pairs.first, 1.0), (pairs.second, -1.0)):
        entries = (np.ones(len(classes)), (np.arange(len(classes)), classes))
        members = sp.csr_array(entries, shape=(len(classes), code.n_classes))
        share = 0.5 * (1.0 + sign * pairs.decisions)
        n_opponents += ~np.isnan(share) @ members
        n_lost += (share == 0.0) @ members
        inverses += np.divide(1.0, share, out=np.zeros_like(share), where=share > 0.0) @ members
    # Where an answer is zero its inverse, and so the denominator, is infinite.
    masses = np.where(n_lost == 0, 1.0 / np.maximum(inverses - (n_opponents - 1.0), 1.0), 0.0)
    has_none = ~masses.any(axis=1)
    masses[has_none] = 1.0 / n_lost[has_none]
    probabilities: FloatArray = masses / masses.sum(axis=1, keepdims=True)
    return probabilities


def solve_like_libsvm(code: CodingMatrix, decisions: ArrayLike) -> FloatArray:
    """Return the probabilities that LIBSVM's ``svm-predict -b 1`` gives for one-vs-one answers.

    It goes towards the minimum of least squares class by class (Wu, Lin and Weng 2004, algorithm 2)
    and stops early, when no class is farther than 0.005 / n_classes from the conditions for it. So
    its probabilities depend on the order of the classes. Samples without some answer, which LIBSVM
    does not know, and two classes, which need no iteration, have the minimum itself.

    Parameters
    ----------
    code : CodingMatrix, one-vs-one
    decisions : array of shape (n_samples, n_partitions), in [-1, 1]; NaN is no answer

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one

    Examples
    --------
    >>> code = CodingMatrix([[1, -1, 0], [1, 0, -1], [0, 1, -1]])
    >>> solve_like_libsvm(code, [[1 / 3, 3 / 5, 1 / 3]]).round(4)
    array([[0.5728, 0.2844, 0.1428]])
    """
    pairs = _collect_pairs(code, decisions, "libsvm")
    n_classes = code.n_classes
    of_first = np.clip(
        0.5 * (1.0 + pairs.decisions), _LIBSVM_LEAST_SHARE, 1.0 - _LIBSVM_LEAST_SHARE
    )
    if n_classes == 2:
        return np.where(np.isnan(of_first), 0.5, np.hstack([of_first, 1.0 - of_first]))
    probabilities = np.empty((len(of_first), n_classes))
    is_whole = ~np.isnan(of_first).any(axis=1)
    whole = np.flatnonzero(is_whole)
    # Each sample has matrices of its own, so that only some are done at a time.
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
    """Minimise pᵀQp of each sample, class by class, until it is near enough."""
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


def _collect_pairs(code: CodingMatrix, decisions: ArrayLike, method: str) -> _Pairs:
    _check_one_vs_one(code, method)
    answers = check_decisions(decisions, code.n_partitions)
    n_classes = code.n_classes
    assert code.pairs is not None
    negative, positive = code.pairs
    lower, higher = np.minimum(positive, negative), np.maximum(positive, negative)
    keys, pair_of_row = np.unique(lower * n_classes + higher, return_inverse=True)
    first, second = np.divmod(keys, n_classes)
    signed = np.where(positive == lower, answers, -answers)
    if len(keys) == code.n_partitions:
        # Each pair once: the rows need only be put into the order of the pairs.
        return _Pairs(first, second, np.ascontiguousarray(signed[:, np.argsort(pair_of_row)]))
    totals, counts = np.zeros((len(keys), len(answers))), np.zeros((len(keys), len(answers)))
    np.add.at(totals, pair_of_row, np.nan_to_num(signed.T, nan=0.0))
    np.add.at(counts, pair_of_row, ~np.isnan(signed.T))
    means = np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0)
    return _Pairs(first, second, np.ascontiguousarray(means.T))


def _check_one_vs_one(code: CodingMatrix, method: str) -> None:
    if code.is_one_vs_one:
        return
    sizes = np.count_nonzero(code.matrix, axis=1)
    wide = np.flatnonzero(sizes != 2)
    if len(wide):
        size = int(sizes[wide[0]])
        reason = f"partition {wide[0]} has {_WORDS[size] if size < len(_WORDS) else size} classes"
    else:
        is_compared = np.eye(code.n_classes, dtype=np.bool_)
        assert code.pairs is not None
        negative, positive = code.pairs
        is_compared[negative, positive] = is_compared[positive, negative] = True
        first, second = np.argwhere(~is_compared)[0]
        reason = f"no partition compares classes {first} and {second}"
    raise ArgumentError(
        f'method="{method}" needs a one-vs-one code; {reason}. Use method="least-squares".'
    )
