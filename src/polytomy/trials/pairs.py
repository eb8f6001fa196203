"""What is compared: configurations, each solved by one method or more."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from polytomy.composition import SchemeArgument, Solver, scheme_from
from polytomy.designs import SCHEME_NAMES
from polytomy.errors import ArgumentError
from polytomy.scheme import Scheme
from polytomy.scheme.ensemble import SchemeEnsemble
from polytomy.selection import candidates_from
from polytomy.solvers.methods import find_method

__all__ = ["PAPER_PAIRS", "Pair", "pairs_from"]


class Pair(NamedTuple):
    """A configuration and the method that its probabilities are solved by.

    Attributes
    ----------
    configuration, method : what tables call them
    scheme : in any form that the option ``scheme`` takes
    solver : in any form that the option ``solver`` takes
    """

    configuration: str
    method: str
    scheme: SchemeArgument
    solver: Solver

    @property
    def name(self) -> str:
        """Both names in one."""
        return f"{self.configuration}, {self.method}"

    def describe(self) -> dict[str, str]:
        """Return what tells this pair from others, as text."""
        return {
            "configuration": self.configuration,
            "method": self.method,
            "scheme": _describe_scheme(self.scheme),
            "solver": _describe_function(self.solver) if callable(self.solver) else self.solver,
        }


PAPER_PAIRS = tuple(
    Pair(scheme, solver, scheme, solver)
    for scheme, solver in (
        ("one-vs-one", "least-squares"),
        ("one-vs-rest", "least-squares"),
        ("orthogonal", "least-squares"),
        ("adjacent", "least-squares"),
        ("tree", "greedy"),
        ("tree", "least-squares"),
        ("empirical-tree", "greedy"),
        ("empirical-tree", "least-squares"),
    )
)
"""The eight pairs of six configurations and their methods in the tables of Mills (2019)."""


def pairs_from(schemes: Any = None, solvers: Iterable[Solver] | str | None = None) -> list[Pair]:
    """Return the pairs that are asked for.

    Parameters
    ----------
    schemes : list or dict, optional
        Each a scheme in any form that the option ``scheme`` takes, or a pair of a scheme and a
        solver; in a dict, by name. By default the six of Mills's experiments.
    solvers : list of solvers, optional
        Each for all the schemes that have none of their own; "least-squares" by default. With
        neither schemes nor solvers, the pairs are those of the experiments.

    Examples
    --------
    >>> [pair.name for pair in pairs_from(["adjacent", ("tree", "greedy")], ["divergence"])]
    ['adjacent, divergence', 'tree, greedy']
    >>> len(pairs_from())
    8
    """
    if schemes is None and solvers is None:
        return list(PAPER_PAIRS)
    methods = [solvers] if isinstance(solvers, str) or callable(solvers) else solvers
    wanted: list[Solver] = ["least-squares"] if methods is None else list(methods)
    if schemes is None:
        schemes = list(dict.fromkeys(pair.configuration for pair in PAPER_PAIRS))
    elif isinstance(schemes, str | Scheme | SchemeEnsemble):
        schemes = [schemes]
    found = []
    for name, scheme, own in _items(schemes):
        for solver in wanted if own is None else [own]:
            if not callable(solver):
                find_method(solver)
            found.append(Pair(name, _name_of(solver), scheme, solver))
        _check_scheme(scheme)
    if not found:
        raise ArgumentError("there is nothing to compare; give a scheme and a solver or more")
    names = [(pair.configuration, pair.method) for pair in found]
    for pair in found:
        if names.count((pair.configuration, pair.method)) > 1:
            raise ArgumentError(
                f"two pairs are called {pair.name!r}; give a dict, each scheme with a name of its "
                "own"
            )
        same = [each for each in found if each.configuration == pair.configuration]
        if not all(_is_same(each.scheme, pair.scheme) for each in same):
            raise ArgumentError(
                f"two schemes are called {pair.configuration!r}; give a dict, each with a name of "
                "its own"
            )
    return found


def _is_same(one: SchemeArgument, other: SchemeArgument) -> bool:
    return one is other or (isinstance(one, str) and isinstance(other, str) and one == other)


def _items(schemes: Any) -> list[tuple[str, SchemeArgument, Solver | None]]:
    """Return names, schemes, and their own solvers where they have some."""
    if isinstance(schemes, Mapping):
        items: list[tuple[str | None, Any]] = [(str(key), item) for key, item in schemes.items()]
    elif isinstance(schemes, Iterable):
        items = [(None, item) for item in schemes]
    else:
        raise ArgumentError(f"schemes={schemes!r} is neither a list nor a dict of schemes")
    found: list[tuple[str, SchemeArgument, Solver | None]] = []
    for name, item in items:
        is_pair = isinstance(item, tuple) and len(item) == 2
        is_pair = is_pair and (isinstance(item[1], str) or callable(item[1]))
        scheme, own = item if is_pair else (item, None)
        found.append((name or candidates_from([scheme], 2)[0].name, scheme, own))
    return found


def _check_scheme(scheme: SchemeArgument) -> None:
    """Raise an error now for text that can be no scheme of any dataset."""
    if isinstance(scheme, str) and scheme not in SCHEME_NAMES:
        scheme_from(scheme, ["a", "b"])


def _describe_scheme(scheme: SchemeArgument) -> str:
    if isinstance(scheme, str) and scheme in SCHEME_NAMES:
        return scheme
    if isinstance(scheme, str | os.PathLike | Scheme | SchemeEnsemble):
        return str(scheme_from(scheme, ["a", "b"]))  # of a file, what is in it counts
    if callable(scheme):
        return _describe_function(scheme)
    return str(np.asarray(getattr(scheme, "matrix", scheme)).tolist())


def _describe_function(function: Callable[..., Any]) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


def _name_of(solver: Solver) -> str:
    return solver if isinstance(solver, str) else getattr(solver, "__name__", repr(solver))
