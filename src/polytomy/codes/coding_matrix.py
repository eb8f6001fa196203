"""Coding matrices: checked when made, and frozen."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from polytomy.codes import rank as ranks
from polytomy.codes import structure
from polytomy.codes.checks import MAX_ENTRIES, find_problems, read_matrix
from polytomy.codes.structure import (
    AdjacentOrder,
    CodeArray,
    Equiangular,
    SingleClasses,
    TreeShape,
)
from polytomy.errors import CodeError

__all__ = ["MAX_ENTRIES", "CodingMatrix", "find_problems"]


class CodingMatrix:
    """A coding matrix: one row for each partition, one column for each class.

    An entry is −1 or +1 if the class is on that side of the partition, and 0 if the partition
    leaves out the class. (Much of the literature uses the transpose.) A matrix is checked when made
    and cannot be changed. Its structure is computed once, when it is first needed.

    Parameters
    ----------
    matrix : array-like of shape (n_partitions, n_classes)
        Values −1, 0 and 1, of any integer or floating type; copied. A single class has no
        partitions: shape (0, 1).

    Attributes
    ----------
    matrix : int8 array of shape (n_partitions, n_classes), read-only

    Raises
    ------
    CodeError
        With every problem found: a value other than −1, 0 and 1, a partition with an empty side, a
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
    """

    matrix: CodeArray

    def __init__(self, matrix: ArrayLike) -> None:
        values, problems = read_matrix(matrix)
        if problems:
            raise CodeError(problems)
        values.flags.writeable = False
        # A view, because an array that owns its data could be made writeable again.
        self.__dict__["matrix"] = values.view()

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of partitions and of classes."""
        n_partitions, n_classes = self.matrix.shape
        return n_partitions, n_classes

    @property
    def n_partitions(self) -> int:
        """Number of rows."""
        return self.shape[0]

    @property
    def n_classes(self) -> int:
        """Number of columns."""
        return self.shape[1]

    @cached_property
    def is_strict(self) -> bool:
        """Whether every partition divides all the classes: no zeros."""
        return structure.is_strict(self.matrix)

    @cached_property
    def is_pairwise(self) -> bool:
        """Whether every partition separates one class from one other class."""
        return structure.has_only_pairs(self.matrix)

    @cached_property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
        """The classes on the −1 and on the +1 side of each partition, if the code is pairwise."""
        if not self.is_pairwise:
            return None
        found = structure.pair_of_each_row(self.matrix)
        for side in found:
            side.flags.writeable = False
        return found

    @cached_property
    def is_one_vs_one(self) -> bool:
        """Whether the code is pairwise and has every pair of classes."""
        return structure.is_one_vs_one(self.matrix)

    @property
    def is_one_vs_rest(self) -> bool:
        """Whether there is one partition for each class, against all other classes."""
        return self.single_classes is not None

    @cached_property
    def single_classes(self) -> SingleClasses | None:
        """The class that each partition separates from all others, if the code is one-vs-rest."""
        return structure.find_single_classes(self.matrix)

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
        """Whether the partitions are the splits of one binary tree over the classes."""
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
        return structure.find_equiangular(self.matrix)

    @cached_property
    def adjacent(self) -> AdjacentOrder | None:
        """The order of classes that every partition cuts, if there is one."""
        return structure.find_adjacent_order(self.matrix)

    @cached_property
    def tree(self) -> TreeShape | None:
        """The binary tree whose splits are the partitions, if there is one."""
        return structure.find_tree(self.matrix)

    @cached_property
    def rank(self) -> int:
        """Exact rank of the matrix."""
        if self.is_pairwise:
            return self.n_classes - self._n_components
        if self.is_tree or self.is_adjacent:
            return self.n_classes - 1
        if self.equiangular is not None:
            # The eigenvalues of a·I + b·11ᵀ are a, which is positive, and a + b·n_classes.
            diagonal, offset = self.equiangular
            return self.n_classes - (diagonal + offset * self.n_classes == 0)
        return ranks.matrix_rank(self.matrix)

    @cached_property
    def _n_components(self) -> int:
        return ranks.count_components(self.matrix)

    @property
    def is_determined(self) -> bool:
        """Whether consistent answers of all partitions determine the class probabilities."""
        return not self.undetermined

    @cached_property
    def undetermined(self) -> tuple[int, ...]:
        """Classes whose probability consistent answers of all partitions do not determine."""
        if self.is_pairwise:
            # No partition compares the classes of one component with those of another.
            return () if self._n_components == 1 else tuple(range(self.n_classes))
        if self.is_tree or self.is_adjacent or self.is_equiangular:
            return ()
        return ranks.find_undetermined(self.matrix)

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
        return structure.column_distances(self.matrix)

    @cached_property
    def repeated_rows(self) -> tuple[tuple[int, ...], ...]:
        """Groups of rows that are the same partition: equal or opposite."""
        return structure.find_repeated_rows(self.matrix)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if dtype is None or np.dtype(dtype) == self.matrix.dtype:
            return self.matrix.copy() if copy else self.matrix
        if copy is False:
            raise ValueError(f"a coding matrix is int8; as {np.dtype(dtype)} it must be copied")
        return self.matrix.astype(dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CodingMatrix):
            return NotImplemented
        return self is other or np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.shape, self.matrix.tobytes()))

    def __repr__(self) -> str:
        partitions = "partition" if self.n_partitions == 1 else "partitions"
        classes = "class" if self.n_classes == 1 else "classes"
        return f"CodingMatrix({self.n_partitions} {partitions}, {self.n_classes} {classes})"

    def __reduce__(self) -> tuple[type[CodingMatrix], tuple[CodeArray]]:
        return CodingMatrix, (self.matrix,)

    def __copy__(self) -> CodingMatrix:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> CodingMatrix:
        return self

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a coding matrix is frozen: {name!r} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a coding matrix is frozen: {name!r} cannot be deleted")
