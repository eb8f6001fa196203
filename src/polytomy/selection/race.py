"""The race: candidates are measured on the same held-out folds, and losers are dropped.

In each fold, every dichotomy that occurs in any candidate is trained once. Schemes made from data
use only the training part of the fold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from polytomy.calibration.folds import (
    HoldOut,
    RoutedSplitter,
    check_folds,
    choose_folds,
    row_numbers,
)
from polytomy.errors import Argument, ArgumentError, PolytomyError
from polytomy.inputs.arguments import did_you_mean
from polytomy.inputs.numbers import check_weights
from polytomy.metrics import METRICS, JudgedSamples, Metric
from polytomy.model.arrangement import check_solver
from polytomy.model.scheme_argument import members_of, scheme_from
from polytomy.scheme import Scheme, SchemeEnsemble
from polytomy.selection.candidates import Candidate
from polytomy.selection.measuring import FoldMeasurer, Progress, RaceSetup

Floats = NDArray[np.float64]
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]
"""The rows to train on, and the held-out rows."""

# A candidate is dropped when it loses to the best by this many standard errors of the difference,
# which happens by chance once in seven hundred times.
_CLEAR_LOSS = 3.0
# With fewer samples than this, no candidate is dropped.
_LEAST_SAMPLES = 30
_LABELS = frozenset({"labels"})
_PROBABILITIES = frozenset({"labels", "confidence", "probabilities"})


def comparison_folds(
    cv: Any,
    X: Any,
    y: NDArray[Any],
    random_state: Any = None,
    *,
    skips_incomplete: bool = False,
    **split_params: Any,
) -> list[Fold]:
    """Return pairs of training and held-out rows; every training part has all classes.

    Parameters
    ----------
    cv : int, float, "auto", splitter or list of splits
        A number divides the samples of each class among that many folds, or among as many as the
        largest class has samples. If a class has only one sample, it is always trained on. A
        fraction holds out that share of the samples once; "auto" is as for a classifier.
    X, y : the data
    random_state : fixes the folds if cv is a number
    skips_incomplete : whether to skip a fold that trains without some class; otherwise it is an
        error
    **split_params : further arguments of a splitter's ``split``, such as groups

    Examples
    --------
    >>> y = np.array(["a", "b", "a", "b", "c"])
    >>> folds = comparison_folds(2, None, y, random_state=0)
    >>> [(len(training), len(held_out)) for training, held_out in folds]
    [(3, 2), (3, 2)]
    """
    check_folds(cv)
    if isinstance(cv, RoutedSplitter):
        cv, split_params = cv.splitter, dict(cv.parameters)
    cv = choose_folds(cv, len(y))
    if isinstance(cv, int | np.integer):
        return _deal_classes(y, int(cv), random_state)
    if isinstance(cv, HoldOut):
        mask, _ = cv.choose(y, random_state)
        cv = [(~mask, mask)]
    splits = cv.split(X, y, **split_params) if hasattr(cv, "split") else cv
    folds = [
        (row_numbers(training, len(y)), row_numbers(held_out, len(y)))
        for training, held_out in splits
    ]
    n_classes = len(np.unique(y))
    is_whole = [len(np.unique(y[training])) == n_classes for training, _ in folds]
    if skips_incomplete and any(is_whole):
        return [fold for fold, is_kept in zip(folds, is_whole, strict=True) if is_kept]
    for number, is_kept in enumerate(is_whole, start=1):
        if not is_kept:
            raise ArgumentError(
                f"fold {number} of ",
                Argument("cv"),
                " trains without some of the classes. Use stratified folds, or a number of folds.",
            )
    if not folds:
        raise ArgumentError(Argument("cv", cv), " makes no folds.")
    return folds


def _deal_classes(y: NDArray[Any], n_folds: int, random_state: Any) -> list[Fold]:
    class_indices = np.unique(y, return_inverse=True)[1]
    counts = np.bincount(class_indices)
    n_folds = min(n_folds, int(counts.max()))
    if n_folds < 2:
        raise ArgumentError(
            "every class has only one sample, so nothing can be held out. Use more samples, or "
            "choose a scheme yourself."
        )
    generator = check_random_state(random_state)
    fold_of = np.empty(len(y), dtype=np.intp)
    first = 0
    for class_index, count in enumerate(counts):
        members = generator.permutation(np.flatnonzero(class_indices == class_index))
        # Each class starts where the previous one stopped, so that the folds have equal sizes.
        fold_of[members] = (first + np.arange(count)) % n_folds if count > 1 else -1
        first += int(count) if count > 1 else 0
    return [(np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k)) for k in range(n_folds)]


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
        """Return a runner's loss minus another's on their common folds, and its standard error."""
        n_folds = min(runner.n_folds, other.n_folds)
        losses = np.concatenate(runner.losses[:n_folds]) - np.concatenate(other.losses[:n_folds])
        weight = np.concatenate(self.weights[:n_folds])
        if len(losses) != len(weight):  # one loss per fold
            weight = np.ones(len(losses))
        mean = float(np.average(losses, weights=weight))
        spread = np.sqrt(np.sum((weight * (losses - mean)) ** 2))
        return mean, float(spread / weight.sum())

    def leader(self, runners: Sequence[Runner]) -> Runner:
        """Return the runner with the smallest loss; the first in a tie."""
        best = runners[0]
        for runner in runners[1:]:
            if self.gap(runner, best)[0] < 0:
                best = runner
        return best


def find_metric(name: str) -> Metric:
    """Return the metric with this name for the parameter ``scoring``, or raise ArgumentError.

    Examples
    --------
    >>> find_metric("accuracy").larger_is_better
    True
    """
    known = [each.name for each in METRICS.values() if each.needs_only_predictions]
    if not isinstance(name, str) or name not in known:
        raise ArgumentError(
            Argument("scoring"),
            f" must be one of {', '.join(known)}; got {name!r}.{did_you_mean(name, known)}",
        )
    return METRICS[name]


def run_race(
    candidates: Sequence[Candidate],
    setup: RaceSetup,
    folds: Sequence[Fold],
    metrics: Sequence[Metric],
    *,
    budget: float | None = None,
    is_lenient: bool = False,
    drops_losers: bool = True,
    progress: Progress | None = None,
    on_fold: Callable[[Race], None] | None = None,
) -> Race:
    """Measure candidates on folds, and drop those that can no longer win.

    Parameters
    ----------
    candidates : sequence of Candidate
    setup : RaceSetup
    folds : pairs of training and held-out rows; every training part has all classes
    metrics : metrics to measure; the first one decides
    budget : start no new fold after this many seconds
    is_lenient : whether to drop a candidate that cannot be used on this data, and note the
        reason; otherwise its error is raised
    drops_losers : whether to drop candidates that clearly lose
    progress : context manager that takes the number of partitions of a fold, such as `progress_bar`
    on_fold : called after each fold
    """
    deciding = metrics[0]
    have_probabilities = [each.gives_probabilities for each in candidates]
    if deciding.needs_probabilities and not any(have_probabilities):
        raise ArgumentError(
            Argument("scoring", deciding.name),
            " needs probabilities, but no candidate's solver gives them. Use ",
            Argument("scoring", "accuracy"),
            ".",
        )
    runners = [Runner(each, {metric.name: [] for metric in metrics}) for each in candidates]
    race = Race(runners, [], 0)
    weight = setup.sample_weight
    measurer = FoldMeasurer(setup)
    started = perf_counter()
    for number, (training_rows, held_out) in enumerate(folds, start=1):
        schemes = _make_schemes(runners, setup, training_rows, is_lenient=is_lenient)
        _run_fold(schemes, measurer, training_rows, held_out, metrics, progress)
        race.weights.append(weight[held_out])
        race.n_folds = number
        if on_fold is not None:
            on_fold(race)
        if number == len(folds):
            break
        if budget is not None and perf_counter() - started > budget:
            break
        if not drops_losers:
            continue
        _drop_losers(race)
        if len(race.survivors) == 1:
            break
    return race


def _make_schemes(
    runners: Sequence[Runner], setup: RaceSetup, rows: NDArray[np.intp], *, is_lenient: bool
) -> list[tuple[Runner, Scheme | SchemeEnsemble]]:
    """Return the remaining runners, each with its scheme for the training rows."""
    X, y = setup.samples(rows, rows), setup.y[rows]
    made = []
    # Candidates that differ only in parameters have the same scheme.
    known: dict[int, Scheme | SchemeEnsemble] = {}
    for runner in runners:
        if runner.reason:
            continue
        candidate = runner.candidate
        try:
            scheme = known.get(id(candidate.scheme))
            if scheme is None or candidate.estimator is None:
                scheme = known[id(candidate.scheme)] = scheme_from(
                    candidate.scheme,
                    setup.training.classes,
                    X=X,
                    y=y,
                    random_state=setup.training.random_state,
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
    measurer: FoldMeasurer,
    rows: NDArray[np.intp],
    held_out: NDArray[np.intp],
    metrics: Sequence[Metric],
    progress: Progress | None,
) -> None:
    """Train the schemes' binaries on some rows, and measure the runners on others."""
    setup = measurer.setup
    entries = [(runner.candidate, scheme) for runner, scheme in schemes]
    measured = measurer.measure(entries, rows, held_out, progress)
    truth, labels = setup.training.class_indices[held_out], setup.training.classes.tolist()
    weight = check_weights(setup.sample_weight[held_out], len(held_out))
    for (runner, _), each in zip(schemes, measured, strict=True):
        known = _PROBABILITIES if runner.candidate.gives_probabilities else _LABELS
        judged = JudgedSamples(truth, each.scores, weight, labels, each.winners, known)
        _note_scores(runner, judged, metrics)
        runner.predict_seconds.append(each.predict_seconds)
        runner.fit_seconds.append(each.fit_seconds)
        runner.n_binaries.append(each.n_binaries)
        runner.n_training_samples.append(each.n_training_samples)


def _note_scores(runner: Runner, judged: JudgedSamples, metrics: Sequence[Metric]) -> None:
    for metric in metrics:
        is_measured = metric.can_judge(judged)
        runner.scores[metric.name].append(metric.function(judged) if is_measured else np.nan)
    deciding = metrics[0]
    if not deciding.can_judge(judged):
        runner.reason = f'solver="{runner.candidate.solver}" does not give probabilities'
    if deciding.losses is not None:
        runner.losses.append(deciding.losses(judged))
    else:
        runner.losses.append(np.array([deciding.as_loss(runner.scores[deciding.name][-1])]))


def _drop_losers(race: Race) -> None:
    survivors = race.survivors
    best = race.leader(survivors)
    for runner in survivors:
        gap, error = race.gap(runner, best)
        n_values = sum(map(len, runner.losses))
        if runner is not best and n_values >= _LEAST_SAMPLES and gap > _CLEAR_LOSS * error:
            runner.reason = f"dropped after fold {race.n_folds} ({best.candidate.name} was better)"
