"""The race: candidates are measured on the same held-out folds, and losers are dropped.

In each fold, every dichotomy that occurs in several candidates with the same parameters is trained
once, and schemes made from data use only the training part. Support vector machines that differ
only in C are trained together, on one kernel matrix. If a solver needs only the scores of such
machines, nothing is calibrated, and all folds share the kernel matrix too.
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
from sklearn.svm import SVC
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
from polytomy.inputs.rows import group_rows, take_columns, take_rows
from polytomy.inputs.seeds import partition_seeds
from polytomy.learners.preparation import takes_pairwise_values
from polytomy.learners.problems import binary_problem
from polytomy.learners.svm.grid import KernelGrid
from polytomy.learners.svm.suitability import (
    UnsuitableError,
)
from polytomy.learners.workload import TrainingListener, TrainingOptions
from polytomy.metrics import METRICS, JudgedSamples, Metric
from polytomy.model.arrangement import check_solver
from polytomy.model.composition import Composition
from polytomy.model.fitting import TrainingPlan, fit_binaries, plan_training
from polytomy.model.scheme_argument import choose_final_calibration, members_of, scheme_from
from polytomy.scheme import Scheme, SchemeEnsemble
from polytomy.selection.candidates import Candidate
from polytomy.solvers import METHODS

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Entry = tuple[Candidate, Scheme | SchemeEnsemble]
Progress = Callable[[int], AbstractContextManager[TrainingListener]]


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


class Measurement(NamedTuple):
    """A candidate's predictions for held-out rows, and their cost.

    Attributes
    ----------
    scores : array of shape (n_held_out, n_classes), probabilities or other scores
    winners : array of int, the index of each predicted class
    fit_seconds, predict_seconds : float, as if this had been the only candidate
    n_binaries, n_training_samples : int
    """

    scores: Floats
    winners: NDArray[np.intp]
    fit_seconds: float
    predict_seconds: float
    n_binaries: int
    n_training_samples: int


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


@dataclass(slots=True, eq=False)
class FoldMeasurer:
    """Measures candidates on one fold after another.

    Attributes
    ----------
    setup : RaceSetup
    """

    setup: RaceSetup
    _grid: KernelGrid | UnsuitableError | None = field(init=False, default=None)

    def measure(
        self, entries: Sequence[Entry], rows: Rows, held_out: Rows, progress: Progress | None = None
    ) -> list[Measurement]:
        """Return the measurement of each candidate on held-out rows after training on others.

        Parameters
        ----------
        entries : candidates, each with its scheme for the training rows
        rows, held_out : rows of the data
        progress : context manager that takes the number of partitions of a fold
        """
        batches = [_Batch(self.setup, entries, *each) for each in self._divide(entries)]
        bar: AbstractContextManager[TrainingListener | None] = nullcontext(None)
        if progress is not None:
            bar = progress(sum(batch.n_to_train for batch in batches))
        measured: dict[int, Measurement] = {}
        with bar as listener:
            listener = TrainingListener() if listener is None else listener
            for batch in batches:
                found = None
                if not batch.is_calibrated:
                    found = batch.measure_on_grid(self._kernel_grid(), rows, held_out, listener)
                measured |= found or batch.measure(rows, held_out, listener)
        return [measured[k] for k in range(len(entries))]

    def _divide(self, entries: Sequence[Entry]) -> list[tuple[list[int], bool]]:
        """Return which entries are trained together, and whether they are calibrated."""
        calibration = self.setup.training.calibration
        batches: dict[tuple[Any, bool], list[int]] = {}
        for k, (candidate, _) in enumerate(entries):
            is_calibrated = not is_trained_without_calibration(candidate, calibration)
            key = _family_of(candidate.estimator), is_calibrated
            batches.setdefault(key, []).append(k)
        return [(positions, key[1]) for key, positions in batches.items()]

    def _kernel_grid(self) -> KernelGrid | None:
        """Return the kernel matrices of all the data, or None if they cannot be used."""
        if self._grid is None:
            training = self.setup.training
            try:
                self._grid = KernelGrid(
                    self.setup.X,
                    training.class_indices,
                    training.memory_budget,
                    training.n_jobs,
                )
            except UnsuitableError as reason:
                self._grid = reason
        return None if isinstance(self._grid, UnsuitableError) else self._grid


def _family_of(estimator: Any) -> Any:
    """Return a key that is the same for estimators that are trained together."""
    if type(estimator) is not SVC:
        return id(estimator)
    params = estimator.get_params()
    return tuple((name, repr(params[name])) for name in sorted(params) if name != "C")


class _Batch:
    """Candidates that are trained together, on one fold."""

    def __init__(
        self, setup: RaceSetup, entries: Sequence[Entry], positions: list[int], is_calibrated: bool
    ) -> None:
        self._setup = setup
        self._entries = {k: entries[k] for k in positions}
        self.is_calibrated = is_calibrated
        estimators = {id(each.estimator): each.estimator for each, _ in self._entries.values()}
        self._points = [
            _Point(
                setup,
                setup.estimator if estimator is None else estimator,
                {k: own for k, own in self._entries.items() if own[0].estimator is estimator},
            )
            for estimator in estimators.values()
        ]

    @property
    def n_to_train(self) -> int:
        """Number of binaries to train."""
        return sum(
            dichotomy.trained is None
            for point in self._points
            for dichotomy in point.plan.dichotomies
        )

    def measure(
        self, rows: Rows, held_out: Rows, listener: TrainingListener
    ) -> dict[int, Measurement]:
        """Train all binaries, and return the measurement of each candidate by its position."""
        setup, training = self._setup, self._setup.training
        options = self._options(rows)
        dichotomies = [each for point in self._points for each in point.plan.dichotomies]
        # All parameters have the same seeds, as if each of them had been tried alone.
        numbers = [len(point.plan.dichotomies) for point in self._points]
        seeds = partition_seeds(options.random_state, max(numbers))
        trained = fit_binaries(
            dichotomies,
            setup.samples(rows, rows),
            options,
            listener,
            seeds=[seed for n in numbers for seed in seeds[:n]],
        )
        X = setup.samples(held_out, rows)
        measured = {}
        first = 0
        for point, n_own in zip(self._points, numbers, strict=True):
            sizes = point.sizes(rows)
            for number, (k, (candidate, _)) in enumerate(point.entries.items()):
                columns = point.plan.columns_of(number)
                own = trained.take([first + column for column in columns])
                final = training.final_calibration
                own = own.with_final_calibration(choose_final_calibration(candidate.scheme, final))
                started = perf_counter()
                composition = point.plan.only(number).compose(own, candidate.solver)
                calibrating = perf_counter() - started
                seconds, scores = _time_scores(composition, X)
                measured[k] = Measurement(
                    scores,
                    composition.winners(scores),
                    own.seconds + calibrating,
                    seconds,
                    sum(point.plan.dichotomies[column].is_counted for column in columns),
                    int(sum(sizes[column] for column in columns)),
                )
            first += n_own
        return measured

    def measure_on_grid(
        self, grid: KernelGrid | None, rows: Rows, held_out: Rows, listener: TrainingListener
    ) -> dict[int, Measurement] | None:
        """Return the same from kernel matrices of all the data, or None if that is not possible."""
        options = self._options(rows)
        if grid is None or options.arguments.fit_params or options.arguments_by_model:
            return None
        # All values of C use the binaries of the first, so that they are trained together.
        schemes = list({id(scheme): scheme for _, scheme in self._entries.values()}.values())
        setup, training = self._setup, self._setup.training
        svc = self._points[0].estimator
        plan = plan_training(schemes, training.classes, svc, setup.models)
        if any(each.estimator is not svc or each.whole for each in plan.dichotomies):
            return None
        rows_of_class = group_rows(training.class_indices[rows], len(training.classes))
        problems = [
            binary_problem(rows_of_class, each.negative, each.positive, name=each.name)
            for each in plan.dichotomies
        ]
        try:
            found = grid.score_held_out(
                [point.estimator for point in self._points], problems, rows, held_out, options
            )
        except UnsuitableError:
            return None
        sizes = np.array([problem.n_samples for problem in problems])
        number_of = {id(scheme): number for number, scheme in enumerate(schemes)}
        measured = {}
        for point, values in zip(self._points, found.values, strict=True):
            answers = np.tanh(values / 2)  # the answers of binaries that are not calibrated
            for k, (candidate, scheme) in point.entries.items():
                number = number_of[id(scheme)]
                columns = plan.columns_of(number)
                started = perf_counter()
                solved = [
                    each.solve(answers, candidate.solver) for each in plan.arrangements[number]
                ]
                scores = np.mean(solved, axis=0) if len(solved) > 1 else solved[0]
                seconds = perf_counter() - started
                measured[k] = Measurement(
                    scores,
                    np.argmax(scores, axis=1),
                    float(found.fit_seconds[columns].sum()),
                    float(found.predict_seconds[columns].sum()) + seconds,
                    len(columns),
                    int(sizes[columns].sum()),
                )
            for problem in problems:
                listener.trained(problem.name)
        return measured

    def _options(self, rows: Rows) -> TrainingOptions:
        options = self._setup.training.take(rows)
        if self.is_calibrated:
            return options
        return replace(options, calibration=None, final_calibration=None)


@dataclass(eq=False)
class _Point:
    """The candidates of a batch that have the same parameters."""

    setup: RaceSetup
    estimator: Any
    entries: dict[int, Entry]

    @cached_property
    def plan(self) -> TrainingPlan:
        """The dichotomies that their schemes need."""
        schemes = [scheme for _, scheme in self.entries.values()]
        setup = self.setup
        return plan_training(schemes, setup.training.classes, self.estimator, setup.models)

    def sizes(self, rows: Rows) -> list[int]:
        """Return the number of training samples of each dichotomy; zero for a further side."""
        training = self.setup.training
        counts = np.bincount(training.class_indices[rows], minlength=len(training.classes))
        return [
            sum(int(counts[k]) for k in (*each.negative, *each.positive)) if each.is_counted else 0
            for each in self.plan.dichotomies
        ]


def _time_scores(composition: Composition, X: Any) -> tuple[float, Floats]:
    """Return the prediction time in seconds, and the scores of the classes."""
    composition.scores(take_rows(X, np.arange(1)))  # compiles routines and sets up the bank
    started = perf_counter()
    scores = composition.scores(X)
    return perf_counter() - started, scores


# -- The race: candidates are measured on the same held-out folds, and losers are dropped --


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
