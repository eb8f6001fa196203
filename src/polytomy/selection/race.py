"""The race: candidates measured on the same held-out folds, losers left behind.

In each fold every dichotomy that occurs in any candidate is trained once. Data-driven schemes are
made from the training part of the fold alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polytomy.banks import build_bank
from polytomy.binary import TrainedBinary
from polytomy.binary.preparation import is_pairwise
from polytomy.composition import (
    Arrangement,
    Dichotomy,
    Listener,
    arrange,
    check_solver,
    fit_binaries,
    gives_probabilities,
    mean_scores,
    members_of,
    scheme_from,
)
from polytomy.errors import ArgumentError, PolytomyError
from polytomy.inputs.rows import take_columns, take_rows
from polytomy.inputs.weights import check_weights
from polytomy.scheme import Scheme
from polytomy.selection.candidates import Candidate
from polytomy.selection.scoring import Judged, Score

__all__ = ["Race", "Runner", "run_race"]

Floats = NDArray[np.float64]
Progress = Callable[[Sequence[Dichotomy]], AbstractContextManager[Listener]]

# A candidate is left behind when it loses to the best by this many standard errors of the
# difference, which chance alone does once in seven hundred times.
_DECIDED = 3.0
# Fewer samples than this decide nothing.
_LEAST_SAMPLES = 30


@dataclass
class Runner:
    """A candidate and how it did so far.

    Attributes
    ----------
    candidate : Candidate
    scores : for each score its values, fold by fold; NaN where it means nothing
    losses : what is compared with other runners', fold by fold: a value a sample, or one a fold
    fit_seconds, predict_seconds : time a fold took, as if this had been the only candidate
    n_binaries, n_training_samples : of its schemes, fold by fold
    reason : why it did not run to the end; empty if it did
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
    """What came out of a race: the runners, in the order of the candidates."""

    runners: list[Runner]
    weights: list[Floats]
    n_folds: int

    @property
    def finished(self) -> list[Runner]:
        """The runners that were measured on every fold, and can win."""
        return [runner for runner in self.runners if not runner.reason]

    def gap(self, runner: Runner, other: Runner) -> tuple[float, float]:
        """Return by how much a runner loses to another, on the folds of both, and its error."""
        n_folds = min(runner.n_folds, other.n_folds)
        losses = np.concatenate(runner.losses[:n_folds]) - np.concatenate(other.losses[:n_folds])
        weight = np.concatenate(self.weights[:n_folds])
        if len(losses) != len(weight):  # a value a fold
            weight = np.ones(len(losses))
        mean = float(np.average(losses, weights=weight))
        spread = np.sqrt(np.sum((weight * (losses - mean)) ** 2))
        return mean, float(spread / weight.sum())

    def leader(self, runners: Sequence[Runner]) -> Runner:
        """Return the runner that none of the others beats; the first among equals."""
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
    training: Callable[[NDArray[np.intp]], Mapping[str, Any]],
    models: Mapping[str, Any] | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: Any = None,
    budget: float | None = None,
    is_lenient: bool = False,
    progress: Progress | None = None,
    on_fold: Callable[[Race], None] | None = None,
) -> Race:
    """Measure candidates on folds, and leave behind those that cannot win any more.

    Parameters
    ----------
    candidates : sequence of Candidate
    X, y : the data, checked
    scores : what is measured; the first one decides
    folds : pairs of training and held-out rows; every class is in all training parts
    estimator, models, random_state : as of the classifier
    training : from rows of the data to the options of `polytomy.composition.fit_binaries`
    sample_weight : of the held-out samples
    budget : seconds after which no further fold is begun
    is_lenient : whether candidates that cannot be done on this data are left out, with the reason,
        or raise their error
    progress : context manager of the dichotomies of a fold, such as `progress_bar`
    on_fold : called after each fold
    """
    deciding = scores[0]
    if deciding.needs_probabilities and not any(
        gives_probabilities(each.solver) for each in candidates
    ):
        raise ArgumentError(
            f"scoring={deciding.name!r} needs probabilities, which no candidate's solver gives. "
            'Use scoring="accuracy".'
        )
    classes, codes = np.unique(y, return_inverse=True)
    runners = [Runner(each, {score.name: [] for score in scores}) for each in candidates]
    race = Race(runners, [], 0)
    track = _Track(
        X,
        y,
        classes,
        codes,
        check_weights(sample_weight, len(y)),
        scores,
        estimator,
        models,
        random_state,
        training,
        progress,
    )
    started = perf_counter()
    for number, (training_rows, held_out) in enumerate(folds, start=1):
        schemes = track.schemes(runners, training_rows, is_lenient=is_lenient)
        track.run(schemes, training_rows, held_out)
        race.weights.append(track.weight[held_out])
        race.n_folds = number
        if on_fold is not None:
            on_fold(race)
        if number == len(folds):
            break
        if budget is not None and perf_counter() - started > budget:
            break
        _leave_losers_behind(race)
        if sum(not runner.reason for runner in runners) == 1:
            break
    return race


@dataclass(frozen=True)
class _Track:
    """What stays the same from fold to fold."""

    X: Any
    y: NDArray[Any]
    classes: NDArray[Any]
    codes: NDArray[np.intp]
    weight: Floats
    scores: Sequence[Score]
    estimator: Any
    models: Mapping[str, Any] | None
    random_state: Any
    training: Callable[[NDArray[np.intp]], Mapping[str, Any]]
    progress: Progress | None

    def part(self, rows: NDArray[np.intp], training_rows: NDArray[np.intp]) -> Any:
        """Return some samples; of kernel values, their columns are the training samples'."""
        X = take_rows(self.X, rows)
        return take_columns(X, training_rows) if is_pairwise(self.estimator) else X

    def schemes(
        self, runners: Sequence[Runner], rows: NDArray[np.intp], *, is_lenient: bool
    ) -> list[tuple[Runner, tuple[Scheme, ...]]]:
        """Return the runners that are left, each with its schemes for the training rows."""
        X, y = self.part(rows, rows), self.y[rows]
        made = []
        for runner in runners:
            if runner.reason:
                continue
            scheme, solver = runner.candidate.scheme, runner.candidate.solver
            try:
                members = members_of(
                    scheme_from(scheme, self.classes, X=X, y=y, random_state=self.random_state)
                )
                for member in members:
                    check_solver(member, solver)
            except PolytomyError as error:
                if not is_lenient:
                    raise
                runner.reason = str(error)
            else:
                made.append((runner, members))
        if not made:
            raise ArgumentError(f"no candidate can be done on this data: {runners[0].reason}")
        return made

    def run(
        self,
        schemes: Sequence[tuple[Runner, tuple[Scheme, ...]]],
        rows: NDArray[np.intp],
        held_out: NDArray[np.intp],
    ) -> None:
        """Train what the schemes need on some rows, and judge the runners on others."""
        every = [member for _, members in schemes for member in members]
        wanted, arrangements = arrange(every, self.classes, self.estimator, self.models)
        codes = self.codes[rows]
        options = dict(self.training(rows))
        with ExitStack() as stack:
            if self.progress is not None:
                options |= stack.enter_context(self.progress(wanted))._asdict()
            X = self.part(rows, rows)
            binaries = fit_binaries(wanted, X, codes, len(self.classes), **options)
        counts = np.bincount(codes, minlength=len(self.classes))
        sizes = [sum(counts[k] for k in (*each.negative, *each.positive)) for each in wanted]
        X = self.part(held_out, rows)
        remaining = iter(arrangements)
        for runner, members in schemes:
            own = list(islice(remaining, len(members)))
            columns = np.unique(np.concatenate([each.columns for each in own]))
            seconds, answers = _predict(own, columns, binaries, X, runner.candidate.solver)
            judged = Judged(self.y[held_out], answers, self.classes, self.weight[held_out])
            _note_scores(runner, judged, self.scores)
            runner.predict_seconds.append(seconds)
            runner.fit_seconds.append(sum(binaries[column].seconds for column in columns))
            runner.n_binaries.append(len(columns))
            runner.n_training_samples.append(int(sum(sizes[column] for column in columns)))


def _predict(
    arrangements: Sequence[Arrangement],
    columns: NDArray[np.intp],
    binaries: Sequence[TrainedBinary],
    X: Any,
    solver: Any,
) -> tuple[float, Floats]:
    """Return the scores of the classes by one candidate's binaries alone, and the seconds taken."""
    bank = build_bank([binaries[column] for column in columns])
    own = [each._replace(columns=np.searchsorted(columns, each.columns)) for each in arrangements]
    mean_scores(own, bank, take_rows(X, np.arange(1)), solver)  # what is compiled or put together
    started = perf_counter()
    answers = mean_scores(own, bank, X, solver)
    return perf_counter() - started, answers


def _note_scores(runner: Runner, judged: Judged, scores: Sequence[Score]) -> None:
    has_probabilities = gives_probabilities(runner.candidate.solver)
    for score in scores:
        is_measured = has_probabilities or not score.needs_probabilities
        runner.scores[score.name].append(score.measure(judged) if is_measured else np.nan)
    deciding = scores[0]
    if not has_probabilities and deciding.needs_probabilities:
        runner.reason = f"solver={runner.candidate.solver!r} gives no probabilities"
    if deciding.losses is not None:
        runner.losses.append(deciding.losses(judged))
    else:
        value = runner.scores[deciding.name][-1]
        runner.losses.append(np.array([-value if deciding.greater_is_better else value]))


def _leave_losers_behind(race: Race) -> None:
    live = [runner for runner in race.runners if not runner.reason]
    best = race.leader(live)
    for runner in live:
        gap, error = race.gap(runner, best)
        n_values = sum(map(len, runner.losses))
        if runner is not best and n_values >= _LEAST_SAMPLES and gap > _DECIDED * error:
            runner.reason = f"left behind {best.candidate.name} after fold {race.n_folds}"
