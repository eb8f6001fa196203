"""Training the binaries of a scheme: folds, shared pre-processing, and the learners in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from polytomy.calibration.folds import Folds
from polytomy.errors import ArgumentError, CalibrationWarning, warn_caller
from polytomy.inputs.rows import group_rows
from polytomy.inputs.seeds import partition_seeds
from polytomy.learners.any_estimator import train_estimators
from polytomy.learners.linear.training import train_linear_models
from polytomy.learners.options import TrainingListener, TrainingOptions
from polytomy.learners.problems import Dichotomy, binary_problem, sides_problem
from polytomy.learners.sides import side_binaries, train_sided_models
from polytomy.learners.svm.suitability import (
    fix_gamma,
)
from polytomy.learners.svm.training import train_svms
from polytomy.learners.trained import TrainedBinary
from polytomy.learners.updating import update_binary, update_sides
from polytomy.learners.workload import Trained, Workload
from polytomy.model.decisions import ClassFrequencies
from polytomy.model.out_of_fold import (
    OutOfFold,
    calibration_weights,
    collect_out_of_fold,
    find_fold_rule,
    plan_folds,
)
from polytomy.model.preprocessing import SharedPreprocessing, share_preprocessing

LEARNERS: tuple[Callable[[Workload], list[Trained | None]], ...] = (
    train_svms,
    train_linear_models,
    train_sided_models,
    train_estimators,
)
"""Who trains binaries, in the order in which they are asked."""

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

    Support vector machines are trained together, in threads, if their kernel matrix fits in the
    memory budget. So are logistic regressions and linear support vector classifiers. All others are
    distributed over joblib's jobs. With joblib's "dask" backend, all of them are trained on the
    cluster. The result depends neither on the backend nor on the number of jobs: each dichotomy
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
    if seeds is None:
        seeds = partition_seeds(options.random_state, len(dichotomies))
    rule = find_fold_rule(dichotomies, n_classes, options)
    folds = plan_folds(rule, X, class_indices, n_classes, len(dichotomies), options)
    shared = SharedPreprocessing(dichotomies, X, options)
    if options.shares_preprocessing:
        shared = share_preprocessing(dichotomies, X, options)
    X, options = shared.X, shared.options
    estimators = fix_gamma([each.estimator for each in shared.dichotomies], X)
    dichotomies = [
        each._replace(estimator=estimator)
        for each, estimator in zip(dichotomies, estimators, strict=True)
    ]
    train = train_dichotomies
    if type(get_active_backend()[0]).__name__ == "DaskDistributedBackend":
        from polytomy.dask.joblib_backend import train_on_cluster as train
    rows_of_class = group_rows(class_indices, n_classes)
    trained = train(dichotomies, rows_of_class, X, options, folds, seeds, listener)
    binaries = [each.binary for each in trained]
    warn_of_shortcomings(binaries)
    out_of_fold = None
    if folds is not None and rule is not None and rule.final_calibration is not None:
        out_of_fold = collect_out_of_fold(
            rule, folds, trained, X, class_indices, options, n_classes
        )
    frequencies = ClassFrequencies.from_weights(
        class_indices,
        n_classes,
        options.arguments.given_weight,
        calibration_weights(options, class_indices, n_classes),
    )
    return TrainedBinaries(binaries, out_of_fold, shared.pipeline, shared.seconds, frequencies)


def train_dichotomies(
    dichotomies: Sequence[Dichotomy],
    rows_of_class: Sequence[NDArray[np.intp]],
    X: Any,
    options: TrainingOptions,
    folds: Folds | None,
    seeds: Sequence[int | None],
    listener: TrainingListener | None = None,
) -> list[Trained]:
    """Return a trained binary for each dichotomy, in their order.

    The learners are asked in turn which of the dichotomies they train; the last one trains all that
    are left. Every gamma is already a number if possible.

    Parameters
    ----------
    dichotomies : dichotomies with sides as class indices; those with a trained model keep it
    rows_of_class : as `polytomy.inputs.rows.group_rows` returns them
    X : training data of any kind
    options : TrainingOptions
    folds : Folds, optional
    seeds : one for each dichotomy
    listener : TrainingListener, optional
    """
    work = Workload.of(dichotomies, rows_of_class, X, options, folds, seeds, listener)
    found = {
        k: Trained(each.trained) for k, each in enumerate(dichotomies) if each.trained is not None
    }
    if work.listener.wants_estimates:
        from polytomy.learners.svm.estimates import estimate_training  # seldom needed

        if (estimate := estimate_training(work)) is not None:
            work.listener.note(str(estimate))
    for learner in LEARNERS:
        left = [k for k in range(len(dichotomies)) if k not in found]
        if not left:
            break
        results = zip(left, learner(work.take(left)), strict=True)
        found |= {k: trained for k, trained in results if trained is not None}
    return [found[k] for k in range(len(dichotomies))]


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
