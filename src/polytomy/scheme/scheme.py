"""Schemes and ensembles of schemes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from polytomy.errors import SchemeError
from polytomy.inputs.arguments import count_things
from polytomy.language import print_branch
from polytomy.language.lexer import find_lone_surrogate, is_name
from polytomy.scheme.code_checks import MAX_ENTRIES
from polytomy.scheme.coding_matrix import CodingMatrix
from polytomy.scheme.nodes import (
    BinaryName,
    ClassRef,
    Division,
    Label,
    Node,
    NodeRef,
    Partition,
    find_branch_starts,
    grow_nodes,
    name_nodes,
    normalize_labels,
    one_model_code,
)
from polytomy.scheme.writing import draw_matrix, draw_tree, scheme_to_syntax


@dataclass(frozen=True, init=False, repr=False)
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
        self.__dict__["classes"] = normalize_labels(classes)
        self.__dict__["nodes"] = tuple(nodes)
        _check(self.classes, self.nodes)

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
        return find_branch_starts(self.nodes)

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
        return name_nodes(self.nodes)

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
        if self.is_flat:
            return self
        binaries = [binary for node in self.nodes for binary in node.binaries]
        return Scheme.from_code(flatten_code(self), self.classes, binaries)

    def to_tree(self) -> Scheme:
        """Return the tree with the same partitions as the code: the inverse of flattening a tree.

        Raises SchemeError if there is none.
        """
        return _unfold(self)

    def __str__(self) -> str:
        return print_branch(scheme_to_syntax(self))

    def compact(self) -> str:
        """Return the control text with codes written as designs, such as ``@one-vs-one``."""
        return print_branch(scheme_to_syntax(self, compact=True))

    def draw(self, *, matrix: bool = False) -> str:
        """Return a drawing for the terminal: the tree of nodes, or the coding matrix."""
        return draw_matrix(self.flatten()) if matrix else draw_tree(self)

    # -- comparing, copying, printing -------------------------------------------------------------

    def __repr__(self) -> str:
        kind = "tree" if self.is_tree else "code" if self.is_flat else "mixture"
        classes = count_things(len(self.classes), "class", "classes")
        return f"<Scheme: {kind}, {classes}, {count_things(self.n_partitions, 'partition')}>"

    def _repr_html_(self) -> str:
        from polytomy.scheme.pictures import scheme_as_html  # only notebooks need it

        return scheme_as_html(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Scheme, (self.classes, self.nodes)


def _check(classes: tuple[Label, ...], nodes: tuple[Node, ...]) -> None:
    """Raise SchemeError unless the nodes are one tree over all classes with valid names."""
    if not classes:
        raise SchemeError("a scheme needs at least one class")
    if not _is_one_tree(len(classes), nodes):
        raise SchemeError("the nodes and classes are not one tree in preorder, each in one branch")
    for position, node in enumerate(nodes):
        where, n_partitions = f"node {position}", node.code.n_partitions
        columns = node.code.n_classes
        if len(node.branches) != columns:
            raise SchemeError(f"{where} has {len(node.branches)} branches for {columns} columns")
        if len(node.binaries) != n_partitions:
            raise SchemeError(
                f"{where} has {count_things(len(node.binaries), 'binary', 'binaries')} for "
                f"{count_things(n_partitions, 'partition')}"
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


def _is_one_tree(n_classes: int, nodes: tuple[Node, ...]) -> bool:
    """Return whether a walk from the root visits every class and every node once, in order."""
    n_seen = n_nodes = 0
    waiting: list[ClassRef | NodeRef] = [NodeRef(0) if nodes else ClassRef(0)]
    while waiting:
        branch = waiting.pop()
        if isinstance(branch, ClassRef):
            if branch.index != n_seen:
                return False
            n_seen += 1
        else:
            if branch.index != n_nodes or n_nodes >= len(nodes):
                return False
            n_nodes += 1
            waiting.extend(reversed(nodes[branch.index].branches))
    return n_seen == n_classes and n_nodes == len(nodes)


def flatten_code(scheme: Scheme) -> CodingMatrix:
    """Return the code over all classes that has the partitions of all nodes, in their order.

    A branch in a partition becomes all classes below it. Classes that are not below the node are
    left out of its partitions (zero).
    """
    if scheme.is_flat:
        return scheme.code
    n_classes, n_rows = len(scheme.classes), scheme.n_rows
    if n_rows * n_classes > MAX_ENTRIES:
        raise SchemeError(
            f"the flat code would have {n_rows:,} rows of {n_classes:,} classes, over "
            f"the limit of {MAX_ENTRIES:,} entries; use the nested scheme"
        )
    matrix = np.zeros((n_rows, n_classes), dtype=np.int8)
    row = 0
    for node, starts in zip(scheme.nodes, scheme.branch_starts, strict=True):
        below = row + node.code.n_rows
        matrix[row:below, starts[0] : starts[-1]] = np.repeat(
            node.code.matrix, np.diff(starts), axis=1
        )
        row = below
    row_counts = np.concatenate([node.code.rows_per_partition for node in scheme.nodes])
    return CodingMatrix(matrix, row_counts)


def _unfold(scheme: Scheme) -> Scheme:
    """Return the scheme with each code replaced by the tree that has the same partitions.

    Classes are in the order of the tree. Raises SchemeError for a code that is not a tree.
    """

    def divide(item: Any, number: int) -> Division | Label:
        # An item is a branch of the scheme, or a pair (node, partition of its code).
        if isinstance(item, ClassRef):
            return scheme.classes[item.index]
        position, partition = (item.index, None) if isinstance(item, NodeRef) else item
        node = scheme.nodes[position]
        if node.code.tree is None:
            raise SchemeError(
                f"the code of {node.binaries[0]} and its {len(node.branches)} branches is not a "
                "tree: its partitions do not nest"
            )
        if partition is None:
            partition = int(node.code.tree.order[0])
        below = node.code.tree.children_of(partition)
        items = [node.branches[~child] if child < 0 else (position, child) for child in below]
        return Division((node.binaries[partition],), one_model_code(len(below)), items)

    return Scheme(*grow_nodes(NodeRef(0) if scheme.nodes else ClassRef(0), divide))


@dataclass(frozen=True, init=False, repr=False)
class SchemeEnsemble:
    """Several schemes over the same classes, to be used as the `scheme` of a classifier.

    A classifier pools the probabilities of the schemes: each has its own final calibration, and a
    weight that is learnt from out-of-fold probabilities. Without a final calibration, they are
    averaged. A dichotomy that occurs in several schemes is trained once. An ensemble is immutable,
    and prints as the control texts of its schemes.

    Parameters
    ----------
    schemes : one or more schemes over the same classes, in any order

    Attributes
    ----------
    schemes : tuple of Scheme

    Examples
    --------
    >>> from polytomy.scheme import parse
    >>> both = SchemeEnsemble([parse("m {a n {b c}}"), parse("m {n {c b} a}")])
    >>> both
    <SchemeEnsemble: 2 schemes, 3 classes, 2 different dichotomies>
    """

    schemes: tuple[Scheme, ...]

    def __init__(self, schemes: Iterable[Scheme]) -> None:
        members = tuple(schemes)
        if not members:
            raise SchemeError("an ensemble needs at least one scheme")
        for position, scheme in enumerate(members):
            if not isinstance(scheme, Scheme):
                raise SchemeError(f"member {position} of the ensemble is {scheme!r}, not a scheme")
            strange = set(scheme.classes) ^ set(members[0].classes)
            if strange:
                raise SchemeError(
                    f"member {position} of the ensemble does not have the classes of the first; "
                    f"they differ in {', '.join(sorted(map(repr, strange)))}"
                )
        self.__dict__["schemes"] = members

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels, in the order of the first scheme."""
        return self.schemes[0].classes

    @property
    def n_dichotomies(self) -> int:
        """Number of different dichotomies; the order of the sides does not matter."""
        sides = {
            frozenset(map(frozenset, each.side_classes))
            for scheme in self.schemes
            for each in scheme.partitions
        }
        return len(sides)

    def __len__(self) -> int:
        return len(self.schemes)

    def __str__(self) -> str:
        texts = (f"# {number}\n{scheme}" for number, scheme in enumerate(self.schemes, start=1))
        return "\n\n".join(texts)

    def __repr__(self) -> str:
        return (
            f"<SchemeEnsemble: {len(self)} schemes, {len(self.classes)} classes, "
            f"{self.n_dichotomies} different dichotomies>"
        )

    def _repr_html_(self) -> str:
        from polytomy.scheme.pictures import scheme_as_html  # only notebooks need it

        return scheme_as_html(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return SchemeEnsemble, (self.schemes,)
