"""Calibrating a composition on the held-out rows of a stream: its binaries, and the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.banks import Bank
from polytomy.binary import TrainedBinary
from polytomy.binary.answers import Output, choose_output
from polytomy.binary.options import TrainingOptions
from polytomy.binary.sides import SidesModel, choose_sides_output, side_binaries
from polytomy.calibration import UncalibratedMap
from polytomy.calibration.option import HeldOut, fit_calibrators
from polytomy.calibration.reservoir import Reservoir
from polytomy.calibration.vector_scaling import fit_vector_scaling
from polytomy.composition.composition import Composition
from polytomy.composition.dichotomies import Dichotomy
from polytomy.composition.out_of_fold import OutOfFold
from polytomy.composition.priors import ClassFrequencies
from polytomy.composition.solver_option import Solver, resolve_solver
from polytomy.inputs.seeds import partition_seeds

__all__ = ["calibrate_on_reservoir", "is_calibrated", "keep_calibration", "learns_from_rows"]

Floats = NDArray[np.float64]

# Held-out rows needed to replace a calibration from before the stream.
_ENOUGH_ROWS = 100


def learns_from_rows(options: TrainingOptions, dichotomies: Sequence[Dichotomy]) -> bool:
    """Return whether there is anything to calibrate."""
    to_train = {id(each.estimator): each.estimator for each in dichotomies if each.trained is None}
    if not to_train:
        return False
    if options.final_calibration is not None and options.wants_probabilities:
        return True
    return any(_learns(each, options.calibration) for each in to_train.values())


def _learns(estimator: Any, calibration: Any) -> bool:
    """Return whether the answers of an estimator need a calibrator that learns."""
    if calibration is None:
        return False
    is_automatic = isinstance(calibration, str) and calibration == "auto"
    return not is_automatic or choose_output(estimator, "auto") is Output.MARGIN


def is_calibrated(composition: Composition) -> bool:
    """Return whether a composition has anything that was learnt from held-out rows."""
    maps = [binary.calibrator for binary in composition.binaries]
    has_map = any(each is not None and not isinstance(each, UncalibratedMap) for each in maps)
    return has_map or composition.final is not None


def keep_calibration(
    binaries: Sequence[TrainedBinary], earlier: Sequence[TrainedBinary]
) -> list[TrainedBinary]:
    """Return binaries with the calibrators that they had before they were trained further."""
    kept = []
    for binary, before in zip(binaries, earlier, strict=True):
        if binary.output is Output.SIDE and isinstance(before.estimator, SidesModel):
            model = replace(binary.estimator, scaling=before.estimator.scaling)
            kept.append(replace(binary, estimator=model))
        elif before.calibrator is None or before.output is Output.CONSTANT:
            kept.append(binary)
        else:
            kept.append(replace(binary, output=before.output, calibrator=before.calibrator))
    return _share_models(kept)


def _share_models(binaries: Sequence[TrainedBinary]) -> list[TrainedBinary]:
    """Return the binaries with one model for all sides of a partition."""
    models: dict[int, Any] = {}
    return [
        replace(each, estimator=models.setdefault(id(each.estimator.estimator), each.estimator))
        if each.output is Output.SIDE
        else each
        for each in binaries
    ]


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
    takes_weights = all(
        each is None or isinstance(each, str)
        for each in (options.calibration, options.final_calibration)
    )
    weight = reservoir.calibration_weight() if takes_weights else reservoir.weight
    learner = _Learner(reservoir, weight, options)
    if not np.isfinite(learner.score(composition.binaries)).all():
        return composition  # its models have hardly seen any rows
    binaries = learner.calibrate(composition)
    final = options.final_calibration
    composition = composition.with_binaries(binaries)
    if final is None or len(composition.classes) < 2:
        plain = resolve_solver(solver, composition.scheme, is_calibrated=False)
        return replace(composition, solver=plain)
    (seed,) = partition_seeds(options.random_state, 1)
    out_of_fold = OutOfFold(
        learner.score(binaries).astype(np.float32),
        np.arange(reservoir.n_held),
        reservoir.n_held,
        reservoir.class_indices,
        weight,
        np.zeros(reservoir.n_held, dtype=np.intp),
        "bias" if isinstance(final, str) and final == "auto" else final,
        seed,
        options.keep_out_of_fold,
    )
    solver = resolve_solver(solver, composition.scheme, is_calibrated=True)
    calibrated = replace(composition, solver=solver).calibrated_on(out_of_fold)
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
        binaries = self._calibrate_sides(composition)
        to_learn: dict[int, TrainedBinary] = {}
        for k, (binary, each) in enumerate(zip(binaries, dichotomies, strict=True)):
            is_model = binary.output not in (Output.CONSTANT, Output.SIDE)
            if each.trained is None and is_model and _learns(binary.estimator, calibration):
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

    def _calibrate_sides(self, composition: Composition) -> list[TrainedBinary]:
        """Return the binaries, those of partitions with more than two sides calibrated."""
        binaries = list(composition.binaries)
        calibration, done = self._options.calibration, dict[int, list[TrainedBinary]]()
        for k, each in enumerate(composition.dichotomies):
            model = binaries[k].estimator
            if each.whole is None or each.trained is not None or model.estimator is None:
                continue
            if id(model) not in done:
                sided = side_binaries(self._scale(model, each.whole.sides, calibration))
                done[id(model)] = sided
            binaries[k] = done[id(model)][each.side]
        return binaries

    def _scale(
        self, model: SidesModel, sides: Sequence[Sequence[int]], calibration: Any
    ) -> SidesModel:
        """Return a model with the vector scaling that suits the rows of the reservoir."""
        output, plain = choose_sides_output(model.estimator, calibration, model.n_sides)
        model = replace(model, output=output, scaling=plain)
        if plain is None or calibration is None:
            return model
        side_of = np.full(len(self._reservoir.n_of_class), -1)
        for side, classes in enumerate(sides):
            side_of[list(classes)] = side
        own = side_of[self._reservoir.class_indices]
        is_inside = own >= 0
        if len(np.unique(own[is_inside])) < 2:
            return model
        scaling = fit_vector_scaling(
            model.values(self._reservoir.X)[is_inside],
            own[is_inside],
            self._weight[is_inside],
            common_slope=calibration == "temperature",
        )
        return replace(model, scaling=scaling)
