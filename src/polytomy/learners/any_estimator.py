"""Training one binary: the model on all its samples, the calibrator on held-out scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context

from polytomy.calibration.calibrators import make_calibrator
from polytomy.calibration.folds import CannotCalibrateError, SharedFolds, check_folds, fold_masks
from polytomy.errors import ArgumentError, CalibrationWarning, PolytomyError, warn_caller
from polytomy.inputs.numbers import check_weights
from polytomy.inputs.rows import count_rows, take_rows
from polytomy.learners.options import TrainingOptions
from polytomy.learners.preparation import (
    check_neighbours,
    copy_unfitted,
    drops_rows_by_weight,
    fit_rows,
    parameters_with_weights,
    prepare_estimator,
    side_labels,
    takes_pairwise_values,
)
from polytomy.learners.problems import BinaryProblem, balance_sides
from polytomy.learners.trained import (
    HeldOutScores,
    Output,
    TrainedBinary,
    choose_output,
    match_sides,
    without_calibration,
)

__all__ = [
    "constant_binary",
    "describe_shortcoming",
    "train_and_hold_out",
    "train_binary",
    "weights_of_problem",
]

_FALLBACKS = {
    Output.MARGIN: "the logistic function of its decision values is used instead",
    Output.PROBABILITY: "its own predict_proba is used instead",
    Output.LABEL: "its predictions are used as if they were certain",
}
_ONE_SIDED = "cv holds out no samples, or only samples of one side"


def train_binary(
    estimator: Any,
    X: Any,
    problem: BinaryProblem,
    options: TrainingOptions | None = None,
    *,
    warn: bool = True,
) -> TrainedBinary:
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
    all samples. There are at most as many folds as the smaller side has samples. If a side has a
    single sample, or no fold can be used, the binary answers as with ``calibration=None``, with a
    CalibrationWarning. Samples of weight zero are ignored. If a side is empty, the answer is
    constant: +1 or −1, or 0 if both sides are empty.

    Parameters
    ----------
    estimator : classifier or pipeline
        It is cloned and fitted to the targets of `side_labels`.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
        The whole training data; for precomputed kernels, the (n_rows, n_rows) kernel matrix.
    problem : BinaryProblem
        The rows of X to train on, and their sides.
    options : TrainingOptions, optional
        ``random_state`` is the seed of this partition.
    warn : bool, default=True
        Whether to warn if the binary cannot be calibrated. Worker processes do not warn, because
        their warnings would be lost. The reason is always in the attribute ``shortcoming``.

    Returns
    -------
    TrainedBinary

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> problem = BinaryProblem("low-high", np.arange(4), np.array([False, False, True, True]))
    >>> binary = train_binary(SVC(), X, problem, TrainingOptions(random_state=0))
    >>> binary.decisions(X).round(2)
    array([-0.84, -0.75,  0.75,  0.84])
    """
    binary, _ = train_and_hold_out(estimator, X, problem, options)
    if warn and binary.shortcoming:
        warn_caller(binary.shortcoming, CalibrationWarning)
    return binary


def train_and_hold_out(
    estimator: Any, X: Any, problem: BinaryProblem, options: TrainingOptions | None = None
) -> tuple[TrainedBinary, HeldOutScores | None]:
    """Return a trained binary, and its scores for held-out rows if the options have shared folds.

    The parameters are those of `train_binary`, which does the same without the scores.
    """
    options = TrainingOptions() if options is None else options
    calibration, seed, folds = options.calibration, options.random_state, options.folds
    calibrator = make_calibrator(calibration, seed)
    check_folds(options.cv)
    prepared = prepare_estimator(estimator, seed)
    weight = weights_of_problem(problem, options, count_rows(X))
    fit_params = parameters_with_weights(prepared, options.arguments.fit_params, weight)
    if weight is not None:
        problem = problem.keep(weight[problem.rows] > 0)
    if problem.smaller_side == 0:
        constant = constant_binary(problem)
        if folds is None:
            return constant, None
        return constant, _of_scored_rows(np.full(count_rows(X), constant.constant), folds)

    trainer = _ProblemTrainer(
        prepared, X, weight, fit_params, takes_pairwise_values(prepared), side_labels(prepared)
    )
    if trainer.takes_pairwise_values:
        _check_square(X, prepared, problem.name)
    is_kept = None if folds is None else folds.trained_on(problem.rows)
    binary = without_calibration(trainer.train_without(problem, is_kept))
    check_neighbours(binary.estimator, problem.name)
    output = choose_output(binary.estimator, calibration)
    is_automatic = isinstance(calibration, str) and calibration == "auto"
    uses_own = calibration is None or (is_automatic and output is not Output.MARGIN)
    if folds is not None and not uses_own and _is_one_sided(problem, folds):
        binary = replace(binary, shortcoming=describe_shortcoming(binary, _ONE_SIDED))
        output, uses_own = binary.output, True
    held_out = None
    try:
        # The parameters of the estimator were validated when all samples were fitted.
        with config_context(skip_parameter_validation=True):
            if folds is not None:
                scores = trainer.score_rows(problem, output, folds, binary)
                held_out = _of_scored_rows(scores, folds)
                to_calibrate = trainer.select_problem(problem, scores, folds, output, binary)
            elif not uses_own:
                to_calibrate = trainer.hold_out(problem, output, options.cv, seed)
        if not uses_own:
            calibrator.fit(*to_calibrate)
    except CannotCalibrateError as reason:
        return replace(binary, shortcoming=describe_shortcoming(binary, str(reason))), None
    if not uses_own:
        binary = replace(binary, output=output, calibrator=calibrator)
    return binary, held_out


def weights_of_problem(
    problem: BinaryProblem, options: TrainingOptions, n_rows: int
) -> NDArray[np.float64] | None:
    """Return the weights of all rows of X in one problem, or None if all are one."""
    given = options.arguments.sample_weight
    weight = None if given is None else check_weights(given, n_rows)
    return balance_sides(problem, weight, n_rows) if options.balances_sides else weight


def constant_binary(problem: BinaryProblem) -> TrainedBinary:
    """Return the binary of a problem with an empty side, which always gives the same answer."""
    answer = float(np.sign(problem.n_positive - problem.n_negative))
    return TrainedBinary(problem.name, Output.CONSTANT, constant=answer)


def describe_shortcoming(binary: TrainedBinary, reason: str) -> str:
    """Return a sentence that says why a binary is not calibrated, and what is used instead."""
    return f'Partition "{binary.name}" cannot be calibrated: {reason}; {_FALLBACKS[binary.output]}.'


def _is_one_sided(problem: BinaryProblem, folds: SharedFolds) -> bool:
    """Return whether the folds fail to hold out samples of both sides of a problem."""
    sides = problem.is_positive[folds.fold_of[problem.rows] >= 0]
    return bool(sides.all() or not sides.any())


def _of_scored_rows(scores: NDArray[np.float64], folds: SharedFolds) -> HeldOutScores:
    return HeldOutScores(scores[folds.scored].astype(np.float32))


def _check_square(X: Any, estimator: Any, name: str) -> None:
    shape: tuple[int, ...] = getattr(X, "shape", (count_rows(X),))
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ArgumentError(
            f'Partition "{name}" is trained by {estimator!r}, which needs the kernel values or '
            f"distances of all pairs of samples, a square matrix; X has shape {shape}. Pass such "
            "a matrix, or use a kernel that is not precomputed."
        )


@dataclass(frozen=True, slots=True)
class _ProblemTrainer:
    """Fits clones of one prepared estimator to parts of one binary problem."""

    estimator: Any
    X: Any
    weight: NDArray[np.float64] | None
    fit_params: Mapping[str, Any]
    takes_pairwise_values: bool
    sides: tuple[int, int]

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
        model = copy_unfitted(self.estimator)
        fit_rows(
            model,
            self.X,
            problem.rows,
            problem.labelled(self.sides),
            fit_params,
            takes_pairwise_values=self.takes_pairwise_values,
            place=f'binary of partition "{problem.name}"',
        )
        classes, positive_index = self.sides, 1
        if getattr(model, "classes_", None) is not None:
            negative, positive = self.sides
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
        self, problem: BinaryProblem, output: Output, folds: SharedFolds, whole: TrainedBinary
    ) -> NDArray[np.float64]:
        """Return the score of each row from the model that was trained without the row's fold.

        The score is NaN for rows that are neither in the problem nor scored by every binary.
        """
        scores = np.full(len(folds.fold_of), np.nan)
        is_wanted = np.zeros(len(scores), dtype=np.bool_)
        is_wanted[folds.scored] = is_wanted[problem.rows] = True
        for fold, part in enumerate(folds.parts(problem.rows, problem.is_positive)):
            rows = np.flatnonzero((folds.fold_of == fold) & is_wanted)
            if part.constant is not None:
                n_seen = int(np.count_nonzero(part.is_kept))
                # Probabilities from Laplace's rule of succession.
                is_probability = output is Output.PROBABILITY
                scores[rows] = part.constant * (n_seen / (n_seen + 2) if is_probability else 1.0)
                continue
            try:
                if not len(rows):
                    continue
                is_trained = part.is_whole or folds.is_only_part
                binary = whole if is_trained else self.train(problem.keep(part.is_kept))
                scores[rows] = replace(binary, output=output).scores(take_rows(self.X, rows))
            except PolytomyError:
                raise
            except ValueError as error:
                # Fitting all samples worked, so the fold must be too small.
                raise CannotCalibrateError(f"a fold cannot be fitted ({error})") from error
        return scores

    def select_problem(
        self,
        problem: BinaryProblem,
        scores: NDArray[np.float64],
        folds: SharedFolds,
        output: Output,
        whole: TrainedBinary,
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64] | None]:
        """Return the scores, sides and weights of rows in the problem, for a calibrator.

        If a fold has only one side to train on, its constant score says nothing about the relation
        between scores and sides, so the model of all samples is used instead.
        """
        scores = scores.copy()
        for part in folds.parts(problem.rows, problem.is_positive):
            rows = problem.rows[part.held_out]
            if part.constant is not None and len(rows):
                scores[rows] = replace(whole, output=output).scores(take_rows(self.X, rows))
        is_scored = folds.fold_of[problem.rows] >= 0
        rows, sides = problem.rows[is_scored], problem.is_positive[is_scored]
        weight = None if self.weight is None else self.weight[rows]
        return scores[rows], sides, folds.weigh(weight, rows)

    def hold_out(
        self, problem: BinaryProblem, output: Output, cv: Any, seed: int | None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64] | None]:
        """Return the scores, sides and weights of samples that were held out of training."""
        scores: list[NDArray[np.float64]] = []
        held_out: list[NDArray[np.intp]] = []
        for is_kept, test in fold_masks(problem.rows, problem.is_positive, self.X, cv, seed):
            try:
                binary = replace(self.train(problem.keep(is_kept)), output=output)
                scores.append(binary.scores(take_rows(self.X, problem.rows[test])))
            except PolytomyError:
                raise
            except ValueError as error:
                # Fitting all samples worked, so the fold must be too small.
                raise CannotCalibrateError(f"a fold cannot be fitted ({error})") from error
            held_out.append(test)
        order = np.concatenate(held_out) if held_out else np.empty(0, dtype=np.intp)
        sides = problem.is_positive[order]
        if len(np.unique(sides)) < 2:
            raise CannotCalibrateError(_ONE_SIDED)
        weight = None if self.weight is None else self.weight[problem.rows[order]]
        return np.concatenate(scores), sides, weight
