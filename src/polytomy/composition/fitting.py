"""Training the binaries of a scheme, in parallel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.binary import TrainedBinary, binary_problem, update_binary
from polytomy.binary.options import TrainingListener, TrainingOptions
from polytomy.binary.sides import side_binaries, sides_problem
from polytomy.binary.updating import update_sides
from polytomy.composition.dichotomies import Dichotomy
from polytomy.composition.dichotomy_training import group_sides, train_dichotomies
from polytomy.composition.joblib_cluster import find_cluster, train_on_cluster
from polytomy.composition.out_of_fold import (
    OutOfFold,
    calibration_weights,
    plan_out_of_fold,
    share_held_out_part,
)
from polytomy.composition.priors import ClassFrequencies
from polytomy.composition.shared_preprocessing import share_preprocessing
from polytomy.errors import ArgumentError, CalibrationWarning, warn_caller
from polytomy.inputs.class_indices import group_rows
from polytomy.inputs.seeds import partition_seeds
from polytomy.svm.common_gamma import fix_gamma

__all__ = [
    "TrainedBinaries",
    "fit_binaries",
    "update_binaries",
    "warn_of_shortcomings",
]

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
    cluster = find_cluster(options)
    if cluster is not None:
        binaries, held_out = train_on_cluster(
            cluster, dichotomies, rows_of_class, X, options, seeds, listener
        )
    else:
        binaries, held_out = train_dichotomies(
            dichotomies, rows_of_class, X, options, seeds, listener
        )
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
