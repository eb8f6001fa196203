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
from numpy.typing import ArrayLike, NDArray

from polytomy.binary.options import TrainingListener
from polytomy.binary.preparation import is_pairwise
from polytomy.composition import (
    Composition,
    TrainingSource,
    check_solver,
    fit_binaries,
    gives_probabilities,
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

__all__ = ["Race", "Runner", "run_race"]

Floats = NDArray[np.float64]
Progress = Callable[[int], AbstractContextManager[TrainingListener]]

# A candidate is dropped when it loses to the best by this many standard errors of the difference,
# which happens by chance once in seven hundred times.
_CLEAR_LOSS = 3.0
# Fewer samples than this decide nothing.
_LEAST_SAMPLES = 30


@dataclass
class Runner:
    """A candidate and its results so far.

    Attributes
    ----------
    candidate : Candidate
    scores : the values of each score, fold by fold; NaN where the score does not apply
    losses : the losses to compare with other runners, fold by fold: one a sample, or one a fold
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
        if len(losses) != len(weight):  # one loss a fold
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
    X: Any,
    y: NDArray[Any],
    *,
    scores: Sequence[Score],
    folds: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]],
    estimator: Any,
    training: TrainingSource,
    models: Mapping[str, Any] | None = None,
    sample_weight: ArrayLike | None = None,
    budget: float | None = None,
    is_lenient: bool = False,
    progress: Progress | None = None,
    on_fold: Callable[[Race], None] | None = None,
    class_order: Sequence[Any] | None = None,
) -> Race:
    """Measure candidates on folds, and drop those that can no longer win.

    Parameters
    ----------
    candidates : sequence of Candidate
    X, y : the data, checked
    scores : what is measured; the first one decides
    folds : pairs of training and held-out rows; all classes are in every training part
    estimator, models : as in the classifier
    training : where the options of training come from
    sample_weight : weights of the held-out samples
    budget : start no new fold after this many seconds
    is_lenient : if true, a candidate that cannot be used on this data is dropped, and the reason
        noted; otherwise its error is raised
    progress : context manager of the number of partitions of a fold, such as `progress_bar`
    on_fold : called after each fold
    class_order : as in the classifier; nothing warns if a candidate needs one
    """
    deciding = scores[0]
    if deciding.needs_probabilities and not any(
        gives_probabilities(each.solver) for each in candidates
    ):
        raise ArgumentError(
            Argument("scoring", deciding.name),
            " needs probabilities, but no candidate's solver gives them. Use ",
            Argument("scoring", "accuracy"),
            ".",
        )
    runners = [Runner(each, {score.name: [] for score in scores}) for each in candidates]
    race = Race(runners, [], 0)
    track = _Track(
        X,
        y,
        check_weights(sample_weight, len(y)),
        scores,
        estimator,
        models,
        training,
        progress,
        class_order,
    )
    started = perf_counter()
    for number, (training_rows, held_out) in enumerate(folds, start=1):
        schemes = track.make_schemes(runners, training_rows, is_lenient=is_lenient)
        track.run(schemes, training_rows, held_out)
        race.weights.append(track.weight[held_out])
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


@dataclass(frozen=True)
class _Track:
    """What stays the same from fold to fold."""

    X: Any
    y: NDArray[Any]
    weight: Floats
    scores: Sequence[Score]
    estimator: Any
    models: Mapping[str, Any] | None
    training: TrainingSource
    progress: Progress | None
    class_order: Sequence[Any] | None

    def part(self, rows: NDArray[np.intp], training_rows: NDArray[np.intp]) -> Any:
        """Return some samples; of a kernel matrix, with the columns of the training samples."""
        X = take_rows(self.X, rows)
        return take_columns(X, training_rows) if is_pairwise(self.estimator) else X

    def make_schemes(
        self, runners: Sequence[Runner], rows: NDArray[np.intp], *, is_lenient: bool
    ) -> list[tuple[Runner, Scheme | SchemeEnsemble]]:
        """Return the runners that are left, each with its scheme for the training rows."""
        X, y = self.part(rows, rows), self.y[rows]
        random_state = self.training.parameters.random_state
        made = []
        for runner in runners:
            if runner.reason:
                continue
            argument, solver = runner.candidate.scheme, runner.candidate.solver
            try:
                scheme = scheme_from(
                    argument,
                    self.training.classes,
                    X=X,
                    y=y,
                    random_state=random_state,
                    class_order=self.class_order,
                    warns_of_order=False,
                )
                for member in members_of(scheme):
                    check_solver(member, solver)
            except PolytomyError as error:
                if not is_lenient:
                    raise
                runner.reason = str(error)
            else:
                made.append((runner, scheme))
        if not made:
            raise ArgumentError(f"no candidate can be used on this data: {runners[0].reason}")
        return made

    def run(
        self,
        schemes: Sequence[tuple[Runner, Scheme | SchemeEnsemble]],
        rows: NDArray[np.intp],
        held_out: NDArray[np.intp],
    ) -> None:
        """Train what the schemes need on some rows, and judge the runners on others."""
        classes = self.training.classes
        every = [scheme for _, scheme in schemes]
        plan = plan_training(every, classes, self.estimator, self.models)
        indices = self.training.class_indices[rows]
        n_to_train = sum(each.trained is None for each in plan.dichotomies)
        bar = nullcontext(None) if self.progress is None else self.progress(n_to_train)
        with bar as listener:
            X = self.part(rows, rows)
            options = self.training.options(rows)
            trained = fit_binaries(plan.dichotomies, X, indices, len(classes), options, listener)
        counts = np.bincount(indices, minlength=len(classes))
        sizes = [
            sum(counts[k] for k in (*each.negative, *each.positive)) for each in plan.dichotomies
        ]
        X = self.part(held_out, rows)
        for number, (runner, _) in enumerate(schemes):
            columns = plan.columns_of(number)
            own = trained.take(columns)
            started = perf_counter()
            composition = plan.only(number).compose(own, runner.candidate.solver)
            calibrating = perf_counter() - started
            seconds, scores = _predict(composition, X)
            judged = Judged(
                self.y[held_out],
                scores,
                composition.winners(scores),
                classes,
                self.weight[held_out],
            )
            _note_scores(runner, judged, self.scores)
            runner.predict_seconds.append(seconds)
            training = sum(binary.seconds for binary in own.binaries)
            runner.fit_seconds.append(training + calibrating)
            runner.n_binaries.append(len(columns))
            runner.n_training_samples.append(int(sum(sizes[column] for column in columns)))


def _predict(composition: Composition, X: Any) -> tuple[float, Floats]:
    """Return the seconds that prediction takes, and the scores of the classes."""
    composition.scores(take_rows(X, np.arange(1)))  # compiles routines and sets up the bank
    started = perf_counter()
    scores = composition.scores(X)
    return perf_counter() - started, scores


def _note_scores(runner: Runner, judged: Judged, scores: Sequence[Score]) -> None:
    has_probabilities = gives_probabilities(runner.candidate.solver)
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
