"""Schemes drawn for a terminal."""

from __future__ import annotations

from polytomy.scheme.layout import ClassRef, Layout, Node, NodeRef

__all__ = ["draw_matrix", "draw_tree"]

# Beyond this a drawing is no longer looked at; the control text has the rest.
_MOST_LINES = 10_000
_SIGNS = {-1: "-", 0: ".", 1: "+"}


def draw_tree(layout: Layout) -> str:
    """Return the nodes and classes of a layout as a tree of lines.

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
    waiting = [(NodeRef(0) if layout.nodes else ClassRef(0), "", "")]
    while waiting and len(lines) < _MOST_LINES:
        branch, lead, below = waiting.pop()
        if isinstance(branch, ClassRef):
            lines.append(f"{lead}{layout.classes[branch.index]}")
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
        lines.append(f"… cut after {_MOST_LINES:,} lines")
    return "\n".join(lines)


def _headline(node: Node) -> str:
    if node.is_two_way:
        return str(node.binaries[0])
    names = [str(binary) for binary in node.binaries[:4]]
    shown = " ".join(dict.fromkeys(names)) + (" …" if len(node.binaries) > len(names) else "")
    return f"{len(node.binaries)} partitions over {len(node.branches)} branches: {shown}"


def draw_matrix(layout: Layout) -> str:
    """Return the coding matrix of a flat layout, a row a partition and a column a class.

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
        return str(layout.classes[0])
    node = layout.nodes[0]
    names = [str(binary) for binary in node.binaries]
    width = max(map(len, names))
    labels = [str(label) for label in layout.classes]
    lines = [" " * width + " " + "| " * column + label for column, label in enumerate(labels)]
    for name, row in zip(names[:_MOST_LINES], node.code.matrix, strict=False):
        lines.append(f"{name:<{width}} " + " ".join([_SIGNS[value] for value in row.tolist()]))
    if len(names) > _MOST_LINES:
        lines.append(f"… cut after {_MOST_LINES:,} partitions")
    return "\n".join(lines)
