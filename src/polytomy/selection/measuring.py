"""What candidates do on one fold: their binaries are trained together, and judged on held-out rows.

Every dichotomy that occurs in several candidates with the same parameters is trained once. Support
vector machines that differ only in C are trained together, on one kernel matrix, starting from the
solution for a smaller C. If a solver needs only the scores of such machines, nothing is calibrated,
and all folds share the kernel matrix too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.svm import SVC

from polytomy.inputs.numbers import check_weights
from polytomy.inputs.rows import group_rows, take_rows
from polytomy.inputs.seeds import borrow_generator, partition_seeds
from polytomy.learners.problems import binary_problem, count_models
from polytomy.learners.svm.grid import KernelGrid
from polytomy.learners.svm.suitability import UnsuitableError, family_of
from polytomy.learners.workload import TrainingListener, TrainingOptions
from polytomy.metrics import JudgedSamples, Metric
from polytomy.model.arrangement import facts_from, resolve_solvers
from polytomy.model.composition import Composition
from polytomy.model.fitting import TrainedBinaries, TrainingPlan, fit_binaries, plan_training
from polytomy.model.out_of_fold import MOST_SCORES, calibration_weights, find_fold_rule
from polytomy.model.scheme_argument import needs_data
from polytomy.routines.threads import one_blas_thread, run_tasks
from polytomy.selection.candidates import Candidate, is_trained_without_calibration
from polytomy.selection.runners import (
    Entry,
    Floats,
    Fold,
    FoldResult,
    RaceSetup,
    Rows,
    Runner,
    is_clear_loss,
    mean_and_error,
)

Progress = Callable[[int], AbstractContextManager[TrainingListener]]

# Most out-of-fold scores of candidates that are trained together, which takes up to thirty bytes
# for each: a gigabyte.
_MOST_TOGETHER = 2**25
# Most out-of-fold scores of candidates that wait for others, so that they need not be calibrated if
# these have clearly more votes right: a quarter of a gigabyte.
_MOST_WAITING = 2**26
# With fewer folds, calibrations would be learnt from the scores of too few models.
_FEWEST_FOLDS = 3


@dataclass(eq=False)
class FoldMeasurer:
    """Measures candidates on one fold after another.

    Attributes
    ----------
    setup : RaceSetup
    metrics : metrics to measure; the first one decides
    keeps_probabilities : whether results keep the probabilities of held-out samples
    drops_losers : whether candidates whose votes clearly lose are not calibrated
    """

    setup: RaceSetup
    metrics: Sequence[Metric]
    keeps_probabilities: bool = False
    drops_losers: bool = False
    _most_votes: tuple[str, Floats] | None = field(init=False, default=None)

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
        training = replace(self.setup.training.take(rows), keep_out_of_fold=False)
        self._measure_all(entries, rows, [held_out], training, progress)

    def measure_folds(
        self, entries: Sequence[Entry], folds: Sequence[Fold], progress: Progress | None = None
    ) -> None:
        """Add the results on all folds, which are those of the calibrations, too.

        A candidate is trained once, as a classifier on all rows is, and judged by its out-of-fold
        probabilities. A runner gets no results if its calibration cannot be learnt from the folds.

        Parameters
        ----------
        entries : runners, each with its scheme for all rows
        folds : pairs of training and held-out rows, as `shares_folds` wants them
        progress : see `measure`
        """
        cv = self.calibration_folds(folds)
        training = replace(self.setup.training, cv=cv, keep_out_of_fold=True)
        if not isinstance(training.random_state, int | np.integer):
            # All candidates are judged on the same rows, if these are a random part of all.
            seed = int(borrow_generator(training.random_state).randint(np.iinfo(np.int32).max))
            training = replace(training, random_state=seed)
        every = [each for point in self._divide(entries) for each in point.plan.dichotomies]
        rule = find_fold_rule(every, len(training.classes), training)
        if rule is None or rule.final_calibration is None or rule.enough_rows is not None:
            return
        if not all(
            type(each.estimator) is SVC and each.is_binary and each.trained is None
            for each in every
        ):
            return
        held_out = [rows for _, rows in folds]
        self._measure_all(entries, np.arange(len(self.setup.y)), held_out, training, progress)

    def calibration_folds(self, folds: Sequence[Fold]) -> list[Fold]:
        """Return the folds for calibrations: the first holds out the only samples of classes, too.

        Otherwise calibrators would learn from samples of one side.
        """
        class_indices = self.setup.training.class_indices
        (lonely,) = (np.bincount(class_indices)[class_indices] == 1).nonzero()
        (rows, held_out), *others = folds
        return [(np.setdiff1d(rows, lonely), np.union1d(held_out, lonely)), *others]

    def shares_folds(self, candidates: Sequence[Candidate], folds: Sequence[Fold]) -> bool:
        """Return whether the folds that candidates are compared on can be those of calibrations.

        They can if a classifier trained on all rows has such folds, apart from which row is in
        which: as many, each trained on all other rows. Schemes must not be made from the data, and
        calibrations must learn from every row that is judged.
        """
        setup, training = self.setup, self.setup.training
        if not isinstance(training.cv, int) or not training.cv == len(folds) >= _FEWEST_FOLDS:
            return False
        if (calibration_weights(training)[setup.sample_weight > 0] == 0).any():
            return False
        fold_of = np.full(len(setup.y), -1)
        for fold, (_, held_out) in enumerate(folds):
            fold_of[held_out] = fold
        return all(
            np.array_equal(np.sort(rows), np.flatnonzero(fold_of != fold))
            and np.array_equal(np.sort(held_out), np.flatnonzero(fold_of == fold))
            for fold, (rows, held_out) in enumerate(folds)
        ) and all(
            each.gives_probabilities
            and not is_trained_without_calibration(each, training.calibration)
            and not needs_data(each.scheme, training.classes, setup.class_order)
            for each in candidates
        )

    def can_drop(self, candidate: Candidate) -> bool:
        """Return whether a candidate may be dropped because of its votes."""
        return (
            self.drops_losers
            and not self.keeps_probabilities
            and self.metrics[0].name == "accuracy"
            and isinstance(candidate.scheme, str)
            and candidate.scheme == "one-vs-one"
        )

    def _drop_by_votes(self, waiting: Sequence[_Trained]) -> list[_Trained]:
        """Drop candidates whose votes are clearly worse than the best so far; return the others.

        Votes need no calibration, which takes about as long as the training. By accuracy, 54 of 56
        searches on 13 datasets chose the same candidate as without this.
        """
        for each in waiting:
            if each.vote_losses is None:
                continue
            if self._most_votes is not None:
                gap, _ = mean_and_error(each.vote_losses - self._most_votes[1], each.weight)
            if self._most_votes is None or gap < 0:
                self._most_votes = each.runner.candidate.name, each.vote_losses
        kept = []
        for each in waiting:
            if each.vote_losses is not None and self._most_votes is not None:
                best, least = self._most_votes
                gaps = each.vote_losses - least
                if is_clear_loss(*mean_and_error(gaps, each.weight), len(gaps)):
                    reason = f"dropped before its calibration ({best} had more votes right)"
                    each.runner.reason = reason
                    continue
            kept.append(each)
        return kept

    def _measure_all(
        self,
        entries: Sequence[Entry],
        rows: Rows,
        held_out: Sequence[Rows],
        training: TrainingOptions,
        progress: Progress | None,
    ) -> None:
        """Train on some rows, and judge on each of the held-out parts."""
        together: dict[Any, tuple[TrainingOptions, list[Entry]]] = {}
        for entry in entries:
            candidate = entry[0].candidate
            estimator = candidate.estimator
            options = replace(training, wants_probabilities=True)
            if is_trained_without_calibration(candidate, training.calibration):
                options = replace(training, calibration=None, final_calibration=None)
            key = (
                family_of(estimator) if type(estimator) is SVC else id(estimator),
                options.calibration is None,
                id(options.final_calibration),
            )
            together.setdefault(key, (options, []))[1].append(entry)
        divided = [(options, self._divide(own)) for options, own in together.values()]
        numbers = [
            len(point.plan.columns_of(number))
            for _, points in divided
            for point in points
            for number in range(len(point.entries))
        ]
        n_binaries = max(1, *numbers)
        batches = [
            _Batch(self, rows, held_out, options, part, n_binaries)
            for options, points in divided
            for part in _split_points(points, min(len(rows), MOST_SCORES // n_binaries), options)
        ]
        bar: AbstractContextManager[TrainingListener | None] = nullcontext(None)
        if progress is not None:
            bar = progress(sum(batch.n_to_train for batch in batches))
        waiting: list[_Trained] = []
        with bar as listener:
            for batch in batches:
                waiting += self._train(batch, TrainingListener() if listener is None else listener)
                waiting = self._drop_by_votes(waiting)
                n_scores = sum(each.n_scores for each in waiting)
                # On folds of their own, no votes are compared, and models can be large.
                if not training.keep_out_of_fold or n_scores > _MOST_WAITING:
                    self._judge_all(waiting)
                    waiting = []
            self._judge_all(waiting)

    def _train(self, batch: _Batch, listener: TrainingListener) -> list[_Trained]:
        """Train the candidates of a batch; if that fails, one by one, noting the errors."""
        entries = [entry for point in batch.points for entry in point.entries]
        n_before = [runner.n_folds for runner, _ in entries]
        try:
            return batch.train(listener)
        except Exception as error:
            if len(entries) == 1:
                entries[0][0].error = error
                return []
            return [
                each
                for entry, n_folds in zip(entries, n_before, strict=True)
                if entry[0].n_folds == n_folds
                for each in self._train(replace(batch, points=self._divide([entry])), listener)
            ]

    def _judge_all(self, waiting: Sequence[_Trained]) -> None:
        """Calibrate candidates, in threads, and add their results to their runners."""
        n_jobs = int(effective_n_jobs(self.setup.training.n_jobs))
        tasks = [each.judge for each in waiting]
        with one_blas_thread():  # or the threads would restore each other's limits
            judged = run_tasks(tasks, max(1, min(n_jobs, len(tasks))))
            for each, results in zip(waiting, judged, strict=True):
                if isinstance(results, Exception):
                    each.runner.error = results
                else:
                    each.runner.folds += results

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


def _split_points(
    points: Sequence[_Point], n_scored: int, options: TrainingOptions
) -> list[list[_Point]]:
    """Return the points in parts whose out-of-fold scores of so many rows do not take too much."""
    if options.calibration is None:
        return [list(points)]
    parts: list[list[_Point]] = []
    n_scores = 0
    for point in points:
        own = n_scored * len(point.plan.dichotomies)
        if not parts or n_scores + own > _MOST_TOGETHER:
            parts.append([])
            n_scores = 0
        parts[-1].append(point)
        n_scores += own
    return parts


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Candidates that are trained together, on the same rows.

    There are several held-out parts if these are the folds of the calibrations, too. No candidate
    has more than `n_binaries` binaries.
    """

    measurer: FoldMeasurer
    rows: Rows
    held_out: Sequence[Rows]
    options: TrainingOptions
    points: list[_Point]
    n_binaries: int

    @property
    def n_to_train(self) -> int:
        """Number of models to train."""
        return sum(count_models(point.plan.dichotomies) for point in self.points)

    def train(self, listener: TrainingListener) -> list[_Trained]:
        """Train all binaries; return the candidates, but for those that have their results now."""
        if self.options.calibration is None and self._measure_on_grid(listener):
            return []
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
            n_of_classifier=self.n_binaries,
        )
        starts = accumulate(numbers, initial=0)
        return [
            self._take(runner, point.plan, number, start, trained)
            for point, start in zip(self.points, starts, strict=False)
            for number, (runner, _) in enumerate(point.entries)
        ]

    def _take(
        self, runner: Runner, plan: TrainingPlan, number: int, start: int, trained: TrainedBinaries
    ) -> _Trained:
        """Return a candidate: one of the schemes of a plan, whose binaries begin at `start`."""
        own = trained.take([start + column for column in plan.columns_of(number)])
        only, samples = plan.only(number), own.out_of_fold
        losses, weight = None, np.ones(0)
        if (
            samples is not None
            and self.options.keep_out_of_fold
            and self.measurer.can_drop(runner.candidate)
        ):
            ((arrangement,),) = only.arrangements
            votes = arrangement.solve(np.sign(samples.scores, dtype=np.float64), "hamming")
            losses = (votes.argmax(axis=1) != samples.class_indices).astype(np.float64)
            weight = self.measurer.setup.sample_weight[samples.rows]
        return _Trained(self, runner, only, own, losses, weight)

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
            (held_out,) = self.held_out
            found = grid.score_held_out(svcs, problems, self.rows, held_out, options)
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
                winners, seconds = np.argmax(scores, axis=1), (float(fit_seconds), predict_seconds)
                own = plan.only(number)
                runner.folds.append(self.judge(runner, own, held_out, scores, winners, seconds))
            for problem in problems:
                listener.trained(problem.name)
        return True

    def judge(
        self,
        runner: Runner,
        plan: TrainingPlan,
        rows: Rows,
        scores: Floats,
        winners: NDArray[np.intp],
        seconds: tuple[float, float],
    ) -> FoldResult:
        """Return the result of a candidate, given its scores of the classes for held-out rows.

        The seconds are those of training and of prediction.
        """
        return FoldResult(
            *self.measurer.judge(runner.candidate, rows, scores, winners),
            *seconds,
            sum(each.is_counted for each in plan.dichotomies),
            count_samples(plan, self.measurer.setup.training, self.rows),
            rows,
            scores if self.measurer.keeps_probabilities else None,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Trained:
    """A trained candidate, which may have to be calibrated yet.

    Attributes
    ----------
    batch : _Batch, which it was trained in
    runner : Runner
    plan : TrainingPlan of its scheme alone
    binaries : TrainedBinaries
    vote_losses, weight : arrays of shape (n_samples,)
        Where its out-of-fold votes are wrong; None if it cannot be dropped for that.
    """

    batch: _Batch
    runner: Runner
    plan: TrainingPlan
    binaries: TrainedBinaries
    vote_losses: Floats | None
    weight: Floats

    @property
    def n_scores(self) -> int:
        """Number of out-of-fold scores, which take most of the memory."""
        samples = self.binaries.out_of_fold
        return 0 if samples is None else samples.scores.size

    def judge(self) -> list[FoldResult] | Exception:
        """Calibrate it, and return its results; none if its calibration cannot be learnt."""
        try:
            return self._judge()
        except Exception as error:
            return error

    def _judge(self) -> list[FoldResult]:
        batch, started = self.batch, perf_counter()
        composition = self.plan.compose(self.binaries, self.runner.candidate.solver)
        fit_seconds = self.binaries.seconds + perf_counter() - started
        some = batch.held_out[0]
        seconds, scores = _time_scores(composition, batch.measurer.setup.samples(some, batch.rows))
        final, samples = composition.final, composition.out_of_fold
        parts = [(some, scores)]
        if batch.options.keep_out_of_fold:
            if final is None or final.probabilities is None or samples is None:
                return []
            masks = [np.isin(samples.rows, rows) for rows in batch.held_out]
            if not all(own.any() for own in masks):
                return []
            parts = [(samples.rows[own], final.probabilities[own]) for own in masks]
        both = fit_seconds, seconds
        return [
            batch.judge(self.runner, self.plan, rows, scores, composition.winners(scores), both)
            for rows, scores in parts
        ]


def count_samples(plan: TrainingPlan, training: TrainingOptions, rows: Rows | slice) -> int:
    """Return how many samples the binaries of a plan are trained on, in total.

    Further sides of a partition do not count.
    """
    counts = np.bincount(training.class_indices[rows], minlength=len(training.classes))
    return sum(
        int(counts[[*each.negative, *each.positive]].sum())
        for each in plan.dichotomies
        if each.is_counted
    )


def _time_scores(composition: Composition, X: Any) -> tuple[float, Floats]:
    """Return the prediction time in seconds, and the scores of the classes."""
    composition.scores(take_rows(X, np.arange(1)))  # compiles routines and sets up the bank
    started = perf_counter()
    scores = composition.scores(X)
    return perf_counter() - started, scores
