"""Out-of-fold scores: what binaries predict for rows that they were not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.banks import Bank
from polytomy.binary.answers import (
    HeldOutScores,
    Output,
    TrainedBinary,
    choose_output,
    decisions_from_scores,
)
from polytomy.binary.options import TrainingOptions
from polytomy.calibration.final import clip_decisions
from polytomy.calibration.hold_out import HoldOut
from polytomy.calibration.shared_folds import SharedFolds, make_shared_folds
from polytomy.composition.dichotomies import Dichotomy
from polytomy.errors import CalibrationWarning, warn_caller
from polytomy.inputs.rows import take_rows
from polytomy.inputs.seeds import partition_seeds
from polytomy.inputs.weights import check_weights, class_weights

__all__ = [
    "MOST_SCORES",
    "FoldRule",
    "OutOfFold",
    "OutOfFoldPlan",
    "calibration_weights",
    "find_fold_rule",
    "have_folds_anyway",
    "plan_out_of_fold",
    "score_samples",
    "share_held_out_part",
    "takes_weights",
    "warn_of_no_rows",
]

Floats = NDArray[np.float64]

# Enough held-out rows for a temperature, a floor and biases. If nothing else needs folds, only
# a few are made: one of five for large data.
_ENOUGH_ROWS = 600

# A final calibration learns from a random subset of rows if there would be more scores than this.
# In double precision they take an eighth of a gigabyte, and there are several such arrays.
MOST_SCORES = 2**24


@dataclass(frozen=True, slots=True, eq=False)
class OutOfFold:
    """Out-of-fold scores of training rows, and which final calibration to learn from them.

    Attributes
    ----------
    scores : float32 array of shape (n_samples, n_binaries)
        Each sample's score by the models that were trained without its fold.
    rows : array of shape (n_samples,), the training rows of the samples, ascending
    n_rows : int, number of training rows
    class_indices : array of shape (n_samples,), their classes
    weight : array of shape (n_samples,); a weight of two counts as two samples
    fold_of : array of shape (n_samples,), the fold that held each out
    final_calibration : "bias", "decoder" or an object; see `polytomy.calibration.final.fit_final`
    seed : int, optional
    keeps_probabilities : bool
        Whether the final calibration keeps its out-of-fold probabilities.
    """

    scores: NDArray[np.float32]
    rows: NDArray[np.intp]
    n_rows: int
    class_indices: NDArray[np.intp]
    weight: Floats
    fold_of: NDArray[np.intp]
    final_calibration: Any
    seed: int | None = None
    keeps_probabilities: bool = False

    def decisions(self, binaries: Sequence[TrainedBinary]) -> Floats:
        """Return the calibrated answers, given the binaries with their calibrators."""
        return clip_decisions(decisions_from_scores(binaries, self.scores.astype(np.float64)))

    def take_binaries(self, columns: Sequence[int] | NDArray[np.intp]) -> OutOfFold:
        """Return the scores of some of the binaries."""
        return replace(self, scores=self.scores[:, np.asarray(columns, dtype=np.intp)])


@dataclass(frozen=True, slots=True, eq=False)
class OutOfFoldPlan:
    """Folds that all binaries share, for a final calibration.

    Attributes
    ----------
    folds : SharedFolds
    class_indices : array of shape (n_rows,)
    weight : array of shape (n_rows,)
    final_calibration : "bias", "decoder" or an object
    seed : int, optional
    keeps_probabilities : bool
    """

    folds: SharedFolds
    class_indices: NDArray[np.intp]
    weight: Floats
    final_calibration: Any
    seed: int | None
    keeps_probabilities: bool

    def collect(
        self,
        binaries: Sequence[TrainedBinary],
        held_out: Sequence[HeldOutScores | None],
        X: Any,
    ) -> OutOfFold | None:
        """Return the out-of-fold scores of trained binaries; None if a fold could not be trained.

        Parameters
        ----------
        binaries : trained binaries
        held_out : for each of them what its training held out; None if it was trained elsewhere
        X : training data
        """
        rows = self.folds.scored
        has_failed = any(
            each is None and binary.shortcoming
            for each, binary in zip(held_out, binaries, strict=True)
        )
        if not len(rows):
            warn_of_no_rows()
        if has_failed or not len(rows):
            return None
        return OutOfFold(
            score_samples(binaries, held_out, X, self.folds),
            rows,
            len(self.class_indices),
            self.class_indices[rows],
            self.weight[rows],
            self.folds.fold_of[rows],
            self.final_calibration,
            self.seed,
            self.keeps_probabilities,
        )


def share_held_out_part(
    X: Any,
    class_indices: NDArray[np.intp],
    dichotomies: Sequence[Dichotomy],
    options: TrainingOptions,
) -> SharedFolds | None:
    """Return the part that all binaries hold out if there is no final calibration, or None.

    With more than one fold, each binary makes its own.
    """
    if not isinstance(options.cv, HoldOut) or not have_folds_anyway(options, dichotomies):
        return None
    (seed,) = partition_seeds(options.random_state, 1)
    folds = make_shared_folds(X, class_indices, options.cv, seed)
    return folds if takes_weights(options) else replace(folds, weight=None)


def warn_of_no_rows() -> None:
    """Warn that no row can be used to learn a final calibration."""
    warn_caller(
        "There is no final calibration: no fold has both samples of a class to train on and "
        "samples of the same class to hold out.",
        CalibrationWarning,
    )


def plan_out_of_fold(
    dichotomies: Sequence[Dichotomy],
    X: Any,
    class_indices: NDArray[np.intp],
    n_classes: int,
    options: TrainingOptions,
) -> OutOfFoldPlan | None:
    """Return the folds that a final calibration needs, or None if none is wanted.

    "auto" learns none if all binaries were trained elsewhere, because they may have been trained
    on these very samples.

    The parameters are those of `polytomy.composition.fitting.fit_binaries`.
    """
    rule = find_fold_rule(dichotomies, n_classes, options)
    if rule is None:
        return None
    seed = rule.seed
    folds = make_shared_folds(X, class_indices, options.cv, seed)
    if rule.enough_rows is not None:
        folds = folds.first(rule.enough_rows)
    weight = calibration_weights(options, class_indices, n_classes)
    if not takes_weights(options):
        folds = replace(folds, weight=None)
    weight = weight if folds.weight is None else weight * folds.weight
    most_rows = MOST_SCORES // max(1, len(dichotomies), n_classes)
    is_kept = (weight > 0) & _is_class_known(folds, class_indices, weight > 0)
    folds = folds.keep_scored(is_kept, most_rows, seed)
    return OutOfFoldPlan(
        folds, class_indices, weight, rule.final_calibration, seed, options.keep_out_of_fold
    )


class FoldRule(NamedTuple):
    """Which final calibration to learn, and how many rows it needs.

    Attributes
    ----------
    final_calibration : "bias", "decoder" or an object
    enough_rows : number of held-out rows that suffice; None to hold out all rows
    seed : int, optional, the seed of the folds
    """

    final_calibration: Any
    enough_rows: int | None
    seed: int | None


def find_fold_rule(
    dichotomies: Sequence[Dichotomy], n_classes: int, options: TrainingOptions
) -> FoldRule | None:
    """Return which final calibration the options ask for, or None if they ask for none."""
    final_calibration = options.final_calibration
    if final_calibration is None or n_classes < 2:
        return None
    is_automatic = isinstance(final_calibration, str) and final_calibration == "auto"
    has_folds = have_folds_anyway(options, dichotomies)
    if is_automatic and all(each.trained is not None for each in dichotomies):
        return None
    if is_automatic and not (has_folds or options.wants_probabilities):
        return None
    (seed,) = partition_seeds(options.random_state, 1)
    if not is_automatic:
        return FoldRule(final_calibration, None, seed)
    return FoldRule("bias", None if has_folds else _ENOUGH_ROWS, seed)


def _is_class_known(
    folds: SharedFolds, class_indices: NDArray[np.intp], has_weight: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return whether the models of each row's fold are trained on other rows of its class.

    If they are not, their answers for the row are always wrong, which says nothing about models
    that are trained on all rows.
    """
    is_known = np.zeros((folds.n_folds, class_indices.max(initial=0) + 1), dtype=np.bool_)
    for known, is_trained_on in zip(is_known, folds.is_trained_on, strict=True):
        known[class_indices[is_trained_on & has_weight]] = True
    is_held_out = folds.fold_of >= 0
    return np.asarray(is_held_out & is_known[folds.fold_of, class_indices])


def takes_weights(options: TrainingOptions) -> bool:
    """Return whether all calibrators take weights; a user's calibrator may not."""
    return all(
        each is None or isinstance(each, str)
        for each in (options.calibration, options.final_calibration)
    )


def have_folds_anyway(options: TrainingOptions, dichotomies: Sequence[Dichotomy]) -> bool:
    """Return whether a binary is trained on folds in any case, to calibrate its decision values."""
    if options.calibration is None:
        return False
    if not (isinstance(options.calibration, str) and options.calibration == "auto"):
        return True
    estimators = {
        id(each.estimator): each.estimator for each in dichotomies if each.trained is None
    }
    return any(choose_output(each, "auto") is Output.MARGIN for each in estimators.values())


def calibration_weights(
    options: TrainingOptions, class_indices: NDArray[np.intp], n_classes: int
) -> Floats:
    """Return the weights for the final calibration: those of training.

    If both sides of each problem were balanced, all classes get the same total weight; otherwise
    the final calibration would undo the balancing.
    """
    weight = check_weights(options.arguments.sample_weight, len(class_indices))
    if options.balances_sides:
        balanced = class_weights("balanced", np.arange(n_classes), class_indices, weight)
        weight = check_weights(balanced, len(class_indices))
    return weight


def score_samples(
    binaries: Sequence[TrainedBinary],
    held_out: Sequence[HeldOutScores | None],
    X: Any,
    folds: SharedFolds,
) -> NDArray[np.float32]:
    """Return the scores of samples by every binary, from models trained without their folds.

    Samples outside a binary's problem are scored as well: the models of each fold form a bank. A
    binary that was trained elsewhere scores all samples itself.

    Parameters
    ----------
    binaries : trained binaries
    held_out : for each of them what its training held out; None if it was trained elsewhere
    X : training data
    folds : SharedFolds

    Returns
    -------
    float32 array of shape (n_samples, n_binaries), for the rows in `folds.scored`
    """
    scores = np.empty((len(folds.scored), len(binaries)), dtype=np.float32)
    for column, each in enumerate(held_out):
        scores[:, column] = np.nan if each is None else each.scores
    given = [column for column, each in enumerate(held_out) if each is None]
    if given:
        bank = Bank([binaries[column] for column in given])
        scores[:, given] = bank.scores(take_rows(X, folds.scored))
    models = {k: each.models for k, each in enumerate(held_out) if each is not None and each.models}
    columns = np.array(list(models), dtype=np.intp)
    fold_of = folds.fold_of[folds.scored]
    for fold in range(folds.n_folds if models else 0):
        samples = np.flatnonzero(fold_of == fold)
        if not len(samples):
            continue
        found = Bank([each[fold] for each in models.values()]).scores(
            take_rows(X, folds.scored[samples])
        )
        block = np.ix_(samples, columns)
        known = scores[block]
        scores[block] = np.where(np.isnan(known), found, known)
    return scores
