"""Compiled twins of :mod:`polytomy.routines.reference.least_squares`, which has the explanations.

Samples are processed in blocks, each with its own small workspace, so apart from the result, memory
does not grow with the number of samples. No routine changes its arguments.

If a linear system has to be solved, codes with few classes are solved in lanes, many samples side
by side (`least_squares_lanes.py`). The reference routine solves samples that the lanes do not
settle, because several minima are possible, and codes with many classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.compiled.least_squares_lanes import (
    Rows,
    count_lanes,
    fill_lanes,
    new_lanes,
    settle_lanes,
    solve_lanes,
)
from polytomy.routines.compiled.linear_systems import solve_positive
from polytomy.routines.compiling import entry, helper
from polytomy.routines.reference import least_squares as reference
from polytomy.routines.threads import run_in_blocks

_LONG_PRODUCT = 2**31
"""Multiplications of the largest matrix product: at most a second, since Ctrl-C has to wait."""

_ROUNDS = (3, 8)
"""Number of steps in each round of lanes."""

_COST = 0.2
"""Approximate nanoseconds of a multiplication and an addition."""

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Flag = NDArray[np.int64]
Flags = NDArray[np.bool_]


def project_answers(decisions: Floats, directions: Floats) -> Floats:
    """Return the nearest point of the simplex to each row of decisions @ directions."""
    points = np.empty((len(decisions), directions.shape[1]))
    step = max(1, _LONG_PRODUCT // directions.size)
    for start in range(0, len(decisions), step):
        np.matmul(decisions[start : start + step], directions, out=points[start : start + step])
    # Nanoseconds for the passes over the classes until the threshold fits.
    cost = 5.0 * directions.shape[1]
    run_in_blocks(_project_answers, len(decisions), outputs=[points], cost=cost)
    return points


@entry
def _project_answers(points: Floats, first: int, last: int, stop: Flag) -> None:
    """Replace each row by the nearest point of the simplex."""
    n_classes = points.shape[1]
    above = np.empty(n_classes)
    for sample in range(first, last):
        if stop[0] != 0:
            return
        point = points[sample]
        largest = point[0]
        for j in range(1, n_classes):
            largest = max(largest, point[j])
        # Coordinates are relative to the largest, so that large ones do not lose digits. The
        # threshold is at least -1. It rises to the value that fits the coordinates above it, until
        # all of them stay above it (Michelot 1986).
        n_above, total = 0, 0.0
        for j in range(n_classes):
            value = point[j] - largest
            if value > -1.0:
                above[n_above] = value
                n_above += 1
                total += value
        while True:
            threshold = (total - 1.0) / n_above
            kept, total = 0, 0.0
            for j in range(n_above):
                value = above[j]
                if value > threshold:
                    above[kept] = value
                    kept += 1
                    total += value
            if kept == n_above:
                break
            n_above = kept
        for j in range(n_classes):
            point[j] = max(point[j] - largest - threshold, 0.0)


def regress_isotonic(
    decisions: Floats, classes: Indices, cuts: Indices, signs: NDArray[np.int8]
) -> Floats:
    """Return the class probabilities of an adjacent code."""
    probabilities = np.empty((len(decisions), len(classes)))
    inputs, cost = (decisions, classes, cuts, signs), 10.0 * (len(cuts) + len(classes))
    run_in_blocks(_regress_isotonic, len(decisions), *inputs, outputs=[probabilities], cost=cost)
    return probabilities


@entry
def _regress_isotonic(
    decisions: Floats,
    classes: Indices,
    cuts: Indices,
    signs: NDArray[np.int8],
    probabilities: Floats,
    first: int,
    last: int,
    stop: Flag,
) -> None:
    n_partitions, n_classes = cuts.shape[0], classes.shape[0]
    total = np.empty(n_classes - 1)
    weight = np.empty(n_classes - 1)
    # A pool is a run of cuts with one level; the pools form a stack.
    level = np.empty(n_classes - 1)
    mass = np.empty(n_classes - 1)
    end = np.empty(n_classes - 1, np.intp)
    for sample in range(first, last):
        if stop[0] != 0:
            return
        for cut in range(n_classes - 1):
            total[cut] = 0.0
            weight[cut] = 0.0
        for i in range(n_partitions):
            r = decisions[sample, i]
            if r == r:
                total[cuts[i]] += 0.5 * (1.0 - signs[i] * r)
                weight[cuts[i]] += 1.0
        n_pools = 0
        for cut in range(n_classes - 1):
            if weight[cut] == 0.0:
                continue
            level[n_pools] = total[cut] / weight[cut]
            mass[n_pools] = weight[cut]
            end[n_pools] = cut
            n_pools += 1
            while n_pools > 1 and level[n_pools - 2] >= level[n_pools - 1]:
                below, here = n_pools - 2, n_pools - 1
                both = mass[below] + mass[here]
                level[below] = (mass[below] * level[below] + mass[here] * level[here]) / both
                mass[below] = both
                end[below] = end[here]
                n_pools -= 1
        # Within a pool, only the classes before its first answered cut can have mass.
        pool, start, reached = 0, 0, 0.0
        for cut in range(n_classes):
            if cut < n_classes - 1 and weight[cut] == 0.0:
                continue
            up_to_here = level[pool] if pool < n_pools else 1.0
            share = max(up_to_here - reached, 0.0) / (cut + 1 - start)
            for position in range(start, cut + 1):
                probabilities[sample, classes[position]] = share
            reached, start = up_to_here, cut + 1
            if pool < n_pools and end[pool] == cut:
                pool += 1


def multiply_down_tree(decisions: Floats, children: Indices, order: Indices) -> Floats:
    """Return the product of the conditional probabilities down the path to each class."""
    probabilities = np.empty((len(decisions), len(order) + 1))
    inputs, cost = (decisions, children, order), 10.0 * len(order)
    run_in_blocks(_multiply_down_tree, len(decisions), *inputs, outputs=[probabilities], cost=cost)
    return probabilities


@entry
def _multiply_down_tree(
    decisions: Floats,
    children: Indices,
    order: Indices,
    probabilities: Floats,
    first: int,
    last: int,
    stop: Flag,
) -> None:
    n_rows = order.shape[0]
    mass = np.empty(n_rows)
    square = np.empty(n_rows)
    answer = np.empty(n_rows)
    for sample in range(first, last):
        if stop[0] != 0:
            return
        n_open = 0
        for row in range(n_rows):
            answer[row] = decisions[sample, row]
            n_open += answer[row] != answer[row]
        if n_open:
            _balance_open_nodes(children, order, answer, square)
        mass[order[0]] = 1.0
        for position in range(n_rows):
            row = order[position]
            half, r = 0.5 * mass[row], answer[row]
            for side in range(2):
                passed = half * (1.0 + r if side == 1 else 1.0 - r)
                child = children[row, side]
                if child >= 0:
                    mass[child] = passed
                else:
                    probabilities[sample, ~child] = passed


@helper
def _balance_open_nodes(children: Indices, order: Indices, answer: Floats, square: Floats) -> None:
    """Fill in the answers of unanswered nodes that give the least-norm result."""
    for position in range(order.shape[0] - 1, -1, -1):
        row = order[position]
        left, right = children[row, 0], children[row, 1]
        left_square = square[left] if left >= 0 else 1.0
        right_square = square[right] if right >= 0 else 1.0
        if answer[row] != answer[row]:
            answer[row] = (left_square - right_square) / (left_square + right_square)
        to_left, to_right = 0.5 * (1.0 - answer[row]), 0.5 * (1.0 + answer[row])
        square[row] = to_left * to_left * left_square + to_right * to_right * right_square


def couple_pairs(decisions: Floats, negative: Indices, positive: Indices, n_classes: int) -> Floats:
    """Return the class probabilities of a code with every pair of classes, once or more."""
    probabilities = np.empty((len(decisions), n_classes))
    couple, n_lanes = _couple_pairs_in_lanes, count_lanes(n_classes)
    if n_lanes == 0:
        couple, n_lanes = _couple_pairs_singly, 1
    # With as many lanes as samples, a few samples are fast and have the same answers among others.
    n_lanes = min(n_lanes, max(1, len(decisions)))
    run_in_blocks(
        couple,
        len(decisions),
        *(decisions, negative, positive, n_lanes),
        outputs=[probabilities],
        cost=_COST * (n_classes**3 / 3 + 10 * len(negative)),
        multiple=n_lanes,
    )
    return probabilities


def minimise_on_simplex(
    decisions: Floats,
    row_starts: Indices,
    row_classes: Indices,
    row_signs: Floats,
    n_classes: int,
) -> Floats:
    """Return the class probabilities of any code."""
    rows = Rows(row_starts, row_classes, row_signs)
    probabilities = np.empty((len(decisions), n_classes))
    n_lanes, samples = count_lanes(n_classes), np.arange(len(decisions))
    n_products = float((np.diff(row_starts).astype(np.float64) ** 2).sum())
    # All lanes wait for the slowest, so samples that need many steps get a separate round.
    for n_steps in _ROUNDS if n_lanes else ():
        if len(samples) == 0:
            break
        n_lanes = min(n_lanes, len(samples))
        settled = np.empty(len(samples), dtype=np.bool_)
        run_in_blocks(
            _minimise_on_simplex,
            len(samples),
            *(decisions, rows, samples, n_lanes, n_steps),
            outputs=[probabilities, settled],
            cost=_COST * (n_products + n_steps * n_classes**3),
            multiple=n_lanes,
        )
        samples = samples[~settled]
    if len(samples):
        rest = reference.minimise_on_simplex(decisions[samples], *rows, n_classes)
        probabilities[samples] = rest
    return probabilities


@entry
def _couple_pairs_in_lanes(
    decisions: Floats,
    negative: Indices,
    positive: Indices,
    n_lanes: int,
    probabilities: Floats,
    first: int,
    last: int,
    stop: Flag,
) -> None:
    lanes = new_lanes(probabilities.shape[1], n_lanes)
    gram, less, more = lanes.gram, lanes.terms[1], lanes.terms[2]
    n_classes = probabilities.shape[1]
    for start in range(first, last, n_lanes):
        if stop[0] != 0:
            return
        for j in range(n_classes):
            for k in range(j, n_classes):
                for lane in range(n_lanes):
                    gram[j, k, lane] = 1.0
        for i in range(negative.shape[0]):
            for lane in range(n_lanes):
                r = decisions[min(start + lane, last - 1), i]
                less[lane] = 1.0 - r
                more[lane] = 1.0 + r
            j, k = negative[i], positive[i]
            low, high = min(j, k), max(j, k)
            for lane in range(n_lanes):
                gram[j, j, lane] += more[lane] * more[lane]
            for lane in range(n_lanes):
                gram[k, k, lane] += less[lane] * less[lane]
            for lane in range(n_lanes):
                gram[low, high, lane] -= less[lane] * more[lane]
        solve_lanes(lanes)
        for lane in range(min(n_lanes, last - start)):
            _write_normalised(lanes.x[:, lane], probabilities[start + lane])


@entry
def _couple_pairs_singly(
    decisions: Floats,
    negative: Indices,
    positive: Indices,
    n_lanes: int,
    probabilities: Floats,
    first: int,
    last: int,
    stop: Flag,
) -> None:
    n_classes = probabilities.shape[1]
    gram, x = np.empty((n_classes, n_classes)), np.empty(n_classes)
    for sample in range(first, last):
        if stop[0] != 0:
            return
        for j in range(n_classes):
            x[j] = 1.0
            for k in range(n_classes):
                gram[j, k] = 1.0
        for i in range(negative.shape[0]):
            j, k, r = negative[i], positive[i], decisions[sample, i]
            gram[j, j] += (1.0 + r) * (1.0 + r)
            gram[k, k] += (1.0 - r) * (1.0 - r)
            gram[max(j, k), min(j, k)] -= (1.0 - r) * (1.0 + r)
        solve_positive(gram, x, n_classes, 0.0)
        _write_normalised(x, probabilities[sample])


@entry
def _minimise_on_simplex(
    decisions: Floats,
    rows: Any,
    samples: Indices,
    n_lanes: int,
    n_steps: int,
    probabilities: Floats,
    settled: Flags,
    first: int,
    last: int,
    stop: Flag,
) -> None:
    lanes = new_lanes(probabilities.shape[1], n_lanes)
    for start in range(first, last, n_lanes):
        if stop[0] != 0:
            return
        part = samples[start : min(start + n_lanes, last)]
        fill_lanes(decisions, rows, part, lanes)
        settle_lanes(lanes, n_steps)
        for lane in range(len(part)):
            settled[start + lane] = lanes.settled[lane]
            _write_normalised(lanes.x[:, lane], probabilities[part[lane]])


@helper
def _write_normalised(x: Floats, p: Floats) -> None:
    """Set p to the positive part of x, divided by its sum."""
    total = 0.0
    for j in range(len(p)):
        p[j] = max(x[j], 0.0)
        total += p[j]
    for j in range(len(p)):
        p[j] /= total
