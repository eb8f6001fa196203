"""Class probabilities by least squares: the p on the simplex with the least |Ap − r|².

A is the code, r the decisions of a sample and p its class probabilities. NaN in r means that a
binary gave no answer. If there are several minima, the result is the one with the least norm.
`polytomy.solvers.least_squares` chooses the algorithm by the structure of the code::

    algorithm     routine               method
    product       multiply_down_tree    products down a tree
    isotonic      regress_isotonic      isotonic regression
    projection    project_answers       projection onto the simplex
    pairwise      couple_pairs          a linear system per sample
    active-set    minimise_on_simplex   Lawson and Hanson's active set (1974)

For the last two, row i of Q is a_i − r_i·|a_i|, so the objective is |Qp|². A binary that gave no
answer has no row in Q. These routines are in plain NumPy: the oracle of the compiled twins.

The tolerances are for treating numbers as zero, in both twins. Each is relative to the scale of the
numbers that are compared, in double precision.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.optimize import isotonic_regression, nnls

from polytomy.routines.dispatch import spend

DEPENDENT = 1e-16
"""Largest squared distance from a unit column to the span of others that counts as zero."""

DEPENDENT_BY_GRAM = 1e-12
"""The same if only products of columns are known and the square is a difference of them."""

ACCURATE_BY_GRAM = 1e-6
"""The least such square that is used: with it, probabilities have about ten accurate digits."""

ROUNDING = 1e-14
"""A value or gradient this far on the wrong side of zero counts as zero."""

FACE = 1e-9
"""Largest gradient of a class that may take part in other minima."""

UNCHANGED = 1e-11
"""Largest change of the gradient, due to rounding, at another point that is also a minimum."""

NEGLIGIBLE = 1e-13
"""A probability that need not be distinguished from zero."""

FINE = 1e-2
"""A column is tiny if its square is at most this fraction of the mean of all."""

_BLOCK = 256

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
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
    spend(1e-4 + 2e-7 * decisions.size)
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
    spend(5e-5 * len(decisions))
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
    spend(2e-4 + 8e-8 * decisions.size)
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


def couple_pairs(decisions: Floats, negative: Indices, positive: Indices, n_classes: int) -> Floats:
    """Return the class probabilities of a code with every pair of classes, once or more.

    This is the second method of Wu, Lin and Weng (2004), for rows that may repeat. It ignores the
    constraint p ≥ 0 and solves (QᵀQ + 11ᵀ) x = 1, p = x/sum(x). Proof that this is valid for any r:

    - The matrix is positive definite. Let Qd = 0 and sum(d) = 0. The row of classes j and k says
      (1 − r)·d_k = (1 + r)·d_j, with factors that are not negative and not both zero, so d_j and
      d_k do not have opposite signs. The code has all pairs, so no two entries of d have opposite
      signs. They sum to zero, so d = 0.
    - Hence there is one minimum on the plane sum(p) = 1. There, QᵀQp is a multiple of 1, as it is
      for p = x/sum(x).
    - It is not negative. Off the diagonal, QᵀQ is −(1 − r²) ≤ 0, so the objective of |p| is at most
      that of p, and dividing by sum(|p|) ≥ 1 does not increase it. The minimum is unique, so
      p = |p|.

    So no sample is degenerate, even if r is −1 or +1, as long as every pair has an answer.

    Parameters
    ----------
    decisions : array of shape (n_samples, n_partitions), without NaN
    negative, positive : arrays of shape (n_partitions,), the class on either side of each row
    n_classes : int

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one

    Examples
    --------
    >>> couple_pairs(np.array([[0.5], [-1.0]]), np.array([0]), np.array([1]), 2)
    array([[0.25, 0.75],
           [1.  , 0.  ]])
    """
    n_samples, n_partitions = decisions.shape
    size = n_partitions * n_classes
    # Large systems would need much memory.
    spend(np.inf if size > 2**14 else 1e-4 + 1e-6 * n_samples * (1.0 + 1e-4 * size * n_classes))
    x = np.empty((n_samples, n_classes))
    rows = np.arange(n_partitions)
    for start in range(0, n_samples, _BLOCK):
        r = decisions[start : start + _BLOCK]
        q = np.zeros((len(r), n_partitions, n_classes))
        q[:, rows, negative] = -(1.0 + r)
        q[:, rows, positive] = 1.0 - r
        x[start : start + _BLOCK] = np.linalg.solve(
            np.swapaxes(q, 1, 2) @ q + 1.0, np.ones((1, n_classes, 1))
        )[..., 0]
    x = np.maximum(x, 0.0)
    return x / x.sum(axis=1, keepdims=True)


def minimise_on_simplex(
    decisions: Floats,
    row_starts: Indices,
    row_classes: Indices,
    row_signs: Floats,
    n_classes: int,
) -> Floats:
    """Return the class probabilities of any code.

    This is the minimum of |Qp|² on the simplex; if there are several, the one with the least norm.

    Parameters
    ----------
    decisions : array of shape (n_samples, n_partitions)
    row_starts : array of shape (n_partitions + 1,)
        The classes of row i are ``row_classes[row_starts[i]:row_starts[i + 1]]``, ascending.
    row_classes, row_signs : arrays of shape (n_nonzeros,)
    n_classes : int

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one

    Examples
    --------
    The only row separates class 0 from the others; the least norm divides their mass evenly.

    >>> one_row = np.array([0, 3]), np.arange(3), np.array([1.0, -1.0, -1.0])
    >>> minimise_on_simplex(np.array([[0.0]]), *one_row, 3)
    array([[0.5 , 0.25, 0.25]])
    """
    spend(len(decisions) * (2e-4 + 3e-5 * n_classes))
    code = np.zeros((len(row_starts) - 1, n_classes))
    code[np.repeat(np.arange(len(code)), np.diff(row_starts)), row_classes] = row_signs
    probabilities = np.empty((len(decisions), n_classes))
    for r, p in zip(decisions, probabilities, strict=True):
        answered = ~np.isnan(r)
        a = code[answered]
        p[:] = _minimise(a - r[answered, np.newaxis] * np.abs(a))
    return probabilities


def _minimise(q: Floats) -> Floats:
    """Return the shortest minimum of |Qp|² on the simplex.

    The objective is homogeneous, so the sum need not be constrained: for any shift > 0, the x ≥ 0
    that minimises ½xᵀ(QᵀQ + shift·11ᵀ)x − 1ᵀx, divided by its sum, is a minimum on the simplex. Its
    conditions QᵀQx + shift·sum(x) − 1 ≥ 0, with equality where x > 0, become those of p = x/sum(x)
    when divided by sum(x). With B = [Q; √shift·1ᵀ], it is the x ≥ 0 with the least
    |Bx − (0, …, 0, 1/√shift)|.

    Any shift leads to the same minima, but it should have the size of the columns of Q in the
    support of p. If r is so close to ±1 that several of these columns are tiny, a much larger shift
    makes them look equal, and a much smaller one hides that others are equal. So the squares of the
    smallest and the largest tiny column are also tried as shifts, and the shortest minimum is used.
    """
    squares = (q**2).sum(axis=0)
    shift = squares.mean() / len(squares) if squares.any() else 1.0
    minimum = _minimise_with_shift(q, shift)
    if minimum.is_only:
        return minimum.p
    tiny = squares[minimum.face]
    tiny = tiny[(tiny > 0.0) & (tiny <= FINE * shift)]
    minima = [minimum]
    if len(tiny):
        minima += [_minimise_with_shift(q, finer) for finer in (tiny.min(), tiny.max())]
    found = [_shorten_minimum(each) for each in minima]
    return min([p for p in found if _is_stationary(q, p)] or found[:1], key=lambda p: float(p @ p))


class _Minimum(NamedTuple):
    """A minimum, and which other minima there may be."""

    p: Floats
    b: Floats
    face: Indices  # classes that may be positive in a minimum
    is_open: Flags  # which classes of the face are positive in this minimum
    is_only: bool


def _minimise_with_shift(q: Floats, shift: float) -> _Minimum:
    b = np.vstack((q, np.full(q.shape[1], np.sqrt(shift))))
    x, slopes = _minimise_on_cone(b, 1.0 / np.sqrt(shift))
    # Only classes with a zero slope can be positive in a minimum.
    root = np.linalg.norm(b, axis=0)
    face = np.flatnonzero((x > 0.0) | (slopes >= -FACE * (root * (root @ x) + 1.0)))
    is_open = (x * root)[face] > ROUNDING * (root @ x)
    # The support's columns are independent, so another minimum needs more classes.
    is_only = len(face) == np.count_nonzero(x)
    return _Minimum(x / x.sum(), b, face, is_open, is_only)


def _shorten_minimum(minimum: _Minimum) -> Floats:
    """Return the shortest minimum on the face of this one."""
    p = minimum.p.copy()
    if not minimum.is_only:
        root = np.linalg.norm(minimum.b, axis=0)
        units = minimum.b[:, minimum.face] / root[minimum.face]
        is_open = _find_open_classes(units, minimum.is_open)
        _shorten(p, minimum.b, root, minimum.face[is_open])
    return p


def _is_stationary(q: Floats, p: Floats) -> bool:
    """Return whether p is a minimum: the gradient is smallest where p is positive."""
    root = np.linalg.norm(q, axis=0)
    # If the columns in the support of p are tiny, the rounding of p matters more. The slopes are
    # compared with their mean, which has its own rounding error.
    rounding = (UNCHANGED * (root @ p) + ROUNDING * root.sum()) * (root + root @ p)
    slopes = q.T @ (q @ p)
    slopes -= slopes @ p
    return bool((slopes >= -rounding).all() and (slopes * p <= rounding).all())


def _find_open_classes(units: Floats, is_open: Flags) -> Flags:
    """Return which classes are positive in some minimum ("open"), given those of one minimum.

    A closed class can be opened if its column lies in the span of the open columns (the open
    classes can make room for it), or if a mixture of closed columns does. The mixtures form the
    convex hull of the parts of the columns outside that span. If the hull does not contain zero,
    a plane separates it from zero, which shows that no closed class can be positive.
    """
    is_open = is_open.copy()
    while not is_open.all():
        basis = _span_columns(units[:, is_open])
        outside = units - basis.T @ (basis @ units)
        square = (outside**2).sum(axis=0)
        opened = ~is_open & (square <= DEPENDENT)
        if not opened.any():
            closed = np.flatnonzero(~is_open)
            hull = outside[:, closed] / np.sqrt(square[closed])
            weights, _ = _minimise_on_cone(np.vstack((hull, np.ones(len(closed)))), 1.0)
            mixture = hull @ (weights / weights.sum())
            if mixture @ mixture > DEPENDENT:
                break
            # The smaller the part outside, the larger its rounding error.
            opened[closed] = weights > ROUNDING * weights.sum() / np.sqrt(square[closed])
        is_open |= opened
    return is_open


def _shorten(p: Floats, b: Floats, root: Floats, classes: Indices) -> None:
    """Replace the minimum p by the shortest one that is positive only in the given classes.

    All minima on the simplex have the same sum and the same Qp, because the objective is strictly
    convex in Qp. So they are the non-negative vectors among p + Nt, where N is an orthonormal basis
    of the null space of B. Without the bound, the shortest is s, the projection of p on the span of
    B's rows. If s has a negative entry and rounding spoils the shortest vector within the bound, p
    moves towards s as far as possible, and the class that stops it is left out. If even s is not a
    minimum, B only looked singular because of rounding, and p is returned.
    """
    while True:
        here = p[classes]
        rows = _span_rows(b[:, classes] / root[classes]) * root[classes]
        if len(rows) == len(classes):
            return
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        orthogonal, _ = np.linalg.qr(rows.T, mode="complete")
        span, null_space = orthogonal[:, : len(rows)], orthogonal[:, len(rows) :]
        shortest = candidate = span @ (span.T @ here)
        if shortest.min() < -NEGLIGIBLE:
            candidate = _shortest_within_bounds(shortest, null_space)
        if not _is_same(shortest, here, b, root, classes):
            return
        if candidate.min() >= -NEGLIGIBLE and _is_same(candidate, here, b, root, classes):
            p[:] = 0.0
            p[classes] = np.maximum(candidate, 0.0) / np.maximum(candidate, 0.0).sum()
            return
        falling = np.flatnonzero(shortest < 0.0)
        steps = here[falling] / (here[falling] - shortest[falling])
        p[classes] = np.maximum(here + steps.min() * (shortest - here), 0.0)
        p /= p.sum()
        classes = np.delete(classes, falling[np.argmin(steps)])


def _span_rows(units: Floats) -> Floats:
    """Return independent rows with the same span as those of B, in units of its columns' norms.

    They are found row by row, from the column farthest from the span of the columns before. So tiny
    columns are not lost in the rounding of others, as they would be in an orthogonal basis.
    """
    triangle, order = qr(units, mode="r", pivoting=True)
    rank = np.count_nonzero(np.diag(triangle) ** 2 > DEPENDENT)
    rows = np.empty((rank, units.shape[1]))
    rows[:, order] = triangle[:rank]
    return rows


def _is_same(other: Floats, here: Floats, b: Floats, root: Floats, classes: Indices) -> bool:
    """Return whether another point has the same sum and gradient as the minimum `here`."""
    change = b.T @ (b[:, classes] @ (other - here))
    size = root[classes] @ (UNCHANGED * np.maximum(here, np.abs(other)) + ROUNDING)
    return bool(abs(other.sum() - 1.0) <= UNCHANGED and (np.abs(change) <= size * root).all())


def _shortest_within_bounds(shortest: Floats, null_space: Floats) -> Floats:
    """Return s + Nt with the least |t| that has Nt ≥ −s.

    It is found from the dual: with the y ≥ 0 of least |[Nᵀ; −sᵀ]y − (0, …, 0, 1)| and its residual
    (u, v), t is −u/v (Lawson and Hanson 1974, chapter 23). Every class is positive in some minimum,
    so the feasible set has an interior; otherwise rounding could leave no solution. Since −v is
    1/(1 + |t|²) and |s + Nt| ≤ 1, a smaller −v shows that there is none; then s is returned.
    """
    dual = np.vstack((null_space.T, -shortest))
    residual = dual @ _minimise_on_cone(dual, 1.0)[0]
    residual[-1] -= 1.0
    if residual[-1] > -0.4:
        return shortest
    within: Floats = shortest - null_space @ (residual[:-1] / residual[-1])
    return within


def _minimise_on_cone(b: Floats, last: float) -> tuple[Floats, Floats]:
    """Return the x ≥ 0 of least |Bx − target|, target = (0, …, 0, last), and Bᵀ(target − Bx).

    SciPy's nnls finds it, and it is checked: where x = 0, none of these slopes is positive, and
    where x > 0, all are zero. SciPy 1.16 and 1.17 can return another x, without a warning: they
    overwrite a column that they try and then reject because of rounding, and later steps use what
    is left.
    """
    target = np.zeros(len(b))
    target[-1] = last
    # With columns of unit norm, "small" means the same for all classes.
    root = np.linalg.norm(b, axis=0)
    root[root == 0.0] = 1.0
    units = b / root
    with suppress(RuntimeError):  # It did not end.
        x, _ = nnls(units, target, maxiter=100 * b.shape[1] + 100)
        slopes = units.T @ (target - units @ x)
        rounding = ROUNDING * (abs(last) + x.sum())
        if slopes.max() <= rounding and (slopes[x > 0.0] >= -rounding).all():
            return x / root, slopes * root
    x = _add_columns(units, target)
    return x / root, (units.T @ (target - units @ x)) * root


def _add_columns(units: Floats, target: Floats) -> Floats:
    """Return the x ≥ 0 of least |Ux − target| (Lawson and Hanson 1974, chapter 23).

    The steepest column joins the support. If the least squares on the support are negative
    somewhere, x moves towards them as far as it can, and the columns that stop it leave. Each round
    brings x closer to the target, so no support occurs twice, and every x at the start of a round
    is the least squares on its support.
    """
    n_columns = units.shape[1]
    x, is_inside = np.zeros(n_columns), np.zeros(n_columns, dtype=np.bool_)
    for _ in range(100 * n_columns + 100):
        slopes = np.where(is_inside, 0.0, units.T @ (target - units @ x))
        steepest = np.argmax(slopes)
        if slopes[steepest] <= ROUNDING * (np.abs(target).max() + x.sum()):
            break
        is_inside[steepest] = True
        while True:
            goal = np.zeros(n_columns)
            goal[is_inside] = np.linalg.lstsq(units[:, is_inside], target)[0]
            falling = np.flatnonzero(is_inside & (goal <= 0.0))
            if len(falling) == 0:
                break
            if x[steepest] == 0.0 and goal[steepest] <= 0.0:
                return x  # Only rounding makes its slope positive.
            steps = x[falling] / (x[falling] - goal[falling])
            x = np.maximum(x + steps.min() * (goal - x), 0.0)
            x[falling[np.argmin(steps)]] = 0.0
            is_inside &= x > 0.0
        x = goal
    return x


def _span_columns(columns: Floats) -> Floats:
    """Return an orthonormal basis of the span of columns of unit norm, as rows."""
    left, singular_values, _ = np.linalg.svd(columns, full_matrices=False)
    return left[:, singular_values**2 > DEPENDENT].T
