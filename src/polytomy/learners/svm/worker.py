"""Training problems on a shared matrix: their machines, and the machines of their folds.

Fold machines score the samples that their fold holds out, for the calibrators. If all problems
share their folds, they also score the rows outside their problem, for the final calibration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC
from sklearn.utils.class_weight import compute_class_weight

from polytomy.calibration.calibrators import HeldOut
from polytomy.calibration.folds import Folds
from polytomy.learners.preparation import side_labels
from polytomy.learners.problems import Batch, BatchFolds, BinaryProblem
from polytomy.learners.svm.machines import FoldMachines, Machine, MachineData
from polytomy.learners.svm.matrix import Matrix, WholeMatrix, train_machines
from polytomy.learners.workload import TrainingOptions, weights_of_problems
from polytomy.routines.reference.smo import FEW_SAMPLES

_Floats = NDArray[np.float64]

# Products of fewer rows on average take longer than what they save.
_LEAST_PART = 32


def coefficient_bounds(
    svcs: Sequence[SVC],
    starts: NDArray[np.intp],
    is_positive: NDArray[np.bool_],
    is_kept: NDArray[np.bool_],
    weight: _Floats | None = None,
) -> _Floats:
    """Return the largest allowed coefficient of each sample in each machine: C times its weights.

    Parameters
    ----------
    svcs : SVC of each problem
    starts : array of shape (n_problems + 1,)
        The first sample of each problem, and the number of samples.
    is_positive : array of shape (n_samples,), the sides of the samples
    is_kept : array of shape (n_parts, n_samples)
        The samples in each part; the others have bounds of zero. Class weights are computed from
        the samples in the part.
    weight : array of shape (n_samples,), optional

    Returns
    -------
    array of shape (n_parts, n_samples)

    Examples
    --------
    >>> bounds = coefficient_bounds(
    ...     [SVC(C=4, class_weight="balanced")],
    ...     np.array([0, 3]),
    ...     np.array([True, False, False]),
    ...     np.array([[True, True, True], [True, False, True]]),
    ... )
    >>> bounds
    array([[6., 3., 3.],
           [4., 0., 4.]])
    """
    bounds = np.where(is_kept, np.repeat([float(svc.C) for svc in svcs], np.diff(starts)), 0.0)
    for svc, (start, end) in zip(svcs, pairwise(starts.tolist()), strict=True):
        if svc.class_weight is None:
            continue
        sides = np.array(side_labels(svc))
        side_of = is_positive[start:end].astype(np.intp)
        for bound, is_own in zip(bounds[:, start:end], is_kept[:, start:end], strict=True):
            bound *= compute_class_weight(
                svc.class_weight, classes=sides, y=sides[side_of[is_own]]
            )[side_of]
    return bounds if weight is None else bounds * weight


def find_sources(n_values: int, n_models: int) -> NDArray[np.intp]:
    """Return the runs that each run of `train_machines` starts from.

    Parameters
    ----------
    n_values : number of values of C, in ascending order
    n_models : number of runs with each value: the whole problem, and its parts

    Examples
    --------
    >>> find_sources(2, 2)
    array([[-1, -1],
           [-1,  0],
           [ 0, -1],
           [ 1,  2]])
    """
    runs = range(n_values * n_models)
    sources = [(max(-1, k - n_models), k - k % n_models if k % n_models else -1) for k in runs]
    return np.array(sources, dtype=np.intp)


def score_outside(
    trained: Sequence[MachineData],
    matrix: Matrix,
    place: NDArray[np.intp],
    folds: Folds,
) -> list[MachineData]:
    """Return the same machines with the scores of all rows, where the matrix has the values.

    The fold machines are then no longer needed, and are dropped.

    Parameters
    ----------
    trained : machines that were trained on the matrix
    matrix : Matrix
    place : array of shape (n_rows,), the row of the matrix for each row of the data, or −1
    folds : Folds
    """
    rows = place[folds.scored]
    scores = np.array([data.scores for data in trained], dtype=np.float64).T
    if (is_missing := np.isnan(scores)).any():
        if rows.min() < 0 or not isinstance(matrix, WholeMatrix):
            return list(trained)  # most kernel values would have to be computed first
        machines = [data.fold_machines for data in trained if data.fold_machines is not None]
        found = _score(machines, matrix, place, rows, folds.fold_of[folds.scored])
        scores = np.where(is_missing, found, scores)
    return [
        data._replace(scores=own, fold_machines=None)
        for data, own in zip(trained, scores.T, strict=True)
    ]


def _score(
    machines: Sequence[FoldMachines],
    matrix: WholeMatrix,
    place: NDArray[np.intp],
    rows: NDArray[np.intp],
    fold_of: NDArray[np.intp],
) -> NDArray[np.float64]:
    """Return the scores that the machines of their folds give to rows of the matrix."""
    columns = place[np.concatenate([each.rows for each in machines])]
    numbers = np.repeat(np.arange(len(machines)), [len(each.rows) for each in machines])
    coefficients = np.concatenate([each.coefficients for each in machines], axis=1)
    intercepts = np.column_stack([each.intercepts for each in machines])
    scores = np.empty((len(rows), len(machines)))
    weights = np.zeros((matrix.n_rows, len(machines)))
    parts = _find_parts(columns, numbers, weights.shape)
    for fold, own in enumerate(coefficients):
        weights[columns, numbers] = own
        (samples,) = (fold_of == fold).nonzero()
        scores[samples] = matrix.sums(rows[samples], weights, parts)
    return scores + intercepts[fold_of]


def _find_parts(
    columns: NDArray[np.intp], numbers: NDArray[np.intp], shape: tuple[int, int]
) -> list[slice]:
    """Return the runs of consecutive rows of a matrix that belong to the same machines.

    Parameters
    ----------
    columns, numbers : a row of the matrix and a machine that it belongs to, in pairs
    shape : number of rows, and of machines

    Examples
    --------
    >>> _find_parts(np.arange(128), np.repeat([0, 1], 64), (128, 2))
    [slice(0, 64, None), slice(64, 128, None)]
    """
    n_rows, _ = shape
    is_own = np.zeros(shape, dtype=np.bool_)
    is_own[columns, numbers] = True
    starts = 1 + np.flatnonzero((is_own[1:] != is_own[:-1]).any(axis=1))
    if (1 + len(starts)) * _LEAST_PART > n_rows:
        return [slice(0, n_rows)]
    return [slice(*both) for both in pairwise([0, *starts.tolist(), n_rows])]


Task = tuple[Sequence[SVC], BinaryProblem]
"""SVCs that differ only in C, in ascending order, and the problem to train them on."""


class _Trained(NamedTuple):
    """The machines of a batch.

    Attributes
    ----------
    coefficients, values : arrays of shape (n_machines, n_samples)
    intercepts : array of shape (n_machines, n_problems)
    n_stopped : array of shape (n_problems,), machines that stopped before reaching the tolerance
    """

    coefficients: _Floats
    values: _Floats
    intercepts: _Floats
    n_stopped: NDArray[np.intp]


@dataclass(slots=True)
class Worker:
    """Trains problems; thread-safe.

    Attributes
    ----------
    matrix : Matrix
    place : array of shape (n_rows,)
        The row of the matrix for each row of the data, or −1 if it is not in the matrix.
    options : TrainingOptions
    folds : Folds, optional
    """

    matrix: Matrix
    place: NDArray[np.intp]
    options: TrainingOptions
    folds: Folds | None

    def train(self, tasks: Sequence[Task]) -> list[list[MachineData]]:
        """Train the machines of a batch of problems, each with samples on both sides.

        Raise an UnsuitableError if the problems have to be trained in another way.

        Parameters
        ----------
        tasks : SVCs and problem of each task

        Returns
        -------
        the machines of each task, one for each of its SVCs
        """
        started = perf_counter()
        problems = [problem for _, problem in tasks]
        n_values = max(len(svcs) for svcs, _ in tasks)
        # The last machine of a task with fewer values of C is trained again, which takes no steps.
        by_value = [[svcs[min(k, len(svcs) - 1)] for svcs, _ in tasks] for k in range(n_values)]
        batch = Batch.of(problems)
        weight = weights_of_problems(problems, self.options, len(self.place))
        folds = BatchFolds.of(batch, self.folds)
        trained = self._train(by_value, batch, folds, weight)
        # Taken for all problems at once, and then divided.
        held_weight = None if weight is None else weight[folds.samples]
        if self.folds is not None:
            held_weight = self.folds.weigh(held_weight, batch.rows[folds.samples])
        seconds = (perf_counter() - started) / (len(tasks) * n_values)
        machines = [self._describe(batch, folds, each, held_weight, seconds) for each in trained]
        return [
            [machines[k][number] for k in range(len(svcs))]
            for number, (svcs, _) in enumerate(tasks)
        ]

    def _describe(
        self,
        batch: Batch,
        folds: BatchFolds,
        trained: _Trained,
        held_weight: _Floats | None,
        seconds: float,
    ) -> list[MachineData]:
        """Return the machine of each problem, with its calibration data."""
        values = trained.values[folds.model_of(batch), folds.samples]
        scores, machines = self._of_folds(batch, folds, trained, values)
        held_out = HeldOut(values, batch.is_positive[folds.samples], held_weight)
        has_both = folds.hold_out_both_sides(batch)
        (support,) = trained.coefficients[0].nonzero()
        rows, coefficients = batch.rows[support], trained.coefficients[0, support]
        of_support = _divide(np.searchsorted(support, batch.starts))
        of_samples = _divide(np.searchsorted(folds.samples, batch.starts))
        intercepts, n_stopped = trained.intercepts[0].tolist(), trained.n_stopped.tolist()
        kernel = self.matrix.kernel
        return [
            MachineData(
                Machine(kernel, rows[of_support[k]], coefficients[of_support[k]], intercepts[k]),
                held_out.part(of_samples[k]) if has_both[k] else None,
                n_stopped[k],
                seconds,
                None if scores is None else scores[:, k],
                None if scores is None else machines[k],
            )
            for k in range(len(batch.sizes))
        ]

    def _train(
        self,
        by_value: Sequence[Sequence[SVC]],
        batch: Batch,
        folds: BatchFolds,
        weight: _Floats | None,
    ) -> list[_Trained]:
        """Train the machines of all problems; `by_value` has their SVCs for each value of C."""
        svcs = by_value[0]
        parts = batch.starts, batch.is_positive, folds.is_kept, weight
        bounds = np.concatenate([coefficient_bounds(own, *parts) for own in by_value])
        # LIBSVM's order, so that ties are broken alike: the −1 side comes first, and counts as +1.
        place = self.place[batch.rows]
        order = np.lexsort((batch.is_positive, batch.problem_of))
        if len(svcs) == 1 and len(place) == self.matrix.n_rows > FEW_SAMPLES:
            # But a large problem with all rows can use the rows of the matrix without copying.
            order = np.argsort(place)
        signs = np.where(batch.is_positive[order], -1.0, 1.0)
        n_models = len(folds.is_kept)
        coefficients, values, intercepts, steps = train_machines(
            self.matrix,
            svcs,
            place[order],
            batch.starts[1:],
            signs,
            bounds[:, order],
            find_sources(len(by_value), n_models),
        )
        # Restore the order of the problems and the sign of the +1 side.
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        coefficients, values = -coefficients[:, back], -values[:, back]
        is_stopped = steps == np.array([svc.max_iter for svc in svcs])
        models = [slice(k, k + n_models) for k in range(0, len(bounds), n_models)]
        for own in models:
            is_stopped[own][1:] &= folds.is_trained
        return [
            _Trained(coefficients[own], values[own], intercepts[own], is_stopped[own].sum(axis=0))
            for own in models
        ]

    def _of_folds(
        self, batch: Batch, folds: BatchFolds, trained: _Trained, values: _Floats
    ) -> tuple[_Floats | None, list[FoldMachines]]:
        """Return the scores of all scored rows, and the machines of the folds.

        The scores have shape (n_scored, n_problems), with NaN for rows outside a problem.
        """
        if self.folds is None:
            return None, []
        problems = batch.problem_of[folds.samples]
        constants = folds.constants[folds.fold_of, problems]
        scores = np.full((len(self.place), len(batch.sizes)), np.nan)
        is_trained = np.isnan(constants)
        scores[batch.rows[folds.samples], problems] = np.where(is_trained, values, constants)
        is_constant = ~np.isnan(folds.constants)
        # A fold that keeps all samples of a problem has the machine of all samples.
        own = np.where(
            folds.is_trained[:, batch.problem_of], trained.coefficients[1:], trained.coefficients[0]
        )
        own[is_constant[:, batch.problem_of]] = 0.0
        intercepts = np.where(folds.is_trained, trained.intercepts[1:], trained.intercepts[0])
        intercepts = np.where(is_constant, folds.constants, intercepts)
        kernel = self.matrix.kernel
        machines = [
            FoldMachines(kernel, batch.rows[start:end], own[:, start:end], intercepts[:, k])
            for k, (start, end) in enumerate(pairwise(batch.starts.tolist()))
        ]
        return scores[self.folds.scored], machines


def _divide(ends: NDArray[np.intp]) -> list[slice]:
    """Return the parts between consecutive ends."""
    return [slice(start, end) for start, end in pairwise(ends.tolist())]
