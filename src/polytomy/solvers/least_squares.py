"""Least squares: the probabilities that fit the answers best.

For a code A and decisions r, the p on the simplex that minimises
Σ_i (Σ_j a_ij p_j − r_i Σ_j |a_ij| p_j)²;
of several minima the one of least norm. The structure of the code picks the algorithm; whichever it
is, the answer is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.codes import CodingMatrix
from polytomy.codes.structure import pair_of_each_row
from polytomy.errors import ArgumentError
from polytomy.kernels.dispatch import kernel
from polytomy.solvers.decisions import check_decisions

__all__ = ["ALGORITHMS", "algorithms_for", "solve_least_squares"]

FloatArray = NDArray[np.float64]


def solve_least_squares(
    code: CodingMatrix, decisions: ArrayLike, algorithm: str | None = None
) -> FloatArray:
    """Return the class probabilities of least squares.

    Parameters
    ----------
    code : CodingMatrix
    decisions : array of shape (n_samples, n_partitions), in [-1, 1]; NaN is no answer
    algorithm : str, optional
        One of `algorithms_for(code)` in place of the first, for comparison.

    Returns
    -------
    array of shape (n_samples, n_classes), rows sum to one

    Examples
    --------
    >>> code = CodingMatrix([[-1, 1, 1], [-1, -1, 1]])
    >>> solve_least_squares(code, [[0.5, 0.0]])
    array([[0.25, 0.25, 0.5 ]])
    """
    answers = check_decisions(decisions, code.n_partitions)
    chosen = ALGORITHMS[algorithms_for(code)[0]] if algorithm is None else _forced(code, algorithm)
    if code.n_classes == 1:
        return np.ones((len(answers), 1))
    if chosen.takes_gaps:
        return chosen.solve(code, answers)
    # Few samples, if any, lack an answer; they alone go the general way.
    gaps = np.isnan(answers).any(axis=1)
    if not gaps.any():
        return chosen.solve(code, answers)
    probabilities = np.empty((len(answers), code.n_classes))
    probabilities[~gaps] = chosen.solve(code, answers[~gaps])
    probabilities[gaps] = _search_active_set(code, answers[gaps])
    return probabilities


def algorithms_for(code: CodingMatrix) -> tuple[str, ...]:
    """Return the algorithms that apply to a code, the default one first.

    Examples
    --------
    >>> algorithms_for(CodingMatrix([[-1, 1, 1], [-1, -1, 1]]))
    ('isotonic', 'active-set')
    """
    return tuple(name for name, each in ALGORITHMS.items() if each.applies(code))


def _forced(code: CodingMatrix, name: str) -> Algorithm:
    if name not in ALGORITHMS:
        known = ", ".join(f'"{each}"' for each in ALGORITHMS)
        raise ArgumentError(f"algorithm={name!r} is not known; there are {known}.")
    if not ALGORITHMS[name].applies(code):
        others = ", ".join(f'"{each}"' for each in algorithms_for(code))
        raise ArgumentError(
            f'algorithm="{name}" needs {ALGORITHMS[name].needs}, and this code is not. '
            f"Use {others}, or leave the choice to the code."
        )
    return ALGORITHMS[name]


def _project(code: CodingMatrix, answers: FloatArray) -> FloatArray:
    """On the simplex the term b·11ᵀ of AᵀA is constant, so p is the projection of Aᵀr/a."""
    assert code.equiangular is not None
    points = answers @ (code.matrix / code.equiangular.diagonal)
    probabilities: FloatArray = kernel("project_simplex")(points)
    return probabilities


def _regress(code: CodingMatrix, answers: FloatArray) -> FloatArray:
    assert code.adjacent is not None
    probabilities: FloatArray = kernel("regress_isotonic")(answers, *code.adjacent)
    return probabilities


def _multiply(code: CodingMatrix, answers: FloatArray) -> FloatArray:
    assert code.tree is not None
    probabilities: FloatArray = kernel("multiply_down_tree")(answers, *code.tree)
    return probabilities


def _couple(code: CodingMatrix, answers: FloatArray) -> FloatArray:
    pairs = pair_of_each_row(code.matrix)
    probabilities: FloatArray = kernel("couple_pairs", "systems")(answers, *pairs, code.n_classes)
    return probabilities


def _search_active_set(code: CodingMatrix, answers: FloatArray) -> FloatArray:
    rows, classes = np.nonzero(code.matrix)
    starts = np.searchsorted(rows, np.arange(code.n_partitions + 1))
    signs = code.matrix[rows, classes].astype(np.float64)
    # Without zeros Q is A for every sample, and so is its Gram matrix.
    dense = code.matrix.astype(np.float64)
    shared = dense.T @ dense if code.is_strict else np.empty((0, 0))
    probabilities: FloatArray = kernel("minimise_on_simplex", "systems")(
        answers, starts, classes, signs, shared, code.n_classes
    )
    return probabilities


class Algorithm(NamedTuple):
    """One way to the minimum, for the codes it applies to."""

    needs: str
    applies: Callable[[CodingMatrix], bool]
    solve: Callable[[CodingMatrix, FloatArray], FloatArray]
    takes_gaps: bool  # whether a sample may lack answers


ALGORITHMS: dict[str, Algorithm] = {
    "product": Algorithm("a tree", lambda code: code.is_tree, _multiply, True),
    "isotonic": Algorithm("an adjacent code", lambda code: code.is_adjacent, _regress, True),
    "projection": Algorithm(
        "an equiangular code", lambda code: code.is_equiangular, _project, False
    ),
    "pairwise": Algorithm("a one-vs-one code", lambda code: code.is_one_vs_one, _couple, False),
    "active-set": Algorithm("any code", lambda _: True, _search_active_set, True),
}
"""By name, the cheapest first."""
