"""Training and calibrating the model of a partition with more than two sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.svm import SVC, NuSVC

from polytomy.binary.answers import HeldOutScores, TrainedBinary
from polytomy.binary.options import TrainingOptions
from polytomy.binary.preparation import prepare_estimator, tags_of, takes_pairwise_values
from polytomy.binary.row_fits import check_neighbours, fit_rows, parameters_with_weights
from polytomy.binary.sides import SidesModel, SidesProblem, choose_sides_output, side_binaries
from polytomy.calibration.folds import check_folds
from polytomy.calibration.shared_folds import SharedFolds, make_shared_folds
from polytomy.calibration.vector_scaling import VectorScaling, fit_vector_scaling
from polytomy.errors import Argument, ArgumentError, PolytomyError
from polytomy.inputs.pipelines import split_pipeline
from polytomy.inputs.rows import count_rows, take_columns, take_rows
from polytomy.inputs.weights import check_weights

__all__ = ["check_sides_calibration", "train_sides"]

Floats = NDArray[np.float64]

_CALIBRATIONS = ("auto", "sigmoid", "temperature")


def train_sides(
    estimator: Any, X: Any, problem: SidesProblem, options: TrainingOptions | None = None
) -> tuple[list[TrainedBinary], list[HeldOutScores | None]]:
    """Return a binary for each side of a partition, and their scores for held-out rows.

    The scores are None if the options have no shared folds. The estimator is fitted to the numbers
    of the sides. It answers with ``predict_proba``, or with decision values that vector scaling
    turns into probabilities; the scaling learns from held-out folds. A named calibration other than
    "auto" does this for every estimator: "sigmoid" is vector scaling, "temperature" has one slope.

    Parameters
    ----------
    estimator : classifier or pipeline that separates any number of classes
    X : array, sparse matrix or frame of shape (n_rows, n_features), the whole training data
    problem : SidesProblem
    options : TrainingOptions, optional
    """
    options = TrainingOptions() if options is None else options
    calibration, folds = options.calibration, options.folds
    check_sides_calibration(calibration, problem.name, problem.n_sides)
    check_folds(options.cv)
    prepared = prepare_estimator(estimator, options.random_state)
    _check_multi_class(prepared, problem)
    weight = _weights_of_sides(problem, options, count_rows(X))
    fit_params = parameters_with_weights(prepared, options.arguments.fit_params, weight)
    if weight is not None:
        problem = problem.keep(weight[problem.rows] > 0)
    trainer = _SidesTrainer(prepared, X, fit_params, takes_pairwise_values(prepared))
    is_kept = None if folds is None else folds.trained_on(problem.rows)
    trained_on = problem if is_kept is None else problem.keep(is_kept)
    whole = trainer.train(trained_on, calibration)
    check_neighbours(whole.estimator, problem.name)
    columns = trained_on.rows if trainer.takes_pairwise_values else None
    learns = whole.scaling is not None and calibration is not None
    if folds is None and not learns:
        return side_binaries(whole, columns), [None] * problem.n_sides
    own_folds = _make_folds(problem, X, options) if folds is None else folds
    try:
        values = trainer.hold_out(problem, own_folds, calibration, whole)
    except _FoldError as error:
        shortcoming = (
            f'Partition "{problem.name}" cannot be calibrated: a fold cannot be fitted ({error}); '
            "its uncalibrated answers are used instead."
        )
        return side_binaries(whole, columns, shortcoming=shortcoming), [None] * problem.n_sides
    if learns:
        scaling = _learn_scaling(problem, values, own_folds, weight, calibration)
        whole = replace(whole, scaling=scaling or whole.scaling)
    held_out: list[HeldOutScores | None] = [None] * problem.n_sides
    if folds is not None:
        scored = values[folds.scored]
        chances = scored if whole.scaling is None else whole.scaling.apply(scored)
        decisions = (2.0 * chances - 1.0).astype(np.float32)
        held_out = [HeldOutScores(decisions[:, side]) for side in range(problem.n_sides)]
    return side_binaries(whole, columns), held_out


class _FoldError(Exception):
    """Raised if a fold cannot be fitted."""


def check_sides_calibration(calibration: Any, name: str, n_sides: int) -> None:
    """Raise an ArgumentError if a calibration does not work for more than two sides."""
    if calibration is not None and not (
        isinstance(calibration, str) and calibration in _CALIBRATIONS
    ):
        raise ArgumentError(
            Argument("calibration", calibration),
            f' is for binary partitions; partition "{name}" has {n_sides} sides. '
            'Use "auto", "sigmoid", "temperature" or None.',
        )


def _check_multi_class(estimator: Any, problem: SidesProblem) -> None:
    tags = tags_of(estimator)
    classifier_tags = None if tags is None else tags.classifier_tags
    if classifier_tags is not None and not classifier_tags.multi_class:
        kind = type(split_pipeline(estimator)[1]).__name__
        raise ArgumentError(
            f'Partition "{problem.name}" has {problem.n_sides} sides, but {kind} separates only '
            "two classes. Use @one-vs-one in place of the partition, or another estimator."
        )
    machine = split_pipeline(estimator)[1]
    if isinstance(machine, SVC | NuSVC):
        machine.set_params(decision_function_shape="ovr")  # a value for each side, not each pair


def _weights_of_sides(
    problem: SidesProblem, options: TrainingOptions, n_rows: int
) -> Floats | None:
    """Return the weights of all rows of X, or None if all are one."""
    given = options.arguments.sample_weight
    weight = None if given is None else check_weights(given, n_rows)
    if not options.balances_sides:
        return weight
    balanced = np.ones(n_rows) if weight is None else weight.copy()
    own = balanced[problem.rows]
    totals = np.bincount(problem.sides, weights=own, minlength=problem.n_sides)
    share = own.sum() / max(1, np.count_nonzero(totals))
    factors = np.divide(share, totals, out=np.ones_like(totals), where=totals > 0)
    balanced[problem.rows] = own * factors[problem.sides]
    return balanced


def _make_folds(problem: SidesProblem, X: Any, options: TrainingOptions) -> SharedFolds:
    """Return folds for this problem only, stratified by its sides."""
    labels = np.full(count_rows(X), problem.n_sides, dtype=np.intp)
    labels[problem.rows] = problem.sides
    return make_shared_folds(X, labels, options.cv, options.random_state)


def _learn_scaling(
    problem: SidesProblem,
    values: Floats,
    folds: SharedFolds,
    weight: Floats | None,
    calibration: str,
) -> VectorScaling | None:
    """Return the scaling learnt from held-out rows of the problem; None if there are none."""
    own = values[problem.rows]
    is_usable = np.isfinite(own).all(axis=1)
    if not is_usable.any():
        return None
    return fit_vector_scaling(
        own[is_usable],
        problem.sides[is_usable],
        folds.weigh(
            None if weight is None else weight[problem.rows][is_usable], problem.rows[is_usable]
        ),
        common_slope=calibration == "temperature",
    )


@dataclass(frozen=True, slots=True)
class _SidesTrainer:
    """Fits clones of one prepared estimator to parts of one problem."""

    estimator: Any
    X: Any
    fit_params: Mapping[str, Any]
    takes_pairwise_values: bool

    def train(self, problem: SidesProblem, calibration: Any) -> SidesModel:
        """Fit a clone of the estimator to all samples of the problem."""
        known, labels = np.unique(problem.sides, return_inverse=True)
        sides = tuple(known.tolist())
        if len(sides) < 2:
            return SidesModel(problem.name, problem.n_sides, None, sides)
        model = clone(self.estimator)
        fit_rows(
            model,
            self.X,
            problem.rows,
            labels,  # the sides that have samples, counted from 0: some classifiers reject gaps
            self.fit_params,
            takes_pairwise_values=self.takes_pairwise_values,
            place=f'model of partition "{problem.name}"',
        )
        output, scaling = choose_sides_output(model, calibration, problem.n_sides)
        own = tuple(range(len(sides)))
        return SidesModel(problem.name, problem.n_sides, model, sides, own, output, scaling)

    def hold_out(
        self, problem: SidesProblem, folds: SharedFolds, calibration: Any, whole: SidesModel
    ) -> Floats:
        """Return the output for each row from the model that was trained without the row's fold.

        The output is the input of vector scaling, or probabilities if there is no scaling. It is
        NaN
        for rows that are neither in the problem nor scored by every binary.
        """
        values = np.full((len(folds.fold_of), problem.n_sides), np.nan)
        is_wanted = np.zeros(len(values), dtype=np.bool_)
        is_wanted[folds.scored] = is_wanted[problem.rows] = True
        for fold, is_trained_on in enumerate(folds.is_trained_on):
            rows = np.flatnonzero((folds.fold_of == fold) & is_wanted)
            is_kept = is_trained_on[problem.rows]
            if not len(rows):
                continue
            try:
                is_whole = folds.is_only_part or bool(is_kept.all())
                model = whole if is_whole else self.train(problem.keep(is_kept), calibration)
                part = take_rows(self.X, rows)
                if self.takes_pairwise_values:
                    part = take_columns(part, problem.rows[is_kept])
                values[rows] = self._answers(model, part, whole)
            except PolytomyError:
                raise
            except ValueError as error:
                raise _FoldError(str(error)) from error  # fitting all samples worked
        return values

    @staticmethod
    def _answers(model: SidesModel, part: Any, whole: SidesModel) -> Floats:
        if whole.scaling is None:
            return model.predict_proba(part)
        if model.estimator is not None:
            return model.values(part)
        # The fold has samples of only one side, or of none.
        with np.errstate(divide="ignore"):
            return np.log(model.predict_proba(part))
