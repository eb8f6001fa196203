"""Dask collections as parts, and their rows grouped by class.

A collection is a list of parts. Each part is sorted by class on the worker that has it. A summary
of each part is enough to know where the rows of all classes are (`Layout`), to sample rows, and to
join all rows of a class on one worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple, Self

import dask.array as da
import numpy as np
from dask.delayed import Delayed
from dask.utils import is_dataframe_like, is_series_like
from numpy.typing import NDArray

from polytomy.calibration.folds import HoldOut, deal_classes
from polytomy.classifier import PolytomyClassifier
from polytomy.errors import ArgumentError, DataError
from polytomy.inputs.numbers import check_weights
from polytomy.inputs.rows import (
    bytes_of_data,
    count_rows,
    merge_rows,
    take_block,
    take_rows,
)
from polytomy.inputs.sparse import check_sparse
from polytomy.inputs.training_data import check_training_data


class Part(NamedTuple):
    """One part of the training data.

    Attributes
    ----------
    X : Delayed, an array, sparse matrix or frame of samples
    y : Delayed, their labels
    weight : Delayed, their weights; None if there are none
    """

    X: Any
    y: Any
    weight: Any = None


def make_parts(X: Any, y: Any, sample_weight: Any = None) -> list[Part]:
    """Return the parts of training data, with labels and weights divided like the samples.

    Parameters
    ----------
    X : dask array or dataframe of samples, or a list of delayed parts
    y, sample_weight : dask array or series, or a list of delayed parts
    """
    if not is_collection(X):
        raise ArgumentError(
            f"X must be a dask array, a dask dataframe or a list of delayed parts; got "
            f"{type(X).__name__}. Use PolytomyClassifier, or dask.array.from_array(X)."
        )
    if isinstance(X, da.Array) and X.ndim != 2:
        raise ArgumentError(f"X must have two dimensions; it has shape {X.shape}.")
    of_samples = list_delayed(X)
    of_labels = _divide_alike(X, y, "y", len(of_samples))
    if sample_weight is None:
        return [Part(*both) for both in zip(of_samples, of_labels, strict=True)]
    of_weights = _divide_alike(X, sample_weight, "sample_weight", len(of_samples))
    return [Part(*each) for each in zip(of_samples, of_labels, of_weights, strict=True)]


def is_collection(X: Any) -> bool:
    """Return whether X is a dask array or frame, or a list of delayed parts."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(isinstance(part, Delayed) for part in X)
    return isinstance(X, da.Array) or (hasattr(X, "to_delayed") and hasattr(X, "npartitions"))


def is_frame(X: Any) -> bool:
    """Return whether X is a dask dataframe."""
    return is_collection(X) and not isinstance(X, da.Array) and is_dataframe_like(X)


def list_delayed(X: Any) -> list[Any]:
    """Return the parts of a collection, each with all columns."""
    if isinstance(X, list | tuple):
        return list(X)
    if isinstance(X, da.Array):
        return list(whole_rows(X).to_delayed().ravel())
    return list(X.to_delayed())


def whole_rows(X: Any) -> Any:
    """Return a dask array whose chunks have all columns."""
    return X.rechunk({1: -1}) if X.ndim == 2 and X.numblocks[1] > 1 else X


def _divide_alike(X: Any, values: Any, name: str, n_parts: int) -> list[Any]:
    """Return the parts of labels or weights, as many as X has."""
    if not is_collection(values):
        raise ArgumentError(
            f"{name} must be a dask array, a dask series or a list of delayed parts, like X; got "
            f"{type(values).__name__}."
        )
    if is_dataframe_like(values) and not is_series_like(values):
        raise ArgumentError(f"{name} must be one column; it is a dataframe. Choose a column of it.")
    if isinstance(values, da.Array):
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise ArgumentError(f"{name} must have one dimension; it has shape {values.shape}.")
        if isinstance(X, da.Array) and _are_known(X.chunks[0]) and _are_known(values.chunks[0]):
            if X.shape[0] != values.shape[0]:
                raise ArgumentError(
                    f"X has {X.shape[0]} rows, but {name} has {values.shape[0]}. Pass one per row."
                )
            values = values.rechunk((X.chunks[0],))
    parts = list_delayed(values)
    if len(parts) != n_parts:
        raise ArgumentError(
            f"X has {n_parts} parts, but {name} has {len(parts)}. Divide both in the same way, for "
            "example by taking both from one dataframe."
        )
    return parts


def _are_known(sizes: Iterable[float]) -> bool:
    return all(size == size for size in sizes)


# -- parts sorted by class -------------------------------------------------------------------------


class PartSummary(NamedTuple):
    """The summary of a part that is needed to plan the training.

    Attributes
    ----------
    n_bytes : int
    labels : array of the labels that occur, sorted
    counts : array, number of rows of each label
    weights : array, total weight of each label
    n_features : int, or None if the part is empty
    feature_names : array of str, or None
    """

    n_bytes: int
    labels: NDArray[Any]
    counts: NDArray[np.intp]
    weights: NDArray[np.float64]
    n_features: int | None = None
    feature_names: NDArray[Any] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class GroupedPart:
    """A part of the data, sorted by class.

    Attributes
    ----------
    X : samples; those of a class are adjacent
    rows : array, their positions in the part
    weight : array or None
    starts : array, the first sample of each label of the summary, and the end
    summary : PartSummary
    """

    X: Any
    rows: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    starts: NDArray[np.intp]
    summary: PartSummary


def group_part(X: Any, y: Any, weight: Any, number: int) -> GroupedPart:
    """Return a part of the data sorted by class, after checking it.

    Parameters
    ----------
    X : array, sparse matrix or frame
    y : labels
    weight : weights, or None
    number : number of the part, for messages
    """
    if count_rows(X) == 0 and len(y) == 0:
        nothing, no_weight = np.empty(0, dtype=np.int64), np.empty(0)
        summary = PartSummary(bytes_of_data(X), nothing, nothing, no_weight)
        weight = None if weight is None else no_weight
        return GroupedPart(X, nothing, weight, np.zeros(1, np.intp), summary)
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
    X = take_rows(X, order)
    starts = np.searchsorted(indices[order], np.arange(len(values) + 1))
    counts = np.diff(starts)
    weights = counts.astype(np.float64)
    if weight is not None:
        weight = weight[order]
        bounds = pairwise(starts.tolist())
        weights = np.array([weight[first:last].sum() for first, last in bounds])
    names = getattr(checker, "feature_names_in_", None)
    summary = PartSummary(bytes_of_data(X), values, counts, weights, checker.n_features_in_, names)
    return GroupedPart(X, order.astype(np.int64), weight, starts, summary)


def summarise_part(part: GroupedPart) -> PartSummary:
    """Return the summary of a part; a task of this function leaves the part on its worker."""
    return part.summary


# -- where the rows of each class are --------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where the rows of each class are.

    Attributes
    ----------
    classes : array of the labels, sorted
    counts : array of shape (n_parts, n_classes), number of rows
    places : array of shape (n_parts, n_classes)
        Position of each class among the labels of a part; −1 if the part does not have it.
    first_rows : array of shape (n_parts,), the number of each part's first row
    class_weights : array of shape (n_classes,), total weight of each class
    n_bytes : bytes of all samples
    n_features : int
    feature_names : array of str, or None
    """

    classes: NDArray[Any]
    counts: NDArray[np.int64]
    places: NDArray[np.intp]
    first_rows: NDArray[np.int64]
    class_weights: NDArray[np.float64]
    n_bytes: int
    n_features: int
    feature_names: NDArray[Any] | None

    @classmethod
    def of(cls, summaries: Sequence[PartSummary]) -> Self:
        """Return where the rows are, given summaries of all parts."""
        classes = _find_classes(summaries)
        shape = len(summaries), len(classes)
        counts, places = np.zeros(shape, np.int64), np.full(shape, -1, dtype=np.intp)
        weights = np.zeros(len(classes))
        for number, summary in enumerate(summaries):
            own = np.searchsorted(classes, summary.labels.astype(classes.dtype))
            counts[number, own] = summary.counts
            places[number, own] = np.arange(len(own))
            weights[own] += summary.weights
        if not weights.any():
            raise DataError("sample_weight is zero for all samples; at least one must be positive.")
        sizes = counts.sum(axis=1)
        return cls(
            classes,
            counts,
            places,
            np.cumsum(sizes) - sizes,
            weights,
            sum(summary.n_bytes for summary in summaries),
            *_find_features([summary for summary in summaries if len(summary.labels)]),
        )

    @property
    def class_sizes(self) -> list[int]:
        """Number of rows of each class."""
        sizes: list[int] = self.counts.sum(axis=0).tolist()
        return sizes

    @property
    def n_rows(self) -> int:
        """Number of rows of all parts."""
        return int(self.counts.sum())

    @property
    def bytes_per_row(self) -> float:
        """Mean size of a sample."""
        return self.n_bytes / self.n_rows

    def parts_of(self, class_index: int) -> list[int]:
        """Return the parts that have rows of a class."""
        parts: list[int] = np.flatnonzero(self.counts[:, class_index]).tolist()
        return parts

    def locate(self, class_index: int, positions: NDArray[np.intp]) -> dict[int, NDArray[np.intp]]:
        """Locate some rows of a class: for each part, positions among its rows of the class.

        Parameters
        ----------
        class_index : int
        positions : positions among all rows of the class, ascending
        """
        ends = np.cumsum(self.counts[:, class_index])
        starts = ends - self.counts[:, class_index]
        part_of = np.searchsorted(ends, positions, side="right")
        return {
            part: positions[part_of == part] - starts[part] for part in np.unique(part_of).tolist()
        }


def _find_classes(summaries: Sequence[PartSummary]) -> NDArray[Any]:
    """Return the labels of all parts, sorted; DataError if they cannot be compared."""
    found = [summary.labels for summary in summaries if len(summary.labels)]
    if not found:
        raise DataError("the data has no rows. Give at least one sample.")
    if len({labels.dtype.kind in "OUST" for labels in found}) > 1:
        raise DataError("y has numbers in some parts and text in others. Use one kind of labels.")
    return np.unique(np.concatenate(found))


def _find_features(summaries: Sequence[PartSummary]) -> tuple[int, NDArray[Any] | None]:
    """Return the number and the names of the features; DataError if parts differ."""
    first = summaries[0]
    for number, other in enumerate(summaries):
        if other.n_features != first.n_features:
            raise DataError(
                f"parts of the data have different numbers of features: {first.n_features} and "
                f"{other.n_features}, in part {number} of those with rows."
            )
        if not np.array_equal(first.feature_names, other.feature_names):  # type: ignore[arg-type]
            raise DataError("parts of the data have different feature names. Use the same names.")
    assert first.n_features is not None
    return first.n_features, first.feature_names


# -- a stratified sample, for designs from data and for transformers -------------------------------


def divide_quota(sizes: Sequence[int], most_rows: int) -> list[int]:
    """Return how many rows of each class to take, in proportion to its size but at least one.

    Examples
    --------
    >>> divide_quota([900, 99, 1], 100), divide_quota([3, 2], 100)
    ([90, 10, 1], [3, 2])
    """
    total = sum(sizes)
    if total <= most_rows:
        return list(sizes)
    return [min(size, max(1, round(most_rows * size / total))) for size in sizes]


def choose_rows(
    layout: Layout, most_rows: int, seed: int
) -> dict[int, dict[int, NDArray[np.intp]]]:
    """Return a random choice of rows, stratified by class; all rows if there are not more.

    It depends on the order of the rows and on the seed, but not on how the rows are divided.

    Returns
    -------
    for each part, for the index of each class in it, the chosen rows of the class
    """
    chosen: dict[int, dict[int, NDArray[np.intp]]] = {}
    sizes = layout.class_sizes
    for k, quota in enumerate(divide_quota(sizes, most_rows)):
        positions = np.arange(sizes[k])
        if quota < sizes[k]:
            generator = np.random.default_rng([seed, k])
            positions = np.sort(generator.choice(sizes[k], quota, replace=False))
        for part, own in layout.locate(k, positions).items():
            chosen.setdefault(part, {})[k] = own
    return dict(sorted(chosen.items()))


# -- Blocks of training rows with their positions in the whole data, to be sent to workers --


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

    def take(self, places: NDArray[np.intp]) -> RowBlock:
        """Return some of the rows, given by their places in the block, ascending."""
        if len(places) == len(self.rows):
            return self
        columns = {name: getattr(self, name) for name in ("rows", *_COLUMNS)}
        taken: dict[str, Any] = {
            name: None if each is None else each[places] for name, each in columns.items()
        }
        return RowBlock(take_rows(self.X, places), **taken)

    def without_samples(self) -> RowBlock:
        """Return everything but the samples."""
        return replace(self, X=None)


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
    return block.take(np.flatnonzero(block.is_scored))


def weight_rows(block: RowBlock, class_weight: NDArray[np.float64] | None) -> RowBlock:
    """Return rows with their weights times their class weights, without rows of weight zero.

    Rows of weight zero are in no problem, and no binary scores them.
    """
    if class_weight is not None:
        weight = class_weight[block.class_indices]
        block = replace(block, weight=weight if block.weight is None else weight * block.weight)
    return block if block.weight is None else block.take(np.flatnonzero(block.weight))


# -- all rows of a class, from the parts of the data -----------------------------------------------


def cut_piece(part: GroupedPart, label: int, class_index: int, first_row: int) -> RowBlock:
    """Return the rows of one class in a part.

    Parameters
    ----------
    part : GroupedPart
    label : position of the class among the labels of the part
    class_index : int
    first_row : number of the first row of the part in the whole data
    """
    own = slice(int(part.starts[label]), int(part.starts[label + 1]))
    rows, weight = part.rows[own] + first_row, None if part.weight is None else part.weight[own]
    class_indices = np.full(len(rows), class_index, dtype=np.intp)
    return RowBlock(take_block(part.X, own), rows, class_indices, weight)


def pick_rows(
    part: GroupedPart,
    places: NDArray[np.intp],
    chosen: Mapping[int, NDArray[np.intp]],
    first_row: int,
) -> RowBlock:
    """Return some rows of a part, in their order.

    Parameters
    ----------
    part : GroupedPart
    places : position of each class among the labels of the part
    chosen : for some class indices, which rows of the class to take
    first_row : number of the first row of the part in the whole data
    """
    pieces = [cut_piece(part, int(places[k]), k, first_row).take(own) for k, own in chosen.items()]
    return join_blocks(pieces)


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
    pieces: Sequence[RowBlock],
    fold_of: NDArray[np.int16] | None,
    choice: ScoredChoice | None,
    preprocessing: Any,
) -> RowBlock:
    """Return all rows of one class.

    Parameters
    ----------
    pieces : the rows of the class in each part that has some
    fold_of : the fold of each row, or None
    choice : ScoredChoice, or None without folds
    preprocessing : fitted transformers to apply, or None
    """
    block = join_blocks(pieces)
    if preprocessing is not None:
        block = replace(block, X=check_sparse(preprocessing.transform(block.X)))
    if fold_of is None or choice is None:
        return block
    fold_of = np.where(fold_of < choice.n_kept_folds, fold_of, -1).astype(np.int16)
    is_scored = _choose_scored(fold_of, block.weight, choice)
    weight = None if choice.weight is None else np.where(fold_of >= 0, choice.weight, 1.0)
    return replace(block, fold_of=fold_of, is_scored=is_scored, fold_weight=weight)


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
