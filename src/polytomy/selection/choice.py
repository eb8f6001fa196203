"""Choosing: after a race, with a table of its results, and the scheme of ``scheme="auto"``.

A candidate that was dropped from a race has fewer folds than the others, and folds differ. So
ranks, differences and the Pareto set do not compare means over all folds, but use common folds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.final import OutOfFoldAnswers
from polytomy.calibration.pooling import pool_held_out
from polytomy.errors import SchemeError
from polytomy.learners.problems import count_models
from polytomy.learners.workload import TrainingOptions
from polytomy.metrics import Metric
from polytomy.metrics.scores import DECIDING
from polytomy.model.arrangement import AUTO, Solver, gives_probabilities
from polytomy.model.fitting import TrainedBinaries, TrainingPlan, fit_binaries, plan_training
from polytomy.model.scheme_argument import SchemeArgument
from polytomy.selection.candidates import (
    automatic_candidates,
    describe_error,
    separates_many_classes,
)
from polytomy.selection.measuring import FoldMeasurer, Progress, count_samples
from polytomy.selection.race import Race, find_metric, make_schemes, warn_of_failures
from polytomy.selection.runners import Entry, Floats, FoldResult, RaceSetup, Runner

# With scheme="auto", a scheme takes the place of one-vs-one if its log-loss is lower by this many
# standard errors of the difference. With one of them, chance chose worse schemes for small data.
_CLEARLY_BETTER = 2.0
# Among those, a cheaper scheme is taken if its log-loss is at most this many times the lowest.
_AS_GOOD = 1.01


def choose_runner(race: Race) -> Runner:
    """Return the cheapest runner that is no more than one standard error worse than the best.

    The standard error is that of the difference between the two on the same samples. The cost of a
    runner is the number of samples that its binaries are trained on, which does not depend on the
    load of the machine.
    """
    measured = [runner for runner in race.survivors if runner.is_measured]
    best = race.leader(measured)
    gaps = [(runner, *race.gap(runner, best)) for runner in measured]
    # Among equally cheap runners, take the best; among equally good ones, the first.
    costs = [
        (np.mean([each.n_training_samples for each in runner.folds]), gap, number)
        for number, (runner, gap, error) in enumerate(gaps)
        if gap <= error
    ]
    return measured[min(costs)[2]]


def choose_members(race: Race, n_members: int) -> list[Runner]:
    """Return the runners with the smallest losses, the best first."""
    measured = [runner for runner in race.survivors if runner.is_measured]
    best = race.leader(measured)
    return sorted(measured, key=lambda runner: race.gap(runner, best)[0])[:n_members]


def score_pool(members: Sequence[Runner], setup: RaceSetup, metric: Metric) -> float:
    """Return the mean score of a pool over the folds of a race, negated if it is a loss.

    The weights for a fold are learnt from the probabilities on the other folds; without a final
    calibration, a pool is the mean.

    Parameters
    ----------
    members : runners that were measured on the same folds, with probabilities
    setup : RaceSetup
    metric : Metric
    """
    training, held_out = setup.training, [each.rows for each in members[0].folds]
    rows, n_rows = np.concatenate(held_out), [len(each) for each in held_out]
    fold_of = np.repeat(np.arange(len(n_rows)), n_rows)
    proba = np.stack(
        [np.concatenate([each.probabilities for each in runner.folds]) for runner in members]
    )
    if training.final_calibration is None:
        pooled = proba.mean(axis=0)
    else:
        truth, weight = training.class_indices[rows], setup.sample_weight[rows]
        answers = OutOfFoldAnswers(proba[0], np.empty((len(rows), 0)), truth, weight, fold_of)
        pooled = pool_held_out(proba, answers, fold_of)
    measurer, candidate, scores = FoldMeasurer(setup, [metric]), members[0].candidate, []
    for fold, rows_of_fold in enumerate(held_out):
        own = pooled[fold_of == fold]
        values, _, _ = measurer.judge(candidate, rows_of_fold, own, own.argmax(axis=1))
        scores.append(-metric.as_loss(values[metric.name]))
    return float(np.mean(scores))


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


def tabulate_race(race: Race, chosen: Sequence[Runner]) -> dict[str, Any]:
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
    chosen : the runner that was chosen, or the members of a pool
    """
    runners, names = race.runners, list(race.survivors[0].folds[0].scores)
    best = race.leader(race.survivors)
    scores = {
        name: _by_fold(race, lambda fold, name=name: fold.scores[name])  # type: ignore[misc]
        for name in names
    }
    fit, predict = (
        _by_fold(race, lambda fold, kind=kind: getattr(fold, f"{kind}_seconds"))  # type: ignore[misc]
        for kind in ("fit", "predict")
    )
    candidates = [runner.candidate for runner in runners]
    results: dict[str, Any] = {
        "candidate": _texts(each.name for each in candidates),
        "solver": _texts(str(each.solver) for each in candidates),
        "scheme": _texts(each.scheme_name or each.name for each in candidates),
        "n_folds": np.array([each.n_folds for each in runners]),
        "n_binaries": _mean(_by_fold(race, lambda fold: fold.n_binaries)),
        "n_training_samples": _mean(_by_fold(race, lambda fold: fold.n_training_samples)),
    }
    is_run = np.isfinite(fit)
    for name, values in scores.items():
        of_best = np.where(is_run, values[runners.index(best)], np.nan)
        results[f"mean_{name}"] = _mean(values)
        results[f"std_{name}"] = _std(values, ddof=1)
        results[f"difference_{name}"] = _mean(values) - _mean(of_best)
    results["mean_fit_time"], results["mean_predict_time"] = _mean(fit), _mean(predict)
    places = [_place(race, each, best) for each in runners]
    results["rank"] = 1 + np.argsort(sorted(range(len(places)), key=places.__getitem__))
    losses = [
        values if not find_metric(name).larger_is_better else -values
        for name, values in scores.items()
    ]
    results["is_pareto"] = _are_pareto(np.stack([*losses, fit, predict], axis=2), is_run)
    results["is_chosen"] = np.array([each in chosen for each in runners])
    results["is_dropped"] = np.array([bool(each.reason) for each in runners])
    results["reason"] = _texts(each.reason for each in runners)
    # The columns of GridSearchCV.
    test = -losses[0]
    results |= {
        "std_fit_time": _std(fit),
        "mean_score_time": _mean(predict),
        "std_score_time": _std(predict),
    }
    params = [dict(each.params or {}) for each in candidates]
    for name in sorted({name for each in params for name in each}):
        results[f"param_{name}"] = _masked([(name in each, each.get(name)) for each in params])
    results["params"] = params
    results |= {f"split{fold}_test_score": column for fold, column in enumerate(test.T)}
    results |= {"mean_test_score": _mean(test), "std_test_score": _std(test)}
    results["rank_test_score"] = np.array(
        [1 + sum(other < own for other in places) for own in places], dtype=np.int32
    )
    return results


def _by_fold(race: Race, read: Callable[[FoldResult], float]) -> Floats:
    """Return an array of shape (n_runners, n_folds); NaN where a runner was not measured."""
    values = np.full((len(race.runners), race.n_folds), np.nan)
    for row, runner in zip(values, race.runners, strict=True):
        row[: runner.n_folds] = [read(fold) for fold in runner.folds]
    return values


def _mean(values: Floats) -> Floats:
    """Return the mean of each row over its folds, or NaN without any."""
    means: Floats = np.ma.masked_invalid(values).mean(axis=1).filled(np.nan)
    return means


def _std(values: Floats, ddof: int = 0) -> Floats:
    """Return the standard deviation of each row over its folds, or NaN if there are too few."""
    deviations: Floats = np.ma.masked_invalid(values).std(axis=1, ddof=ddof).filled(np.nan)
    return deviations


def _texts(values: Any) -> NDArray[Any]:
    return np.array(list(values), dtype=object)


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


def _place(race: Race, runner: Runner, best: Runner) -> tuple[bool, float]:
    """Return the sort key for ranks: dropped runners last, then by the loss to the best."""
    return bool(runner.reason), race.gap(runner, best)[0] if runner.is_measured else np.inf


def _are_pareto(criteria: Floats, is_run: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return for each runner whether no other beats it on the folds that both have.

    Parameters
    ----------
    criteria : array of shape (n_runners, n_folds, n_criteria), smaller is better
    is_run : array of shape (n_runners, n_folds), where a runner was measured
    """
    is_pareto = is_run[:, 0].copy()
    for k in np.flatnonzero(is_pareto):
        rivals = []
        for other in np.flatnonzero(is_run[:, 0]):
            common = is_run[k] & is_run[other]
            rivals.append(criteria[[k, other]][:, common].mean(axis=1))
        is_pareto[k] = all(0 in pareto_set(pair) for pair in rivals)
    return is_pareto


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

    The binaries of all candidates are trained once, with the folds of the calibrations, and each
    dichotomy only once. The first candidate, one-vs-one unless there are very many classes, is
    taken unless the out-of-fold log-loss of another is clearly lower. Then the lowest wins, or the
    one within one percent of it whose binaries train on the fewest samples. If the solver gives no
    probabilities, those of the solver "auto" are compared.

    Parameters
    ----------
    X, y : the data, checked
    estimator, solver, models : as in the classifier
    training : TrainingOptions
    progress : see `run_race`
    class_order : see `RaceSetup`
    """
    if len(training.classes) < 3:  # there is only one scheme
        return "one-vs-one"
    setup = RaceSetup(X, y, estimator, training, models, class_order)
    entries = enter_candidates(setup, solver)
    race = Race([runner for runner, _ in entries])
    final = "auto" if training.final_calibration is None else training.final_calibration
    options = replace(
        training, final_calibration=final, wants_probabilities=True, keep_out_of_fold=True
    )
    compared = solver if gives_probabilities(solver) else AUTO
    _compare(setup, entries, compared, options, progress)
    failed = [runner for runner, _ in entries if runner.error is not None]
    if len(failed) == len(entries) and failed[-1].error is not None:
        raise failed[-1].error  # they all fail, usually for the same reason
    warn_of_failures([(runner.candidate, runner.reason) for runner in failed])
    found = race.survivors
    measured = [runner for runner in found if runner.folds]
    if not measured:  # nothing could be held out
        return found[0].candidate.scheme
    gaps = [race.gap(runner, measured[0]) for runner in measured]
    better = [
        runner
        for runner, (gap, error) in zip(measured, gaps, strict=True)
        if gap < -_CLEARLY_BETTER * error
    ]
    best = race.leader(better or measured[:1])
    most = _AS_GOOD * _log_loss(best)
    good = [runner for runner in better if _log_loss(runner) <= most] or [best]
    chosen = min(good, key=lambda each: (each.folds[0].n_training_samples, _log_loss(each)))
    return chosen.candidate.scheme


def enter_candidates(setup: RaceSetup, solver: Solver) -> list[Entry]:
    """Return the candidates of ``scheme="auto"`` with their schemes, before any training."""
    candidates = automatic_candidates(
        len(setup.training.classes),
        solver,
        has_order=setup.class_order is not None,
        is_multi_class=separates_many_classes(setup.estimator, setup.training.calibration),
    )
    runners = [Runner(each) for each in candidates]
    entries = make_schemes(runners, setup, np.arange(len(setup.y)), is_lenient=True)
    if not entries:  # no scheme can have such labels
        raise SchemeError(runners[0].reason)
    return entries


def _log_loss(runner: Runner) -> float:
    (result,) = runner.folds
    return result.scores[DECIDING]


def _compare(
    setup: RaceSetup,
    entries: Sequence[Entry],
    solver: Solver,
    options: TrainingOptions,
    progress: Progress | None,
) -> None:
    """Give each runner its out-of-fold result, or the reason why it failed."""
    schemes, classes = [scheme for _, scheme in entries], options.classes
    plan = plan_training(schemes, classes, setup.estimator, setup.models)
    try:
        n_models = count_models(plan.dichotomies)
        with nullcontext(None) if progress is None else progress(n_models) as listener:
            trained = fit_binaries(plan.dichotomies, setup.X, options, listener)
        results = [_judge(plan, trained, number, solver, options) for number in range(len(entries))]
    except Exception as error:
        if len(entries) == 1:
            ((runner, _),) = entries
            runner.error, runner.reason = error, f"failed: {describe_error(error)}"
            return
    else:
        for (runner, _), result in zip(entries, results, strict=True):
            runner.folds += result
        return
    for entry in entries:
        _compare(setup, [entry], solver, options, progress)


def _judge(
    plan: TrainingPlan,
    trained: TrainedBinaries,
    number: int,
    solver: Solver,
    options: TrainingOptions,
) -> list[FoldResult]:
    """Return the out-of-fold result of one of a plan's schemes; none if nothing is held out."""
    columns, own = plan.columns_of(number), plan.only(number)
    composition = own.compose(trained.take(columns), solver)
    final, rows = composition.final, composition.out_of_fold
    if final is None or final.probabilities is None or rows is None:
        return []
    of_class = final.probabilities[np.arange(len(rows.rows)), rows.class_indices]
    losses = -np.log(np.maximum(of_class, np.finfo(np.float64).tiny))
    n_samples = count_samples(own, options, slice(None))
    return [FoldResult(final.score, losses, rows.weight, 0.0, 0.0, len(columns), n_samples)]
