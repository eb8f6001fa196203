"""Joint training of the linear models of many problems."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning

from polytomy.binary.answers import HeldOutScores, TrainedBinary
from polytomy.binary.options import TrainingListener, TrainingOptions
from polytomy.binary.problem_list import ProblemList
from polytomy.calibration.folds import check_folds, count_folds
from polytomy.calibration.option import make_calibrator
from polytomy.inputs.sparse import is_sparse
from polytomy.linear.batch_training import BatchTrainer, TrainedModel
from polytomy.linear.fitted_models import FittedModels
from polytomy.linear.objectives import LinearObjective, find_objective
from polytomy.routines.runtime.library_threads import one_blas_thread
from polytomy.routines.runtime.threads import run_tasks

__all__ = ["LinearTraining", "train_linear_models"]

# With fewer problems that have the same rows, they are trained one by one.
_FEWEST_STACKED = 4


# Values in a stack (problems times samples), and the approximate bytes per value. A stack with more
# values may not take more memory than the data, or twice as much for the smallest stack. More
# problems would hardly save time.
_STACKED_VALUES = 2**20
_BYTES_OF_VALUE = 32
_SMALLEST_STACK, _LARGEST_STACK = 4, 256
_LARGEST_OF_MANY_ROWS = 8

# Size limits of a batch of problems with different rows.
_BATCH_SAMPLES = 2**16
_BATCH_PROBLEMS = 256

# Most coefficients of all models in a batch, including fold models.
_BATCH_COEFFICIENTS = 2**24

# Feature values, over all problems, that keep a thread busy for some hundredths of a second.
_ENTRIES_PER_THREAD = 10**6


class LinearTraining(NamedTuple):
    """The result of joint training.

    Attributes
    ----------
    binaries : list of TrainedBinary; None for those that must be trained in another way
    held_out : list with HeldOutScores or None for each binary
    notes : sentences that say how many binaries were trained in which way
    """

    binaries: list[TrainedBinary | None]
    held_out: list[HeldOutScores | None]
    notes: list[str]


def train_linear_models(
    estimators: Sequence[Any],
    X: Any,
    problems: ProblemList,
    options: TrainingOptions | None = None,
    *,
    seeds: Sequence[int | None] | None = None,
    listener: TrainingListener | None = None,
) -> LinearTraining:
    """Train all plain LogisticRegression and LinearSVC binaries with one solver.

    Each result is equal to that of :func:`polytomy.binary.train_binary`, but training is faster.
    Problems with the same rows, as in one-vs-rest, are solved together with matrix products; others
    are solved without copying their rows. Fold models for calibration are warm-started from the
    solution for all samples. The solver minimises the same objectives as scikit-learn, at least as
    accurately.

    Parameters
    ----------
    estimators : sequence of n_problems estimators
        Estimators that :func:`polytomy.linear.objectives.find_objective` does not support are left
        to be trained in another way.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
    problems : ProblemList
    options : TrainingOptions, optional
    seeds : sequence of n_problems ints, optional
    listener : TrainingListener, optional

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> rows_of_class = [np.array([k]) for k in range(4)]
    >>> problems = ProblemList(rows_of_class, ["a", "b"], [[0], [0, 1]], [[1, 2, 3], [2, 3]])
    >>> options = TrainingOptions(calibration=None)
    >>> training = train_linear_models([LinearSVC()] * 2, X, problems, options)
    >>> np.sign(training.binaries[1].decisions(X))
    array([-1., -1.,  1.,  1.])
    """
    options = TrainingOptions() if options is None else options
    listener = TrainingListener() if listener is None else listener
    make_calibrator(options.calibration)
    check_folds(options.cv)
    seeds = [None] * len(problems) if seeds is None else seeds
    objectives = _find_objectives(estimators)
    if options.folds is not None and options.folds.is_only_part:
        # scikit-learn trains a logistic regression once per problem, without the permanently
        # held-out part and without copying the rows.
        objectives = {
            key: each
            for key, each in objectives.items()
            if not each.is_logistic or _is_wide_stack(problems, X)
        }
    training = LinearTraining([None] * len(problems), [None] * len(problems), [])
    makers = _prepare_models(estimators, objectives, X)
    groups: dict[LinearObjective, list[int]] = {}
    for k, estimator in enumerate(estimators):
        if id(estimator) in makers:
            groups.setdefault(objectives[id(estimator)], []).append(k)
    if not groups:
        return training
    numbers = next(iter(makers.values())).numbers
    n_threads = _count_threads(options.n_jobs, numbers, problems)
    stopped: list[str] = []
    # Problems run in threads; BLAS threads would wait for each other on a busy machine.
    with one_blas_thread():
        for objective, members in groups.items():
            trainer = BatchTrainer(objective, X, numbers, options, len(members))
            # Problems without shared folds each have different folds. With the squared hinge loss,
            # the routine for single problems is faster, because it uses few of the samples.
            shares_folds = options.folds is not None or not trainer.makes_folds
            can_stack = objective.is_logistic and shares_folds
            n_models = 1 + _count_folds(options, trainer.makes_folds)
            most = max(1, _BATCH_COEFFICIENTS // (n_models * (1 + numbers.shape[1])))
            stack_size = min(most, _choose_stack_size(numbers)) if can_stack else 0
            tasks = list(_divide(members, problems, stack_size, most if shares_folds else 1))
            attempts: list[Callable[[], list[TrainedModel]]] = [
                partial(
                    trainer.train,
                    batch,
                    problems,
                    [makers[id(estimators[k])] for k in batch],
                    [seeds[k] for k in batch],
                    is_stacked=is_stacked,
                )
                for batch, is_stacked in tasks
            ]
            with closing(run_tasks(attempts, n_threads)) as results:
                for (batch, _), trained in zip(tasks, results, strict=True):
                    for k, model in zip(batch, trained, strict=True):
                        training.binaries[k], training.held_out[k] = model.binary, model.held_out
                        if not model.is_converged:
                            stopped.append(model.binary.name)
                        listener.trained(model.binary.name)
            together = f"{len(members)} binaries are trained together by the linear solver."
            alone = "1 binary is trained by the linear solver."
            training.notes.append(alone if len(members) == 1 else together)
    _warn_of_early_stops(stopped)
    return training


def _find_objectives(estimators: Sequence[Any]) -> dict[int, LinearObjective]:
    """Return the objective of each supported estimator, by its id."""
    found: dict[int, LinearObjective] = {}
    for estimator in {id(each): each for each in estimators}.values():
        objective = find_objective(estimator)
        if objective is not None:
            found[id(estimator)] = objective
    return found


def _is_wide_stack(problems: ProblemList, X: Any) -> bool:
    """Return whether all problems have all rows, and a stack takes little memory beside them."""
    if len(problems) < _FEWEST_STACKED or not isinstance(X, np.ndarray) or X.ndim != 2:
        return False
    is_wide = 2 * X.shape[1] * X.dtype.itemsize >= _SMALLEST_STACK * _BYTES_OF_VALUE
    return is_wide and bool((problems.sizes == problems.n_rows).all())


def _prepare_models(
    estimators: Sequence[Any], objectives: Mapping[int, LinearObjective], X: Any
) -> dict[int, FittedModels]:
    """Return the FittedModels of each supported estimator, by its id."""
    makers: dict[int, FittedModels] = {}
    for estimator in {id(each): each for each in estimators}.values():
        if id(estimator) not in objectives:
            continue
        try:
            makers[id(estimator)] = FittedModels(estimator, X)
        except (TypeError, ValueError):
            return {}  # the estimator's own fit raises the error where the user expects it
    return makers


def _choose_stack_size(numbers: Any) -> int:
    """Return how many problems with the same rows are trained together."""
    n_rows = max(1, numbers.shape[0])
    size = _STACKED_VALUES // n_rows
    if not is_sparse(numbers):
        within_data = numbers.nbytes // (n_rows * _BYTES_OF_VALUE)
        size = max(size, min(within_data, _LARGEST_OF_MANY_ROWS))
    return int(np.clip(size, _SMALLEST_STACK, _LARGEST_STACK))


def _divide(
    members: Sequence[int], problems: ProblemList, stack_size: int, most: int
) -> Iterator[tuple[list[int], bool]]:
    """Yield batches of at most `most` problems, largest first, and whether each is a stack.

    Problems with all rows are stacked unless `stack_size` is zero.
    """
    whole = [k for k in members if problems.sizes[k] == problems.n_rows]
    if stack_size and len(whole) >= _FEWEST_STACKED:
        n_stacks = -(-len(whole) // stack_size)
        for number in range(n_stacks):  # of nearly the same size
            first, last = (len(whole) * (number + more) // n_stacks for more in (0, 1))
            yield whole[first:last], True
        stacked = set(whole)
        members = [k for k in members if k not in stacked]
    batch: list[int] = []
    n_samples = 0
    most = min(most, _BATCH_PROBLEMS)
    for k in sorted(members, key=lambda k: (-int(problems.sizes[k]), k)):
        if batch and (n_samples + problems.sizes[k] > _BATCH_SAMPLES or len(batch) >= most):
            yield batch, False
            batch, n_samples = [], 0
        batch.append(k)
        n_samples += int(problems.sizes[k])
    if batch:
        yield batch, False


def _count_folds(options: TrainingOptions, makes_folds: bool) -> int:
    if options.folds is not None:
        return options.folds.n_folds
    return count_folds(options.cv, 10) if makes_folds else 0


def _count_threads(n_jobs: int | None, numbers: Any, problems: ProblemList) -> int:
    of_row = numbers.nnz / max(1, numbers.shape[0]) if is_sparse(numbers) else numbers.shape[1]
    n_useful = 1 + int(problems.sizes.sum() * of_row) // _ENTRIES_PER_THREAD
    return min(int(effective_n_jobs(n_jobs)), n_useful, len(problems))


def _warn_of_early_stops(names: Sequence[str]) -> None:
    if not names:
        return
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    warnings.warn(
        f'The linear model of partition "{names[0]}"{more} stopped early, after max_iter steps. '
        "Scale the features, or increase max_iter.",
        ConvergenceWarning,
        stacklevel=4,
    )
