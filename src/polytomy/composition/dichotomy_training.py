"""Training the binaries of dichotomies: linear models and machines together, others in jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from polytomy.binary import TrainedBinary, binary_problem
from polytomy.binary.answers import HeldOutScores
from polytomy.binary.options import TrainingListener, TrainingOptions
from polytomy.binary.sides import sides_problem
from polytomy.binary.sides_training import train_sides
from polytomy.binary.training import train_and_hold_out
from polytomy.composition.dichotomies import Dichotomy
from polytomy.composition.shared_kernel import train_together
from polytomy.composition.shared_linear import train_linear_together

__all__ = ["group_sides", "train_dichotomies"]

_Trained = tuple[TrainedBinary, HeldOutScores | None]


def train_dichotomies(
    dichotomies: Sequence[Dichotomy],
    rows_of_class: Sequence[NDArray[np.intp]],
    X: Any,
    options: TrainingOptions,
    seeds: Sequence[int | None],
    listener: TrainingListener,
) -> tuple[list[TrainedBinary], list[HeldOutScores | None]]:
    """Return the binaries of dichotomies, and what was held out in training.

    Shared folds, if any, are in the options, and every gamma is already a number if possible.

    Parameters
    ----------
    dichotomies : dichotomies with sides as class indices; those with a trained model keep it
    rows_of_class : as `polytomy.inputs.class_indices.group_rows` returns them
    X : training data of any kind
    options : TrainingOptions
    seeds : one for each dichotomy
    listener : TrainingListener
    """
    binaries: list[TrainedBinary | None] = [each.trained for each in dichotomies]
    held_out: list[HeldOutScores | None] = [None] * len(dichotomies)
    left = [i for i, binary in enumerate(binaries) if binary is None]
    for train in (train_linear_together, train_together):
        alike = [i for i in left if _can_be_shared(dichotomies[i], options)]
        if not alike:
            break
        together = train(
            [dichotomies[i] for i in alike],
            rows_of_class,
            X,
            options,
            [seeds[i] for i in alike],
            listener,
        )
        for i, binary, scores in zip(alike, together.binaries, together.held_out, strict=True):
            binaries[i], held_out[i] = binary, scores
        left = [i for i in left if binaries[i] is None]
    together_with = group_sides(dichotomies, left)
    tasks = (
        delayed(_train)(
            [dichotomies[i] for i in group],
            rows_of_class,
            X,
            options.for_partition(seeds[group[0]], dichotomies[group[0]].model),
        )
        for group in together_with
    )
    # joblib would start its workers even without a task.
    results = _run_parallel(tasks, options.n_jobs) if left else ()
    for group, trained_group in zip(together_with, results, strict=True):
        for i, (binary, scores) in zip(group, trained_group, strict=True):
            binaries[i], held_out[i] = binary, scores
            listener.trained(dichotomies[i].name)
    return [binary for binary in binaries if binary is not None], held_out


def _can_be_shared(dichotomy: Dichotomy, options: TrainingOptions) -> bool:
    """Return whether a dichotomy has two sides and no `fit` arguments of its own."""
    has_own = options.arguments_for(dichotomy.model) is not options.arguments
    return dichotomy.whole is None and not has_own and not options.arguments.fit_params


def group_sides(dichotomies: Sequence[Dichotomy], positions: Sequence[int]) -> list[list[int]]:
    """Return groups of positions; sides of the same partition, which share a model, are together.

    Parameters
    ----------
    dichotomies : all dichotomies
    positions : which of them to group
    """
    groups: dict[Any, list[int]] = {}
    for i in positions:
        groups.setdefault(i if dichotomies[i].whole is None else dichotomies[i].whole, []).append(i)
    return list(groups.values())


def _run_parallel(tasks: Iterable[Any], n_jobs: int | None) -> Iterable[list[_Trained]]:
    """Return the results of tasks in order, one by one as they arrive if possible."""
    parallel = Parallel(n_jobs=n_jobs)
    # A backend that cannot stream its results, such as Dask's, raises a ValueError.
    with suppress(ValueError):
        parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    results: Iterable[list[_Trained]] = parallel(tasks)
    return results


def _train(
    dichotomies: Sequence[Dichotomy],
    rows_of_class: Sequence[NDArray[np.intp]],
    X: Any,
    options: TrainingOptions,
) -> list[_Trained]:
    """Return the binary of a dichotomy, or the binaries of all sides of a partition."""
    dichotomy, started = dichotomies[0], perf_counter()
    # Warnings would be lost in a worker, so the binary carries its shortcoming back instead.
    if dichotomy.whole is not None:
        whole = sides_problem(rows_of_class, dichotomy.whole.sides, name=dichotomy.whole.name)
        binaries, scores = train_sides(dichotomy.estimator, X, whole, options)
        binaries[0] = replace(binaries[0], seconds=perf_counter() - started)
        return [(binaries[each.side], scores[each.side]) for each in dichotomies]
    problem = binary_problem(
        rows_of_class, dichotomy.negative, dichotomy.positive, name=dichotomy.name
    )
    binary, held_out = train_and_hold_out(dichotomy.estimator, X, problem, options)
    return [(replace(binary, seconds=perf_counter() - started), held_out)]
