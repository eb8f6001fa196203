"""Candidates of a comparison: schemes, each with a solver, and values of ``param_grid``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from polytomy.calibration.calibrators import find_calibrator
from polytomy.errors import Argument, ArgumentError, DataError, PolytomyError, SchemeError
from polytomy.learners.preparation import tags_of
from polytomy.learners.specification import check_parameter_values, print_value, suggest_parameter
from polytomy.model.arrangement import AUTO, Solver, gives_probabilities
from polytomy.model.scheme_argument import SchemeArgument, is_list_of_schemes
from polytomy.scheme import Scheme
from polytomy.solvers import METHODS

# Designs that would train on more than this many times the samples, over all their binaries, are
# not tried by default: one-vs-one with more than a hundred classes, for instance.
_MOST_WORK = 100
# Classes that turn out to be ordered are few; with more, the cuts would take most of the time.
_MOST_IN_ORDER = 20
_SOLVED_TWICE = ("one-vs-rest", "orthogonal")
# GridSearchCV over a PolytomyClassifier needs this prefix, so it is accepted here too.
_PREFIX = "estimator__"


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
    solver: Solver = AUTO
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

    def refused(self, error: Exception) -> ArgumentError:
        """Return an error that says which candidate another error is about."""
        has_parts = isinstance(error, ArgumentError | SchemeError | DataError)
        parts = error.args if has_parts else (describe_error(error),)
        return ArgumentError(Argument("candidates"), f" has {self.name!r}: ", *parts)


def describe_error(error: Exception) -> str:
    """Return the message of an error and its notes, after its type if it is not of this package.

    Examples
    --------
    >>> describe_error(ValueError("no rows")), describe_error(ArgumentError("no rows"))
    ('ValueError: no rows', 'no rows')
    """
    kind = "" if isinstance(error, PolytomyError) else f"{type(error).__name__}: "
    notes = "; ".join(getattr(error, "__notes__", ()))
    return f"{kind}{error}{notes and f' ({notes})'}"


def default_candidates(
    n_classes: int,
    solver: Solver = AUTO,
    *,
    has_order: bool = False,
    is_multi_class: bool = False,
) -> list[Candidate]:
    """Return the designs that suit a number of classes, all with one solver.

    If the classes have an order (`has_order`), "adjacent" is one of them. If the estimator
    separates any number of classes itself (`is_multi_class`), so are "direct" and "n-ary".

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
    names += ["direct", "n-ary"] if is_multi_class else []
    return [Candidate(name, name, solver) for name in names]


def automatic_candidates(
    n_classes: int,
    solver: Solver = AUTO,
    *,
    has_order: bool = False,
    is_multi_class: bool = False,
) -> list[Candidate]:
    """Return the few designs that ``scheme="auto"`` compares; the others must beat the first.

    On eight datasets, comparing all default candidates gave no lower log-loss.

    Examples
    --------
    >>> [each.name for each in automatic_candidates(5)]
    ['one-vs-one', 'separability-tree', 'ordered-adjacent']
    >>> [each.name for each in automatic_candidates(5, is_multi_class=True)]
    ['one-vs-one', 'orthogonal', 'direct', 'n-ary']
    """
    if n_classes > _MOST_WORK:
        names = ["direct", "n-ary"] if is_multi_class else ["separability-tree", "cluster-tree"]
    elif is_multi_class:
        names = ["one-vs-one", "orthogonal", "direct", "n-ary"]
    else:
        names = ["one-vs-one", "separability-tree"]
        names += ["ordered-adjacent"] if n_classes <= _MOST_IN_ORDER else []
    names += ["adjacent"] if has_order and n_classes <= _MOST_WORK else []
    return [Candidate(name, name, solver) for name in names]


def separates_many_classes(estimator: Any, calibration: Any = AUTO) -> bool:
    """Return whether an estimator separates any number of classes, with probabilities for each.

    Estimators that only have decision values, such as SVC and LinearSVC, compose binaries
    themselves, so a model for many classes is nothing new.

    Parameters
    ----------
    estimator : classifier or pipeline
    calibration : the parameter of the classifier; some are only for two sides

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from sklearn.naive_bayes import GaussianNB
    >>> separates_many_classes(GaussianNB()), separates_many_classes(SVC())
    (True, False)
    """
    if not hasattr(estimator, "predict_proba"):
        return False
    tags = tags_of(estimator)
    knows = tags is None or tags.classifier_tags is None or tags.classifier_tags.multi_class
    return knows and (calibration is None or hasattr(find_calibrator(calibration), "fit_sides"))


def candidates_from(
    argument: Any,
    n_classes: int,
    solver: Solver = AUTO,
    *,
    has_order: bool = False,
    is_multi_class: bool = False,
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
    is_multi_class : whether the estimator separates any number of classes

    Examples
    --------
    >>> [each.name for each in candidates_from(["tree", ("one-vs-one", "voting")], 4)]
    ['tree', 'one-vs-one, voting']
    """
    if isinstance(argument, str) and argument == "default":
        found = default_candidates(
            n_classes, solver, has_order=has_order, is_multi_class=is_multi_class
        )
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
    scheme, own_solver = split_solver(item)
    if name is None:
        name = short_name(scheme) + (f", {short_name(own_solver)}" if own_solver else "")
    return Candidate(name, scheme, own_solver or solver)


def split_solver(item: Any) -> tuple[SchemeArgument, Solver | None]:
    """Return a scheme and its own solver, if the item is a pair of both."""
    is_pair = isinstance(item, tuple) and len(item) == 2
    if is_pair and (isinstance(item[1], str) or callable(item[1])):
        return item[0], item[1]
    return item, None


def short_name(value: Any) -> str:
    """Return a name for a scheme or a solver."""
    if is_list_of_schemes(value):
        value = " + ".join(map(short_name, value))
    text = value if isinstance(value, str) else getattr(value, "__name__", None) or repr(value)
    text = " ".join(text.split())
    return text if len(text) <= 40 else f"{text[:39]}…"


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
    try:
        grid = ParameterGrid(param_grid)
    except (TypeError, ValueError) as error:
        raise ArgumentError(Argument("param_grid"), f": {error}") from None
    if not len(grid):
        raise ArgumentError(Argument("param_grid"), " is empty. Give at least one parameter.")
    known = estimator.get_params(deep=True)
    for name in {name: None for each in grid.param_grid for name in each}:
        _check_name(name, known, estimator)
    expanded = []
    points = [(params, _set_checked(estimator, params)) for params in grid]
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
    >>> describe_params({"C": 10, "gamma": 0.1, "kernel": "rbf"})
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


def is_trained_without_calibration(candidate: Candidate, calibration: Any) -> bool:
    """Return whether the binaries of a candidate in a grid of parameters are not calibrated.

    Votes use only the sign of a score, as in SVC, so they need no calibration unless it is
    requested by name.

    Parameters
    ----------
    candidate : Candidate
    calibration : the parameter of the classifier

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> votes = Candidate("pairs, C=1", "one-vs-one", "hamming", {"C": 1}, SVC(C=1), "pairs")
    >>> [is_trained_without_calibration(votes, each) for each in ("auto", "sigmoid")]
    [True, False]
    """
    if candidate.estimator is None or candidate.gives_probabilities:
        return False
    is_automatic = isinstance(calibration, str) and calibration == "auto"
    uses_only_signs = (
        isinstance(candidate.solver, str) and METHODS[candidate.solver].uses_only_signs
    )
    return calibration is None or (is_automatic and uses_only_signs)


def configure(classifier: Any, candidate: Candidate) -> Any:
    """Return the classifier that a candidate stands for, with the parameters that were scored.

    Parameters
    ----------
    classifier : unfitted PolytomyClassifier, with the parameters that all candidates share
    candidate : Candidate
    """
    configured = clone(classifier).set_params(scheme=candidate.scheme, solver=candidate.solver)
    if candidate.estimator is not None:
        configured.set_params(estimator=clone(candidate.estimator))
    if is_trained_without_calibration(candidate, classifier.calibration):
        configured.set_params(calibration=None)
    return configured
