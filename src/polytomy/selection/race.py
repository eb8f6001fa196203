"""The race: candidates are measured on the same held-out folds, and losers are dropped.

In each fold every dichotomy that occurs in any candidate is trained once. Schemes made from data
are made from the training part of the fold alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.binary.options import TrainingListener
from polytomy.binary.preparation import takes_pairwise_values
from polytomy.composition import (
    Composition,
    TrainingSource,
    check_solver,
    choose_final_calibration,
    fit_binaries,
    members_of,
    plan_training,
    scheme_from,
)
from polytomy.errors import Argument, ArgumentError, PolytomyError
from polytomy.inputs.rows import take_columns, take_rows
from polytomy.inputs.weights import check_weights
from polytomy.scheme import Scheme
from polytomy.scheme.ensemble import SchemeEnsemble
from polytomy.selection.candidates import Candidate
from polytomy.selection.scoring import Judged, Score

__all__ = ["Race", "RaceSetup", "Runner", "run_race"]

Floats = NDArray[np.float64]
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]
Progress = Callable[[int], AbstractContextManager[TrainingListener]]

# A candidate is dropped when it loses to the best by this many standard errors of the difference,
# which happens by chance once in seven hundred times.
_CLEAR_LOSS = 3.0
# Fewer samples than this decide nothing.
_LEAST_SAMPLES = 30


@dataclass(frozen=True, slots=True, eq=False)
class RaceSetup:
    """What all candidates of a race have in common: the data, and how binaries are trained.

    Attributes
    ----------
    X, y : the data, checked
    estimator : the two-class estimator
    training : where the options of training come from, and the weights of the samples
    models, class_order : as in the classifier; nothing warns if a candidate needs an order
    """

    X: Any
    y: NDArray[Any]
    estimator: Any
    training: TrainingSource
    models: Mapping[str, Any] | None = None
    class_order: Sequence[Any] | None = None

    @property
    def sample_weight(self) -> Floats:
        """The weight of each sample; ones if there are none."""
        return check_weights(self.training.routed.estimator.sample_weight, len(self.y))

    def samples(self, rows: NDArray[np.intp], training_rows: NDArray[np.intp]) -> Any:
        """Return some samples; of a kernel matrix, with the columns of the training samples."""
        X = take_rows(self.X, rows)
        return take_columns(X, training_rows) if takes_pairwise_values(self.estimator) else X


@dataclass
class Runner:
    """A candidate and its results so far.

    Attributes
    ----------
    candidate : Candidate
    scores : the values of each score, fold by fold; NaN where the score does not apply
    losses : the losses to compare with other runners, fold by fold: one per sample, or one per fold
    fit_seconds, predict_seconds : time of each fold, as if this had been the only candidate
    n_binaries, n_training_samples : of its scheme, fold by fold
    reason : why it was dropped; empty if it was not
    """

    candidate: Candidate
    scores: dict[str, list[float]]
    losses: list[Floats] = field(default_factory=list)
    fit_seconds: list[float] = field(default_factory=list)
    predict_seconds: list[float] = field(default_factory=list)
    n_binaries: list[int] = field(default_factory=list)
    n_training_samples: list[int] = field(default_factory=list)
    reason: str = ""

    @property
    def n_folds(self) -> int:
        """Number of folds it was measured on."""
        return len(self.losses)


@dataclass
class Race:
    """The result of a race: the runners, in the order of the candidates."""

    runners: list[Runner]
    weights: list[Floats]
    n_folds: int

    @property
    def survivors(self) -> list[Runner]:
        """The runners that were measured on every fold and can still win."""
        return [runner for runner in self.runners if not runner.reason]

    def gap(self, runner: Runner, other: Runner) -> tuple[float, float]:
        """Return how much a runner loses to another on their common folds, and its error."""
        n_folds = min(runner.n_folds, other.n_folds)
        losses = np.concatenate(runner.losses[:n_folds]) - np.concatenate(other.losses[:n_folds])
        weight = np.concatenate(self.weights[:n_folds])
        if len(losses) != len(weight):  # one loss per fold
            weight = np.ones(len(losses))
        mean = float(np.average(losses, weights=weight))
        spread = np.sqrt(np.sum((weight * (losses - mean)) ** 2))
        return mean, float(spread / weight.sum())

    def leader(self, runners: Sequence[Runner]) -> Runner:
        """Return the runner with the least loss; the first among equals."""
        best = runners[0]
        for runner in runners[1:]:
            if self.gap(runner, best)[0] < 0:
                best = runner
        return best


def run_race(
    candidates: Sequence[Candidate],
    setup: RaceSetup,
    folds: Sequence[Fold],
    scores: Sequence[Score],
    *,
    budget: float | None = None,
    is_lenient: bool = False,
    progress: Progress | None = None,
    on_fold: Callable[[Race], None] | None = None,
) -> Race:
    """Measure candidates on folds, and drop those that can no longer win.

    Parameters
    ----------
    candidates : sequence of Candidate
    setup : RaceSetup
    folds : pairs of training and held-out rows; all classes are in every training part
    scores : scores to measure; the first one decides
    budget : start no new fold after this many seconds
    is_lenient : if true, a candidate that cannot be used on this data is dropped, and the reason
        noted; otherwise its error is raised
    progress : context manager of the number of partitions of a fold, such as `progress_bar`
    on_fold : called after each fold
    """
    deciding = scores[0]
    have_probabilities = [each.gives_probabilities for each in candidates]
    if deciding.needs_probabilities and not any(have_probabilities):
        raise ArgumentError(
            Argument("scoring", deciding.name),
            " needs probabilities, but no candidate's solver gives them. Use ",
            Argument("scoring", "accuracy"),
            ".",
        )
    runners = [Runner(each, {score.name: [] for score in scores}) for each in candidates]
    race = Race(runners, [], 0)
    weight = setup.sample_weight
    started = perf_counter()
    for number, (training_rows, held_out) in enumerate(folds, start=1):
        schemes = _make_schemes(runners, setup, training_rows, is_lenient=is_lenient)
        _run_fold(schemes, setup, training_rows, held_out, scores, progress)
        race.weights.append(weight[held_out])
        race.n_folds = number
        if on_fold is not None:
            on_fold(race)
        if number == len(folds):
            break
        if budget is not None and perf_counter() - started > budget:
            break
        _drop_losers(race)
        if len(race.survivors) == 1:
            break
    return race


def _make_schemes(
    runners: Sequence[Runner], setup: RaceSetup, rows: NDArray[np.intp], *, is_lenient: bool
) -> list[tuple[Runner, Scheme | SchemeEnsemble]]:
    """Return the runners that are left, each with its scheme for the training rows."""
    X, y = setup.samples(rows, rows), setup.y[rows]
    made = []
    for runner in runners:
        if runner.reason:
            continue
        candidate = runner.candidate
        try:
            scheme = scheme_from(
                candidate.scheme,
                setup.training.classes,
                X=X,
                y=y,
                random_state=setup.training.parameters.random_state,
                class_order=setup.class_order,
                warns_of_order=False,
            )
            for member in members_of(scheme):
                check_solver(member, candidate.solver)
        except PolytomyError as error:
            if not is_lenient:
                raise candidate.refused(error) from error
            runner.reason = str(error)
        else:
            made.append((runner, scheme))
    if not made:
        raise ArgumentError(
            "no candidate can be used on this data. The first of the ",
            Argument("candidates"),
            f", {runners[0].candidate.name!r}: {runners[0].reason}",
        )
    return made


def _run_fold(
    schemes: Sequence[tuple[Runner, Scheme | SchemeEnsemble]],
    setup: RaceSetup,
    rows: NDArray[np.intp],
    held_out: NDArray[np.intp],
    scores: Sequence[Score],
    progress: Progress | None,
) -> None:
    """Train what the schemes need on some rows, and judge the runners on others."""
    training = setup.training
    every = [scheme for _, scheme in schemes]
    plan = plan_training(every, training.classes, setup.estimator, setup.models)
    indices = training.class_indices[rows]
    n_to_train = sum(each.trained is None for each in plan.dichotomies)
    bar = nullcontext(None) if progress is None else progress(n_to_train)
    with bar as listener:
        trained = fit_binaries(
            plan.dichotomies,
            setup.samples(rows, rows),
            indices,
            len(training.classes),
            training.options(rows),
            listener,
        )
    counts = np.bincount(indices, minlength=len(training.classes))
    sizes = [
        sum(counts[k] for k in (*each.negative, *each.positive)) if each.is_counted else 0
        for each in plan.dichotomies
    ]
    X, y, weight = setup.samples(held_out, rows), setup.y[held_out], setup.sample_weight[held_out]
    for number, (runner, _) in enumerate(schemes):
        columns = plan.columns_of(number)
        own = trained.take(columns)
        own = own.with_final_calibration(
            choose_final_calibration(runner.candidate.scheme, training.parameters.final_calibration)
        )
        started = perf_counter()
        composition = plan.only(number).compose(own, runner.candidate.solver)
        calibrating = perf_counter() - started
        seconds, class_scores = _time_scores(composition, X)
        winners = composition.winners(class_scores)
        _note_scores(runner, Judged(y, class_scores, winners, training.classes, weight), scores)
        runner.predict_seconds.append(seconds)
        runner.fit_seconds.append(sum(binary.seconds for binary in own.binaries) + calibrating)
        runner.n_binaries.append(sum(plan.dichotomies[column].is_counted for column in columns))
        runner.n_training_samples.append(int(sum(sizes[column] for column in columns)))


def _time_scores(composition: Composition, X: Any) -> tuple[float, Floats]:
    """Return the seconds that prediction takes, and the scores of the classes."""
    composition.scores(take_rows(X, np.arange(1)))  # compiles routines and sets up the bank
    started = perf_counter()
    scores = composition.scores(X)
    return perf_counter() - started, scores


def _note_scores(runner: Runner, judged: Judged, scores: Sequence[Score]) -> None:
    has_probabilities = runner.candidate.gives_probabilities
    for score in scores:
        is_measured = has_probabilities or not score.needs_probabilities
        runner.scores[score.name].append(score.measure(judged) if is_measured else np.nan)
    deciding = scores[0]
    if not has_probabilities and deciding.needs_probabilities:
        runner.reason = f'solver="{runner.candidate.solver}" does not give probabilities'
    if deciding.losses is not None:
        runner.losses.append(deciding.losses(judged))
    else:
        value = runner.scores[deciding.name][-1]
        runner.losses.append(np.array([-value if deciding.greater_is_better else value]))


def _drop_losers(race: Race) -> None:
    survivors = race.survivors
    best = race.leader(survivors)
    for runner in survivors:
        gap, error = race.gap(runner, best)
        n_values = sum(map(len, runner.losses))
        if runner is not best and n_values >= _LEAST_SAMPLES and gap > _CLEAR_LOSS * error:
            runner.reason = f"dropped after fold {race.n_folds} ({best.candidate.name} was better)"
