"""Solvers as ONNX graphs: from the decisions of binaries to scores of the classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError, PythonOnly
from polytomy.export.divergence_graph import export_one_vs_rest
from polytomy.export.graph import Graph, Value
from polytomy.export.least_squares_graph import (
    export_isotonic,
    export_pair_coupling,
    export_projection,
)
from polytomy.model.arrangement import Arrangement
from polytomy.model.composition import Composition
from polytomy.model.scheme_argument import is_flat_one_vs_rest
from polytomy.scheme import ClassRef, Scheme
from polytomy.scheme.coding_matrix import CodingMatrix
from polytomy.solvers.decoding import own_sides
from polytomy.solvers.least_squares import algorithms_for
from polytomy.solvers.nested import flatten_code

__all__ = ["check_exportable_solver", "score_classes"]

#: The algorithms for least squares that can be written as graphs; trees are handled below.
_NODE_SOLVERS: dict[str, Callable[[Graph, Value, CodingMatrix], Value]] = {
    "isotonic": export_isotonic,
    "projection": export_projection,
    "pairwise": export_pair_coupling,
}
_SOLVERS = ("least-squares", "voting", "hamming")


def check_exportable_solver(composition: Composition) -> None:
    """Raise an ArgumentError if a composition's solver cannot be written as a graph.

    The divergence can be written if the code is one-vs-rest and answers are clipped, as they are
    before a final calibration.
    """
    solver = composition.solver
    is_clipped = composition.final is not None
    if solver == "divergence" and is_clipped and is_flat_one_vs_rest(composition.scheme):
        return
    if solver not in _SOLVERS:
        names = ", ".join(f'"{name}"' for name in _SOLVERS)
        raise ArgumentError(
            Argument("solver", solver),
            f" cannot be exported; {names} can.",
            PythonOnly(
                " classifier.with_solver changes the solver without training the binaries again."
            ),
        )


def score_classes(graph: Graph, answers: Value, arrangement: Arrangement, solver: str) -> Value:
    """Return the scores or probabilities of the classes in the training data.

    Parameters
    ----------
    graph : Graph to add nodes to
    answers : decisions of all binaries, of shape (n_samples, n_binaries)
    arrangement : which binaries answer for the partitions of a scheme
    solver : a solver that `check_exportable_solver` accepts
    """
    scheme, positions, columns, signs = arrangement
    if not scheme.n_partitions:
        return graph.repeat(np.ones(1), answers)
    decisions = answers.take(columns, axis=1)
    if (signs != 1).any():
        decisions = decisions * signs
    n_classes = len(scheme.classes)
    if solver in ("voting", "hamming"):
        code = flatten_code(scheme)
        count = _sum_margins if solver == "voting" else _count_answers
        scores = count(graph, decisions, code) @ own_sides(code).astype(np.float64)
        return graph.pick(scores, positions, n_classes)
    if solver == "divergence":
        solved = export_one_vs_rest(graph, decisions, scheme.code)
    else:
        solved = _solve_scheme(graph, decisions, scheme)
    own = graph.pick(solved, positions, n_classes)
    if len(positions) == n_classes:
        return own
    # The other classes share the probability of classes without data, evenly if nothing is left.
    total = own.sum(axis=1)
    is_lost = graph.add("Equal", total, 0.0)
    shares = own / graph.add("Where", is_lost, 1.0, total)
    return graph.add("Where", is_lost, 1.0 / len(positions), shares)


def _sum_margins(graph: Graph, decisions: Value, code: CodingMatrix) -> Value:
    """Return what each row adds to the votes: r, or (n q − 1)/(n − 1) for one of n > 2 sides."""
    if code.is_binary:
        return decisions
    is_side, n_sides = code.row_weights < 1.0, code.n_sides[code.partition_of_row]
    slopes = np.where(is_side, 0.5 * n_sides / (n_sides - 1), 1.0)
    offsets = np.where(is_side, (0.5 * n_sides - 1.0) / (n_sides - 1), 0.0)
    return decisions * slopes + offsets


def _count_answers(graph: Graph, decisions: Value, code: CodingMatrix) -> Value:
    """Return the sign of each row; of several sides, 1 for the most probable and −1 for others.

    Sides that tie for the most probable get zero.
    """
    if code.is_binary:
        return graph.add("Sign", decisions)
    votes, start = [], 0
    for count in code.rows_per_partition.tolist():
        own = decisions.take(np.arange(start, start + count), axis=1)
        start += count
        if count == 1:
            votes.append(graph.add("Sign", own))
            continue
        is_best = graph.add("Equal", own, own.max(axis=1))
        n_best = graph.add("Where", is_best, 1.0, 0.0).sum(axis=1)
        vote_of_best = graph.add("Where", graph.add("Equal", n_best, 1.0), 1.0, 0.0)
        votes.append(graph.add("Where", is_best, vote_of_best, -1.0))
    return graph.join(votes)


def _solve_scheme(graph: Graph, decisions: Value, scheme: Scheme) -> Value:
    """Return the probabilities of all classes of a scheme.

    Each branch of a node has a factor, its probability given the node. If the code of the node is a
    tree, each side of each partition has one instead. The probability of a class is the product of
    the factors above it.
    """
    shares: list[Value] = []
    tree_rows: list[int] = []
    tree_slopes: list[float] = []
    n_sides = sum(int(node.code.n_sides.sum()) for node in scheme.nodes if node.code.is_tree)
    above: list[int] = [-1] * (n_sides + sum(map(_n_alone, scheme.nodes)))
    above_node, at_class = [-1] * len(scheme.nodes), [-1] * len(scheme.classes)
    next_alone, start = n_sides, 0
    for number, node in enumerate(scheme.nodes):
        code = node.code
        ends = [0] * code.n_classes
        if code.tree is not None:
            above_partition = {int(code.tree.order[0]): above_node[number]}
            for partition in code.tree.order.tolist():
                rows, slopes = _rows_of_sides(code, partition)
                for side, child in enumerate(code.tree.children_of(partition)):
                    factor = len(tree_rows)
                    tree_rows.append(start + rows[side])
                    tree_slopes.append(slopes[side])
                    above[factor] = above_partition[partition]
                    if child >= 0:
                        above_partition[child] = factor
                    else:
                        ends[~child] = factor
        else:
            own = graph.pick(decisions, np.arange(start, start + code.n_rows), scheme.n_rows)
            shares.append(_solve_node(graph, own, code, number))
            ends = list(range(next_alone, next_alone + code.n_classes))
            for factor in ends:
                above[factor] = above_node[number]
            next_alone += code.n_classes
        for branch, end in zip(node.branches, ends, strict=True):
            places = at_class if isinstance(branch, ClassRef) else above_node
            places[branch.index] = end
        start += code.n_rows
    if tree_rows:
        of_sides = decisions.take(np.array(tree_rows), axis=1) * np.array(tree_slopes) + 0.5
        shares.insert(0, of_sides)
    return _multiply_factors_above(graph, graph.join(shares), np.array(above), np.array(at_class))


def _rows_of_sides(code: CodingMatrix, partition: int) -> tuple[list[int], list[float]]:
    """Return the row that answers for each side of a partition, and the slope of q = ±r/2 + ½."""
    count = int(code.rows_per_partition[partition])
    first = int(code.rows_per_partition[:partition].sum())
    if count == 1:
        return [first, first], [-0.5, 0.5]
    return list(range(first, first + count)), [0.5] * count


def _n_alone(node: Any) -> int:
    return 0 if node.code.is_tree else int(node.code.n_classes)


def _solve_node(graph: Graph, decisions: Value, code: CodingMatrix, number: int) -> Value:
    algorithm = algorithms_for(code)[0]
    if algorithm not in _NODE_SOLVERS:
        raise ArgumentError(
            f"node {number} of the scheme has a code of {code.n_partitions} partitions and "
            f"{code.n_classes} classes that is neither one-vs-one, equiangular, adjacent nor a "
            "tree. Its least squares need a search, which cannot be exported. Fit another scheme",
            PythonOnly(', or use classifier.with_solver("voting")'),
            ".",
        )
    return _NODE_SOLVERS[algorithm](graph, decisions, code)


def _multiply_factors_above(
    graph: Graph, factors: Value, above: NDArray[np.intp], at_class: NDArray[np.intp]
) -> Value:
    """Return for each class the product of its factor and all factors above it.

    `above` is the position of the factor above, or −1 at the root. After s rounds each factor is
    the product of itself and the 2ˢ − 1 factors above it, and `above` is the position of the next
    one. So the graph of a deep tree stays small.
    """
    n_factors = len(above)
    if (above >= 0).any():
        # An additional factor of one stands above the root.
        factors = graph.join([factors, graph.repeat(np.ones(1), factors)])
        above = np.append(np.where(above < 0, n_factors, above), n_factors)
        while (above != n_factors).any():
            factors = factors * factors.take(above, axis=1)
            above = above[above]
        n_factors += 1
    return graph.pick(factors, at_class, n_factors)
