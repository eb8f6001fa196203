"""Rows grouped by class: first within each part, then over all parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.calibration.folds import HoldOut, deal_classes
from polytomy.classifier import PolytomyClassifier
from polytomy.dask.group_tasks import RowBlock
from polytomy.inputs.rows import bytes_of_data, count_rows, stack_rows, take_block, take_rows
from polytomy.inputs.training_data import check_training_data
from polytomy.inputs.weights import check_weights
from polytomy.model.preprocessing import preprocess

__all__ = [
    "GroupedPart",
    "PartSummary",
    "Piece",
    "ScoredChoice",
    "cut_piece",
    "deal_folds",
    "group_part",
    "join_class",
    "summarise_part",
]


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


@dataclass(frozen=True, slots=True, eq=False)
class GroupedPart:
    """A part of the data, sorted by class.

    Attributes
    ----------
    X : samples; those of a class are adjacent
    rows : array, their positions in the part
    labels : array of the labels that occur, sorted
    starts : array, the first sample of each label, and the end
    weight : array or None
    n_features : int, or None if the part is empty
    feature_names : array of str, or None
    """

    X: Any
    rows: NDArray[np.int64]
    labels: NDArray[Any]
    starts: NDArray[np.intp]
    weight: NDArray[np.float64] | None
    n_features: int | None
    feature_names: NDArray[Any] | None


class PartSummary(NamedTuple):
    """The summary of a part that is needed to plan the training.

    Attributes
    ----------
    n_rows, n_bytes : int
    labels : array of the labels that occur, sorted
    counts : array, number of rows of each label
    weights : array, total weight of each label
    n_features, feature_names : as in `GroupedPart`
    """

    n_rows: int
    n_bytes: int
    labels: NDArray[Any]
    counts: NDArray[np.intp]
    weights: NDArray[np.float64]
    n_features: int | None
    feature_names: NDArray[Any] | None


def group_part(X: Any, y: Any, weight: Any, number: int) -> GroupedPart:
    """Return a part of the data sorted by class, after checking it.

    Parameters
    ----------
    X : array, sparse matrix or frame
    y : labels
    weight : weights, or None
    number : number of the part, for messages
    """
    nothing = np.empty(0, dtype=np.int64)
    if count_rows(X) == 0 and len(y) == 0:
        no_weight = None if weight is None else np.empty(0)
        return GroupedPart(X, nothing, nothing, np.zeros(1, np.intp), no_weight, None, None)
    checker = PolytomyClassifier()
    try:
        X, labels = check_training_data(checker, X, y)
        if weight is not None:
            weight = check_weights(weight, len(labels)) if np.any(weight) else np.zeros(len(labels))
    except Exception as error:
        error.add_note(f"in part {number} of the data")
        raise
    values, indices = np.unique(labels, return_inverse=True)
    order = np.argsort(indices, kind="stable")
    return GroupedPart(
        take_rows(X, order),
        order.astype(np.int64),
        values,
        np.searchsorted(indices[order], np.arange(len(values) + 1)),
        None if weight is None else weight[order],
        checker.n_features_in_,
        getattr(checker, "feature_names_in_", None),
    )


def summarise_part(part: GroupedPart) -> PartSummary:
    """Return the summary of a part that is needed to plan the training."""
    counts = np.diff(part.starts)
    weights = counts.astype(np.float64)
    if part.weight is not None:
        bounds = pairwise(part.starts.tolist())
        weights = np.array([part.weight[first:last].sum() for first, last in bounds])
    return PartSummary(
        len(part.rows),
        bytes_of_data(part.X),
        part.labels,
        counts,
        weights,
        part.n_features,
        part.feature_names,
    )


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
    X = preprocess(preprocessing, stack_rows([piece.X for piece in pieces]))
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
