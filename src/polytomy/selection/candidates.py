"""Candidates of a comparison: schemes, each with a solver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from polytomy.errors import Argument, ArgumentError, DataError, PolytomyError, SchemeError
from polytomy.model.scheme_argument import SchemeArgument, Solver, gives_probabilities
from polytomy.scheme import Scheme

__all__ = ["Candidate", "candidates_from", "default_candidates"]

# Designs that would train on more than this many times the samples, over all their binaries, are
# not tried by default: one-vs-one with more than a hundred classes, for instance.
_MOST_WORK = 100
_SOLVED_TWICE = ("one-vs-rest", "orthogonal")


class Candidate(NamedTuple):
    """A scheme and a solver; in a search over a grid, also parameters of the estimator.

    Attributes
    ----------
    name : str
    scheme : in any form that the parameter ``scheme`` takes
    solver : name of a method, or function of (scheme, decisions)
    params : parameters of the estimator, under the names that the grid uses; None without a grid
    estimator : the estimator with these parameters; None without a grid
    scheme_name : the name without the parameters
    """

    name: str
    scheme: SchemeArgument
    solver: Solver = "least-squares"
    params: Mapping[str, Any] | None = None
    estimator: Any = None
    scheme_name: str = ""

    @property
    def gives_probabilities(self) -> bool:
        """Whether its solver gives probabilities, not only scores."""
        try:
            return gives_probabilities(self.solver)
        except ArgumentError as error:
            raise self.refused(error) from error

    def refused(self, error: PolytomyError) -> ArgumentError:
        """Return an error that says which candidate another error is about."""
        has_parts = isinstance(error, ArgumentError | SchemeError | DataError)
        parts = error.args if has_parts else (str(error),)
        return ArgumentError(Argument("candidates"), f" has {self.name!r}: ", *parts)


def default_candidates(
    n_classes: int, solver: Solver = "least-squares", *, has_order: bool = False
) -> list[Candidate]:
    """Return the designs that suit a number of classes, all with one solver.

    If the classes have an order (`has_order`), "adjacent" is one of them.

    Examples
    --------
    >>> [each.name for each in default_candidates(500)]
    ['empirical-tree', 'separability-tree', 'centroid-tree', 'decoc']
    """
    flat = ["one-vs-one", "one-vs-rest", "ordered-adjacent", "orthogonal"]
    flat += ["adjacent"] if has_order else []
    # Each of these trains on the data about as many times as there are classes.
    names = flat if n_classes <= _MOST_WORK else []
    names = [*names, "empirical-tree", "separability-tree", "centroid-tree", "decoc"]
    return [Candidate(name, name, solver) for name in names]


def candidates_from(
    argument: Any, n_classes: int, solver: Solver = "least-squares", *, has_order: bool = False
) -> list[Candidate]:
    """Return the candidates that the parameter ``candidates`` describes.

    Parameters
    ----------
    argument : "default", a list, or a dict of names
        "default" means the designs that suit the number of classes. One-vs-rest and orthogonal
        codes, for which least squares can give a class a probability of zero, are also tried with
        a solver that never does. Each item of a list or dict is a scheme, in any form that the
        parameter ``scheme`` takes, or a pair of a scheme and a solver.
    n_classes : number of classes of the data
    solver : solver of candidates without one
    has_order : whether the order of the classes is known

    Examples
    --------
    >>> [each.name for each in candidates_from(["tree", ("one-vs-one", "voting")], 4)]
    ['tree', 'one-vs-one, voting']
    """
    if isinstance(argument, str) and argument == "default":
        found = default_candidates(n_classes, solver, has_order=has_order)
        again = _SOLVED_TWICE if solver == "least-squares" else ()
        pairs = [(each.scheme, "divergence") for each in found if each.name in again]
        return found + [_make_candidate(pair, solver) for pair in pairs]
    if isinstance(argument, Mapping):
        found = [_make_candidate(item, solver, name=str(name)) for name, item in argument.items()]
    elif isinstance(argument, Iterable) and not isinstance(argument, str | Scheme):
        found = [_make_candidate(item, solver) for item in argument]
    else:
        raise ArgumentError(
            Argument("candidates"),
            ' must be "default", a list of schemes or of pairs (scheme, solver), or a dict of '
            f"these by name; got {argument!r}.",
        )
    if not found:
        raise ArgumentError(Argument("candidates"), " is empty. Give at least one scheme.")
    names = [each.name for each in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ArgumentError(
            "two ",
            Argument("candidates"),
            f" are called {min(twice)!r}. Pass a dict that gives each its own name.",
        )
    return found


def _make_candidate(item: Any, solver: Solver, name: str | None = None) -> Candidate:
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
