"""Training the binaries of a scheme, in parallel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from polytomy.binary import TrainedBinary, binary_problem, update_binary
from polytomy.binary.answers import HeldOutScores
from polytomy.binary.options import TrainingListener, TrainingOptions
from polytomy.binary.sides import sides_problem
from polytomy.binary.sides_training import train_sides
from polytomy.binary.training import train_and_hold_out
from polytomy.calibration import UncalibratedMap
from polytomy.composition.dichotomies import Dichotomy
from polytomy.composition.out_of_fold import (
    OutOfFold,
    calibration_weights,
    plan_out_of_fold,
)
from polytomy.composition.priors import ClassFrequencies
from polytomy.composition.shared_kernel import train_together
from polytomy.composition.shared_preprocessing import share_preprocessing
from polytomy.errors import ArgumentError, CalibrationWarning, warn_caller
from polytomy.inputs.class_indices import group_rows
from polytomy.inputs.seeds import partition_seeds
from polytomy.svm.common_gamma import fix_gamma

__all__ = ["TrainedBinaries", "fit_binaries", "update_binaries"]

_MOST_SHORTCOMINGS = 3


@dataclass(frozen=True, slots=True, eq=False)
class TrainedBinaries:
    """The binaries of some dichotomies.

    Attributes
    ----------
    binaries : list of TrainedBinary, in the order of the dichotomies
    out_of_fold : OutOfFold, or None without a final calibration
    preprocessing : fitted transformers that all binaries share, or None
    preprocessing_seconds : float, the time that fitting them took
    frequencies : ClassFrequencies of the training data, if it is known
    """

    binaries: list[TrainedBinary]
    out_of_fold: OutOfFold | None = None
    preprocessing: Any = None
    preprocessing_seconds: float = 0.0
    frequencies: ClassFrequencies | None = None

    @property
    def seconds(self) -> float:
        """Training time of the binaries, one after another, with their pre-processing."""
        return self.preprocessing_seconds + sum(binary.seconds for binary in self.binaries)

    def take(self, columns: Sequence[int]) -> TrainedBinaries:
        """Return some of the binaries."""
        scores = self.out_of_fold
        return replace(
            self,
            binaries=[self.binaries[column] for column in columns],
            out_of_fold=None if scores is None else scores.take_binaries(columns),
        )

    def with_final_calibration(self, final_calibration: Any) -> TrainedBinaries:
        """Return the same binaries for another final calibration, if there is to be any."""
        if self.out_of_fold is None:
            return self
        scores = replace(self.out_of_fold, final_calibration=final_calibration)
        return replace(self, out_of_fold=scores)


def fit_binaries(
    dichotomies: Sequence[Dichotomy],
    X: Any,
    class_indices: NDArray[np.intp],
    n_classes: int,
    options: TrainingOptions | None = None,
    listener: TrainingListener | None = None,
    *,
    seeds: Sequence[int | None] | None = None,
) -> TrainedBinaries:
    """Return a trained binary for each dichotomy, in their order.

    Support vector machines are trained together, in threads, if their kernel matrix fits in the
    memory budget. All others are divided among the jobs of joblib, so any of its backends can be
    chosen with ``joblib.parallel_config``; worker processes see the data as a memory map. The
    result depends neither on the backend nor on the number of jobs: each dichotomy has its own
    seed.

    Parameters
    ----------
    dichotomies : dichotomies with sides as class indices; those with a trained model keep it
    X : training data of any kind
    class_indices : array of shape (n_rows,), the index of each sample's class
    n_classes : int
    options : TrainingOptions, optional
    listener : TrainingListener, optional
        Called in this process.
    seeds : sequence of ints, one for each dichotomy, optional
        By default they come from the random_state of the options.
    """
    options = TrainingOptions() if options is None else options
    listener = TrainingListener() if listener is None else listener
    rows_of_class = group_rows(class_indices, n_classes)
    if seeds is None:
        seeds = partition_seeds(options.random_state, len(dichotomies))
    plan = plan_out_of_fold(dichotomies, X, class_indices, n_classes, options)
    shared = share_preprocessing(dichotomies, X, options)
    X, options = shared.X, shared.options
    estimators = fix_gamma([each.estimator for each in shared.dichotomies], X)
    dichotomies = [
        each._replace(estimator=estimator)
        for each, estimator in zip(dichotomies, estimators, strict=True)
    ]
    if plan is not None:
        options = replace(options, folds=plan.folds)
    binaries: list[TrainedBinary | None] = [each.trained for each in dichotomies]
    held_out: list[HeldOutScores | None] = [None] * len(dichotomies)
    left = [i for i, binary in enumerate(binaries) if binary is None]
    alike = [
        i
        for i in left
        if dichotomies[i].whole is None
        and options.arguments_for(dichotomies[i].model) is options.arguments
        and not options.arguments.fit_params
    ]
    if alike:
        together = train_together(
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
    together_with = _group_sides(dichotomies, left)
    tasks = (
        delayed(_train)(
            [dichotomies[i] for i in group],
            rows_of_class,
            X,
            options.for_partition(seeds[group[0]], dichotomies[group[0]].model),
        )
        for group in together_with
    )
    # joblib would prepare its workers even without a task.
    results = _run_parallel(tasks, options.n_jobs) if left else ()
    for group, trained_group in zip(together_with, results, strict=True):
        for i, (binary, scores) in zip(group, trained_group, strict=True):
            binaries[i], held_out[i] = binary, scores
            listener.trained(dichotomies[i].name)
    trained = [binary for binary in binaries if binary is not None]
    _warn_of_shortcomings([binary.shortcoming for binary in trained if binary.shortcoming])
    out_of_fold = None if plan is None else plan.collect(trained, held_out, X)
    model_weight = calibration_weights(options, class_indices, n_classes)
    frequencies = ClassFrequencies.from_weights(
        class_indices, n_classes, options.data_weight, model_weight
    )
    return TrainedBinaries(trained, out_of_fold, shared.pipeline, shared.seconds, frequencies)


_Trained = tuple[TrainedBinary, HeldOutScores | None]


def _group_sides(dichotomies: Sequence[Dichotomy], positions: Sequence[int]) -> list[list[int]]:
    """Return the positions, those of one partition's sides together: they share a model."""
    groups: dict[Any, list[int]] = {}
    for i in positions:
        groups.setdefault(i if dichotomies[i].whole is None else dichotomies[i].whole, []).append(i)
    return list(groups.values())


def _run_parallel(tasks: Iterable[Any], n_jobs: int | None) -> Iterable[list[_Trained]]:
    """Return the results of tasks in their order, one by one as they come if possible."""
    parallel = Parallel(n_jobs=n_jobs)
    # A backend that cannot stream its results, such as dask's, raises a ValueError.
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
    # Warnings would be lost in a worker; the binary carries its shortcoming back instead.
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


def _warn_of_shortcomings(shortcomings: list[str]) -> None:
    if not shortcomings:
        return
    shown = " ".join(shortcomings[:_MOST_SHORTCOMINGS])
    more = len(shortcomings) - _MOST_SHORTCOMINGS
    if more > 0:
        shown += f" {more} more partitions have the same problem."
    warn_caller(shown, CalibrationWarning)


def update_binaries(
    binaries: Sequence[TrainedBinary] | None,
    dichotomies: Sequence[Dichotomy],
    X: Any,
    class_indices: NDArray[np.intp],
    n_classes: int,
    options: TrainingOptions,
    *,
    is_calibrated: bool = False,
) -> list[TrainedBinary]:
    """Return the binaries after one more batch; `binaries` is None before the first.

    `is_calibrated` says whether there is a final calibration, which will not fit them any more.
    """
    for arguments in (options.arguments, *options.arguments_by_model.values()):
        if arguments.fit_params:
            raise ArgumentError(f"partial_fit does not take {', '.join(arguments.fit_params)}.")
    maps = [binary.calibrator for binary in binaries or ()]
    if is_calibrated or any(
        each is not None and not isinstance(each, UncalibratedMap) for each in maps
    ):
        warn_caller(
            "partial_fit changes binaries that fit has calibrated; their answers are no longer "
            "calibrated",
            CalibrationWarning,
        )
    rows_of_class = group_rows(class_indices, n_classes)
    seeds = partition_seeds(options.random_state, len(dichotomies))
    updated = []
    for i, each in enumerate(dichotomies):
        if each.trained is not None:
            updated.append(each.trained)
            continue
        if each.whole is not None:
            raise ArgumentError(
                f'partial_fit trains binary partitions only; "{each.whole.name}" has '
                f"{len(each.whole.sides)} sides. Use fit, or @one-vs-one in place of the partition."
            )
        problem = binary_problem(rows_of_class, each.negative, each.positive, name=each.name)
        updated.append(
            update_binary(
                None if binaries is None else binaries[i],
                each.estimator,
                X,
                problem,
                random_state=seeds[i],
                sample_weight=options.arguments_for(each.model).sample_weight,
            )
        )
    return updated
