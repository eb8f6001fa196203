"""The partitions of a scheme, and the classes on their sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import SchemeError
from polytomy.scheme.coding_matrix import CodingMatrix
from polytomy.scheme.nodes import BinaryName, Label

if TYPE_CHECKING:
    from polytomy.scheme.scheme import Scheme

_FEW = 1024
_BLOCK = 2**20  # entries of a coding matrix


class Partition:
    """One partition of a scheme: a classifier and the classes on its sides.

    Attributes
    ----------
    binary : BinaryName, its name or specification
    sides : positions in `scheme.classes` of the classes on each side; −1 comes before +1
    side_classes : labels of the classes on each side
    negative, positive : the two sides, if there are two
    negative_classes, positive_classes : labels of the classes on the two sides, if there are two
    node, row : position of the node in the scheme, and first row of the partition in its code
    """

    __slots__ = ("_scheme", "binary", "n_rows", "node", "row")

    def __init__(self, scheme: Scheme, node: int, row: int) -> None:
        self._scheme = scheme
        self.node = node
        self.row = row
        code = scheme.nodes[node].code
        number = int(code.partition_of_row[row])
        self.n_rows = int(code.rows_per_partition[number])
        self.binary: BinaryName = scheme.nodes[node].binaries[number]

    @property
    def n_sides(self) -> int:
        """Number of sides."""
        return max(2, self.n_rows)

    @property
    def row_names(self) -> list[str]:
        """Name of each row: that of the partition, plus the side if there are several rows."""
        if self.n_rows == 1:
            return [str(self.binary)]
        return [f"{self.binary}/{side}" for side in range(self.n_rows)]

    @property
    def sides(self) -> tuple[tuple[int, ...], ...]:
        """Positions in `scheme.classes` of the classes on each side."""
        return tuple([tuple(side.tolist()) for side in self.side_arrays])

    @property
    def side_arrays(self) -> list[NDArray[np.intp]]:
        """`sides` as arrays, which take less memory and time if there are many classes."""
        if self.n_rows == 1:
            return [self._positions_with(0, -1), self._positions_with(0, 1)]
        return [self._positions_with(side, 1) for side in range(self.n_rows)]

    def _positions_with(self, row: int, value: int) -> NDArray[np.intp]:
        starts = self._scheme.branch_starts[self.node]
        (branches,) = (self._scheme.nodes[self.node].code.matrix[self.row + row] == value).nonzero()
        if len(starts) == starts[-1] - starts[0] + 1:  # every branch is a class
            return np.asarray(branches + starts[0], dtype=np.intp)
        if len(branches) == 1:
            return np.arange(starts[branches[0]], starts[branches[0] + 1])
        return np.concatenate([np.arange(starts[b], starts[b + 1]) for b in branches.tolist()])

    def _two_sides(self) -> tuple[tuple[int, ...], ...]:
        if self.n_rows > 1:
            raise SchemeError(
                f"partition {self.binary} has {self.n_sides} sides, but only two are supported here"
            )
        return self.sides

    @property
    def negative(self) -> tuple[int, ...]:
        """Positions in `scheme.classes` of the classes on the −1 side."""
        return self._two_sides()[0]

    @property
    def positive(self) -> tuple[int, ...]:
        """Positions in `scheme.classes` of the classes on the +1 side."""
        return self._two_sides()[1]

    @property
    def side_classes(self) -> tuple[tuple[Label, ...], ...]:
        """Labels of the classes on each side."""
        return tuple([self._labels(side) for side in self.sides])

    @property
    def negative_classes(self) -> tuple[Label, ...]:
        """Labels of the classes on the −1 side."""
        return self._labels(self.negative)

    @property
    def positive_classes(self) -> tuple[Label, ...]:
        """Labels of the classes on the +1 side."""
        return self._labels(self.positive)

    def _labels(self, positions: tuple[int, ...]) -> tuple[Label, ...]:
        return tuple([self._scheme.classes[index] for index in positions])

    def __repr__(self) -> str:
        sides = " / ".join([" ".join(map(str, side)) for side in self.side_classes])
        return f"<Partition {self.binary}: {sides}>"


def iterate_sides(scheme: Scheme) -> Iterator[tuple[Sequence[int], ...]]:
    """Yield the sides of each partition, as class positions compacted by `compact_classes`.

    This is `Partition.sides` for every partition, but faster for large codes.
    """
    number = 0
    for node, starts in zip(scheme.nodes, scheme.branch_starts, strict=True):
        if node.code.is_binary and len(starts) == starts[-1] - starts[0] + 1:
            # Every branch is a class.
            yield from iterate_binary_sides(node.code, starts[0])
        else:
            for partition in scheme.partitions[number : number + len(node.binaries)]:
                yield tuple(map(compact_classes, partition.side_arrays))
        number += len(node.binaries)


def iterate_binary_sides(
    code: CodingMatrix, start: int = 0
) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """Yield the −1 and the +1 side of each row of a binary code; columns count from `start`."""
    n_rows = max(1, _BLOCK // code.n_classes)
    for first in range(0, code.n_rows, n_rows):
        block = code.matrix[first : first + n_rows]
        yield from zip(_columns_with(-1, block, start), _columns_with(1, block, start), strict=True)


def _columns_with(value: int, block: NDArray[np.int8], start: int) -> Iterator[Sequence[int]]:
    rows, columns = (block == value).nonzero()
    ends = np.searchsorted(rows, np.arange(len(block) + 1))
    columns += start
    return map(compact_classes, (columns[a:b] for a, b in pairwise(ends.tolist())))


class ManyClasses(Sequence[int]):
    """Class indices, stored as runs of consecutive numbers, that behave like a tuple.

    One-vs-rest of n classes has n sides with n − 1 classes each, which are one or two runs.

    Parameters
    ----------
    classes : array of int

    Examples
    --------
    >>> rest = ManyClasses(np.array([0, 1, 2, 4, 5]))
    >>> len(rest), rest[3], rest == (0, 1, 2, 4, 5)
    (5, 4, True)
    """

    __slots__ = ("_firsts", "_starts")

    def __init__(self, classes: NDArray[np.integer[Any]]) -> None:
        breaks = np.flatnonzero(np.diff(classes) != 1) + 1
        places = np.concatenate([[0], breaks]) if len(classes) else np.empty(0, dtype=np.intp)
        self._firsts = np.asarray(classes)[places].astype(np.int32)
        self._starts = np.append(places, len(classes)).astype(np.int32)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        counts = np.diff(self._starts)
        shifts = self._firsts - self._starts[:-1]
        values: NDArray[Any] = np.arange(len(self)) + np.repeat(shifts, counts)
        return values if dtype is None else values.astype(dtype, copy=False)

    def __len__(self) -> int:
        return int(self._starts[-1])

    @overload
    def __getitem__(self, key: int) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[int, ...]: ...
    def __getitem__(self, key: int | slice) -> int | tuple[int, ...]:
        found = np.asarray(self)[key]
        return tuple(found.tolist()) if isinstance(key, slice) else int(found)

    def __iter__(self) -> Iterator[int]:
        return iter(np.asarray(self).tolist())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ManyClasses | tuple):
            return len(self) == len(other) and bool((np.asarray(self) == np.asarray(other)).all())
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<ManyClasses: {len(self)} classes>"


def compact_classes(classes: NDArray[np.integer[Any]]) -> Sequence[int]:
    """Return class indices as a tuple, or as ManyClasses if there are many."""
    return tuple(classes.tolist()) if len(classes) <= _FEW else ManyClasses(classes)


def set_key(classes: Sequence[int]) -> frozenset[int] | bytes:
    """Return a key that is equal for equal sets of classes: the set, or a digest if it is large.

    Examples
    --------
    >>> set_key((2, 1)) == set_key((1, 2))
    True
    >>> len(set_key(ManyClasses(np.arange(5000))))
    32
    """
    if len(classes) <= _FEW:
        return frozenset(classes)
    members = np.sort(np.asarray(classes, dtype=np.int64))
    return blake2b(members.tobytes(), digest_size=32).digest()
