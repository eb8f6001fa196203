"""The final calibration of a composition, and how good its probabilities are out of fold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.final import DecoderMap, FinalMap, OutOfFoldAnswers, fit_final
from polytomy.composition.conformal import ConformityRows, collect_conformity
from polytomy.composition.out_of_fold import OutOfFold
from polytomy.errors import SchemeError
from polytomy.inputs.judged_samples import JudgedSamples
from polytomy.metrics.scores import (
    brier_score_of,
    log_loss_of,
    uncertainty_coefficient_of_indices,
)
from polytomy.routines.runtime.blas import one_blas_thread

__all__ = ["FinalCalibration", "learn_final_calibration"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class FinalCalibration:
    """A final calibration, and what it achieves on samples that no model has seen.

    Attributes
    ----------
    map : FinalMap
    score : dict of str to float
        Out-of-fold ``log_loss``, ``brier_score``, ``accuracy`` and ``uncertainty_coefficient``.
    probabilities : array of shape (n_samples, n_classes), optional
        Out-of-fold probabilities of the samples of `OutOfFold`, if they are kept. Both the binaries
        and the map behind them were learnt without the sample's fold.
    conformity : ConformityRows, optional
        The same in compact form, from which prediction sets are made. Files of earlier versions
        have none.
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
    out_of_fold: OutOfFold, probabilities: Floats, decisions: Floats
) -> FinalCalibration:
    """Return the final calibration that out-of-fold scores ask for.

    Parameters
    ----------
    out_of_fold : OutOfFold
    probabilities : array of shape (n_samples, n_classes), the solver's
    decisions : array of shape (n_samples, n_binaries), what it was given
    """
    classes, weight = out_of_fold.class_indices, out_of_fold.weight
    answers = OutOfFoldAnswers(probabilities, decisions, classes, weight, out_of_fold.fold_of)
    with one_blas_thread():
        fit = fit_final(out_of_fold.final_calibration, answers, out_of_fold.seed)
    kept = fit.probabilities if out_of_fold.keeps_probabilities else None
    conformity = collect_conformity(fit.probabilities, classes, weight)
    return FinalCalibration(fit.map, _judge(fit.probabilities, classes, weight), kept, conformity)


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
