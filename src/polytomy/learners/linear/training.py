"""Training linear models of many problems together: models, calibrators, held-out scores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property, partial
from time import perf_counter
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from polytomy.calibration.calibrators import Calibrator, HeldOut, UncalibratedMap, fit_calibrators
from polytomy.inputs.numbers import check_weights
from polytomy.inputs.rows import count_rows, take_rows
from polytomy.inputs.sparse import is_sparse
from polytomy.learners.linear.objectives import (
    FittedModels,
    LinearObjective,
    find_objective,
    sample_costs,
)
from polytomy.learners.linear.stacked import SharedRows, fit_stacked_models
from polytomy.learners.problems import (
    Batch,
    BatchFolds,
    BinaryProblem,
    ProblemList,
    divide_into_batches,
)
from polytomy.learners.trained import Output, TrainedBinary, choose_output
from polytomy.learners.workload import (
    ONE_SIDED,
    Trained,
    Workload,
    describe_shortcoming,
    train_constant,
    weights_of_problems,
)
from polytomy.routines.dispatch import routine
from polytomy.routines.reference.linear import LinearFits, LinearProblems, LinearSamples
from polytomy.routines.threads import one_blas_thread, run_tasks

Floats = NDArray[np.float64]

# With fewer problems that have the same rows, they are trained one by one.
_FEWEST_STACKED = 4


# Values in a stack (problems times samples), and the approximate bytes per value. A stack with more
# values may not take more memory than the data, or twice as much for the smallest stack. More
# problems would hardly save time.
_STACKED_VALUES = 2**20
_BYTES_OF_VALUE = 32
_SMALLEST_STACK, _LARGEST_STACK = 4, 256
_LARGEST_OF_MANY_ROWS = 8

# Size limits of a batch of problems with different rows.
_BATCH_SAMPLES = 2**16
_BATCH_PROBLEMS = 256

# Most coefficients of all models in a batch, including fold models.
_BATCH_COEFFICIENTS = 2**24

# Feature values, over all problems, that keep a thread busy for some hundredths of a second.
_ENTRIES_PER_THREAD = 10**6


def train_linear_models(work: Workload) -> list[Trained | None]:
    """Train all plain LogisticRegression and LinearSVC binaries with one solver.

    Each result is equal to that of `train_estimator`, but training is faster. Problems with the
    same rows, as in one-vs-rest, are solved together with matrix products; others are solved
    without copying their rows. Fold models are warm-started from the solution for all samples. The
    solver minimises the same objectives as scikit-learn, at least as accurately. Estimators that
    `find_objective` does not support are left to other learners, and so is LinearSVC with fewer
    samples than features.
    """
    options, folds, problems = work.options, work.folds, work.problems
    trained: list[Trained | None] = [None] * len(work.dichotomies)
    estimators = {k: work.dichotomies[k].estimator for k in work.shareable}
    makers = _prepare_models(estimators.values(), work)
    if not makers:
        return trained
    numbers = next(iter(makers.values())).numbers
    groups: dict[LinearObjective, list[int]] = {}
    for k, estimator in estimators.items():
        is_supported = id(estimator) in makers
        if is_supported and not _is_faster_alone(estimator, int(problems.sizes[k]), numbers):
            groups.setdefault(makers[id(estimator)].objective, []).append(k)
    n_threads = _count_threads(options.n_jobs, numbers, problems)
    # Problems run in threads; BLAS threads would wait for each other on a busy machine.
    with one_blas_thread():
        for objective, members in groups.items():
            trainer = BatchTrainer(objective, work, numbers)
            n_models = 1 + (0 if folds is None else folds.n_folds)
            most = max(1, _BATCH_COEFFICIENTS // (n_models * (1 + numbers.shape[1])))
            # With the squared hinge loss, the routine for single problems is faster, because it
            # uses few of the samples.
            stack_size = min(most, _choose_stack_size(numbers)) if objective.is_logistic else 0
            tasks = list(_divide(members, problems, stack_size, most))
            attempts: list[Callable[[], list[Trained]]] = [
                partial(
                    trainer.train,
                    batch,
                    [makers[id(estimators[k])] for k in batch],
                    is_stacked=is_stacked,
                )
                for batch, is_stacked in tasks
            ]
            with closing(run_tasks(attempts, n_threads)) as results:
                for (batch, _), found in zip(tasks, results, strict=True):
                    for k, each in zip(batch, found, strict=True):
                        trained[k] = each
                        work.listener.trained(each.binary.name)
            together = f"{len(members)} binaries are trained together by the linear solver."
            alone = "1 binary is trained by the linear solver."
            work.listener.note(alone if len(members) == 1 else together)
            names = [each.name for each in work.dichotomies]
            _warn_of_early_stops(sorted(trainer.stopped, key=names.index))
    return trained


def _is_faster_alone(estimator: Any, n_samples: int, numbers: Any) -> bool:
    """Return whether LIBLINEAR is faster, because it can solve the dual of a small LinearSVC.

    With fewer samples than features, as in texts, its coordinate descent took half the time
    on TF-IDF, and a fiftieth on counts. Dense problems of a larger dataset are so small that
    preparing them would take longer.
    """
    if type(estimator) is not LinearSVC or estimator.dual is False:
        return False
    return bool((n_samples if is_sparse(numbers) else numbers.shape[0]) < numbers.shape[1])


def _is_wide_stack(problems: ProblemList, X: Any) -> bool:
    """Return whether all problems have all rows, and a stack takes little memory beside them."""
    if len(problems) < _FEWEST_STACKED or not isinstance(X, np.ndarray) or X.ndim != 2:
        return False
    is_wide = 2 * X.shape[1] * X.dtype.itemsize >= _SMALLEST_STACK * _BYTES_OF_VALUE
    return is_wide and bool((problems.sizes == problems.n_rows).all())


def _prepare_models(estimators: Iterable[Any], work: Workload) -> dict[int, FittedModels]:
    """Return the FittedModels of each supported estimator, by its id."""
    makers: dict[int, FittedModels] = {}
    # scikit-learn trains a logistic regression once per problem, without the permanently held-out
    # part and without copying the rows.
    is_once = work.folds is not None and work.folds.is_only_part
    leaves_logistic = is_once and not _is_wide_stack(work.problems, work.X)
    for estimator in {id(each): each for each in estimators}.values():
        objective = find_objective(estimator)
        if objective is None or (objective.is_logistic and leaves_logistic):
            continue
        try:
            makers[id(estimator)] = FittedModels(estimator, objective, work.X)
        except (TypeError, ValueError):
            return {}  # the estimator's own fit raises the error where the user expects it
    return makers


def _choose_stack_size(numbers: Any) -> int:
    """Return how many problems with the same rows are trained together."""
    n_rows = max(1, numbers.shape[0])
    size = _STACKED_VALUES // n_rows
    if not is_sparse(numbers):
        within_data = numbers.nbytes // (n_rows * _BYTES_OF_VALUE)
        size = max(size, min(within_data, _LARGEST_OF_MANY_ROWS))
    return int(np.clip(size, _SMALLEST_STACK, _LARGEST_STACK))


def _divide(
    members: Sequence[int], problems: ProblemList, stack_size: int, most: int
) -> Iterator[tuple[list[int], bool]]:
    """Yield batches of at most `most` problems, largest first, and whether each is a stack.

    Problems with all rows are stacked unless `stack_size` is zero.
    """
    whole = [k for k in members if problems.sizes[k] == problems.n_rows]
    if stack_size and len(whole) >= _FEWEST_STACKED:
        n_stacks = -(-len(whole) // stack_size)
        for number in range(n_stacks):  # of nearly the same size
            first, last = (len(whole) * (number + more) // n_stacks for more in (0, 1))
            yield whole[first:last], True
        stacked = set(whole)
        members = [k for k in members if k not in stacked]
    ordered = sorted(members, key=lambda k: (-int(problems.sizes[k]), k))
    sizes = [int(problems.sizes[k]) for k in ordered]
    for batch in divide_into_batches(ordered, sizes, _BATCH_SAMPLES, min(most, _BATCH_PROBLEMS)):
        yield batch, False


def _count_threads(n_jobs: int | None, numbers: Any, problems: ProblemList) -> int:
    of_row = numbers.nnz / max(1, numbers.shape[0]) if is_sparse(numbers) else numbers.shape[1]
    n_useful = 1 + int(problems.sizes.sum() * of_row) // _ENTRIES_PER_THREAD
    return min(int(effective_n_jobs(n_jobs)), n_useful, len(problems))


def _warn_of_early_stops(names: Sequence[str]) -> None:
    if not names:
        return
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    warnings.warn(
        f'The linear model of partition "{names[0]}"{more} stopped early, after max_iter steps. '
        "Scale the features, or increase max_iter.",
        ConvergenceWarning,
        stacklevel=4,
    )


class BatchTrainer:
    """Trains batches of problems that minimise the same objective.

    Parameters
    ----------
    objective : LinearObjective
    work : Workload
    numbers : the training data as a float64 or float32 array, or as a CSR matrix

    Attributes
    ----------
    stopped : names of the partitions whose models have not reached the tolerance
    """

    def __init__(self, objective: LinearObjective, work: Workload, numbers: Any) -> None:
        self._objective, self._work, self._numbers = objective, work, numbers
        self._options, self._folds = work.options, work.folds
        self.stopped: list[str] = []
        calibration = work.options.calibration
        is_automatic = isinstance(calibration, str) and calibration == "auto"
        self._uses_own = calibration is None or (is_automatic and objective.is_logistic)
        given = work.options.arguments.sample_weight
        self._weight = None if given is None else check_weights(given, count_rows(work.X))

    def train(
        self, batch: Sequence[int], makers: Sequence[FittedModels], *, is_stacked: bool
    ) -> list[Trained]:
        """Return the trained binaries of a batch, in its order.

        Parameters
        ----------
        batch : numbers of problems
        makers : one for each problem of the batch
        is_stacked : whether all problems have the same rows
        """
        started = perf_counter()
        own = [self._kept(self._work.problems[k]) for k in batch]
        seeds = [self._work.seeds[k] for k in batch]
        to_train = [i for i, problem in enumerate(own) if problem.has_both_sides]
        trained: dict[int, Trained] = {}
        if to_train:
            found = self._train(
                [own[i] for i in to_train],
                [makers[i] for i in to_train],
                [seeds[i] for i in to_train],
                is_stacked,
            )
            seconds = (perf_counter() - started) / len(to_train)
            for i, each in zip(to_train, found, strict=True):
                trained[i] = each.timed(seconds)
        return [
            trained.get(i) or train_constant(problem, self._folds) for i, problem in enumerate(own)
        ]

    def _kept(self, problem: BinaryProblem) -> BinaryProblem:
        if self._weight is None or (is_kept := self._weight[problem.rows] > 0).all():
            return problem
        return problem.keep(is_kept)

    def _train(
        self,
        problems: Sequence[BinaryProblem],
        makers: Sequence[FittedModels],
        seeds: Sequence[int | None],
        is_stacked: bool,
    ) -> list[Trained]:
        """Return the trained binaries of problems that have samples on both sides."""
        options = self._options
        batch = Batch.of(problems)
        folds = BatchFolds.of(batch, self._folds)
        weight = weights_of_problems(problems, options, count_rows(self._work.X))
        fits = (self._fit_stack if is_stacked else self._fit_each)(batch, folds, weight)
        to_calibrate = self._select_held_out(batch, folds, fits.values, weight)
        calibrators = fit_calibrators(options.calibrator, to_calibrate, seeds)
        binaries = []
        for i, problem in enumerate(problems):
            coefficients, n_steps = fits.coefficients[i, 0], int(fits.n_steps[i])
            model = makers[i].make(coefficients, n_steps, seeds[i])
            is_failed = not self._uses_own and to_calibrate[i] is None
            binaries.append(
                self._as_binary(problem.name, model, makers[i].sides, calibrators[i], is_failed)
            )
        names = [problem.name for problem in problems]
        self.stopped += [names[i] for i in np.flatnonzero(~fits.is_converged)]
        scores = self._score_held_out(batch, folds, fits.coefficients, binaries)
        return [
            Trained(binary, None if scores is None else scores[:, i])
            for i, binary in enumerate(binaries)
        ]

    def _fit_each(self, batch: Batch, folds: BatchFolds, weight: Floats | None) -> LinearFits:
        """Fit the models of the problems one after the other."""
        objective = self._objective
        costs = sample_costs(objective, batch, folds.is_kept, weight)
        fold_of = np.full(len(batch.rows), -1, dtype=np.intp)
        fold_of[folds.samples] = folds.fold_of
        signs = np.where(batch.is_positive, 1.0, -1.0)
        totals = np.add.reduceat(costs[0], batch.starts[:-1])
        is_trained, tolerances = _trained_folds(folds, batch), self._tolerances(batch, totals)
        problems = LinearProblems(
            batch.rows, batch.starts, signs, costs, fold_of, is_trained, *tolerances
        )
        fit = routine("fit_linear_models", "linear")
        fits: LinearFits = fit(self._samples, problems, objective.form)
        return fits

    def _fit_stack(self, batch: Batch, folds: BatchFolds, weight: Floats | None) -> LinearFits:
        """Fit the models of problems with the same rows together."""
        objective, n_samples = self._objective, int(batch.sizes[0])
        is_positive = batch.is_positive.reshape(-1, n_samples)
        is_trained, shared = _trained_folds(folds, batch), self._folds
        is_kept = folds.is_kept
        is_once = shared is not None and shared.is_only_part
        if is_once:  # only models without the permanently held-out part are trained
            is_kept, is_trained = is_kept[1:], is_trained[:, :0]
        is_uniform = weight is None and objective.class_weight is None
        if is_uniform and np.isnan(folds.constants).all():
            # A row has the same cost in all problems.
            costs = np.where(is_kept[:, np.newaxis, :n_samples], objective.C, 0.0)
        else:
            every = sample_costs(objective, batch, is_kept, weight)
            costs = every.reshape(-1, *is_positive.shape)
        fold_of = np.full(n_samples, -1, dtype=np.intp)
        of_first = folds.samples < n_samples
        fold_of[folds.samples[of_first]] = folds.fold_of[of_first]
        found = fit_stacked_models(
            self._shared_rows(batch.rows[:n_samples]),
            is_positive,
            costs,
            fold_of,
            is_trained,
            objective.form,
            *self._tolerances(batch, np.broadcast_to(costs[0].sum(axis=1), len(is_positive))),
            needs_values=not self._uses_own,
        )
        if not is_once:
            return found
        return found._replace(coefficients=found.coefficients.repeat(2, axis=1))

    def _tolerances(self, batch: Batch, totals: Floats) -> tuple[Floats, Floats]:
        """Return the tolerances of problems, given the sums of their costs."""
        return self._objective.tolerances(totals, batch.count(batch.is_positive), batch.sizes)

    @cached_property
    def _samples(self) -> LinearSamples:
        x = self._numbers
        if is_sparse(x):
            data = x.data.astype(np.float64, copy=False)
            indptr = x.indptr.astype(np.int64)
            rows = np.repeat(np.arange(x.shape[0]), np.diff(indptr))
            norms = np.sqrt(np.bincount(rows, data**2, minlength=x.shape[0]))
            indices = x.indices.astype(np.int32, copy=False)
            return LinearSamples(np.empty((0, 0)), data, indices, indptr, norms, x.shape[1])
        norms = np.sqrt(np.einsum("ij,ij->i", x, x, dtype=np.float64))
        nothing = np.empty(0), np.empty(0, np.int32), np.empty(0, np.int64)
        return LinearSamples(x, *nothing, norms, x.shape[1])

    @cached_property
    def _all_rows(self) -> SharedRows:
        return SharedRows(self._numbers, self._objective.bias)

    def _shared_rows(self, rows: NDArray[np.intp]) -> SharedRows:
        if len(rows) == self._numbers.shape[0]:
            return self._all_rows
        return SharedRows(take_rows(self._numbers, rows), self._objective.bias)

    def _select_held_out(
        self, batch: Batch, folds: BatchFolds, values: Floats, weight: Floats | None
    ) -> list[HeldOut | None]:
        """Return the data that each problem's calibrator learns from, or None."""
        if self._uses_own:
            return [None] * len(batch.sizes)
        samples, has_both = folds.samples, folds.hold_out_both_sides(batch)
        ends = np.searchsorted(samples, batch.starts)
        found: list[HeldOut | None] = []
        for i in range(len(batch.sizes)):
            chosen = samples[ends[i] : ends[i + 1]]
            if not has_both[i]:
                found.append(None)
                continue
            own_weight = None if weight is None else weight[chosen]
            if self._folds is not None:
                own_weight = self._folds.weigh(own_weight, batch.rows[chosen])
            found.append(HeldOut(values[chosen], batch.is_positive[chosen], own_weight))
        return found

    def _as_binary(
        self,
        name: str,
        model: Any,
        sides: tuple[int, int],
        calibrator: Calibrator | None,
        is_failed: bool,
    ) -> TrainedBinary:
        output = choose_output(model, None if calibrator is None else self._options.calibration)
        if calibrator is None and output is Output.MARGIN:
            calibrator = UncalibratedMap()
        binary = TrainedBinary(name, output, model, calibrator, classes=sides)
        if is_failed:
            return replace(binary, shortcoming=describe_shortcoming(binary, ONE_SIDED))
        return binary

    @cached_property
    def _scored_parts(self) -> list[tuple[NDArray[np.intp], Any]]:
        """For each shared fold, the scored samples that it holds out, and their rows."""
        folds = self._folds
        assert folds is not None
        fold_of = folds.fold_of[folds.scored]
        parts = [np.flatnonzero(fold_of == fold) for fold in range(folds.n_folds)]
        return [(own, take_rows(self._numbers, folds.scored[own])) for own in parts]

    def _score_held_out(
        self,
        batch: Batch,
        folds: BatchFolds,
        coefficients: Floats,
        binaries: Sequence[TrainedBinary],
    ) -> NDArray[np.float32] | None:
        """Return the scores that the fold models give to all scored rows."""
        shared = self._folds
        if shared is None:
            return None
        scores = np.empty((len(shared.scored), len(binaries)), dtype=np.float32, order="F")
        is_probability = np.array([each.output is Output.PROBABILITY for each in binaries])
        for fold, (own, samples) in enumerate(self._scored_parts):
            if not len(own):
                continue
            by_fold = coefficients[:, 1 + fold]
            found = np.asarray(samples @ np.ascontiguousarray(by_fold[:, :-1].T))
            found += self._objective.bias * by_fold[:, -1]
            if is_probability.any():
                found[:, is_probability] = np.tanh(found[:, is_probability] / 2.0)
            constants = folds.constants[fold]
            (constant,) = np.nonzero(~np.isnan(constants))
            if len(constant):
                n_seen = batch.count(shared.is_trained_on[fold, batch.rows])[constant]
                # Probabilities follow Laplace's rule of succession.
                shares = np.where(is_probability[constant], n_seen / (n_seen + 2.0), 1.0)
                found[:, constant] = constants[constant] * shares
            scores[own] = found
        return scores


def _trained_folds(folds: BatchFolds, batch: Batch) -> NDArray[np.bool_]:
    """Return which folds of each problem have a model, of shape (n_problems, n_folds)."""
    return np.ascontiguousarray(folds.is_trained.T).reshape(len(batch.sizes), -1)
