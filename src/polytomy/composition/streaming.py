"""Training a classifier on a stream of batches, with calibrated probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from polytomy.binary import TrainedBinary
from polytomy.binary.options import FitArguments, TrainingOptions
from polytomy.binary.preparation import resolve_estimator
from polytomy.binary.sides_training import check_sides_calibration
from polytomy.calibration.reservoir import Batch, Reservoir
from polytomy.composition.composition import Composition
from polytomy.composition.dichotomies import Dichotomy
from polytomy.composition.fitting import TrainedBinaries, update_binaries
from polytomy.composition.inner_estimator import why_no_partial_fit
from polytomy.composition.parameter_checks import CLASSIFIER_CHECKS
from polytomy.composition.plan import TrainingPlan
from polytomy.composition.scheme_argument import scheme_from
from polytomy.composition.stream_calibration import (
    calibrate_on_reservoir,
    is_calibrated,
    keep_calibration,
    learns_from_rows,
)
from polytomy.composition.training_options import training_source
from polytomy.errors import ArgumentError, CalibrationWarning, warn_caller
from polytomy.inputs.availability import available_unless
from polytomy.inputs.parameters import check_parameters
from polytomy.inputs.training_data import check_batch_labels, check_training_data

__all__ = ["StreamingMixin"]


class StreamingMixin:
    """``partial_fit`` of a classifier, and the calibration of what it trains.

    Calibration is learnt when it is first needed after a batch. Until then the object's
    ``__dict__`` has no ``composition_``, but ``_pending``, with what to calibrate.
    """

    estimator: Any
    scheme: Any
    solver: Any
    prediction_dtype: Any
    random_state: Any
    class_order: Any
    reservoir_size: int
    reservoir_: Reservoir

    if TYPE_CHECKING:

        def _plan(self, scheme: Any, estimator: Any) -> TrainingPlan: ...

    @property
    def composition_(self) -> Composition:
        """The fitted composition, calibrated on the rows that are held out so far."""
        if "_pending" in self.__dict__:
            composition, options = self.__dict__["_pending"]
            self.composition_ = calibrate_on_reservoir(
                composition, self.reservoir_, options, self.solver
            )
        if "composition_" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no composition_ before it is fitted")
        found: Composition = self.__dict__["composition_"]
        return found

    @composition_.setter
    def composition_(self, composition: Composition) -> None:
        self.__dict__.pop("_pending", None)
        self.__dict__["composition_"] = composition

    def _forget(self) -> None:
        """Remove the results of earlier calls."""
        for name in ("_pending", "composition_", "reservoir_"):
            self.__dict__.pop(name, None)

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
        X, y = check_training_data(self, X, y, reset=earlier is None)
        known = None if earlier is None else earlier.classes
        self.classes_ = check_batch_labels(np.asarray(y), classes, known)
        class_indices = np.searchsorted(self.classes_, y)
        training = training_source(
            self, "partial_fit", sample_weight, fit_params, self.classes_, class_indices
        )
        options = training.options()
        plan, dichotomies = None, () if earlier is None else earlier.dichotomies
        if earlier is None:
            scheme = scheme_from(
                self.scheme,
                self.classes_,
                random_state=self.random_state,
                class_order=self.class_order,
            )
            plan = self._plan(scheme, resolve_estimator(self.estimator))
            dichotomies = plan.dichotomies
        reservoir = self._reservoir_for(earlier, options, dichotomies)
        if reservoir is not None:
            reservoir, X, class_indices, options = _hold_out(reservoir, X, class_indices, options)
        before = None if earlier is None else earlier.binaries
        binaries: Sequence[TrainedBinary] = before or ()
        if len(class_indices) or plan is not None:
            binaries = update_binaries(
                before, dichotomies, X, class_indices, len(self.classes_), options
            )
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

    # -- parts of the above ---------------------------------------------------------------------

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
            if each.whole is not None:
                check_sides_calibration(options.calibration, each.whole.name, len(each.whole.sides))
        if self.reservoir_size == 0 or not learns_from_rows(options, dichotomies):
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
        lean = replace(options, arguments=FitArguments(), arguments_by_model={}, data_weight=None)
        self._pending = (composition, lean)


def _hold_out(
    reservoir: Reservoir, X: Any, class_indices: Any, options: TrainingOptions
) -> tuple[Reservoir, Any, Any, TrainingOptions]:
    """Return the reservoir after a batch, and the rows to train on with their options."""
    given = options.arguments.sample_weight
    weight = None if given is None else np.asarray(given, dtype=np.float64)
    reservoir, training, kept = reservoir.take(Batch(X, class_indices, weight))
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
    )
    return reservoir, training.X, training.class_indices, options


def _warn_of_lost_calibration(earlier: Composition) -> None:
    if is_calibrated(earlier):
        warn_caller(
            "partial_fit changes calibrated binaries, so their answers are no longer calibrated. "
            "Use a reservoir_size above 0, and a calibration.",
            CalibrationWarning,
        )
