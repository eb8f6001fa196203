"""The final calibration of a composition, and how good its probabilities are out of fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.final import (
    DecoderMap,
    FinalFit,
    FinalMap,
    OutOfFoldAnswers,
    fit_final,
)
from polytomy.composition.conformal import ConformityRows, collect_conformity
from polytomy.composition.out_of_fold import OutOfFold
from polytomy.errors import SchemeError
from polytomy.inputs.judged_samples import JudgedSamples
from polytomy.metrics.scores import (
    brier_score_of,
    log_loss_of,
    uncertainty_coefficient_of_indices,
)
from polytomy.routines.runtime.library_threads import one_blas_thread

__all__ = ["FinalCalibration", "learn_conformity", "learn_final_calibration"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class FinalCalibration:
    """A final calibration, and its scores on samples that no model has seen.

    Attributes
    ----------
    map : FinalMap
    score : dict of str to float
        Out-of-fold ``log_loss``, ``brier_score``, ``accuracy`` and ``uncertainty_coefficient``.
    probabilities : array of shape (n_samples, n_classes), optional
        Out-of-fold probabilities of the samples of `OutOfFold`, if they are kept. Both the binaries
        and the map behind them were learnt without the sample's fold.
    conformity : ConformityRows, optional
        The same in compact form, for prediction sets. None if it is computed when it is needed, see
        `Composition.find_conformity`, and in files of earlier versions.
    """

    map: FinalMap
    score: dict[str, float]
    probabilities: Floats | None = None
    conformity: ConformityRows | None = None

    def check(self, n_classes: int, n_binaries: int) -> None:
        """Raise a SchemeError unless the map has the right shape."""
        if isinstance(self.map, DecoderMap):
            shape, expected = self.map.weights.shape, (n_binaries, n_classes)
            if shape != expected:
                raise SchemeError(f"the decoder has weights of shape {shape}, not {expected}.")


def learn_final_calibration(
    out_of_fold: OutOfFold,
    probabilities: Floats,
    decisions: Floats,
    *,
    keeps_conformity: bool = True,
) -> FinalCalibration:
    """Return the final calibration learnt from out-of-fold scores.

    Parameters
    ----------
    out_of_fold : OutOfFold
    probabilities : array of shape (n_samples, n_classes), the solver's
    decisions : array of shape (n_samples, n_binaries), the solver's input
    keeps_conformity : whether to keep the out-of-fold probabilities for prediction sets
    """
    classes, weight = out_of_fold.class_indices, out_of_fold.weight
    fit = _fit(out_of_fold, probabilities, decisions)
    kept = fit.probabilities if out_of_fold.keeps_probabilities else None
    conformity = None
    if keeps_conformity:
        conformity = collect_conformity(fit.probabilities, classes, weight)
    return FinalCalibration(fit.map, _judge(fit.probabilities, classes, weight), kept, conformity)


def learn_conformity(
    out_of_fold: OutOfFold, probabilities: Floats, decisions: Floats
) -> ConformityRows:
    """Return out-of-fold probabilities for prediction sets.

    The parameters are those of `learn_final_calibration`.
    """
    fit = _fit(out_of_fold, probabilities, decisions)
    return collect_conformity(fit.probabilities, out_of_fold.class_indices, out_of_fold.weight)


def _fit(out_of_fold: OutOfFold, probabilities: Floats, decisions: Floats) -> FinalFit:
    classes, weight = out_of_fold.class_indices, out_of_fold.weight
    answers = OutOfFoldAnswers(probabilities, decisions, classes, weight, out_of_fold.fold_of)
    with one_blas_thread():
        return fit_final(out_of_fold.final_calibration, answers, out_of_fold.seed)


def _judge(
    probabilities: Floats, class_indices: NDArray[np.intp], weight: Floats
) -> dict[str, float]:
    predicted = probabilities.argmax(axis=1)
    judged = JudgedSamples(class_indices, probabilities, weight, ())
    return {
        "log_loss": log_loss_of(judged),
        "brier_score": brier_score_of(judged),
        "accuracy": float(np.average(predicted == class_indices, weights=weight)),
        "uncertainty_coefficient": uncertainty_coefficient_of_indices(
            class_indices, predicted, weight
        ),
    }
