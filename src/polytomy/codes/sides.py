"""Partitions as the side of each class, and as rows of a coding matrix.

A partition with two sides is one row of −1, 0 and +1. A partition with n sides is n rows: the row
of a side has +1 on that side and −1 on the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polytomy.codes.structure import CodeArray

__all__ = ["rows_of_sides", "side_distances", "sides_of_rows"]


def rows_of_sides(sides: NDArray[Any]) -> tuple[CodeArray, NDArray[np.intp]]:
    """Return the rows of partitions given by the side of each class, and their number of rows.

    A partition with two sides has one row; one with more sides has a row for each side.
    """
    counts = sides.max(axis=1, initial=0) + 1
    counts = np.where(counts <= 2, 1, counts).astype(np.intp)
    matrix = np.empty((int(counts.sum()), sides.shape[1]), dtype=np.int8)
    ends = np.cumsum(counts)
    for own, count, end in zip(sides, counts.tolist(), ends.tolist(), strict=True):
        if count == 1:
            matrix[end - 1] = np.where(own < 0, 0, 2 * own - 1)
        else:
            is_own = own == np.arange(count)[:, np.newaxis]
            matrix[end - count : end] = np.where(own < 0, 0, 2 * is_own - 1)
    return matrix, counts


def sides_of_rows(matrix: CodeArray, rows_per_partition: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the side of each class in each partition, or −1; the inverse of `rows_of_sides`."""
    sides = np.empty((len(rows_per_partition), matrix.shape[1]), dtype=np.intp)
    ends = np.cumsum(rows_per_partition)
    for own, count, end in zip(sides, rows_per_partition.tolist(), ends.tolist(), strict=True):
        row = matrix[end - count]
        numbers = row > 0 if count == 1 else matrix[end - count : end].argmax(axis=0)
        own[:] = np.where(row == 0, -1, numbers)
    return sides


def side_distances(sides: NDArray[np.intp]) -> tuple[float, float]:
    """Return the minimum and the mean number of partitions that separate two classes.

    A partition that leaves out one of the classes counts one half; see `column_distances`.

    Examples
    --------
    >>> side_distances(np.array([[0, 0, 1, 2], [0, 1, 2, -1]]))
    (1.0, 1.5833333333333333)
    """
    n_classes = sides.shape[1]
    distances = np.zeros((n_classes, n_classes))
    for own in sides:
        is_out = own < 0
        distances += np.where(is_out[:, np.newaxis] | is_out, 0.5, own[:, np.newaxis] != own)
    pairs = distances[np.triu_indices(n_classes, 1)]
    return float(pairs.min(initial=np.inf)), float(pairs.mean())
