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
from polytomy.routines.smo.reference import FEW_SAMPLES
from polytomy.svm.kernel_finder import KernelFinder
from polytomy.svm.kernel_functions import KernelFunction
from polytomy.svm.kernel_matrix import Matrix, diagonal_of, entry_form
from polytomy.svm.memory import CACHE_BYTES
from polytomy.svm.suitability import UnsuitableError, check_range

__all__ = ["MachineData", "Worker"]

_Floats = NDArray[np.float64]


class MachineData(NamedTuple):
    """A trained machine, by the rows of the data that are its support vectors."""

    kernel: KernelFunction
    rows: NDArray[np.intp]
    coefficients: _Floats
    intercept: float
    calibrator: Calibrator | None
    reason: str
    n_stopped: int
    seconds: float


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
        calibrator, reason = None, ""
        tests: list[NDArray[np.intp]] = []
        parts = np.ones((1, problem.n_samples), dtype=np.bool_)
        if self.options.calibration is not None:
            try:
                masks, tests = _folds(problem, self.X, self.options.cv, seed)
                parts = np.vstack([parts, *masks])
                calibrator = make_calibrator(self.options.calibration, seed)
            except CannotCalibrateError as error:
                reason = str(error)
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
            np.ascontiguousarray(_bounds(svc, problem, parts, weight)[:, order]),
            np.array([each.code[1:] for each in kernels], dtype=np.float64),
            np.array([diagonal_of(self.matrix, each, place[order]) for each in kernels]),
            svc.tol,
            svc.max_iter,
            bool(svc.shrinking),
            # An indefinite kernel has several solutions; which one is found depends on the start.
            svc.kernel != "sigmoid",
            self._cache(problem.n_samples),
        )
        if calibrator is not None:
            held_out = np.concatenate(tests)
            by_sample = np.empty_like(values)
            by_sample[:, order] = -values
            scores = np.concatenate([by_sample[k][test] for k, test in enumerate(tests, 1)])
            calibrator.fit(
                scores, problem.is_positive[held_out], None if weight is None else weight[held_out]
            )
        support = np.flatnonzero(coefficients[0])
        return MachineData(
            kernels[0],
            problem.rows[order[support]],
            -coefficients[0][support],
            float(offsets[0]),
            calibrator,
            reason,
            int(np.count_nonzero(steps == svc.max_iter)),
            perf_counter() - started,
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


def _folds(
    problem: BinaryProblem, X: Any, cv: Any, seed: int | None
) -> tuple[list[NDArray[np.bool_]], list[NDArray[np.intp]]]:
    """Return which samples each fold trains on, and which it holds out."""
    folds = list(fold_masks(problem.rows, problem.is_positive, X, cv, seed))
    masks, tests = [mask for mask, _ in folds], [test for _, test in folds]
    sides = problem.is_positive[np.concatenate(tests)] if tests else np.empty(0, dtype=np.bool_)
    if sides.all() or not sides.any():
        raise CannotCalibrateError("cv holds out no samples, or only samples of one side")
    return masks, tests


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
