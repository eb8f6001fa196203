"""Seriation: an order of the classes that puts nearby ones next to each other."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import did_you_mean

__all__ = ["METHODS", "path_length", "seriate", "without_noise"]

METHODS = ("auto", "exact", "optimal-leaf", "spectral")

_MOST_EXACT = 12
_MOST_OPTIMAL_LEAF = 500
_DIGITS = 10


def seriate(matrix: NDArray[np.float64], method: str = "auto") -> NDArray[np.intp]:
    """Return an order of the rows of a distance matrix that puts nearby rows next to each other.

    Parameters
    ----------
    matrix : symmetric array of shape (n, n)
    method : {"auto", "exact", "optimal-leaf", "spectral"}
        "exact" is the shortest path through all rows, for up to 12 (Held and Karp 1962);
        "optimal-leaf" is the best leaf order of an average-linkage dendrogram (Bar-Joseph, Gifford
        and Jaakkola 2001); "spectral" is the order of the Fiedler vector (Atkins, Boman and
        Hendrickson 1998); "auto" is the first of these that is fast enough

    Returns
    -------
    array of shape (n,), a permutation in the direction that starts with the smaller index

    Examples
    --------
    >>> places = np.array([3.0, 0.0, 1.0])
    >>> seriate(np.abs(places[:, np.newaxis] - places))
    array([0, 2, 1])
    """
    if method not in METHODS:
        raise ArgumentError(
            Argument("method", method),
            f" is not one of {', '.join(METHODS)}.{did_you_mean(method, METHODS)}",
        )
    n = len(matrix)
    if method == "exact" and n > _MOST_EXACT:
        raise ArgumentError(
            Argument("method", "exact"),
            f" takes at most {_MOST_EXACT} classes; got {n}. Use ",
            Argument("method", "optimal-leaf"),
            ".",
        )
    if method == "auto":
        method = (
            "exact" if n <= _MOST_EXACT
            else "optimal-leaf" if n <= _MOST_OPTIMAL_LEAF
            else "spectral"
        )  # fmt: skip
    if n <= 2:
        return np.arange(n)
    search = {"exact": _shortest_path, "optimal-leaf": _best_leaves, "spectral": _fiedler}[method]
    # Ties are broken by the position of the rows. When sorted from the most central row outwards,
    # that position does not depend on the order of the input.
    matrix = without_noise(matrix)
    from_centre = np.argsort(matrix.sum(axis=0).round(_DIGITS), kind="stable")
    order: NDArray[np.intp] = from_centre[search(matrix[np.ix_(from_centre, from_centre)])]
    return order if order[0] < order[-1] else order[::-1]


def without_noise(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the matrix divided by its largest entry, rounded to digits without noise."""
    scaled: NDArray[np.float64] = matrix / (matrix.max() or 1.0)
    return scaled.round(_DIGITS)


def path_length(matrix: NDArray[np.float64], order: NDArray[np.intp]) -> float:
    """Return the sum of the distances between neighbours in an order."""
    return float(matrix[order[:-1], order[1:]].sum())


def _shortest_path(matrix: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the shortest path by dynamic programming over sets, stored as the bits of an int."""
    n = len(matrix)
    sets = np.arange(1 << n)
    sizes = sum((sets >> i) & 1 for i in range(n))
    shortest = np.full((1 << n, n), np.inf)  # path through a set that ends at a row
    shortest[1 << np.arange(n), np.arange(n)] = 0
    for size in range(1, n):
        of_size = sets[sizes == size]
        for end in range(n):
            without = of_size[(of_size >> end) & 1 == 0]
            shortest[without | 1 << end, end] = (shortest[without] + matrix[:, end]).min(axis=1)
    left, end = (1 << n) - 1, int(shortest[-1].argmin())
    path = [end]
    while left != 1 << end:
        left ^= 1 << end
        end = int((shortest[left] + matrix[:, end]).argmin())
        path.append(end)
    return np.array(path, dtype=np.intp)


def _best_leaves(matrix: NDArray[np.float64]) -> NDArray[np.intp]:
    hierarchy = scipy.cluster.hierarchy
    condensed = scipy.spatial.distance.squareform(matrix, checks=False)
    tree = hierarchy.optimal_leaf_ordering(hierarchy.linkage(condensed, "average"), condensed)
    return np.asarray(hierarchy.leaves_list(tree), dtype=np.intp)


def _fiedler(matrix: NDArray[np.float64]) -> NDArray[np.intp]:
    likeness = matrix.max() - matrix
    np.fill_diagonal(likeness, 0)
    laplacian = np.diag(likeness.sum(axis=0)) - likeness
    second: NDArray[np.float64] = scipy.linalg.eigh(laplacian, subset_by_index=[1, 1])[1][:, 0]
    return np.argsort(second, kind="stable")
