"""Candidates: schemes, each with a solver, that are compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from polytomy.composition import SchemeArgument, Solver
from polytomy.errors import ArgumentError
from polytomy.scheme import Scheme

__all__ = ["Candidate", "candidates_from", "default_candidates"]

# Designs whose binaries all together would be trained on more samples than this many times the
# data's are not tried by default: one-vs-one of more than a hundred classes.
_MOST_WORK = 100
_SOLVED_TWICE = ("one-vs-rest", "orthogonal")


class Candidate(NamedTuple):
    """A scheme, in any form that the option ``scheme`` takes, and a solver."""

    name: str
    scheme: SchemeArgument
    solver: Solver = "least-squares"


def default_candidates(n_classes: int, solver: Solver = "least-squares") -> list[Candidate]:
    """Return the designs that suit a number of classes, with one solver.

    Examples
    --------
    >>> [each.name for each in default_candidates(500)]
    ['empirical-tree', 'separability-tree', 'centroid-tree', 'decoc']
    """
    flat = ["one-vs-one", "one-vs-rest", "ordered-adjacent", "orthogonal"]
    # All of these train on about as many times the data as there are classes.
    names = flat if n_classes <= _MOST_WORK else []
    names = [*names, "empirical-tree", "separability-tree", "centroid-tree", "decoc"]
    return [Candidate(name, name, solver) for name in names]


def candidates_from(
    argument: Any, n_classes: int, solver: Solver = "least-squares"
) -> list[Candidate]:
    """Return the candidates that an option describes.

    Parameters
    ----------
    argument : "default", a list, or a dict of names
        "default" are the designs that suit the number of classes, and codes whose least squares
        can give a class no chance at all with a solver that never does. Each item of a list or
        dict is a scheme, in any form that the option ``scheme`` takes, or a pair of a scheme and a
        solver.
    n_classes : number of classes of the data
    solver : of those that have none of their own

    Examples
    --------
    >>> [each.name for each in candidates_from(["tree", ("one-vs-one", "voting")], 4)]
    ['tree', 'one-vs-one, voting']
    """
    if isinstance(argument, str) and argument == "default":
        found = default_candidates(n_classes, solver)
        again = _SOLVED_TWICE if solver == "least-squares" else ()
        pairs = [(each.scheme, "divergence") for each in found if each.name in again]
        return found + [_candidate(pair, solver) for pair in pairs]
    if isinstance(argument, Mapping):
        found = [_candidate(item, solver, name=str(name)) for name, item in argument.items()]
    elif isinstance(argument, Iterable) and not isinstance(argument, str | Scheme):
        found = [_candidate(item, solver) for item in argument]
    else:
        raise ArgumentError(
            f'candidates={argument!r} is neither "default", nor a list of schemes or of pairs '
            "(scheme, solver), nor a dict of these by name"
        )
    if not found:
        raise ArgumentError("candidates is empty; give a scheme or more")
    names = [each.name for each in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ArgumentError(
            f"two candidates are called {min(twice)!r}; give a dict, each with a name of its own"
        )
    return found


def _candidate(item: Any, solver: Solver, name: str | None = None) -> Candidate:
    if isinstance(item, Candidate):
        return item
    is_pair = isinstance(item, tuple) and len(item) == 2 and _is_solver(item[1])
    scheme, own_solver = item if is_pair else (item, solver)
    if name is None:
        name = _name_of(scheme) + (f", {_name_of(own_solver)}" if is_pair else "")
    return Candidate(name, scheme, own_solver)


def _is_solver(value: Any) -> bool:
    return isinstance(value, str) or callable(value)


def _name_of(value: Any) -> str:
    text = value if isinstance(value, str) else getattr(value, "__name__", None) or repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 40 else f"{text[:39]}…"
