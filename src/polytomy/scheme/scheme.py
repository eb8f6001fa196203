"""The scheme: the meaning of a control text."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from polytomy.codes import CodingMatrix
from polytomy.errors import SchemeError
from polytomy.language import print_branch
from polytomy.language.lexer import find_lone_surrogate, is_name
from polytomy.scheme.drawing import draw_matrix, draw_tree
from polytomy.scheme.flatten import flatten_layout, unfold_layout
from polytomy.scheme.labels import Label, normalize_labels
from polytomy.scheme.layout import BinaryName, ClassRef, Layout, Node, NodeRef
from polytomy.scheme.naming import name_nodes
from polytomy.scheme.partitions import Partition
from polytomy.scheme.writing import layout_to_syntax

__all__ = ["Partition", "Scheme"]


class Scheme:
    """A division of classes into smaller problems, and how their answers are combined.

    A scheme is a tree of codes over class labels. It is immutable. Two schemes are equal if they
    have the same classes, codes and binaries in the same places. Create schemes with `parse`,
    `read` and the functions of `designs`.

    Attributes
    ----------
    classes : tuple of labels, in order of appearance
    nodes : tuple of Node, in preorder; empty for a single class
    partitions : tuple of Partition, in the order of the nodes and of their codes

    Examples
    --------
    >>> from polytomy.scheme import parse
    >>> scheme = parse("TreeVsField { EvergreenVsDeciduous {0 1} CornVsWheat {2 3} }")
    >>> scheme.classes
    (0, 1, 2, 3)
    >>> print(scheme.flatten())
    TreeVsField 0 1 / 2 3;
    EvergreenVsDeciduous 0 / 1;
    CornVsWheat 2 / 3;
    {0 1 2 3}
    """

    classes: tuple[Label, ...]
    nodes: tuple[Node, ...]

    def __init__(self, classes: Iterable[Any], nodes: Iterable[Node]) -> None:
        layout = Layout(normalize_labels(classes), tuple(nodes))
        _check(layout)
        self.__dict__["_layout"] = layout
        self.__dict__["classes"] = layout.classes
        self.__dict__["nodes"] = layout.nodes

    @classmethod
    def from_code(
        cls, code: CodingMatrix, classes: Iterable[Any], binaries: Iterable[BinaryName]
    ) -> Scheme:
        """Return the flat scheme of a code, with labels and binaries."""
        classes = tuple(classes)
        if len(classes) != code.n_classes:
            raise SchemeError(
                f"{len(classes)} classes do not fit a code of {code.n_classes} columns"
            )
        if code.n_classes == 1:
            return cls(classes, ())
        branches = tuple([ClassRef(index) for index in range(code.n_classes)])
        return cls(classes, (Node(tuple(binaries), code, branches),))

    # -- parts ----------------------------------------------------------------------------------

    @cached_property
    def branch_starts(self) -> list[tuple[int, ...]]:
        """For each node, where the classes of each branch start, and where the last ones end."""
        return self._layout.branch_starts()

    @cached_property
    def partitions(self) -> tuple[Partition, ...]:
        """Every partition of the scheme, in the order of the nodes and of their rows."""
        return tuple(
            [
                Partition(self, position, row)
                for position, node in enumerate(self.nodes)
                for row in accumulate(node.code.rows_per_partition[:-1].tolist(), initial=0)
            ]
        )

    @property
    def n_partitions(self) -> int:
        """Number of partitions, which equals the number of classifiers."""
        return sum(len(node.binaries) for node in self.nodes)

    @property
    def n_rows(self) -> int:
        """Number of columns of `decisions`: one per binary partition, one per side of others."""
        return sum(node.code.n_rows for node in self.nodes)

    @property
    def is_binary(self) -> bool:
        """Whether every partition has two sides."""
        return all(node.code.is_binary for node in self.nodes)

    @cached_property
    def node_names(self) -> tuple[str, ...]:
        """Name of each node: that of its only model, the base of its names, or its number.

        If nodes have the same name, the names of the nodes above them are put in front:
        ``field/other``.
        """
        return name_nodes(self._layout)

    @property
    def is_flat(self) -> bool:
        """Whether the scheme is one code over the classes."""
        return len(self.nodes) <= 1

    @property
    def is_tree(self) -> bool:
        """Whether every node is one model that decides between its branches."""
        return all(node.is_one_model for node in self.nodes)

    @cached_property
    def depth(self) -> int:
        """Number of nodes on the longest path from the root to a class."""
        depths = [1] * len(self.nodes)
        for position, node in enumerate(self.nodes):
            for branch in node.branches:
                if isinstance(branch, NodeRef):
                    depths[branch.index] = depths[position] + 1
        return max(depths, default=0)

    @property
    def code(self) -> CodingMatrix:
        """The coding matrix of a flat scheme; SchemeError for a nested one."""
        if not self.is_flat:
            message = f"the scheme has {len(self.nodes)} nested codes; use scheme.flatten().code"
            raise SchemeError(message)
        return self.nodes[0].code if self.nodes else CodingMatrix(np.zeros((0, 1), dtype=np.int8))

    # -- other forms ----------------------------------------------------------------------------

    def flatten(self) -> Scheme:
        """Return the scheme as one code over all classes, with the same binaries."""
        return self._of(flatten_layout(self._layout))

    def to_tree(self) -> Scheme:
        """Return the tree with the same partitions as the code: the inverse of flattening a tree.

        Raises SchemeError if there is none.
        """
        return self._of(unfold_layout(self._layout))

    def __str__(self) -> str:
        return print_branch(layout_to_syntax(self._layout))

    def compact(self) -> str:
        """Return the control text with codes written as designs, such as ``@one-vs-one``."""
        return print_branch(layout_to_syntax(self._layout, compact=True))

    def draw(self, *, matrix: bool = False) -> str:
        """Return a drawing for the terminal: the tree of nodes, or the coding matrix."""
        return draw_matrix(flatten_layout(self._layout)) if matrix else draw_tree(self._layout)

    # -- comparing, copying, printing -------------------------------------------------------------

    def __repr__(self) -> str:
        kind = "tree" if self.is_tree else "code" if self.is_flat else "mixture"
        return f"<Scheme: {kind}, {len(self.classes)} classes, {self.n_partitions} partitions>"

    def __eq__(self, other: object) -> bool:
        return self._layout == other._layout if isinstance(other, Scheme) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._layout)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a scheme cannot be changed: {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a scheme cannot be changed: {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Scheme, (self.classes, self.nodes)

    @classmethod
    def _of(cls, layout: Layout) -> Scheme:
        return cls(layout.classes, layout.nodes)

    @property
    def _layout(self) -> Layout:
        layout: Layout = self.__dict__["_layout"]
        return layout


def _check(layout: Layout) -> None:
    """Raise SchemeError unless the nodes are one tree over all classes with valid names."""
    if not layout.classes:
        raise SchemeError("a scheme needs at least one class")
    if not _is_one_tree(layout):
        raise SchemeError("the nodes and classes are not one tree in preorder, each in one branch")
    for position, node in enumerate(layout.nodes):
        where, n_partitions = f"node {position}", node.code.n_partitions
        columns = node.code.n_classes
        if len(node.branches) != columns:
            raise SchemeError(f"{where} has {len(node.branches)} branches for {columns} columns")
        if len(node.binaries) != n_partitions:
            raise SchemeError(
                f"{where} has {len(node.binaries)} binaries for {n_partitions} partitions"
            )
        if (node.code.rows_per_partition == 2).any():
            raise SchemeError(f"{where} has a partition of two sides in two rows; use one row")
        for binary in node.binaries:
            if find_lone_surrogate(binary.text) >= 0:
                raise SchemeError(f"{where} has a binary {binary.text!r} that is not valid text")
            if binary.is_specification and binary.text == ".":
                raise SchemeError(f'{where} has the specification "."; write it out')
            if not binary.is_specification and not is_name(binary.text):
                raise SchemeError(
                    f"{where} has a binary named {binary.text!r}; a name is one word that is not a "
                    'number, does not contain white space or { } ; " #, and does not start with @'
                )


def _is_one_tree(layout: Layout) -> bool:
    """Return whether a walk from the root visits every class and every node once, in order."""
    n_classes = n_nodes = 0
    waiting: list[ClassRef | NodeRef] = [NodeRef(0) if layout.nodes else ClassRef(0)]
    while waiting:
        branch = waiting.pop()
        if isinstance(branch, ClassRef):
            if branch.index != n_classes:
                return False
            n_classes += 1
        else:
            if branch.index != n_nodes or n_nodes >= len(layout.nodes):
                return False
            n_nodes += 1
            waiting.extend(reversed(layout.nodes[branch.index].branches))
    return n_classes == len(layout.classes) and n_nodes == len(layout.nodes)
