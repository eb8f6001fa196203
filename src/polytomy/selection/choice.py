"""The choice after a race: the cheapest of the good ones, and the Pareto set."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polytomy.selection.race import Race, Runner

__all__ = ["choose", "pareto_set"]


def choose(race: Race) -> Runner:
    """Return the cheapest runner that is not worse than the best by more than a standard error.

    The error is that of the difference between the two on the same samples. Cheap is what trains
    on few samples, over all of its binaries: a count, so that the choice does not depend on how
    fast the machine happened to be.
    """
    finished = [
        runner for runner in race.finished if np.isfinite(np.concatenate(runner.losses)).all()
    ]
    best = race.leader(finished)
    good = [runner for runner in finished if _is_as_good(race, runner, best)]
    # Of equally cheap ones the best, and of these the first.
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
