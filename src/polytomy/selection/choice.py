"""Choosing after a race: the cheapest candidate that is as good as the best; the Pareto set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polytomy.selection.race import Race, Runner

__all__ = ["choose_runner", "pareto_set"]


def choose_runner(race: Race) -> Runner:
    """Return the cheapest runner that is no more than one standard error worse than the best.

    The standard error is that of the difference between the two on the same samples. The cost of a
    runner is the number of samples that its binaries are trained on, which does not depend on the
    load of the machine.
    """
    measured = [
        runner for runner in race.survivors if np.isfinite(np.concatenate(runner.losses)).all()
    ]
    best = race.leader(measured)
    good = [runner for runner in measured if _is_as_good(race, runner, best)]
    # Among equally cheap runners, take the best; among equally good ones, the first.
    return min(good, key=lambda each: (np.mean(each.n_training_samples), race.gap(each, best)[0]))


def _is_as_good(race: Race, runner: Runner, best: Runner) -> bool:
    gap, error = race.gap(runner, best)
    return gap <= error


def pareto_set(criteria: NDArray[np.float64]) -> list[int]:
    """Return the rows that no other row beats in one criterion without losing in another.

    Parameters
    ----------
    criteria : array of shape (n_rows, n_criteria), smaller is better; NaN is worst

    Examples
    --------
    >>> pareto_set(np.array([[1.0, 5.0], [2.0, 2.0], [2.0, 3.0], [5.0, 1.0]]))
    [0, 1, 3]
    """
    values = np.where(np.isnan(criteria), np.inf, criteria)
    return [
        i
        for i, own in enumerate(values)
        if not np.any((values <= own).all(axis=1) & (values < own).any(axis=1))
    ]
