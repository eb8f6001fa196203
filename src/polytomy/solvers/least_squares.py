"""Least squares: the probabilities that fit the answers best.

For a code A and decisions r, the p on the simplex that minimises
Σ_i (Σ_j a_ij p_j − r_i Σ_j |a_ij| p_j)²; of several minima the one of least norm. The structure of
the code picks the algorithm. Whichever it is, the answer is the same: the kernels prove, case by
case, that their minimum is the only one, and where it may not be, the sample goes to the active
set, which finds the shortest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.codes import CodingMatrix
from polytomy.errors import ArgumentError
from polytomy.routines.runtime.dispatch import routine
from polytomy.solvers.decisions import check_decisions
from polytomy.solvers.missing_structure import (
    why_not_adjacent,
    why_not_equiangular,
    why_not_one_vs_one,
    why_not_tree,
)

__all__ = ["ALGORITHMS", "algorithms_for", "solve_least_squares"]

Floats = NDArray[np.float64]


def solve_least_squares(
    code: CodingMatrix, decisions: ArrayLike, algorithm: str | None = None
) -> Floats:
    """Return the class probabilities of least squares.

    Parameters
    ----------
    code : CodingMatrix
    decisions : array of shape (n_samples, n_partitions), in [-1, 1]; NaN is no answer
    algorithm : str, optional
        One of `algorithms_for(code)` in place of the first, for comparison.

    Returns
    -------
    array of shape (n_samples, n_classes), float64, rows sum to one

    Raises
    ------
    ArgumentError
        For decisions that are none, and for an algorithm that does not exist or does not apply.

    Examples
    --------
    >>> code = CodingMatrix([[-1, 1, 1], [-1, -1, 1]])
    >>> solve_least_squares(code, [[0.5, 0.0]])
    array([[0.25, 0.25, 0.5 ]])
    """
    chosen = ALGORITHMS[algorithms_for(code)[0]] if algorithm is None else _find(algorithm, code)
    answers = check_decisions(decisions, code.n_partitions)
    if code.n_classes == 1:
        return np.ones((len(answers), 1))
    if chosen.takes_gaps or not np.isnan(answers.sum()):
        return chosen.solve(code, answers)
    # Without one of its rows a code may lose its structure, and its only minimum.
    has_gaps = np.isnan(answers).any(axis=1)
    probabilities = np.empty((len(answers), code.n_classes))
    probabilities[~has_gaps] = chosen.solve(code, answers[~has_gaps])
    probabilities[has_gaps] = _search_active_set(code, answers[has_gaps])
    return probabilities


def algorithms_for(code: CodingMatrix) -> tuple[str, ...]:
    """Return the algorithms that apply to a code, the default one first.

    Examples
    --------
    >>> algorithms_for(CodingMatrix([[-1, 1, 1], [-1, -1, 1]]))
    ('isotonic', 'active-set')
    """
    return tuple(name for name, each in ALGORITHMS.items() if each.applies(code))


def _find(name: str, code: CodingMatrix) -> Algorithm:
    if name not in ALGORITHMS:
        known = ", ".join(f'"{each}"' for each in ALGORITHMS)
        raise ArgumentError(f"algorithm={name!r} is not known; there are {known}.")
    found = ALGORITHMS[name]
    if not found.applies(code):
        others = " or ".join(f'"{each}"' for each in algorithms_for(code))
        raise ArgumentError(
            f'algorithm="{name}" needs {found.needs}; {found.why_not(code)}. '
            f"Use algorithm={others}, or leave the choice to the code."
        )
    return found


def _multiply(code: CodingMatrix, answers: Floats) -> Floats:
    assert code.tree is not None
    return _run("multiply_down_tree", answers, *code.tree)


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


def _search_active_set(code: CodingMatrix, answers: Floats) -> Floats:
    rows, classes = np.nonzero(code.matrix)
    starts = np.searchsorted(rows, np.arange(code.n_partitions + 1))
    signs = code.matrix[rows, classes].astype(np.float64)
    # Without zeros |Ap − r|² has the same quadratic part for every sample.
    dense = code.matrix.astype(np.float64) if code.is_strict else np.empty((0, 0))
    gram = dense.T @ dense
    return _run("minimise_on_simplex", answers, starts, classes, signs, gram, code.n_classes)


def _run(name: str, *arguments: NDArray[np.generic] | int) -> Floats:
    probabilities: Floats = routine(name, "least_squares")(*arguments)
    return probabilities


class Algorithm(NamedTuple):
    """One way to the minimum, for the codes it applies to."""

    needs: str
    applies: Callable[[CodingMatrix], bool]
    why_not: Callable[[CodingMatrix], str]
    solve: Callable[[CodingMatrix, Floats], Floats]
    takes_gaps: bool  # whether a sample may lack answers


ALGORITHMS: dict[str, Algorithm] = {
    "product": Algorithm("a tree", lambda code: code.is_tree, why_not_tree, _multiply, True),
    "isotonic": Algorithm(
        "an adjacent code", lambda code: code.is_adjacent, why_not_adjacent, _regress, True
    ),
    "projection": Algorithm(
        "an equiangular code",
        lambda code: code.is_equiangular,
        why_not_equiangular,
        _project,
        False,
    ),
    "pairwise": Algorithm(
        "a one-vs-one code", lambda code: code.is_one_vs_one, why_not_one_vs_one, _couple, False
    ),
    "active-set": Algorithm("any code", lambda _: True, str, _search_active_set, True),
}
"""By name, the cheapest first."""
