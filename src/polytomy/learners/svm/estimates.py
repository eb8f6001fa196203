"""Estimates of the training time of support vector machines, measured on samples of the data.

The time of a problem with n rows grows like n^p: n² for its kernel values, and a power between 1.5
and 2.6 for its steps, which depends on the data. Both are measured on a few hundred to a few
thousand rows of some of the problems, and extrapolated.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from polytomy.inputs.rows import take_rows
from polytomy.learners.options import TrainingListener
from polytomy.learners.problems import BinaryProblem
from polytomy.learners.svm.matrix import (
    UnsuitableError,
    as_numbers,
    check_budget,
    find_common_kernel,
    group_by_matrix,
    is_better_apart,
    measure,
    size_in_words,
)
from polytomy.learners.svm.training import GroupTrainer, find_svcs
from polytomy.learners.workload import Workload

# Pairs of rows, over all problems, that take seconds to train on. Fewer need no estimate.
_WORTH_ESTIMATING = 10**9

# Sample sizes; the next is tried if the last took less than this many seconds.
_SIZES = (250, 500, 1000, 2000, 4000)
_LONGEST_TRIAL = 0.25
_KERNEL_ROWS = 1000

# The problems to time: with problems sorted by size, those at which the cumulative share of all
# pairs of rows reaches these fractions. Small problems hardly count.
_PARTS_OF_PAIRS = (1.0, 0.6, 0.25)
_LOWEST_POWER, _HIGHEST_POWER = 1.5, 2.6

# Above this many seconds, the text suggests alternatives.
_LONG = 600.0
_ALTERNATIVES = (
    " Alternatives: a linear estimator after Nystroem features, partial_fit (train --stream), or "
    "fewer rows; see docs/many_rows.md."
)


class TrainingEstimate(NamedTuple):
    """The time and memory that training will take.

    Attributes
    ----------
    n_machines : int, without fold machines
    most_rows : int, number of rows of the largest problem
    seconds : float
    n_bytes : float, memory in addition to the data
    is_in_budget : bool, whether each kernel matrix fits in the memory budget
    """

    n_machines: int
    most_rows: int
    seconds: float
    n_bytes: float
    is_in_budget: bool

    def __str__(self) -> str:
        """Return the estimate as a sentence, with alternatives if training takes long.

        Examples
        --------
        >>> print(TrainingEstimate(42, 30_000, 95.0, 3.6e9, True))
        42 SVMs of up to 30,000 rows: about 2 minutes, 3.6 GB.
        """
        what = "1 SVM of" if self.n_machines == 1 else f"{self.n_machines} SVMs of up to"
        text = (
            f"{what} {self.most_rows:,} rows: about {_time_in_words(self.seconds)}, "
            f"{size_in_words(self.n_bytes)}."
        )
        if not self.is_in_budget:
            text += " The kernel matrix is larger than memory_budget."
        return text + _ALTERNATIVES if not self.is_in_budget or self.seconds > _LONG else text


def estimate_training(work: Workload) -> TrainingEstimate | None:
    """Estimate the time and memory for training the SVCs of a workload.

    Return None if it takes only seconds, or if there are no SVCs.
    """
    X, options = work.X, work.options
    estimators = find_svcs(work)
    groups, _ = group_by_matrix(estimators)
    every = {k: work.problems[k] for group in groups for k in group}
    chosen = [k for k, problem in every.items() if problem.has_both_sides]
    sizes = np.array([every[k].n_samples for k in chosen], dtype=np.float64)
    if not len(sizes) or float(sizes @ sizes) < _WORTH_ESTIMATING:
        return None
    try:
        numbers = as_numbers(X)
    except UnsuitableError:
        return None
    own = [every[k] for k in chosen]
    svcs = [estimators[k] for k in chosen]
    budget = check_budget(options.memory_budget)
    n_runs = 1 + (0 if work.folds is None else work.folds.n_folds)
    has_common_kernel = find_common_kernel(svcs, numbers) is not None
    whole = measure(numbers, own, n_runs, holds_kernel_values=has_common_kernel)
    is_apart = is_better_apart(own, whole.n_rows) or whole.with_one_thread > budget
    largest = max(own, key=lambda each: each.n_samples)
    need = whole.with_one_thread
    if is_apart:
        need = measure(
            numbers, [largest], n_runs, holds_kernel_values=has_common_kernel
        ).with_one_thread
    timer = _Timer(work, budget, whole.n_rows)
    kernel_pairs = float(sizes @ sizes) if is_apart else float(whole.n_rows) ** 2
    of_pair = timer.seconds_of_pair(svcs[0], largest)
    curves = [timer.fit(svcs[k], own[k], of_pair) for k in _choose_problems(sizes)]
    logarithms = [curve.log_factor + curve.power * np.log(sizes) for curve in curves]
    seconds = of_pair * kernel_pairs + float(np.exp(np.mean(logarithms, axis=0)).sum())
    if work.folds is not None and is_apart:
        # Rows outside a problem are also scored, with the support vectors of all machines.
        seconds += of_pair * float(whole.n_rows) ** 2
    n_threads = min(int(effective_n_jobs(options.n_jobs)), len(own))
    if is_apart:
        n_threads = max(1, min(n_threads, int(budget // max(1, need))))
    return TrainingEstimate(
        len(own),
        largest.n_samples,
        seconds / n_threads,
        min(float(n_threads * need if is_apart else need), budget),
        need <= budget,
    )


def _choose_problems(sizes: NDArray[np.float64]) -> list[int]:
    """Return the problems whose times best predict the total time."""
    order = np.argsort(sizes, kind="stable")
    parts = np.cumsum(sizes[order] ** 2) / float(sizes @ sizes)
    found = np.searchsorted(parts, [part - 1e-9 for part in _PARTS_OF_PAIRS])
    return list(dict.fromkeys(order[found].tolist()))


class _Curve(NamedTuple):
    """Seconds for the steps of a problem with n rows: exp(log_factor)·n^power."""

    log_factor: float
    power: float


class _Timer:
    """Times the training of samples of a problem."""

    def __init__(self, work: Workload, budget: float, n_rows: int) -> None:
        self._work, self._budget, self._n_rows = work, budget, n_rows
        self._generator = np.random.default_rng(0)

    def fit(self, svc: Any, problem: BinaryProblem, of_pair: float) -> _Curve:
        """Return how the time grows with n, if computing a kernel value takes `of_pair` seconds."""
        sizes, seconds = [], []
        self._time(svc, self._sample(problem, _SIZES[0]))  # the first call may compile routines
        for size in _SIZES:
            part = self._sample(problem, size)
            found = self._time(svc, part)
            sizes.append(part.n_samples)
            seconds.append(max(found - of_pair * part.n_samples**2, 0.05 * found))
            if found > _LONGEST_TRIAL or part.n_samples == problem.n_samples:
                break
        last = slice(-3, None)
        power = 2.0
        if len(sizes) > 1 and sizes[-1] > sizes[0]:
            slope = np.polyfit(np.log(sizes[last]), np.log(seconds[last]), 1)[0]
            power = float(np.clip(slope, _LOWEST_POWER, _HIGHEST_POWER))
        return _Curve(float(np.log(seconds[-1]) - power * np.log(sizes[-1])), power)

    def _time(self, svc: Any, part: BinaryProblem) -> float:
        # Scale the budget, so that decisions about memory are the same as for all rows.
        share = (part.n_samples / self._n_rows) ** 2
        budget = max(self._budget * share, 2.0**26)
        options = replace(self._work.options, n_jobs=1)
        started = perf_counter()
        work = replace(self._work, options=options, listener=TrainingListener())
        GroupTrainer(work, budget).train([(svc, part)])
        return perf_counter() - started

    def seconds_of_pair(self, svc: Any, problem: BinaryProblem) -> float:
        """Return the time to compute a kernel value."""
        from sklearn.metrics.pairwise import pairwise_kernels

        part = self._sample(problem, _KERNEL_ROWS)
        rows = as_numbers(take_rows(self._work.X, part.rows))
        kernel = svc.kernel if svc.kernel in ("rbf", "linear") else "linear"
        started = perf_counter()
        pairwise_kernels(rows, metric=kernel)
        return (perf_counter() - started) / len(part.rows) ** 2

    def _sample(self, problem: BinaryProblem, size: int) -> BinaryProblem:
        """Return a random sample of a problem, stratified by side."""
        if problem.n_samples <= size:
            return problem
        mask = np.zeros(problem.n_samples, dtype=np.bool_)
        for side in (problem.is_positive, ~problem.is_positive):
            members: NDArray[np.intp] = np.flatnonzero(side)
            n_wanted = max(min(5, len(members)), round(size * len(members) / problem.n_samples))
            mask[self._generator.choice(members, n_wanted, replace=False)] = True
        return problem.keep(mask)


def _time_in_words(seconds: float) -> str:
    """Return a human-readable time with at most two digits.

    Examples
    --------
    >>> [_time_in_words(each) for each in (1, 8, 100, 3000, 20000, 500000)]
    ['1 second', '8 seconds', '2 minutes', '50 minutes', '6 hours', '6 days']
    """
    for unit, length in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:.0f} {unit}"
    n_seconds = round(max(1.0, seconds))
    return "1 second" if n_seconds == 1 else f"{n_seconds} seconds"
