"""The option ``solver``: the name of a method, or a user's function."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, ArgumentError
from polytomy.scheme import Scheme
from polytomy.scheme.ensemble import SchemeEnsemble
from polytomy.solvers import check_applicable, decode
from polytomy.solvers.methods import find_method

__all__ = [
    "AUTO",
    "Solver",
    "check_solver",
    "gives_probabilities",
    "is_flat_one_vs_rest",
    "resolve_solver",
    "solve_by",
]

Solver = str | Callable[[Scheme, NDArray[np.float64]], NDArray[np.float64]]

# Tolerance for the probabilities that a user's function returns.
_SUM_TOLERANCE = 1e-6


AUTO = "auto"
"""The solver that suits the scheme; see `resolve_solver`."""


def resolve_solver(
    solver: Solver, scheme: Scheme | SchemeEnsemble, *, is_calibrated: bool
) -> Solver:
    """Return the solver that "auto" stands for; any other is returned unchanged.

    That is least squares, except for one-vs-rest with a final calibration: there, least squares
    gives zero to many classes, and loses what the binaries know about them. The divergence keeps
    it.

    Parameters
    ----------
    solver : name of a method, "auto", or function of (scheme, decisions)
    scheme : Scheme or SchemeEnsemble
    is_calibrated : whether there is a final calibration
    """
    if not (isinstance(solver, str) and solver == AUTO):
        return solver
    return "divergence" if is_calibrated and is_flat_one_vs_rest(scheme) else "least-squares"


def is_flat_one_vs_rest(scheme: Scheme | SchemeEnsemble) -> bool:
    """Return whether a scheme is a single one-vs-rest code."""
    if isinstance(scheme, SchemeEnsemble) or not (scheme.is_flat and scheme.n_partitions):
        return False
    return scheme.code.is_one_vs_rest


def check_solver(scheme: Scheme, solver: Solver) -> None:
    """Raise an ArgumentError if a solver does not exist or cannot solve a scheme."""
    if not callable(solver) and solver != AUTO:
        check_applicable(solver, scheme, parameter="solver")


def gives_probabilities(solver: Solver) -> bool:
    """Return whether a solver gives probabilities; a user's function is assumed to."""
    if callable(solver) or solver == AUTO:
        return True
    return find_method(solver, "solver").gives_probabilities


def solve_by(solver: Solver, scheme: Scheme, decisions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores or probabilities of the scheme's classes.

    Parameters
    ----------
    solver : name of a method, or function of (scheme, decisions)
    scheme : Scheme
    decisions : array of shape (n_samples, n_partitions)

    Returns
    -------
    array of shape (n_samples, n_classes)
    """
    if not callable(solver):
        return decode(scheme, decisions, solver)
    scores = np.asarray(solver(scheme, decisions), dtype=np.float64)
    expected = (len(decisions), len(scheme.classes))
    if scores.shape != expected:
        raise ArgumentError(
            Argument("solver", solver),
            f" returned an array of shape {scores.shape}; {expected[0]} samples and {expected[1]} "
            f"classes need {expected}.",
        )
    totals = scores.sum(axis=1)
    is_wrong = ~(np.abs(totals - 1) <= _SUM_TOLERANCE) | (scores < -_SUM_TOLERANCE).any(axis=1)
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        raise ArgumentError(
            Argument("solver", solver),
            f" did not return probabilities: row {row} is {scores[row].tolist()}. The values of "
            "each row must not be negative, and must sum to one.",
        )
    return scores
