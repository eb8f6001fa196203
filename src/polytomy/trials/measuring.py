"""One trial: a split of a dataset, on which every pair is trained, asked and judged.

All pairs have the same split. A dichotomy that occurs in several configurations is trained once,
and its training time is charged to each of them as if it were alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from polytomy import metrics
from polytomy.banks import build_bank
from polytomy.banks.vector_union import pool_by_bytes
from polytomy.binary import TrainedBinary
from polytomy.composition import (
    Arrangement,
    Dichotomy,
    arrange,
    bind_classes,
    check_solver,
    fit_binaries,
    gives_probabilities,
    mean_scores,
    members_of,
    scheme_from,
)
from polytomy.errors import PolytomyError, PolytomyWarning
from polytomy.inputs.rows import take_rows
from polytomy.scheme import Scheme
from polytomy.trials.pairs import Pair
from polytomy.trials.protocol import CALIBRATION, FOLDS, Protocol, Split, describe_estimator
from polytomy.trials.sources import Dataset

__all__ = ["count_support_vectors", "measure_trial"]

Floats = NDArray[np.float64]

_RELIABILITY_BINS = 10
# Predictions are repeated until they took so long together, but no more often than this.
_LEAST_SECONDS = 0.1
_MOST_PREDICTIONS = 10


@dataclass
class _Configuration:
    """A scheme of one trial, and what became of it."""

    members: tuple[Scheme, ...] = ()
    text: str = ""
    problem: str = ""
    seconds: float = 0.0
    arrangements: list[Arrangement] = field(default_factory=list)
    binaries: list[TrainedBinary] = field(default_factory=list)


def measure_trial(
    dataset: Dataset,
    protocol: Protocol,
    repeat: int,
    *,
    n_jobs: int | None = None,
    on_trained: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Return what came out of one trial, as values that JSON has.

    Parameters
    ----------
    dataset : Dataset
    protocol : Protocol
    repeat : number of the trial, from zero
    n_jobs : jobs of joblib over the binaries
    on_trained : called with the name of each configuration that is trained

    Returns
    -------
    dict
        ``cells`` has one for each pair: the measures in ``scores``, None where one means nothing;
        the ``confusion`` matrix (rows are the true classes); the ``reliability`` of the
        probabilities of all classes, for each tenth the number of probabilities, their sum, and
        how many of them came true; and ``problem``, why the pair cannot be done, else empty.
        ``schemes`` has for each configuration its control text.
    """
    started = perf_counter()
    estimator = protocol.estimator_for(dataset.name)
    split = protocol.split(dataset, repeat)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PolytomyWarning)
        schemes = _make_schemes(dataset, protocol.pairs, split)
        _train_schemes(schemes, dataset, estimator, split, n_jobs, on_trained)
        cells = [
            _judge(pair, schemes[pair.configuration], dataset, split) for pair in protocol.pairs
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
        "n_train": len(split.codes_train),
        "n_test": len(split.codes_test),
        "n_jobs": n_jobs,
        "seconds": perf_counter() - started,
        "warnings": sorted({str(each.message) for each in own}),
        "schemes": {name: each.text for name, each in schemes.items()},
        "cells": cells,
    }


def _make_schemes(
    dataset: Dataset, pairs: Sequence[Pair], split: Split
) -> dict[str, _Configuration]:
    made: dict[str, _Configuration] = {}
    for pair in pairs:
        if pair.configuration in made:
            continue
        configuration = made[pair.configuration] = _Configuration()
        started = perf_counter()
        try:
            scheme = scheme_from(
                pair.scheme,
                dataset.classes,
                X=split.X_train,
                y=split.y_train,
                random_state=split.seed,
            )
            for member in members_of(scheme):
                bind_classes(member, dataset.classes)
        except PolytomyError as error:
            configuration.problem = str(error)
            continue
        configuration.seconds = perf_counter() - started
        configuration.members, configuration.text = members_of(scheme), str(scheme)
    return made


def _train_schemes(
    schemes: dict[str, _Configuration],
    dataset: Dataset,
    estimator: Any,
    split: Split,
    n_jobs: int | None,
    on_trained: Callable[[str], None] | None,
) -> None:
    """Train what is needed, configuration by configuration, so that each has a time of its own."""
    possible = {name: each for name, each in schemes.items() if each.members}
    every = [member for each in possible.values() for member in each.members]
    wanted, arrangements = arrange(every, dataset.classes, estimator)
    remaining = iter(arrangements)
    trained: dict[int, TrainedBinary] = {}
    for name, each in possible.items():
        parts = [next(remaining) for _ in each.members]
        # In the order of the scheme, so that each has the seed that it would have alone.
        columns = list(dict.fromkeys(k for part in parts for k in part.columns.tolist()))
        place = {k: i for i, k in enumerate(columns)}
        each.arrangements = [
            part._replace(columns=np.array([place[k] for k in part.columns.tolist()], np.intp))
            for part in parts
        ]
        # Those of an earlier configuration are not trained again, but counted.
        each.seconds += sum(trained[k].seconds for k in columns if k in trained)
        own = [_with_binary(wanted[k], trained.get(k)) for k in columns]
        started = perf_counter()
        each.binaries = fit_binaries(
            own,
            split.X_train,
            split.codes_train,
            len(dataset.classes),
            calibration=CALIBRATION,
            cv=FOLDS,
            random_state=split.seed,
            n_jobs=n_jobs,
        )
        each.seconds += perf_counter() - started
        trained |= dict(zip(columns, each.binaries, strict=True))
        if on_trained is not None:
            on_trained(name)


def _with_binary(dichotomy: Dichotomy, binary: TrainedBinary | None) -> Dichotomy:
    return dichotomy if binary is None else dichotomy._replace(trained=binary)


def _judge(
    pair: Pair, configuration: _Configuration, dataset: Dataset, split: Split
) -> dict[str, Any]:
    cell: dict[str, Any] = {"configuration": pair.configuration, "method": pair.method}
    problem = configuration.problem
    try:
        for member in configuration.members:
            check_solver(member, pair.solver)
    except PolytomyError as error:
        problem = str(error)
    if problem:
        return cell | {"problem": problem}
    seconds, scores = _predict(pair, configuration, split.X_test)
    n_classes = len(dataset.classes)
    predicted = np.argmax(scores, axis=1)
    confusion = np.zeros((n_classes, n_classes), dtype=np.int64)
    np.add.at(confusion, (split.codes_test, predicted), 1)
    found: dict[str, Any] = {
        "uncertainty_coefficient": metrics.uncertainty_coefficient(split.codes_test, predicted),
        "accuracy": float(np.mean(predicted == split.codes_test)),
        **_judge_probabilities(pair, split.codes_test, scores),
        "fit_seconds": configuration.seconds,
        "predict_seconds": seconds,
        "n_binaries": len(configuration.binaries),
        "n_support_vectors": count_support_vectors(configuration.binaries),
    }
    reliability = None
    if gives_probabilities(pair.solver):
        reliability = _pooled_reliability(split.codes_test, scores)
    return cell | {
        "problem": "",
        "scores": found,
        "confusion": confusion.tolist(),
        "reliability": reliability,
    }


def _predict(pair: Pair, configuration: _Configuration, X: Any) -> tuple[float, Floats]:
    """Return the seconds that the test part takes, and the scores of its samples.

    What is quick is done several times, for the least time is what the machine's other work
    disturbs least.
    """
    bank = build_bank(configuration.binaries)
    own = configuration.arrangements
    # What is compiled or put together at first use.
    mean_scores(own, bank, take_rows(X, np.arange(1)), pair.solver)
    times: list[float] = []
    while sum(times) < _LEAST_SECONDS and len(times) < _MOST_PREDICTIONS:
        started = perf_counter()
        scores = mean_scores(own, bank, X, pair.solver)
        times.append(perf_counter() - started)
    return min(times), scores


def _judge_probabilities(pair: Pair, truth: NDArray[np.intp], scores: Floats) -> dict[str, Any]:
    if gives_probabilities(pair.solver):
        given = truth, scores, np.arange(scores.shape[1])
        return {
            "brier_score": metrics.brier_score(*given),
            "winner_brier_score": metrics.winner_brier_score(*given),
            "log_loss": metrics.log_loss(*given),
            "calibration_error": metrics.classwise_calibration_error(*given),
        }
    nothing = dict.fromkeys(
        ("brier_score", "winner_brier_score", "log_loss", "calibration_error"), None
    )
    if pair.solver != "greedy":
        return nothing
    # The greedy walk gives the winner's probability, and no other.
    is_right = np.argmax(scores, axis=1) == truth
    error = float(np.sqrt(np.mean((scores.max(axis=1) - is_right) ** 2)))
    return nothing | {"winner_brier_score": error}


def _pooled_reliability(truth: NDArray[np.intp], scores: Floats) -> list[list[float]]:
    classes = np.arange(scores.shape[1])
    table = metrics.reliability_table(truth, scores, classes, bins=_RELIABILITY_BINS)
    weight = table["weight"]
    sums = [
        np.sum(np.nan_to_num(table[each]) * weight, axis=0) for each in ("predicted", "observed")
    ]
    by_bin: list[list[float]] = np.column_stack([weight.sum(axis=0), *sums]).round(9).tolist()
    return by_bin


def count_support_vectors(binaries: Sequence[TrainedBinary]) -> int | None:
    """Return the number of different support vectors; None where there are no such machines."""
    groups: dict[bool, list[Any]] = {}
    for binary in binaries:
        steps = getattr(binary.estimator, "steps", None)
        vectors = getattr(steps[-1][1] if steps else binary.estimator, "support_vectors_", None)
        if vectors is not None:
            groups.setdefault(bool(issparse(vectors)), []).append(vectors)
    if not groups:
        return None
    return sum(len(pool_by_bytes(matrices).rows) for matrices in groups.values())
