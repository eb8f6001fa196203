"""Coding matrices, which are validated on creation and immutable.

A partition with two sides is one row of −1, 0 and +1. A partition with n sides is n rows: the row
of a side has +1 on that side and −1 on the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from polytomy.errors import CodeError
from polytomy.inputs.arguments import count_things
from polytomy.scheme import structure
from polytomy.scheme.code_checks import read_matrix, read_row_counts
from polytomy.scheme.structure import (
    AdjacentOrder,
    CodeArray,
    Equiangular,
    SingleClasses,
    TreeShape,
)


@dataclass(frozen=True, init=False, repr=False, eq=False)
class CodingMatrix:
    """A coding matrix: one row for each binary partition, one column for each class.

    An entry is −1 or +1 if the class is on that side of the partition, and 0 if the partition does
    not contain the class. (Much of the literature uses the transpose.) A partition with more than
    two sides has a row for each side, +1 on that side and −1 on the others. A matrix is validated
    on creation and immutable. Its structure is computed once, when it is first needed.

    Parameters
    ----------
    matrix : array-like of shape (n_rows, n_classes)
        Values −1, 0 and 1, of any integer or floating type; copied. A single class has no
        partitions: shape (0, 1).
    rows_per_partition : sequence of int, optional
        How many consecutive rows belong to each partition: one, or the number of its sides. By
        default, every row is a binary partition.

    Attributes
    ----------
    matrix : int8 array of shape (n_rows, n_classes), read-only
    rows_per_partition : array of shape (n_partitions,), read-only

    Raises
    ------
    CodeError
        With all problems: a value other than −1, 0 and 1, a partition with an empty side, a
        class in no partition, classes with equal columns.

    Examples
    --------
    >>> code = CodingMatrix([[-1, 1, 0], [-1, 0, 1], [0, -1, 1]])
    >>> code
    CodingMatrix(3 partitions, 3 classes)
    >>> code.rank, code.minimum_distance
    (2, 2.0)
    >>> CodingMatrix([[-1, 1, 1]])
    Traceback (most recent call last):
        ...
    polytomy.errors.CodeError: classes 1 and 2 have equal columns: no partition separates them

    One partition with the three sides 0 1 / 2 / 3, and a binary one:

    >>> rows = [[1, 1, -1, -1], [-1, -1, 1, -1], [-1, -1, -1, 1], [-1, 1, 0, 0]]
    >>> code = CodingMatrix(rows, rows_per_partition=[3, 1])
    >>> code
    CodingMatrix(2 partitions, 4 rows, 4 classes)
    >>> code.sides
    array([[ 0,  0,  1,  2],
           [ 0,  1, -1, -1]])
    """

    matrix: CodeArray
    rows_per_partition: NDArray[np.intp]

    def __init__(self, matrix: ArrayLike, rows_per_partition: ArrayLike | None = None) -> None:
        values, problems = read_matrix(matrix)
        if problems:
            raise CodeError(problems)
        row_counts, problems = read_row_counts(values, rows_per_partition)
        if problems:
            raise CodeError(problems)
        for name, array in (("matrix", values), ("rows_per_partition", row_counts)):
            array.flags.writeable = False
            # A view, because an array that owns its data could be made writeable again.
            self.__dict__[name] = array.view()

    @classmethod
    def from_sides(cls, sides: ArrayLike) -> CodingMatrix:
        """Return the code of partitions given by the number of each class's side.

        Parameters
        ----------
        sides : array-like of int of shape (n_partitions, n_classes)
            The sides of a partition are numbered from 0; −1 leaves the class out. A partition with
            two sides becomes one row, with side 0 as −1.

        Examples
        --------
        >>> CodingMatrix.from_sides([[0, 1, 2]]).matrix
        array([[ 1, -1, -1],
               [-1,  1, -1],
               [-1, -1,  1]], dtype=int8)
        """
        matrix, row_counts = rows_of_sides(np.asarray(sides))
        return cls(matrix, row_counts)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of classes."""
        n_rows, n_classes = self.matrix.shape
        return n_rows, n_classes

    @property
    def n_partitions(self) -> int:
        """Number of partitions."""
        return len(self.rows_per_partition)

    @property
    def n_rows(self) -> int:
        """Number of rows: one for each binary partition, and one for each side of the others."""
        return self.shape[0]

    @cached_property
    def is_binary(self) -> bool:
        """Whether every partition has two sides, and so one row."""
        return self.n_rows == self.n_partitions

    @cached_property
    def partition_of_row(self) -> NDArray[np.intp]:
        """The partition that each row belongs to."""
        return structure.frozen(np.repeat(np.arange(self.n_partitions), self.rows_per_partition))

    @cached_property
    def row_weights(self) -> NDArray[np.float64]:
        """Weight of each row in a sum over rows: one, or one half if it is one of several sides."""
        counts = self.rows_per_partition[self.partition_of_row]
        return structure.frozen(np.where(counts > 1, 0.5, 1.0))

    @cached_property
    def sides(self) -> NDArray[np.intp]:
        """The side of each class in each partition, from 0; −1 if it is left out."""
        return structure.frozen(sides_of_rows(self.matrix, self.rows_per_partition))

    @cached_property
    def n_sides(self) -> NDArray[np.intp]:
        """Number of sides of each partition."""
        return structure.frozen(np.maximum(self.rows_per_partition, 2))

    @property
    def n_classes(self) -> int:
        """Number of columns."""
        return self.shape[1]

    @cached_property
    def is_strict(self) -> bool:
        """Whether every partition contains all classes: no zeros."""
        return structure.is_strict(self.matrix)

    @cached_property
    def is_pairwise(self) -> bool:
        """Whether every partition separates one class from one other class."""
        return self.is_binary and structure.has_only_pairs(self.matrix)

    @cached_property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
        """The classes on the −1 and +1 sides of each partition, if the code is pairwise."""
        if not self.is_pairwise:
            return None
        found = structure.pair_of_each_row(self.matrix)
        for side in found:
            side.flags.writeable = False
        return found

    @cached_property
    def is_one_vs_one(self) -> bool:
        """Whether the code is pairwise and contains every pair of classes."""
        return self.is_binary and structure.is_one_vs_one(self.matrix)

    @property
    def is_one_vs_rest(self) -> bool:
        """Whether there is one partition for each class, against all other classes."""
        return self.single_classes is not None

    @cached_property
    def single_classes(self) -> SingleClasses | None:
        """The class that each partition separates from all others, if the code is one-vs-rest."""
        return structure.find_single_classes(self.matrix) if self.is_binary else None

    @property
    def is_equiangular(self) -> bool:
        """Whether the code is strict and AᵀA = a·I + b·11ᵀ."""
        return self.equiangular is not None

    @property
    def is_adjacent(self) -> bool:
        """Whether every partition is a cut of the same order of classes."""
        return self.adjacent is not None

    @property
    def is_tree(self) -> bool:
        """Whether the partitions are the nodes of one tree over the classes."""
        return self.tree is not None

    @cached_property
    def row_lists(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
        """The classes and signs of the rows, one after the other.

        Returns
        -------
        starts : array of shape (n_partitions + 1,), where each row starts and ends
        classes : array of class indices, ascending in each row
        signs : array of −1.0 and 1.0
        """
        rows, classes = np.nonzero(self.matrix)
        starts = np.searchsorted(rows, np.arange(self.n_partitions + 1))
        return starts, classes, self.matrix[rows, classes].astype(np.float64)

    @cached_property
    def equiangular(self) -> Equiangular | None:
        """The numbers a and b of AᵀA = a·I + b·11ᵀ, if the code is strict and they exist."""
        return structure.find_equiangular(self.matrix) if self.is_binary else None

    @cached_property
    def adjacent(self) -> AdjacentOrder | None:
        """The order of classes that every partition cuts, if there is one."""
        return structure.find_adjacent_order(self.matrix) if self.is_binary else None

    @cached_property
    def tree(self) -> TreeShape | None:
        """The tree whose nodes are the partitions, if there is one."""
        return structure.find_tree(self.matrix, self.rows_per_partition)

    @cached_property
    def rank(self) -> int:
        """Exact rank of the matrix."""
        if self.is_pairwise:
            return self.n_classes - self._n_components
        if self.is_binary and (self.is_tree or self.is_adjacent):
            return self.n_classes - 1
        if self.equiangular is not None:
            # The eigenvalues of a·I + b·11ᵀ are a, which is positive, and a + b·n_classes.
            diagonal, offset = self.equiangular
            return self.n_classes - (diagonal + offset * self.n_classes == 0)
        return structure.matrix_rank(self.matrix)

    @cached_property
    def _n_components(self) -> int:
        return structure.count_components(self.matrix)

    @property
    def is_determined(self) -> bool:
        """Whether consistent answers of all partitions determine the class probabilities."""
        return not self.undetermined

    @cached_property
    def undetermined(self) -> tuple[int, ...]:
        """Classes whose probability is not determined by consistent answers of all partitions."""
        if self.is_pairwise:
            # No partition compares the classes of one component with those of another.
            return () if self._n_components == 1 else tuple(range(self.n_classes))
        if self.is_tree or self.is_adjacent or self.is_equiangular:
            return ()
        return structure.find_undetermined(self.matrix)

    @property
    def minimum_distance(self) -> float:
        """Minimum Hamming distance between two columns; a zero counts one half."""
        return self._distances[0]

    @property
    def mean_distance(self) -> float:
        """Mean Hamming distance between two columns; a zero counts one half."""
        return self._distances[1]

    @cached_property
    def _distances(self) -> tuple[float, float]:
        if self.is_binary:
            return structure.column_distances(self.matrix)
        return side_distances(self.sides)

    @cached_property
    def repeated_rows(self) -> tuple[tuple[int, ...], ...]:
        """Groups of rows that have the same two sides: equal or opposite."""
        return structure.find_repeated_rows(self.matrix)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.matrix, dtype=dtype, copy=copy)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CodingMatrix):
            return NotImplemented
        return self is other or (
            np.array_equal(self.matrix, other.matrix)
            and np.array_equal(self.rows_per_partition, other.rows_per_partition)
        )

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.shape, self.matrix.tobytes(), self.rows_per_partition.tobytes()))

    def __repr__(self) -> str:
        partitions = count_things(self.n_partitions, "partition")
        rows = "" if self.is_binary else f"{self.n_rows} rows, "
        return (
            f"CodingMatrix({partitions}, {rows}{count_things(self.n_classes, 'class', 'classes')})"
        )

    def __reduce__(self) -> tuple[type[CodingMatrix], tuple[NDArray[Any], ...]]:
        if self.is_binary:
            return CodingMatrix, (self.matrix,)
        return CodingMatrix, (self.matrix, self.rows_per_partition)

    def __copy__(self) -> CodingMatrix:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> CodingMatrix:
        return self


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
