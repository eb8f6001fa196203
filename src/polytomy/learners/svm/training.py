"""Training the support vector machines of many problems on one kernel matrix, in threads."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from polytomy.calibration.calibrators import UncalibratedMap, fit_calibrators
from polytomy.inputs.numbers import check_weights
from polytomy.inputs.rows import count_rows, take_rows
from polytomy.inputs.sparse import is_sparse
from polytomy.learners.bank import Bank
from polytomy.learners.problems import BinaryProblem, divide_into_batches
from polytomy.learners.svm.kernels import KernelFunction
from polytomy.learners.svm.machines import KernelMachine, Machine, MachineData, VectorPool
from polytomy.learners.svm.matrix import (
    Matrix,
    MatrixLayout,
    MatrixOnDemand,
    Size,
    TooLargeError,
    WholeMatrix,
    check_budget,
    group_by_kernel,
    is_better_apart,
    lay_out_matrix,
    measure,
    size_in_words,
)
from polytomy.learners.svm.suitability import (
    UnsuitableError,
    as_numbers,
    check_compiled,
    family_of,
    kernel_of,
)
from polytomy.learners.svm.worker import Task, Worker, score_outside
from polytomy.learners.trained import Output, TrainedBinary
from polytomy.learners.workload import (
    ONE_SIDED,
    Trained,
    TrainingListener,
    Workload,
    describe_shortcoming,
    train_constant,
)
from polytomy.routines.reference.smo import SMALL_PROBLEM
from polytomy.routines.threads import one_blas_thread, run_tasks

Outcome = list[MachineData] | UnsuitableError
"""The machines of a task, or the reason why there are none."""

# Pairs of samples, over all problems and values of C, that keep a thread busy for about thirty
# milliseconds.
_PAIRS_PER_THREAD = 4 * 10**6

# A matrix of this many bytes stays in the processor's cache, so it is shared even by problems that
# have few rows in common.
_SMALL_MATRIX = 2**22

# Up to this many bytes, a matrix is shared by problems so small that preparing them takes most of
# the time: on one matrix, they are prepared in batches.
_BATCHED_MATRIX = 2**28

# Most samples in a batch, and most scores (rows of the data times problems). Larger batches save
# nothing, and leave too few batches for the threads.
_BATCH_SAMPLES = 2**11
_BATCH_SCORES = 2**21


def train_svms(work: Workload) -> list[Trained | None]:
    """Train all binaries that are plain SVCs on one matrix of kernel values.

    Each result is equal to that of `train_estimator`, but training is faster: the kernel value of
    two samples is computed once for all problems and folds, the machines of the folds are warm-
    started from the solution of their problem, SVCs that differ only in C are warm-started from
    each other, and scoring held-out samples needs no further kernel values. Machines are trained
    with LIBSVM's algorithm and tolerance; ``gamma="scale"`` is computed from all rows.

    Anything but an SVC with one of polytomy's kernels is left to other learners. If the kernel
    matrix does not fit in ``memory_budget``, its rows are computed when needed, and some of them
    are cached; for sparse samples, each problem has its own matrix instead. A problem that still
    does not fit is left to be trained in another way.
    """
    options, listener = work.options, work.listener
    estimators = find_svcs(work)
    trained: list[Trained | None] = [None] * len(work.dichotomies)
    if not estimators:
        return trained
    budget = check_budget(options.memory_budget)
    groups, reasons = group_by_kernel(estimators)
    numbers = [k for group in groups for k in group]
    problems = {k: work.problems[k] for k in numbers}
    if options.arguments.sample_weight is not None:
        weight = check_weights(options.arguments.sample_weight, count_rows(work.X))
        problems = {k: each.keep(weight[each.rows] > 0) for k, each in problems.items()}
    trainer = GroupTrainer(work, budget)
    machines: dict[int, MachineData] = {}
    for group in groups:
        to_train = [k for k in group if problems[k].has_both_sides]
        for k in sorted(set(group).difference(to_train)):
            trained[k] = train_constant(problems[k], work.folds)
            listener.trained(problems[k].name)
        together = _group_by_C({k: estimators[k] for k in to_train}, problems)
        tasks = [([estimators[k] for k in own], problems[own[0]]) for own in together]
        for own, outcome in zip(together, trainer.train(tasks), strict=True):
            if isinstance(outcome, UnsuitableError):
                reasons[str(outcome)] += len(own)
            else:
                machines |= zip(own, outcome, strict=True)
    machines = {k: machines[k] for k in sorted(machines)}
    machines = _score_rest(machines, work)
    calibrators = fit_calibrators(
        options.calibrator,
        [data.to_calibrate for data in machines.values()],
        [work.seeds[k] for k in machines],
    )
    pooled = _share_vectors({k: data.machine for k, data in machines.items()}, work.X)
    for (k, data), calibrator in zip(machines.items(), calibrators, strict=True):
        binary = TrainedBinary(
            problems[k].name,
            Output.MARGIN,
            pooled[k],
            UncalibratedMap() if calibrator is None else calibrator,
            seconds=data.seconds,
        )
        if options.calibration is not None and data.to_calibrate is None:
            binary = replace(binary, shortcoming=describe_shortcoming(binary, ONE_SIDED))
        scores = None if data.scores is None else data.scores.astype(np.float32)
        trained[k] = Trained(binary, scores)
        if data.n_stopped:
            _warn_of_early_stops(data.n_stopped, binary.name, estimators[k].max_iter)
    work.note_trained_alone(reasons)
    return trained


def find_svcs(work: Workload) -> dict[int, SVC]:
    """Return the estimators of a workload that are SVCs, by the numbers of their dichotomies."""
    estimators = {k: work.dichotomies[k].estimator for k in work.shareable}
    # Not isinstance: a subclass may do anything.
    return {k: each for k, each in estimators.items() if type(each) is SVC}


def _group_by_C(svcs: Mapping[int, SVC], problems: Mapping[int, BinaryProblem]) -> list[list[int]]:
    """Return the numbers of SVCs that differ only in C and have the same problem, C ascending.

    Parameters
    ----------
    svcs, problems : SVCs and problems by their numbers
    """
    known = {id(svc): svc for svc in svcs.values()}
    if len(known) == 1:
        return [[k] for k in svcs]
    families = {key: family_of(svc) for key, svc in known.items()}
    groups: dict[Any, list[int]] = {}
    for k, svc in svcs.items():
        own = problems[k]
        key = families[id(svc)], own.rows.tobytes(), own.is_positive.tobytes()
        groups.setdefault(key, []).append(k)
    return [sorted(group, key=lambda k: float(svcs[k].C)) for group in groups.values()]


@dataclass(frozen=True, slots=True)
class GroupTrainer:
    """Trains a group of problems whose machines can share a matrix."""

    work: Workload
    budget: float

    def train(self, tasks: Sequence[Task]) -> list[Outcome]:
        """Return the machines of each task, or the reason why there are none."""
        if not tasks:
            return []
        n_threads = _count_threads(self.work.options.n_jobs, tasks)
        try:
            check_compiled()
            numbers = as_numbers(self.work.X)
        except UnsuitableError as reason:
            return [reason] * len(tasks)
        # Problems run in threads; BLAS threads would cost more than a small matrix product.
        with one_blas_thread():
            return self._train_numbers(numbers, tasks, n_threads)

    def _train_numbers(self, numbers: Any, tasks: Sequence[Task], n_threads: int) -> list[Outcome]:
        listener, folds = self.work.listener, self.work.folds
        problems = [problem for _, problem in tasks]
        sizes = [problem.n_samples for problem in problems]
        kernel = kernel_of(tasks[0][0][0], numbers)
        n_values = max(len(svcs) for svcs, _ in tasks)
        size = self.measure(numbers, problems, n_values)
        is_small = size.matrix <= _SMALL_MATRIX
        if size.matrix <= _BATCHED_MATRIX:
            is_small |= max(sizes) <= SMALL_PROBLEM
        of_machines = [problem for svcs, problem in tasks for _ in svcs]
        if not is_small and is_better_apart(of_machines, size.n_rows):
            listener.note(f"{len(of_machines)} small binaries each have their own kernel matrix.")
            return self._train_apart(numbers, kernel, tasks, n_threads)
        try:
            layout = lay_out_matrix(numbers, kernel, problems)
            matrix, n_threads, note = self._matrix(layout, kernel, size, n_threads)
        except TooLargeError:
            if len(tasks) > 1:
                listener.note(
                    "The kernel matrix of all problems is too large; each problem has its own."
                )
            return self._train_apart(numbers, kernel, tasks, n_threads)
        except UnsuitableError as reason:
            return [reason] * len(tasks)
        count = "1 binary is" if len(of_machines) == 1 else f"{len(of_machines)} binaries are"
        listener.note(f"{count} trained on one matrix of {note}.")
        worker = self._worker(layout, matrix)
        most = _BATCH_SCORES // (n_values * len(layout.place))
        batches = list(divide_into_batches(tasks, sizes, _BATCH_SAMPLES, most))
        outcomes = _run(
            [partial(_attempt, worker, each) for each in batches], n_threads, batches, listener
        )
        machines = [each for own in outcomes if isinstance(own, list) for each in own]
        if folds is None or not machines:
            return outcomes
        scored = iter(score_outside(machines, matrix, layout.place, folds))
        return [[next(scored) for _ in own] if isinstance(own, list) else own for own in outcomes]

    def _matrix(
        self, layout: MatrixLayout, kernel: KernelFunction, size: Size, n_threads: int
    ) -> tuple[Matrix, int, str]:
        """Return the matrix, how many threads can use it, and a note about it."""
        try:
            n_threads = min(n_threads, size.count_threads(self.budget))
        except TooLargeError:
            if is_sparse(layout.numbers) or kernel.about.values is not None:
                raise
        else:
            note = f"{size.n_rows} rows, {size_in_words(size.matrix)}"
            return WholeMatrix(layout.numbers, kernel, n_threads), n_threads, note
        n_threads, n_kept = size.rows_on_demand(self.budget, n_threads)
        note = f"{size.n_rows} rows, with up to {n_kept} kept at a time"
        return MatrixOnDemand(layout.numbers, kernel, n_kept), n_threads, note

    def _train_apart(
        self, numbers: Any, kernel: KernelFunction, tasks: Sequence[Task], n_threads: int
    ) -> list[Outcome]:
        """Train each problem on its own matrix if that fits, as it does for pairs of classes."""
        sizes = [self.measure(numbers, [problem], len(svcs)) for svcs, problem in tasks]
        needs = [size.with_one_thread for size in sizes]
        # Whether a problem fits must not depend on n_threads, so n_threads depends on what fits.
        largest = max((need for need in needs if need <= self.budget), default=1)
        n_threads = min(n_threads, int(self.budget // largest))

        def train(task: Task, size: Size) -> list[Outcome]:
            try:
                size.count_threads(self.budget)
                layout = lay_out_matrix(numbers, kernel, [task[1]])
            except UnsuitableError as reason:
                return [reason]
            return _attempt(self._worker(layout, WholeMatrix(layout.numbers, kernel)), [task])

        attempts = [partial(train, *both) for both in zip(tasks, sizes, strict=True)]
        batches = [[task] for task in tasks]
        return _run(attempts, max(1, n_threads), batches, self.work.listener)

    def measure(self, numbers: Any, problems: Sequence[BinaryProblem], n_values: int = 1) -> Size:
        """Return the memory needed to train problems with some values of C on one matrix."""
        n_runs = 1 + (0 if self.work.folds is None else self.work.folds.n_folds)
        return measure(numbers, problems, n_values * n_runs)

    def _worker(self, layout: MatrixLayout, matrix: Matrix) -> Worker:
        return Worker(matrix, layout.place, self.work.options, self.work.folds)


def _run(
    attempts: Sequence[Callable[[], list[Outcome]]],
    n_threads: int,
    batches: Sequence[Sequence[Task]],
    listener: TrainingListener,
) -> list[Outcome]:
    """Return the results of the attempts to train batches, and report progress to the listener."""
    outcomes: list[Outcome] = []
    # Closed if the listener raises an error, so that no thread keeps training.
    with closing(run_tasks(attempts, n_threads)) as results:
        for found, tasks in zip(results, batches, strict=True):
            for outcome, (svcs, problem) in zip(found, tasks, strict=True):
                for _ in svcs if isinstance(outcome, list) else ():
                    listener.trained(problem.name)
            outcomes += found
    return outcomes


def _attempt(worker: Worker, tasks: Sequence[Task]) -> list[Outcome]:
    try:
        return [*worker.train(tasks)]
    except UnsuitableError as reason:
        return [reason] * len(tasks)


def _count_threads(n_jobs: int | None, tasks: Sequence[Task]) -> int:
    """Return how many threads are worthwhile: with small problems, they would wait for the GIL."""
    n_pairs = sum(len(svcs) * problem.n_samples**2 for svcs, problem in tasks)
    n_useful = min(len(tasks), 1 + n_pairs // _PAIRS_PER_THREAD)
    return 1 if n_useful == 1 else min(int(effective_n_jobs(n_jobs)), n_useful)


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


def _score_rest(machines: Mapping[int, MachineData], work: Workload) -> dict[int, MachineData]:
    """Return the machines with the scores of rows outside their problem, where they are missing.

    The machines of each fold score its rows together, as a bank.
    """
    folds = work.folds
    of_folds = {
        k: data.fold_machines
        for k, data in machines.items()
        if data.fold_machines is not None and data.lacks_scores
    }
    completed = dict(machines)
    if folds is None or not of_folds:
        return completed
    scores = np.array([machines[k].scores for k in of_folds], dtype=np.float64).T
    fold_of = folds.fold_of[folds.scored]
    for fold in np.unique(fold_of):
        samples = np.flatnonzero(fold_of == fold)
        sources = {k: each.machine(fold) for k, each in of_folds.items()}
        bank = Bank(
            [
                TrainedBinary("", Output.MARGIN, machine)
                if len(machine.support_)
                else TrainedBinary("", Output.CONSTANT, constant=machine.intercept_)
                for machine in _share_vectors(sources, work.X).values()
            ]
        )
        found = bank.scores(take_rows(work.X, folds.scored[samples]))
        scores[samples] = np.where(np.isnan(scores[samples]), found, scores[samples])
    for k, own in zip(of_folds, scores.T, strict=True):
        completed[k] = machines[k]._replace(scores=own, fold_machines=None)
    return completed


def _warn_of_early_stops(n_stopped: int, name: str, max_iter: int) -> None:
    warnings.warn(
        f'{n_stopped} of the machines of partition "{name}" stopped early, after '
        f"max_iter={max_iter} steps. Scale the features, or increase max_iter.",
        ConvergenceWarning,
        stacklevel=4,
    )
