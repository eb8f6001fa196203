"""Which problems use the same matrix, how large it is, and the order of its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.binary.problems import BinaryProblem
from polytomy.svm.kernel_functions import KernelFunction, squared_lengths
from polytomy.svm.kernel_matrix import Matrix, MatrixOnDemand, WholeMatrix
from polytomy.svm.memory import (
    bytes_of_matrix,
    bytes_of_rows,
    bytes_of_thread,
    size_in_words,
)
from polytomy.svm.suitability import UnsuitableError, check_range, check_suitable, kernel_of

__all__ = [
    "MatrixPlan",
    "Size",
    "TooLargeError",
    "find_common_kernel",
    "group_by_matrix",
    "is_better_apart",
    "measure",
    "plan_matrix",
]


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


class MatrixPlan(NamedTuple):
    """The plan of a matrix for some problems.

    Attributes
    ----------
    numbers : float64 array or CSR matrix, the samples in the order of the matrix's rows
    kind : str, the kind of one problem's kernel
    common_kernel : KernelFunction, optional, the kernel of all problems if they share one
    place : array of shape (n_rows,), the row of the matrix for each row of the data, or −1
    """

    numbers: Any
    kind: str
    common_kernel: KernelFunction | None
    place: NDArray[np.intp]

    def build(self, n_threads: int) -> Matrix:
        """Compute the matrix."""
        return WholeMatrix(self.numbers, self.kind, self.common_kernel, n_threads)

    def build_on_demand(self, n_kept: int) -> Matrix:
        """Return the matrix, whose rows are computed when needed."""
        return MatrixOnDemand(self.numbers, self.kind, self.common_kernel, n_kept)


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


def measure(
    numbers: Any, problems: Sequence[BinaryProblem], n_runs: int, *, holds_kernel_values: bool
) -> Size:
    """Return the memory needed to train problems on one matrix.

    Parameters
    ----------
    numbers : float64 array or CSR matrix of shape (n_rows, n_features)
    problems : the problems
    n_runs : one for each problem, and one for each fold of its calibration
    holds_kernel_values : whether the entries of the matrix are kernel values
    """
    n_rows = int(np.count_nonzero(_find_used_rows(problems, numbers.shape[0])))
    matrix = bytes_of_matrix(n_rows, holds_kernel_values=holds_kernel_values)
    most_samples = max(problem.n_samples for problem in problems)
    return Size(
        n_rows,
        matrix,
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


def group_by_matrix(estimators: Sequence[Any]) -> tuple[list[list[int]], Counter[str]]:
    """Return groups of estimators that can use one matrix, and why the others cannot.

    All rbf kernels use distances; all other kernels use inner products.

    Returns
    -------
    groups : positions of the estimators of each group
    reasons : number of estimators that cannot use a matrix, by reason
    """
    groups: dict[bool, list[int]] = {}
    reasons: Counter[str] = Counter()
    reason_of: dict[int, str] = {}
    for k, estimator in enumerate(estimators):
        if id(estimator) not in reason_of:
            reason_of[id(estimator)] = ""
            try:
                check_suitable(estimator)
            except UnsuitableError as reason:
                reason_of[id(estimator)] = str(reason)
        if reason_of[id(estimator)]:
            reasons[reason_of[id(estimator)]] += 1
        else:
            groups.setdefault(estimator.kernel == "rbf", []).append(k)
    return list(groups.values()), reasons


def find_common_kernel(svcs: Sequence[Any], numbers: Any) -> KernelFunction | None:
    """Return the kernel of all SVCs, or None if they differ.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> find_common_kernel([SVC(gamma="auto"), SVC(gamma=0.25)], np.eye(4))
    KernelFunction(kind='rbf', gamma=0.25, degree=0, coef0=0.0)
    >>> print(find_common_kernel([SVC(gamma=0.5), SVC(gamma=0.25)], np.eye(4)))
    None
    """
    distinct = {id(svc): svc for svc in svcs}
    kernels = {kernel_of(svc, numbers) for svc in distinct.values()}
    return kernels.pop() if len(kernels) == 1 else None


def plan_matrix(numbers: Any, svcs: Sequence[Any], problems: Sequence[BinaryProblem]) -> MatrixPlan:
    """Return the plan of a matrix for the problems of one group, or raise an UnsuitableError.

    Parameters
    ----------
    numbers : float64 array or CSR matrix of shape (n_rows, n_features)
    svcs : SVCs of one group, one for each problem
    problems : the problems
    """
    order = _order_rows(problems, numbers.shape[0])
    in_order = numbers[order]
    common_kernel = find_common_kernel(svcs, numbers)
    check_range(common_kernel or KernelFunction("linear"), float(squared_lengths(in_order).max()))
    place = np.full(numbers.shape[0], -1)
    place[order] = np.arange(len(order))
    return MatrixPlan(in_order, svcs[0].kernel, common_kernel, place)


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
