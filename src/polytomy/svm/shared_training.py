"""Training the support vector machines of many problems on one kernel matrix, in threads."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning

from polytomy.binary.answers import HeldOutScores, Output, TrainedBinary
from polytomy.binary.options import TrainingListener, TrainingOptions
from polytomy.binary.problems import BinaryProblem
from polytomy.binary.training import constant_binary, describe_shortcoming
from polytomy.calibration.calibrators import Calibrator, UncalibratedMap
from polytomy.calibration.folds import check_folds, count_folds
from polytomy.calibration.option import fit_calibrators, make_calibrator
from polytomy.inputs.rows import count_rows, take_rows
from polytomy.inputs.sparse import is_sparse
from polytomy.inputs.weights import check_weights
from polytomy.routines.runtime.blas import one_blas_thread
from polytomy.routines.runtime.threads import run_tasks
from polytomy.svm.batches import divide_into_batches
from polytomy.svm.fold_scores import score_outside
from polytomy.svm.kernel_finder import KernelFinder
from polytomy.svm.kernel_matrix import Matrix
from polytomy.svm.machines import KernelMachine, VectorPool
from polytomy.svm.memory import check_budget, size_in_words
from polytomy.svm.planning import (
    MatrixPlan,
    Size,
    TooLargeError,
    find_common_kernel,
    group_by_matrix,
    is_better_apart,
    measure,
    plan_matrix,
)
from polytomy.svm.suitability import UnsuitableError, as_numbers, check_compiled
from polytomy.svm.worker import Machine, MachineData, Task, Worker

__all__ = ["SharedTraining", "train_on_shared_kernel"]

# Pairs of samples, over all problems, that keep a thread busy for a tenth of a second or so.
_PAIRS_PER_THREAD = 10**7

# A matrix of this many bytes stays in the processor's cache, so it is shared even by problems that
# have few rows in common.
_SMALL_MATRIX = 2**22

# Folds that there is memory for where a splitter does not say how many it makes.
_EXPECTED_FOLDS = 10


class SharedTraining(NamedTuple):
    """What was trained on a shared matrix.

    Attributes
    ----------
    binaries : list of TrainedBinary; None for those that must be trained another way
    held_out : list of HeldOutScores, or None, for each of the binaries
    notes : sentences that say how many were trained how, and why
    """

    binaries: list[TrainedBinary | None]
    held_out: list[HeldOutScores | None]
    notes: list[str]


def train_on_shared_kernel(
    estimators: Sequence[Any],
    X: Any,
    problems: Sequence[BinaryProblem],
    options: TrainingOptions | None = None,
    *,
    seeds: Sequence[int | None] | None = None,
    listener: TrainingListener | None = None,
) -> SharedTraining:
    """Train all binaries that are plain SVCs on one matrix of kernel values.

    Each result is what :func:`polytomy.binary.train_binary` returns, but faster: the kernel value
    of two samples is computed once for all problems and folds, the folds of a calibration start
    from the solution of their problem, and scoring held-out samples takes no further kernel
    values. Machines are trained as LIBSVM trains them and to the same tolerance; with
    ``gamma="scale"`` each has, as there, the gamma of its own samples.

    Parameters
    ----------
    estimators : sequence of n_problems estimators
        Anything but an SVC with a linear, rbf, poly or sigmoid kernel is left to be trained another
        way.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
    problems : sequence of n_problems problems
    options : TrainingOptions, optional
        If the kernel matrix does not fit in ``memory_budget``, its rows are computed when they are
        needed, and some of them kept; for sparse samples, each problem has its own matrix. A
        problem that does not fit even so is left to be trained another way.
    seeds : sequence of n_problems ints, optional
        Each fixes the folds of a problem.
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
    ['2 binaries are trained on one matrix of 4 rows, 128 bytes.']
    """
    options = TrainingOptions() if options is None else options
    listener = TrainingListener() if listener is None else listener
    make_calibrator(options.calibration)
    check_folds(options.cv)
    budget = check_budget(options.memory_budget)
    if options.arguments.sample_weight is not None:
        weight = check_weights(options.arguments.sample_weight, count_rows(X))
        problems = [problem.keep(weight[problem.rows] > 0) for problem in problems]
    seeds = [None] * len(problems) if seeds is None else seeds

    groups, reasons = group_by_matrix(estimators)
    trainer = _GroupTrainer(X, options, budget)
    binaries: list[TrainedBinary | None] = [None] * len(problems)
    held_out: list[HeldOutScores | None] = [None] * len(problems)
    machines: dict[int, MachineData] = {}
    notes: list[str] = []
    for group in groups:
        to_train = [k for k in group if problems[k].smaller_side > 0]
        for k in sorted(set(group).difference(to_train)):
            binaries[k] = constant_binary(problems[k])
            listener.trained(problems[k].name)
        tasks = [(estimators[k], problems[k], seeds[k]) for k in to_train]
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
        binaries[k] = _as_binary(machine, machines[k], calibrator, problems[k].name)
    names = [problem.name for problem in problems]
    for k, scores in _held_out_scores(machines, X, names).items():
        held_out[k] = scores
    _warn_of_early_stops(machines, estimators, problems)
    for reason, count in reasons.items():
        how = (
            "1 binary is trained alone"
            if count == 1
            else f"{count} binaries are trained one by one"
        )
        notes.append(f"{how}: {reason}.")
    return SharedTraining(binaries, held_out, notes)


@dataclass(frozen=True, slots=True)
class _GroupTrainer:
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
        # The threads are over problems; those within a small matrix product cost more than it.
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
        finder = KernelFinder(numbers)
        size = self._measure(numbers, finder, tasks)
        is_small = size.matrix <= _SMALL_MATRIX
        if not is_small and is_better_apart([task[1] for task in tasks], size.n_rows):
            notes.append(f"{len(tasks)} binaries have a kernel matrix each: they are small.")
            return self._train_apart(numbers, finder, tasks, listener, n_threads)
        try:
            plan = self._plan(numbers, finder, tasks)
            matrix, n_threads, note = self._matrix(plan, size, n_threads)
        except TooLargeError:
            if len(tasks) > 1:
                notes.append(
                    "The kernel matrix of all problems is too large; each problem has its own."
                )
            return self._train_apart(numbers, finder, tasks, listener, n_threads)
        except UnsuitableError as reason:
            return [reason] * len(tasks)
        trained = "1 binary is" if len(tasks) == 1 else f"{len(tasks)} binaries are"
        notes.append(f"{trained} trained on one matrix of {note}.")
        worker = self._worker(plan, matrix, finder)
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
        """Return the matrix of a plan, how many threads can use it, and what to say of it."""
        try:
            n_threads = min(n_threads, size.count_threads(self.budget))
        except TooLargeError:
            if is_sparse(plan.numbers):
                raise
        else:
            note = f"{size.n_rows} rows, {size_in_words(size.matrix)}"
            return plan.build(n_threads), n_threads, note
        n_threads, n_kept = size.rows_on_demand(self.budget, n_threads)
        note = f"{size.n_rows} rows, of which up to {n_kept} are kept at a time"
        return plan.build_on_demand(n_kept), n_threads, note

    def _train_apart(
        self,
        numbers: Any,
        finder: KernelFinder,
        tasks: Sequence[Task],
        listener: TrainingListener,
        n_threads: int,
    ) -> list[MachineData | UnsuitableError]:
        """Train each problem on a matrix of its own, if that one fits: pairs of classes do."""
        sizes = [self._measure(numbers, finder, [task]) for task in tasks]
        needs = [size.with_one_thread for size in sizes]
        # Whether a problem fits must not depend on the threads, so these depend on what fits.
        largest = max((need for need in needs if need <= self.budget), default=1)
        n_threads = min(n_threads, int(self.budget // largest))

        def train(task: Task, size: Size) -> list[MachineData | UnsuitableError]:
            try:
                size.count_threads(self.budget)
                plan = self._plan(numbers, finder, [task])
            except UnsuitableError as reason:
                return [reason]
            return _attempt(self._worker(plan, plan.build(1), finder), [task])

        attempts = [partial(train, *both) for both in zip(tasks, sizes, strict=True)]
        return _run(attempts, max(1, n_threads), [[task] for task in tasks], listener)

    def _measure(self, numbers: Any, finder: KernelFinder, tasks: Sequence[Task]) -> Size:
        svcs, problems, _ = zip(*tasks, strict=True)
        has_common_kernel = find_common_kernel(finder, svcs) is not None
        return measure(numbers, problems, self._n_runs, holds_kernel_values=has_common_kernel)

    def _plan(self, numbers: Any, finder: KernelFinder, tasks: Sequence[Task]) -> MatrixPlan:
        svcs, problems, _ = zip(*tasks, strict=True)
        return plan_matrix(numbers, finder, svcs, problems)

    def _worker(self, plan: MatrixPlan, matrix: Matrix, finder: KernelFinder) -> Worker:
        return Worker(
            self.X,
            matrix,
            plan.place,
            finder,
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
    """Return what attempts to train batches come to, and tell the listener as they go on."""
    outcomes: list[MachineData | UnsuitableError] = []
    # Closed if the listener raises an error, so that no thread goes on training.
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
    """Return how many threads pay: those of small problems would only wait for the interpreter."""
    n_pairs = sum(problem.n_samples**2 for problem in problems)
    n_useful = min(len(problems), 1 + n_pairs // _PAIRS_PER_THREAD)
    return min(int(effective_n_jobs(n_jobs)), n_useful)


def _share_vectors(machines: Mapping[int, Machine], X: Any) -> dict[int, KernelMachine]:
    """Return the machines with one pool of all vectors that any of them supports."""
    if not machines:
        return {}
    rows = np.unique(np.concatenate([machine.rows for machine in machines.values()]))
    pool = VectorPool(as_numbers(take_rows(X, rows)))
    return {
        k: KernelMachine(
            each.kernel, pool, np.searchsorted(rows, each.rows), each.coefficients, each.intercept
        )
        for k, each in machines.items()
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
    machines: Mapping[int, MachineData], X: Any, names: Sequence[str]
) -> dict[int, HeldOutScores]:
    """Return the scores of held-out rows, and models to score those that are left."""
    of_folds = {k: data.fold_machines for k, data in machines.items() if data.fold_machines}
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
    machines: dict[int, MachineData], estimators: Sequence[Any], problems: Sequence[BinaryProblem]
) -> None:
    for k, machine in machines.items():
        if machine.n_stopped:
            warnings.warn(
                f'{machine.n_stopped} of the machines of partition "{problems[k].name}" stopped '
                f"early, after max_iter={estimators[k].max_iter} steps. Scale the features, or "
                "allow more steps.",
                ConvergenceWarning,
                stacklevel=3,
            )
