"""Training candidates on some rows and measuring them on others.

Every dichotomy that occurs in several candidates with the same parameters is trained once. Support
vector machines that differ only in C are trained together, on one kernel matrix. If a solver needs
only the scores of such machines, nothing is calibrated, and all folds share the kernel matrix too.
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
from polytomy.model.composition import Composition
from polytomy.model.fitting import TrainingPlan, fit_binaries, plan_training
from polytomy.model.scheme_argument import choose_final_calibration
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
