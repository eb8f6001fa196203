"""Training the support vector machines of a scheme together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from joblib.parallel import get_active_backend
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from polytomy.errors import ArgumentError, CalibrationWarning, warn_caller
from polytomy.inputs.rows import group_rows
from polytomy.inputs.seeds import partition_seeds
from polytomy.learners.any_estimator import train_and_hold_out
from polytomy.learners.linear.training import LinearTraining, train_linear_models
from polytomy.learners.options import TrainingListener, TrainingOptions
from polytomy.learners.problems import ProblemList, binary_problem
from polytomy.learners.sides import side_binaries, sides_problem, train_sides
from polytomy.learners.svm.estimates import estimate_training
from polytomy.learners.svm.matrix import fix_gamma
from polytomy.learners.svm.training import SharedTraining, train_on_shared_kernel
from polytomy.learners.trained import HeldOutScores, TrainedBinary
from polytomy.learners.updating import update_binary, update_sides
from polytomy.model.decisions import ClassFrequencies
from polytomy.model.dichotomies import Dichotomy
from polytomy.model.out_of_fold import (
    OutOfFold,
    calibration_weights,
    plan_out_of_fold,
    share_held_out_part,
)
from polytomy.model.preprocessing import share_preprocessing

__all__ = [
    "TrainedBinaries",
    "fit_binaries",
    "group_sides",
    "train_dichotomies",
    "train_linear_together",
    "train_together",
    "update_binaries",
    "warn_of_shortcomings",
]


def train_together(
    dichotomies: Sequence[Dichotomy],
    rows_of_class: Sequence[NDArray[np.intp]],
    X: Any,
    options: TrainingOptions,
    seeds: Sequence[int | None],
    listener: TrainingListener,
) -> SharedTraining:
    """Return the binaries that are support vector machines with a common kernel matrix.

    Parameters
    ----------
    dichotomies : dichotomies to train
    rows_of_class : as `polytomy.inputs.rows.group_rows` returns them
    X : training data of any kind
    options : TrainingOptions
    seeds : one for each dichotomy
    listener : TrainingListener

    Returns
    -------
    SharedTraining, with None for each binary that has to be trained alone
    """
    estimators = [each.estimator for each in dichotomies]
    problems = ProblemList(
        rows_of_class,
        [each.name for each in dichotomies],
        [each.negative for each in dichotomies],
        [each.positive for each in dichotomies],
    )
    if listener.wants_estimates:
        estimate = estimate_training(estimators, X, problems, options)
        if estimate is not None:
            listener.note(str(estimate))
    training = train_on_shared_kernel(
        estimators, X, problems, options, seeds=seeds, listener=listener
    )
    for note in training.notes:
        listener.note(note)
    return training


# -- Training the linear models of a scheme together --


def train_linear_together(
    dichotomies: Sequence[Dichotomy],
    rows_of_class: Sequence[NDArray[np.intp]],
    X: Any,
    options: TrainingOptions,
    seeds: Sequence[int | None],
    listener: TrainingListener,
) -> LinearTraining:
    """Return the binaries that are logistic regressions or linear support vector classifiers.

    The parameters are those of `polytomy.model.fitting.train_together`.

    Returns
    -------
    LinearTraining, with None for each binary that has to be trained another way
    """
    problems = ProblemList(
        rows_of_class,
        [each.name for each in dichotomies],
        [each.negative for each in dichotomies],
        [each.positive for each in dichotomies],
    )
    training = train_linear_models(
        [each.estimator for each in dichotomies],
        X,
        problems,
        options,
        seeds=seeds,
        listener=listener,
    )
    for note in training.notes:
        listener.note(note)
    return training


# -- Training the binaries of dichotomies: linear models and machines together, others in jobs --


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
    rows_of_class : as `polytomy.inputs.rows.group_rows` returns them
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


# -- Training the binaries of a scheme, in parallel --


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
        """Total training time of the binaries in seconds, including their pre-processing."""
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
        """Return the same binaries for another final calibration, or for none."""
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

    Logistic regressions and linear support vector classifiers are trained together. So are support
    vector machines, in threads, if their kernel matrix fits in the memory budget. All others are
    distributed over joblib's jobs, and ``joblib.parallel_config`` can choose any backend; worker
    processes see the data as a memory map. With joblib's "dask" backend, all of them are trained on
    the cluster. The result depends neither on the backend nor on the number of jobs: each dichotomy
    has its own seed.

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
    else:
        part = share_held_out_part(X, class_indices, dichotomies, options)
        options = replace(options, folds=part)
    train = train_dichotomies
    if type(get_active_backend()[0]).__name__ == "DaskDistributedBackend":
        from polytomy.dask.joblib_backend import train_on_cluster as train
    binaries, held_out = train(dichotomies, rows_of_class, X, options, seeds, listener)
    warn_of_shortcomings(binaries)
    out_of_fold = None if plan is None else plan.collect(binaries, held_out, X)
    model_weight = calibration_weights(options, class_indices, n_classes)
    frequencies = ClassFrequencies.from_weights(
        class_indices, n_classes, options.data_weight, model_weight
    )
    return TrainedBinaries(binaries, out_of_fold, shared.pipeline, shared.seconds, frequencies)


def warn_of_shortcomings(binaries: Sequence[TrainedBinary]) -> None:
    """Warn about binaries that could not be calibrated, naming the first few."""
    shortcomings = [binary.shortcoming for binary in binaries if binary.shortcoming]
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
) -> list[TrainedBinary]:
    """Return the uncalibrated binaries after one more batch; `binaries` is None for the first."""
    for arguments in (options.arguments, *options.arguments_by_model.values()):
        if arguments.fit_params:
            raise ArgumentError(f"partial_fit does not take {', '.join(arguments.fit_params)}.")
    rows_of_class = group_rows(class_indices, n_classes)
    seeds = partition_seeds(options.random_state, len(dichotomies))
    updated: list[TrainedBinary | None] = [each.trained for each in dichotomies]
    for group in group_sides(dichotomies, [i for i, each in enumerate(updated) if each is None]):
        each, earlier = dichotomies[group[0]], None if binaries is None else binaries[group[0]]
        weight = options.arguments_for(each.model).sample_weight
        given: dict[str, Any] = {"random_state": seeds[group[0]], "sample_weight": weight}
        if each.whole is not None:
            sides = sides_problem(rows_of_class, each.whole.sides, name=each.whole.name)
            model = None if earlier is None else earlier.estimator
            sided = side_binaries(update_sides(model, each.estimator, X, sides, **given))
            for i in group:
                updated[i] = sided[dichotomies[i].side]
            continue
        problem = binary_problem(rows_of_class, each.negative, each.positive, name=each.name)
        updated[group[0]] = update_binary(earlier, each.estimator, X, problem, **given)
    return [binary for binary in updated if binary is not None]
