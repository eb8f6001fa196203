"""The nodes of a scheme: codes over branches, with labels and names of binaries.

A nested scheme is a list of nodes in preorder, which refer to each other by position. So nothing
recurses: comparing, hashing, copying and pickling work at any depth.

In a control text, an unquoted word that is the usual spelling of a number, ``True`` or ``False`` is
that number or truth value. All other words, and everything in quotes, are strings: ``7`` is the
integer, ``"7"`` and ``07`` are strings. So every label can be written and read back unchanged.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from polytomy.errors import Argument, SchemeError
from polytomy.language.lexer import escape_quoted, find_lone_surrogate, is_bare_word
from polytomy.language.syntax_tree import Word
from polytomy.scheme.coding_matrix import CodingMatrix
from polytomy.scheme.standard_codes import direct

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
