"""Out-of-fold scores: what binaries predict for rows that they were not trained on.

The final calibration is learnt from them. Its own out-of-fold probabilities tell how good the model
is, and prediction sets use them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.calibrators import LogisticMap, UncalibratedMap
from polytomy.calibration.final import (
    FinalFit,
    FinalMap,
    OutOfFoldAnswers,
    check_final_calibration,
    clip_decisions,
    fit_final,
)
from polytomy.calibration.folds import Folds, make_folds
from polytomy.calibration.pooling import fit_pool
from polytomy.errors import CalibrationWarning, warn_caller
from polytomy.inputs.numbers import check_weights, class_weights
from polytomy.inputs.rows import fingerprint_rows, take_rows
from polytomy.inputs.seeds import partition_seeds
from polytomy.learners.bank import Bank
from polytomy.learners.problems import Dichotomy
from polytomy.learners.trained import Output, TrainedBinary, choose_output, decisions_from_scores
from polytomy.learners.workload import Trained, TrainingOptions
from polytomy.metrics import METRICS, JudgedSamples
from polytomy.metrics.scores import SUMMARY
from polytomy.model.sets import ConformityRows, collect_conformity
from polytomy.routines.threads import one_blas_thread
from polytomy.states import LARGEST, State, stored_as

Floats = NDArray[np.float64]

# Enough held-out rows for a temperature, a floor and biases. If nothing else needs folds, only
# a few are made: one of five for large data.
_ENOUGH_ROWS = 600

# A final calibration learns from a random subset of rows if there would be more scores than this.
# In double precision they take an eighth of a gigabyte, and there are several such arrays.
MOST_SCORES = 2**24


@stored_as("out-of-fold scores")
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
    final_calibration : a name or an object; see `polytomy.calibration.final.fit_final`
    seed : int, optional
    keeps_probabilities : bool
        Whether the final calibration keeps its out-of-fold probabilities.
    fingerprints : int array of shape (n_samples,), optional
        What the rows are recognised by when classes are added; see `fingerprint_rows`.
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
    fingerprints: NDArray[np.int64] | None = None

    def decisions(self, binaries: Sequence[TrainedBinary]) -> Floats:
        """Return the calibrated answers, given the binaries with their calibrators."""
        return clip_decisions(decisions_from_scores(binaries, self.scores.astype(np.float64)))

    def take_binaries(self, columns: Sequence[int] | NDArray[np.intp]) -> OutOfFold:
        """Return the scores of some of the binaries."""
        return replace(self, scores=self.scores[:, np.asarray(columns, dtype=np.intp)])

    def take_classes(self, classes: NDArray[np.intp]) -> OutOfFold:
        """Return the scores of samples of some of the classes; these get new class indices."""
        (kept,) = np.isin(self.class_indices, classes).nonzero()
        return replace(
            self,
            scores=self.scores[kept],
            rows=self.rows[kept],
            class_indices=np.searchsorted(classes, self.class_indices[kept]),
            weight=self.weight[kept],
            fold_of=self.fold_of[kept],
            fingerprints=None if self.fingerprints is None else self.fingerprints[kept],
        )

    @classmethod
    def from_state(cls, state: State) -> OutOfFold:
        """Return the scores of a state."""
        largest = float(np.finfo(np.float32).max)
        scores = state.floats("scores", (None, None), -largest, largest, np.float32)
        n_samples, n_rows = len(scores), state.integer("n_rows", least=1)
        rows = state.indices("rows", n_rows, n_samples)
        if not n_samples or not (np.diff(rows) > 0).all():
            raise state.fault("rows", "an array of ascending numbers")
        weight = state.floats("weight", (n_samples,), 0.0, LARGEST)
        # Sums of smaller weights could vanish.
        if not (weight.min() > 0 and weight.sum() > 1 / LARGEST):
            raise state.fault("weight", "an array of positive numbers")
        check_final_calibration(state.value("final_calibration"))
        if "final_calibration" not in state:
            raise state.fault("final_calibration", "a name or an object")
        return cls(
            scores,
            rows,
            n_rows,
            state.indices("class_indices", 2**53, n_samples),
            weight,
            state.indices("fold_of", n_rows, n_samples),
            state.value("final_calibration"),
            state.integer("seed", most=2**32 - 1) if "seed" in state else None,
            fingerprints=state.indices("fingerprints", 2**63, n_samples)
            if "fingerprints" in state
            else None,
        )


class FoldRule(NamedTuple):
    """Which final calibration to learn, and how many rows it needs.

    Attributes
    ----------
    final_calibration : name of a final calibration, or an object; None if only the calibrators of
        the binaries need folds
    enough_rows : number of held-out rows that suffice; None to hold out all rows
    seed : int, optional, the seed of the folds
    """

    final_calibration: Any
    enough_rows: int | None
    seed: int | None


def find_fold_rule(
    dichotomies: Sequence[Dichotomy], n_classes: int, options: TrainingOptions
) -> FoldRule | None:
    """Return what the folds of a fit are for, or None if nothing needs folds.

    Models that were trained elsewhere are assumed not to know the rows of this fit: what they
    answer for them is out of fold.
    """
    final_calibration = options.final_calibration
    is_automatic = isinstance(final_calibration, str) and final_calibration == "auto"
    has_folds = options.validates_on_folds or learns_from_rows(options.calibration, dichotomies)
    is_given = all(each.trained is not None for each in dichotomies)
    is_wanted = final_calibration is not None and n_classes >= 2
    if is_automatic and not (has_folds or options.wants_probabilities):
        is_wanted = False
    (seed,) = partition_seeds(options.random_state, 1)
    if not is_wanted:
        return FoldRule(None, None, seed) if has_folds else None
    needs_few = is_automatic and not (has_folds or is_given)
    return FoldRule(final_calibration, _ENOUGH_ROWS if needs_few else None, seed)


def plan_folds(
    rule: FoldRule,
    X: Any,
    n_binaries: int,
    options: TrainingOptions,
    adapt: Callable[[Folds], Folds] | None = None,
) -> Folds:
    """Return the folds that all binaries share, after adapting them to those of an earlier fit."""
    class_indices = options.class_indices
    folds = make_folds(X, class_indices, options.cv, rule.seed)
    if not takes_weights(options):
        folds = replace(folds, weight=None)
    if rule.final_calibration is None:
        return folds.without_scores()
    if rule.enough_rows is not None:
        folds = folds.first(rule.enough_rows)
    if adapt is not None:
        folds = adapt(folds)
    has_weight = calibration_weights(options) > 0
    is_kept = has_weight & _is_class_known(folds, class_indices, has_weight)
    n_columns = max(1, n_binaries, len(options.classes))
    return folds.keep_scored(is_kept, MOST_SCORES // n_columns, rule.seed)


def collect_out_of_fold(
    rule: FoldRule,
    folds: Folds,
    trained: Sequence[Trained],
    X: Any,
    options: TrainingOptions,
    given: Any,
) -> OutOfFold | None:
    """Return the out-of-fold scores of trained binaries; None if a fold could not be trained.

    Parameters
    ----------
    rule : FoldRule, with a final calibration
    folds : Folds
    trained : trained binaries; those that were trained elsewhere have no scores yet
    X : training data
    options : TrainingOptions
    given : the training data before shared transformers
    """
    rows, class_indices = folds.scored, options.class_indices
    if not len(rows):
        warn_of_no_rows()
    if not len(rows) or any(each.scores is None and each.binary.shortcoming for each in trained):
        return None
    weight = calibration_weights(options)[rows]
    return OutOfFold(
        score_samples(trained, X, folds),
        rows,
        len(class_indices),
        class_indices[rows],
        weight if folds.weight is None else weight * folds.weight[rows],
        folds.fold_of[rows],
        rule.final_calibration,
        rule.seed,
        options.keep_out_of_fold,
        fingerprint_rows(take_rows(given, rows)),
    )


def warn_of_no_rows() -> None:
    """Warn that no row can be used to learn a final calibration."""
    warn_caller(
        "There is no final calibration: no fold has both samples of a class to train on and "
        "samples of the same class to hold out.",
        CalibrationWarning,
    )


def _is_class_known(
    folds: Folds, class_indices: NDArray[np.intp], has_weight: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return whether the models of each row's fold are trained on other rows of its class.

    If they are not, their answers for the row are always wrong, which says nothing about models
    that are trained on all rows.
    """
    is_known = np.zeros((folds.n_folds, class_indices.max(initial=0) + 1), dtype=np.bool_)
    for known, is_used in zip(is_known, folds.is_trained_on & has_weight, strict=True):
        known[class_indices[is_used]] = True
    is_held_out = folds.fold_of >= 0
    return np.asarray(is_held_out & is_known[folds.fold_of, class_indices])


def takes_weights(options: TrainingOptions) -> bool:
    """Return whether all calibrators take weights; a user's calibrator may not."""
    return all(
        each is None or isinstance(each, str)
        for each in (options.calibration, options.final_calibration)
    )


def learns_from_rows(calibration: Any, dichotomies: Sequence[Dichotomy]) -> bool:
    """Return whether the answers of a model to train need a calibrator that learns."""
    estimators = {
        id(each.estimator): each.estimator for each in dichotomies if each.trained is None
    }
    return any(needs_calibrator(each, calibration) for each in estimators.values())


def needs_calibrator(estimator: Any, calibration: Any) -> bool:
    """Return whether the answers of an estimator need a calibrator that learns."""
    if calibration is None:
        return False
    if not (isinstance(calibration, str) and calibration == "auto"):
        return True
    if not hasattr(estimator, "predict") and hasattr(type(estimator), "predict"):
        return True  # A StackingClassifier, for one, has its methods only once it is fitted.
    return choose_output(estimator, "auto") is Output.MARGIN


def calibration_weights(options: TrainingOptions) -> Floats:
    """Return the weights for the final calibration: those of training.

    If both sides of each problem were balanced, all classes get the same total weight; otherwise
    the final calibration would undo the balancing.
    """
    class_indices = options.class_indices
    weight = check_weights(options.arguments.sample_weight, len(class_indices))
    if options.balances_sides:
        labels = np.arange(len(options.classes))
        balanced = class_weights("balanced", labels, class_indices, weight)
        weight = check_weights(balanced, len(class_indices))
    return weight


def score_samples(trained: Sequence[Trained], X: Any, folds: Folds) -> NDArray[np.float32]:
    """Return the scores of samples by every binary, from models trained without their folds.

    A binary that was trained elsewhere scores all samples itself.

    Returns
    -------
    float32 array of shape (n_samples, n_binaries), for the rows in `folds.scored`
    """
    scores = np.empty((len(folds.scored), len(trained)), dtype=np.float32)
    given = [column for column, each in enumerate(trained) if each.scores is None]
    for column, each in enumerate(trained):
        if each.scores is not None:
            scores[:, column] = each.scores
    if given:
        bank = Bank([trained[column].binary for column in given])
        scores[:, given] = bank.scores(take_rows(X, folds.scored))
    return scores


# -- answers that neither models nor calibrators were fitted to ------------------------------------


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
    every : whether to learn logistic maps again as well, unless there are many samples

    Returns
    -------
    array of shape (n_samples, n_binaries)
    """
    decisions = out_of_fold.decisions(binaries)
    every = every and len(out_of_fold.rows) <= _MANY_SAMPLES
    columns = [
        k
        for k, binary in enumerate(binaries)
        if dichotomies[k].trained is None
        and (_learns_closely(binary) or (every and has_learnt(binary)))
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


def has_learnt(binary: TrainedBinary) -> bool:
    """Return whether the calibrator of a binary was learnt from held-out rows."""
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


# -- final calibration -----------------------------------------------------------------------------


@stored_as("final")
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
        and the map behind them were learnt without the sample's fold. They are not saved.
    conformity : ConformityRows, optional
        The same in compact form, for prediction sets; computed when it is needed, see
        `Composition.with_conformity`.
    """

    map: FinalMap
    score: dict[str, float]
    probabilities: Floats | None = None
    conformity: ConformityRows | None = None

    @classmethod
    def from_state(cls, state: State) -> FinalCalibration:
        """Return the final calibration of a state."""
        return cls(
            state.part("map", "final calibration"),
            state.numbers("score"),
            conformity=state.part("conformity", "conformity") if "conformity" in state else None,
        )


def learn_final_calibration(
    out_of_fold: OutOfFold, solved: Iterable[tuple[Floats, Floats]]
) -> FinalCalibration:
    """Return the final calibration learnt from out-of-fold scores.

    Parameters
    ----------
    out_of_fold : OutOfFold
    solved : the solver's probabilities of each member, and the answers of its binaries
        Arrays of shapes (n_samples, n_classes) and (n_samples, n_binaries). If there is more than
        one member, the final calibration is a pool.
    """
    classes, weight = out_of_fold.class_indices, out_of_fold.weight
    fit = _fit(out_of_fold, solved)
    kept = fit.probabilities if out_of_fold.keeps_probabilities else None
    return FinalCalibration(fit.map, judge(fit.probabilities, classes, weight), kept)


def learn_conformity(
    out_of_fold: OutOfFold, solved: Iterable[tuple[Floats, Floats]]
) -> ConformityRows:
    """Return out-of-fold probabilities for prediction sets.

    The parameters are those of `learn_final_calibration`.
    """
    fit = _fit(out_of_fold, solved)
    return collect_conformity(fit.probabilities, out_of_fold.class_indices, out_of_fold.weight)


def _fit(out_of_fold: OutOfFold, solved: Iterable[tuple[Floats, Floats]]) -> FinalFit:
    classes, weight = out_of_fold.class_indices, out_of_fold.weight
    members = [
        OutOfFoldAnswers(probabilities, decisions, classes, weight, out_of_fold.fold_of)
        for probabilities, decisions in solved
    ]
    option, seed = out_of_fold.final_calibration, out_of_fold.seed
    with one_blas_thread():
        if len(members) > 1:
            return fit_pool(option, members, seed)
        return fit_final(option, members[0], seed)


def judge(
    probabilities: Floats, class_indices: NDArray[np.intp], weight: Floats
) -> dict[str, float]:
    """Return the scores of out-of-fold probabilities, by the names of the metrics."""
    classes = range(probabilities.shape[1])
    predicted = probabilities.argmax(axis=1)
    judged = JudgedSamples(class_indices, probabilities, weight, classes, predicted)
    return {name: METRICS[name].function(judged) for name in SUMMARY}
