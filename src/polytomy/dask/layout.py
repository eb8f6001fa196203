"""Where the rows of each class are, in all parts of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from polytomy.dask.grouping import PartSummary
from polytomy.errors import DataError

__all__ = ["Layout"]


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
        sizes = [summary.n_rows for summary in summaries]
        filled = [summary for summary in summaries if summary.n_rows]
        return cls(
            classes,
            counts,
            places,
            np.cumsum([0, *sizes[:-1]]),
            weights,
            sum(summary.n_bytes for summary in summaries),
            *_find_features(filled),
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
        if not _are_same_names(first.feature_names, other.feature_names):
            raise DataError("parts of the data have different feature names. Use the same names.")
    assert first.n_features is not None
    return first.n_features, first.feature_names


def _are_same_names(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)
