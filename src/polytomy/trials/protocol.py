"""What trials compare, pairs of a scheme and a solver, and how: splits, seeds and classifiers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polytomy.classifier import PolytomyClassifier
from polytomy.designs import SCHEME_NAMES
from polytomy.errors import Argument, ArgumentError, DataError, PythonOnly
from polytomy.learners.specification import estimator_from, specification_of
from polytomy.model.arrangement import AUTO, Solver, gives_probabilities
from polytomy.model.scheme_argument import SchemeArgument, scheme_from
from polytomy.scheme import Scheme, SchemeEnsemble
from polytomy.selection.candidates import short_name, split_solver
from polytomy.solvers.solving import find_method
from polytomy.trials.catalogue import CATALOGUE, DEFAULT_ESTIMATOR
from polytomy.trials.datasets import Dataset

# As in LIBSVM's probabilities: a sigmoid from five folds.
CALIBRATION = "auto"
FOLDS = 5
_LARGEST_SEED = 2**31
_NO_LIMIT = 10**9
# Designs for which the decoder is better than the bias.
_DECODED = ("adjacent", "ordered-adjacent", "orthogonal", "random", "random-ternary")


class Pair(NamedTuple):
    """A configuration, and the method that solves for its probabilities.

    Attributes
    ----------
    configuration, method : names of scheme and solver in tables
    scheme : any value that PolytomyClassifier accepts for ``scheme``
    solver : any value that PolytomyClassifier accepts for ``solver``
    final_calibration : name of a final calibration, or None
    """

    configuration: str
    method: str
    scheme: SchemeArgument
    solver: Solver
    final_calibration: str | None = None

    @property
    def name(self) -> str:
        """Both names, separated by a comma."""
        return f"{self.configuration}, {self.method}"

    @property
    def is_calibrated(self) -> bool:
        """Whether it has a final calibration."""
        return self.final_calibration is not None

    def describe(self) -> dict[str, str]:
        """Return text that identifies this pair."""
        described = {
            "configuration": self.configuration,
            "method": self.method,
            "scheme": _describe_scheme(self.scheme),
            "solver": _describe_function(self.solver) if callable(self.solver) else self.solver,
        }
        if self.final_calibration is not None:
            described["final_calibration"] = self.final_calibration
        return described

    def calibrated(self) -> Pair | None:
        """Return this pair with the final calibration that suits its scheme.

        That is "decoder" for designs whose binaries say little on their own (adjacent, orthogonal
        and random codes), and "bias" for all others. None if the solver gives no probabilities.

        Examples
        --------
        >>> Pair("tree", "least-squares", "tree", "least-squares").calibrated().name
        'tree, least-squares + bias'
        """
        if not gives_probabilities(self.solver):
            return None
        is_code = isinstance(self.scheme, str) and self.scheme in _DECODED
        final = "decoder" if is_code else "bias"
        return self._replace(method=f"{self.method} + {final}", final_calibration=final)


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
"""The eight pairs in the tables of Mills (2019), made of six configurations."""


def pairs_from(
    schemes: Any = None,
    solvers: Iterable[Solver] | str | None = None,
    *,
    calibrated: bool = False,
) -> list[Pair]:
    """Combine schemes and solvers into pairs.

    Parameters
    ----------
    schemes : list, or dict from names to schemes, optional
        Each is any value that PolytomyClassifier accepts for ``scheme``, or a tuple of a scheme
        and a solver. By default the six schemes of Mills's experiments.
    solvers : list of solvers, optional
        Combined with every scheme that has no solver of its own; by default that of
        PolytomyClassifier, "auto". Without schemes and solvers, the pairs are those of Mills's
        experiments.
    calibrated : bool, default=False
        Whether each pair whose solver gives probabilities is followed by the same pair with a final
        calibration; see `Pair.calibrated`.

    Examples
    --------
    >>> [pair.name for pair in pairs_from(["adjacent", ("tree", "greedy")], ["divergence"])]
    ['adjacent, divergence', 'tree, greedy']
    >>> [pair.name for pair in pairs_from(["adjacent", "tree"], calibrated=True)][1::2]
    ['adjacent, auto + decoder', 'tree, auto + bias']
    >>> len(pairs_from())
    8
    """
    if schemes is None and solvers is None:
        return _with_calibrated(PAPER_PAIRS) if calibrated else list(PAPER_PAIRS)
    methods = [solvers] if isinstance(solvers, str) or callable(solvers) else solvers
    wanted: list[Solver] = [PolytomyClassifier().solver] if methods is None else list(methods)
    if schemes is None:
        schemes = list(dict.fromkeys(pair.configuration for pair in PAPER_PAIRS))
    elif isinstance(schemes, str | Scheme | SchemeEnsemble):
        schemes = [schemes]
    found = []
    for name, scheme, own in _named_schemes(schemes):
        for solver in wanted if own is None else [own]:
            if not callable(solver) and solver != AUTO:
                find_method(solver)
            found.append(Pair(name, short_name(solver), scheme, solver))
        _check_scheme(scheme)
    if not found:
        raise ArgumentError(
            "There is nothing to compare. Pass at least one scheme in ", Argument("schemes"),
            " and one solver in ", Argument("solvers"), ".",
        )  # fmt: skip
    if calibrated:
        found = _with_calibrated(found)
    _check_names(found)
    return found


def _check_names(pairs: Sequence[Pair]) -> None:
    """Raise ArgumentError if two pairs, or two different schemes, have the same name."""
    schemes: dict[str, SchemeArgument] = {}
    names = [pair.name for pair in pairs]
    for pair in pairs:
        known = schemes.setdefault(pair.configuration, pair.scheme)
        is_same = known is pair.scheme or (isinstance(known, str) and known == pair.scheme)
        if names.count(pair.name) > 1 or not is_same:
            what = f"pairs are named {pair.name!r}"
            what = what if is_same else f"schemes are named {pair.configuration!r}"
            raise ArgumentError(
                f"Two {what}.", PythonOnly(" Pass a dict to give each scheme its own name.")
            )


def _with_calibrated(pairs: Iterable[Pair]) -> list[Pair]:
    return [each for pair in pairs for each in (pair, pair.calibrated()) if each is not None]


def _named_schemes(schemes: Any) -> list[tuple[str, SchemeArgument, Solver | None]]:
    """Return the name, the scheme and the scheme's own solver, if any, of each item."""
    if not isinstance(schemes, Iterable):
        raise ArgumentError(Argument("schemes", schemes), " must be a list or a dict of schemes.")
    if isinstance(schemes, Mapping):
        return [(str(name), *split_solver(item)) for name, item in schemes.items()]
    found = map(split_solver, schemes)
    return [(short_name(scheme), scheme, solver) for scheme, solver in found]


def _check_scheme(scheme: SchemeArgument) -> None:
    """Raise an error now for text that cannot be a scheme for any dataset."""
    if isinstance(scheme, str) and scheme not in SCHEME_NAMES:
        scheme_from(scheme, ["a", "b"])


def _describe_scheme(scheme: SchemeArgument) -> str:
    if isinstance(scheme, str) and scheme in SCHEME_NAMES:
        return scheme
    if isinstance(scheme, str | os.PathLike | Scheme | SchemeEnsemble):
        return str(scheme_from(scheme, ["a", "b"]))  # a file is identified by its content
    if callable(scheme):
        return _describe_function(scheme)
    return str(np.asarray(getattr(scheme, "matrix", scheme)).tolist())


def _describe_function(function: Callable[..., Any]) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


class ProtocolOptions(TypedDict, total=False):
    """Arguments of `run` that make a Protocol."""

    schemes: Any
    solvers: Iterable[Solver] | str | None
    calibrated: bool | None
    estimator: Any
    test: float
    seed: int


class Split(NamedTuple):
    """Standardised training and test samples, with indices into the dataset's classes."""

    X_train: Any
    y_train: NDArray[Any]
    class_indices_train: NDArray[np.intp]
    X_test: Any
    class_indices_test: NDArray[np.intp]
    seed: int


@dataclass(frozen=True)
class Protocol:
    """Settings shared by all trials of a run.

    Parameters
    ----------
    pairs : pairs of a scheme and a solver to compare
    test : fraction of each class to hold out
    seed : seed of the run; each trial derives its own from it, the dataset's name and the repeat
    estimator : binary classifier, or a dict from dataset names to classifiers
        By default a support vector machine, with the options of Mills's experiments for their
        datasets and LIBSVM's defaults for others.
    """

    pairs: Sequence[Pair]
    test: float = 0.3
    seed: int = 0
    estimator: Any = None

    def __post_init__(self) -> None:
        if not 0 < self.test < 1:
            raise ArgumentError(Argument("test"), f" must be between 0 and 1; got {self.test:g}.")
        if not isinstance(self.seed, int) or self.seed < 0:
            raise ArgumentError(
                Argument("seed"), f" must be a non-negative integer; got {self.seed!r}."
            )

    def describe(self) -> dict[str, Any]:
        """Return the settings that all trials in a folder must share, as plain values."""
        return {
            "pairs": [pair.describe() for pair in self.pairs],
            "test": self.test,
            "seed": self.seed,
            "calibration": CALIBRATION,
            "folds": FOLDS,
        }

    def estimator_for(self, name: str) -> Any:
        """Return the unfitted binary classifier for a dataset."""
        given = self.estimator
        if isinstance(given, Mapping):
            given = given.get(name)
        if given is None:
            known = CATALOGUE.get(name)
            given = DEFAULT_ESTIMATOR if known is None else known.estimator
        return estimator_from(given, SVC()) if isinstance(given, str) else clone(given)

    def check(self, dataset: Dataset) -> None:
        """Raise DataError if no sample of a dataset can be held out."""
        if not any(_n_held_out(count, self.test) for count in dataset.counts):
            raise DataError(
                f"dataset {dataset.name}: no class has enough samples to hold out a fraction of "
                f"{self.test:g}."
            )

    def split(self, dataset: Dataset, repeat: int) -> Split:
        """Split a dataset into training and test samples for one repeat."""
        self.check(dataset)
        words = [self.seed, repeat, *dataset.name.encode()]
        random = np.random.default_rng(np.random.SeedSequence(words))
        is_test = split_classes(dataset.class_indices, self.test, random)
        X_train, X_test = standardise(dataset.X[~is_test], dataset.X[is_test])
        return Split(
            X_train,
            dataset.y[~is_test],
            dataset.class_indices[~is_test],
            X_test,
            dataset.class_indices[is_test],
            int(random.integers(_LARGEST_SEED)),
        )


def standardise(training: Any, *others: Any) -> list[Any]:
    """Scale samples so that the features of the training samples have mean 0 and variance 1."""
    # Sparse features are not centred, so zeros stay zeros.
    scaler = StandardScaler(with_mean=not issparse(training)).fit(training)
    return [scaler.transform(samples) for samples in (training, *others)]


def split_classes(
    class_indices: NDArray[np.intp], test: float, random: np.random.Generator
) -> NDArray[np.bool_]:
    """Return a mask of the samples to hold out: a fraction of each class, but never all of it.

    Examples
    --------
    >>> class_indices = np.array([0] * 10 + [1] * 20 + [2])
    >>> is_test = split_classes(class_indices, 0.3, np.random.default_rng(0))
    >>> np.bincount(class_indices[is_test], minlength=3)
    array([3, 6, 0])
    """
    is_test = np.zeros(len(class_indices), dtype=bool)
    for index in range(int(class_indices.max()) + 1):
        members = np.flatnonzero(class_indices == index)
        is_test[random.permutation(members)[: _n_held_out(len(members), test)]] = True
    return is_test


def _n_held_out(n_members: int, test: float) -> int:
    return max(min(round(test * n_members), n_members - 1), 0)


def describe_estimator(estimator: Any) -> str:
    """Return text that identifies an estimator by its parameters.

    Examples
    --------
    >>> describe_estimator(SVC(C=50, gamma="auto"))
    'svc C=50 gamma=auto'
    """
    try:
        return specification_of(estimator)
    except ArgumentError:
        # By default scikit-learn abbreviates a long repr; two estimators must not look alike.
        whole = isinstance(estimator, BaseEstimator)
        text = estimator.__repr__(N_CHAR_MAX=_NO_LIMIT) if whole else repr(estimator)
        return " ".join(text.split())
