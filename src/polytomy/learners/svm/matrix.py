"""The kernel matrix on which the support vector machines of many problems are trained.

A matrix that fits in memory is computed at once. The rows of a larger matrix are computed when they
are needed: a machine only needs the rows of its support vectors and a few more. Here is also which
problems share a matrix, and the memory that it takes.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from polytomy.inputs.arguments import Parameter, is_nonnegative_number
from polytomy.inputs.rows import CONTAINER_LIMITS, machine_memory
from polytomy.inputs.sparse import is_sparse
from polytomy.inputs.training_data import blocks_of
from polytomy.learners.problems import BinaryProblem
from polytomy.learners.svm.kernels import KernelFunction, squared_lengths
from polytomy.learners.svm.suitability import (
    NOT_COMPILED,
    UnsuitableError,
    check_range,
    check_suitable,
)
from polytomy.routines.dispatch import routine
from polytomy.routines.reference.kernels import MatrixRows, matrix_on_demand, whole_matrix
from polytomy.routines.reference.smo import Problems
from polytomy.routines.threads import RoutineFailure, run_tasks

CACHE_BYTES = 2**24
"""Size of each thread's cache of kernel values. A larger cache was not faster."""

MEMORY_BUDGET = Parameter(
    "memory_budget", "a non-negative number of bytes", is_nonnegative_number, allows_none=True
)
"""The parameter `memory_budget`."""

# Size of a block of inner products while the matrix is filled.
_BLOCK_BYTES = 2**22

_SHARE_OF_MEMORY = 4


def default_memory_budget(limit_files: Sequence[Path] = CONTAINER_LIMITS) -> int:
    """Return a quarter of the memory of the computer or container, in bytes.

    Parameters
    ----------
    limit_files : files that may hold a limit in bytes; others are ignored
    """
    return machine_memory(tuple(limit_files)) // _SHARE_OF_MEMORY


def check_budget(memory_budget: float | None) -> float:
    """Return the budget in bytes, by default a quarter of the memory."""
    MEMORY_BUDGET.check(memory_budget)
    return default_memory_budget() if memory_budget is None else float(memory_budget)


def bytes_of_matrix(n_rows: int) -> int:
    """Return the size of a matrix of kernel values.

    Examples
    --------
    >>> bytes_of_matrix(1000)
    4000000
    """
    return 4 * n_rows * n_rows


def bytes_of_rows(numbers: Any, n_rows: int) -> int:
    """Return the size of three copies of rows: converted, in matrix order, and centred.

    Parameters
    ----------
    numbers : float64 array or CSR matrix
    n_rows : int
        The number of rows. Sparse rows are assumed to have the mean size.
    """
    if is_sparse(numbers):
        whole = numbers.data.nbytes + numbers.indices.nbytes + numbers.indptr.nbytes
    else:
        whole = numbers.nbytes
    return int(3 * whole * n_rows // max(1, numbers.shape[0]))


def bytes_of_thread(n_samples: int, n_runs: int) -> int:
    """Return the size of a thread's cache and arrays while it trains a problem.

    Parameters
    ----------
    n_samples : number of samples of the problem
    n_runs : one for the problem, and one for each fold of its calibration
    """
    # Each run has bounds, diagonals, coefficients, gradients, values and copies of some of them.
    # There are also the considered samples, and a gradient of all samples.
    arrays = 10 * n_runs + 16
    n_cached = max(2, min(CACHE_BYTES // (4 * n_samples), n_samples))
    return _BLOCK_BYTES + n_cached * 4 * n_samples + arrays * 8 * n_samples


def size_in_words(n_bytes: float) -> str:
    """Return a human-readable size with its unit.

    Examples
    --------
    >>> size_in_words(1_570_000_000)
    '1.57 GB'
    """
    for unit in ("bytes", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} GB"


# Rows and columns of a block, whose inner products stay in the processor's cache.
_BLOCK = 384

# Most bytes of kernel values to sum at a time.
_SUM_BYTES = 2**22


class WholeMatrix:
    """A matrix that is computed at once.

    Parameters
    ----------
    X : float64 array or CSR matrix of shape (n_rows, n_features)
        The samples, in the order of the rows of the matrix.
    kernel : KernelFunction
    n_threads : int, default=1

    Attributes
    ----------
    squares : array of shape (n_rows,), |x|² of the samples, after centring

    Examples
    --------
    >>> WholeMatrix(np.array([[0.0], [1.0], [3.0]]), KernelFunction("linear")).rows().kernel_values
    array([[0., 0., 0.],
           [0., 1., 3.],
           [0., 3., 9.]], dtype=float32)
    """

    def __init__(self, X: Any, kernel: KernelFunction, n_threads: int = 1) -> None:
        self.kernel = kernel
        X = _centre(X, kernel)
        self.squares = squared_lengths(X)
        self.n_rows = X.shape[0]
        self._n_threads = n_threads
        self._rows = whole_matrix(np.empty((self.n_rows, self.n_rows), dtype=np.float32))
        store = routine("store_products", "kernels")

        def fill(first_row: int) -> None:
            rows = slice(first_row, first_row + _BLOCK)
            for first_column in range(first_row, X.shape[0], _BLOCK):
                columns = slice(first_column, first_column + _BLOCK)
                if kernel.about.values is not None:
                    block = kernel.matrix(X[rows], X[columns])
                    self._rows.kernel_values[rows, columns] = block
                    self._rows.kernel_values[columns, rows] = block.T
                    continue
                products = X[rows] @ X[columns].T
                if is_sparse(products):
                    products = products.toarray()
                store(
                    products,
                    self.squares[rows],
                    self.squares[columns],
                    kernel.code,
                    self._rows.kernel_values,
                    first_row,
                    first_column,
                )

        tasks = [partial(fill, first_row) for first_row in range(0, self.n_rows, _BLOCK)]
        for _ in run_tasks(tasks, n_threads):
            pass

    def rows(self) -> MatrixRows:
        """Return all rows."""
        return self._rows

    def diagonal(self) -> NDArray[np.float64]:
        """Return the kernel of each sample with itself, in double precision if possible."""
        if self.kernel.about.values is not None:
            return self._rows.kernel_values.diagonal().astype(np.float64)
        return self.kernel.values_with_itself(self.squares)

    def sums(
        self, rows: NDArray[np.intp], weights: NDArray[np.float64], parts: Sequence[slice]
    ) -> NDArray[np.float64]:
        """Return Σ_t K(row, t)·weights[t, m] for each row and machine m.

        Parameters
        ----------
        rows : array of shape (n,), rows of the matrix
        weights : array of shape (n_rows, n_machines)
        parts : slices that make up all rows of the matrix
            Within each, only machines with a weight there cost anything.

        Returns
        -------
        array of shape (n, n_machines)
        """
        sums = np.zeros((len(rows), weights.shape[1]))
        machines: list[Any] = [slice(None)]
        if len(parts) > 1:
            machines = [np.flatnonzero(weights[part].any(axis=0)) for part in parts]
        own_weights = [weights[part, own] for part, own in zip(parts, machines, strict=True)]

        def add(block: slice) -> None:
            values = self._rows.kernel_values[rows[block]].astype(np.float64)
            for part, own, of_part in zip(parts, machines, own_weights, strict=True):
                sums[block, own] += values[:, part] @ of_part

        blocks = blocks_of(len(rows), 12 * self.n_rows, _SUM_BYTES)
        for _ in run_tasks([partial(add, block) for block in blocks], self._n_threads):
            pass
        return sums


class MatrixOnDemand:
    """A matrix whose rows are computed when needed, and cached while there is room.

    Each thread has its own cache. Results do not depend on which rows are cached.

    Parameters
    ----------
    X : float64 array of shape (n_rows, n_features)
    kernel : KernelFunction
    n_kept : int
        Number of rows that each thread caches.

    Attributes
    ----------
    squares : array of shape (n_rows,), |x|² of the samples, after centring

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> MatrixOnDemand(X, KernelFunction("linear"), n_kept=2).rows().kernel_values.shape
    (2, 3)
    """

    def __init__(self, X: Any, kernel: KernelFunction, n_kept: int) -> None:
        self.kernel = kernel
        X = _centre(X, kernel)
        self.squares = squared_lengths(X)
        self.n_rows = X.shape[0]
        self._features = np.ascontiguousarray(X.T)
        self._n_kept = n_kept
        self._local = threading.local()

    def rows(self) -> MatrixRows:
        """Return the rows that this thread has cached so far, and the maker of others."""
        if not hasattr(self._local, "rows"):
            self._local.rows = matrix_on_demand(
                self._features, self.squares, self.kernel.code, self._n_kept
            )
        rows: MatrixRows = self._local.rows
        return rows

    def diagonal(self) -> NDArray[np.float64]:
        """Return the kernel of each sample with itself, in double precision."""
        return self.kernel.values_with_itself(self.squares)


Matrix = WholeMatrix | MatrixOnDemand
"""A symmetric matrix of kernel values, in single precision like LIBSVM's."""


def _centre(X: Any, kernel: KernelFunction) -> Any:
    if kernel.is_of_distances and not is_sparse(X):
        # This changes no distance, but reduces the rounding error of data far from the origin.
        return X - X.mean(axis=0)
    return X


# Problems get their own matrices if the largest has at most this fraction of all rows, and if
# together they have at most this many times the entries of one matrix. In one-vs-one with k
# classes, each problem has 2/k of the rows, and all together have 2(k − 1)/k times the entries.
_LARGEST_PART = 0.5
_MOST_PAIRS = 2.0

# Number of rows of a one-megabyte matrix.
_FEW_ROWS = 512

# Smallest useful number of rows to cache if rows are computed on demand: training goes back and
# forth between support vectors.
_FEWEST_KEPT_ROWS = 500


class TooLargeError(UnsuitableError):
    """A matrix does not fit in the memory budget; the message is the reason, as a clause."""


class MatrixLayout(NamedTuple):
    """What a matrix for some problems consists of.

    Attributes
    ----------
    numbers : float64 array or CSR matrix, the samples in the order of the matrix's rows
    place : array of shape (n_rows,), the row of the matrix for each row of the data, or −1
    """

    numbers: Any
    place: NDArray[np.intp]


class Size(NamedTuple):
    """The memory needed to train problems on one matrix.

    Attributes
    ----------
    n_rows : number of rows of the matrix
    matrix : bytes for the matrix
    samples : bytes for the samples that are its rows
    by_thread : bytes for each thread
    """

    n_rows: int
    matrix: int
    samples: int
    by_thread: int

    @property
    def with_one_thread(self) -> int:
        """Total bytes with one thread."""
        return self.matrix + self.samples + self.by_thread

    def count_threads(self, budget: float) -> int:
        """Return how many threads fit in a budget; raise a TooLargeError if not even one does."""
        if self.with_one_thread > budget:
            raise TooLargeError(
                f"training on a matrix of {self.n_rows} rows takes "
                f"{size_in_words(self.with_one_thread)}, more than memory_budget, "
                f"{size_in_words(budget)}"
            )
        return int((budget - self.matrix - self.samples) // self.by_thread)

    def rows_on_demand(self, budget: float, most_threads: int) -> tuple[int, int]:
        """Return how many threads fit in a budget if each caches some rows, and how many rows.

        Raise a TooLargeError if not even one thread can cache enough rows.
        """
        row = self.matrix // self.n_rows
        left = budget - self.samples
        least = self.by_thread + row * min(_FEWEST_KEPT_ROWS, self.n_rows)
        if least > left:
            raise TooLargeError(
                f"memory_budget, {size_in_words(budget)}, is too small for {_FEWEST_KEPT_ROWS} of "
                f"the {self.n_rows} rows of a matrix"
            )
        n_threads = min(most_threads, int(left // least))
        return n_threads, min(self.n_rows, int((left / n_threads - self.by_thread) // row))


def measure(numbers: Any, problems: Sequence[BinaryProblem], n_runs: int) -> Size:
    """Return the memory needed to train problems on one matrix.

    Parameters
    ----------
    numbers : float64 array or CSR matrix of shape (n_rows, n_features)
    problems : the problems
    n_runs : one for each problem, and one for each fold of its calibration
    """
    n_rows = int(np.count_nonzero(_find_used_rows(problems, numbers.shape[0])))
    most_samples = max(problem.n_samples for problem in problems)
    return Size(
        n_rows,
        bytes_of_matrix(n_rows),
        bytes_of_rows(numbers, n_rows),
        bytes_of_thread(most_samples, n_runs),
    )


def is_better_apart(problems: Sequence[BinaryProblem], n_rows: int) -> bool:
    """Return whether one small matrix per problem is better than one matrix of all rows.

    This is the case for pairs of many classes: twice as many kernel values are computed, but
    reading a matrix that stays in the processor's cache saves more time than that costs.
    """
    sizes = [problem.n_samples for problem in problems]
    is_small = len(sizes) > 1 and max(sizes) <= _LARGEST_PART * n_rows
    return is_small and sum(size**2 for size in sizes) <= _MOST_PAIRS * n_rows**2


def group_by_kernel(svcs: Mapping[int, SVC]) -> tuple[list[list[int]], Counter[str]]:
    """Return groups of SVCs that have the same kernel, and why the others cannot use a matrix.

    Returns
    -------
    groups : numbers of the SVCs of each group
    reasons : how many SVCs cannot use a matrix, by reason
    """
    groups: dict[tuple[Any, ...], list[int]] = {}
    reasons: Counter[str] = Counter()
    found: dict[int, tuple[Any, ...] | UnsuitableError] = {}
    for k, svc in svcs.items():
        if id(svc) not in found:
            try:
                parameters = check_suitable(svc).parameters
                found[id(svc)] = svc.kernel, *(getattr(svc, name) for name in parameters)
            except UnsuitableError as reason:
                found[id(svc)] = reason
        key = found[id(svc)]
        if isinstance(key, UnsuitableError):
            reasons[str(key)] += 1
        else:
            groups.setdefault(key, []).append(k)
    return list(groups.values()), reasons


def lay_out_matrix(
    numbers: Any, kernel: KernelFunction, problems: Sequence[BinaryProblem]
) -> MatrixLayout:
    """Return the layout of a matrix for problems, or raise an UnsuitableError.

    Parameters
    ----------
    numbers : float64 array or CSR matrix of shape (n_rows, n_features)
    kernel : KernelFunction
    problems : the problems
    """
    order = _order_rows(problems, numbers.shape[0])
    in_order = numbers[order]
    check_range(kernel, float(squared_lengths(in_order).max()))
    place = np.full(numbers.shape[0], -1)
    place[order] = np.arange(len(order))
    return MatrixLayout(in_order, place)


def _order_rows(problems: Sequence[BinaryProblem], n_rows: int) -> NDArray[np.intp]:
    """Return the rows used by any problem, with rows that are always on the same side adjacent.

    The entries of a matrix row that a problem needs are then in few runs. The order of a small
    matrix does not matter, because all of it fits in the processor's cache.
    """
    if len(problems) == 1:
        # The −1 side first, as in LIBSVM.
        (problem,) = problems
        return problem.rows[np.argsort(problem.is_positive, kind="stable")]
    used = np.flatnonzero(_find_used_rows(problems, n_rows))
    if n_rows <= _FEW_ROWS:
        return used
    # Each side of each problem has a random number. Rows that are in the same problems, on the same
    # sides, have the same sum of these numbers.
    keys = np.zeros(n_rows, dtype=np.uint64)
    numbers = np.random.default_rng(0).integers(1, 2**63, size=(len(problems), 2), dtype=np.uint64)
    for problem, of_sides in zip(problems, numbers, strict=True):
        keys[problem.rows] += of_sides[problem.is_positive.astype(np.intp)]
    _, first, group = np.unique(keys[used], return_index=True, return_inverse=True)
    return used[np.argsort(first[group], kind="stable")]


def _find_used_rows(problems: Sequence[BinaryProblem], n_rows: int) -> NDArray[np.bool_]:
    """Return which rows are in any of the problems."""
    is_used = np.zeros(n_rows, dtype=np.bool_)
    if n_rows <= _FEW_ROWS:
        is_used[np.concatenate([problem.rows for problem in problems])] = True
        return is_used
    for problem in problems:  # all rows of all problems might not fit in memory
        is_used[problem.rows] = True
    return is_used


def train_machines(
    matrix: Matrix,
    svcs: Sequence[SVC],
    columns: NDArray[np.intp],
    ends: NDArray[np.intp],
    signs: NDArray[np.float64],
    bounds: NDArray[np.float64],
    sources: NDArray[np.intp],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return coefficients, values, intercepts and numbers of steps of machines on a matrix.

    Parameters
    ----------
    matrix : Matrix
    svcs : SVC of each problem
    columns : array of shape (n_samples,), the samples of all problems as rows of the matrix
    ends : array of shape (n_problems,), the end of each problem's samples
    signs : array of shape (n_samples,), the sides
    bounds : array of shape (n_runs, n_samples), the largest coefficients
    sources : array of shape (n_runs,)
        The earlier run from which each run starts, or −1. With an indefinite kernel, all runs start
        from zero.

    Raises
    ------
    UnsuitableError
        If Numba fails.
    """
    kernel = matrix.kernel
    problems = Problems(
        columns=columns,
        ends=ends,
        signs=signs,
        bounds=bounds,
        diagonal=matrix.diagonal()[columns],
        tolerances=np.array([svc.tol for svc in svcs], dtype=np.float64),
        most_steps=np.array([svc.max_iter for svc in svcs], dtype=np.int64),
        shrinks=np.array([svc.shrinking for svc in svcs], dtype=np.bool_),
    )
    cache = np.empty(max(CACHE_BYTES // 4, 2 * len(columns)), dtype=np.float32)
    if not kernel.about.is_definite:
        sources = np.full_like(sources, -1)
    try:
        train = routine("train_machines", "smo", needs_compiled=True)
        found = train(problems, matrix.rows(), sources, cache)
    except RoutineFailure:
        raise UnsuitableError(NOT_COMPILED) from None
    coefficients, values, intercepts, steps = found
    return coefficients, values, intercepts, steps
