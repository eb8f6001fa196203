"""A scheme as text: the syntax tree of its control text, and drawings for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polytomy.inputs.arguments import count_things
from polytomy.language.lexer import Span, is_code_letter, printable
from polytomy.language.parser import (
    Branch,
    Coded,
    Designed,
    Leaf,
    OneModel,
    Word,
    WrittenPartition,
    print_word,
)
from polytomy.scheme.codes import DIRECT, find_short_form
from polytomy.scheme.coding_matrix import CodingMatrix
from polytomy.scheme.nodes import (
    DEFAULT_BASE,
    BinaryName,
    ClassRef,
    Label,
    Node,
    NodeRef,
    branch_base,
    iterate_binary_sides,
    label_to_word,
    number_binaries,
    own_base,
    partition_name,
)

if TYPE_CHECKING:
    from polytomy.scheme.scheme import Scheme

_NOWHERE = Span(0, 0)

# A larger drawing would not be useful; the control text is complete.
_MOST_LINES = 10_000
_MOST_CHARACTERS = 2**22
_MOST_COLUMNS = 500
_LONGEST_WORD = 120
_SIGNS = {-1: "-", 0: ".", 1: "+"}


def scheme_to_syntax(scheme: Scheme, *, compact: bool = False) -> Branch:
    """Return the syntax tree of a scheme; `compact` writes codes as designs where possible."""
    leaves = [Leaf(label_to_word(label)) for label in scheme.classes]
    if not scheme.nodes:
        return leaves[0]
    bases = _inherited_bases(scheme) if compact else []
    written: list[Branch | None] = [None] * len(scheme.nodes)
    # Children come after their parents, so in reverse order every branch is ready when needed.
    for position in range(len(scheme.nodes) - 1, -1, -1):
        node = scheme.nodes[position]
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
    if code.is_binary:
        return [
            (tuple(negative), tuple(positive)) for negative, positive in iterate_binary_sides(code)
        ]
    return [
        tuple([tuple(np.flatnonzero(row == side).tolist()) for side in range(n_sides)])
        for row, n_sides in zip(code.sides, code.n_sides.tolist(), strict=True)
    ]


def _inherited_bases(scheme: Scheme) -> list[str]:
    """Return the base name that each node inherits when the text is read; empty for the root."""
    bases = [""] * len(scheme.nodes)
    for position, node in enumerate(scheme.nodes):
        below = [(i, b.index) for i, b in enumerate(node.branches) if isinstance(b, NodeRef)]
        if below:
            own = own_base(node.binaries, bases[position] or DEFAULT_BASE)
            for i, child in below:
                bases[child] = branch_base(own, i, child)
    return bases


def _binary_word(binary: BinaryName) -> Word:
    return Word(binary.text, binary.is_specification, 0, 0)


# -- drawings -----------------------------------------------------------------------------------


def draw_tree(scheme: Scheme) -> str:
    """Return a drawing of the nodes and classes as a tree.

    >>> from polytomy.scheme import parse
    >>> print(parse("m 0/1; n 0/2; o 1/2; {a b left_or_right {c d}}").draw())
    3 partitions over 3 branches: m n o
    ├── a
    ├── b
    └── left_or_right
        ├── c
        └── d
    """
    lines: list[str] = []
    n_characters = 0  # also bounded, because the lines of a chain get longer and longer
    waiting = [(NodeRef(0) if scheme.nodes else ClassRef(0), "", "")]
    while waiting and len(lines) < _MOST_LINES and n_characters < _MOST_CHARACTERS:
        branch, lead, below = waiting.pop()
        n_characters += len(lead)
        if isinstance(branch, ClassRef):
            lines.append(lead + _drawn_label(scheme.classes[branch.index]))
            continue
        node = scheme.nodes[branch.index]
        lines.append(lead + _headline(node))
        last = len(node.branches) - 1
        children = [
            (
                child,
                below + ("└── " if i == last else "├── "),
                below + ("    " if i == last else "│   "),
            )
            for i, child in enumerate(node.branches)
        ]
        waiting.extend(reversed(children))
    if waiting:
        lines.append(f"… cut after {len(lines):,} lines")
    return "\n".join(lines)


def _headline(node: Node) -> str:
    if node.is_one_model:
        return _printable_word(str(node.binaries[0]))
    names = [_printable_word(str(binary)) for binary in node.binaries[:4]]
    shown = " ".join(dict.fromkeys(names)) + (" …" if len(node.binaries) > len(names) else "")
    partitions = count_things(len(node.binaries), "partition")
    return f"{partitions} over {len(node.branches)} branches: {shown}"


def draw_matrix(scheme: Scheme) -> str:
    """Return a drawing of the coding matrix of a flat scheme, with a line for each row.

    A partition with more than two sides has a line for each side, such as ``m/0``.

    >>> from polytomy.scheme import parse
    >>> print(parse("m 0/1; n 0/2; o 1/2; {corn oak pine}").draw(matrix=True))
      corn
      | oak
      | | pine
    m - + .
    n - . +
    o . - +
    """
    if not scheme.nodes:
        return _drawn_label(scheme.classes[0])
    node = scheme.nodes[0]
    labels = [_drawn_label(label) for label in scheme.classes[:_MOST_COLUMNS]]
    names = _row_names(node)
    width = max(map(len, names))
    lines = [" " * width + " " + "| " * column + label for column, label in enumerate(labels)]
    for name, row in zip(names, node.code.matrix[:_MOST_LINES, :_MOST_COLUMNS], strict=True):
        lines.append(f"{name:<{width}} " + " ".join([_SIGNS[value] for value in row.tolist()]))
    if len(scheme.classes) > _MOST_COLUMNS:
        lines.append(f"… cut after {_MOST_COLUMNS:,} classes")
    if node.code.n_rows > _MOST_LINES:
        lines.append(f"… cut after {_MOST_LINES:,} rows")
    return "\n".join(lines)


def _row_names(node: Node) -> list[str]:
    names: list[str] = []
    for binary, n_rows in zip(node.binaries, node.code.rows_per_partition.tolist(), strict=True):
        name = _printable_word(str(binary))
        names += [name] if n_rows == 1 else [f"{name}/{side}" for side in range(n_rows)]
        if len(names) >= _MOST_LINES:
            break
    return names[:_MOST_LINES]


def _drawn_label(label: Label) -> str:
    return _printable_word(print_word(label_to_word(label)))


def _printable_word(written: str) -> str:
    """Return a word of a control text without line breaks, shortened if it is very long."""
    return printable(written if len(written) <= _LONGEST_WORD else written[:_LONGEST_WORD] + "…")
