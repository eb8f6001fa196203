"""Least squares of one code as an ONNX graph, for codes that need a fixed number of operations.

Each function is a whole-array form of the algorithm in
`polytomy.routines.reference.least_squares`, where it is proved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polytomy.export.graph import Graph, Value
from polytomy.scheme.coding_matrix import CodingMatrix
from polytomy.scheme.structure import pair_of_each_row

__all__ = ["export_isotonic", "export_pair_coupling", "export_projection"]


def export_projection(graph: Graph, decisions: Value, code: CodingMatrix) -> Value:
    """Return the probabilities of an equiangular code: the nearest point of the simplex.

    With x in descending order and t_j = (x_1 + … + x_j − 1)/j, the threshold is the largest t_j:
    t_{j+1} is the weighted mean of t_j (weight j) and x_{j+1} (weight 1), so t increases as long as
    x_{j+1} > t_j. From then on x stays below t, and t decreases.
    """
    assert code.equiangular is not None
    points = decisions @ (code.matrix / code.equiangular.diagonal)
    points = points - points.max(axis=1)
    counts = np.arange(1, code.n_classes + 1)
    descending = graph.add("TopK", points, counts[-1:], n_outputs=2, axis=1)
    thresholds = (graph.add("CumSum", descending, np.array(1)) - 1.0) / counts.astype(np.float64)
    return graph.add("Relu", points - thresholds.max(axis=1))


def export_isotonic(graph: Graph, decisions: Value, code: CodingMatrix) -> Value:
    """Return the probabilities of an adjacent code: steps of an isotonic regression.

    The value at cut c is the maximum over a ≤ c of the minimum over b ≥ c of the mean of the
    targets at the cuts a to b (Barlow, Bartholomew, Bremner and Brunk 1972). Minima over all b ≥ c
    are found by doubling the reach, because taking a value twice does not change a minimum.
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


def export_pair_coupling(graph: Graph, decisions: Value, code: CodingMatrix) -> Value:
    """Return the probabilities of a one-vs-one code: x/sum(x) for (QᵀQ + 11ᵀ)x = 1.

    ONNX has no operator for linear systems, so a loop eliminates one class after another for all
    samples at once (Gauss-Jordan). No pivoting is needed, because the matrix is positive definite
    and never close to singular: for d of length one and n classes, let c = 1/(4n). Either
    |sum(d)| ≥ c, or one entry of d is above c and another one below −c, and the row of Q of these
    two gives (1 − r)|d_k| + (1 + r)|d_j| ≥ 2c for any r. So dᵀ(QᵀQ + 11ᵀ)d ≥ c², which bounds the
    condition number by a polynomial in n.
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


def _layers(code: CodingMatrix) -> list[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Return the row of each pair of classes and its signs; repeated pairs go to further layers."""
    negative, positive = pair_of_each_row(code.matrix)
    shape = code.n_classes, code.n_classes
    layers: list[tuple[NDArray[np.intp], NDArray[np.float64]]] = []
    for row, (j, k) in enumerate(zip(negative.tolist(), positive.tolist(), strict=True)):
        free = next((layer for layer in layers if layer[1][j, k] == 0), None)
        if free is None:
            free = np.zeros(shape, dtype=np.intp), np.zeros(shape)
            layers.append(free)
        places, signs = free
        places[j, k] = places[k, j] = row
        signs[j, k], signs[k, j] = -1.0, 1.0
    return layers
