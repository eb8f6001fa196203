"""Folds that all binaries share, when the rows are on many machines.

The fold of a row depends on its class, on its place among the rows of its class, on how many rows
each class has, and on the seed; so it is the same as on one machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polytomy.composition.out_of_fold import (
    MOST_SCORES,
    FoldRule,
    OutOfFold,
    warn_of_no_rows,
)
from polytomy.composition.row_blocks import RowBlock
from polytomy.dask.class_weights import balance_classes
from polytomy.dask.grouping import ScoredChoice
from polytomy.dask.layout import Layout
from polytomy.dask.sampling import divide_quota

__all__ = ["FoldPlan", "calibration_weights"]

# Largest size of the rows that every binary scores, for the final calibration. They are sent to
# every worker, whatever classes it has.
_SAMPLE_BYTES = 2**26


@dataclass(frozen=True, slots=True, eq=False)
class FoldPlan:
    """Shared folds, and the rows that every binary scores.

    Attributes
    ----------
    n_dealt : number of folds among which the rows are dealt out
    n_folds : number of folds that are held out; rows of the others are always trained on
    seed : int
    choices : list of ScoredChoice, one for each class
    n_rows : number of all rows
    final_calibration : "bias", "decoder" or an object
    given_seed : seed of the final calibration; None without a random_state
    """

    n_dealt: int
    n_folds: int
    seed: int
    choices: list[ScoredChoice]
    n_rows: int
    final_calibration: Any
    given_seed: int | None

    @classmethod
    def of(cls, rule: FoldRule, layout: Layout, cv: int, n_dichotomies: int) -> Self:
        """Return the folds that a rule asks for."""
        # Tasks that are run again must come to the same folds.
        seed = rule.seed
        if seed is None:
            seed = int(np.random.default_rng().integers(2**31))
        n_dealt = min(int(cv), layout.n_rows)
        n_folds = n_dealt
        if rule.enough_rows is not None:
            n_folds = _count_enough(layout.n_rows, n_dealt, rule.enough_rows)
        most_rows = int(
            min(MOST_SCORES // max(1, n_dichotomies), _SAMPLE_BYTES // layout.bytes_per_row)
        )
        candidates = [-(-size * n_folds // n_dealt) for size in layout.class_sizes]
        quotas: list[int | None] = [None] * len(candidates)
        if sum(candidates) > most_rows:
            quotas = list(divide_quota(candidates, most_rows))
        choices = [ScoredChoice(n_folds, quota, [seed, k]) for k, quota in enumerate(quotas)]
        return cls(
            n_dealt, n_folds, seed, choices, layout.n_rows, rule.final_calibration, rule.seed
        )

    def collect(
        self,
        rows: RowBlock,
        weight: NDArray[np.float64],
        scores: Sequence[NDArray[np.float32] | None],
        keeps_probabilities: bool,
    ) -> OutOfFold | None:
        """Return the out-of-fold scores of all binaries; None if a fold could not be trained.

        Parameters
        ----------
        rows : the rows that every binary has scored, without samples
        weight : their weights
        scores : those of each binary, or None
        keeps_probabilities : whether the final calibration keeps its probabilities
        """
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
            weight,
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
