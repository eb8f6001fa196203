"""The numbers behind explanations: linear terms of least squares, and paths in trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from polytomy.codes import NO_CHILD, CodingMatrix
from polytomy.scheme import Scheme
from polytomy.solvers.nested import join_trees

__all__ = ["TreePaths", "find_linear_terms", "logarithmic_mean"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def find_linear_terms(
    code: CodingMatrix, decisions: Floats, probabilities: Floats, winners: Indices, runners: Indices
) -> Floats:
    """Return what each row of a code adds to the winner's lead over the runner-up.

    By least squares, it is h_i (r_i − n_i) T_i; see `polytomy.composition.explaining`.

    Parameters
    ----------
    code : CodingMatrix
    decisions : array of shape (n_samples, n_rows), r
    probabilities : array of shape (n_samples, n_classes), the solution
    winners, runners : arrays of shape (n_samples,), two classes of each sample

    Returns
    -------
    array of shape (n_samples, n_rows)

    Examples
    --------
    >>> code = CodingMatrix([[1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    >>> answers, solution = np.array([[0.0, -0.4, -0.6]]), np.array([[0.5, 0.3, 0.2]])
    >>> find_linear_terms(code, answers, solution, np.array([0]), np.array([1])).round(3)
    array([[0.167, 0.033, 0.   ]])
    """
    matrix: Any = csr_matrix(code.matrix).astype(np.float64)
    weighted = matrix.copy()
    weighted.data *= np.repeat(code.row_weights, np.diff(matrix.indptr))
    centre = np.eye(code.n_classes) - 1.0 / code.n_classes
    gram = np.asarray((matrix.T @ weighted).todense())
    inverse = np.linalg.pinv(centre @ gram @ centre, hermitian=True)
    influence = (weighted @ (inverse[winners] - inverse[runners]).T).T
    members = abs(matrix)
    neutral = np.asarray(matrix.sum(axis=1)).ravel() / np.asarray(members.sum(axis=1)).ravel()
    masses = (members @ probabilities.T).T
    return np.asarray(np.nan_to_num(influence * (decisions - neutral) * masses))


def logarithmic_mean(first: Floats, second: Floats) -> Floats:
    """Return (a − b) / (log a − log b), the divisor that turns a − b into log a − log b.

    Examples
    --------
    >>> logarithmic_mean(np.array([np.e, 2.0]), np.array([1.0, 2.0])).round(4)
    array([1.7183, 2.    ])
    """
    logarithms = np.log(first) - np.log(second)
    is_different = np.abs(logarithms) > 1e-8
    means = np.divide(first - second, logarithms, out=(first + second) / 2, where=is_different)
    return np.asarray(means)


class TreePaths:
    """The partitions and sides on the path to each class of a tree."""

    def __init__(self, scheme: Scheme) -> None:
        children = join_trees(scheme).children
        self._above: dict[int, tuple[int, int]] = {}
        for partition, side in zip(*np.nonzero(children != NO_CHILD), strict=True):
            self._above[int(children[partition, side])] = int(partition), int(side)

    def to_class(self, place: int) -> Iterator[tuple[int, int]]:
        """Yield the partition and the side of each step, from the class up to the root."""
        step = self._above.get(~place)
        while step is not None:
            yield step
            step = self._above.get(step[0])
