"""Drawings of schemes for the terminal."""

from __future__ import annotations

from polytomy.language.printer import print_word
from polytomy.language.span import printable
from polytomy.scheme.labels import Label, label_to_word
from polytomy.scheme.layout import ClassRef, Layout, Node, NodeRef

__all__ = ["draw_matrix", "draw_tree"]

# A larger drawing would not be useful; the control text is complete.
_MOST_LINES = 10_000
_MOST_CHARACTERS = 2**22
_MOST_COLUMNS = 500
_LONGEST_WORD = 120
_SIGNS = {-1: "-", 0: ".", 1: "+"}


def draw_tree(layout: Layout) -> str:
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
    waiting = [(NodeRef(0) if layout.nodes else ClassRef(0), "", "")]
    while waiting and len(lines) < _MOST_LINES and n_characters < _MOST_CHARACTERS:
        branch, lead, below = waiting.pop()
        n_characters += len(lead)
        if isinstance(branch, ClassRef):
            lines.append(lead + _drawn_label(layout.classes[branch.index]))
            continue
        node = layout.nodes[branch.index]
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
    return f"{len(node.binaries)} partitions over {len(node.branches)} branches: {shown}"


def draw_matrix(layout: Layout) -> str:
    """Return a drawing of the coding matrix of a flat layout, with a line for each row.

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
    if not layout.nodes:
        return _drawn_label(layout.classes[0])
    node = layout.nodes[0]
    labels = [_drawn_label(label) for label in layout.classes[:_MOST_COLUMNS]]
    names = _row_names(node)
    width = max(map(len, names))
    lines = [" " * width + " " + "| " * column + label for column, label in enumerate(labels)]
    for name, row in zip(names, node.code.matrix[:_MOST_LINES, :_MOST_COLUMNS], strict=True):
        lines.append(f"{name:<{width}} " + " ".join([_SIGNS[value] for value in row.tolist()]))
    if len(layout.classes) > _MOST_COLUMNS:
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
