"""The results of a race as a table with a row for each candidate.

A candidate that was dropped has fewer folds than the others, and folds differ. So its means are not
compared with theirs: ranks, differences and the Pareto set use the folds that both have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.selection.choice import pareto_set
from polytomy.selection.race import Race, Runner
from polytomy.selection.scoring import find_score

__all__ = ["tabulate_race"]


def tabulate_race(race: Race, winner: Runner) -> dict[str, NDArray[Any]]:
    """Return the columns of a table of results, in the order of the candidates.

    Means and standard deviations are over the ``n_folds`` folds of a candidate.
    ``difference_…`` is the mean of a score minus that of the candidate of rank 1 on the same
    folds. ``is_dropped`` marks candidates with a ``reason`` not to be chosen. ``is_pareto``
    marks candidates that no other beats in a score, fit time or prediction time, on the folds
    of both, without losing in another of these.

    Parameters
    ----------
    race : Race
    winner : the runner that was chosen
    """
    runners = race.runners
    best = race.leader(race.survivors)
    results: dict[str, NDArray[Any]] = {
        "candidate": np.array([each.candidate.name for each in runners], dtype=object),
        "solver": np.array([str(each.candidate.solver) for each in runners], dtype=object),
        "n_folds": np.array([each.n_folds for each in runners]),
        "n_binaries": np.array([_mean_or_nan(each.n_binaries) for each in runners]),
        "n_training_samples": np.array([_mean_or_nan(each.n_training_samples) for each in runners]),
    }
    for name in runners[0].scores:
        results[f"mean_{name}"] = np.array([_mean_or_nan(each.scores[name]) for each in runners])
        results[f"std_{name}"] = np.array([_std(each.scores[name]) for each in runners])
        results[f"difference_{name}"] = np.array(
            [_difference(each, best, name) for each in runners]
        )
    for kind in ("fit", "predict"):
        seconds = [getattr(each, f"{kind}_seconds") for each in runners]
        results[f"mean_{kind}_time"] = np.array([_mean_or_nan(each) for each in seconds])
    results["rank"] = _rank_runners(race, best)
    results["is_pareto"] = np.array([_is_pareto(each, runners) for each in runners])
    results["is_chosen"] = np.array([each is winner for each in runners])
    results["is_dropped"] = np.array([bool(each.reason) for each in runners])
    results["reason"] = np.array([each.reason for each in runners], dtype=object)
    return results


def _mean_or_nan(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else np.nan


def _std(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else np.nan


def _difference(runner: Runner, best: Runner, score: str) -> float:
    """Return the mean of a runner's score minus that of the best, on the folds of the runner."""
    return _mean_or_nan(runner.scores[score]) - _mean_or_nan(best.scores[score][: runner.n_folds])


def _rank_runners(race: Race, best: Runner) -> NDArray[np.intp]:
    """Return the rank of each runner by its loss to the best on common folds; the dropped last."""

    def place(runner: Runner) -> tuple[bool, float]:
        is_measured = runner.n_folds > 0 and np.isfinite(np.concatenate(runner.losses)).all()
        gap = race.gap(runner, best)[0] if is_measured else np.inf
        return bool(runner.reason), gap

    order = sorted(range(len(race.runners)), key=lambda i: place(race.runners[i]))
    ranks = np.empty(len(order), dtype=np.intp)
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks


def _is_pareto(runner: Runner, runners: Sequence[Runner]) -> bool:
    """Return whether no other runner beats this one on the folds that both have."""
    if not runner.n_folds:
        return not any(each.n_folds for each in runners)
    for other in runners:
        n_folds = min(runner.n_folds, other.n_folds)
        if n_folds:
            both = np.array([_criteria(each, n_folds) for each in (runner, other)])
            if 0 not in pareto_set(both):
                return False
    return True


def _criteria(runner: Runner, n_folds: int) -> list[float]:
    """Return what counts on the first folds, scores and times; smaller is better."""
    scores = [
        (-1 if find_score(name).greater_is_better else 1) * _mean_or_nan(values[:n_folds])
        for name, values in runner.scores.items()
    ]
    times = (runner.fit_seconds, runner.predict_seconds)
    return [*scores, *(_mean_or_nan(seconds[:n_folds]) for seconds in times)]
