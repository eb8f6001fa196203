"""Nodes and partitions of a scheme: codes over branches, labels, names, the classes on each side.

A nested scheme is a list of nodes in preorder, which refer to each other by position. So nothing
recurses: comparing, hashing, copying and pickling work at any depth.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from polytomy.errors import Argument, SchemeError
from polytomy.language.lexer import escape_quoted, find_lone_surrogate, is_bare_word
from polytomy.language.parser import Word
from polytomy.scheme.codes import direct
from polytomy.scheme.coding_matrix import CodingMatrix

if TYPE_CHECKING:
    from polytomy.scheme.scheme import Scheme

Label: TypeAlias = str | int | float | bool
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e[-+][0-9]+)?")
_TRUTH: dict[str, Label] = {"True": True, "False": False}
DEFAULT_BASE = "model"

# Longer dotted paths are shortened, or the names of a long chain would grow quadratically.
_LONGEST_PATH = 240


class BinaryName(NamedTuple):
    """The name or specification of a partition's binary in a scheme."""

    text: str
    is_specification: bool = False

    def __str__(self) -> str:
        return escape_quoted(self.text) if self.is_specification else self.text


@dataclass(frozen=True, slots=True)
class ClassRef:
    """A branch that is a class, given by its position in the classes of the scheme."""

    index: int


@dataclass(frozen=True, slots=True)
class NodeRef:
    """A branch that is a node, given by its position in the nodes of the scheme."""

    index: int


BranchRef: TypeAlias = ClassRef | NodeRef


class Node(NamedTuple):
    """A code over branches, with a binary for each partition."""

    binaries: tuple[BinaryName, ...]
    code: CodingMatrix
    branches: tuple[BranchRef, ...]

    @property
    def is_two_way(self) -> bool:
        """Whether the node is one binary with its first branch on the −1 side."""
        return self.code is TWO_WAY or self.code == TWO_WAY

    @property
    def is_one_model(self) -> bool:
        """Whether the node is one model with each branch on its own side, in order."""
        if self.code is TWO_WAY or self.code.n_partitions != 1:
            return self.code is TWO_WAY
        return bool((self.code.sides[0] == range(len(self.branches))).all())


TWO_WAY = CodingMatrix([[-1, 1]])


def one_model_code(n_branches: int) -> CodingMatrix:
    """Return the code of one model that decides between `n_branches` branches."""
    return TWO_WAY if n_branches == 2 else direct(n_branches)


class Division(NamedTuple):
    """A node to grow: its binaries, its code, and the items that its branches grow from."""

    binaries: tuple[BinaryName, ...]
    code: CodingMatrix
    items: Sequence[Any]


def grow_nodes(
    root: Any, divide: Callable[[Any, int], Division | Label]
) -> tuple[list[Label], list[Node]]:
    """Return the labels and nodes of a scheme that grows from its root, in preorder.

    Parameters
    ----------
    root : item of any kind
    divide : function of an item and of the number of nodes so far
        Returns the node that the item grows into, or the label of its class.
    """
    labels: list[Label] = []
    nodes: list[tuple[Division, list[BranchRef]]] = []
    waiting: list[tuple[Any, list[BranchRef]]] = [(root, [])]
    while waiting:
        item, siblings = waiting.pop()
        found = divide(item, len(nodes))
        if not isinstance(found, Division):
            siblings.append(ClassRef(len(labels)))
            labels.append(found)
            continue
        below: list[BranchRef] = []
        siblings.append(NodeRef(len(nodes)))
        nodes.append((found, below))
        waiting.extend([(each, below) for each in reversed(found.items)])
    return labels, [Node(split.binaries, split.code, tuple(below)) for split, below in nodes]


def find_branch_starts(nodes: Sequence[Node]) -> list[tuple[int, ...]]:
    """Return, for each node, where the classes of each branch start and the last ones end.

    Nodes are in preorder and classes in order of appearance, so the classes below a node have
    consecutive positions.
    """
    sizes: list[list[int]] = [[] for _ in nodes]
    for position in range(len(nodes) - 1, -1, -1):
        sizes[position] = [
            1 if isinstance(branch, ClassRef) else sum(sizes[branch.index])
            for branch in nodes[position].branches
        ]
    starts: list[tuple[int, ...]] = [()] * len(nodes)
    first = [0] * len(nodes)
    for position, node in enumerate(nodes):
        starts[position] = tuple(accumulate(sizes[position], initial=first[position]))
        for branch, start in zip(node.branches, starts[position], strict=False):
            if isinstance(branch, NodeRef):
                first[branch.index] = start
    return starts


# -- labels -------------------------------------------------------------------------------------


def word_to_label(word: Word) -> Label:
    """Return the label that a word stands for.

    An unquoted word that is the usual spelling of a number, ``True`` or ``False`` *is* that value.
    All other words, and everything in quotes, are strings: ``7`` is the integer, ``"7"`` and ``07``
    are strings. So every label can be written and read back unchanged.

    Examples
    --------
    >>> word_to_label(Word("7", False, 0, 1)), word_to_label(Word("7", True, 0, 3))
    (7, '7')
    """
    return word.text if word.quoted else _bare_word_value(word.text)


def _bare_word_value(text: str) -> Label:
    if text in _TRUTH:
        return _TRUTH[text]
    # 64-bit numbers are shorter; longer ones are words.
    if len(text) > 30 or not _NUMBER.fullmatch(text):
        return text
    value = float(text) if "." in text or "e" in text else int(text)
    return value if str(value) == text and _is_representable(value) else text


def _is_representable(value: int | float) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return -(2**63) <= value < 2**64


def label_to_word(label: Label) -> Word:
    """Return the word for a label, in quotes only if it needs them."""
    text = str(label)
    quoted = isinstance(label, str) and (
        not is_bare_word(text) or not isinstance(_bare_word_value(text), str)
    )
    return Word(text, quoted, 0, 0)


def normalize_label(value: Any) -> Label:
    """Return a label as a plain Python value, or raise SchemeError if it cannot be a label.

    Examples
    --------
    >>> normalize_label(np.int64(3)), normalize_label(np.str_("corn"))
    (3, 'corn')
    """
    label = value.item() if isinstance(value, np.generic) else value
    if type(label) is str:
        if find_lone_surrogate(label) >= 0:
            raise SchemeError(f"label {label!r} is not valid text: it has a lone surrogate")
        return label
    # Subclasses of plain types, such as members of an Enum, may print differently.
    if isinstance(label, str):
        return normalize_label(str.__str__(label))
    if isinstance(label, bool):
        return label
    if isinstance(label, int) and _is_representable(label):
        return int(label)
    if isinstance(label, float) and _is_representable(label):
        return float(label)
    reason = "a label must be a string, a bool or a finite 64-bit number"
    raise SchemeError(f"{value!r} of type {type(value).__name__} cannot be a class label: {reason}")


def normalize_labels(values: Iterable[Any]) -> tuple[Label, ...]:
    """Return labels as plain Python values, or raise SchemeError if one is invalid or repeated."""
    if isinstance(values, (str, bytes)):
        raise SchemeError(
            Argument("classes", values),
            " is a single string. Use a list of labels or a number of classes.",
        )
    labels = tuple([normalize_label(value) for value in values])
    seen: dict[Label, Label] = {}
    for label in labels:
        if label in seen:
            reason = (
                "is given twice" if repr(label) == repr(seen[label]) else f"equals {seen[label]!r}"
            )
            raise SchemeError(f"class {label!r} {reason}; list each class once")
        seen[label] = label
    return labels


# -- generated names: `base.00` for a branch, `base-00` for a partition -------------------------


def partition_name(base: str, row: int) -> str:
    """Return the name of a partition.

    Examples
    --------
    >>> partition_name("shuttle_adj", 3)
    'shuttle_adj-03'
    """
    return f"{base}-{row:02d}"


def branch_base(base: str, branch: int, node_position: int) -> str:
    """Return the base name of a branch; a path that is too long restarts at the node's number.

    Examples
    --------
    >>> branch_base("shuttle_hier.00", 1, 2)
    'shuttle_hier.00.01'
    """
    name = f"{base}.{branch:02d}"
    return name if len(name) <= _LONGEST_PATH else f"node{node_position:05d}"


def number_binaries(base: str, count: int) -> tuple[BinaryName, ...]:
    """Return the numbered binaries of a code with `count` rows."""
    return tuple([BinaryName(partition_name(base, row)) for row in range(count)])


def own_base(binaries: tuple[BinaryName, ...], inherited: str) -> str:
    """Return the base name for the nodes below a node with these binaries.

    This is the name of the only binary, or the base of the numbered binaries; otherwise the base
    that the node inherited.
    """
    first = binaries[0]
    if first.is_specification:
        return inherited
    if len(binaries) == 1:
        return first.text
    base, numbered = first.text[:-3], first.text.endswith("-00")
    if base and numbered and binaries == number_binaries(base, len(binaries)):
        return base
    return inherited


def name_nodes(nodes: Sequence[Node]) -> tuple[str, ...]:
    """Return a different name for each node.

    The name is that of the node's only binary, the base of its numbered binaries, or the node's
    number. If other nodes have the same name, it is prefixed with the name of the node above, or
    followed by the number.
    """
    names = [
        own_base(node.binaries, "") or f"node {position}" for position, node in enumerate(nodes)
    ]
    parents = [0] * len(names)
    for position, node in enumerate(nodes):
        for branch in node.branches:
            if isinstance(branch, NodeRef):
                parents[branch.index] = position
    counts = Counter(names)
    longer = [
        f"{names[parents[position]]}/{name}" if counts[name] > 1 and position else name
        for position, name in enumerate(names)
    ]
    counts = Counter(longer)
    return tuple(
        [
            f"{name} (node {position})" if counts[name] > 1 else name
            for position, name in enumerate(longer)
        ]
    )


# -- partitions, and the classes on their sides -------------------------------------------------


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
