"""Folds that all binaries share, and class weights, when the rows are on many machines.

The fold of a row depends on its class, on its position among the rows of its class, on how many
rows each class has, and on the seed. So it is the same as on one machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.folds import HoldOut
from polytomy.dask.grouping import Layout, divide_quota
from polytomy.dask.row_blocks import RowBlock, ScoredChoice
from polytomy.inputs.arguments import BALANCED_PER_PARTITION
from polytomy.inputs.numbers import class_weights
from polytomy.learners.problems import Dichotomy
from polytomy.learners.workload import TrainingOptions
from polytomy.model.decisions import ClassFrequencies
from polytomy.model.out_of_fold import (
    MOST_SCORES,
    FoldRule,
    OutOfFold,
    find_fold_rule,
    takes_weights,
    warn_of_no_rows,
)


def weights_by_class(
    class_weight: Mapping[Any, float] | str | None, layout: Layout
) -> dict[Any, float] | None:
    """Return the weight of each label; None if all are one."""
    if class_weight is None or class_weight == BALANCED_PER_PARTITION:
        return None
    labels = layout.classes.tolist()
    if isinstance(class_weight, Mapping):
        # One sample of each class, to check the weights.
        weights = class_weights(class_weight, layout.classes, np.arange(len(labels)), None)
        assert weights is not None
        return dict(zip(labels, weights.tolist(), strict=True))
    return dict(zip(labels, balance_classes(layout).tolist(), strict=True))


def balance_classes(layout: Layout) -> NDArray[np.float64]:
    """Return weights that give all classes the same total; zero for a class without weight."""
    totals = layout.class_weights
    share = totals.sum() / len(totals)
    weights = np.zeros_like(totals)
    np.divide(share, totals, out=weights, where=totals > 0)
    return weights


def find_frequencies(
    layout: Layout, by_class: Mapping[Any, float] | None, *, balances_sides: bool
) -> ClassFrequencies:
    """Return how frequent the classes are, with and without their weights.

    If both sides of each problem were balanced, all classes count the same.
    """
    n_classes, of_data = len(layout.classes), layout.class_weights
    of_model = of_data
    if by_class is not None:
        of_model = of_data * np.array(list(by_class.values()))
    if balances_sides:
        of_model = of_data * balance_classes(layout)
    return ClassFrequencies.from_weights(np.arange(n_classes), n_classes, of_data, of_model)


# -- folds -----------------------------------------------------------------------------------------


# Largest size of the rows that every binary scores, for the final calibration. They are sent to
# every worker, whatever classes it has.
_SAMPLE_BYTES = 2**26


@dataclass(frozen=True, slots=True, eq=False)
class FoldPlan:
    """Shared folds, and the rows that every binary scores.

    Attributes
    ----------
    dealt : number of folds that the rows are divided into, or HoldOut for one held-out part
    n_folds : number of folds that are held out; rows of the others are always trained on
    seed : int
    choices : list of ScoredChoice, one for each class
    n_rows : number of all rows
    final_calibration : a name or an object; None if only the binaries use the folds
    given_seed : seed of the final calibration; None without a random_state
    """

    dealt: int | HoldOut
    n_folds: int
    seed: int
    choices: list[ScoredChoice]
    n_rows: int
    final_calibration: Any
    given_seed: int | None

    @classmethod
    def find(
        cls, dichotomies: Sequence[Dichotomy], layout: Layout, options: TrainingOptions
    ) -> Self | None:
        """Return the folds that all binaries share, or None if nothing needs folds."""
        rule = find_fold_rule(dichotomies, len(layout.classes), options)
        if rule is None:
            return None
        return cls.of(
            rule, layout, options.cv, len(dichotomies), has_weights=takes_weights(options)
        )

    @classmethod
    def of(
        cls,
        rule: FoldRule,
        layout: Layout,
        cv: int | HoldOut,
        n_dichotomies: int,
        *,
        has_weights: bool = True,
    ) -> Self:
        """Return the folds that a rule requires.

        Parameters
        ----------
        rule : FoldRule
        layout : Layout
        cv : number of folds, or HoldOut
        n_dichotomies : int
        has_weights : whether calibrators use the weights of a held-out part
        """
        # Tasks that are run again must get the same folds.
        seed = rule.seed
        if seed is None:
            seed = int(np.random.default_rng().integers(2**31))
        sizes = layout.class_sizes
        weights: list[float | None] = [None] * len(sizes)
        dealt: int | HoldOut
        if isinstance(cv, HoldOut):
            dealt, n_folds = cv, 1
            candidates = [cv.count_of(size) for size in sizes]
            if has_weights and any(cv.weight_of(size) != 1.0 for size in sizes):
                weights = [cv.weight_of(size) for size in sizes]
        else:
            dealt = n_folds = min(int(cv), layout.n_rows)
            if rule.enough_rows is not None:
                n_folds = _count_enough(layout.n_rows, dealt, rule.enough_rows)
            candidates = [-(-size * n_folds // dealt) for size in sizes]
        most_rows = int(
            min(MOST_SCORES // max(1, n_dichotomies), _SAMPLE_BYTES // layout.bytes_per_row)
        )
        quotas: list[int | None] = [None] * len(candidates)
        if rule.final_calibration is None:
            quotas = [0] * len(candidates)
        elif sum(candidates) > most_rows:
            quotas = list(divide_quota(candidates, most_rows))
        choices = [
            ScoredChoice(n_folds, quota, [seed, k], weights[k]) for k, quota in enumerate(quotas)
        ]
        return cls(dealt, n_folds, seed, choices, layout.n_rows, rule.final_calibration, rule.seed)

    @property
    def is_only_part(self) -> bool:
        """Whether the only fold is a held-out part that is never trained on."""
        return isinstance(self.dealt, HoldOut)

    def collect(
        self,
        rows: RowBlock,
        weight: NDArray[np.float64],
        scores: Sequence[NDArray[np.float32] | None],
        keeps_probabilities: bool,
    ) -> OutOfFold | None:
        """Return the out-of-fold scores of all binaries; None if a fold could not be trained.

        Also None if there is no final calibration to learn from them.

        Parameters
        ----------
        rows : the rows that every binary has scored, without samples
        weight : their weights
        scores : the scores of each binary, or None
        keeps_probabilities : whether the final calibration keeps its probabilities
        """
        if self.final_calibration is None:
            return None
        if not len(rows.rows):
            warn_of_no_rows()
            return None
        known = [each for each in scores if each is not None]
        if len(known) < len(scores):
            return None
        assert rows.fold_of is not None
        return OutOfFold(
            np.column_stack(known),
            rows.rows.astype(np.intp),
            self.n_rows,
            rows.class_indices,
            weight if rows.fold_weight is None else weight * rows.fold_weight,
            rows.fold_of.astype(np.intp),
            self.final_calibration,
            self.given_seed,
            keeps_probabilities,
        )


def _count_enough(n_rows: int, n_folds: int, enough_rows: int) -> int:
    """Return how many folds hold out enough rows, or all of them if none do."""
    sizes = n_rows // n_folds + (np.arange(n_folds) < n_rows % n_folds)
    return min(n_folds, 1 + int(np.searchsorted(np.cumsum(sizes), enough_rows)))


def calibration_weights(
    rows: RowBlock, layout: Layout, *, balances_sides: bool
) -> NDArray[np.float64]:
    """Return the weights with which the final calibration learns: those of training.

    If both sides of each problem were balanced, all classes get the same total weight.
    """
    weight = np.ones(len(rows.rows)) if rows.weight is None else rows.weight
    return weight * balance_classes(layout)[rows.class_indices] if balances_sides else weight
