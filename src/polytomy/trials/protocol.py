"""What trials compare, pairs of a scheme and a solver, how they do it, and one trial."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polytomy.classifier import PolytomyClassifier
from polytomy.designs import SCHEME_NAMES
from polytomy.errors import (
    Argument,
    ArgumentError,
    DataError,
    PolytomyError,
    PolytomyWarning,
    PythonOnly,
)
from polytomy.inputs.arguments import as_count
from polytomy.inputs.rows import take_rows
from polytomy.learners.specification import estimator_from, specification_of
from polytomy.learners.svm.machines import pool_by_bytes
from polytomy.learners.trained import TrainedBinary
from polytomy.metrics import METRICS, JudgedSamples
from polytomy.metrics.scores import check_bins, reliability_sums
from polytomy.model.arrangement import (
    AUTO,
    Solver,
    facts_from,
    gives_probabilities,
)
from polytomy.model.composition import Composition
from polytomy.model.scheme_argument import (
    SchemeArgument,
    is_list_of_schemes,
    scheme_from,
)
from polytomy.scheme import Scheme, SchemeEnsemble
from polytomy.selection.candidates import short_name, split_solver
from polytomy.solvers.solving import find_method
from polytomy.trials.datasets import CATALOGUE, DEFAULT_ESTIMATOR, Dataset
from polytomy.trials.results import MEASURES

# As in LIBSVM's probabilities: a sigmoid from five folds.
CALIBRATION = "auto"
FOLDS = 5
_LARGEST_SEED = 2**31
_NO_LIMIT = 10**9


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
        """Return this pair with the default final calibration.

        None if the solver gives no probabilities.

        Examples
        --------
        >>> Pair("tree", "least-squares", "tree", "least-squares").calibrated().name
        'tree, least-squares + calibrated'
        """
        if not gives_probabilities(self.solver):
            return None
        return self._replace(method=f"{self.method} + calibrated", final_calibration="auto")


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
    ['adjacent, auto + calibrated', 'tree, auto + calibrated']
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
    for each in scheme if is_list_of_schemes(scheme) else [scheme]:
        if isinstance(each, str) and each not in SCHEME_NAMES:
            scheme_from(each, ["a", "b"])


def _describe_scheme(scheme: SchemeArgument) -> str:
    if isinstance(scheme, str) and scheme in SCHEME_NAMES:
        return scheme
    if isinstance(scheme, str | os.PathLike | Scheme | SchemeEnsemble):
        return str(scheme_from(scheme, ["a", "b"]))  # a file is identified by its content
    if callable(scheme):
        return _describe_function(scheme)
    if is_list_of_schemes(scheme):
        return " + ".join(map(_describe_scheme, scheme))
    return str(np.asarray(getattr(scheme, "matrix", scheme)).tolist())


def _describe_function(function: Callable[..., Any]) -> str:
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


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
        as_count("seed", self.seed, 0)

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


# -- one trial -------------------------------------------------------------------------------------


Floats = NDArray[np.float64]

# Predictions are repeated until they have taken this long, but no more often than this.
_LEAST_SECONDS = 0.1
_MOST_PREDICTIONS = 10
_RELIABILITY_BINS = 10
_NOT_CALIBRATED = (
    "there is no final calibration: the solver gives no probabilities, or a fold could not be "
    "trained"
)


@dataclass(eq=False)
class Trial:
    """One trial, in which pairs of one scheme and final calibration share their binaries.

    Parameters
    ----------
    dataset : Dataset
    estimator : binary classifier
    split : training and test samples
    n_jobs : number of joblib jobs for the binaries
    on_trained : called with the name of each configuration that is trained
    """

    dataset: Dataset
    estimator: Any
    split: Split
    n_jobs: int | None = None
    on_trained: Callable[[str], None] | None = None
    schemes: dict[str, str] = field(default_factory=dict)
    trained: dict[tuple[str, str | None], tuple[PolytomyClassifier, float]] = field(
        default_factory=dict
    )

    def fit(self, pair: Pair) -> tuple[PolytomyClassifier, float]:
        """Return the fitted classifier of a pair, and how many seconds its training took."""
        key = pair.configuration, pair.final_calibration
        if key not in self.trained:
            classifier = PolytomyClassifier(
                self.estimator,
                pair.scheme,
                solver=pair.solver,
                calibration=CALIBRATION,
                final_calibration=pair.final_calibration,
                cv=FOLDS,
                random_state=self.split.seed,
                n_jobs=self.n_jobs,
                class_order=self.dataset.classes,
            )
            started = perf_counter()
            classifier.fit(self.split.X_train, self.split.y_train)
            self.trained[key] = classifier, perf_counter() - started
            if self.on_trained is not None:
                is_calibrated = ", calibrated" if pair.is_calibrated else ""
                self.on_trained(f"{pair.configuration}{is_calibrated}")
        classifier, seconds = self.trained[key]
        if classifier.solver == pair.solver:
            return classifier, seconds
        started = perf_counter()
        classifier = classifier.with_solver(pair.solver)
        return classifier, seconds + perf_counter() - started

    def measure(self, pair: Pair) -> dict[str, Any]:
        """Return the cell of a pair; see `measure_trial`."""
        cell: dict[str, Any] = {"configuration": pair.configuration, "method": pair.method}
        if pair.final_calibration is not None:
            cell["final_calibration"] = pair.final_calibration
        self.schemes.setdefault(pair.configuration, "")
        try:
            classifier, seconds = self.fit(pair)
        except PolytomyError as error:
            return cell | {"problem": str(error)}
        if pair.is_calibrated and classifier.composition_.final is None:
            return cell | {"problem": _NOT_CALIBRATED}
        self.schemes[pair.configuration] = str(classifier.scheme_)
        return cell | {"problem": ""} | self._score(classifier.composition_, seconds)

    def _score(self, composition: Composition, fit_seconds: float) -> dict[str, Any]:
        """Return the measures, the confusion matrix and the reliability of a trained pair."""
        seconds, scores = _predict(composition, self.split.X_test)
        indices = {label: index for index, label in enumerate(composition.classes.tolist())}
        # The classes of the dataset have an order of their own.
        order = np.array([indices[label] for label in self.dataset.classes])
        truth, predicted = self.split.class_indices_test, composition.winners(scores)
        judged = JudgedSamples(
            truth,
            scores[:, order],
            np.ones(len(truth)),
            range(len(order)),
            np.argsort(order)[predicted],
            facts_from(composition.solver),
        )
        confusion = np.zeros((len(order), len(order)), dtype=np.int64)
        np.add.at(confusion, (judged.truth, judged.predicted), 1)
        found: dict[str, Any] = {
            name: METRICS[name].function(judged) if METRICS[name].can_judge(judged) else None
            for name in MEASURES
            if name in METRICS
        }
        found |= {
            "fit_seconds": fit_seconds,
            "predict_seconds": seconds,
            "n_binaries": sum(each.is_counted for each in composition.dichotomies),
            "n_support_vectors": count_support_vectors(composition.binaries),
        }
        if composition.final is not None:
            expected = {f"out_of_fold_{name}": x for name, x in composition.final.score.items()}
            found |= {name: expected[name] for name in MEASURES if name in expected}
        reliability = None
        if composition.gives_probabilities:
            by_class = reliability_sums(judged, check_bins(_RELIABILITY_BINS))
            reliability = by_class.sum(axis=0).T.round(9).tolist()
        return {"scores": found, "confusion": confusion.tolist(), "reliability": reliability}


def measure_trial(
    dataset: Dataset,
    protocol: Protocol,
    repeat: int,
    *,
    n_jobs: int | None = None,
    on_trained: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Return the results of one trial, as JSON-compatible values.

    Parameters
    ----------
    dataset : Dataset
    protocol : Protocol
    repeat : number of the trial, from zero
    n_jobs : number of joblib jobs for the binaries
    on_trained : called with the name of each configuration that is trained

    Returns
    -------
    dict
        ``cells`` has an item for each pair: the measures in ``scores``, None where one does not
        apply; the ``confusion`` matrix (rows are the true classes); the ``reliability`` of the
        probabilities of all classes, for each of ten bins the number of probabilities, their sum,
        and the number of positives; ``problem``, why the pair cannot be used, or empty; and
        ``final_calibration`` if it has one. ``schemes`` has the control text of each configuration.
    """
    started = perf_counter()
    estimator = protocol.estimator_for(dataset.name)
    split = protocol.split(dataset, repeat)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PolytomyWarning)
        trial = Trial(dataset, estimator, split, n_jobs, on_trained)
        cells = [trial.measure(pair) for pair in protocol.pairs]
    own = [each for each in caught if issubclass(each.category, PolytomyWarning)]
    for each in caught:
        if each not in own:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    return {
        "dataset": dataset.name,
        "repeat": repeat,
        "seed": split.seed,
        "estimator": describe_estimator(estimator),
        "classes": [str(label) for label in dataset.classes],
        "n_train": len(split.class_indices_train),
        "n_test": len(split.class_indices_test),
        "n_jobs": n_jobs,
        "seconds": perf_counter() - started,
        "warnings": sorted({str(each.message) for each in own}),
        "schemes": trial.schemes,
        "cells": cells,
    }


def _predict(composition: Composition, X: Any) -> tuple[float, Floats]:
    """Return the seconds that it takes to predict the test samples, and their scores.

    Quick predictions are repeated, and the shortest time counts: it is the one that other work on
    the machine disturbs least.
    """
    composition.scores(take_rows(X, np.arange(1)))  # compiles and builds what is needed
    times: list[float] = []
    while sum(times) < _LEAST_SECONDS and len(times) < _MOST_PREDICTIONS:
        started = perf_counter()
        scores = composition.scores(X)
        times.append(perf_counter() - started)
    return min(times), scores


def count_support_vectors(binaries: Sequence[TrainedBinary]) -> int | None:
    """Return the number of distinct support vectors; None if no binary has any."""
    groups: dict[bool, list[Any]] = {}
    for binary in binaries:
        estimator = binary.fitted_estimator
        steps = getattr(estimator, "steps", None)
        vectors = getattr(steps[-1][1] if steps else estimator, "support_vectors_", None)
        if vectors is not None:
            groups.setdefault(bool(issparse(vectors)), []).append(vectors)
    if not groups:
        return None
    return sum(len(pool_by_bytes(matrices).rows) for matrices in groups.values())
