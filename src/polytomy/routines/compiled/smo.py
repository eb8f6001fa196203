"""Compiled twin of :mod:`polytomy.routines.reference.smo`: the same steps as loops.

No function here starts threads, so any number of threads can train machines at the same time.

Shrunk samples are skipped immediately. When enough samples are shrunk, the arrays are compacted to
the others. The gradient of the samples left out is restored from its last complete state and the
coefficients that have changed since then.

`smo_steps.py` has the steps. `_KernelRows`, at the end, computes rows of kernel values and caches
them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiled.kernels import BLOCK, rounded_values
from polytomy.routines.compiled.smo_steps import (
    NEVER,
    Considered,
    DualProblem,
    Limits,
    add_multiple,
    add_multiples,
    choose_fall,
    choose_rise,
    compact,
    consider_all,
    new_considered,
    new_lanes,
    new_workspace,
    shrink,
    solve_small,
    steepest,
    step,
)
from polytomy.routines.compiling import entry, helper
from polytomy.routines.reference.kernels import IS_OF_DISTANCES, MatrixRows
from polytomy.routines.reference.smo import (
    AT_BOUND,
    COMPACTING_FRACTION,
    FEW_SAMPLES,
    NEAR_THE_END,
    SMALL_PROBLEM,
    STEPS_BETWEEN_SHRINKS,
    Problems,
)
from polytomy.routines.threads import run_aside

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Flag = NDArray[np.int64]

_SHORT_WORK = 2_000_000
"""Samples processed by all steps of a short training, at about a nanosecond each."""

_NO_LIMIT = 2**62


def train_machines(
    problems: Problems, matrix: MatrixRows, sources: NDArray[np.intp], cache: Singles
) -> Any:
    """Train the machines of several problems, each in several runs with their own bounds."""
    # Most small problems are solved quickly, but no estimate can say which ones are not.
    sizes, outputs = np.diff(problems.ends, prepend=0), (matrix, cache)
    cost = float(len(problems.bounds) * (sizes @ sizes))
    if cost <= _SHORT_WORK:
        inputs = problems, sources, _SHORT_WORK
        trained, is_finished = run_aside(_train_machines, *inputs, outputs=outputs, cost=cost)
        if is_finished:
            return trained
    inputs = problems, sources, _NO_LIMIT
    trained, _ = run_aside(_train_machines, *inputs, outputs=outputs, cost=np.inf)
    return trained


@entry
def _train_machines(
    problems: Problems,
    sources: NDArray[np.intp],
    most_work: int,
    matrix: MatrixRows,
    cache: Singles,
    stop: Flag,
) -> Any:
    """Return the machines, and whether training took no more work than allowed."""
    columns, ends, signs, bounds, diagonal, tolerances, most_steps, shrinks = problems
    n_runs = len(bounds)
    coefficients, gradients = np.zeros(bounds.shape), np.empty(bounds.shape)
    values, offsets = np.empty(bounds.shape), np.empty((n_runs, len(ends)))
    steps = np.empty((n_runs, len(ends)), np.int64)
    workspace = new_workspace()
    if len(cache) < SMALL_PROBLEM * SMALL_PROBLEM:
        cache = np.empty(SMALL_PROBLEM * SMALL_PROBLEM, np.float32)
    first = 0
    for k in range(len(ends)):
        last = ends[k]
        n_samples, sides = last - first, signs[first:last]
        lower, upper = np.empty(n_samples), np.empty(n_samples)
        considered = new_considered(n_samples)
        is_small = n_samples <= SMALL_PROBLEM
        rows = _keep_rows(matrix, columns[first:last], cache)
        if is_small:
            _load_all_rows(rows, considered.samples)
        for run in range(n_runs):
            b, gradient = coefficients[run, first:last], gradients[run, first:last]
            problem = DualProblem(diagonal[first:last], lower, upper, b, gradient)
            for t in range(n_samples):
                lower[t] = 0.0 if sides[t] > 0 else -bounds[run, first + t]
                upper[t] = bounds[run, first + t] if sides[t] > 0 else 0.0
                gradient[t] = -sides[t]
            smaller, whole = sources[run]
            solved, slopes = coefficients[smaller, first:last], gradients[smaller, first:last]
            if smaller >= 0 and _is_mostly_free(solved, bounds[smaller, first:last]):
                _start_from_multiple(problem, sides, solved, slopes)
            elif whole >= 0:
                solved, slopes = coefficients[whole, first:last], gradients[whole, first:last]
                _make_feasible(problem, solved, slopes)
                _start_gradient(problem, rows, considered, solved, slopes, stop)
            limits = Limits(tolerances[k], most_steps[k], shrinks[k], most_work)
            if is_small:
                steps[run, k] = solve_small(problem, cache, workspace, limits, stop)
            else:
                steps[run, k] = _solve(problem, rows, considered, limits, stop)
            most_work -= steps[run, k] * n_samples
            if stop[0] != 0 or most_work < 0:
                return (coefficients, values, offsets, steps), False
            offsets[run, k] = _offset(problem)
            for t in range(n_samples):
                values[run, first + t] = gradient[t] + sides[t] - offsets[run, k]
        first = last
    return (coefficients, values, offsets, steps), True


@helper
def _is_mostly_free(coefficients: Floats, bounds: Floats) -> bool:
    """Return whether no more coefficients are at their bounds than between zero and the bound."""
    n_free, n_bounded = 0, 0
    for t in range(len(bounds)):
        size = abs(coefficients[t])
        if size >= bounds[t] > 0.0:
            n_bounded += 1
        elif size > 0.0:
            n_free += 1
    return n_bounded <= n_free


@helper
def _make_feasible(problem: DualProblem, coefficients: Floats, gradient: Floats) -> None:
    """Copy another run's coefficients, changed to satisfy the bounds and to sum to zero."""
    b = problem.coefficients
    n_samples = len(b)
    excess = 0.0
    for t in range(n_samples):
        b[t] = min(max(coefficients[t], problem.lower[t]), problem.upper[t])
        excess += b[t]
    while excess != 0.0:
        direction = 1.0 if excess > 0.0 else -1.0
        best, slope = -1, NEVER
        for t in range(n_samples):
            can_change = b[t] > problem.lower[t] if excess > 0.0 else b[t] < problem.upper[t]
            if can_change and direction * gradient[t] > slope:
                best, slope = t, direction * gradient[t]
        bound = problem.lower[best] if excess > 0.0 else problem.upper[best]
        room = direction * (b[best] - bound)
        if room <= direction * excess:
            b[best] = bound
            excess -= direction * room
        else:
            b[best] -= excess
            excess = 0.0


@helper
def _start_from_multiple(
    problem: DualProblem, signs: Floats, coefficients: Floats, gradient: Floats
) -> None:
    """Start from the feasible multiple of another run's solution with the least dual."""
    b = problem.coefficients
    n_samples = len(b)
    linear, quadratic, most = 0.0, 0.0, np.inf
    for t in range(n_samples):
        size = abs(coefficients[t])
        if size > 0.0:
            linear += size
            quadratic += coefficients[t] * (gradient[t] + signs[t])
            most = min(most, (problem.upper[t] - problem.lower[t]) / size)
    factor = min(most, linear / quadratic if quadratic > 0.0 else np.inf)
    if factor == np.inf:
        return
    for t in range(n_samples):
        b[t] = min(max(factor * coefficients[t], problem.lower[t]), problem.upper[t])
        if b[t] >= AT_BOUND * problem.upper[t]:
            b[t] = problem.upper[t]
        if b[t] <= AT_BOUND * problem.lower[t]:
            b[t] = problem.lower[t]
        problem.gradient[t] = factor * (gradient[t] + signs[t]) - signs[t]


@helper
def _start_gradient(
    problem: DualProblem,
    rows: _KernelRows,
    considered: Considered,
    coefficients: Floats,
    gradient: Floats,
    stop: Flag,
) -> None:
    """Compute the gradient of a run from that of another, which has other coefficients."""
    n_samples = len(gradient)
    for t in range(n_samples):
        considered.samples[t] = t
        problem.gradient[t] = gradient[t]
    for t in range(n_samples):
        if stop[0] != 0:
            return
        change = problem.coefficients[t] - coefficients[t]
        if change != 0.0:
            slot = rows.slot_of[t]
            if slot < 0:
                slot = _load_row(rows, t, considered.samples, -1)
            add_multiple(problem.gradient, _row_in(rows, slot), change, n_samples)


@helper
def _solve(
    problem: DualProblem, rows: _KernelRows, considered: Considered, limits: Limits, stop: Flag
) -> int:
    """Take steps until the stopping rule holds; return their number.

    If `stop` is set, or if the steps so far have processed more than `most_work` samples, the
    result is invalid.
    """
    tolerance, most_steps, shrinks, most_work = limits
    n_samples = len(problem.gradient)
    consider_all(considered, problem)
    n = n_samples
    whole = problem.gradient.copy(), problem.coefficients.copy()
    lanes = new_lanes()
    # While no sample is left out, rows of a matrix of kernel values can be used without copying.
    is_direct = _has_own_rows(rows)

    n_free = 0
    for t in range(n_samples):
        n_free += problem.lower[t] < problem.upper[t]
    interval = min(n_free, STEPS_BETWEEN_SHRINKS[1 if n_samples > FEW_SAMPLES else 0])
    until_shrink = interval + 1
    has_shrunk = False
    has_looked_again = False
    steps = 0
    while most_steps < 0 or steps < most_steps:
        if stop[0] != 0 or steps * n_samples > most_work:
            return steps
        until_shrink -= 1
        if until_shrink == 0:
            until_shrink = interval
            if shrinks:
                slopes = steepest(considered, n)
                if not has_looked_again and sum(slopes) <= NEAR_THE_END * tolerance:
                    has_looked_again = True
                    _complete_gradient(problem, rows, considered, n, whole, stop)
                    n, has_shrunk = n_samples, False
                    slopes = steepest(considered, n)
                n_left = shrink(considered, n, slopes)
                has_shrunk = has_shrunk or n_left < n
                if n_left < COMPACTING_FRACTION * n:
                    n = compact(considered, n)
                    _forget_rows(rows, n)

        i, rise = choose_rise(considered, n, lanes)
        j = -1
        if i >= 0:
            sample_i = considered.samples[i]
            slot_i = -1
            if is_direct and n == n_samples:
                row_i = rows.matrix.kernel_values[sample_i]
            else:
                slot_i = rows.slot_of[sample_i]
                if slot_i < 0:
                    slot_i = _load_row(rows, sample_i, considered.samples, -1)
                row_i = _row_in(rows, slot_i)
            j = choose_fall(considered, n, row_i, i, rise, lanes)
        # A cheap test first: the fall with the largest gain is rarely the steepest, but usually
        # steep enough to show that the steps must continue.
        is_at_end = j < 0 or rise + considered.gradient[j] < tolerance
        if is_at_end and sum(steepest(considered, n)) < tolerance:
            if not has_shrunk:
                break
            _complete_gradient(problem, rows, considered, n, whole, stop)
            n, has_shrunk = n_samples, False
            until_shrink = 2  # after the next step
            if sum(steepest(considered, n)) < tolerance:
                break
            continue

        sample_j = considered.samples[j]
        if is_direct and n == n_samples:
            row_j = rows.matrix.kernel_values[sample_j]
        else:
            slot_j = rows.slot_of[sample_j]
            if slot_j < 0:
                slot_j = _load_row(rows, sample_j, considered.samples, slot_i)
            row_j = _row_in(rows, slot_j)
        change_i, change_j, is_standstill = step(problem, considered, i, j, row_i[j])
        add_multiples(considered.gradient, row_i, change_i, row_j, change_j, n)
        steps += 1
        if is_standstill:
            break

    _complete_gradient(problem, rows, considered, n, whole, stop)
    return steps


@helper
def _complete_gradient(
    problem: DualProblem,
    rows: _KernelRows,
    considered: Considered,
    n: int,
    whole: tuple[Floats, Floats],
    stop: Flag,
) -> None:
    """Compute the gradient of the samples left out, and consider all samples again.

    `whole` has the last complete gradient, and the coefficients that it belongs to.
    """
    whole_gradient, whole_coefficients = whole
    n_samples = len(problem.gradient)
    if n < n_samples:
        left_out = _complement(considered.samples, n, n_samples)
        is_direct = _has_own_rows(rows)
        part = np.empty(len(left_out))
        for k in range(len(left_out)):
            part[k] = whole_gradient[left_out[k]]
        row = np.empty(len(left_out), np.float32)
        for t in range(n_samples):
            if stop[0] != 0:
                return
            change = problem.coefficients[t] - whole_coefficients[t]
            if change == 0.0:
                continue
            if is_direct:
                # Adding a whole row of the matrix is faster than picking entries from it.
                add_multiple(whole_gradient, rows.matrix.kernel_values[t], change, n_samples)
            else:
                _fill_row(rows, t, left_out, len(left_out), row)
                add_multiple(part, row, change, len(left_out))
        if not is_direct:
            for k in range(len(left_out)):
                whole_gradient[left_out[k]] = part[k]
        _forget_rows(rows, n_samples)
    for k in range(n):
        whole_gradient[considered.samples[k]] = considered.gradient[k]
    for t in range(n_samples):
        whole_coefficients[t] = problem.coefficients[t]
        problem.gradient[t] = whole_gradient[t]
    consider_all(considered, problem)


@helper
def _complement(samples: NDArray[np.int64], n: int, n_samples: int) -> Any:
    """Return the samples that are not among the first n of `samples`, which ascend."""
    others = np.empty(n_samples - n, np.int64)
    place, n_others = 0, 0
    for t in range(n_samples):
        if place < n and samples[place] == t:
            place += 1
        else:
            others[n_others] = t
            n_others += 1
    return others


@helper
def _offset(problem: DualProblem) -> float:
    """Return ρ: the mean gradient of the free samples, or the middle of the possible range."""
    total, n_free = 0.0, 0
    least, greatest = np.inf, NEVER
    for t in range(len(problem.gradient)):
        g = problem.gradient[t]
        may_rise = problem.coefficients[t] < problem.upper[t]
        may_fall = problem.coefficients[t] > problem.lower[t]
        if may_rise and may_fall:
            total += g
            n_free += 1
        elif may_rise:
            least = min(least, g)
        elif may_fall:
            greatest = max(greatest, g)
    return total / n_free if n_free > 0 else (least + greatest) / 2


class _KernelRows(NamedTuple):
    """Kernel values of a problem's samples, read row by row from the matrix and cached.

    Attributes
    ----------
    matrix, columns : as for `train_machines`
    is_whole : whether the problem has all columns of the matrix, in the same order
    cache : float32 array of two or more rows, one after the other; a row has the kernel values of
        one sample with the considered samples, in order
    slot_of : the row of the cache for each sample, or −1, shape (m,)
    sample_in : the sample whose row is in each slot, or −1, shape (m,)
    state : length of a row, number of slots, the slot to fill next
    """

    matrix: MatrixRows
    columns: NDArray[np.int64]
    is_whole: bool
    cache: Singles
    slot_of: NDArray[np.int64]
    sample_in: NDArray[np.int64]
    state: NDArray[np.int64]


@helper
def _keep_rows(matrix: MatrixRows, columns: NDArray[np.int64], cache: Singles) -> Any:
    """Return an empty cache of rows."""
    is_whole = len(columns) == matrix.kernel_values.shape[1]
    for k in range(len(columns)):
        is_whole = is_whole and columns[k] == k
    slot_of, sample_in = np.empty(len(columns), np.int64), np.empty(len(columns), np.int64)
    rows = _KernelRows(matrix, columns, is_whole, cache, slot_of, sample_in, np.empty(3, np.int64))
    _forget_rows(rows, len(columns))
    return rows


@helper
def _has_own_rows(rows: _KernelRows) -> bool:
    """Return whether rows of the matrix can be used as rows of the problem, unchanged."""
    return rows.is_whole and len(rows.matrix.slot_of) == 0


@helper
def _forget_rows(rows: _KernelRows, n: int) -> None:
    """Clear the cache, for rows of n considered samples; call this if they change."""
    for k in range(len(rows.slot_of)):
        rows.slot_of[k] = -1
        rows.sample_in[k] = -1
    rows.state[0] = n
    rows.state[1] = min(len(rows.sample_in), len(rows.cache) // n)
    rows.state[2] = 0


@helper
def _load_row(rows: _KernelRows, sample: int, considered: Any, kept_slot: int) -> Any:
    """Fill a slot with the kernel values of a sample with the considered ones; return the slot.

    Call this only if `slot_of` has no slot for the sample: checking that is faster than a function
    call. The slot `kept_slot`, which is in use, is not overwritten.
    """
    n, n_slots, slot = rows.state
    if slot == kept_slot:
        slot = (slot + 1) % n_slots
    rows.state[2] = (slot + 1) % n_slots
    if rows.sample_in[slot] >= 0:
        rows.slot_of[rows.sample_in[slot]] = -1
    rows.sample_in[slot] = sample
    rows.slot_of[sample] = slot
    _fill_row(rows, sample, considered, n, _row_in(rows, slot))
    return slot


@helper
def _load_all_rows(rows: _KernelRows, samples: Any) -> None:
    """Fill the cache, which is large enough, with the rows of all samples in order.

    `samples` has their numbers: 0, 1, 2, …
    """
    n = rows.state[0]
    for sample in range(n):
        rows.sample_in[sample] = sample
        rows.slot_of[sample] = sample
        _fill_row(rows, sample, samples, n, _row_in(rows, sample))


@helper
def _row_in(rows: _KernelRows, slot: int) -> Any:
    """Return the row of kernel values in a slot."""
    n = rows.state[0]
    return rows.cache[slot * n : (slot + 1) * n]


@helper
def _fill_row(rows: _KernelRows, sample: int, considered: Any, n: int, out: Singles) -> None:
    """Write the kernel values of a sample with the n considered samples."""
    row = rows.columns[sample]
    if len(rows.matrix.slot_of) > 0:
        slot = rows.matrix.slot_of[row]
        row = slot if slot >= 0 else _make_row(rows.matrix, row)
    values = rows.matrix.kernel_values[row]
    if rows.is_whole and n == len(rows.columns):
        for k in range(n):
            out[k] = values[k]
    else:
        for k in range(n):
            out[k] = values[rows.columns[considered[k]]]


@helper
def _make_row(matrix: MatrixRows, row: int) -> int:
    """Compute a row of the matrix, and return the slot that holds it."""
    slot = matrix.next_slot[0]
    matrix.next_slot[0] = (slot + 1) % len(matrix.row_in)
    if matrix.row_in[slot] >= 0:
        matrix.slot_of[matrix.row_in[slot]] = -1
    matrix.row_in[slot] = row
    matrix.slot_of[row] = slot
    n_features, n_rows = matrix.features.shape
    scratch, entries = np.empty((2, BLOCK)), np.empty(BLOCK)
    for first in range(0, n_rows, BLOCK):
        size = min(BLOCK, n_rows - first)
        for k in range(size):
            entries[k] = 0.0
        for f in range(n_features):
            factor, feature = matrix.features[f, row], matrix.features[f, first : first + size]
            for k in range(size):
                entries[k] += factor * feature[k]
        if IS_OF_DISTANCES[matrix.function[0]]:
            square, squares = matrix.squares[row], matrix.squares[first : first + size]
            for k in range(size):
                distance = square + squares[k] - 2.0 * entries[k]
                entries[k] = distance if distance > 0.0 else 0.0
        out = matrix.kernel_values[slot, first : first + size]
        rounded_values(matrix.function, entries[:size], scratch, out)
    return slot
