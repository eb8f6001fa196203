"""Candidates with several values of the estimator's parameters: the option ``param_grid``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from polytomy.errors import Argument, ArgumentError
from polytomy.learners.specification import check_parameter_values, print_value, suggest_parameter
from polytomy.selection.candidates import Candidate

__all__ = ["describe_params", "expand_candidates", "set_grid_params"]

# GridSearchCV over a PolytomyClassifier needs this prefix, so it is accepted here too.
_PREFIX = "estimator__"

_FORM = (
    ' must be a dict of lists of values, such as {"C": [1, 10], "gamma": [0.01, 0.1]}, or a list '
    "of such dicts; got "
)


def expand_candidates(
    candidates: Sequence[Candidate], param_grid: Any, estimator: Any
) -> list[Candidate]:
    """Return every candidate with every point of a grid of parameters.

    Points are in the order of scikit-learn's ``ParameterGrid``. Candidates with the same parameters
    have the same estimator.

    Parameters
    ----------
    candidates : schemes and solvers
    param_grid : dict of lists, or list of such dicts
    estimator : the unfitted estimator that has the parameters

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> grid = {"C": [1, 10], "gamma": [0.5]}
    >>> for each in expand_candidates([Candidate("tree", "tree")], grid, SVC()):
    ...     print(each.name, "|", each.estimator)
    tree, C=1 gamma=0.5 | SVC(C=1, gamma=0.5)
    tree, C=10 gamma=0.5 | SVC(C=10, gamma=0.5)
    """
    grids = [param_grid] if isinstance(param_grid, Mapping) else param_grid
    if isinstance(grids, str) or not isinstance(grids, Iterable):
        raise ArgumentError(Argument("param_grid"), f"{_FORM}{param_grid!r}.")
    grids = list(grids)
    if not grids:
        raise ArgumentError(Argument("param_grid"), " is empty. Give at least one parameter.")
    known = estimator.get_params(deep=True)
    for grid in grids:
        if not isinstance(grid, Mapping):
            raise ArgumentError(Argument("param_grid"), f"{_FORM}{param_grid!r}.")
        for name, values in grid.items():
            _check_name(name, known, estimator)
            _check_values(name, values)
    expanded = []
    points = [(params, _set_checked(estimator, params)) for params in ParameterGrid(grids)]
    for each in candidates:
        for params, own in points:
            name = f"{each.name}, {describe_params(params)}" if params else each.name
            expanded.append(
                each._replace(name=name, params=params, estimator=own, scheme_name=each.name)
            )
    return expanded


def set_grid_params(estimator: Any, params: Mapping[str, Any]) -> Any:
    """Return a clone of an estimator with other parameters, under the names of a grid.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> set_grid_params(SVC(), {"estimator__C": 10})
    SVC(C=10)
    """
    known = estimator.get_params(deep=True)
    own = {
        name if name in known else name.removeprefix(_PREFIX): clone(value, safe=False)
        for name, value in params.items()
    }
    return clone(estimator).set_params(**own)


def describe_params(params: Mapping[str, Any]) -> str:
    """Return parameters as they are written in the specification of an estimator.

    Examples
    --------
    >>> describe_params({"C": 10, "gamma": np.float64(0.1), "kernel": "rbf"})
    'C=10 gamma=0.1 kernel=rbf'
    """
    return " ".join(f"{name}={print_value(value) or repr(value)}" for name, value in params.items())


def _check_name(name: Any, known: Mapping[str, Any], estimator: Any) -> None:
    if not isinstance(name, str):
        raise ArgumentError(
            Argument("param_grid"), f" has the parameter {name!r}. A name must be a string."
        )
    own = name if name in known else name.removeprefix(_PREFIX)
    if own not in known:
        hint = suggest_parameter(own, known) or f" It has {', '.join(sorted(known))}."
        raise ArgumentError(
            Argument("param_grid"),
            f": {type(estimator).__name__} has no parameter {name!r}.{hint}",
        )


def _check_values(name: str, values: Any) -> None:
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        raise ArgumentError(
            Argument("param_grid"),
            f" must have a list of values for {name!r}; got {values!r}. Use [{values!r}].",
        )
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise ArgumentError(
            Argument("param_grid"),
            f" has an array of {values.ndim} dimensions for {name!r}. Use a list of values.",
        )
    if len(values) == 0:
        raise ArgumentError(Argument("param_grid"), f" has no values for {name!r}.")


def _set_checked(estimator: Any, params: Mapping[str, Any]) -> Any:
    """Return the estimator with parameters that scikit-learn has checked."""
    try:
        own = set_grid_params(estimator, params)
        check_parameter_values(own)
    except ValueError as error:
        raise ArgumentError(
            Argument("param_grid"), f" has {describe_params(params)}: {error}"
        ) from None
    return own
