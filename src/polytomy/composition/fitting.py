"""Training the binaries of a scheme, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from polytomy.binary import (
    TrainedBinary,
    balance_sides,
    binary_problem,
    train_binary,
    update_binary,
)
from polytomy.composition.dichotomies import Dichotomy
from polytomy.composition.metadata import Arguments
from polytomy.composition.shared_kernel import train_together
from polytomy.errors import CalibrationWarning, warn_caller
from polytomy.inputs.class_indices import group_rows
from polytomy.inputs.rows import count_rows
from polytomy.inputs.seeds import partition_seeds

__all__ = ["fit_binaries", "update_binaries"]

_MOST_SHORTCOMINGS = 3


def fit_binaries(
    wanted: Sequence[Dichotomy],
    X: Any,
    codes: NDArray[np.intp],
    n_classes: int,
    *,
    calibration: Any = "auto",
    cv: Any = 5,
    random_state: Any = None,
    sample_weight: NDArray[np.float64] | None = None,
    balance_partitions: bool = False,
    fit_params: Mapping[str, Any] | None = None,
    of_models: Mapping[str, Arguments] | None = None,
    n_jobs: int | None = None,
    memory_budget: float | None = None,
    on_trained: Callable[[Dichotomy], None] | None = None,
    on_note: Callable[[str], None] | None = None,
) -> list[TrainedBinary]:
    """Return a trained binary for each dichotomy, in their order.

    Support vector machines are trained together, in threads, where their kernel matrix fits in
    the memory budget. The others' work is divided by joblib, so any of its backends can be chosen
    with ``joblib.parallel_config``; worker processes see the data as a memory map. The result
    depends neither on the backend nor on the number of jobs: each dichotomy has a seed of its own.

    Parameters
    ----------
    wanted : dichotomies of class positions; those with a trained model keep it
    X : training data of any kind
    codes : position in the scheme of each sample's class
    n_classes : number of classes of the scheme
    calibration, cv, sample_weight, fit_params : see `polytomy.binary.train_binary`
    of_models : sample_weight and fit_params of the estimators given under names, where these differ
    random_state : fixes all folds and all estimators
    balance_partitions : whether the two sides of each dichotomy weigh the same
    n_jobs : number of jobs of joblib
    memory_budget : bytes that a shared kernel matrix may take; by default a quarter of the memory
    on_trained : called in this process with each dichotomy that is ready
    on_note : called with sentences that say which binaries are trained together, and why not
    """
    rows_of_class = group_rows(codes, n_classes)
    seeds = partition_seeds(random_state, len(wanted))
    binaries: list[TrainedBinary | None] = [each.trained for each in wanted]
    common = Arguments(sample_weight, fit_params or {})
    arguments = [(of_models or {}).get(each.model or "", common) for each in wanted]
    left = [i for i, binary in enumerate(binaries) if binary is None]
    alike = [i for i in left if arguments[i] is common and not common.others]
    if alike:
        together = train_together(
            [wanted[i] for i in alike],
            rows_of_class,
            X,
            calibration=calibration,
            cv=cv,
            seeds=[seeds[i] for i in alike],
            sample_weight=sample_weight,
            balance=balance_partitions,
            memory_budget=memory_budget,
            n_jobs=n_jobs,
            on_trained=on_trained,
            on_note=on_note,
        )
        for i, binary in zip(alike, together, strict=True):
            binaries[i] = binary
        left = [i for i in left if binaries[i] is None]
    tasks = (
        delayed(_train)(
            wanted[i],
            rows_of_class,
            X,
            balance_partitions,
            calibration=calibration,
            cv=cv,
            random_state=seeds[i],
            sample_weight=arguments[i].sample_weight,
            fit_params=arguments[i].others,
        )
        for i in left
    )
    # Even without any task, joblib would prepare its workers.
    results = _run(tasks, n_jobs, stream=on_trained is not None) if left else ()
    for i, binary in zip(left, results, strict=True):
        binaries[i] = binary
        if on_trained is not None:
            on_trained(wanted[i])
    trained = [binary for binary in binaries if binary is not None]
    _warn_of_shortcomings([binary.shortcoming for binary in trained if binary.shortcoming])
    return trained


def _run(tasks: Iterable[Any], n_jobs: int | None, *, stream: bool) -> Iterable[TrainedBinary]:
    """Return the results of tasks in their order, where possible one by one as they come."""
    parallel = Parallel(n_jobs=n_jobs)
    if stream:
        # A backend that cannot stream, such as dask's, refuses to.
        with suppress(ValueError):
            parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    results: Iterable[TrainedBinary] = parallel(tasks)
    return results


def _train(
    dichotomy: Dichotomy,
    rows_of_class: Sequence[NDArray[np.intp]],
    X: Any,
    balance_partitions: bool,
    *,
    sample_weight: NDArray[np.float64] | None,
    **options: Any,
) -> TrainedBinary:
    problem = binary_problem(
        rows_of_class, dichotomy.negative, dichotomy.positive, name=dichotomy.name
    )
    if balance_partitions:
        sample_weight = balance_sides(problem, sample_weight, count_rows(X))
    started = perf_counter()
    # Warnings would be lost in a worker; the binary carries its shortcoming back instead.
    binary = train_binary(
        dichotomy.estimator, X, problem, sample_weight=sample_weight, warn=False, **options
    )
    return replace(binary, seconds=perf_counter() - started)


def _warn_of_shortcomings(shortcomings: list[str]) -> None:
    if not shortcomings:
        return
    shown = " ".join(shortcomings[:_MOST_SHORTCOMINGS])
    more = len(shortcomings) - _MOST_SHORTCOMINGS
    if more > 0:
        shown += f" So it is with {more} more."
    warn_caller(shown, CalibrationWarning)


def update_binaries(
    binaries: Sequence[TrainedBinary] | None,
    wanted: Sequence[Dichotomy],
    X: Any,
    codes: NDArray[np.intp],
    n_classes: int,
    *,
    random_state: Any = None,
    sample_weight: NDArray[np.float64] | None = None,
    of_models: Mapping[str, Arguments] | None = None,
) -> list[TrainedBinary]:
    """Return the binaries after one more batch; `binaries` is None before the first."""
    common = Arguments(sample_weight, {})
    rows_of_class = group_rows(codes, n_classes)
    seeds = partition_seeds(random_state, len(wanted))
    updated = []
    for i, each in enumerate(wanted):
        if each.trained is not None:
            updated.append(each.trained)
            continue
        problem = binary_problem(rows_of_class, each.negative, each.positive, name=each.name)
        earlier = None if binaries is None else binaries[i]
        updated.append(
            update_binary(
                earlier,
                each.estimator,
                X,
                problem,
                random_state=seeds[i],
                sample_weight=(of_models or {}).get(each.model or "", common).sample_weight,
            )
        )
    return updated
