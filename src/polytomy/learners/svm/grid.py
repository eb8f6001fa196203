"""Scores of held-out rows for many values of C, computed from kernel matrices of all the data.

A search over C and gamma with cross-validation needs the same kernel values for every C, fold and
problem. Here each is computed only once.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from polytomy.inputs.arguments import count_things
from polytomy.inputs.rows import take_rows
from polytomy.learners.problems import BinaryProblem
from polytomy.learners.svm.kernels import KernelFunction, squared_lengths, uses_gamma
from polytomy.learners.svm.matrix import (
    TooLargeError,
    WholeMatrix,
    bytes_of_matrix,
    bytes_of_rows,
    bytes_of_thread,
    check_budget,
    train_machines,
)
from polytomy.learners.svm.suitability import (
    as_numbers,
    check_compiled,
    check_range,
    check_suitable,
    kernel_of,
)
from polytomy.learners.svm.worker import coefficient_bounds, find_sources
from polytomy.learners.workload import TrainingOptions, constant_binary, weights_of_problem
from polytomy.routines.threads import one_blas_thread, run_tasks

_Floats = NDArray[np.float64]


class GridScores(NamedTuple):
    """Decision values of held-out rows.

    Attributes
    ----------
    values : array of shape (n_svcs, n_held_out, n_problems)
    fit_seconds : array of shape (n_problems,), training time of a problem with one C
    predict_seconds : array of shape (n_problems,), prediction time of a problem with one C
    """

    values: _Floats
    fit_seconds: _Floats
    predict_seconds: _Floats


@dataclass(slots=True, eq=False)
class KernelGrid:
    """Trains support vector machines on parts of the data, and scores other parts with them.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_rows, n_features)
        All the data, of all folds.
    class_indices : array of shape (n_rows,), the index of each row's class
    memory_budget : float, optional
        Bytes that the kernel matrices may take. Matrices of several kernels are kept if they fit.
    n_jobs : int, optional
        Number of problems to train in parallel threads, as in joblib.

    Raises
    ------
    UnsuitableError
        If the data is not numbers, or too large for one matrix.
    """

    X: Any
    class_indices: NDArray[np.intp]
    memory_budget: float | None = None
    n_jobs: int | None = None
    _numbers: Any = field(init=False)
    _place: NDArray[np.intp] = field(init=False)
    _n_kept: int = field(init=False)
    _matrices: dict[KernelFunction, WholeMatrix] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        check_compiled()
        numbers = as_numbers(self.X)
        n_rows = len(self.class_indices)
        budget = check_budget(self.memory_budget) - bytes_of_rows(numbers, n_rows)
        matrix = bytes_of_matrix(n_rows)
        # One matrix more for the values of held-out rows.
        self._n_kept = int((budget - bytes_of_thread(n_rows, 1)) // matrix) - 1
        if self._n_kept < 1:
            raise TooLargeError(f"a kernel matrix of {n_rows} rows does not fit in memory_budget")
        # Rows of a class are adjacent, so that the columns of a problem form few runs.
        order = np.argsort(self.class_indices, kind="stable")
        self._numbers = numbers[order]
        self._place = np.empty(n_rows, dtype=np.intp)
        self._place[order] = np.arange(n_rows)

    def score_held_out(
        self,
        svcs: Sequence[SVC],
        problems: Sequence[BinaryProblem],
        rows: NDArray[np.intp],
        held_out: NDArray[np.intp],
        options: TrainingOptions | None = None,
    ) -> GridScores:
        """Return the decision values of held-out rows.

        Machines with the smallest C are trained first; the others are warm-started from the
        solution for the next smaller C.

        Parameters
        ----------
        svcs : SVCs that differ only in C
        problems : sequence of problems; their rows are positions in `rows`
        rows : array of int, the rows of the data to train on
        held_out : array of int, the rows of the data to score
        options : TrainingOptions, optional
            Sample weights are for `rows`. Nothing is calibrated.
        """
        options = TrainingOptions() if options is None else options
        for svc in svcs:
            check_suitable(svc)
        order = np.argsort([svc.C for svc in svcs], kind="stable")
        ascending = [svcs[k] for k in order]
        kernel = self._kernel_of(svcs[0], rows)
        with one_blas_thread():
            matrix = self._matrix_of(kernel)
            values_held_out = matrix.rows().kernel_values[self._place[held_out]]
            # One row for each row of the data, so that selecting the support vectors is fast.
            of_held_out = np.ascontiguousarray(values_held_out.T, dtype=np.float64)
            places = self._place[rows]
            tasks = [
                partial(self._score, ascending, each, places, matrix, of_held_out, options)
                for each in problems
            ]
            n_threads = min(int(effective_n_jobs(self.n_jobs)), max(1, len(tasks)))
            scored = list(run_tasks(tasks, n_threads))
        values = np.empty((len(svcs), len(held_out), len(problems)))
        for k, each in enumerate(scored):
            values[order, :, k] = each.values
        n_stopped = sum(each.n_stopped for each in scored)
        if n_stopped:
            warnings.warn(
                f"{count_things(n_stopped, 'machine')} stopped early, after "
                f"max_iter={svcs[0].max_iter} steps. "
                "Scale the features, or increase max_iter.",
                ConvergenceWarning,
                stacklevel=2,
            )
        seconds = np.array([(each.fit_seconds, each.predict_seconds) for each in scored])
        fit_seconds, predict_seconds = seconds.reshape(-1, 2).T / len(svcs)
        return GridScores(values, fit_seconds, predict_seconds)

    def _kernel_of(self, svc: SVC, rows: NDArray[np.intp]) -> KernelFunction:
        """Return the kernel of an SVC fitted on some rows."""
        numbers = self._numbers
        if uses_gamma(svc) and svc.gamma == "scale":
            # In the order of the data; otherwise its sums would be rounded differently.
            numbers = take_rows(numbers, self._place[rows])
        kernel = kernel_of(svc, numbers)
        check_range(kernel, float(squared_lengths(self._numbers).max()))
        return kernel

    def _matrix_of(self, kernel: KernelFunction) -> WholeMatrix:
        """Return the matrix of a kernel, and cache the most recently used ones."""
        matrix = self._matrices.pop(kernel, None)
        if matrix is None:
            while len(self._matrices) >= self._n_kept:
                del self._matrices[next(iter(self._matrices))]
            n_threads = int(effective_n_jobs(self.n_jobs))
            matrix = WholeMatrix(self._numbers, kernel, n_threads)
        self._matrices[kernel] = matrix
        return matrix

    def _score(
        self,
        svcs: Sequence[SVC],
        problem: BinaryProblem,
        places: NDArray[np.intp],
        matrix: WholeMatrix,
        of_held_out: _Floats,
        options: TrainingOptions,
    ) -> _Scored:
        """Return the decision values of the machines of one problem, in ascending order of C."""
        weight = weights_of_problem(problem, options, len(places))
        if weight is not None:
            problem = problem.keep(weight[problem.rows] > 0)
            weight = weight[problem.rows]
        shape = len(svcs), of_held_out.shape[1]
        if not problem.smaller_side:
            return _Scored(np.full(shape, constant_binary(problem).constant), 0, 0.0, 0.0)
        started = perf_counter()
        whole = np.ones((1, problem.n_samples), dtype=np.bool_)
        ends = np.array([0, problem.n_samples])
        # LIBSVM's order, so that ties are broken alike: the −1 side comes first, and counts as +1.
        order = np.argsort(problem.is_positive, kind="stable")
        columns = places[problem.rows[order]]
        bounds = np.vstack(
            [coefficient_bounds([svc], ends, problem.is_positive, whole, weight) for svc in svcs]
        )
        coefficients, _, offsets, steps = train_machines(
            matrix,
            svcs[:1],
            columns,
            ends[1:],
            -problem.targets[order].astype(np.float64),
            bounds[:, order],
            find_sources(len(svcs), 1),
        )
        trained = perf_counter()
        support = np.flatnonzero(coefficients.any(axis=0))
        values = offsets - coefficients[:, support] @ of_held_out[columns[support]]
        n_stopped = int(np.count_nonzero(steps == svcs[0].max_iter))
        return _Scored(values, n_stopped, trained - started, perf_counter() - trained)


class _Scored(NamedTuple):
    values: _Floats
    n_stopped: int
    fit_seconds: float
    predict_seconds: float
