"""The data of a scheme: codes over branches, stored as flat tuples.

A nested scheme is a list of nodes in preorder, which refer to each other by position. So nothing
recurses: comparing, hashing, copying and pickling work at any depth.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from polytomy.codes import CodingMatrix, direct
from polytomy.language.lexer import escape_quoted
from polytomy.scheme.labels import Label

__all__ = [
    "TWO_WAY",
    "BinaryName",
    "BranchRef",
    "ClassRef",
    "Layout",
    "Node",
    "NodeRef",
    "one_model_code",
]


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


class Layout(NamedTuple):
    """Classes in order of appearance, and nodes in preorder; no nodes for a single class.

    Because of these orders, the classes below a node have consecutive positions.
    """

    classes: tuple[Label, ...]
    nodes: tuple[Node, ...]

    def class_counts(self) -> list[int]:
        """Return the number of classes below each node."""
        counts = [0] * len(self.nodes)
        for position in range(len(self.nodes) - 1, -1, -1):
            counts[position] = sum(branch_sizes(self.nodes[position], counts))
        return counts

    def branch_starts(self) -> list[tuple[int, ...]]:
        """Return, for each node, where the classes of each branch start and the last ones end."""
        counts = self.class_counts()
        starts: list[tuple[int, ...]] = [()] * len(self.nodes)
        first = [0] * len(self.nodes)
        for position, node in enumerate(self.nodes):
            bounds = tuple(accumulate(branch_sizes(node, counts), initial=first[position]))
            starts[position] = bounds
            for branch, start in zip(node.branches, bounds, strict=False):
                if isinstance(branch, NodeRef):
                    first[branch.index] = start
        return starts


def branch_sizes(node: Node, counts: list[int]) -> list[int]:
    """Return the number of classes below each branch of a node, given those below each node."""
    return [1 if isinstance(b, ClassRef) else counts[b.index] for b in node.branches]
