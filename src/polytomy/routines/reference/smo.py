"""Training of support vector machines, in plain NumPy: the oracle of the compiled twin.

A machine is f(x) = Σ_t b_t K(x_t, x) − ρ. The coefficients b = y·α minimise the dual of the C-SVC,

    ½ Σ_st b_s b_t K_st − Σ_t y_t b_t   with Σ_t b_t = 0,  0 ≤ y_t b_t ≤ bound_t,

by LIBSVM's sequential minimal optimisation (Chang and Lin 2011). Each step changes two
coefficients. One rises: the one whose rise lowers the dual most steeply. The other falls: among
those that can, the one with the largest second-order gain (Fan, Chen and Lin 2005). The steps end
when the slopes of the steepest rise and the steepest fall sum to less than the tolerance. A
coefficient that seems to stay at its bound is left out for a while: it is "shrunk" (Joachims 1999).

In terms of b and the gradient g = K b − y, the formulas have no signs: `upper` limits rises and
`lower` limits falls, on both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache as cache_results
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.dispatch import spend
from polytomy.routines.reference.kernels import MatrixRows, row_of_matrix

Floats = NDArray[np.float64]
Row = Callable[[int], Floats]

LEAST_CURVATURE = 1e-12
"""Replaces the curvature K_ii + K_jj − 2 K_ij of a pair if that is not positive."""

STANDSTILL = 4 * float(np.finfo(np.float64).eps)
"""A free step of at most this fraction of the coefficients is rounding. Training stops there;
otherwise it would never end if double precision cannot reach the tolerance."""

FEW_SAMPLES = 4096
STEPS_BETWEEN_SHRINKS = 1000, 250
"""For up to FEW_SAMPLES samples and for more. The first is LIBSVM's number, so the steps are the
same as LIBSVM's."""

COMPACTING_FRACTION = 0.8
SMALL_PROBLEM = 128
"""Arrays are compacted when less than this fraction of their samples is still considered, but never
with this many samples or fewer."""

AT_BOUND = 1.0 - 4 * float(np.finfo(np.float64).eps)
"""A scaled coefficient that is at least this fraction of its bound is at the bound."""

NEAR_THE_END = 10.0
"""Within this many tolerances of the end, all shrunk samples are reconsidered once."""

_USUAL_STEPS = 0.2
"""Usual number of steps for each sample."""


class Problems(NamedTuple):
    """Problems to train together, each in several runs with their own bounds.

    A run is the whole problem, or a part of it, such as a fold of a calibration, with bounds of
    zero for samples outside the part; with one of several values of C.

    Attributes
    ----------
    columns : rows and columns of the matrix that belong to the samples, shape (m,), one problem
        after the other
    ends : where the samples of each problem end, shape (n_problems,)
    signs : −1.0 or 1.0, the sides of the samples, shape (m,)
    bounds : largest |coefficient| of each sample in each run, shape (n_runs, m)
    diagonal : kernel values of the samples with themselves, shape (m,)
    tolerances : sum of the steepest slopes below which training stops, shape (n_problems,)
    most_steps : largest number of steps of a run; negative for no limit, shape (n_problems,)
    shrinks : whether to shrink, shape (n_problems,)
    """

    columns: NDArray[np.int64]
    ends: NDArray[np.int64]
    signs: Floats
    bounds: Floats
    diagonal: Floats
    tolerances: Floats
    most_steps: NDArray[np.int64]
    shrinks: NDArray[np.bool_]


def train_machines(
    problems: Problems, matrix: MatrixRows, sources: NDArray[np.intp], cache: NDArray[np.float32]
) -> tuple[Floats, Floats, Floats, NDArray[np.int64]]:
    """Train the machines of several problems.

    Parameters
    ----------
    problems : Problems
    matrix : MatrixRows
        If its rows are computed when needed, the compiled twin caches them there.
    sources : array of shape (n_runs, 2), earlier runs to start from, or −1 for none
        First, the same samples with a smaller C: if few of its coefficients are at their bounds, a
        run starts from a multiple of its solution. Otherwise from the second, a run with more
        samples and the same C, whose solution is made feasible; or from zero.
    cache : float32 array with room for two rows of the largest problem, in which the compiled twin
        caches rows

    Returns
    -------
    coefficients : array of shape (n_runs, m)
    values : decision values of all samples, including those outside a run, shape (n_runs, m)
    offsets : ρ, shape (n_runs, n_problems)
    steps : int64 array of shape (n_runs, n_problems)
    """
    sizes = np.diff(problems.ends, prepend=0)
    steps = _USUAL_STEPS * sizes
    # A matrix without all rows is large, and they are slow to compute here.
    is_small = not len(matrix.slot_of)
    spend(len(problems.bounds) * float(steps @ _seconds_of_step(sizes)) if is_small else np.inf)
    trained = [
        _train_runs(problems, k, slice(end - size, end), matrix, sources)
        for k, (end, size) in enumerate(zip(problems.ends, sizes, strict=True))
    ]
    coefficients, values, offsets, n_steps = zip(*trained, strict=True)
    return np.hstack(coefficients), np.hstack(values), np.array(offsets).T, np.array(n_steps).T


def _seconds_of_step(n_samples: Any) -> Any:
    return 4e-5 + 4e-8 * n_samples


def _train_runs(
    problems: Problems, k: int, own: slice, matrix: MatrixRows, sources: NDArray[np.intp]
) -> tuple[Floats, Floats, Floats, NDArray[np.int64]]:
    """Train the machines of problem k, which has its own samples."""
    columns, signs = problems.columns[own], problems.signs[own]
    n_runs, n_samples = len(problems.bounds), len(columns)
    coefficients, gradients = np.zeros((2, n_runs, n_samples))
    offsets, steps = np.empty(n_runs), np.empty(n_runs, dtype=np.int64)

    @cache_results
    def row(sample: int) -> Floats:
        return row_of_matrix(matrix, columns[sample])[columns].astype(np.float64)

    for run in range(n_runs):
        bounds = problems.bounds[run, own]
        problem = _Problem(
            row,
            problems.diagonal[own],
            np.where(signs > 0, 0.0, -bounds),
            np.where(signs > 0, bounds, 0.0),
            coefficients[run],
            gradients[run],
        )
        problem.gradient[:] = -signs
        smaller, whole = sources[run].tolist()
        if smaller >= 0 and _is_mostly_free(coefficients[smaller], problems.bounds[smaller, own]):
            _start_from_multiple(problem, signs, coefficients[smaller], gradients[smaller])
        elif whole >= 0:
            _start_from(problem, coefficients[whole], gradients[whole])
        limits = float(problems.tolerances[k]), int(problems.most_steps[k])
        steps[run] = _solve(problem, *limits, bool(problems.shrinks[k]))
        offsets[run] = _offset(problem)
    return coefficients, gradients + signs - offsets[:, np.newaxis], offsets, steps


@dataclass(frozen=True, slots=True)
class _Problem:
    row: Row
    diagonal: Floats
    lower: Floats
    upper: Floats
    coefficients: Floats
    gradient: Floats

    @property
    def may_rise(self) -> NDArray[np.bool_]:
        return self.coefficients < self.upper

    @property
    def may_fall(self) -> NDArray[np.bool_]:
        return self.coefficients > self.lower


def _is_mostly_free(coefficients: Floats, bounds: Floats) -> bool:
    """Return whether no more coefficients are at their bounds than between zero and the bound."""
    sizes = np.abs(coefficients)
    n_bounded = np.count_nonzero((sizes >= bounds) & (bounds > 0))
    return bool(n_bounded <= np.count_nonzero(sizes) - n_bounded)


def _start_from(problem: _Problem, coefficients: Floats, gradient: Floats) -> None:
    """Start from another run's solution, made feasible.

    Clipping coefficients to their bounds leaves a sum that is not zero. The samples whose change
    lowers the dual most compensate for it.
    """
    b = problem.coefficients
    b[:] = np.clip(coefficients, problem.lower, problem.upper)
    excess = float(np.add.accumulate(b)[-1])  # in the order in which the compiled twin adds them
    while excess != 0:
        direction = np.sign(excess)
        can_change = problem.may_fall if excess > 0 else problem.may_rise
        best = int(np.argmax(np.where(can_change, direction * gradient, -np.inf)))
        bound = problem.lower[best] if excess > 0 else problem.upper[best]
        room = direction * (b[best] - bound)
        if room <= direction * excess:
            b[best] = bound
            excess -= direction * room
        else:
            b[best] -= excess
            excess = 0.0
    problem.gradient[:] = gradient
    changes = b - coefficients
    for sample in np.flatnonzero(changes).tolist():
        problem.gradient[:] += problem.row(sample) * changes[sample]


def _start_from_multiple(
    problem: _Problem, signs: Floats, coefficients: Floats, gradient: Floats
) -> None:
    """Start from the feasible multiple of another run's solution with the least dual.

    The dual of s·b is s²q/2 − s·l with l = Σ y_t b_t and q = b·Kb, and is least at s = l/q. A
    solution that meets no bound has l = q, so it stays the same. If all coefficients are at their
    bounds, they stay there. The gradient needs no kernel values: K(s·b) − y = s·(g + y) − y.
    """
    is_support = coefficients != 0
    sizes = np.abs(coefficients[is_support])
    products = (coefficients * (gradient + signs))[is_support]
    linear, quadratic = (np.add.accumulate(np.append(0.0, each))[-1] for each in (sizes, products))
    most = np.min((problem.upper - problem.lower)[is_support] / sizes, initial=np.inf)
    factor = min(most, linear / quadratic if quadratic > 0 else np.inf)
    if np.isinf(factor):
        return
    b = np.clip(factor * coefficients, problem.lower, problem.upper)
    b = np.where(b >= AT_BOUND * problem.upper, problem.upper, b)
    problem.coefficients[:] = np.where(b <= AT_BOUND * problem.lower, problem.lower, b)
    problem.gradient[:] = factor * (gradient + signs) - signs


def _solve(problem: _Problem, tolerance: float, most_steps: int, shrinks: bool) -> int:
    """Take steps until the stopping rule holds; return their number."""
    n_free = int(np.count_nonzero(problem.lower < problem.upper))
    has_many = len(problem.gradient) > FEW_SAMPLES
    interval = min(n_free, STEPS_BETWEEN_SHRINKS[has_many])
    until_shrink = interval + 1
    samples = _Samples.all_of(problem)
    has_looked_again = False
    steps = 0
    while most_steps < 0 or steps < most_steps:
        until_shrink -= 1
        if until_shrink == 0:
            until_shrink = interval
            if shrinks:
                rise, fall = _steepest(problem, samples)
                if not has_looked_again and rise + fall <= NEAR_THE_END * tolerance:
                    has_looked_again = True
                    samples.complete(problem)
                    rise, fall = _steepest(problem, samples)
                samples.leave_out(_stays_at_bound(problem, rise, fall))
        rises, falls = _slopes(problem, samples)
        rising = _last_largest(rises)
        if rises[rising] + falls[falls.argmax()] < tolerance:
            if samples.is_considered.all():
                break
            samples.complete(problem)
            until_shrink = 2  # after the next step
            if sum(_steepest(problem, samples)) < tolerance:
                break
            continue
        is_standstill = _step(problem, samples, rising, rises[rising] + falls)
        steps += 1
        if steps > _USUAL_STEPS * len(problem.gradient):
            spend(_seconds_of_step(len(problem.gradient)))  # a hard problem takes many more
        if is_standstill:
            break
    samples.complete(problem)
    return steps


@dataclass(slots=True)
class _Samples:
    """Which samples the steps consider, and which have an up-to-date gradient ("present").

    More samples are present than considered, because the compiled twin compacts its arrays only
    when that is worthwhile; the samples of small problems are always present. The gradient of the
    absent samples is computed later, from its last complete state.
    """

    is_considered: NDArray[np.bool_]
    is_present: NDArray[np.bool_]
    known_gradient: Floats
    known_coefficients: Floats

    @classmethod
    def all_of(cls, problem: _Problem) -> Self:
        everything = np.ones(len(problem.gradient), dtype=np.bool_)
        return cls(
            everything, everything.copy(), problem.gradient.copy(), problem.coefficients.copy()
        )

    def leave_out(self, stays: NDArray[np.bool_]) -> None:
        self.is_considered &= ~stays
        if len(stays) <= SMALL_PROBLEM:
            return
        if np.count_nonzero(self.is_considered) < COMPACTING_FRACTION * np.count_nonzero(
            self.is_present
        ):
            self.is_present[:] = self.is_considered

    def complete(self, problem: _Problem) -> None:
        """Consider all samples again, with the gradient of all of them."""
        is_absent = ~self.is_present
        for sample in np.flatnonzero(problem.coefficients != self.known_coefficients).tolist():
            change = problem.coefficients[sample] - self.known_coefficients[sample]
            self.known_gradient += problem.row(sample) * change
        problem.gradient[is_absent] = self.known_gradient[is_absent]
        self.known_gradient[:] = problem.gradient
        self.known_coefficients[:] = problem.coefficients
        self.is_considered[:] = True
        self.is_present[:] = True


def _slopes(problem: _Problem, samples: _Samples) -> tuple[Floats, Floats]:
    """Return how fast the dual falls if a coefficient rises, and if it falls; −∞ if it may not."""
    g, is_considered = problem.gradient, samples.is_considered
    rises = np.where(is_considered & problem.may_rise, -g, -np.inf)
    falls = np.where(is_considered & problem.may_fall, g, -np.inf)
    return rises, falls


def _steepest(problem: _Problem, samples: _Samples) -> tuple[float, float]:
    """Return the slopes of the steepest rise and of the steepest fall."""
    rises, falls = _slopes(problem, samples)
    return float(rises.max()), float(falls.max())


def _stays_at_bound(problem: _Problem, rise: float, fall: float) -> NDArray[np.bool_]:
    """Return which samples are at a bound and seem to stay there."""
    g, may_rise, may_fall = problem.gradient, problem.may_rise, problem.may_fall
    stays: NDArray[np.bool_] = (~may_rise & (-g > rise)) | (~may_fall & (g > fall))
    return stays | (~may_rise & ~may_fall)


def _step(problem: _Problem, samples: _Samples, i: int, slope: Floats) -> bool:
    """Raise one coefficient and lower another equally; return whether the step is negligible.

    Coefficient i rises. `slope` is how fast the dual falls if it rises and another coefficient
    falls; −∞ if that may not fall.
    """
    b, g = problem.coefficients, problem.gradient
    curvature = problem.diagonal[i] + problem.diagonal - 2.0 * problem.row(i)
    curvature = np.where(curvature > 0, curvature, LEAST_CURVATURE)
    gain = np.maximum(slope, 0.0) ** 2 / curvature
    j = _last_largest(gain)
    room_above, room_below = problem.upper[i] - b[i], b[j] - problem.lower[j]
    size = (g[j] - g[i]) / curvature[j]
    before_i, before_j = b[i], b[j]
    is_standstill = False
    if size < min(room_above, room_below):
        b[i], b[j] = before_i + size, before_j - size
        is_standstill = bool(size <= STANDSTILL * max(abs(before_i), abs(before_j)))
    elif room_above < room_below:
        b[i] = problem.upper[i]
        b[j] = max(before_i + before_j - b[i], problem.lower[j])
    else:
        b[j] = problem.lower[j]
        b[i] = min(before_i + before_j - b[j], problem.upper[i])
    update = problem.row(i) * (b[i] - before_i) + problem.row(j) * (b[j] - before_j)
    np.add(g, update, out=g, where=samples.is_present)
    return is_standstill


def _last_largest(values: Floats) -> int:
    """Return the position of the largest value: the last one if several are equal, as in LIBSVM."""
    return len(values) - 1 - int(values[::-1].argmax())


def _offset(problem: _Problem) -> float:
    """Return ρ: the mean gradient of the free samples, or the middle of the possible range."""
    g = problem.gradient
    may_rise, may_fall = problem.may_rise, problem.may_fall
    is_free = may_rise & may_fall
    if is_free.any():
        return float(np.add.accumulate(g[is_free])[-1] / np.count_nonzero(is_free))
    return float((np.min(g[may_rise]) + np.max(g[may_fall])) / 2)
