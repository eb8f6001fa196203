"""Walking samples down a tree, evaluating only the binaries on their path."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.banks import Bank
from polytomy.inputs.rows import count_rows, take_rows
from polytomy.scheme import ClassRef, Scheme

__all__ = ["is_walk_cheaper", "walk_down_tree"]

# How much slower an inner product is in a walk, which gathers rows and evaluates node by node.
_WALK_OVERHEAD = 1.5


def is_walk_cheaper(
    walks: Iterable[tuple[Scheme, NDArray[np.intp]]],
    bank: Bank,
) -> bool:
    """Return whether evaluating the nodes on each sample's path is cheaper than evaluating all.

    Binaries that share support vectors cost little more together than alone, so walking down a tree
    can take longer than evaluating all nodes.

    Parameters
    ----------
    walks : trees, each with the binaries that answer at its nodes
    bank : trained binaries
    """
    alone = bank.efforts_alone
    expected = 0.0
    for scheme, columns in walks:
        # Assumes that all classes are equally frequent.
        reach = [sum(map(len, each.side_arrays)) for each in scheme.partitions]
        expected += float(np.array(reach) @ alone[columns]) / len(scheme.classes)
    return _WALK_OVERHEAD * expected < bank.effort


def walk_down_tree(
    scheme: Scheme,
    bank: Bank,
    columns: NDArray[np.intp],
    signs: NDArray[np.float64],
    X: Any,
) -> NDArray[np.float64]:
    """Return the winner of each sample in a tree, with the probability of its path.

    A node is evaluated only for the samples that reach it.

    Parameters
    ----------
    scheme : a tree
    bank : trained binaries
    columns, signs : the binary that answers at each node, and −1 if its sides are swapped
    X : samples

    Returns
    -------
    array of shape (n_samples, n_classes), zero except for the winner
    """
    n_rows = count_rows(X)
    probabilities = np.zeros((n_rows, len(scheme.classes)))
    # In preorder a parent comes before its children, so it is known which samples reach a node.
    reached: dict[int, tuple[NDArray[np.intp], NDArray[np.float64]]] = {
        0: (np.arange(n_rows), np.ones(n_rows))
    }
    for position, node in enumerate(scheme.nodes):
        rows, path = reached.pop(position)
        if len(rows):
            here = bank.alone(int(columns[position])).decisions(take_rows(X, rows))
            answers = np.nan_to_num(signs[position] * here[:, 0])
        else:
            answers = np.empty(0)
        # Ties go to the first branch, as in `polytomy.solvers.greedy`.
        goes_right = answers > 0
        for branch, mask in zip(node.branches, (~goes_right, goes_right), strict=True):
            below, mass = rows[mask], path[mask] * (1 + np.abs(answers[mask])) / 2
            if isinstance(branch, ClassRef):
                # A product of many factors may underflow; the class still wins.
                probabilities[below, branch.index] = np.maximum(mass, np.finfo(np.float64).tiny)
            else:
                reached[branch.index] = (below, mass)
    return probabilities
