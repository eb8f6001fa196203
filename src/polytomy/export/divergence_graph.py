"""The divergence of a one-vs-rest code as an ONNX graph."""

from __future__ import annotations

import numpy as np

from polytomy.export.graph import Graph, Value
from polytomy.scheme.coding_matrix import CodingMatrix

__all__ = ["export_one_vs_rest"]

# Each halves the interval of the multiplier, which ends with the precision of a double.
_N_HALVINGS = 60


def export_one_vs_rest(graph: Graph, decisions: Value, code: CodingMatrix) -> Value:
    """Return the probabilities of a one-vs-rest code, for decisions strictly inside (−1, 1).

    They are p(μ) in `polytomy.routines.reference.divergence`, at the μ where their sum is one. With
    n classes it lies between −2 and 2n: p < 2/(1 + μ) for μ > 0, so beyond 2n the sum is less than
    one; and p ≥ 1 + 1/μ for μ < −1, so below −2 it is more than n/2.
    """
    assert code.single_classes is not None
    classes, signs = code.single_classes
    order = np.argsort(classes)
    chances = decisions.take(order, axis=1) * (signs[order] / 2.0) + 0.5
    doubled = chances * 2.0

    def probabilities(body: Graph, multiplier: Value) -> Value:
        root = body.add(
            "Sqrt", (multiplier + 1.0) * (multiplier + 1.0) - multiplier * doubled * 2.0
        )
        above = body.add("Div", doubled, multiplier + 1.0 + root)
        below = (multiplier + 1.0 - root) / (multiplier * 2.0)
        return body.add("Where", body.add("Greater", multiplier, -1.0), above, below)

    def halve(body: Graph, number: Value, interval: Value) -> Value:
        low, high = interval.take(np.array([0]), axis=1), interval.take(np.array([1]), axis=1)
        middle = (low + high) * 0.5
        is_low = body.add("Greater", probabilities(body, middle).sum(axis=1), 1.0)
        return body.add(
            "Concat",
            body.add("Where", is_low, middle, low),
            body.add("Where", is_low, high, middle),
            axis=1,
        )

    start = graph.repeat(np.array([-2.0, 2.0 * code.n_classes]), decisions)
    interval = graph.loop(_N_HALVINGS, start, halve)
    p = probabilities(graph, interval.take(np.array([0]), axis=1))
    return p / p.sum(axis=1)
