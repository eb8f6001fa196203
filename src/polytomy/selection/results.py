"""The results of a race as a table with a row for each candidate."""

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

    ``is_pareto`` marks candidates that no other beats in a score, fit time or prediction time
    without losing in another of these.

    Parameters
    ----------
    race : Race
    winner : the runner that was chosen
    """
    runners = race.runners
    results: dict[str, NDArray[Any]] = {
        "candidate": np.array([each.candidate.name for each in runners], dtype=object),
        "solver": np.array([str(each.candidate.solver) for each in runners], dtype=object),
        "n_folds": np.array([each.n_folds for each in runners]),
        "n_binaries": np.array([_mean(each.n_binaries) for each in runners]),
        "n_training_samples": np.array([_mean(each.n_training_samples) for each in runners]),
    }
    criteria = []
    for name in runners[0].scores:
        means = np.array([_mean(each.scores[name]) for each in runners])
        results[f"mean_{name}"] = means
        results[f"std_{name}"] = np.array([_std(each.scores[name]) for each in runners])
        criteria.append(-means if find_score(name).greater_is_better else means)
    for kind in ("fit", "predict"):
        seconds = [getattr(each, f"{kind}_seconds") for each in runners]
        results[f"mean_{kind}_time"] = np.array([_mean(each) for each in seconds])
        criteria.append(results[f"mean_{kind}_time"])
    results["rank"] = _rank_runners(race)
    optimal = pareto_set(np.column_stack(criteria))
    results["is_pareto"] = np.isin(np.arange(len(runners)), optimal)
    results["is_chosen"] = np.array([each is winner for each in runners])
    results["reason"] = np.array([each.reason for each in runners], dtype=object)
    return results


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else np.nan


def _std(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else np.nan


def _rank_runners(race: Race) -> NDArray[np.intp]:
    """Return the rank of each runner: by the number of its folds, then by its loss to the best."""
    best = race.leader(race.survivors)

    def place(runner: Runner) -> tuple[bool, int, float]:
        is_measured = runner.n_folds > 0 and np.isfinite(np.concatenate(runner.losses)).all()
        gap = race.gap(runner, best)[0] if is_measured else np.inf
        return bool(runner.reason), -runner.n_folds, gap

    order = sorted(range(len(race.runners)), key=lambda i: place(race.runners[i]))
    ranks = np.empty(len(order), dtype=np.intp)
    ranks[order] = np.arange(1, len(order) + 1)
    return ranks
