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

from polytomy.errors import Argument, ArgumentError
from polytomy.inputs.arguments import did_you_mean
from polytomy.routines.dispatch import routine
from polytomy.scheme.coding_matrix import CodingMatrix
from polytomy.solvers.decisions import check_decisions
from polytomy.solvers.method import (
    ADJACENT,
    ANY_CODE,
    EQUIANGULAR,
    ONE_VS_ONE,
    TREE,
    Structure,
)
from polytomy.solvers.nested import multiply_down_tree

__all__ = ["ALGORITHMS", "algorithms_for", "solve_least_squares"]

_FEW_CLASSES = 64

Floats = NDArray[np.float64]


def solve_least_squares(
    code: CodingMatrix, decisions: ArrayLike, algorithm: str | None = None
) -> Floats:
    """Return the class probabilities of least squares.

    Parameters
    ----------
    code : CodingMatrix
    decisions : array of shape (n_samples, n_rows), in [-1, 1]; NaN means no answer
    algorithm : str, optional
        One of `algorithms_for(code)`, to use instead of the default.

    Returns
    -------
    array of shape (n_samples, n_classes), float64, rows sum to one

    Raises
    ------
    ArgumentError
        If `decisions` is invalid, or if the algorithm is not known or does not apply to the code.

    Examples
    --------
    >>> code = CodingMatrix([[-1, 1, 1], [-1, -1, 1]])
    >>> solve_least_squares(code, [[0.5, 0.0]])
    array([[0.25, 0.25, 0.5 ]])
    """
    chosen = (
        ALGORITHMS[algorithms_for(code)[0]]
        if algorithm is None
        else _find_algorithm(algorithm, code)
    )
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
    return tuple(name for name, each in ALGORITHMS.items() if each.needs.is_met_by(code))


def _find_algorithm(name: str, code: CodingMatrix) -> Algorithm:
    if name not in ALGORITHMS:
        known = ", ".join(f'"{each}"' for each in ALGORITHMS)
        raise ArgumentError(
            Argument("algorithm", name),
            f" is not known.{did_you_mean(name, ALGORITHMS)} Use one of {known}.",
        )
    found = ALGORITHMS[name]
    if not found.needs.is_met_by(code):
        first, *others = algorithms_for(code)
        alternatives = "".join(f' or "{each}"' for each in others)
        raise ArgumentError(
            Argument("algorithm", name),
            f" needs {found.needs.name}; {found.needs.why_not(code)}. Use ",
            Argument("algorithm", first),
            f"{alternatives}, or omit it to choose automatically.",
        )
    return found


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
    # If the code has no zeros, |Ap − r|² has the same quadratic part for every sample. With many
    # classes and few rows, it is rarely needed.
    is_needed = code.n_classes <= _FEW_CLASSES or code.n_partitions > code.n_classes
    is_shared = code.is_strict and is_needed
    dense = code.matrix.astype(np.float64) if is_shared else np.empty((0, 0))
    return _run("minimise_on_simplex", answers, *code.row_lists, dense.T @ dense, code.n_classes)


def _run(name: str, *arguments: NDArray[np.generic] | int) -> Floats:
    probabilities: Floats = routine(name, "least_squares")(*arguments)
    return probabilities


class Algorithm(NamedTuple):
    """An algorithm that computes the minimum for codes with a given structure."""

    needs: Structure
    solve: Callable[[CodingMatrix, Floats], Floats]
    takes_gaps: bool  # whether answers may be missing


ALGORITHMS: dict[str, Algorithm] = {
    "product": Algorithm(TREE, _multiply, True),
    "isotonic": Algorithm(ADJACENT, _regress, True),
    "projection": Algorithm(EQUIANGULAR, _project, False),
    "pairwise": Algorithm(ONE_VS_ONE, _couple, False),
    "active-set": Algorithm(ANY_CODE, _solve_by_active_set, True),
}
"""The algorithms by name, the fastest first."""
