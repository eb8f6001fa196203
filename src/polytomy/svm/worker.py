"""Training one problem on the shared matrix: its machine, and the machines of its folds."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC
from sklearn.utils.class_weight import compute_class_weight

from polytomy.binary.options import TrainingOptions
from polytomy.binary.preparation import side_labels
from polytomy.binary.problems import BinaryProblem
from polytomy.binary.training import weights_of_problem
from polytomy.calibration.folds import CannotCalibrateError, fold_masks
from polytomy.calibration.option import HeldOut
from polytomy.calibration.shared_folds import SharedFolds
from polytomy.routines.runtime.dispatch import routine
from polytomy.routines.smo.reference import FEW_SAMPLES
from polytomy.svm.kernel_finder import KernelFinder
from polytomy.svm.kernel_functions import KernelFunction
from polytomy.svm.kernel_matrix import Matrix, diagonal_of, entry_form
from polytomy.svm.memory import CACHE_BYTES
from polytomy.svm.suitability import UnsuitableError, check_range

__all__ = ["FoldMachines", "Machine", "MachineData", "Worker"]

_Floats = NDArray[np.float64]


class Machine(NamedTuple):
    """A machine, by the rows of the data that are its support vectors."""

    kernel: KernelFunction
    rows: NDArray[np.intp]
    coefficients: _Floats
    intercept: float


class FoldMachines(NamedTuple):
    """The machines of one problem that were trained without the shared folds.

    Attributes
    ----------
    kernels : the kernel of each machine
    rows : array of shape (n_samples,), the rows of the data in the problem
    coefficients : array of shape (n_folds, n_samples), zero for a fold with a constant score
    intercepts : array of shape (n_folds,)
    """

    kernels: list[KernelFunction]
    rows: NDArray[np.intp]
    coefficients: _Floats
    intercepts: _Floats

    def machine(self, fold: int) -> Machine:
        """Return the machine of one fold, without the samples that are not support vectors."""
        own = self.coefficients[fold]
        support = np.flatnonzero(own)
        return Machine(
            self.kernels[fold], self.rows[support], own[support], float(self.intercepts[fold])
        )


class MachineData(NamedTuple):
    """A trained machine, what to calibrate it with, and the machines of shared folds.

    Attributes
    ----------
    machine : Machine
    to_calibrate : HeldOut, what a calibrator learns from, or None if there is to be none
    reason : why there is no calibrator, as a clause; empty if that was not asked for
    n_stopped : how many machines stopped before the tolerance was reached
    seconds : training time
    held_out : array of shape (n_scored,), the score of each row in ``SharedFolds.scored`` by the
        machine of its fold, NaN for rows outside the problem; None without shared folds
    fold_machines : FoldMachines, or None without shared folds
    """

    machine: Machine
    to_calibrate: HeldOut | None
    reason: str
    n_stopped: int
    seconds: float
    held_out: _Floats | None = None
    fold_machines: FoldMachines | None = None


class _Folds(NamedTuple):
    """The folds of one problem: which machines to train, and which of them score which samples.

    Attributes
    ----------
    is_kept : bool array of shape (n_machines, n_samples)
        The samples that each machine is trained on. The first machine is that of all samples.
    machine_of : array of shape (n_folds,), the machine that scores what the fold holds out
    constants : array of shape (n_folds,), NaN, or the score that the fold gives to every row
    samples : array of shape (n_held_out,), the samples that are held out
    fold_of : array of shape (n_held_out,), the fold that holds out each of them
    reason : why these folds do not suffice for a calibrator, as a clause
    """

    is_kept: NDArray[np.bool_]
    machine_of: NDArray[np.intp]
    constants: _Floats
    samples: NDArray[np.intp]
    fold_of: NDArray[np.intp]
    reason: str = ""

    @classmethod
    def of_problem(
        cls, problem: BinaryProblem, X: Any, options: TrainingOptions, seed: int | None
    ) -> _Folds:
        """Return the folds of a problem: the shared ones, or its own."""
        if options.folds is not None:
            folds = cls._of_shared(options.folds, problem)
        elif options.calibration is None:
            return cls._of_masks([], problem)
        else:
            try:
                masks = fold_masks(problem.rows, problem.is_positive, X, options.cv, seed)
                folds = cls._of_masks(list(masks), problem)
            except CannotCalibrateError as error:
                return cls._of_masks([], problem)._replace(reason=str(error))
        sides = problem.is_positive[folds.samples]
        if options.calibration is not None and (sides.all() or not sides.any()):
            reason = "cv holds out no samples, or only samples of one side"
            return folds._replace(reason=reason)
        return folds

    @classmethod
    def _of_shared(cls, shared: SharedFolds, problem: BinaryProblem) -> _Folds:
        is_kept, constants = shared.divide(problem.rows, problem.is_positive)
        # A fold that keeps all samples has the machine of all samples. For a calibrator, that
        # machine also stands in where a fold has only one side to train on: its constant score
        # says nothing about the relation of scores and sides.
        is_trained = np.isnan(constants) & ~is_kept.all(axis=1)
        machine_of = np.where(is_trained, np.cumsum(is_trained), 0)
        fold_of = shared.fold_of[problem.rows]
        (samples,) = (fold_of >= 0).nonzero()
        return cls(
            _after_all_samples(is_kept[is_trained]),
            machine_of,
            constants,
            samples,
            fold_of[samples],
        )

    @classmethod
    def _of_masks(
        cls,
        masks: list[tuple[NDArray[np.bool_], NDArray[np.intp]]],
        problem: BinaryProblem,
    ) -> _Folds:
        n_folds = len(masks)
        is_kept = np.array([mask for mask, _ in masks], dtype=np.bool_)
        tests = [test for _, test in masks]
        return cls(
            _after_all_samples(is_kept.reshape(n_folds, problem.n_samples)),
            np.arange(1, n_folds + 1),
            np.full(n_folds, np.nan),
            np.concatenate([np.empty(0, dtype=np.intp), *tests]),
            np.repeat(np.arange(n_folds), [len(test) for test in tests]),
        )

    @property
    def can_calibrate(self) -> bool:
        """Whether there are samples of both sides to calibrate with."""
        return len(self.samples) > 0 and not self.reason

    def scores_to_calibrate(self, values: _Floats) -> _Floats:
        """Return the scores of the held-out samples that a calibrator learns from.

        Parameters
        ----------
        values : array of shape (n_machines, n_samples)
        """
        return np.asarray(values[self.machine_of[self.fold_of], self.samples])

    def machines(
        self,
        kernels: list[KernelFunction],
        rows: NDArray[np.intp],
        coefficients: _Floats,
        intercepts: _Floats,
    ) -> FoldMachines:
        """Return the machine of each fold."""
        is_constant = ~np.isnan(self.constants)
        own, own_intercepts = coefficients[self.machine_of], intercepts[self.machine_of]
        own[is_constant] = 0.0
        own_intercepts[is_constant] = self.constants[is_constant]
        own_kernels = [kernels[machine] for machine in self.machine_of.tolist()]
        return FoldMachines(own_kernels, rows, own, own_intercepts)


def _after_all_samples(is_kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the masks of all machines, given those of the folds."""
    return np.concatenate([np.ones((1, is_kept.shape[1]), dtype=np.bool_), is_kept])


@dataclass(slots=True)
class Worker:
    """Trains problems, from any thread.

    Attributes
    ----------
    X : the training data as given, for splitters that look at it
    matrix : Matrix
    place : array of shape (n_rows,)
        The row of the matrix that holds each row of the data; −1 for rows that it leaves out.
    finder : KernelFinder
    options : TrainingOptions
    most_runs : one more than the number of folds that there is memory for
    """

    X: Any
    matrix: Matrix
    place: NDArray[np.intp]
    finder: KernelFinder
    options: TrainingOptions
    most_runs: int
    _local: threading.local = field(default_factory=threading.local)

    def train(self, svc: SVC, problem: BinaryProblem, seed: int | None) -> MachineData:
        """Return the machine of a problem; both of its sides have samples of positive weight.

        Raise an UnsuitableError if it has to be trained another way.
        """
        started = perf_counter()
        weight = self._weight_of(problem)
        folds = _Folds.of_problem(problem, self.X, self.options, seed)
        n_machines = len(folds.is_kept)
        if n_machines > self.most_runs:
            raise UnsuitableError(f"cv makes {n_machines - 1} folds, more than were expected")
        if self.matrix.common_kernel is not None:
            kernels = [self.matrix.common_kernel] * n_machines
        else:
            kernels = self.finder.kernels_of(svc, problem.rows, folds.is_kept)
        # LIBSVM's order, so that ties fall as there: the −1 side comes first, and counts as +1.
        place = self.place[problem.rows]
        order = np.argsort(problem.is_positive, kind="stable")
        if problem.n_samples == self.matrix.n_rows > FEW_SAMPLES:
            # But a large problem that has all the rows can use those of the matrix as they are.
            order = np.argsort(place)
        in_order, place = problem.is_positive[order], place[order]
        parameters, diagonals = self._parameters(kernels, place)
        coefficients, values, intercepts, steps = routine("train_machines", "smo")(
            *self.matrix.rows(),
            entry_form(self.matrix, kernels[0]),
            place,
            np.where(in_order, -1.0, 1.0),
            # In one memory order whatever the shape, or there are two of them to be compiled.
            np.ascontiguousarray(_bounds(svc, problem, folds.is_kept, weight)[:, order]),
            parameters,
            diagonals,
            svc.tol,
            svc.max_iter,
            bool(svc.shrinking),
            # An indefinite kernel has several solutions; which one is found depends on the start.
            svc.kernel != "sigmoid",
            self._cache(problem.n_samples),
        )
        # Back to the order of the problem, and to the sign of the +1 side.
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        coefficients, values = -coefficients[:, back], -values[:, back]
        scores = folds.scores_to_calibrate(values)
        to_calibrate = None
        if folds.can_calibrate:
            own_weight = None if weight is None else weight[folds.samples]
            to_calibrate = HeldOut(scores, problem.is_positive[folds.samples], own_weight)
        held_out, fold_machines = None, None
        if self.options.folds is not None:
            fold_machines = folds.machines(kernels, problem.rows, coefficients, intercepts)
            constants = folds.constants[folds.fold_of]
            held_out = np.full(len(self.place), np.nan)
            held_out[problem.rows[folds.samples]] = np.where(np.isnan(constants), scores, constants)
            held_out = held_out[self.options.folds.scored]
        (support,) = coefficients[0].nonzero()
        rows, own = problem.rows[support], coefficients[0, support]
        return MachineData(
            Machine(kernels[0], rows, own, float(intercepts[0])),
            to_calibrate,
            folds.reason,
            int(np.count_nonzero(steps == svc.max_iter)),
            perf_counter() - started,
            held_out,
            fold_machines,
        )

    def _parameters(
        self, kernels: list[KernelFunction], place: NDArray[np.intp]
    ) -> tuple[_Floats, _Floats]:
        """Return the parameters and the diagonal of each kernel, as arrays for the routine."""
        common = self.matrix.common_kernel
        if common is not None:
            parameters, diagonal = (
                np.array(common.code[1:]),
                diagonal_of(self.matrix, common, place),
            )
            shape = len(kernels), 1
            return parameters * np.ones(shape), diagonal * np.ones(shape)
        for each in set(kernels):
            check_range(each, float(self.matrix.squares.max()))
        return (
            np.array([each.code[1:] for each in kernels], dtype=np.float64),
            np.array([diagonal_of(self.matrix, each, place) for each in kernels]),
        )

    def _weight_of(self, problem: BinaryProblem) -> _Floats | None:
        """Return the weights of the samples of a problem."""
        weight = weights_of_problem(problem, self.options, len(self.place))
        return None if weight is None else weight[problem.rows]

    def _cache(self, n_samples: int) -> NDArray[np.float32]:
        """Return this thread's place for rows of kernel values."""
        if not hasattr(self._local, "cache"):
            self._local.cache = np.empty(CACHE_BYTES // 4, dtype=np.float32)
        cache: NDArray[np.float32] = self._local.cache
        return cache if len(cache) >= 2 * n_samples else np.empty(2 * n_samples, dtype=np.float32)


def _bounds(
    svc: SVC, problem: BinaryProblem, parts: NDArray[np.bool_], weight: _Floats | None
) -> _Floats:
    """Return the largest coefficient of each sample of the problem in each of its parts."""
    bounds = np.where(parts, float(svc.C), 0.0)
    if svc.class_weight is not None:
        labels = side_labels(svc)
        targets, side_of = problem.labelled(labels), problem.is_positive.astype(np.intp)
        for bound, part in zip(bounds, parts, strict=True):
            bound *= compute_class_weight(
                svc.class_weight, classes=np.array(labels), y=targets[part]
            )[side_of]
    return bounds if weight is None else bounds * weight
