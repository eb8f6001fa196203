"""Compiled twins of `reference/shortcuts.py`: least squares without linear systems.

Samples are processed in blocks, each with its own small workspace, so apart from the result, memory
does not grow with the number of samples. No routine changes its arguments.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polytomy.routines.runtime.compiling import entry, helper, with_read_only_arguments
from polytomy.routines.runtime.threads import run_in_blocks

__all__ = ["multiply_down_tree", "project_answers", "regress_isotonic"]

_MOST_MULTIPLICATIONS = 2**18
"""Size of the largest matrix product that OpenBLAS computes on one thread."""

_LEAST_PRODUCT = 16
"""Smallest number of samples for which a matrix product is worthwhile."""

_LONG_PRODUCT = 2**31
"""Multiplications of the largest matrix product: at most a second, since Ctrl-C has to wait."""

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Flag = NDArray[np.int64]


@with_read_only_arguments
def project_answers(decisions: Floats, directions: Floats) -> Floats:
    """Return the nearest point of the simplex to each row of decisions @ directions."""
    points = np.empty((len(decisions), directions.shape[1]))
    # Nanoseconds for a product, and for the passes over the classes until the threshold fits.
    cost = 0.2 * directions.size + 5.0 * directions.shape[1]
    step = _MOST_MULTIPLICATIONS // directions.size
    if step < _LEAST_PRODUCT:
        # The products are so large that BLAS itself divides each among threads.
        step = max(1, _LONG_PRODUCT // directions.size)
        for start in range(0, len(decisions), step):
            part = slice(start, start + step)
            np.matmul(decisions[part], directions, out=points[part])
        run_in_blocks(_project_rows, len(decisions), points, cost=cost)
    else:
        arguments = decisions, directions, points, step
        run_in_blocks(_project_products, len(decisions), *arguments, cost=cost, multiple=step)
    return points


def _project_products(
    decisions: Floats,
    directions: Floats,
    points: Floats,
    step: int,
    first: int,
    last: int,
    stop: Flag,
) -> None:
    for start in range(first, last, step):
        end = min(start + step, last)
        np.matmul(decisions[start:end], directions, out=points[start:end])
        _project_rows(points, start, end, stop)


@entry
def _project_rows(points: Floats, first: int, last: int, stop: Flag) -> None:
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


@with_read_only_arguments
def regress_isotonic(
    decisions: Floats, classes: Indices, cuts: Indices, signs: NDArray[np.int8]
) -> Floats:
    """Return the class probabilities of an adjacent code."""
    probabilities = np.empty((len(decisions), len(classes)))
    arguments = decisions, classes, cuts, signs, probabilities
    cost = 10.0 * (len(cuts) + len(classes))
    run_in_blocks(_regress_rows, len(decisions), *arguments, cost=cost)
    return probabilities


@entry
def _regress_rows(
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


@with_read_only_arguments
def multiply_down_tree(decisions: Floats, children: Indices, order: Indices) -> Floats:
    """Return the product of the conditional probabilities down the path to each class."""
    probabilities = np.empty((len(decisions), len(order) + 1))
    arguments = decisions, children, order, probabilities
    run_in_blocks(_multiply_rows, len(decisions), *arguments, cost=10.0 * len(order))
    return probabilities


@entry
def _multiply_rows(
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
