"""Estimates of the training time of support vector machines, measured on samples of the data.

The time of a problem with n rows grows like n^p, with a power that depends on the data. It is
measured on a few hundred to a few thousand rows of the largest problem, and extrapolated.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from polytomy.learners.problems import BinaryProblem
from polytomy.learners.svm.matrix import (
    check_budget,
    group_by_kernel,
    is_better_apart,
    size_in_words,
)
from polytomy.learners.svm.suitability import (
    UnsuitableError,
    as_numbers,
)
from polytomy.learners.svm.training import GroupTrainer, find_svcs
from polytomy.learners.workload import TrainingListener, Workload

# Pairs of rows, over all problems, that take seconds to train on. Fewer need no estimate.
_WORTH_ESTIMATING = 10**9

# Sample sizes; the next is tried if the last took less than this many seconds.
_SIZES = (250, 500, 1000, 2000, 4000)
_LONGEST_TRIAL = 0.25

# The power of the number of rows is at least and at most this.
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
    svcs = find_svcs(work)
    groups, _ = group_by_kernel(svcs)
    problems = {k: work.problems[k] for group in groups for k in group}
    problems = {k: problem for k, problem in problems.items() if problem.has_both_sides}
    sizes = np.array([problem.n_samples for problem in problems.values()], dtype=np.float64)
    if float(sizes @ sizes) < _WORTH_ESTIMATING:
        return None
    try:
        numbers = as_numbers(work.X)
    except UnsuitableError:
        return None
    largest = max(problems, key=lambda k: problems[k].n_samples)
    budget = check_budget(work.options.memory_budget)
    trainer = GroupTrainer(work, budget)
    size = trainer.measure(numbers, list(problems.values()))
    need = size.with_one_thread
    n_threads = min(int(effective_n_jobs(work.options.n_jobs)), len(problems))
    if need > budget or is_better_apart(list(problems.values()), size.n_rows):
        need = trainer.measure(numbers, [problems[largest]]).with_one_thread
        n_threads = max(1, min(n_threads, int(budget // max(1, need))))
    factor, power = fit_curve(work, budget / size.n_rows**2, svcs[largest], problems[largest])
    return TrainingEstimate(
        len(problems),
        problems[largest].n_samples,
        factor * float((sizes**power).sum()) / n_threads,
        min(float(need), budget),
        need <= budget,
    )


def fit_curve(
    work: Workload, budget_of_pair: float, svc: Any, problem: BinaryProblem
) -> tuple[float, float]:
    """Return a and p: training on n rows takes a·n^p seconds.

    Parameters
    ----------
    work : Workload
    budget_of_pair : bytes of the memory budget for each pair of all rows
    svc, problem : the problem to train samples of
    """
    sizes, seconds = [], []
    time_training(work, budget_of_pair, svc, _sample(problem, _SIZES[0]))  # may compile routines
    for size in _SIZES:
        part = _sample(problem, size)
        sizes.append(part.n_samples)
        seconds.append(time_training(work, budget_of_pair, svc, part))
        if seconds[-1] > _LONGEST_TRIAL or part.n_samples == problem.n_samples:
            break
    power = 2.0
    if len(sizes) > 1:
        slope = np.polyfit(np.log(sizes[-3:]), np.log(seconds[-3:]), 1)[0]
        power = float(np.clip(slope, _LOWEST_POWER, _HIGHEST_POWER))
    return seconds[-1] / sizes[-1] ** power, power


def time_training(work: Workload, budget_of_pair: float, svc: Any, part: BinaryProblem) -> float:
    """Return the seconds that training a part of a problem takes."""
    # The budget is scaled, so that decisions about memory are the same as for all rows.
    budget = max(budget_of_pair * part.n_samples**2, 2.0**26)
    alone = replace(work, options=replace(work.options, n_jobs=1), listener=TrainingListener())
    started = perf_counter()
    GroupTrainer(alone, budget).train([(svc, part)])
    return perf_counter() - started


def _sample(problem: BinaryProblem, size: int) -> BinaryProblem:
    """Return a random sample of a problem, stratified by side."""
    if problem.n_samples <= size:
        return problem
    generator = np.random.default_rng(0)
    mask = np.zeros(problem.n_samples, dtype=np.bool_)
    for side in (problem.is_positive, ~problem.is_positive):
        members: NDArray[np.intp] = np.flatnonzero(side)
        n_wanted = max(min(5, len(members)), round(size * len(members) / problem.n_samples))
        mask[generator.choice(members, n_wanted, replace=False)] = True
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
