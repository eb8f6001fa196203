"""Answers of binaries for rows that neither their models nor their calibrators have seen."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from polytomy.binary import TrainedBinary
from polytomy.calibration.calibrators import LogisticMap, UncalibratedMap
from polytomy.composition.dichotomies import Dichotomy
from polytomy.composition.out_of_fold import OutOfFold

__all__ = ["cross_decisions", "remember_samples"]

Floats = NDArray[np.float64]

# With more samples than this, a map with two parameters does not overfit.
_MANY_SAMPLES = 20_000


def cross_decisions(
    out_of_fold: OutOfFold,
    binaries: Sequence[TrainedBinary],
    dichotomies: Sequence[Dichotomy],
    *,
    every: bool = False,
) -> Floats:
    """Return the calibrated answers for out-of-fold samples.

    The calibrators have learnt from these very samples. A sigmoid with its two parameters hardly
    overfits them, but an isotonic map follows them so closely that its answers are overconfident:
    90 % sets contained the true class in 88 % of all cases. So every map that is not logistic is
    learnt again without each fold, and used for that fold.

    Parameters
    ----------
    out_of_fold : OutOfFold
    binaries : trained binaries, with their calibrators
    dichotomies : what each of them separates
    every : whether to learn logistic maps again as well

    Returns
    -------
    array of shape (n_samples, n_binaries)
    """
    decisions = out_of_fold.decisions(binaries)
    columns = [
        k
        for k, binary in enumerate(binaries)
        if dichotomies[k].trained is None
        and (_learns_closely(binary) or (every and _has_learnt(binary)))
    ]
    if not columns:
        return decisions
    part = out_of_fold.take_binaries(columns)
    for fold in np.unique(out_of_fold.fold_of):
        is_held_out = out_of_fold.fold_of == fold
        again = [
            _calibrate_again(binaries[k], dichotomies[k], part, column, ~is_held_out)
            for column, k in enumerate(columns)
        ]
        held_out = replace(part, scores=part.scores[is_held_out])
        decisions[np.ix_(is_held_out, columns)] = held_out.decisions(again)
    return decisions


def remember_samples(
    out_of_fold: OutOfFold, binaries: Sequence[TrainedBinary], dichotomies: Sequence[Dichotomy]
) -> bool:
    """Return whether logistic maps were learnt from so few samples that they overfit."""
    if len(out_of_fold.rows) > _MANY_SAMPLES:
        return False
    return any(
        each.trained is None and _has_learnt(binary) and not _learns_closely(binary)
        for each, binary in zip(dichotomies, binaries, strict=True)
    )


def _has_learnt(binary: TrainedBinary) -> bool:
    return binary.calibrator is not None and not isinstance(binary.calibrator, UncalibratedMap)


def _learns_closely(binary: TrainedBinary) -> bool:
    return binary.calibrator is not None and not isinstance(binary.calibrator, LogisticMap)


def _calibrate_again(
    binary: TrainedBinary,
    dichotomy: Dichotomy,
    out_of_fold: OutOfFold,
    column: int,
    is_chosen: NDArray[np.bool_],
) -> TrainedBinary:
    """Return a binary whose calibrator has learnt from only some of the samples."""
    classes = out_of_fold.class_indices
    is_positive = np.isin(classes, dichotomy.positive)
    is_chosen = is_chosen & (is_positive | np.isin(classes, dichotomy.negative))
    sides = is_positive[is_chosen]
    if sides.all() or not sides.any():
        return binary
    calibrator = copy.deepcopy(binary.calibrator)
    assert calibrator is not None
    scores = out_of_fold.scores[is_chosen, column].astype(np.float64)
    return replace(binary, calibrator=calibrator.fit(scores, sides, out_of_fold.weight[is_chosen]))
