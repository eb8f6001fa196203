"""Minimisation of the Kullback-Leibler divergence in plain NumPy: the oracle of the compiled twin.

A is the coding matrix, r the decision values, w the weights of the sides, and p the class
probabilities; P, N and T are the masses of a row's +1 side, of its −1 side and of both.

Up to a constant, the divergence is

    L(p) = − Σ_i [ w_i⁺ m_i⁺ log(P_i/T_i) + w_i⁻ m_i⁻ log(N_i/T_i) ],     m_i^± = (1 ± r_i)/2,

which does not change if p is multiplied by a number. Its gradient is c − g, with the *pull*
g_j = Σ w m^±/(mass of j's side) and the *cost* c_j = Σ (w⁺m⁺ + w⁻m⁻)/T, both sums over the rows
that contain class j. Two kinds of step alternate:

- p_j ← p_j g_j / c_j, the majorise-minimise step of Huang, Weng and Lin (2006). It never increases
  L, and it finds the right scale of probabilities that are far below one;
- a Newton step in the scaled variables of Coleman and Li (1996), which converges quadratically even
  if probabilities go to zero. If the Hessian is not positive definite, the Fisher information is
  used instead; a line search prevents an increase of L.

At a minimum on the boundary of the simplex, both sides of a row may have no mass; such a minimum
can only be approached. So a class whose probability has vanished and is still falling is removed,
together with the rows that become one-sided: answers about it no longer matter.

L is convex in p if A is strict, and in log p if A is pairwise. For other codes it may have several
local minima; then there are descents from several points, and the lowest minimum is returned.

One-vs-rest codes need none of this: `minimise_one_vs_rest` finds one number for each sample.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.dispatch import spend

FloatArray = NDArray[np.float64]

TOLERANCE = 1e-12
"""Largest |1 − g/c| of a class at a minimum, unless the class has vanished."""

VANISHED = 1e-16
"""A probability this small does not change the sum of the others."""

MAX_ITERATIONS = 200
MAX_HALVINGS = 40
SUFFICIENT_DECREASE = 1e-4
ROUNDING = 1e-14
"""Relative increase of L that counts as rounding in the line search."""

LEAST_FACTOR = 1e-3
"""A Newton step leaves at least this fraction of a probability."""

RIDGE = 1e-13
"""Added to the scaled Hessian, so that p does not move in directions without any answer."""

LEAN = 0.9
"""Mass of the favoured class in the starting points other than the uniform one."""

SCREENING_STEPS = 10
N_SCREENED = 5
"""Number of starting points for descents: those with the lowest L after the screening steps."""

BETTER = 1e-10
"""Relative decrease of L beyond rounding, above which another local minimum is lower."""


class Answers(NamedTuple):
    """The answers for one sample: members and weights of the sides of the answered rows."""

    positive: FloatArray
    negative: FloatArray
    positive_weights: FloatArray
    negative_weights: FloatArray

    @property
    def weights(self) -> FloatArray:
        """Weight of each row."""
        return self.positive_weights + self.negative_weights


def minimise_divergence(
    matrix: NDArray[np.int8], decisions: FloatArray, weights: FloatArray, is_convex: bool
) -> FloatArray:
    """Return the probabilities with the least weighted Kullback-Leibler divergence.

    Parameters
    ----------
    matrix : int8 array of shape (n_rows, n_classes)
    decisions : array of shape (n_samples, n_rows), in [-1, 1]; NaN leaves the row out
    weights : array of shape (n_rows, 2), of the −1 side and of the +1 side
        A side with weight zero has no term in L; a row with two zeros is left out. A partition of n
        sides is n rows with weights on their +1 sides only: L = − Σ_s q_s log(P_s/T), s = 1, …, n.
    is_convex : whether one descent finds the minimum, because the code is strict or pairwise

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one
    """
    seconds = 3e-3 + 1e-8 * matrix.size * matrix.shape[1]
    spend(len(decisions) * (1 if is_convex else 8) * seconds)
    probabilities = np.empty((len(decisions), matrix.shape[1]))
    for sample, answered in enumerate(decisions):
        rows = ~np.isnan(answered) & (weights > 0).any(axis=1)
        positive_share = (1 + answered[rows]) / 2
        negative_share = (1 - answered[rows]) / 2
        answers = Answers(
            (matrix[rows] == 1).astype(np.float64),
            (matrix[rows] == -1).astype(np.float64),
            weights[rows, 1] * positive_share,
            weights[rows, 0] * negative_share,
        )
        probabilities[sample] = _lowest_minimum(answers, is_convex)
    return probabilities


def _lowest_minimum(answers: Answers, is_convex: bool) -> FloatArray:
    n_classes = answers.positive.shape[1]
    best, lowest = _descend(answers, np.full(n_classes, 1 / n_classes))
    if is_convex:
        return best
    threshold = BETTER * answers.weights.sum()
    for start in _screened_starts(answers):
        found, value = _descend(answers, start)
        if value < lowest - threshold:
            best, lowest = found, value
    return best


def _screened_starts(answers: Answers) -> list[FloatArray]:
    """Return the most promising of the starting points that favour one class."""
    n_classes = answers.positive.shape[1]
    starts = []
    for favoured in range(n_classes):
        p = np.full(n_classes, (1 - LEAN) / n_classes)
        p[favoured] += LEAN
        for _ in range(SCREENING_STEPS):
            pull, cost = _pull_and_cost(answers, p)
            p = _majorise_minimise(p, pull, cost)
        starts.append(p)
    order = np.argsort([_divergence(answers, p) for p in starts], kind="stable")
    return [starts[index] for index in order[:N_SCREENED]]


def _descend(answers: Answers, start: FloatArray) -> tuple[FloatArray, float]:
    """Return the minimum reached from a starting point, and L at the minimum."""
    p = start
    n_gone = 0
    set_aside = 0.0
    for _ in range(MAX_ITERATIONS):
        pull, cost = _pull_and_cost(answers, p)
        p = _majorise_minimise(p, pull, cost)
        pull, cost = _pull_and_cost(answers, p)
        excess = np.divide(cost - pull, cost, out=np.zeros_like(p), where=cost > 0)
        gone = (p == 0) | ((p <= VANISHED) & (excess > TOLERANCE))
        if gone.sum() > n_gone:
            n_gone = int(gone.sum())
            set_aside += _divergence(answers, p)
            p = _normalise(np.where(gone, 0.0, p))
            answers = _drop_one_sided(answers, p)
            set_aside -= _divergence(answers, p)
            continue
        step = _newton_step(answers, p, cost, excess)
        if np.abs(excess).max() <= TOLERANCE:
            # L before the last step: if it leaves a row without mass, L no longer includes the row.
            return _last_step(p, step), set_aside + _divergence(answers, p)
        p = _search_along(answers, p, step, slope=float(p @ ((cost - pull) * step)))
    return p, set_aside + _divergence(answers, p)


def _drop_one_sided(answers: Answers, p: FloatArray) -> Answers:
    """Return the answers of the rows with mass on both sides."""
    rows = (answers.positive @ p > 0) & (answers.negative @ p > 0)
    return Answers(*(part[rows] for part in answers))


def _divergence(answers: Answers, p: FloatArray) -> float:
    """Return L, which is infinite if a side has an answer but no mass."""
    positive, negative = answers.positive @ p, answers.negative @ p
    total = positive + negative
    value = 0.0
    for weights, mass in (
        (answers.positive_weights, positive),
        (answers.negative_weights, negative),
    ):
        # A row without any mass does not count: its sides can have any proportion.
        counted = (weights > 0) & (total > 0)
        if (mass[counted] == 0).any():
            return float("inf")
        value -= float(weights[counted] @ np.log(mass[counted] / total[counted]))
    return value


def _pull_and_cost(answers: Answers, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    positive, negative = answers.positive @ p, answers.negative @ p
    pull = answers.positive.T @ _ratio(answers.positive_weights, positive)
    pull += answers.negative.T @ _ratio(answers.negative_weights, negative)
    members = answers.positive + answers.negative
    cost = members.T @ _ratio(answers.weights, positive + negative)
    # A class without mass is removed permanently: scaled steps cannot bring it back.
    return np.where(p > 0, pull, 0.0), np.where(p > 0, cost, 0.0)


def _ratio(weights: FloatArray, mass: FloatArray) -> FloatArray:
    return np.divide(weights, mass, out=np.zeros_like(mass), where=mass > 0)


def _majorise_minimise(p: FloatArray, pull: FloatArray, cost: FloatArray) -> FloatArray:
    moved = p * np.divide(pull, cost, out=np.ones_like(p), where=cost > 0)
    return _normalise(moved)


def _normalise(masses: FloatArray) -> FloatArray:
    probabilities: FloatArray = masses / masses.sum()
    return probabilities


def _newton_step(
    answers: Answers, p: FloatArray, cost: FloatArray, excess: FloatArray
) -> FloatArray:
    """Return the relative step s of p ← p (1 + s), or zeros if there is no usable step."""
    scale = np.sqrt(np.divide(p, cost, out=np.zeros_like(p), where=cost > 0))
    diagonal = np.diag(np.where(scale > 0, np.abs(excess) + RIDGE, 1.0))
    target = -scale * cost * excess
    for curvature in (_hessian, _information):
        scaled = curvature(answers, p) * np.outer(scale, scale) + diagonal
        try:
            factor = np.linalg.cholesky(scaled)
        except np.linalg.LinAlgError:
            continue
        solution = np.linalg.solve(factor.T, np.linalg.solve(factor, target))
        step: FloatArray = np.divide(scale * solution, p, out=np.zeros_like(p), where=p > 0)
        return step
    return np.zeros_like(p)


def _hessian(answers: Answers, p: FloatArray) -> FloatArray:
    """Return the Hessian of L; rows that leave out classes add a term that fixes the sum of p."""
    positive, negative = answers.positive @ p, answers.negative @ p
    total = positive + negative
    hessian = _weighted_gram(
        answers.positive, _ratio(_ratio(answers.positive_weights, positive), positive)
    )
    hessian += _weighted_gram(
        answers.negative, _ratio(_ratio(answers.negative_weights, negative), negative)
    )
    members = answers.positive + answers.negative
    # The two terms cancel for a row that contains all classes with mass.
    partial = ((p > 0) & (members == 0)).any(axis=1)
    weights = np.where(partial, answers.weights, 0.0)
    hessian -= _weighted_gram(members, _ratio(_ratio(weights, total), total))
    return hessian + float(weights.sum())


def _information(answers: Answers, p: FloatArray) -> FloatArray:
    """Return the Fisher information, which is positive semidefinite, with the sum of p fixed."""
    positive, negative = answers.positive @ p, answers.negative @ p
    total = positive + negative
    weights = answers.weights
    information = _weighted_gram(answers.positive, _ratio(_ratio(weights, positive), total))
    information += _weighted_gram(answers.negative, _ratio(_ratio(weights, negative), total))
    members = answers.positive + answers.negative
    information -= _weighted_gram(members, _ratio(_ratio(weights, total), total))
    return information + float(weights.sum())


def _weighted_gram(members: FloatArray, weights: FloatArray) -> FloatArray:
    gram: FloatArray = (members.T * weights) @ members
    return gram


def _search_along(answers: Answers, p: FloatArray, step: FloatArray, slope: float) -> FloatArray:
    """Return the first point at 1, 1/2, 1/4, … of the step that is low enough, or p."""
    value = _divergence(answers, p)
    slack = ROUNDING * (answers.weights.sum() + abs(value))
    fraction = 1.0
    for _ in range(MAX_HALVINGS):
        moved = _normalise(p * np.maximum(1 + fraction * step, LEAST_FACTOR))
        limit = value + SUFFICIENT_DECREASE * fraction * slope + slack
        if _divergence(answers, moved) <= limit:
            return moved
        fraction /= 2
    return p


def _last_step(p: FloatArray, step: FloatArray) -> FloatArray:
    """Return the end of the descent; probabilities that were still falling to zero are zero."""
    falling = (step < -0.5) & (p < TOLERANCE)
    return _normalise(np.where(falling, 0.0, p * np.maximum(1 + step, 0.0)))


# -- one-vs-rest codes -----------------------------------------------------------------------------


Floats = NDArray[np.float64]

MAX_ROOT_STEPS = 100
ROUNDING_OF_SUM = 4e-16
"""Distance of the sum from one, per class, that counts as rounding."""


def minimise_one_vs_rest(answers: Floats, weights: Floats) -> Floats:
    """Return the probabilities with the least weighted Kullback-Leibler divergence.

    q are the answers of the binaries, each the probability of one class against all others, and w
    their weights. The probabilities p minimise

        − Σ_k w_k [ q_k log p_k + (1 − q_k) log(1 − p_k) ]     subject to Σ p = 1.

    With the multiplier μ of the constraint and ν_k = μ/w_k, each p_k is a root of
    ν p² − (1 + ν) p + q:

        p_k(μ) = 2 q_k / (1 + ν_k + d_k),     d_k = √((1 + ν_k)² − 4 ν_k q_k).

    It falls as μ rises, with the slope − p (1 − p) / (w d), so Newton's method finds the μ at which
    the sum is one. Steps that leave the interval that contains μ are replaced by bisection.

    Parameters
    ----------
    answers : array of shape (n_samples, n_classes), q, strictly between zero and one
    weights : array of shape (n_classes,), w, positive

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one
    """
    spend(1e-3 + 2e-6 * answers.size)
    n_samples, n_classes = answers.shape
    multiplier = np.zeros(n_samples)
    low, high = np.full(n_samples, -np.inf), np.full(n_samples, np.inf)
    for _ in range(MAX_ROOT_STEPS):
        p, slope = _probabilities(answers, multiplier[:, np.newaxis] / weights, weights)
        excess = p.sum(axis=1) - 1.0
        if (np.abs(excess) <= ROUNDING_OF_SUM * n_classes).all():
            break
        low = np.where(excess > 0, multiplier, low)
        high = np.where(excess < 0, multiplier, high)
        newton = multiplier - excess / slope.sum(axis=1)
        multiplier = np.where((newton > low) & (newton < high), newton, _inside(low, high))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def _inside(low: Floats, high: Floats) -> Floats:
    """Return a number between two bounds; beyond the finite one if the other is infinite."""
    with np.errstate(invalid="ignore"):
        middle = (low + high) / 2.0
    beyond = np.where(np.isinf(high), 2.0 * np.maximum(low, 0.5), 2.0 * np.minimum(high, -0.5))
    return np.where(np.isfinite(middle), middle, beyond)


def _probabilities(q: Floats, nu: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return p and its derivative with respect to μ."""
    # Two forms of the same number; use the one without cancellation.
    root = np.sqrt(
        np.where(nu > 0.0, (1.0 - nu) ** 2 + 4.0 * nu * (1.0 - q), (1.0 + nu) ** 2 - 4.0 * nu * q)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(nu > -1.0, 2.0 * q / (1.0 + nu + root), (1.0 + nu - root) / (2.0 * nu))
    return p, -p * (1.0 - p) / (weights * root)
