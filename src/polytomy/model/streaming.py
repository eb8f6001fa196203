"""Training on a stream of batches, with probabilities calibrated on held-out rows.

A random subset of the rows, the reservoir, is kept and not trained on. After a batch, the
calibrators of the binaries and the final calibration are learnt from the reservoir when they are
first needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from polytomy.calibration.calibrators import HeldOut, fit_calibrators
from polytomy.calibration.reservoir import Reservoir, StreamedRows
from polytomy.errors import ArgumentError, CalibrationWarning, warn_caller
from polytomy.inputs.arguments import available_unless, check_parameters
from polytomy.inputs.rows import group_rows
from polytomy.inputs.seeds import partition_seeds
from polytomy.inputs.training_data import check_batch_labels, check_training_data
from polytomy.learners.bank import Bank
from polytomy.learners.preparation import resolve_estimator
from polytomy.learners.problems import Dichotomy
from polytomy.learners.sides import calibrate_sides, check_sides_calibration, keep_calibration
from polytomy.learners.trained import Output, TrainedBinary, choose_output
from polytomy.learners.workload import FitArguments, TrainingOptions
from polytomy.model.answering import AnsweringMixin
from polytomy.model.arrangement import Solver, check_solver, resolve_solvers
from polytomy.model.composition import Composition
from polytomy.model.decisions import ClassFrequencies
from polytomy.model.estimator import CLASSIFIER_CHECKS, make_training_options
from polytomy.model.fitting import TrainedBinaries, TrainingPlan, plan_training, update_binaries
from polytomy.model.out_of_fold import (
    OutOfFold,
    has_learnt,
    learns_from_rows,
    needs_calibrator,
    takes_weights,
)
from polytomy.model.scheme_argument import find_known_order, members_of, scheme_from
from polytomy.scheme import Scheme, SchemeEnsemble

Floats = NDArray[np.float64]

# Held-out rows needed to replace a calibration from before the stream.
_ENOUGH_ROWS = 100


def why_no_partial_fit(classifier: Any) -> str:
    """Return why a classifier cannot be trained in batches; empty if it can."""
    if isinstance(classifier.class_weight, str):
        return (
            f'class_weight="{classifier.class_weight}" needs all the data at once. Use a dict of '
            "labels and weights."
        )
    estimator = resolve_estimator(classifier.estimator)
    if not hasattr(estimator, "partial_fit"):
        return (
            f"{type(estimator).__name__!r} object has no attribute 'partial_fit'. Use an estimator "
            "such as SGDClassifier()."
        )
    return ""


class StreamingMixin(AnsweringMixin):
    """``partial_fit`` of a classifier, and the calibration of what it trains.

    Calibration is learnt when it is first needed after a batch. Until then the object's
    ``__dict__`` has no ``composition_``, but ``_pending``, with what to calibrate.
    """

    estimator: Any
    models: Any
    prediction_dtype: Any
    reservoir_size: int
    reservoir_: Reservoir

    def _plan(self, scheme: Scheme | SchemeEnsemble, estimator: Any) -> TrainingPlan:
        """Return which dichotomies to train, after checking that the solver suits the scheme."""
        for member in members_of(scheme):
            check_solver(member, self.solver)
        return plan_training([scheme], self.classes_, estimator, self.models)

    def _calibrate_pending(self) -> None:
        """Calibrate what was trained since the last calibration."""
        composition, options = self.__dict__["_pending"]
        self.composition_ = calibrate_on_reservoir(
            composition, self.reservoir_, options, self.solver
        )

    @available_unless(why_no_partial_fit)
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Train the binaries on one more batch, and calibrate them on held-out rows.

        A random subset of the rows, at most `reservoir_size`, is kept and not used for training.
        Probabilities are calibrated on these rows when they are first requested after a batch.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        classes : all labels that will occur; required in the first call
        """
        check_parameters(self, CLASSIFIER_CHECKS)
        earlier = self._trained_so_far()
        given_labels = y
        X, y = check_training_data(self, X, y, reset=earlier is None)
        known = None if earlier is None else earlier.classes
        self.classes_ = check_batch_labels(np.asarray(y), classes, known)
        class_indices = np.searchsorted(self.classes_, y)
        options = make_training_options(
            self, "partial_fit", sample_weight, fit_params, self.classes_, class_indices
        )
        plan, dichotomies = None, () if earlier is None else earlier.dichotomies
        if earlier is None:
            self.class_order_ = find_known_order(
                self.scheme, given_labels, self.classes_, self.class_order
            )
            scheme = scheme_from(
                self.scheme,
                self.classes_,
                random_state=self.random_state,
                class_order=self.class_order_,
                max_sides=options.max_sides,
            )
            plan = self._plan(scheme, resolve_estimator(self.estimator))
            dichotomies = plan.dichotomies
        reservoir = self._reservoir_for(earlier, options, dichotomies)
        if reservoir is not None:
            reservoir, X, options = _hold_out(reservoir, X, options)
        before = None if earlier is None else earlier.binaries
        binaries: Sequence[TrainedBinary] = before or ()
        if len(options.class_indices) or plan is not None:
            binaries = update_binaries(before, dichotomies, X, options)
        self._keep(earlier, plan, binaries, reservoir, options)
        return self

    def begin_pass(self) -> Self:
        """Begin another pass over the same batches, with the same rows in the same order.

        Held-out rows are held out again. Without this call, a repeated row counts as a new row:
        rows in the reservoir would be trained on, and the calibration would be too optimistic.
        """
        reservoir = self.__dict__.get("reservoir_")
        if self._trained_so_far() is None:
            raise ArgumentError("there was no pass yet. Call partial_fit first.")
        if reservoir is not None:
            self.reservoir_ = reservoir.rewind()
        return self

    def _trained_so_far(self) -> Composition | None:
        """Return the composition trained so far, which may not be calibrated yet."""
        pending = self.__dict__.get("_pending")
        found: Composition | None = pending[0] if pending else self.__dict__.get("composition_")
        return found

    def _reservoir_for(
        self,
        earlier: Composition | None,
        options: TrainingOptions,
        dichotomies: Sequence[Dichotomy],
    ) -> Reservoir | None:
        """Return the reservoir so far, or an empty one; None if nothing is held out."""
        found: Reservoir | None = self.__dict__.get("reservoir_")
        for each in dichotomies:
            if not each.is_binary:
                name, n_sides = each.partition.name, len(each.partition.sides)
                check_sides_calibration(options.calibration, name, n_sides)
        if self.reservoir_size == 0 or not _has_to_calibrate(options, dichotomies):
            return None
        if found is not None and earlier is not None:
            return replace(found, size=self.reservoir_size)
        seed = int(check_random_state(self.random_state).randint(2**31))
        return Reservoir.empty(
            len(self.classes_), self.reservoir_size, seed, starts_late=earlier is not None
        )

    def _keep(
        self,
        earlier: Composition | None,
        plan: TrainingPlan | None,
        binaries: Sequence[TrainedBinary],
        reservoir: Reservoir | None,
        options: TrainingOptions,
    ) -> None:
        """Store what a batch has changed."""
        composition: Composition
        if plan is not None:
            trained = TrainedBinaries(list(binaries))
            composition = plan.compose(trained, self.solver, self.prediction_dtype)
        else:
            assert earlier is not None
            composition = earlier.with_binaries(binaries)
            if reservoir is None:
                _warn_of_lost_calibration(earlier)
                composition = composition.with_solver(self.solver)
            elif reservoir.starts_late:
                kept = keep_calibration(binaries, earlier.binaries)
                composition = replace(
                    composition.with_binaries(kept),
                    final=earlier.final,
                    out_of_fold=earlier.out_of_fold,
                )
        self._forget()
        if reservoir is None:
            self.composition_ = composition
            return
        self.reservoir_ = reservoir
        # The weights of the batch are no longer needed.
        self._pending = (composition, options.without_rows())


def _hold_out(
    reservoir: Reservoir, X: Any, options: TrainingOptions
) -> tuple[Reservoir, Any, TrainingOptions]:
    """Return the reservoir after a batch, and the rows to train on with their options."""
    given = options.arguments.sample_weight
    weight = None if given is None else np.asarray(given, dtype=np.float64)
    reservoir, training, kept = reservoir.take(StreamedRows(X, options.class_indices, weight))
    n_old = len(training.class_indices) - len(kept)

    def select(arguments: FitArguments) -> FitArguments:
        if arguments.sample_weight is None:
            return arguments
        own = np.asarray(arguments.sample_weight, dtype=np.float64)[kept]
        old = np.ones(n_old) if training.weight is None else training.weight[len(kept) :]
        return replace(arguments, sample_weight=np.concatenate([own, old]))

    options = replace(
        options,
        arguments=replace(options.arguments, sample_weight=training.weight),
        arguments_by_model={
            name: select(each) for name, each in options.arguments_by_model.items()
        },
        class_indices=training.class_indices,
    )
    return reservoir, training.X, options


def _warn_of_lost_calibration(earlier: Composition) -> None:
    if is_calibrated(earlier):
        warn_caller(
            "partial_fit changes calibrated binaries, so their answers are no longer calibrated. "
            "Use a reservoir_size above 0, and a calibration.",
            CalibrationWarning,
        )


# -- calibration on the rows of a reservoir --------------------------------------------------------


def _has_to_calibrate(options: TrainingOptions, dichotomies: Sequence[Dichotomy]) -> bool:
    """Return whether there is anything to calibrate."""
    has_models = any(each.trained is None for each in dichotomies)
    has_final = options.final_calibration is not None and options.wants_probabilities
    return (has_models and has_final) or learns_from_rows(options.calibration, dichotomies)


def is_calibrated(composition: Composition) -> bool:
    """Return whether a composition has anything that was learnt from held-out rows."""
    return composition.final is not None or any(map(has_learnt, composition.binaries))


def calibrate_on_reservoir(
    composition: Composition, reservoir: Reservoir, options: TrainingOptions, solver: Solver
) -> Composition:
    """Return the composition with calibrators and a final calibration learnt from a reservoir.

    A binary does not change if the reservoir has rows of only one of its sides. Nothing changes if
    there are too few rows to replace an earlier calibration.

    Parameters
    ----------
    composition : Composition, with binaries that were not trained on the rows of the reservoir
    reservoir : Reservoir
    options : TrainingOptions
    solver : value of the parameter; "auto" depends on whether there is a final calibration
    """
    is_earlier_better = reservoir.starts_late and reservoir.n_held < _ENOUGH_ROWS
    if not reservoir.n_held or (is_earlier_better and is_calibrated(composition)):
        return composition
    weight = reservoir.calibration_weight() if takes_weights(options) else reservoir.weight
    learner = _Learner(reservoir, weight, options)
    if not np.isfinite(learner.score(composition.binaries)).all():
        return composition  # its models have hardly seen any rows
    binaries = learner.calibrate(composition)
    final = options.final_calibration
    composition = composition.with_binaries(binaries)
    if final is None or len(composition.classes) < 2:
        plain = resolve_solvers(solver, composition.scheme, is_calibrated=False)
        return replace(composition, solvers=plain)
    (seed,) = partition_seeds(options.random_state, 1)
    out_of_fold = OutOfFold(
        learner.score(binaries).astype(np.float32),
        np.arange(reservoir.n_held),
        reservoir.n_held,
        reservoir.class_indices,
        weight,
        np.zeros(reservoir.n_held, dtype=np.intp),
        final,
        seed,
        options.keep_out_of_fold,
    )
    solvers = resolve_solvers(solver, composition.scheme, is_calibrated=True)
    calibrated = replace(composition, solvers=solvers).calibrated_on(out_of_fold)
    return replace(calibrated, frequencies=_find_frequencies(reservoir))


def _find_frequencies(reservoir: Reservoir) -> ClassFrequencies | None:
    """Return how frequent the classes of the stream are; None if part of it was not counted."""
    counts, weights = reservoir.n_of_class, reservoir.weight_of_class
    if reservoir.starts_late or not weights.any():
        return None
    return ClassFrequencies(counts / counts.sum(), weights / weights.sum())


class _Learner:
    """Learns calibrators from the rows of a reservoir."""

    def __init__(self, reservoir: Reservoir, weight: Floats, options: TrainingOptions) -> None:
        self._reservoir, self._weight, self._options = reservoir, weight, options

    def score(self, binaries: Sequence[TrainedBinary]) -> Floats:
        """Return the scores of all rows, of shape (n_held, n_binaries)."""
        return Bank(binaries).scores(self._reservoir.X, n_jobs=self._options.n_jobs)

    def calibrate(self, composition: Composition) -> list[TrainedBinary]:
        """Return the binaries of a composition, calibrated."""
        calibration = self._options.calibration
        dichotomies = composition.dichotomies
        reservoir = self._reservoir
        rows_of_class = group_rows(reservoir.class_indices, len(reservoir.n_of_class))
        rows = reservoir.X, rows_of_class, self._weight
        binaries = calibrate_sides(dichotomies, composition.binaries, calibration, *rows)
        to_learn: dict[int, TrainedBinary] = {}
        for k, (binary, each) in enumerate(zip(binaries, dichotomies, strict=True)):
            is_model = each.is_binary and binary.output is not Output.CONSTANT
            if (
                each.trained is None
                and is_model
                and needs_calibrator(binary.estimator, calibration)
            ):
                output = choose_output(binary.estimator, calibration)
                to_learn[k] = replace(binary, output=output, calibrator=None)
        if not to_learn:
            return binaries
        scores = self.score(list(to_learn.values()))
        held_out = [
            self._select(dichotomies[k], scores[:, column]) for column, k in enumerate(to_learn)
        ]
        seeds = partition_seeds(self._options.random_state, len(dichotomies))
        learnt = fit_calibrators(calibration, held_out, [seeds[k] for k in to_learn])
        for (k, binary), calibrator in zip(to_learn.items(), learnt, strict=True):
            if calibrator is not None:
                binaries[k] = replace(binary, calibrator=calibrator)
        return binaries

    def _select(self, dichotomy: Dichotomy, scores: Floats) -> HeldOut | None:
        """Return what a calibrator learns from; None if there are not both sides."""
        classes = self._reservoir.class_indices
        is_positive = np.isin(classes, dichotomy.positive)
        is_inside = is_positive | np.isin(classes, dichotomy.negative)
        sides = is_positive[is_inside]
        if not sides.any() or sides.all():
            return None
        weight = self._weight[is_inside]
        # Calibrators of users need not take weights unless there are any.
        return HeldOut(scores[is_inside], sides, None if (weight == 1.0).all() else weight)
