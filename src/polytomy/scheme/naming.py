"""Generated names of binaries: `base.00` for a branch, `base-00` for a partition."""

from __future__ import annotations

from collections import Counter

from polytomy.scheme.layout import BinaryName, Layout, NodeRef

__all__ = [
    "DEFAULT_BASE",
    "branch_base",
    "name_nodes",
    "number_binaries",
    "own_base",
    "partition_name",
]

DEFAULT_BASE = "model"

# Longer dotted paths are shortened, or the names of a long chain would grow quadratically.
_LONGEST_PATH = 240


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


def name_nodes(layout: Layout) -> tuple[str, ...]:
    """Return a different name for each node.

    The name is that of the node's only binary, the base of its numbered binaries, or the node's
    number. If other nodes have the same name, it is prefixed with the name of the node above, or
    followed by the number.
    """
    names = [
        own_base(node.binaries, "") or f"node {position}"
        for position, node in enumerate(layout.nodes)
    ]
    parents = [0] * len(names)
    for position, node in enumerate(layout.nodes):
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
