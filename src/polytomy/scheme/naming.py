"""Names that are made for binaries: branch i of `base` is `base.00`, partition i is `base-00`."""

from __future__ import annotations

from polytomy.scheme.layout import BinaryName

__all__ = ["DEFAULT_BASE", "branch_base", "numbered_binaries", "own_base", "partition_name"]

DEFAULT_BASE = "model"

# The dotted path of a node is cut here, or the names of a long chain would grow with its square.
_LONGEST_PATH = 240


def partition_name(base: str, row: int) -> str:
    """Return the name of a partition.

    >>> partition_name("shuttle_adj", 3)
    'shuttle_adj-03'
    """
    return f"{base}-{row:02d}"


def branch_base(base: str, branch: int, node_position: int) -> str:
    """Return the base name of a branch; a path too long starts again at the node's number.

    >>> branch_base("shuttle_hier.00", 1, 2)
    'shuttle_hier.00.01'
    """
    name = f"{base}.{branch:02d}"
    return name if len(name) <= _LONGEST_PATH else f"node{node_position:05d}"


def numbered_binaries(base: str, count: int) -> tuple[BinaryName, ...]:
    """Return the binaries of a code of `count` rows, numbered under a base name."""
    return tuple([BinaryName(partition_name(base, row)) for row in range(count)])


def own_base(binaries: tuple[BinaryName, ...], inherited: str) -> str:
    """Return the base name for what is below a node with these binaries.

    That is the name of its only binary, or the one its binaries are numbered under; else the name
    the node would have had itself.
    """
    first = binaries[0]
    if first.is_specification:
        return inherited
    if len(binaries) == 1:
        return first.text
    base, numbered = first.text[:-3], first.text.endswith("-00")
    if base and numbered and binaries == numbered_binaries(base, len(binaries)):
        return base
    return inherited
