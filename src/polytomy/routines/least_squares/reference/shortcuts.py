"""Least squares without linear systems, in plain NumPy: the oracle of the compiled twins.

r is the array of decisions, one row per sample, and p the class probabilities. NaN in r means that
a binary gave no answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

__all__ = ["multiply_down_tree", "project_answers", "regress_isotonic"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def project_answers(decisions: Floats, directions: Floats) -> Floats:
    """Return the nearest point of the simplex to each row of decisions @ directions.

    For x, it is max(x − t, 0), with the threshold t that makes the sum one. The threshold is found
    from the coordinates in descending order (Held, Wolfe and Crowder 1974).

    If AᵀA = a·I + b·11ᵀ and directions are A/a, these are the class probabilities: on the plane
    sum(p) = 1 the objective is |Ap − r|² = a·|p − Aᵀr/a|² + constant. Because a > 0, it is strictly
    convex there, so the minimum is unique for every r.

    Parameters
    ----------
    decisions : array of shape (n_samples, n_partitions), without NaN
    directions : array of shape (n_partitions, n_classes)

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one

    Examples
    --------
    >>> project_answers(np.array([[0.5, 0.75, -3.0]]), np.eye(3))
    array([[0.375, 0.625, 0.   ]])
    """
    points = decisions @ directions
    # Subtracting a multiple of 1 does not change the result; large coordinates would lose digits.
    points -= points.max(axis=1, keepdims=True)
    falling = -np.sort(-points, axis=1)
    n_above = np.arange(1, points.shape[1] + 1)
    thresholds = (np.cumsum(falling, axis=1) - 1.0) / n_above
    last = np.count_nonzero(falling > thresholds, axis=1) - 1
    threshold = thresholds[np.arange(len(points)), last]
    return np.maximum(points - threshold[:, np.newaxis], 0.0)


def regress_isotonic(
    decisions: Floats, classes: Indices, cuts: Indices, signs: NDArray[np.int8]
) -> Floats:
    """Return the class probabilities of an adjacent code.

    Let F_c be the probability of the classes up to cut c. A row of sign s says 1 − 2F_c = s·r. So
    least squares is the isotonic regression of the (1 − s·r)/2 of each cut, weighted by its number
    of rows, and p are the steps of F. The targets lie in [0, 1], and so do the means that the
    regression takes of them, so 0 ≤ F ≤ 1 always holds. A cut without an answer fixes
    only the sum of its two neighbours; the least norm divides it evenly.

    Parameters
    ----------
    decisions : array of shape (n_samples, n_partitions)
    classes : array of shape (n_classes,), the classes along the line
    cuts : array of shape (n_partitions,), row i cuts after the class at position ``cuts[i]``
    signs : array of shape (n_partitions,), +1 if the row is −1 before its cut, otherwise −1

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one

    Examples
    --------
    >>> line, cuts, signs = np.arange(3), np.arange(2), np.ones(2, dtype=np.int8)
    >>> regress_isotonic(np.array([[0.5, 0.0], [-0.5, 0.5]]), line, cuts, signs)
    array([[0.25, 0.25, 0.5 ],
           [0.5 , 0.  , 0.5 ]])
    """
    n_classes = len(classes)
    probabilities = np.empty((len(decisions), n_classes))
    for r, p in zip(decisions, probabilities, strict=True):
        answered = ~np.isnan(r)
        weights = np.bincount(cuts[answered], minlength=n_classes - 1).astype(np.float64)
        targets = 0.5 * (1.0 - signs[answered] * r[answered])
        totals = np.bincount(cuts[answered], weights=targets, minlength=n_classes - 1)
        known = np.flatnonzero(weights)
        levels = np.empty(0)
        if len(known):
            means = totals[known] / weights[known]
            levels = isotonic_regression(means, weights=weights[known]).x
        steps = np.diff(levels, prepend=0.0, append=1.0)
        widths = np.diff(known, prepend=-1, append=n_classes - 1)
        p[classes] = np.repeat(np.maximum(steps, 0.0) / widths, widths)
    return probabilities


def multiply_down_tree(decisions: Floats, children: Indices, order: Indices) -> Floats:
    """Return the product of the conditional probabilities down the path to each class.

    The residual of every row is then zero, so this is a minimum of least squares. It is unique: at
    the root, a residual of zero and the sum of one fix the mass of both sides, and so on down the
    tree.

    A node without an answer may divide its mass in any way. Let N be the least sum of squares that
    unit mass can have below a node. Dividing the mass as (1 − t, t) gives (1 − t)²·N_left +
    t²·N_right, which is least at t = N_left/(N_left + N_right). Mass m has the least sum of squares
    m²·N, so deciding open nodes one at a time, from the leaves up, gives the overall minimum.

    Parameters
    ----------
    decisions : array of shape (n_samples, n_classes − 1)
    children : array of shape (n_classes − 1, 2), the −1 and the +1 child of each row;
        k ≥ 0 is row k, k < 0 is class ``~k``
    order : array of shape (n_classes − 1,), rows, parents before children

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one

    Examples
    --------
    >>> children, order = np.array([[~0, 1], [~1, ~2]]), np.array([0, 1])
    >>> multiply_down_tree(np.array([[0.5, 0.0], [np.nan, 0.0]]), children, order)
    array([[0.25      , 0.375     , 0.375     ],
           [0.33333333, 0.33333333, 0.33333333]])
    """
    n_samples, n_rows = decisions.shape
    answers = decisions.T.copy()
    # Rows come first, and classes are counted from the end, so that a child's code (~k for class k)
    # is its index.
    square = np.ones((2 * n_rows + 1, n_samples))
    for row in order[::-1]:
        left, right = square[children[row]]
        is_open = np.isnan(answers[row])
        answers[row, is_open] = ((left - right) / (left + right))[is_open]
        to_left, to_right = 0.5 * (1.0 - answers[row]), 0.5 * (1.0 + answers[row])
        square[row] = to_left**2 * left + to_right**2 * right
    mass = np.ones_like(square)
    for row in order:
        left_child, right_child = children[row]
        mass[left_child] = 0.5 * mass[row] * (1.0 - answers[row])
        mass[right_child] = 0.5 * mass[row] * (1.0 + answers[row])
    return np.ascontiguousarray(mass[: n_rows - 1 : -1].T)
