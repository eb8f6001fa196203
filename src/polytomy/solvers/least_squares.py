"""Least squares: the probabilities that fit the answers best.

For a code A and decisions r, this is the p on the simplex that minimises
Σ_i w_i (Σ_j a_ij p_j − r_i Σ_j |a_ij| p_j)²; if there are several minima, the one with the least
norm. The weights w_i are one, or one half for the rows of a partition with more than two sides. The
structure of the code determines the algorithm, but not the result: the reference routines prove
that the minimum found by a special algorithm is unique. Samples for which it may not be unique are
solved by the active set, which finds the shortest solution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import PythonOnly
from polytomy.onnx_graph import Graph, Value
from polytomy.routines.dispatch import routine
from polytomy.scheme import CodingMatrix
from polytomy.scheme.structure import pair_of_each_row
from polytomy.solvers.method import Method, check_decisions
from polytomy.solvers.nested import NoGraphError, export_tree, multiply_down_tree

Floats = NDArray[np.float64]

# What is left of the error after the last step of an exported search, and the most steps.
_SEARCH_ACCURACY = 1e-13
_MOST_STEPS = 2000


def solve_least_squares(code: CodingMatrix, decisions: ArrayLike) -> Floats:
    """Return the class probabilities of least squares, by the fastest algorithm for the code.

    Parameters
    ----------
    code : CodingMatrix
    decisions : array of shape (n_samples, n_rows), in [-1, 1]; NaN means no answer

    Returns
    -------
    array of shape (n_samples, n_classes), float64, rows sum to one

    Raises
    ------
    ArgumentError
        If `decisions` is invalid.

    Examples
    --------
    >>> code = CodingMatrix([[-1, 1, 1], [-1, -1, 1]])
    >>> solve_least_squares(code, [[0.5, 0.0]])
    array([[0.25, 0.25, 0.5 ]])
    """
    return solve_by(algorithms_for(code)[0], code, decisions)


def solve_by(algorithm: str, code: CodingMatrix, decisions: ArrayLike) -> Floats:
    """Return the class probabilities of least squares, by one of the algorithms for the code."""
    chosen = ALGORITHMS[algorithm]
    answers = check_decisions(decisions, code.n_partitions, code.rows_per_partition)
    if code.n_classes == 1:
        return np.ones((len(answers), 1))
    if chosen.takes_gaps or not np.isnan(answers.sum()):
        return chosen.solve(code, answers)
    # Without some of its rows, a code may lose its structure, and the minimum may not be unique.
    has_gaps = np.isnan(answers).any(axis=1)
    probabilities = np.empty((len(answers), code.n_classes))
    probabilities[~has_gaps] = chosen.solve(code, answers[~has_gaps])
    probabilities[has_gaps] = _solve_by_active_set(code, answers[has_gaps])
    return probabilities


def algorithms_for(code: CodingMatrix) -> tuple[str, ...]:
    """Return the algorithms that apply to a code; the first is the default.

    Examples
    --------
    >>> algorithms_for(CodingMatrix([[-1, 1, 1], [-1, -1, 1]]))
    ('isotonic', 'active-set')
    """
    return tuple(name for name, each in ALGORITHMS.items() if each.applies_to(code))


def _multiply(code: CodingMatrix, answers: Floats) -> Floats:
    assert code.tree is not None
    return multiply_down_tree(code.tree, code.rows_per_partition, answers)


def _regress(code: CodingMatrix, answers: Floats) -> Floats:
    assert code.adjacent is not None
    return _run("regress_isotonic", answers, *code.adjacent)


def _project(code: CodingMatrix, answers: Floats) -> Floats:
    assert code.equiangular is not None
    return _run("project_answers", answers, code.matrix / code.equiangular.diagonal)


def _couple(code: CodingMatrix, answers: Floats) -> Floats:
    assert code.pairs is not None
    negative, positive = code.pairs
    return _run("couple_pairs", answers, negative, positive, code.n_classes)


def _solve_by_active_set(code: CodingMatrix, answers: Floats) -> Floats:
    if not code.is_binary:
        # The routine does not weight rows. Rows of weight one are repeated; the others occur once.
        counts = (2 * code.row_weights).astype(np.intp)
        code, answers = CodingMatrix(code.matrix.repeat(counts, axis=0)), answers.repeat(counts, 1)
    return _run("minimise_on_simplex", answers, *code.row_lists, code.n_classes)


def _run(name: str, *arguments: NDArray[np.generic] | int) -> Floats:
    probabilities: Floats = routine(name, "least_squares")(*arguments)
    return probabilities


# -- as ONNX graphs ------------------------------------------------------------------------------
#
# Each function is a whole-array form of the algorithm in the reference routines, which prove it.


def _export_projection(graph: Graph, decisions: Value, code: CodingMatrix) -> Value:
    """Return the probabilities of an equiangular code: the nearest point of the simplex."""
    assert code.equiangular is not None
    return _export_nearest(graph, decisions @ (code.matrix / code.equiangular.diagonal), code)


def _export_nearest(graph: Graph, points: Value, code: CodingMatrix) -> Value:
    """Return the nearest points of the simplex.

    With x in descending order and t_j = (x_1 + … + x_j − 1)/j, the threshold is the largest t_j:
    t_{j+1} is the weighted mean of t_j (weight j) and x_{j+1} (weight 1), so t increases as long as
    x_{j+1} > t_j. From then on x stays below t, and t decreases.
    """
    points = points - points.max(axis=1)
    counts = np.arange(1, code.n_classes + 1)
    descending = graph.add("TopK", points, counts[-1:], n_outputs=2, axis=1)
    thresholds = (graph.add("CumSum", descending, np.array(1)) - 1.0) / counts.astype(np.float64)
    return graph.add("Relu", points - thresholds.max(axis=1))


def _export_search(graph: Graph, decisions: Value, code: CodingMatrix) -> Value:
    """Return the probabilities of a code in which every partition has all classes.

    These minimise |Ap − r|² on the simplex, by Peaceman and Rachford's (1955) splitting. With the
    eigenvalues of AᵀA between μ and L for differences of probabilities, each step multiplies the
    error by (√L − √μ)/(√L + √μ) or less (Giselsson and Boyd 2017), which gives the number of steps.
    """
    n_classes, matrix = code.n_classes, code.matrix.astype(np.float64)
    centre = np.full(n_classes, 1.0 / n_classes)
    weights = np.sqrt(code.row_weights)
    differences = weights[:, np.newaxis] * (matrix - (matrix @ centre)[:, np.newaxis])
    eigenvalues = np.linalg.eigvalsh(differences.T @ differences)[1:]
    least, most = eigenvalues[0], eigenvalues[-1]
    ratio = np.sqrt(max(least / most, 1e-16))
    n_steps = np.log(_SEARCH_ACCURACY) / np.log(max((1 - ratio) / (1 + ratio), 0.1))
    if not code.is_strict or n_steps > _MOST_STEPS:
        raise NoGraphError(
            f"a code of {code.n_partitions} partitions and {n_classes} classes, whose least "
            "squares cannot be exported: its partitions leave out classes, or hardly determine "
            "the probabilities. Fit another scheme",
            PythonOnly(', or use classifier.with_solver("voting")'),
            ".",
        )
    weight = float(np.sqrt(least * most))
    # The second term keeps the sum at one, and does not change the minimum on the simplex.
    quadratic = differences.T @ differences + weight * np.outer(centre, np.ones(n_classes))
    inverse = np.linalg.inv(quadratic + weight * np.eye(n_classes))
    targets = (decisions - matrix @ centre) * weights @ differences + weight * centre

    def reflect(value: Value) -> Value:
        nearest: Value = (value * weight + targets) @ inverse
        return nearest * 2.0 - value

    def step(inner: Graph, number: Value, value: Value) -> Value:
        reflected = reflect(value)
        return _export_nearest(inner, reflected, code) * 2.0 - reflected

    found = graph.loop(int(np.ceil(n_steps)), graph.repeat(centre, decisions), step)
    return _export_nearest(graph, reflect(found), code)


def _export_isotonic(graph: Graph, decisions: Value, code: CodingMatrix) -> Value:
    """Return the probabilities of an adjacent code: steps of an isotonic regression.

    The value at cut c is the maximum over a ≤ c of the minimum over b ≥ c of the mean of the
    targets at the cuts a to b (Barlow, Bartholomew, Bremner and Brunk 1972). The minima over all
    b ≥ c take log₂(n_cuts) steps, because each step doubles the range of every minimum.
    """
    assert code.adjacent is not None
    classes, cuts, signs = code.adjacent
    n_cuts = code.n_classes - 1
    weights = np.bincount(cuts, minlength=n_cuts).astype(np.float64)
    by_cut = np.zeros((code.n_partitions, n_cuts))
    by_cut[np.arange(code.n_partitions), cuts] = -0.5 * signs
    totals = decisions @ by_cut + 0.5 * weights
    # sums[:, c] is the sum over the cuts before c.
    sums = totals @ np.triu(np.ones((n_cuts, n_cuts + 1)), 1)
    bounds = np.concatenate(([0.0], np.cumsum(weights)))
    is_run = np.triu(np.ones((n_cuts, n_cuts), dtype=bool))
    widths = np.where(is_run, bounds[1:] - bounds[:-1, np.newaxis], 1.0)
    ends = sums.take(np.arange(1, n_cuts + 1), axis=1).with_axis(1)
    starts = sums.take(np.arange(n_cuts), axis=1).with_axis(2)
    # Means are in [0, 1], so 2 is never the minimum and −1 never the maximum.
    smallest = graph.add("Where", is_run, (ends - starts) / widths, 2.0)
    reach = 1
    while reach < n_cuts:
        further = np.minimum(np.arange(n_cuts) + reach, n_cuts - 1)
        smallest = graph.add("Min", smallest, smallest.take(further, axis=2))
        reach *= 2
    levels = graph.add("Where", is_run, smallest, -1.0).max(axis=1, keeps_axis=False)
    # The i-th class along the line has the step from level i − 1 to level i; the last ends at 1.
    steps = np.zeros((n_cuts, code.n_classes))
    steps[np.arange(n_cuts), classes[:-1]] = 1.0
    steps[np.arange(n_cuts), classes[1:]] = -1.0
    top = np.zeros(code.n_classes)
    top[classes[-1]] = 1.0
    return graph.add("Relu", levels @ steps + top)


def _export_pair_coupling(graph: Graph, decisions: Value, code: CodingMatrix) -> Value:
    """Return the probabilities of a one-vs-one code: x/sum(x) for (QᵀQ + 11ᵀ)x = 1.

    ONNX has no operator for linear systems, so a loop eliminates one class after another for all
    samples at once (Gauss-Jordan). It needs no pivoting, because the matrix is positive definite
    and well conditioned. To see this, take a vector d of length one, and c = 1/(4n) for n classes.
    If |sum(d)| ≥ c, then dᵀ11ᵀd ≥ c². Otherwise d has an entry d_k > c and an entry d_j < −c, and
    the row of Q for these two classes gives (1 − r)|d_k| + (1 + r)|d_j| ≥ 2c, whatever r is. So
    dᵀ(QᵀQ + 11ᵀ)d ≥ c² in both cases, and the condition number is at most a polynomial in n.
    """
    n_classes = code.n_classes
    identity = np.eye(n_classes)
    # factors[j, k] is the factor of class j in the row of the pair (j, k), without its sign.
    system: Value | None = None
    for rows in _layers(code):
        places, signs = rows
        factors = np.abs(signs) - decisions.take(places, axis=1) * signs
        others = graph.add("Transpose", factors, perm=[0, 2, 1])
        own = (factors * factors).sum(axis=2) * identity
        gram = own - factors * others
        system = gram if system is None else system + gram
    assert system is not None
    right = graph.repeat(np.ones((n_classes, 1)), decisions)
    augmented = graph.add("Concat", system + 1.0, right, axis=2)

    def eliminate(body: Graph, number: Value, rows: Value) -> Value:
        row, column = rows.take(number, axis=1), rows.take(number, axis=2)
        scaled = row / row.take(number, axis=1).with_axis(1)
        # Subtract the unit vector, so that the row itself becomes the scaled one.
        column = column - body.constant(identity).take(number, axis=0)
        return rows - column.with_axis(2) * scaled.with_axis(1)

    solved = graph.loop(n_classes, augmented, eliminate)
    x = graph.add("Relu", solved.take(n_classes, axis=2))
    return x / x.sum(axis=1)


def _layers(code: CodingMatrix) -> list[tuple[NDArray[np.intp], Floats]]:
    """Return the row of each pair of classes and its signs; repeated pairs go to further layers."""
    negative, positive = pair_of_each_row(code.matrix)
    shape = code.n_classes, code.n_classes
    layers: list[tuple[NDArray[np.intp], Floats]] = []
    for row, (j, k) in enumerate(zip(negative.tolist(), positive.tolist(), strict=True)):
        free = next((layer for layer in layers if layer[1][j, k] == 0), None)
        if free is None:
            free = np.zeros(shape, dtype=np.intp), np.zeros(shape)
            layers.append(free)
        places, signs = free
        places[j, k] = places[k, j] = row
        signs[j, k], signs[k, j] = -1.0, 1.0
    return layers


class Algorithm(NamedTuple):
    """An algorithm that computes the minimum for codes with a given structure."""

    applies_to: Callable[[CodingMatrix], bool]
    solve: Callable[[CodingMatrix, Floats], Floats]
    takes_gaps: bool  # whether answers may be missing
    to_onnx: Callable[[Graph, Value, CodingMatrix], Value]


ALGORITHMS: dict[str, Algorithm] = {
    "product": Algorithm(lambda code: code.is_tree, _multiply, True, export_tree),
    "isotonic": Algorithm(lambda code: code.is_adjacent, _regress, True, _export_isotonic),
    "projection": Algorithm(lambda code: code.is_equiangular, _project, False, _export_projection),
    "pairwise": Algorithm(lambda code: code.is_one_vs_one, _couple, False, _export_pair_coupling),
    "active-set": Algorithm(lambda code: True, _solve_by_active_set, True, _export_search),
}
"""The algorithms by name, the fastest first."""


def _export(graph: Graph, decisions: Value, code: CodingMatrix) -> Value:
    return ALGORITHMS[algorithms_for(code)[0]].to_onnx(graph, decisions, code)


LEAST_SQUARES = Method(
    "least-squares",
    solve_least_squares,
    summary="the probabilities that fit the answers best, by least squares",
    reference="Wu, Lin and Weng 2004 for pairs; Kong and Dietterich 1997 for codes",
    to_onnx=_export,
)
