"""One trial: a split of a dataset, on which every pair is trained and scored.

Pairs of one configuration share its scheme, and its binaries, apart from those with a final
calibration: they need out-of-fold scores, which take time that the others do not need.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from polytomy.errors import PolytomyError, PolytomyWarning
from polytomy.inputs.rows import take_rows
from polytomy.learners.svm.machines import pool_by_bytes
from polytomy.learners.trained import TrainedBinary
from polytomy.learners.workload import TrainingOptions
from polytomy.metrics import METRICS, JudgedSamples
from polytomy.metrics.reliability import check_bins, reliability_sums
from polytomy.model.arrangement import bind_classes, check_solver
from polytomy.model.composition import Composition
from polytomy.model.fitting import TrainedBinaries, TrainingPlan, fit_binaries, plan_training
from polytomy.model.scheme_argument import members_of, scheme_from
from polytomy.scheme import Scheme, SchemeEnsemble
from polytomy.trials.datasets import Dataset
from polytomy.trials.measures import MEASURES
from polytomy.trials.protocol import CALIBRATION, FOLDS, Pair, Protocol, Split, describe_estimator

Floats = NDArray[np.float64]

# Predictions are repeated until they have taken this long, but no more often than this.
_LEAST_SECONDS = 0.1
_MOST_PREDICTIONS = 10
_RELIABILITY_BINS = 10
_NOT_CALIBRATED = (
    "there is no final calibration: the solver gives no probabilities, or a fold could not be "
    "trained"
)


@dataclass(frozen=True, slots=True, eq=False)
class Configuration:
    """The scheme of a configuration in one trial, or why it cannot be made.

    Attributes
    ----------
    scheme : Scheme or SchemeEnsemble; None if there is a problem
    problem : str, empty if there is none
    seconds : time to make the scheme
    """

    scheme: Scheme | SchemeEnsemble | None
    problem: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """The trained binaries of a configuration.

    Attributes
    ----------
    plan : TrainingPlan
    trained : TrainedBinaries
    seconds : time to make the scheme and to train, as if this had been the only configuration
    """

    plan: TrainingPlan
    trained: TrainedBinaries
    seconds: float

    def compose(self, pair: Pair) -> tuple[Composition, float]:
        """Return the composition of a pair, and its total training time in seconds.

        Learning a final calibration counts as training.
        """
        started = perf_counter()
        trained = self.trained.with_final_calibration(pair.final_calibration)
        composition = self.plan.compose(trained, pair.solver)
        return composition, self.seconds + perf_counter() - started


def make_schemes(dataset: Dataset, pairs: Sequence[Pair], split: Split) -> dict[str, Configuration]:
    """Return the scheme of each configuration, by name, made from the training samples."""
    made: dict[str, Configuration] = {}
    for pair in pairs:
        if pair.configuration in made:
            continue
        started = perf_counter()
        try:
            scheme = scheme_from(
                pair.scheme,
                dataset.classes,
                X=split.X_train,
                y=split.y_train,
                random_state=split.seed,
                class_order=dataset.classes,
            )
            for member in members_of(scheme):
                bind_classes(member, dataset.classes)
        except PolytomyError as error:
            made[pair.configuration] = Configuration(None, str(error))
            continue
        made[pair.configuration] = Configuration(scheme, seconds=perf_counter() - started)
    return made


def train_binaries(
    configurations: dict[str, Configuration],
    pairs: Sequence[Pair],
    dataset: Dataset,
    estimator: Any,
    split: Split,
    n_jobs: int | None = None,
    on_trained: Callable[[str], None] | None = None,
) -> dict[tuple[str, bool], Training]:
    """Train the binaries of all pairs, configuration by configuration, to measure each time.

    Out-of-fold scores take time that pairs without a final calibration do not need, so a
    configuration is trained once with them and once without.

    Parameters
    ----------
    configurations : configurations by name; those with a problem are left out
    pairs : pairs that use them
    dataset : Dataset
    estimator : binary classifier
    split : training samples
    n_jobs : number of joblib jobs for the binaries
    on_trained : called with the name of each configuration that is trained

    Returns
    -------
    dict of Training by the name of the configuration and whether there are out-of-fold scores, for
    a final calibration
    """
    classes = np.array(dataset.classes, dtype=object)
    found: dict[tuple[str, bool], Training] = {}
    for pair in pairs:
        configuration, is_calibrated = configurations[pair.configuration], pair.is_calibrated
        key = pair.configuration, is_calibrated
        if key in found or configuration.scheme is None:
            continue
        options = TrainingOptions(
            calibration=CALIBRATION,
            # Any will do: each pair learns its own from the out-of-fold scores.
            final_calibration="bias" if is_calibrated else None,
            cv=FOLDS,
            random_state=split.seed,
            n_jobs=n_jobs,
            classes=classes,
            class_indices=split.class_indices_train,
        )
        started = perf_counter()
        plan = plan_training([configuration.scheme], classes, estimator)
        trained = fit_binaries(plan.dichotomies, split.X_train, options)
        seconds = configuration.seconds + perf_counter() - started
        found[key] = Training(plan, trained, seconds)
        if on_trained is not None:
            on_trained(f"{pair.configuration}, calibrated" if is_calibrated else pair.configuration)
    return found


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
        schemes = make_schemes(dataset, protocol.pairs, split)
        trained = train_binaries(
            schemes, protocol.pairs, dataset, estimator, split, n_jobs, on_trained
        )
        cells = [
            _measure_pair(
                pair,
                schemes[pair.configuration],
                trained.get((pair.configuration, pair.is_calibrated)),
                len(dataset.classes),
                split,
            )
            for pair in protocol.pairs
        ]
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
        "schemes": {
            name: "" if each.scheme is None else str(each.scheme) for name, each in schemes.items()
        },
        "cells": cells,
    }


def _measure_pair(
    pair: Pair,
    configuration: Configuration,
    training: Training | None,
    n_classes: int,
    split: Split,
) -> dict[str, Any]:
    cell: dict[str, Any] = {"configuration": pair.configuration, "method": pair.method}
    if pair.final_calibration is not None:
        cell["final_calibration"] = pair.final_calibration
    if configuration.scheme is None or training is None:
        return cell | {"problem": configuration.problem}
    try:
        for member in members_of(configuration.scheme):
            check_solver(member, pair.solver)
    except PolytomyError as error:
        return cell | {"problem": str(error)}
    composition, fit_seconds = training.compose(pair)
    if pair.is_calibrated and composition.final is None:
        return cell | {"problem": _NOT_CALIBRATED}
    seconds, scores = _predict(composition, split.X_test)
    judged = _judge(composition, scores, split.class_indices_test)
    confusion = np.zeros((n_classes, n_classes), dtype=np.int64)
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
    return cell | {
        "problem": "",
        "scores": found,
        "confusion": confusion.tolist(),
        "reliability": reliability,
    }


def _judge(composition: Composition, scores: Floats, truth: NDArray[np.intp]) -> JudgedSamples:
    known = {"labels"}
    if composition.gives_probabilities:
        known |= {"confidence", "probabilities"}
    elif composition.solver == "greedy":  # it gives only the probability of the winner
        known.add("confidence")
    classes = range(scores.shape[1])
    predicted = composition.winners(scores)
    return JudgedSamples(truth, scores, np.ones(len(truth)), classes, predicted, frozenset(known))


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
