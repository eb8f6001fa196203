"""Convert a layout to a syntax tree, to write a scheme as text."""

from __future__ import annotations

import numpy as np

from polytomy.codes import CodingMatrix
from polytomy.language.lexer import is_code_letter
from polytomy.language.nodes import Branch, Coded, Designed, Leaf, OneModel, Word, WrittenPartition
from polytomy.language.span import Span
from polytomy.scheme.expand import DIRECT, find_short_form
from polytomy.scheme.labels import label_to_word
from polytomy.scheme.layout import BinaryName, ClassRef, Layout, Node, NodeRef
from polytomy.scheme.naming import (
    DEFAULT_BASE,
    branch_base,
    number_binaries,
    own_base,
    partition_name,
)

__all__ = ["layout_to_syntax"]

_NOWHERE = Span(0, 0)


def layout_to_syntax(layout: Layout, *, compact: bool = False) -> Branch:
    """Return the syntax tree of a layout; `compact` writes codes as designs where possible."""
    leaves = [Leaf(label_to_word(label)) for label in layout.classes]
    if not layout.nodes:
        return leaves[0]
    bases = _inherited_bases(layout) if compact else []
    written: list[Branch | None] = [None] * len(layout.nodes)
    # Children come after their parents, so in reverse order every branch is ready when needed.
    for position in range(len(layout.nodes) - 1, -1, -1):
        node = layout.nodes[position]
        branches: list[Branch] = []
        for branch in node.branches:
            if isinstance(branch, ClassRef):
                branches.append(leaves[branch.index])
            else:
                child = written[branch.index]
                assert child is not None
                branches.append(child)
                written[branch.index] = None
        written[position] = _node_to_syntax(
            node, tuple(_keep_apart(branches)), bases[position] if bases else None
        )
    root = written[0]
    assert root is not None
    return root


def _node_to_syntax(node: Node, branches: tuple[Branch, ...], base: str | None) -> Branch:
    if node.is_one_model:
        if base is not None and len(branches) > 2:
            generated = BinaryName(partition_name(base or DIRECT, 0))
            if node.binaries == (generated,):
                return Designed(DIRECT, None, branches, _NOWHERE)
        return OneModel(_binary_word(node.binaries[0]), branches, _NOWHERE)
    if base is not None:
        name = find_short_form(node.code)
        if name is not None:
            if len(set(node.binaries)) == 1 and node.binaries[0].is_specification:
                return Designed(name, _binary_word(node.binaries[0]), branches, _NOWHERE)
            # A design numbers its partitions, even if there is only one.
            base_of_one = node.binaries[0].text.removesuffix("-00")
            own = own_base(node.binaries, "") if len(node.binaries) > 1 else base_of_one
            if own and node.binaries == number_binaries(own, len(node.binaries)):
                given = None if own == (base or name) else Word(own, False, 0, 0)
                return Designed(name, given, branches, _NOWHERE)
    partitions = [
        WrittenPartition(_binary_word(binary), sides, 0, 0)
        for binary, sides in zip(node.binaries, _sides(node.code), strict=True)
    ]
    return Coded(tuple(partitions), branches, _NOWHERE)


def _keep_apart(branches: list[Branch]) -> list[Branch]:
    """Rewrite models as partitions where their name would be read as a libAGF letter.

    The class "-k 5" followed by the model K would be read as libAGF's nearest neighbours.
    """
    for i in range(1, len(branches)):
        label, model = branches[i - 1], branches[i]
        if (
            isinstance(label, Leaf)
            and label.label.quoted
            and isinstance(model, OneModel)
            and not model.binary.quoted
            and is_code_letter(model.binary.text, label.label.text)
        ):
            sides = tuple([(index,) for index in range(len(model.branches))])
            partition = WrittenPartition(model.binary, sides, 0, 0)
            branches[i] = Coded((partition,), model.branches, _NOWHERE)
    return branches


def _sides(code: CodingMatrix) -> list[tuple[tuple[int, ...], ...]]:
    """Return the branches on each side of each partition."""
    if not code.is_binary:
        return [
            tuple([tuple(np.flatnonzero(row == side).tolist()) for side in range(n_sides)])
            for row, n_sides in zip(code.sides, code.n_sides.tolist(), strict=True)
        ]
    sides = []
    for value in (-1, 1):
        rows, columns = np.nonzero(code.matrix == value)
        ends = np.searchsorted(rows, np.arange(code.n_partitions), side="right").tolist()
        flat, start, side = columns.tolist(), 0, []
        for end in ends:
            side.append(tuple(flat[start:end]))
            start = end
        sides.append(side)
    return list(zip(*sides, strict=True))


def _inherited_bases(layout: Layout) -> list[str]:
    """Return the base name that each node inherits when the text is read; empty for the root."""
    bases = [""] * len(layout.nodes)
    for position, node in enumerate(layout.nodes):
        below = [(i, b.index) for i, b in enumerate(node.branches) if isinstance(b, NodeRef)]
        if below:
            own = own_base(node.binaries, bases[position] or DEFAULT_BASE)
            for i, child in below:
                bases[child] = branch_base(own, i, child)
    return bases


def _binary_word(binary: BinaryName) -> Word:
    return Word(binary.text, binary.is_specification, 0, 0)
