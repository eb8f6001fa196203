"""Blocks of training rows with their positions in the whole data, to be sent to workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.inputs.rows import take_rows
from polytomy.inputs.stacking import merge_rows

__all__ = ["RowBlock", "join_blocks", "take_scored"]


@dataclass(frozen=True, slots=True, eq=False)
class RowBlock:
    """Some rows of the training data, such as those of one class.

    Attributes
    ----------
    X : array, sparse matrix or frame of shape (n_rows, n_features)
    rows : array of shape (n_rows,), the indices of the rows in the whole data, ascending
    class_indices : array of shape (n_rows,)
    weight : array of shape (n_rows,), optional
    fold_of : array of shape (n_rows,), optional
        The fold that holds out each row; −1 for rows that are never held out.
    is_scored : bool array of shape (n_rows,), optional
        Whether every binary scores the row, for the final calibration.
    fold_weight : array of shape (n_rows,), optional
        Weights for calibration, in addition to those of training.
    """

    X: Any
    rows: NDArray[np.int64]
    class_indices: NDArray[np.intp]
    weight: NDArray[np.float64] | None = None
    fold_of: NDArray[np.int16] | None = None
    is_scored: NDArray[np.bool_] | None = None
    fold_weight: NDArray[np.float64] | None = None

    def keep(self, mask: NDArray[np.bool_]) -> RowBlock:
        """Return the rows where a mask is true."""
        if mask.all():
            return self
        chosen = np.flatnonzero(mask)
        columns: dict[str, Any] = {name: getattr(self, name) for name in _NAMES}
        kept: dict[str, Any] = {
            name: None if each is None else each[mask] for name, each in columns.items()
        }
        return replace(self, X=take_rows(self.X, chosen), rows=self.rows[mask], **kept)

    def without_samples(self) -> RowBlock:
        """Return everything but the samples."""
        return replace(self, X=None)


_NAMES = ("class_indices", "weight", "fold_of", "is_scored", "fold_weight")


def join_blocks(blocks: Sequence[RowBlock]) -> RowBlock:
    """Return the rows of several blocks in the order of the data, without duplicates.

    A binary that is trained on them is the same as one trained on the whole data.
    """
    if len(blocks) == 1:
        return blocks[0]
    numbers = [block.rows for block in blocks]
    rows, first = np.unique(np.concatenate(numbers), return_index=True)
    columns: dict[str, Any] = {}
    for name in _NAMES:
        values = [getattr(block, name) for block in blocks]
        is_there = all(each is not None for each in values)
        columns[name] = np.concatenate(values)[first] if is_there else None
    return RowBlock(merge_rows([block.X for block in blocks], numbers), rows, **columns)


def take_scored(block: RowBlock) -> RowBlock:
    """Return the rows of a block that every binary scores."""
    assert block.is_scored is not None
    return block.keep(block.is_scored)
