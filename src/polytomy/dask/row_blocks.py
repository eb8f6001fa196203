"""Blocks of training rows with their positions in the whole data, to be sent to workers.

All rows of a class are joined on one worker, as a block. A task joins the blocks of the classes
that it needs, in the order of the whole data, so its binaries do not depend on how the data was
divided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.folds import Folds, HoldOut, deal_classes
from polytomy.dask.grouping import GroupedPart
from polytomy.inputs.numbers import class_weights
from polytomy.inputs.rows import merge_rows, stack_rows, take_block, take_rows
from polytomy.inputs.sparse import check_sparse

_COLUMNS = ("class_indices", "weight", "fold_of", "is_scored", "fold_weight")


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
        columns = {name: getattr(self, name) for name in ("rows", *_COLUMNS)}
        kept: dict[str, Any] = {
            name: None if each is None else each[mask] for name, each in columns.items()
        }
        return RowBlock(take_rows(self.X, np.flatnonzero(mask)), **kept)

    def without_samples(self) -> RowBlock:
        """Return everything but the samples."""
        return replace(self, X=None)

    def make_folds(self, n_folds: int, *, is_only_part: bool) -> Folds:
        """Return the folds of the rows, which must know theirs."""
        assert self.fold_of is not None
        assert self.is_scored is not None
        fold_of = self.fold_of.astype(np.intp)
        is_trained_on = np.arange(n_folds)[:, np.newaxis] != fold_of
        scored = np.flatnonzero(self.is_scored)
        return Folds(fold_of, is_trained_on, scored, is_only_part, self.fold_weight)


def join_blocks(blocks: Sequence[RowBlock]) -> RowBlock:
    """Return the rows of several blocks in the order of the data, without duplicates.

    A binary that is trained on them is the same as one trained on the whole data.
    """
    if len(blocks) == 1:
        return blocks[0]
    numbers = [block.rows for block in blocks]
    rows, first = np.unique(np.concatenate(numbers), return_index=True)
    columns: dict[str, Any] = {}
    for name in _COLUMNS:
        values = [getattr(block, name) for block in blocks]
        is_there = all(each is not None for each in values)
        columns[name] = np.concatenate(values)[first] if is_there else None
    return RowBlock(merge_rows([block.X for block in blocks], numbers), rows, **columns)


def take_scored(block: RowBlock) -> RowBlock:
    """Return the rows of a block that every binary scores."""
    assert block.is_scored is not None
    return block.keep(block.is_scored)


def weight_rows(
    block: RowBlock, class_labels: NDArray[Any], class_weight: Mapping[Any, float] | None
) -> RowBlock:
    """Return rows with their weights times their class weights, without rows of weight zero.

    Rows of weight zero are in no problem, and no binary scores them.
    """
    if block.weight is not None:
        block = block.keep(block.weight > 0)
    if class_weight is None or not len(block.rows):
        return block
    weight = class_weights(class_weight, class_labels, block.class_indices, block.weight)
    assert weight is not None
    return replace(block, weight=weight).keep(weight > 0)


# -- all rows of a class, from the parts of the data -----------------------------------------------


class Piece(NamedTuple):
    """Rows of one class in one part.

    Attributes
    ----------
    X : samples
    rows : their positions in the part, ascending
    weight : their weights, or None
    """

    X: Any
    rows: NDArray[np.int64]
    weight: NDArray[np.float64] | None


def cut_piece(part: GroupedPart, label: int) -> Piece:
    """Return the rows of one of a part's labels, given its position among them."""
    own = slice(int(part.starts[label]), int(part.starts[label + 1]))
    weight = None if part.weight is None else part.weight[own]
    return Piece(take_block(part.X, own), part.rows[own], weight)


def deal_folds(
    sizes: Sequence[int], cv: int | HoldOut, seed: int | None
) -> list[NDArray[np.int16]]:
    """Return the fold of each row of each class, as `PolytomyClassifier` would.

    Parameters
    ----------
    sizes : number of rows of each class
    cv : number of folds, or HoldOut for one part: fold 0, and −1 for all other rows
    seed : int, optional
    """
    if not isinstance(cv, HoldOut):
        return deal_classes(sizes, cv, seed, np.int16)
    folds = [np.full(size, -1, dtype=np.int16) for size in sizes]
    for fold_of, positions in zip(folds, cv.choose_of_classes(sizes, seed), strict=True):
        fold_of[positions] = 0
    return folds


class ScoredChoice(NamedTuple):
    """Which rows of a class every binary scores, for the final calibration.

    Attributes
    ----------
    n_kept_folds : rows of later folds are never held out
    most_rows : largest number of rows; None for all of them
    seed : list of int, for the choice
    weight : float, optional, weight for calibration of the rows that are held out
    """

    n_kept_folds: int
    most_rows: int | None
    seed: list[int]
    weight: float | None = None


def join_class(
    pieces: Sequence[Piece],
    first_rows: Sequence[int],
    class_index: int,
    fold_of: NDArray[np.int16] | None,
    choice: ScoredChoice | None,
    preprocessing: Any,
) -> RowBlock:
    """Return all rows of one class.

    Parameters
    ----------
    pieces : the rows of the class in each part that has some, in the order of the parts
    first_rows : number of the first row of each of these parts in the whole data
    class_index : int
    fold_of : the fold of each row, or None
    choice : ScoredChoice, or None without folds
    preprocessing : fitted transformers to apply, or None
    """
    X = stack_rows([piece.X for piece in pieces])
    if preprocessing is not None:
        X = check_sparse(preprocessing.transform(X))
    rows = np.concatenate(
        [piece.rows + first for piece, first in zip(pieces, first_rows, strict=True)]
    )
    weights = [piece.weight for piece in pieces if piece.weight is not None]
    weight = np.concatenate(weights) if weights else None
    is_scored = fold_weight = None
    if fold_of is not None and choice is not None:
        fold_of = np.where(fold_of < choice.n_kept_folds, fold_of, -1).astype(np.int16)
        is_scored = _choose_scored(fold_of, weight, choice)
        if choice.weight is not None:
            fold_weight = np.where(fold_of >= 0, choice.weight, 1.0)
    class_indices = np.full(len(rows), class_index, dtype=np.intp)
    return RowBlock(X, rows, class_indices, weight, fold_of, is_scored, fold_weight)


def _choose_scored(
    fold_of: NDArray[np.int16], weight: NDArray[np.float64] | None, choice: ScoredChoice
) -> NDArray[np.bool_]:
    """Return the rows of a class to score: those whose fold leaves rows for training."""
    has_weight = np.ones(len(fold_of), np.bool_) if weight is None else weight > 0
    n_outside = np.array(
        [np.count_nonzero(has_weight & (fold_of != fold)) for fold in range(choice.n_kept_folds)]
    )
    is_scored = has_weight & (fold_of >= 0)
    is_scored[is_scored] = n_outside[fold_of[is_scored]] > 0
    candidates = np.flatnonzero(is_scored)
    if choice.most_rows is not None and len(candidates) > choice.most_rows:
        generator = np.random.default_rng(choice.seed)
        is_scored[:] = False
        is_scored[generator.choice(candidates, choice.most_rows, replace=False)] = True
    return is_scored
