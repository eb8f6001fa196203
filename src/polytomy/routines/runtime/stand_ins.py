"""Reference routines stand in for routines that would have to be compiled first.

Compiling a routine takes seconds, and its reference twin may be done by then. So the twin does the
work as long as the routine is neither in memory nor in Numba's cache. Each twin has a budget in
seconds, a fraction of the compile time, and every call reduces it. A call that exceeds the budget
compiles the routine, so no process keeps using the slow twin.

The time of a call is estimated from its arguments. The figures were measured on one machine and
rounded up. They do not depend on a clock, so the same calls always use the same twins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from math import inf
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "Budgets",
    "NotCompiled",
    "OverBudget",
    "StandIn",
    "find_stand_in",
    "is_compiling_allowed",
    "without_compiling",
]

_SHARE = 0.3
"""Fraction of the time to compile a routine that its twin may take instead."""

_is_compiling_allowed: ContextVar[bool] = ContextVar("_is_compiling_allowed", default=True)


class NotCompiled(Exception):
    """A function would have to be compiled first."""


def is_compiling_allowed() -> bool:
    """Return whether functions may be compiled here; otherwise they raise `NotCompiled`."""
    return _is_compiling_allowed.get()


@contextmanager
def without_compiling() -> Iterator[None]:
    """Return a context in which functions that are not compiled yet raise `NotCompiled`."""
    token = _is_compiling_allowed.set(False)
    try:
        yield
    finally:
        _is_compiling_allowed.reset(token)


class OverBudget(Exception):
    """The twin would take too long."""


class StandIn(NamedTuple):
    """The time that the twin of a routine takes.

    Attributes
    ----------
    compiling : approximate seconds to compile the routine
    estimate : function of the routine's arguments that returns the twin's approximate seconds
    run_within : function, optional
        Function of the twin, a number of seconds and the routine's arguments. It returns the twin's
        answer, or None if that would take longer, and the seconds it took.
    """

    compiling: float
    estimate: Callable[..., float]
    run_within: Callable[[Callable[..., Any], float, tuple[Any, ...]], Any] | None = None


class Budgets:
    """The remaining seconds of the routines' twins."""

    def __init__(self) -> None:
        self._left: dict[str, float] = {}

    def answer(
        self, name: str, stand_in: StandIn, twin: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> Any:
        """Return the answer of a routine's twin, and reduce its budget.

        Raise OverBudget if the budget does not suffice; the budget is then used up.

        Examples
        --------
        >>> budgets, stand_in = Budgets(), StandIn(10.0, estimate=lambda seconds: seconds)
        >>> budgets.answer("wait", stand_in, "waited {} s".format, (2.5,))
        'waited 2.5 s'
        >>> budgets.answer("wait", stand_in, "waited {} s".format, (2.5,))
        Traceback (most recent call last):
        polytomy.routines.runtime.stand_ins.OverBudget
        """
        left = self._left.get(name, _SHARE * stand_in.compiling)
        seconds = stand_in.estimate(*arguments)
        if seconds > left:
            self._left[name] = 0.0
            raise OverBudget
        if stand_in.run_within is None:
            answer = twin(*arguments)
        else:
            answer, seconds = stand_in.run_within(twin, left, arguments)
        self._left[name] = max(0.0, self._left.get(name, left) - seconds)
        if answer is None and stand_in.run_within is not None:
            self._left[name] = 0.0
            raise OverBudget
        return answer


def find_stand_in(name: str, subject: str) -> StandIn | None:
    """Return the StandIn of a routine, or None if its twin never stands in.

    Examples
    --------
    >>> import numpy as np
    >>> find_stand_in("answer_logistic", "banks").estimate(np.zeros((1000, 45)), None, None)
    0.00095
    """
    return _STAND_INS.get(f"{subject}.{name}")


def _train_machines(
    kernel_values: Any,
    entries: Any,
    maker: Any,
    form: Any,
    columns: Any,
    ends: Any,
    signs: Any,
    bounds: Any,
    *others: Any,
) -> float:
    if len(maker.slot_of):
        return inf  # the problem is large, and its rows are slow to compute in the twin
    # There are usually a fifth as many steps as samples, but hard problems take many more.
    sizes = np.diff(ends, prepend=0)
    return float(len(bounds) * (sizes / 5 @ _seconds_of_step(sizes)))


def _train_machines_within(
    twin: Callable[..., Any], seconds: float, arguments: tuple[Any, ...]
) -> tuple[Any, float]:
    """Train machines, but stop if the steps take too long."""
    columns, ends, signs, bounds, parameters, diagonals, tolerances, most_steps, shrinks = (
        arguments[4:13]
    )
    trained, taken = [], 0.0
    for k, (start, end) in enumerate(pairwise([0, *ends.tolist()])):
        of_step = _seconds_of_step(end - start)
        limit = max(1, int((seconds - taken) / of_step / len(bounds)))
        is_limited = not 0 <= most_steps[k] <= limit
        own, problem = slice(start, end), slice(k, k + 1)
        machines = twin(
            *arguments[:4],
            *(columns[own], ends[problem] - start, signs[own], bounds[:, own], parameters),
            *(diagonals[:, own], tolerances[problem]),
            np.array([limit]) if is_limited else most_steps[problem],
            *(shrinks[problem], *arguments[13:]),
        )
        taken += float(machines[3].sum() * of_step)
        if is_limited and machines[3].max() >= limit:
            return None, taken
        trained.append(machines)
    return tuple(map(np.hstack, zip(*trained, strict=True))), taken


def _seconds_of_step(n_samples: Any) -> Any:
    return 4e-5 + 4e-8 * n_samples


def _fit_linear_models(
    samples: Any, rows: Any, starts: Any, signs: Any, costs: Any, fold_of: Any, is_trained: Any,
    *others: Any,
) -> float:  # fmt: skip
    n_models = len(is_trained) + float(is_trained.sum())
    return 2e-3 * n_models + 2e-7 * costs.size * samples.n_features


def _fit_sigmoids(values: Any, is_positive: Any, weight: Any, starts: Any) -> float:
    return 1e-3 * len(starts) + 2e-6 * len(values)


def _fit_scale_and_bias(features: Any, class_indices: Any, weights: Any, *others: Any) -> float:
    seconds = 2e-3 + 1e-9 * features.size * (800.0 + 10.0 * features.shape[1])
    return seconds * len(weights)


def _add_dense_scores(
    samples: Any, vectors: Any, rows: Any, centre: Any, squares: Any, function: Any, weights: Any,
    scores: Any,
) -> float:  # fmt: skip
    n_terms = len(rows) * (15.0 + samples.shape[1] / 2) + 2.0 * len(weights[2])
    return 2e-4 + 1e-9 * len(samples) * n_terms


def _add_sparse_scores(
    samples: Any, vectors: Any, rows: Any, n_features: Any, function: Any, weights: Any,
    scores: Any,
) -> float:  # fmt: skip
    n_terms = 20.0 * len(rows) + len(vectors[0]) + 2.0 * len(weights[2])
    return 1e-3 + 1e-9 * len(scores) * n_terms


def _couple_pairs(decisions: Any, negative: Any, positive: Any, n_classes: int) -> float:
    size = len(negative) * n_classes
    if size > 2**14:
        return inf  # the twin would need too much memory
    return 1e-4 + 1e-6 * len(decisions) * (1.0 + 1e-4 * size * n_classes)


def _minimise_divergence(matrix: Any, decisions: Any, weights: Any, is_convex: bool) -> float:
    n_descents = 1 if is_convex else 8
    return float(len(decisions) * n_descents * (3e-3 + 1e-8 * matrix.size * matrix.shape[1]))


def _hausdorff_matrix(rows: Any, starts: Any) -> float:
    return 1e-5 * len(starts) ** 2 + 1e-9 * len(rows) ** 2 * (2.0 + rows.shape[1])


def _size(seconds: float, *, per_entry: float) -> Callable[..., float]:
    """Return an estimate that grows with the size of the first argument."""
    return lambda values, *others: seconds + per_entry * values.size


def _samples(per_sample: float, *, per_class: float) -> Callable[..., float]:
    """Return an estimate that grows with samples and classes, the last argument."""
    return lambda decisions, *others: len(decisions) * (per_sample + per_class * others[-1])


_STAND_INS = {
    "kernel_rows.kernel_values": StandIn(1.5, _size(5e-5, per_entry=4e-8)),
    "kernel_rows.store_products": StandIn(2.0, _size(5e-5, per_entry=4e-8)),
    "smo.train_machines": StandIn(10.0, _train_machines, _train_machines_within),
    "linear.fit_linear_models": StandIn(8.0, _fit_linear_models),
    "calibration.fit_log_odds": StandIn(1.5, _size(1e-3, per_entry=3e-7)),
    "calibration.fit_sigmoids": StandIn(2.0, _fit_sigmoids),
    "calibration.fit_scale_and_bias": StandIn(3.0, _fit_scale_and_bias),
    "banks.add_dense_scores": StandIn(4.0, _add_dense_scores),
    "banks.add_sparse_scores": StandIn(4.0, _add_sparse_scores),
    "banks.answer_logistic": StandIn(1.5, _size(5e-5, per_entry=2e-8)),
    "banks.count_pair_votes": StandIn(0.4, _size(5e-4, per_entry=2e-8)),
    "banks.transform_products": StandIn(2.5, _size(1e-4, per_entry=2e-8)),
    "least_squares.multiply_down_tree": StandIn(0.7, _size(2e-4, per_entry=8e-8)),
    "least_squares.regress_isotonic": StandIn(0.7, lambda answers, *others: 5e-5 * len(answers)),
    "least_squares.project_answers": StandIn(0.5, _size(1e-4, per_entry=2e-7)),
    "least_squares.couple_pairs": StandIn(2.5, _couple_pairs),
    "least_squares.minimise_on_simplex": StandIn(12.0, _samples(2e-4, per_class=3e-5)),
    "one_vs_rest.minimise_one_vs_rest": StandIn(0.7, _size(1e-3, per_entry=2e-6)),
    "divergence.minimise_divergence": StandIn(5.0, _minimise_divergence),
    "coupling.stationary_distribution": StandIn(
        1.5, lambda first, second, answers, n_classes: 2.5e-5 * len(answers) * n_classes
    ),
    "distances.hausdorff_matrix": StandIn(2.0, _hausdorff_matrix),
}
