"""Training data for distances and designs: checked once, grouped by class."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from polytomy.errors import DataError
from polytomy.inputs.rows import refuse_date_labels, refuse_dates, refuse_masked
from polytomy.inputs.sparse import check_sparse, is_sparse

Rows: TypeAlias = Any  # float64 array of shape (n_samples, n_features), or sparse, in rows

# Sums of squares of numbers up to this limit do not overflow.
_LARGEST = 1e140


@dataclass(frozen=True, slots=True, eq=False)
class ClassSamples:
    """Samples sorted by class.

    Attributes
    ----------
    classes : tuple of labels, sorted if possible, otherwise in order of appearance
    rows : array or sparse matrix of shape (n_samples, n_features), one class after another
    starts : array of shape (n_classes + 1,); class i has rows starts[i] to starts[i + 1]
    order : array of shape (n_samples,), index of each row in the original data
    """

    classes: tuple[Any, ...]
    rows: Rows
    starts: NDArray[np.intp]
    order: NDArray[np.intp]

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are sparse."""
        return is_sparse(self.rows)

    @property
    def counts(self) -> NDArray[np.intp]:
        """Number of samples of each class."""
        return np.diff(self.starts)

    @property
    def class_indices(self) -> NDArray[np.intp]:
        """Index of each row's class in `classes`."""
        return np.repeat(np.arange(len(self.classes)), self.counts)

    def of_class(self, index: int) -> Rows:
        """Return the rows of one class."""
        return self.rows[self.starts[index] : self.starts[index + 1]]

    def __iter__(self) -> Iterator[Rows]:
        return (self.of_class(index) for index in range(len(self.classes)))

    def means(self) -> NDArray[np.float64]:
        """Return the mean of each class, of shape (n_classes, n_features)."""
        if self.is_sparse:
            return np.array([np.asarray(part.mean(axis=0)).ravel() for part in self])
        return np.array([part.mean(axis=0) for part in self])

    def draw_ranks(self, random: np.random.Generator) -> NDArray[np.intp]:
        """Return the rank of each row in a random order of the rows of its class.

        The random numbers are tied to the rows of the original data, so renaming classes does not
        change the ranks.
        """
        draws = random.permutation(int(self.order.max()) + 1)[self.order]
        by_class = np.lexsort((draws, self.class_indices))
        ranks = np.empty(len(draws), dtype=np.intp)
        ranks[by_class] = np.arange(len(draws)) - self.starts[self.class_indices[by_class]]
        return ranks

    def take(self, rows: NDArray[np.intp]) -> ClassSamples:
        """Return some of the samples, at least one of each class; `rows` must be ascending."""
        starts = np.searchsorted(rows, self.starts).astype(np.intp)
        return ClassSamples(self.classes, self.rows[rows], starts, self.order[rows])

    def scaled(self) -> ClassSamples:
        """Return the samples with features scaled to unit variance; dense ones also centred."""
        if self.is_sparse:
            squares = self.rows.multiply(self.rows).mean(axis=0)
            scale = np.sqrt(np.asarray(squares).ravel())
            rows = self.rows.multiply(1 / np.where(scale > 0, scale, 1)).tocsr()
        else:
            centred = self.rows - self.rows.mean(axis=0)
            scale = centred.std(axis=0)
            rows = centred / np.where(scale > 0, scale, 1)
        return ClassSamples(self.classes, rows, self.starts, self.order)


def group_samples(X: Any, y: ArrayLike) -> ClassSamples:
    """Return data grouped by class, or raise DataError if it cannot be used.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features), of finite numbers
    y : sequence of n_samples labels of any kind

    Examples
    --------
    >>> samples = group_samples([[0.0], [1.0], [2.0]], ["b", "a", "b"])
    >>> samples.classes, samples.starts, samples.rows.ravel()
    (('a', 'b'), array([0, 1, 3]), array([1., 0., 2.]))
    """
    rows = _features(X)
    refuse_masked(y, "y")
    labels = _labels(y)
    number: defaultdict[Any, int] = defaultdict(count().__next__)  # in order of appearance
    numbers = np.fromiter(map(number.__getitem__, labels), dtype=np.intp, count=len(labels))
    kinds = list(number)
    missing = [label for label in kinds if _is_missing(label)]
    if missing:
        raise DataError(f"y has the label {missing[0]}. Remove the samples without a label.")
    if len(labels) != rows.shape[0]:
        raise DataError(f"X has {rows.shape[0]} rows, but y has {len(labels)} labels.")
    classes = _sorted_if_possible(kinds)
    place = {label: index for index, label in enumerate(classes)}
    class_indices = np.array([place[label] for label in kinds], dtype=np.intp)[numbers]
    # Small integers are sorted by counting.
    small = np.int16 if len(classes) < np.iinfo(np.int16).max else np.intp
    order = np.argsort(class_indices.astype(small), kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(class_indices, minlength=len(classes)))])
    return ClassSamples(tuple(classes), rows[order], starts.astype(np.intp), order)


def check_two_classes(samples: ClassSamples) -> ClassSamples:
    """Return samples of two classes or more, or raise DataError."""
    if len(samples.classes) < 2:
        raise DataError(
            f"y has only one class, {samples.classes[0]!r}; distances need at least two."
        )
    return samples


def _features(X: Any) -> Rows:
    refuse_masked(X, "X")
    refuse_dates(X, "X")
    rows: Rows = check_sparse(X)
    try:
        rows = scipy.sparse.csr_array(rows) if is_sparse(rows) else np.asarray(rows)
        if np.iscomplexobj(rows):
            raise TypeError
        rows = rows.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise DataError(
            "X has values that are not numbers. Encode categories and text as numbers first."
        ) from None
    if rows.ndim != 2:
        raise DataError(
            f"X has shape {rows.shape}; it needs one row for each sample and one column for each "
            "feature."
        )
    if 0 in rows.shape:
        raise DataError(f"X has shape {rows.shape}; it needs at least one sample and one feature.")
    largest = max(rows.max(), -rows.min())
    if not np.isfinite(largest):
        raise DataError(_describe_first_missing(rows))
    if largest > _LARGEST or 0 < largest < 1 / _LARGEST:
        raise DataError(
            f"X has values up to {largest:.3g}, whose squares overflow or underflow. "
            "Scale the features."
        )
    return rows


def _describe_first_missing(rows: Rows) -> str:
    if isinstance(rows, np.ndarray):
        row, column = np.argwhere(~np.isfinite(rows))[0]
        value = rows[row, column]
    else:
        table = rows.tocoo()
        first = np.flatnonzero(~np.isfinite(table.data))[0]
        row, column, value = table.row[first], table.col[first], table.data[first]
    return f"X has {value} in row {row}, column {column}. Impute or remove missing values."


def _labels(y: ArrayLike) -> list[Any]:
    # An object array keeps mixed labels such as 1 and "a"; otherwise all would become text.
    array = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    refuse_date_labels(array)
    if array.ndim != 1:
        raise DataError(f"y has shape {array.shape}; it needs one label for each sample.")
    labels: list[Any] = array.tolist()
    return labels


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA is neither equal nor unequal to itself
        return True


def _sorted_if_possible(labels: list[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:
        return labels
