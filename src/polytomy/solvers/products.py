"""Products down a tree: the probabilities of a tree of partitions with any number of sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polytomy.codes import TreeShape
from polytomy.routines.dispatch import routine

__all__ = ["multiply_down_tree"]

FloatArray = NDArray[np.float64]


def multiply_down_tree(
    tree: TreeShape, rows_per_partition: NDArray[np.intp], decisions: FloatArray
) -> FloatArray:
    """Return the product of the conditional probabilities down the path to each class.

    A partition with n sides is equivalent to a chain of n − 1 binary ones: side 0 or another one,
    side 1 or a later one, and so on. A partition without an answer divides its mass such that the
    norm is least; see the routine.

    Parameters
    ----------
    tree : TreeShape
    rows_per_partition : array of shape (n_partitions,), the number of columns of each partition
    decisions : array of shape (n_samples, n_rows), checked; NaN means no answer

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one

    Examples
    --------
    >>> tree = TreeShape(np.array([[~0, ~1, ~2]]), np.array([0]))
    >>> multiply_down_tree(tree, np.array([3]), np.array([[0.0, -0.5, -0.5]]))
    array([[0.5 , 0.25, 0.25]])
    """
    if (rows_per_partition > 1).any():
        tree, decisions = _split_into_chains(tree, rows_per_partition, decisions)
    multiply = routine("multiply_down_tree", "least_squares")
    probabilities: FloatArray = multiply(decisions, tree.children, tree.order)
    return probabilities


def _split_into_chains(
    tree: TreeShape, rows_per_partition: NDArray[np.intp], decisions: FloatArray
) -> tuple[TreeShape, FloatArray]:
    """Return the same tree with binary partitions only, and their decisions."""
    lengths = np.maximum(rows_per_partition, 2) - 1
    starts = np.cumsum(lengths) - lengths
    ends = np.cumsum(rows_per_partition)
    children = np.empty((int(lengths.sum()), 2), dtype=np.intp)
    answers = np.empty((len(decisions), len(children)))
    for partition, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        below = [child if child < 0 else starts[child] for child in tree.children_of(partition)]
        links = range(start + 1, start + length)
        children[start : start + length, 0] = below[:-1]
        children[start : start + length, 1] = [*links, below[-1]]
        n_rows = rows_per_partition[partition]
        own = decisions[:, ends[partition] - n_rows : ends[partition]]
        answers[:, start : start + length] = own if n_rows == 1 else _chain_answers(own)
    order = [np.arange(starts[k], starts[k] + lengths[k]) for k in tree.order]
    return TreeShape(children, np.concatenate(order)), answers


def _chain_answers(decisions: FloatArray) -> FloatArray:
    """Return the answers of a chain that splits off one side at a time, as its −1 side."""
    chances = 1.0 + decisions
    # The sum of each side and all later ones.
    remaining = np.cumsum(chances[:, ::-1], axis=1)[:, ::-1]
    before, after = remaining[:, :-1], remaining[:, 1:]
    difference = after - chances[:, :-1]
    # If no mass is left, it does not matter how it is divided.
    return np.divide(difference, before, out=np.zeros_like(difference), where=before != 0)
