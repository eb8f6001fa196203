"""Priors and costs as an ONNX graph."""

from __future__ import annotations

import numpy as np

from polytomy.model.decisions import Costs, PriorShift
from polytomy.onnx_graph import Graph, Value

__all__ = ["choose_cheapest", "shift_prior"]


def shift_prior(graph: Graph, probabilities: Value, shift: PriorShift) -> Value:
    """Return the probabilities under another prior, as `PriorShift.apply` does."""
    shifted = probabilities * shift.ratio
    totals = shifted.sum(axis=1)
    smallest = float(np.finfo(np.float64).tiny)
    divided = shifted / graph.add("Max", totals, smallest)
    return graph.add("Where", graph.add("Greater", totals, 0.0), divided, shift.prior)


def choose_cheapest(graph: Graph, probabilities: Value, costs: Costs) -> Value:
    """Return the index of the lowest expected cost; the last index stands for no prediction."""
    matrix = costs.matrix
    if costs.reject_cost is not None:
        # Probabilities sum to one, so the same cost in all rows is the expected one.
        matrix = np.column_stack([matrix, np.full(len(matrix), costs.reject_cost)])
    return graph.add("ArgMin", probabilities @ matrix, axis=1, keepdims=0)
