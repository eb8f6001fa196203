"""Training one problem on the shared matrix: its machine and its calibrator."""

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
from polytomy.calibration.calibrators import Calibrator
from polytomy.calibration.folds import CannotCalibrateError, fold_masks
from polytomy.calibration.option import make_calibrator
from polytomy.routines.runtime.dispatch import routine
from polytomy.routines.smo.reference import FEW_SAMPLES, FROM_FIRST_RUN, FROM_ZERO
from polytomy.svm.kernel_finder import KernelFinder
from polytomy.svm.kernel_functions import KernelFunction
from polytomy.svm.kernel_matrix import Matrix, diagonal_of, entry_form
from polytomy.svm.memory import CACHE_BYTES
from polytomy.svm.suitability import UnsuitableError, check_range

__all__ = ["Machine", "MachineData", "Worker", "coefficient_bounds"]

_Floats = NDArray[np.float64]


class Machine(NamedTuple):
    """A machine, by the rows of the data that are its support vectors."""

    kernel: KernelFunction
    rows: NDArray[np.intp]
    coefficients: _Floats
    intercept: float


class MachineData(NamedTuple):
    """A trained machine, its calibrator, and the machines of the folds if these are shared.

    Attributes
    ----------
    machine : Machine
    calibrator : Calibrator, or None if there is none
    reason : why there is no calibrator, as a clause; empty if that was not asked for
    n_stopped : how many machines stopped before the tolerance was reached
    seconds : training time
    held_out : array of shape (n_samples,), the score that each sample of the problem got from the
        machine of its fold, NaN if no fold holds it out; None without shared folds
    fold_machines : a Machine for each shared fold, or the score that the fold gives every row
    """

    machine: Machine
    calibrator: Calibrator | None
    reason: str
    n_stopped: int
    seconds: float
    held_out: _Floats | None = None
    fold_machines: tuple[Machine | float, ...] = ()


@dataclass(slots=True)
class _Folds:
    """The folds of one problem.

    Attributes
    ----------
    masks : which samples of the problem to train on, for each machine besides that of all samples
    tests : the samples that each fold holds out
    sources : what scores them: the number of a machine, or a constant score
    reason : why these folds do not suffice for a calibrator, as a clause
    """

    masks: list[NDArray[np.bool_]]
    tests: list[NDArray[np.intp]]
    sources: list[int | float]
    reason: str = ""

    @property
    def can_calibrate(self) -> bool:
        """Whether there are samples of both sides to calibrate with."""
        return bool(self.tests) and not self.reason

    def checked(self, problem: BinaryProblem) -> _Folds:
        """Return the same folds, with a reason if they do not hold out samples of both sides."""
        sides = problem.is_positive[np.concatenate(self.tests)] if self.tests else np.empty(0)
        if sides.all() or not sides.any():
            reason = "cv holds out no samples, or only samples of one side"
            return _Folds(self.masks, self.tests, self.sources, reason)
        return self

    def held_out_scores(self, scores: _Floats) -> tuple[NDArray[np.intp], _Floats, _Floats]:
        """Return the samples that are held out, fold by fold, and their scores.

        Where a fold has only one side to train on, its constant score says nothing about the
        relation of scores and sides. For a calibrator, the machine of all samples stands in.

        Parameters
        ----------
        scores : array of shape (n_machines, n_samples)

        Returns
        -------
        samples : array of int
        held_out : array, the scores by the machines of the folds
        to_calibrate : array, the scores that a calibrator learns from
        """
        if not self.tests:
            return np.empty(0, dtype=np.intp), np.empty(0), np.empty(0)
        held_out, to_calibrate = [], []
        for test, source in zip(self.tests, self.sources, strict=True):
            is_trained = isinstance(source, int)
            to_calibrate.append(scores[int(source) if is_trained else 0][test])
            held_out.append(to_calibrate[-1] if is_trained else np.full(len(test), source))
        return np.concatenate(self.tests), np.concatenate(held_out), np.concatenate(to_calibrate)


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
        folds = self._folds_of(problem, seed)
        parts = np.vstack([np.ones((1, problem.n_samples), dtype=np.bool_), *folds.masks])
        if len(parts) > self.most_runs:
            raise UnsuitableError(f"cv makes {len(parts) - 1} folds, more than were expected")
        if self.matrix.common_kernel is not None:
            kernels = [self.matrix.common_kernel] * len(parts)
        else:
            kernels = self.finder.kernels_of(svc, problem.rows, parts)
            for each in set(kernels):
                check_range(each, float(self.matrix.squares.max()))

        # LIBSVM's order, so that ties fall as there: the −1 side comes first, and counts as +1.
        place = self.place[problem.rows]
        order = np.argsort(problem.is_positive, kind="stable")
        if problem.n_samples == self.matrix.n_rows > FEW_SAMPLES:
            # But a large problem that has all the rows can use those of the matrix as they are.
            order = np.argsort(place)
        coefficients, values, offsets, steps = routine("train_machines", "smo")(
            *self.matrix.rows(),
            entry_form(self.matrix, kernels[0]),
            place[order],
            -problem.targets[order].astype(np.float64),
            # In one memory order whatever the shape, or there are two of them to be compiled.
            np.ascontiguousarray(coefficient_bounds(svc, problem, parts, weight)[:, order]),
            np.array([each.code[1:] for each in kernels], dtype=np.float64),
            np.array([diagonal_of(self.matrix, each, place[order]) for each in kernels]),
            svc.tol,
            svc.max_iter,
            bool(svc.shrinking),
            # An indefinite kernel has several solutions; which one is found depends on the start.
            FROM_ZERO if svc.kernel == "sigmoid" else FROM_FIRST_RUN,
            self._cache(problem.n_samples),
        )
        by_sample = np.empty_like(values)
        by_sample[:, order] = -values
        samples, scores, to_calibrate = folds.held_out_scores(by_sample)
        calibrator = None
        if folds.can_calibrate:
            calibrator = make_calibrator(self.options.calibration, seed)
            calibrator.fit(
                to_calibrate,
                problem.is_positive[samples],
                None if weight is None else weight[samples],
            )

        def machine(run: int) -> Machine:
            support = np.flatnonzero(coefficients[run])
            rows, own = problem.rows[order[support]], -coefficients[run][support]
            return Machine(kernels[run], rows, own, float(offsets[run]))

        held_out = None
        fold_machines: tuple[Machine | float, ...] = ()
        if self.options.folds is not None:
            held_out = np.full(problem.n_samples, np.nan)
            held_out[samples] = scores
            fold_machines = tuple(
                source if isinstance(source, float) else machine(source) for source in folds.sources
            )
        return MachineData(
            machine(0),
            calibrator,
            folds.reason,
            int(np.count_nonzero(steps == svc.max_iter)),
            perf_counter() - started,
            held_out,
            fold_machines,
        )

    def _folds_of(self, problem: BinaryProblem, seed: int | None) -> _Folds:
        """Return the folds of a problem: the shared ones, or its own."""
        shared = self.options.folds
        if shared is None and self.options.calibration is None:
            return _Folds([], [], [])
        if shared is None:
            try:
                own = list(
                    fold_masks(problem.rows, problem.is_positive, self.X, self.options.cv, seed)
                )
            except CannotCalibrateError as error:
                return _Folds([], [], [], str(error))
            masks, tests = [mask for mask, _ in own], [test for _, test in own]
            return _Folds(masks, tests, [*range(1, len(own) + 1)]).checked(problem)
        folds = _Folds([], [], [])
        for part in shared.parts(problem.rows, problem.is_positive):
            folds.tests.append(part.held_out)
            if part.constant is not None:
                folds.sources.append(part.constant)
            elif part.is_whole:
                folds.sources.append(0)
            else:
                folds.masks.append(part.is_kept)
                folds.sources.append(len(folds.masks))
        return folds if self.options.calibration is None else folds.checked(problem)

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


def coefficient_bounds(
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
