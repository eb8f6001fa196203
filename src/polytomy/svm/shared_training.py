"""Training the support vector machines of many problems on one kernel matrix."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from polytomy.binary.answers import HeldOutScores, Output, TrainedBinary
from polytomy.binary.options import TrainingListener, TrainingOptions
from polytomy.binary.problem_list import ProblemList
from polytomy.binary.problems import BinaryProblem
from polytomy.binary.training import constant_binary, describe_shortcoming
from polytomy.calibration.calibrators import Calibrator, UncalibratedMap
from polytomy.calibration.folds import check_folds
from polytomy.calibration.option import fit_calibrators, make_calibrator
from polytomy.inputs.rows import count_rows, take_rows
from polytomy.inputs.weights import check_weights
from polytomy.svm.group_training import GroupTrainer
from polytomy.svm.machines import KernelMachine, VectorPool
from polytomy.svm.memory import check_budget
from polytomy.svm.planning import group_by_matrix
from polytomy.svm.suitability import UnsuitableError, as_numbers
from polytomy.svm.trained_machines import Machine, MachineData

__all__ = ["SharedTraining", "train_on_shared_kernel"]


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

    Each result is equal to that of :func:`polytomy.binary.train_binary`, but training is faster:
    the kernel value of two samples is computed once for all problems and folds, the folds of a
    calibration are warm-started from the solution of their problem, and scoring held-out samples
    needs no further kernel values. Machines are trained with LIBSVM's algorithm and tolerance;
    ``gamma="scale"`` is computed from all rows.

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
