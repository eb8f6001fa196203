"""The race: candidates are measured on the same held-out folds, and losers are dropped.

In each fold, every dichotomy that occurs in several candidates with the same parameters is trained
once, and schemes made from data use only the training part. Support vector machines that differ
only in C are trained together, on one kernel matrix, starting from the solution for a smaller C. If
a solver needs only the scores of such machines, nothing is calibrated, and all folds share the
kernel matrix too. By accuracy, calibrated candidates are first screened by such votes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from polytomy.calibration.folds import (
    HoldOut,
    RoutedSplitter,
    check_folds,
    choose_folds,
    row_numbers,
)
from polytomy.errors import Argument, ArgumentError, PolytomyError, warn_caller
from polytomy.inputs.arguments import Parameter
from polytomy.inputs.numbers import check_weights
from polytomy.inputs.rows import group_rows, take_columns, take_rows
from polytomy.inputs.seeds import partition_seeds
from polytomy.learners.preparation import takes_pairwise_values
from polytomy.learners.problems import binary_problem, count_models
from polytomy.learners.svm.grid import KernelGrid
from polytomy.learners.svm.suitability import (
    UnsuitableError,
    family_of,
)
from polytomy.learners.workload import TrainingListener, TrainingOptions
from polytomy.metrics import METRICS, JudgedSamples, Metric
from polytomy.metrics.scores import HEADLINE
from polytomy.model.arrangement import check_solver, facts_from, resolve_solvers
from polytomy.model.composition import Composition
from polytomy.model.fitting import TrainingPlan, fit_binaries, plan_training
from polytomy.model.scheme_argument import members_of, scheme_from
from polytomy.scheme import Scheme, SchemeEnsemble
from polytomy.selection.candidates import Candidate, describe_error
from polytomy.solvers import METHODS

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Progress = Callable[[int], AbstractContextManager[TrainingListener]]
Fold = tuple[Rows, Rows]
"""The rows to train on, and the held-out rows."""

# A candidate is dropped when it loses to the best by this many standard errors of the difference,
# which happens by chance once in seven hundred times.
_CLEAR_LOSS = 3.0
# With fewer samples than this, no candidate is dropped.
_LEAST_SAMPLES = 30


def comparison_folds(
    cv: Any,
    X: Any,
    y: NDArray[Any],
    random_state: Any = None,
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
    for number, (training, _) in enumerate(folds, start=1):
        if len(np.unique(y[training])) < n_classes:
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


@dataclass(frozen=True, slots=True, eq=False)
class RaceSetup:
    """What all candidates of a race have in common: the data, and how binaries are trained.

    Attributes
    ----------
    X, y : the data, checked
    estimator : the two-class estimator
    training : TrainingOptions, for all rows
    models, class_order : as in the classifier; there is no warning if a candidate needs an order
    """

    X: Any
    y: NDArray[Any]
    estimator: Any
    training: TrainingOptions
    models: Mapping[str, Any] | None = None
    class_order: Sequence[Any] | None = None

    @property
    def sample_weight(self) -> Floats:
        """The weight of each sample; ones if there are none."""
        return check_weights(self.training.arguments.given_weight, len(self.y))

    def samples(self, rows: Rows, training_rows: Rows) -> Any:
        """Return some samples; for a kernel matrix, with the columns of the training samples."""
        X = take_rows(self.X, rows)
        return take_columns(X, training_rows) if takes_pairwise_values(self.estimator) else X


class FoldResult(NamedTuple):
    """What a candidate did on one fold.

    Attributes
    ----------
    scores : the value of each metric by name; NaN where it does not apply
    losses : the losses to compare with other candidates: one per sample, or one for the fold
    weight : the weight of each loss
    fit_seconds, predict_seconds : float, as if this had been the only candidate
    n_binaries, n_training_samples : int, of its scheme
    probabilities : array of shape (n_held_out, n_classes), if they are kept for a pool
    """

    scores: Mapping[str, float]
    losses: Floats
    weight: Floats
    fit_seconds: float
    predict_seconds: float
    n_binaries: int
    n_training_samples: int
    probabilities: Any = None


@dataclass(eq=False)
class Runner:
    """A candidate and its results so far.

    Attributes
    ----------
    candidate : Candidate
    folds : what it did on each fold
    reason : why it was dropped; empty if it was not
    error : the error of its training or prediction, if it failed
    stand_ins : what its votes did on each fold, without calibration, if it was screened
    """

    candidate: Candidate
    folds: list[FoldResult] = field(default_factory=list)
    reason: str = ""
    error: Exception | None = None
    stand_ins: list[FoldResult] = field(default_factory=list)

    @property
    def n_folds(self) -> int:
        """Number of folds it was measured on."""
        return len(self.folds)

    @property
    def is_measured(self) -> bool:
        """Whether it has a loss that can be compared with others."""
        return bool(self.folds) and all(np.isfinite(each.losses).all() for each in self.folds)


Entry = tuple[Runner, Scheme | SchemeEnsemble]


@dataclass
class Race:
    """The result of a race: the runners, in the order of the candidates."""

    runners: list[Runner]

    @property
    def n_folds(self) -> int:
        """Number of folds that were run."""
        return max(runner.n_folds for runner in self.runners)

    @property
    def survivors(self) -> list[Runner]:
        """The runners that were measured on every fold and can still win."""
        return [runner for runner in self.runners if not runner.reason]

    def gap(self, runner: Runner, other: Runner) -> tuple[float, float]:
        """Return a runner's loss minus another's on their common folds, and its standard error."""
        common = list(zip(runner.folds, other.folds, strict=False))
        losses = np.concatenate([one.losses - two.losses for one, two in common])
        weight = np.concatenate([one.weight for one, _ in common])
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
    known = tuple(each.name for each in METRICS.values() if each.needs_only_predictions)
    Parameter("scoring", choices=known).check(name)
    return METRICS[name]


def run_race(
    candidates: Sequence[Candidate],
    setup: RaceSetup,
    folds: Sequence[Fold],
    metrics: Sequence[Metric],
    *,
    budget: float | None = None,
    is_lenient: bool = False,
    raises_failures: bool = False,
    drops_losers: bool = True,
    n_members: int = 1,
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
    raises_failures : whether to raise the error of a candidate whose training or prediction fails;
        otherwise it is left out with a warning
    drops_losers : whether to drop candidates that clearly lose
    n_members : number of candidates to choose for a pool; so many are never dropped as losers, and
        the probabilities of held-out samples are kept
    progress : context manager that takes the number of partitions of a fold, such as `progress_bar`
    on_fold : called after each fold
    """
    deciding = metrics[0]
    if n_members > 1:
        _check_members(candidates, n_members)
    if deciding.needs_probabilities and not any(each.gives_probabilities for each in candidates):
        raise ArgumentError(
            Argument("scoring", deciding.name),
            " needs probabilities, but no candidate's solver gives them. Use ",
            Argument("scoring", HEADLINE),
            ".",
        )
    race = Race([Runner(each) for each in candidates])
    measurer = FoldMeasurer(setup, metrics, keeps_probabilities=n_members > 1)
    started = perf_counter()
    if drops_losers and budget is None:
        _screen(race, measurer, folds, n_members, progress)
    is_screened = any(runner.stand_ins for runner in race.runners)
    for number, (rows, held_out) in enumerate(folds, start=1):
        entries = make_schemes(race.survivors, setup, rows, is_lenient=is_lenient)
        if not entries:
            first = race.runners[0]
            raise ArgumentError(
                "no candidate can be used on this data. The first of the ",
                Argument("candidates"),
                f", {first.candidate.name!r}: {first.reason}",
            )
        measurer.measure(entries, rows, held_out, progress)
        _leave_out_failures(race, number, raises_failures=raises_failures)
        for runner in race.survivors:
            if deciding.needs_probabilities and not runner.candidate.gives_probabilities:
                runner.reason = f'solver="{runner.candidate.solver}" does not give probabilities'
        if on_fold is not None:
            on_fold(race)
        if number == len(folds):
            break
        if budget is not None and perf_counter() - started > budget:
            break
        if not drops_losers:
            continue
        _drop_losers(race, n_members)
        if len(race.survivors) == 1 and not is_screened:
            break
    return race


def _check_members(candidates: Sequence[Candidate], n_members: int) -> None:
    """Raise an ArgumentError if a candidate cannot be a member of a pool."""
    for each in candidates:
        if not each.gives_probabilities:
            raise ArgumentError(
                Argument("pool", n_members),
                f" combines probabilities, and the solver of {each.name!r}, ",
                f'"{each.solver}", gives none. Leave it out, or use another solver.',
            )


def _leave_out_failures(race: Race, number: int, *, raises_failures: bool) -> None:
    """Give runners that failed in a fold their reason, with a warning.

    If none is left, the first error is raised: usually, they all failed for the same reason.
    """
    failed = [runner for runner in race.survivors if runner.error is not None]
    for runner in failed:
        assert runner.error is not None
        if raises_failures:
            raise runner.candidate.refused(runner.error) from runner.error
        runner.reason = f"failed in fold {number}: {describe_error(runner.error)}"
    if failed and not race.survivors:
        error = failed[0].error
        assert error is not None
        error.add_note(
            f"Every candidate failed. This is the error of {failed[0].candidate.name!r}."
        )
        raise error
    warn_of_failures([(runner.candidate, runner.reason) for runner in failed])


def warn_of_failures(failures: Sequence[tuple[Candidate, str]]) -> None:
    """Warn that candidates are left out because their training or prediction fails."""
    if not failures:
        return
    (first, reason), *more = failures
    names = ", ".join(repr(candidate.name) for candidate, _ in more)
    also = f". Also left out: {names}" if names else ""
    text = f"candidate {first.name!r} is left out: it {reason.removesuffix('.')}{also}."
    warn_caller(text, FitFailedWarning)


def _screen(
    race: Race,
    measurer: FoldMeasurer,
    folds: Sequence[Fold],
    n_members: int,
    progress: Progress | None,
) -> None:
    """Count the votes of one-vs-one candidates on all folds, and drop clear losers.

    They differ only in the parameters of a support vector machine, and votes need no calibration,
    so all folds share their kernel matrices. On 13 datasets, 54 of 56 such searches chose the same
    candidate as without votes. With the candidates' own solvers instead, some lost much accuracy.
    """
    screener = replace(measurer, metrics=measurer.metrics[:1], is_screening=True)
    for rows, held_out in folds:
        runners = [each for each in race.survivors if screener.can_screen(each.candidate)]
        if len(runners) <= n_members:
            return
        stand_ins = [Runner(each.candidate._replace(solver="hamming")) for each in runners]
        entries = make_schemes(stand_ins, measurer.setup, rows, is_lenient=True)
        screener.measure(entries, rows, held_out, progress)
        if not all(each.is_measured for each in stand_ins):
            return
        for runner, each in zip(runners, stand_ins, strict=True):
            runner.stand_ins += each.folds
        _drop_losers(race, n_members)


def _drop_losers(race: Race, n_members: int) -> None:
    """Drop runners that clearly lose, also with stand-ins for the folds to come."""
    n_folds = race.n_folds
    by_votes = "dropped before fold 1 ({} had more votes right)"
    if n_folds:
        runners = race.survivors
        _drop(runners, runners, n_members, f"dropped after fold {n_folds} ({{}} was better)")
        by_votes = f"dropped after fold {n_folds} ({{}} was better, with votes for later folds)"
    by_solver: dict[Any, list[Runner]] = {}
    for runner in race.survivors:
        if len(runner.stand_ins) > n_folds:
            by_solver.setdefault(runner.candidate.solver, []).append(runner)
    for runners in by_solver.values():
        _drop(
            runners,
            [replace(each, folds=each.folds + each.stand_ins[n_folds:]) for each in runners],
            n_members,
            by_votes,
        )


def _drop(runners: Sequence[Runner], judged: Sequence[Runner], n_members: int, reason: str) -> None:
    """Drop the runners whose judged losses are clearly larger, but never the best members."""
    race = Race(list(judged))
    best = race.leader(judged)
    gaps = [race.gap(each, best) for each in judged]
    for k in np.argsort([gap for gap, _ in gaps], kind="stable")[n_members:]:
        gap, error = gaps[k]
        n_values = sum(len(each.losses) for each in judged[k].folds)
        if n_values >= _LEAST_SAMPLES and gap > _CLEAR_LOSS * error:
            runners[k].reason = reason.format(best.candidate.name)


def make_schemes(
    runners: Sequence[Runner], setup: RaceSetup, rows: Rows, *, is_lenient: bool
) -> list[Entry]:
    """Return the runners, each with its scheme for some rows, without those that cannot be used."""
    X, y = setup.samples(rows, rows), setup.y[rows]
    entries = []
    # Candidates that differ only in parameters have the same scheme.
    known: dict[int, Scheme | SchemeEnsemble] = {}
    for runner in runners:
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
                    max_sides=setup.training.max_sides,
                )
            for member in members_of(scheme):
                check_solver(member, candidate.solver)
        except PolytomyError as error:
            if not is_lenient:
                raise candidate.refused(error) from error
            runner.reason = str(error)
        else:
            entries.append((runner, scheme))
    return entries


# -- measuring -------------------------------------------------------------------------------------


def is_trained_without_calibration(candidate: Candidate, calibration: Any) -> bool:
    """Return whether the binaries of a candidate in a grid of parameters are not calibrated.

    Votes use only the sign of a score, as in SVC, so they need no calibration unless it is
    requested by name.

    Parameters
    ----------
    candidate : Candidate
    calibration : the parameter of the classifier

    Examples
    --------
    >>> votes = Candidate("pairs, C=1", "one-vs-one", "hamming", {"C": 1}, SVC(C=1), "pairs")
    >>> [is_trained_without_calibration(votes, each) for each in ("auto", "sigmoid")]
    [True, False]
    """
    if candidate.estimator is None or candidate.gives_probabilities:
        return False
    is_automatic = isinstance(calibration, str) and calibration == "auto"
    uses_only_signs = (
        isinstance(candidate.solver, str) and METHODS[candidate.solver].uses_only_signs
    )
    return calibration is None or (is_automatic and uses_only_signs)


def configure(classifier: Any, candidate: Candidate) -> Any:
    """Return the classifier that a candidate stands for, with the parameters that were scored.

    Parameters
    ----------
    classifier : unfitted PolytomyClassifier, with the parameters that all candidates share
    candidate : Candidate
    """
    configured = clone(classifier).set_params(scheme=candidate.scheme, solver=candidate.solver)
    if candidate.estimator is not None:
        configured.set_params(estimator=clone(candidate.estimator))
    if is_trained_without_calibration(candidate, classifier.calibration):
        configured.set_params(calibration=None)
    return configured


@dataclass(eq=False)
class FoldMeasurer:
    """Measures candidates on one fold after another.

    Attributes
    ----------
    setup : RaceSetup
    metrics : metrics to measure; the first one decides
    keeps_probabilities : whether results keep the probabilities of held-out samples
    is_screening : whether the votes of candidates are measured, without calibration
    """

    setup: RaceSetup
    metrics: Sequence[Metric]
    keeps_probabilities: bool = False
    is_screening: bool = False

    def can_screen(self, candidate: Candidate) -> bool:
        """Return whether a calibrated candidate has votes from shared kernel matrices."""
        calibration = self.setup.training.calibration
        return (
            self.metrics[0].name == "accuracy"
            and isinstance(candidate.scheme, str)
            and candidate.scheme == "one-vs-one"
            and type(candidate.estimator) is SVC
            and isinstance(calibration, str)
            and not is_trained_without_calibration(candidate, calibration)
            and self.kernel_grid is not None
        )

    def measure(
        self, entries: Sequence[Entry], rows: Rows, held_out: Rows, progress: Progress | None = None
    ) -> None:
        """Add the results on held-out rows, after training on others, to the runners.

        Parameters
        ----------
        entries : runners, each with its scheme for the training rows
        rows, held_out : rows of the data
        progress : context manager that takes the number of partitions of a fold
        """
        training = self.setup.training.take(rows)
        together: dict[Any, tuple[TrainingOptions, list[Entry]]] = {}
        for entry in entries:
            candidate = entry[0].candidate
            estimator = candidate.estimator
            options = replace(training, wants_probabilities=True)
            if self.is_screening or is_trained_without_calibration(candidate, training.calibration):
                options = replace(training, calibration=None, final_calibration=None)
            key = (
                family_of(estimator) if type(estimator) is SVC else id(estimator),
                options.calibration is None,
                id(options.final_calibration),
            )
            together.setdefault(key, (options, []))[1].append(entry)
        batches = [
            _Batch(self, rows, held_out, options, self._divide(own))
            for options, own in together.values()
        ]
        bar: AbstractContextManager[TrainingListener | None] = nullcontext(None)
        if progress is not None:
            bar = progress(sum(batch.n_to_train for batch in batches))
        with bar as listener:
            for batch in batches:
                self._measure(batch, TrainingListener() if listener is None else listener)

    def _measure(self, batch: _Batch, listener: TrainingListener) -> None:
        """Measure the candidates of a batch; if they fail, one by one, noting the errors."""
        entries = [entry for point in batch.points for entry in point.entries]
        n_before = [runner.n_folds for runner, _ in entries]
        try:
            batch.measure(listener)
        except Exception as error:
            if len(entries) == 1:
                entries[0][0].error = error
                return
            for entry, n_folds in zip(entries, n_before, strict=True):
                if entry[0].n_folds == n_folds:
                    self._measure(replace(batch, points=self._divide([entry])), listener)

    def _divide(self, entries: Sequence[Entry]) -> list[_Point]:
        """Return the entries by their parameters, each with the dichotomies that it needs."""
        setup = self.setup
        by_estimator: dict[int, list[Entry]] = {}
        for entry in entries:
            by_estimator.setdefault(id(entry[0].candidate.estimator), []).append(entry)
        points = []
        for own in by_estimator.values():
            estimator = own[0][0].candidate.estimator
            estimator = setup.estimator if estimator is None else estimator
            schemes = [scheme for _, scheme in own]
            plan = plan_training(schemes, setup.training.classes, estimator, setup.models)
            points.append(_Point(estimator, own, plan))
        return points

    @cached_property
    def kernel_grid(self) -> KernelGrid | None:
        """The kernel matrices of all the data, or None if they cannot be used."""
        X, training = self.setup.X, self.setup.training
        try:
            return KernelGrid(X, training.class_indices, training.memory_budget, training.n_jobs)
        except UnsuitableError:
            return None

    def judge(
        self, candidate: Candidate, held_out: Rows, scores: Floats, winners: NDArray[np.intp]
    ) -> tuple[dict[str, float], Floats, Floats]:
        """Return the value of each metric, the losses to compare, and their weights."""
        training = self.setup.training
        weight = check_weights(self.setup.sample_weight[held_out], len(held_out))
        truth, labels = training.class_indices[held_out], training.classes.tolist()
        known = facts_from(candidate.solver)
        judged = JudgedSamples(truth, scores, weight, labels, winners, known)
        values = {
            each.name: each.function(judged) if each.can_judge(judged) else np.nan
            for each in self.metrics
        }
        deciding = self.metrics[0]
        if deciding.losses is None:
            return values, np.array([deciding.as_loss(values[deciding.name])]), np.ones(1)
        return values, deciding.losses(judged), weight


class _Point(NamedTuple):
    """Candidates of a batch that have the same parameters, and the dichotomies that they need."""

    estimator: Any
    entries: list[Entry]
    plan: TrainingPlan


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Candidates that are trained together, on one fold."""

    measurer: FoldMeasurer
    rows: Rows
    held_out: Rows
    options: TrainingOptions
    points: list[_Point]

    @property
    def n_to_train(self) -> int:
        """Number of models to train."""
        return sum(count_models(point.plan.dichotomies) for point in self.points)

    def measure(self, listener: TrainingListener) -> None:
        """Train all binaries, and add the results of each candidate to its runner."""
        is_on_grid = self.options.calibration is None and self._measure_on_grid(listener)
        if not is_on_grid and not self.measurer.is_screening:
            self._measure(listener)

    def _measure(self, listener: TrainingListener) -> None:
        setup, options = self.measurer.setup, self.options
        dichotomies = [each for point in self.points for each in point.plan.dichotomies]
        # All parameters have the same seeds, as if each of them had been tried alone.
        numbers = [len(point.plan.dichotomies) for point in self.points]
        seeds = partition_seeds(options.random_state, max(numbers))
        trained = fit_binaries(
            dichotomies,
            setup.samples(self.rows, self.rows),
            options,
            listener,
            seeds=[seed for n in numbers for seed in seeds[:n]],
        )
        X = setup.samples(self.held_out, self.rows)
        first = 0
        for point, n_own in zip(self.points, numbers, strict=True):
            for number, (runner, _) in enumerate(point.entries):
                candidate, columns = runner.candidate, point.plan.columns_of(number)
                own = trained.take([first + column for column in columns])
                started = perf_counter()
                composition = point.plan.only(number).compose(own, candidate.solver)
                fit_seconds = own.seconds + perf_counter() - started
                predict_seconds, scores = _time_scores(composition, X)
                winners = composition.winners(scores)
                self._note(
                    runner, point.plan, columns, scores, winners, fit_seconds, predict_seconds
                )
            first += n_own

    def _measure_on_grid(self, listener: TrainingListener) -> bool:
        """Do the same with kernel matrices of all the data; return whether that is possible."""
        options = self.options
        grid = self.measurer.kernel_grid
        if grid is None or options.arguments.names or options.arguments_by_model:
            return False
        # All values of C use the binaries of the first, so that they are trained together.
        entries = [entry for point in self.points for entry in point.entries]
        schemes = list({id(scheme): scheme for _, scheme in entries}.values())
        setup, training = self.measurer.setup, self.measurer.setup.training
        svc = self.points[0].estimator
        plan = plan_training(schemes, training.classes, svc, setup.models)
        if any(each.estimator is not svc or not each.is_binary for each in plan.dichotomies):
            return False
        rows_of_class = group_rows(training.class_indices[self.rows], len(training.classes))
        problems = [
            binary_problem(rows_of_class, each.negative, each.positive, name=each.name)
            for each in plan.dichotomies
        ]
        svcs = [point.estimator for point in self.points]
        try:
            found = grid.score_held_out(svcs, problems, self.rows, self.held_out, options)
        except UnsuitableError:
            return False
        number_of = {id(scheme): number for number, scheme in enumerate(schemes)}
        for point, values in zip(self.points, found.values, strict=True):
            answers = np.tanh(values / 2)  # the answers of binaries that are not calibrated
            for runner, scheme in point.entries:
                number = number_of[id(scheme)]
                columns = plan.columns_of(number)
                solvers = resolve_solvers(runner.candidate.solver, scheme, is_calibrated=False)
                started = perf_counter()
                members = zip(plan.arrangements[number], solvers, strict=True)
                solved = [each.solve(answers, solver) for each, solver in members]
                scores = np.mean(solved, axis=0) if len(solved) > 1 else solved[0]
                predict_seconds = perf_counter() - started + found.predict_seconds[columns].sum()
                fit_seconds = found.fit_seconds[columns].sum()
                winners = np.argmax(scores, axis=1)
                self._note(runner, plan, columns, scores, winners, fit_seconds, predict_seconds)
            for problem in problems:
                listener.trained(problem.name)
        return True

    def _note(
        self,
        runner: Runner,
        plan: TrainingPlan,
        columns: Sequence[int],
        scores: Floats,
        winners: NDArray[np.intp],
        fit_seconds: float,
        predict_seconds: float,
    ) -> None:
        """Add the result of a candidate, whose binaries are some columns of a plan."""
        judged = self.measurer.judge(runner.candidate, self.held_out, scores, winners)
        n_samples = count_samples(plan, columns, self.measurer.setup.training, self.rows)
        n_binaries = sum(plan.dichotomies[column].is_counted for column in columns)
        runner.folds.append(
            FoldResult(
                *judged,
                float(fit_seconds),
                float(predict_seconds),
                n_binaries,
                n_samples,
                scores if self.measurer.keeps_probabilities else None,
            )
        )


def count_samples(
    plan: TrainingPlan, columns: Sequence[int], training: TrainingOptions, rows: Rows | slice
) -> int:
    """Return how many samples the binaries in some columns of a plan are trained on, in total.

    Further sides of a partition do not count.
    """
    counts = np.bincount(training.class_indices[rows], minlength=len(training.classes))
    dichotomies = [plan.dichotomies[column] for column in columns]
    return sum(
        int(counts[[*each.negative, *each.positive]].sum())
        for each in dichotomies
        if each.is_counted
    )


def _time_scores(composition: Composition, X: Any) -> tuple[float, Floats]:
    """Return the prediction time in seconds, and the scores of the classes."""
    composition.scores(take_rows(X, np.arange(1)))  # compiles routines and sets up the bank
    started = perf_counter()
    scores = composition.scores(X)
    return perf_counter() - started, scores
