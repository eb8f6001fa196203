"""Which problems share a matrix, how large it is, and the order of its rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.binary.problems import BinaryProblem
from polytomy.svm.kernel_finder import KernelFinder
from polytomy.svm.kernel_functions import KernelFunction, squared_lengths
from polytomy.svm.kernel_matrix import Matrix, RowsOnDemand, SharedMatrix
from polytomy.svm.memory import (
    bytes_of_matrix,
    bytes_of_rows,
    bytes_of_thread,
    size_in_words,
)
from polytomy.svm.suitability import UnsuitableError, check_range, check_suitable

__all__ = [
    "MatrixPlan",
    "Size",
    "TooLargeError",
    "common_kernel",
    "group_by_matrix",
    "is_better_apart",
    "measure",
    "plan_matrix",
]


# Of all rows in the largest problem, and of their pairs in all problems together, where each has a
# matrix of its own. Pairs of k classes have 2/k of the rows, and 2(k − 1)/k times as many pairs.
_LARGEST_PART = 0.5
_MOST_PAIRS = 2.0

# Of a matrix that is made row by row. A machine goes back and forth between its support vectors.
_FEWEST_KEPT_ROWS = 500


class TooLargeError(UnsuitableError):
    """A matrix does not fit in the memory budget."""


class MatrixPlan(NamedTuple):
    """A matrix that some problems will share.

    Attributes
    ----------
    numbers : float64 array or CSR matrix, the rows of the matrix in its order
    kind : str, the kind of a kernel of the problems
    finished : KernelFunction, optional, the kernel that all problems have
    place : array of shape (n_rows,), which row of the matrix each row of the data is, or −1
    """

    numbers: Any
    kind: str
    finished: KernelFunction | None
    place: NDArray[np.intp]

    def build(self, n_threads: int) -> Matrix:
        """Compute the matrix."""
        return SharedMatrix(self.numbers, self.kind, self.finished, n_threads)

    def build_on_demand(self, n_kept: int) -> Matrix:
        """Return the matrix, whose rows are made when they are needed."""
        return RowsOnDemand(self.numbers, self.kind, self.finished, n_kept)


class Size(NamedTuple):
    """What training some problems on a common matrix takes.

    Attributes
    ----------
    n_rows : rows of the matrix
    matrix : bytes of the matrix
    shared : bytes of the matrix and of the samples that are its rows
    by_thread : bytes of each thread
    """

    n_rows: int
    matrix: int
    shared: int
    by_thread: int

    def count_threads(self, budget: float) -> int:
        """Return how many threads fit in a budget; raise a TooLargeError if not even one does."""
        least = self.shared + self.by_thread
        if least > budget:
            raise TooLargeError(
                f"a matrix of {self.n_rows} rows takes {size_in_words(least)} with all that goes "
                f"with it, more than memory_budget, {size_in_words(budget)}"
            )
        return int((budget - self.shared) // self.by_thread)

    def rows_on_demand(self, budget: float, most_threads: int) -> tuple[int, int]:
        """Return how many threads fit in a budget that keep rows each, and how many rows.

        Raise a TooLargeError where not even one can keep enough of them.
        """
        row = self.matrix // self.n_rows
        left = budget - (self.shared - self.matrix)
        least = self.by_thread + row * min(_FEWEST_KEPT_ROWS, self.n_rows)
        if least > left:
            raise TooLargeError(
                f"memory_budget, {size_in_words(budget)}, is too little for {_FEWEST_KEPT_ROWS} of "
                f"{self.n_rows} rows of a matrix"
            )
        n_threads = min(most_threads, int(left // least))
        return n_threads, min(self.n_rows, int((left / n_threads - self.by_thread) // row))


def measure(
    numbers: Any, problems: Sequence[BinaryProblem], n_runs: int, *, is_finished: bool
) -> Size:
    """Return what problems take that share a matrix.

    Parameters
    ----------
    numbers : float64 array or CSR matrix of shape (n_rows, n_features)
    problems : the problems
    n_runs : one for each problem, and one for each fold of its calibration
    is_finished : whether the matrix is one of kernel values
    """
    is_used = np.zeros(numbers.shape[0], dtype=np.bool_)
    for problem in problems:
        is_used[problem.rows] = True
    n_rows = int(np.count_nonzero(is_used))
    matrix = bytes_of_matrix(n_rows, is_finished=is_finished)
    most_samples = max(problem.n_samples for problem in problems)
    return Size(
        n_rows,
        matrix,
        matrix + bytes_of_rows(numbers, n_rows),
        bytes_of_thread(most_samples, n_runs),
    )


def is_better_apart(problems: Sequence[BinaryProblem], n_rows: int) -> bool:
    """Return whether small matrices, one for each problem, are better than one of all rows.

    So it is with pairs of many classes: twice as many kernel values are computed, but a matrix
    that stays in the processor's cache is read faster than one that does not, by more than that.
    """
    sizes = [problem.n_samples for problem in problems]
    is_small = len(sizes) > 1 and max(sizes) <= _LARGEST_PART * n_rows
    return is_small and sum(size**2 for size in sizes) <= _MOST_PAIRS * n_rows**2


def group_by_matrix(estimators: Sequence[Any]) -> tuple[list[list[int]], Counter[str]]:
    """Return the positions of estimators that can share a matrix, and why the others cannot.

    Rbf kernels share distances, all others inner products.
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


def common_kernel(finder: KernelFinder, svcs: Sequence[Any]) -> KernelFunction | None:
    """Return the kernel that all SVCs have on any part of the data, or None if there is none.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> finder = KernelFinder(np.eye(4))
    >>> common_kernel(finder, [SVC(gamma="auto"), SVC(gamma=0.25)])
    KernelFunction(kind='rbf', gamma=0.25, degree=0, coef0=0.0)
    >>> common_kernel(finder, [SVC(gamma="scale")]) is None
    True
    """
    distinct = list({id(svc): svc for svc in svcs}.values())
    if any(svc.gamma == "scale" and svc.kernel != "linear" for svc in distinct):
        return None
    nothing = np.empty((1, 0), dtype=np.bool_)
    kernels = {finder.kernels_of(svc, np.arange(0), nothing)[0] for svc in distinct}
    return kernels.pop() if len(kernels) == 1 else None


def plan_matrix(
    numbers: Any, finder: KernelFinder, svcs: Sequence[Any], problems: Sequence[BinaryProblem]
) -> MatrixPlan:
    """Return the plan of a matrix for problems of one group, or raise an UnsuitableError.

    Parameters
    ----------
    numbers : float64 array or CSR matrix of shape (n_rows, n_features)
    finder : KernelFinder of these
    svcs : SVCs of one group, one for each problem
    problems : the problems
    """
    order = _order_rows(problems, numbers.shape[0])
    in_order = numbers[order]
    finished = common_kernel(finder, svcs)
    check_range(finished or KernelFunction("linear"), float(squared_lengths(in_order).max()))
    place = np.full(numbers.shape[0], -1)
    place[order] = np.arange(len(order))
    return MatrixPlan(in_order, svcs[0].kernel, finished, place)


def _order_rows(problems: Sequence[BinaryProblem], n_rows: int) -> NDArray[np.intp]:
    """Return the rows that take part, those that are always on the same side next to each other.

    A row of the matrix then has the values that a problem needs in few runs.
    """
    if len(problems) == 1:
        # The −1 side first, as LIBSVM has it.
        (problem,) = problems
        return problem.rows[np.argsort(problem.is_positive, kind="stable")]
    # Rows have equal sums of random numbers where they are in the same problems on the same sides.
    keys = np.zeros(n_rows, dtype=np.uint64)
    numbers = np.random.default_rng(0).integers(1, 2**63, size=(len(problems), 2), dtype=np.uint64)
    is_used = np.zeros(n_rows, dtype=np.bool_)
    for problem, of_sides in zip(problems, numbers, strict=True):
        keys[problem.rows] += of_sides[problem.is_positive.astype(np.intp)]
        is_used[problem.rows] = True
    used = np.flatnonzero(is_used)
    _, first, group = np.unique(keys[used], return_index=True, return_inverse=True)
    return used[np.argsort(first[group], kind="stable")]
