"""Binaries of any estimator: a clone for each problem, calibrated on held-out folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.svm import SVC
from sklearn.utils.parallel import Parallel, delayed

from polytomy.calibration.calibrators import make_calibrator
from polytomy.calibration.folds import Folds
from polytomy.errors import ArgumentError, PolytomyError
from polytomy.inputs.rows import count_rows, take_columns, take_rows, take_values
from polytomy.learners.preparation import (
    check_neighbours,
    check_objective,
    copy_unfitted,
    drops_rows_by_weight,
    fit_batch,
    name_kind,
    parameters_with_weights,
    prepare_estimator,
    side_labels,
    takes_pairwise_values,
)
from polytomy.learners.problems import Batch, BatchFolds, BinaryProblem, Problem, SidesProblem
from polytomy.learners.trained import (
    Output,
    TrainedBinary,
    choose_output,
    match_sides,
    without_calibration,
)
from polytomy.learners.validation import Validation, check_validation, fix_iterations
from polytomy.learners.workload import (
    ONE_SIDED,
    Trained,
    TrainingOptions,
    Workload,
    describe_shortcoming,
    train_constant,
    weights_of_problem,
)

Floats = NDArray[np.float64]


_Result = TypeVar("_Result")
_Problem = TypeVar("_Problem", BinaryProblem, SidesProblem)


class FoldError(Exception):
    """Raised if a fold cannot be fitted; the message is the reason, as a clause."""


def train_estimators(work: Workload) -> list[Trained | None]:
    """Train a clone of its estimator for each dichotomy, in joblib's jobs.

    ``joblib.parallel_config`` can choose any backend; worker processes see the data as a memory
    map.
    """
    options, folds = work.options, work.folds
    # The learner of SVCs has told why it does not take one.
    kinds = [type(each.estimator) for each in work.dichotomies]
    work.note_trained_alone(
        Counter(f"{kind.__name__} is not an SVC" for kind in kinds if kind is not SVC)
    )
    # Problems are created when their job is sent: together they may exceed memory.
    tasks = (
        (each.estimator, work.X, work.problems[k], options, folds, work.seeds[k], each.model)
        for k, each in enumerate(work.dichotomies)
    )
    trained: list[Trained | None] = []
    results = run_jobs(train_estimator, tasks, options.n_jobs)
    for each, (found, seconds) in zip(work.dichotomies, results, strict=True):
        trained.append(found.timed(seconds))
        work.listener.trained(each.name)
    return trained


def run_jobs(
    train: Callable[..., _Result], tasks: Iterable[tuple[Any, ...]], n_jobs: int | None
) -> Iterable[tuple[_Result, float]]:
    """Return the results of joblib's jobs and their seconds, one by one as they arrive if possible.

    The order is that of the tasks.
    """
    parallel = Parallel(n_jobs=n_jobs)
    # A backend that cannot stream its results, such as Dask's, raises a ValueError.
    with suppress(ValueError):
        parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    results: Iterable[tuple[_Result, float]] = parallel(
        delayed(_time_training)(train, *task) for task in tasks
    )
    return results


def _time_training(train: Callable[..., _Result], *task: Any) -> tuple[_Result, float]:
    started = perf_counter()
    return train(*task), perf_counter() - started


def train_estimator(
    estimator: Any,
    X: Any,
    problem: BinaryProblem,
    options: TrainingOptions,
    folds: Folds | None = None,
    seed: int | None = None,
    model: str | None = None,
) -> Trained:
    """Return a binary trained on one problem and calibrated on held-out decision values.

    The estimator and ``calibration`` decide which output of the estimator is used:

    ===================  =====================  =====================  ==========================
    the estimator has    "auto"                 None                   a name or an object
    ===================  =====================  =====================  ==========================
    predict_proba only   predict_proba          predict_proba          its log-odds, calibrated
    both                 predict_proba          predict_proba          decision values, calibrated
    decision_function    sigmoid                logistic function      decision values, calibrated
    predict only         ±1                     ±1                     ±1, calibrated
    ===================  =====================  =====================  ==========================

    Calibrators learn from the decision values of held-out folds, and one final model is fitted to
    all samples. If no fold can be used, the binary answers as with ``calibration=None``, and its
    `shortcoming` says why: warnings would be lost in a worker process. Samples of weight zero are
    ignored. If a side is empty, the answer is constant: +1 or −1, or 0 if both sides are empty.

    Parameters
    ----------
    estimator : classifier or pipeline
        It is cloned and fitted to the targets of `side_labels`.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
        The whole training data; for precomputed kernels, the (n_rows, n_rows) kernel matrix.
    problem : BinaryProblem
        The rows of X to train on, and their sides.
    options : TrainingOptions
    folds : Folds, optional
        Without them, nothing is calibrated.
    seed : int, optional
    model : str, optional, the name under which the estimator was given

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> problem = BinaryProblem("low-high", np.arange(4), np.array([False, False, True, True]))
    >>> folds = Folds.from_numbers(np.array([0, 1, 1, 0]))
    >>> trained = train_estimator(SVC(), X, problem, TrainingOptions(), folds=folds, seed=0)
    >>> trained.binary.decisions(X).round(2)
    array([-0.84, -0.75,  0.75,  0.84])
    """
    calibration = options.calibration
    calibrator = make_calibrator(options.calibrator, seed)
    trainer = _BinaryTrainer.prepare(estimator, X, problem, options, seed, model)
    problem = trainer.drop_weightless(problem)
    if problem.smaller_side == 0:
        return train_constant(problem, folds)
    if trainer.takes_pairwise_values:
        _check_square(X, trainer.estimator, problem.name)
    models: Mapping[int, TrainedBinary] = {}
    if folds is not None and options.validates_on_folds:
        trainer, models = trainer.stop_early(problem, folds, _BinaryTrainer.train)
    is_kept = None if folds is None else folds.trained_on(problem.rows)
    binary = without_calibration(trainer.train_without(problem, is_kept))
    check_neighbours(binary.estimator, problem.name)
    output = choose_output(binary.estimator, calibration)
    is_automatic = isinstance(calibration, str) and calibration == "auto"
    uses_own = calibration is None or (is_automatic and output is not Output.MARGIN)
    if folds is None or (uses_own and not len(folds.scored)):
        return Trained(binary)
    batch = Batch.of([problem])
    parts = BatchFolds.of(batch, folds)
    if not uses_own and not parts.hold_out_both_sides(batch)[0]:
        binary = replace(binary, shortcoming=describe_shortcoming(binary, ONE_SIDED))
        output, uses_own = binary.output, True
    try:
        # The parameters of the estimator were validated when all samples were fitted.
        with config_context(skip_parameter_validation=True):
            scores = trainer.score_rows(problem, output, folds, parts, binary, models)
    except FoldError as reason:
        shortcoming = describe_shortcoming(binary, f"a fold cannot be fitted ({reason})")
        return Trained(replace(binary, shortcoming=shortcoming))
    if not uses_own:
        calibrator.fit(*trainer.select_problem(problem, scores, folds, parts, output, binary))
        binary = replace(binary, output=output, calibrator=calibrator)
    return Trained(binary, scores[folds.scored].astype(np.float32))


def _check_square(X: Any, estimator: Any, name: str) -> None:
    shape: tuple[int, ...] = getattr(X, "shape", (count_rows(X),))
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ArgumentError(
            f'Partition "{name}" is trained by {estimator!r}, which needs the kernel values or '
            f"distances of all pairs of samples, a square matrix; X has shape {shape}. Pass such "
            "a matrix, or use a kernel that is not precomputed."
        )


def score_by_fold(
    values: Floats,
    folds: Folds,
    rows: NDArray[np.intp],
    score: Callable[[int, NDArray[np.intp]], Any],
) -> None:
    """Set the values of each row by the model that was trained without the row's fold.

    Parameters
    ----------
    values : array of shape (n_rows, ...)
        Rows that are neither in the problem nor scored by every binary stay as they are.
    folds : Folds
    rows : rows of the problem
    score : function of a fold and of rows to score
        A ValueError becomes a FoldError: fitting all samples worked, so the fold is too small.
    """
    is_wanted = np.zeros(len(values), dtype=np.bool_)
    is_wanted[folds.scored] = is_wanted[rows] = True
    for fold in range(folds.n_folds):
        held_out = np.flatnonzero((folds.fold_of == fold) & is_wanted)
        if not len(held_out):
            continue
        try:
            values[held_out] = score(fold, held_out)
        except PolytomyError:
            raise
        except ValueError as error:
            raise FoldError(str(error)) from error


@dataclass(frozen=True, slots=True)
class ProblemTrainer:
    """Fits clones of one prepared estimator to parts of one problem.

    Attributes
    ----------
    estimator : prepared estimator
    X : the whole training data
    weight : array of shape (n_rows,), or None if all weights are one
    fit_params : parameters of ``fit``, including the weights
        Those with a value for each row of X are reduced to the rows of a fit.
    takes_pairwise_values : whether X is a kernel matrix, so that columns are selected too
    validation : tuple of Validation, from which each fit takes the rows of its own classes
    class_indices : array of shape (n_rows,), what validation needs
    """

    estimator: Any
    X: Any
    weight: Floats | None
    fit_params: Mapping[str, Any]
    takes_pairwise_values: bool
    validation: tuple[Validation, ...]
    class_indices: NDArray[np.intp]

    @classmethod
    def prepare(
        cls,
        estimator: Any,
        X: Any,
        problem: Problem,
        options: TrainingOptions,
        seed: int | None,
        model: str | None,
    ) -> Self:
        """Return the trainer of a problem; see `train_estimator`."""
        prepared = prepare_estimator(estimator, seed)
        weight = weights_of_problem(problem, options, count_rows(X), model)
        arguments = options.arguments_for(model)
        for each in arguments.validation:
            check_validation(prepared, each)
        return cls(
            prepared,
            X,
            weight,
            parameters_with_weights(prepared, arguments.fit_params, weight),
            takes_pairwise_values(prepared),
            arguments.validation,
            options.class_indices,
        )

    def drop_weightless(self, problem: _Problem) -> _Problem:
        """Return the problem without samples of weight zero."""
        return problem if self.weight is None else problem.keep(self.weight[problem.rows] > 0)

    def fit(
        self, problem: Problem, targets: NDArray[Any], fit_params: Mapping[str, Any] | None = None
    ) -> Any:
        """Return a clone of the estimator, fitted to the samples of the problem."""
        model, rows, n_rows = copy_unfitted(self.estimator), problem.rows, count_rows(self.X)
        given = self.fit_params if fit_params is None else fit_params
        parameters = {name: take_values(value, rows, n_rows) for name, value in given.items()}
        for each in self.validation:
            own = each.of_partition(self.class_indices[rows], targets, problem.name)
            parameters |= own.arguments()
        try:
            model.fit(self.samples(rows, rows), targets, **parameters)
        except Exception as error:
            if problem.n_sides == 2:
                check_objective(self.estimator, error)
            kind = name_kind(self.estimator)
            error.add_note(f'while training the {kind} of partition "{problem.name}"')
            raise
        return model

    def stop_early(
        self, problem: Problem, folds: Folds, train: Callable[[Any, Any], Any]
    ) -> tuple[Self, dict[int, Any]]:
        """Return a trainer for all samples, and the models of the folds.

        These stop early on the samples that their fold holds out. A model of all samples has the
        mean of their numbers of iterations; if one part is held out permanently, it stops early on
        that part.
        """

        def watch(fold: int) -> ProblemTrainer:
            rows = problem.rows[folds.fold_of[problem.rows] == fold]
            weight = None if self.weight is None else self.weight[rows]
            held_out = Validation.of_rows(
                self.estimator, take_rows(self.X, rows), self.class_indices[rows], weight
            )
            return replace(self, validation=(held_out,))

        if folds.is_only_part:
            return cast(Self, watch(0)), {}
        models = {}
        for fold in range(folds.n_folds):
            is_kept = folds.is_trained_on[fold, problem.rows]
            if not is_kept.all() and len(np.unique(problem.sides[is_kept])) > 1:
                models[fold] = train(watch(fold), problem.keep(is_kept))
        estimators = [model.estimator for model in models.values()]
        estimator, fit_params = fix_iterations(self.estimator, self.fit_params, estimators)
        return replace(self, estimator=estimator, fit_params=fit_params), models

    def samples(self, rows: NDArray[np.intp], training_rows: NDArray[np.intp]) -> Any:
        """Return some rows; of a kernel matrix, the columns of the rows that were trained on."""
        part = take_rows(self.X, rows)
        return take_columns(part, training_rows) if self.takes_pairwise_values else part


class _BinaryTrainer(ProblemTrainer):
    """Trains binaries."""

    @property
    def sides(self) -> tuple[int, int]:
        """Labels of the −1 and the +1 side."""
        return side_labels(self.estimator)

    def train(self, problem: BinaryProblem) -> TrainedBinary:
        """Fit a clone of the estimator to all samples of the problem."""
        return self._fit(problem, self.fit_params)

    def train_without(
        self, problem: BinaryProblem, is_kept: NDArray[np.bool_] | None
    ) -> TrainedBinary:
        """Fit a clone of the estimator to the samples to keep; None keeps all.

        For a linear model of all rows, the others get weight zero, which avoids a copy of X.
        """
        if is_kept is None:
            return self.train(problem)
        kept = problem.keep(is_kept)
        if kept.smaller_side == 0:
            return self.train(problem)  # all samples of a side with positive weight are held out
        if not drops_rows_by_weight(self.estimator, self.X, problem.n_samples):
            return self.train(kept)
        weight = np.zeros(count_rows(self.X))
        weight[kept.rows] = 1.0 if self.weight is None else self.weight[kept.rows]
        return self._fit(problem, {**self.fit_params, "sample_weight": weight})

    def _fit(self, problem: BinaryProblem, fit_params: Mapping[str, Any]) -> TrainedBinary:
        classes, positive_index = self.sides, 1
        model = self.fit(problem, problem.labelled(classes), fit_params)
        if getattr(model, "classes_", None) is not None:
            negative, positive = classes
            classes, positive_index = match_sides(model, [negative], [positive], problem.name)
        return TrainedBinary(
            problem.name,
            Output.LABEL,
            model,
            classes=classes,
            positive_index=positive_index,
            columns=problem.rows if self.takes_pairwise_values else None,
        )

    def score_rows(
        self,
        problem: BinaryProblem,
        output: Output,
        folds: Folds,
        parts: BatchFolds,
        whole: TrainedBinary,
        models: Mapping[int, TrainedBinary],
    ) -> Floats:
        """Return the score of each row from the model that was trained without the row's fold.

        The score is NaN for rows that are neither in the problem nor scored by every binary.
        `models` are the models of folds that are trained already.
        """

        def score(fold: int, rows: NDArray[np.intp]) -> Any:
            constant = parts.constants[fold, 0]
            if not np.isnan(constant):
                n_seen = int(np.count_nonzero(folds.is_trained_on[fold, problem.rows]))
                # Probabilities from Laplace's rule of succession.
                is_probability = output is Output.PROBABILITY
                return constant * (n_seen / (n_seen + 2) if is_probability else 1.0)
            binary = whole
            if parts.is_trained[fold, 0] and not folds.is_only_part:
                binary = models.get(fold) or self.train(problem.keep(parts.is_kept[1 + fold]))
            return replace(binary, output=output).scores(take_rows(self.X, rows))

        scores = np.full(len(folds.fold_of), np.nan)
        score_by_fold(scores, folds, problem.rows, score)
        return scores

    def select_problem(
        self,
        problem: BinaryProblem,
        scores: Floats,
        folds: Folds,
        parts: BatchFolds,
        output: Output,
        whole: TrainedBinary,
    ) -> tuple[Floats, NDArray[np.bool_], Floats | None]:
        """Return the scores, sides and weights of rows in the problem, for a calibrator.

        If a fold has only one side to train on, its constant score says nothing about the relation
        between scores and sides, so the model of all samples is used instead.
        """
        rows, sides = problem.rows[parts.samples], problem.is_positive[parts.samples]
        values = scores[rows]
        is_constant = ~np.isnan(parts.constants[parts.fold_of, 0])
        if is_constant.any():
            samples = take_rows(self.X, rows[is_constant])
            values[is_constant] = replace(whole, output=output).scores(samples)
        weight = None if self.weight is None else self.weight[rows]
        return values, sides, folds.weigh(weight, rows)


def update_binary(
    binary: TrainedBinary | None,
    estimator: Any,
    X: Any,
    problem: BinaryProblem,
    *,
    random_state: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> TrainedBinary:
    """Return the binary after training on one more batch, with ``partial_fit``.

    Nothing is calibrated: the answers are as with ``calibration=None``. The answer is 0,
    undecided, until the first batch with a sample of the problem.

    Parameters
    ----------
    binary : TrainedBinary, optional
        The result of the previous batch; None for the first. A copy of its estimator is trained, so
        that Ctrl-C or an error leaves the original unchanged.
    estimator : classifier with ``partial_fit``
        It is cloned for the first batch.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
    problem : BinaryProblem
        The rows of X to train on, and their sides.
    random_state : int, optional
        Seed of every random_state in the estimator.
    sample_weight : array of shape (n_rows,), optional

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> problem = BinaryProblem("low-high", np.arange(4), np.array([False, False, True, True]))
    >>> binary = update_binary(None, GaussianNB(), X, problem)
    >>> binary.decisions(X) > 0
    array([False, False,  True,  True])
    """
    if binary is None:
        binary = TrainedBinary(problem.name, Output.CONSTANT)
    model = fit_batch(binary.estimator, estimator, X, problem, random_state, sample_weight)
    if model is None:
        return binary
    return without_calibration(replace(binary, estimator=model, classes=side_labels(model)))
