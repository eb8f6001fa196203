"""Training a group of problems whose machines can share a kernel matrix, in threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from joblib import effective_n_jobs

from polytomy.binary.options import TrainingListener, TrainingOptions
from polytomy.binary.problems import BinaryProblem
from polytomy.calibration.folds import count_folds
from polytomy.inputs.sparse import is_sparse
from polytomy.routines.runtime.library_threads import one_blas_thread
from polytomy.routines.runtime.threads import run_tasks
from polytomy.routines.smo.reference import SMALL_PROBLEM
from polytomy.svm.batches import divide_into_batches
from polytomy.svm.fold_scores import score_outside
from polytomy.svm.kernel_matrix import Matrix
from polytomy.svm.memory import size_in_words
from polytomy.svm.planning import (
    MatrixPlan,
    Size,
    TooLargeError,
    find_common_kernel,
    is_better_apart,
    measure,
    plan_matrix,
)
from polytomy.svm.suitability import UnsuitableError, as_numbers, check_compiled
from polytomy.svm.trained_machines import MachineData
from polytomy.svm.worker import Task, Worker

__all__ = ["GroupTrainer"]

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
