"""Training a group of problems whose machines can share a kernel matrix, in threads."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning

from polytomy.calibration.calibrators import (
    Calibrator,
    UncalibratedMap,
    fit_calibrators,
    make_calibrator,
)
from polytomy.calibration.folds import check_folds, count_folds
from polytomy.inputs.numbers import check_weights
from polytomy.inputs.rows import count_rows, take_rows
from polytomy.inputs.sparse import is_sparse
from polytomy.learners.any_estimator import constant_binary, describe_shortcoming
from polytomy.learners.batches import divide_into_batches
from polytomy.learners.options import TrainingListener, TrainingOptions
from polytomy.learners.problems import BinaryProblem, ProblemList
from polytomy.learners.svm.machines import KernelMachine, Machine, MachineData, VectorPool
from polytomy.learners.svm.matrix import (
    Matrix,
    MatrixPlan,
    Size,
    TooLargeError,
    UnsuitableError,
    as_numbers,
    check_budget,
    check_compiled,
    find_common_kernel,
    group_by_matrix,
    is_better_apart,
    measure,
    plan_matrix,
    size_in_words,
)
from polytomy.learners.svm.worker import Task, Worker, score_outside
from polytomy.learners.trained import HeldOutScores, Output, TrainedBinary
from polytomy.routines.reference.smo import SMALL_PROBLEM
from polytomy.routines.threads import one_blas_thread, run_tasks

__all__ = ["GroupTrainer", "SharedTraining", "train_on_shared_kernel"]

# Pairs of samples, over all problems, that keep a thread busy for about a tenth of a second.
_PAIRS_PER_THREAD = 10**7

# A matrix of this many bytes stays in the processor's cache, so it is shared even by problems that
# have few rows in common.
_SMALL_MATRIX = 2**22

# Up to this many bytes, a matrix is shared by problems so small that preparing them takes most of
# the time: on one matrix, they are prepared in batches.
_BATCHED_MATRIX = 2**28

# Number of folds to reserve memory for if a splitter does not say how many it makes.
_EXPECTED_FOLDS = 10


@dataclass(frozen=True, slots=True)
class GroupTrainer:
    """Trains a group of problems whose machines can share a matrix."""

    X: Any
    options: TrainingOptions
    budget: float

    def train(
        self, tasks: Sequence[Task], notes: list[str], listener: TrainingListener
    ) -> list[MachineData | UnsuitableError]:
        """Return the machine of each SVC, problem and seed, or the reason why there is none."""
        if not tasks:
            return []
        n_threads = _count_threads(self.options.n_jobs, [problem for _, problem, _ in tasks])
        try:
            check_compiled()
            numbers = as_numbers(self.X)
        except UnsuitableError as reason:
            return [reason] * len(tasks)
        # Problems run in threads; BLAS threads would cost more than a small matrix product.
        with one_blas_thread():
            return self._train_numbers(numbers, tasks, notes, listener, n_threads)

    def _train_numbers(
        self,
        numbers: Any,
        tasks: Sequence[Task],
        notes: list[str],
        listener: TrainingListener,
        n_threads: int,
    ) -> list[MachineData | UnsuitableError]:
        size = self._measure(numbers, tasks)
        is_small = size.matrix <= _SMALL_MATRIX
        if size.matrix <= _BATCHED_MATRIX:
            is_small |= max(problem.n_samples for _, problem, _ in tasks) <= SMALL_PROBLEM
        if not is_small and is_better_apart([task[1] for task in tasks], size.n_rows):
            notes.append(f"{len(tasks)} small binaries each have their own kernel matrix.")
            return self._train_apart(numbers, tasks, listener, n_threads)
        try:
            plan = self._plan(numbers, tasks)
            matrix, n_threads, note = self._matrix(plan, size, n_threads)
        except TooLargeError:
            if len(tasks) > 1:
                notes.append(
                    "The kernel matrix of all problems is too large; each problem has its own."
                )
            return self._train_apart(numbers, tasks, listener, n_threads)
        except UnsuitableError as reason:
            return [reason] * len(tasks)
        trained = "1 binary is" if len(tasks) == 1 else f"{len(tasks)} binaries are"
        notes.append(f"{trained} trained on one matrix of {note}.")
        worker = self._worker(plan, matrix, numbers)
        batches = [[task] for task in tasks]
        if self.options.folds is not None and matrix.common_kernel is not None:
            problems = [problem for _, problem, _ in tasks]
            batches = list(divide_into_batches(tasks, problems, len(plan.place)))
        outcomes = _run(
            [partial(_attempt, worker, each) for each in batches], n_threads, batches, listener
        )
        machines = [each for each in outcomes if isinstance(each, MachineData)]
        if self.options.folds is None or not machines:
            return outcomes
        scored = iter(score_outside(machines, matrix, plan.place, self.options.folds))
        return [next(scored) if isinstance(each, MachineData) else each for each in outcomes]

    def _matrix(self, plan: MatrixPlan, size: Size, n_threads: int) -> tuple[Matrix, int, str]:
        """Return the matrix of a plan, how many threads can use it, and a note about it."""
        try:
            n_threads = min(n_threads, size.count_threads(self.budget))
        except TooLargeError:
            if is_sparse(plan.numbers):
                raise
        else:
            note = f"{size.n_rows} rows, {size_in_words(size.matrix)}"
            return plan.build(n_threads), n_threads, note
        n_threads, n_kept = size.rows_on_demand(self.budget, n_threads)
        note = f"{size.n_rows} rows, with up to {n_kept} kept at a time"
        return plan.build_on_demand(n_kept), n_threads, note

    def _train_apart(
        self,
        numbers: Any,
        tasks: Sequence[Task],
        listener: TrainingListener,
        n_threads: int,
    ) -> list[MachineData | UnsuitableError]:
        """Train each problem on its own matrix if that fits, as it does for pairs of classes."""
        sizes = [self._measure(numbers, [task]) for task in tasks]
        needs = [size.with_one_thread for size in sizes]
        # Whether a problem fits must not depend on n_threads, so n_threads depends on what fits.
        largest = max((need for need in needs if need <= self.budget), default=1)
        n_threads = min(n_threads, int(self.budget // largest))

        def train(task: Task, size: Size) -> list[MachineData | UnsuitableError]:
            try:
                size.count_threads(self.budget)
                plan = self._plan(numbers, [task])
            except UnsuitableError as reason:
                return [reason]
            return _attempt(self._worker(plan, plan.build(1), numbers), [task])

        attempts = [partial(train, *both) for both in zip(tasks, sizes, strict=True)]
        return _run(attempts, max(1, n_threads), [[task] for task in tasks], listener)

    def _measure(self, numbers: Any, tasks: Sequence[Task]) -> Size:
        svcs, problems, _ = zip(*tasks, strict=True)
        has_common_kernel = find_common_kernel(svcs, numbers) is not None
        return measure(numbers, problems, self._n_runs, holds_kernel_values=has_common_kernel)

    def _plan(self, numbers: Any, tasks: Sequence[Task]) -> MatrixPlan:
        svcs, problems, _ = zip(*tasks, strict=True)
        return plan_matrix(numbers, svcs, problems)

    def _worker(self, plan: MatrixPlan, matrix: Matrix, numbers: Any) -> Worker:
        return Worker(
            self.X,
            matrix,
            plan.place,
            numbers,
            self.options,
            self._n_runs,
        )

    @property
    def _n_runs(self) -> int:
        if self.options.folds is not None:
            return 1 + self.options.folds.n_folds
        if self.options.calibration is None:
            return 1
        return 1 + count_folds(self.options.cv, _EXPECTED_FOLDS)


def _run(
    attempts: Sequence[Callable[[], list[MachineData | UnsuitableError]]],
    n_threads: int,
    batches: Sequence[Sequence[Task]],
    listener: TrainingListener,
) -> list[MachineData | UnsuitableError]:
    """Return the results of the attempts to train batches, and report progress to the listener."""
    outcomes: list[MachineData | UnsuitableError] = []
    # Closed if the listener raises an error, so that no thread keeps training.
    with closing(run_tasks(attempts, n_threads)) as results:
        for found, tasks in zip(results, batches, strict=True):
            for outcome, (_, problem, _) in zip(found, tasks, strict=True):
                if isinstance(outcome, MachineData):
                    listener.trained(problem.name)
            outcomes += found
    return outcomes


def _attempt(worker: Worker, tasks: Sequence[Task]) -> list[MachineData | UnsuitableError]:
    try:
        return [*worker.train(tasks)]
    except UnsuitableError as reason:
        return [reason] * len(tasks)


def _count_threads(n_jobs: int | None, problems: Sequence[BinaryProblem]) -> int:
    """Return how many threads are worthwhile: with small problems, they would wait for the GIL."""
    n_pairs = sum(problem.n_samples**2 for problem in problems)
    n_useful = min(len(problems), 1 + n_pairs // _PAIRS_PER_THREAD)
    return min(int(effective_n_jobs(n_jobs)), n_useful)


# -- Training the support vector machines of many problems on one kernel matrix --


class SharedTraining(NamedTuple):
    """The result of training on a shared matrix.

    Attributes
    ----------
    binaries : list of TrainedBinary; None for those that must be trained in another way
    held_out : list with HeldOutScores or None for each binary
    notes : sentences that say how many binaries were trained in which way, and why
    """

    binaries: list[TrainedBinary | None]
    held_out: list[HeldOutScores | None]
    notes: list[str]


def train_on_shared_kernel(
    estimators: Sequence[Any],
    X: Any,
    problems: Sequence[BinaryProblem] | ProblemList,
    options: TrainingOptions | None = None,
    *,
    seeds: Sequence[int | None] | None = None,
    listener: TrainingListener | None = None,
) -> SharedTraining:
    """Train all binaries that are plain SVCs on one matrix of kernel values.

    Each result is equal to that of `train_binary`, but training is faster: the kernel value of two
    samples is computed once for all problems and folds, the folds of a calibration are warm-started
    from the solution of their problem, and scoring held-out samples needs no further kernel values.
    Machines are trained with LIBSVM's algorithm and tolerance; ``gamma="scale"`` is computed from
    all rows.

    Parameters
    ----------
    estimators : sequence of n_problems estimators
        Anything but an SVC with a linear, rbf, poly or sigmoid kernel is left to be trained in
        another way.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
    problems : sequence of n_problems problems
    options : TrainingOptions, optional
        If the kernel matrix does not fit in ``memory_budget``, its rows are computed when needed,
        and some of them are cached; for sparse samples, each problem has its own matrix instead. A
        problem that still does not fit is left to be trained in another way.
    seeds : sequence of n_problems ints, optional
        The seeds for the folds of each problem.
    listener : TrainingListener, optional

    Returns
    -------
    SharedTraining

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> low = BinaryProblem("low", np.arange(4), np.array([False, True, True, True]))
    >>> high = BinaryProblem("high", np.arange(4), np.array([False, False, False, True]))
    >>> options = TrainingOptions(calibration=None)
    >>> training = train_on_shared_kernel([SVC(C=10)] * 2, X, [low, high], options)
    >>> np.sign(training.binaries[1].decisions(X))
    array([-1., -1., -1.,  1.])
    >>> training.notes
    ['2 binaries are trained on one matrix of 4 rows, 64 bytes.']
    """
    options = TrainingOptions() if options is None else options
    listener = TrainingListener() if listener is None else listener
    make_calibrator(options.calibration)
    check_folds(options.cv)
    budget = check_budget(options.memory_budget)
    seeds = [None] * len(estimators) if seeds is None else seeds

    groups, reasons = group_by_matrix(estimators)
    # The problems of other estimators are not needed, and may take much memory.
    numbers = [k for group in groups for k in group]
    if isinstance(problems, ProblemList):
        own = dict(zip(numbers, problems.take(numbers), strict=True))
    else:
        own = {k: problems[k] for k in numbers}
    if options.arguments.sample_weight is not None:
        weight = check_weights(options.arguments.sample_weight, count_rows(X))
        own = {k: problem.keep(weight[problem.rows] > 0) for k, problem in own.items()}
    trainer = GroupTrainer(X, options, budget)
    binaries: list[TrainedBinary | None] = [None] * len(estimators)
    held_out: list[HeldOutScores | None] = [None] * len(estimators)
    machines: dict[int, MachineData] = {}
    notes: list[str] = []
    for group in groups:
        to_train = [k for k in group if own[k].has_both_sides]
        for k in sorted(set(group).difference(to_train)):
            binaries[k] = constant_binary(own[k])
            listener.trained(own[k].name)
        tasks = [(estimators[k], own[k], seeds[k]) for k in to_train]
        for k, outcome in zip(to_train, trainer.train(tasks, notes, listener), strict=True):
            if isinstance(outcome, UnsuitableError):
                reasons[str(outcome)] += 1
            else:
                machines[k] = outcome
    calibrators = fit_calibrators(
        options.calibration,
        [data.to_calibrate for data in machines.values()],
        [seeds[k] for k in machines],
    )
    pooled = _share_vectors({k: data.machine for k, data in machines.items()}, X)
    for (k, machine), calibrator in zip(pooled.items(), calibrators, strict=True):
        binaries[k] = _as_binary(machine, machines[k], calibrator, own[k].name)
    names = {k: problem.name for k, problem in own.items()}
    for k, scores in _held_out_scores(machines, X, names).items():
        held_out[k] = scores
    _warn_of_early_stops(machines, estimators, names)
    for reason, count in reasons.items():
        how = (
            "1 binary is trained alone"
            if count == 1
            else f"{count} binaries are trained one by one"
        )
        notes.append(f"{how}: {reason}.")
    return SharedTraining(binaries, held_out, notes)


def _share_vectors(machines: Mapping[int, Machine], X: Any) -> dict[int, KernelMachine]:
    """Return the machines with one pool of the support vectors of all of them."""
    if not machines:
        return {}
    needed = np.concatenate([machine.rows for machine in machines.values()])
    is_needed = np.zeros(count_rows(X), dtype=np.bool_)
    is_needed[needed] = True
    places = (np.cumsum(is_needed) - 1)[needed]
    pool = VectorPool(as_numbers(take_rows(X, np.flatnonzero(is_needed))))
    ends = accumulate([len(machine.rows) for machine in machines.values()], initial=0)
    return {
        k: KernelMachine(each.kernel, pool, places[a:b], each.coefficients, each.intercept)
        for (k, each), (a, b) in zip(machines.items(), pairwise(ends), strict=True)
    }


def _as_binary(
    machine: KernelMachine, data: MachineData, calibrator: Calibrator | None, name: str
) -> TrainedBinary:
    if calibrator is None:
        calibrator = UncalibratedMap()
    binary = TrainedBinary(name, Output.MARGIN, machine, calibrator, seconds=data.seconds)
    if data.reason:
        return replace(binary, shortcoming=describe_shortcoming(binary, data.reason))
    return binary


def _held_out_scores(
    machines: Mapping[int, MachineData], X: Any, names: Mapping[int, str]
) -> dict[int, HeldOutScores]:
    """Return the scores of held-out rows, and the models that score the remaining rows."""
    of_folds = {
        k: data.fold_machines
        for k, data in machines.items()
        if data.fold_machines is not None and data.lacks_scores
    }
    models: dict[int, list[TrainedBinary]] = {k: [] for k in of_folds}
    n_folds = max((len(each.intercepts) for each in of_folds.values()), default=0)
    for fold in range(n_folds):
        sources = {k: each.machine(fold) for k, each in of_folds.items()}
        for k, machine in _share_vectors(sources, X).items():
            binary = TrainedBinary(names[k], Output.MARGIN, machine)
            if not len(machine.support_):
                binary = TrainedBinary(names[k], Output.CONSTANT, constant=machine.intercept_)
            models[k].append(binary)
    return {
        k: HeldOutScores(data.held_out.astype(np.float32), tuple(models.get(k, ())))
        for k, data in machines.items()
        if data.held_out is not None
    }


def _warn_of_early_stops(
    machines: Mapping[int, MachineData], estimators: Sequence[Any], names: Mapping[int, str]
) -> None:
    for k, machine in machines.items():
        if machine.n_stopped:
            warnings.warn(
                f'{machine.n_stopped} of the machines of partition "{names[k]}" stopped '
                f"early, after max_iter={estimators[k].max_iter} steps. Scale the features, or "
                "increase max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )
