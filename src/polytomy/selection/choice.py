"""Choosing after a race: the cheapest candidate that is as good as the best, and the results.

A candidate that was dropped has fewer folds than the others, and folds differ. So ranks,
differences and the Pareto set do not compare means over all folds, but use the common folds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.learners.workload import TrainingOptions
from polytomy.model.arrangement import Solver, gives_probabilities
from polytomy.model.scheme_argument import SchemeArgument
from polytomy.selection.candidates import default_candidates
from polytomy.selection.race import (
    Progress,
    Race,
    RaceSetup,
    Runner,
    comparison_folds,
    find_metric,
    run_race,
)

DEFAULT_SCORING = ("log_loss", "uncertainty_coefficient")
"""The metrics of a search: one of probabilities, which decides, and one of predictions."""


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


def tabulate_race(race: Race, winner: Runner) -> dict[str, Any]:
    """Return the columns of a table of results, in the order of the candidates.

    Means and standard deviations are over the ``n_folds`` folds of a candidate.
    The columns of scikit-learn's searches are included: ``params``, ``param_…``,
    ``split0_test_score`` and so on, and ``mean_``, ``std_`` and ``rank_test_score``. They are for
    the score that decided, negated if it is a loss. A fold on which a candidate was not measured
    has NaN.
    ``difference_…`` is the mean of a score minus that of the candidate of rank 1 on the same
    folds. ``is_dropped`` marks candidates with a ``reason`` not to be chosen. ``is_pareto``
    marks candidates that no other beats in a score, fit time or prediction time, on their common
    folds, without losing in another of these.

    Parameters
    ----------
    race : Race
    winner : the runner that was chosen
    """
    runners = race.runners
    best = race.leader(race.survivors)
    results: dict[str, Any] = {
        "candidate": np.array([each.candidate.name for each in runners], dtype=object),
        "solver": np.array([str(each.candidate.solver) for each in runners], dtype=object),
        "scheme": np.array(
            [each.candidate.scheme_name or each.candidate.name for each in runners], dtype=object
        ),
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
    places = [_place(race, each, best) for each in runners]
    results["rank"] = 1 + np.argsort(sorted(range(len(places)), key=places.__getitem__))
    results["is_pareto"] = np.array(_are_pareto(runners))
    results["is_chosen"] = np.array([each is winner for each in runners])
    results["is_dropped"] = np.array([bool(each.reason) for each in runners])
    results["reason"] = np.array([each.reason for each in runners], dtype=object)
    return results | _scikit_learn_columns(race, places)


def _scikit_learn_columns(race: Race, places: Sequence[tuple[bool, float]]) -> dict[str, Any]:
    """Return the columns that the ``cv_results_`` of scikit-learn's GridSearchCV have.

    `places` are the sort keys of the runners.
    """
    runners = race.runners
    columns: dict[str, Any] = {
        "std_fit_time": _population_std([each.fit_seconds for each in runners]),
        "mean_score_time": np.array([_mean_or_nan(each.predict_seconds) for each in runners]),
        "std_score_time": _population_std([each.predict_seconds for each in runners]),
    }
    params = [dict(each.candidate.params or {}) for each in runners]
    for name in sorted({name for each in params for name in each}):
        columns[f"param_{name}"] = _masked([(name in each, each.get(name)) for each in params])
    columns["params"] = params
    deciding = next(iter(runners[0].scores))
    metric = find_metric(deciding)
    by_fold = [[-metric.as_loss(value) for value in each.scores[deciding]] for each in runners]
    for fold in range(race.n_folds):
        columns[f"split{fold}_test_score"] = np.array(
            [values[fold] if fold < len(values) else np.nan for values in by_fold]
        )
    columns["mean_test_score"] = np.array([_mean_or_nan(values) for values in by_fold])
    columns["std_test_score"] = _population_std(by_fold)
    columns["rank_test_score"] = np.array(
        [1 + sum(other < own for other in places) for own in places], dtype=np.int32
    )
    return columns


def _masked(values: Sequence[tuple[bool, Any]]) -> Any:
    """Return values as a masked array; each comes with a flag that says whether it is present."""
    there = [value for is_there, value in values if is_there]
    are_numbers = all(isinstance(value, int | float | np.number) for value in there)
    are_numbers = are_numbers and not any(isinstance(value, bool | np.bool_) for value in there)
    dtype: Any = np.result_type(*map(type, there)) if are_numbers else object
    column: Any = np.zeros(len(values), dtype=dtype)
    for k, (is_there, value) in enumerate(values):
        if is_there:
            column[k] = value
    return np.ma.MaskedArray(column, mask=[not is_there for is_there, _ in values])


def _population_std(values: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Return standard deviations divided by n, as in scikit-learn's searches."""
    return np.array([np.std(each) if each else np.nan for each in values])


def _mean_or_nan(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else np.nan


def _std(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else np.nan


def _difference(runner: Runner, best: Runner, score: str) -> float:
    """Return the mean of a runner's score minus that of the best, on the folds of the runner."""
    return _mean_or_nan(runner.scores[score]) - _mean_or_nan(best.scores[score][: runner.n_folds])


def _place(race: Race, runner: Runner, best: Runner) -> tuple[bool, float]:
    """Return the sort key for ranks: dropped runners last, then by the loss to the best."""
    is_measured = runner.n_folds > 0 and np.isfinite(np.concatenate(runner.losses)).all()
    return bool(runner.reason), race.gap(runner, best)[0] if is_measured else np.inf


def _are_pareto(runners: Sequence[Runner]) -> list[bool]:
    """Return for each runner whether no other beats it on the folds that both have."""
    n_folds = np.array([each.n_folds for each in runners])
    if not n_folds.any():
        return [True] * len(runners)
    is_pareto = n_folds > 0
    for n_common in set(n_folds.tolist()) - {0}:
        criteria = np.array([_criteria(each, n_common) for each in runners])
        for k in np.flatnonzero(is_pareto):
            # Those whose common folds with the runner are exactly these.
            are_rivals = (n_folds > 0) & (np.minimum(n_folds, n_folds[k]) == n_common)
            is_pareto[k] = 0 in pareto_set(np.vstack([criteria[k], criteria[are_rivals]]))
    found: list[bool] = is_pareto.tolist()
    return found


def _criteria(runner: Runner, n_folds: int) -> list[float]:
    """Return the criteria on the first folds, scores and times; smaller is better."""
    scores = [
        find_metric(name).as_loss(_mean_or_nan(values[:n_folds]))
        for name, values in runner.scores.items()
    ]
    times = (runner.fit_seconds, runner.predict_seconds)
    return [*scores, *(_mean_or_nan(seconds[:n_folds]) for seconds in times)]


def choose_scheme(
    X: Any,
    y: NDArray[Any],
    estimator: Any,
    solver: Solver,
    training: TrainingOptions,
    *,
    models: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    class_order: Sequence[Any] | None = None,
) -> SchemeArgument:
    """Return the scheme that suits the data, as a value of the parameter ``scheme``.

    Candidates are compared on the folds of ``cv``, by `joint_log_loss` if the solver gives
    probabilities and by the uncertainty coefficient otherwise.

    Parameters
    ----------
    X, y : the data, checked
    estimator, solver, models : as in the classifier
    training : TrainingOptions
    progress : see `run_race`
    class_order : see `RaceSetup`
    """
    n_classes = len(training.classes)
    if n_classes < 3:  # there is only one scheme
        return "one-vs-one"
    deciding = "joint_log_loss" if gives_probabilities(solver) else DEFAULT_SCORING[1]
    folds = comparison_folds(
        training.cv,
        X,
        y,
        training.random_state,
        skips_incomplete=True,
    )
    race = run_race(
        default_candidates(n_classes, solver, has_order=class_order is not None),
        RaceSetup(X, y, estimator, training, models, class_order),
        folds,
        [find_metric(deciding)],
        is_lenient=True,
        progress=progress,
    )
    return choose_runner(race).candidate.scheme
