"""Convert nested schemes to one code, and codes to trees."""

from __future__ import annotations

import numpy as np

from polytomy.codes import MAX_ENTRIES, CodingMatrix, TreeShape
from polytomy.errors import SchemeError
from polytomy.scheme.layout import BranchRef, ClassRef, Layout, Node, NodeRef, one_model_code

__all__ = ["flatten_layout", "unfold_layout"]


def flatten_layout(layout: Layout) -> Layout:
    """Return the layout as one code over all classes, with the same binaries in the same order.

    A branch in a partition becomes all classes below it. Classes that are not below the node are
    left out of its partitions (zero).
    """
    if len(layout.nodes) <= 1:
        return layout
    n_classes = len(layout.classes)
    n_rows = sum(node.code.n_rows for node in layout.nodes)
    if n_rows * n_classes > MAX_ENTRIES:
        raise SchemeError(
            f"the flat code would have {n_rows:,} rows of {n_classes:,} classes, over "
            f"the limit of {MAX_ENTRIES:,} entries; use the nested scheme"
        )
    matrix = np.zeros((n_rows, n_classes), dtype=np.int8)
    row = 0
    for node, starts in zip(layout.nodes, layout.branch_starts(), strict=True):
        below = row + node.code.n_rows
        matrix[row:below, starts[0] : starts[-1]] = np.repeat(
            node.code.matrix, np.diff(starts), axis=1
        )
        row = below
    binaries = tuple([binary for node in layout.nodes for binary in node.binaries])
    branches = tuple([ClassRef(index) for index in range(n_classes)])
    row_counts = np.concatenate([node.code.rows_per_partition for node in layout.nodes])
    return Layout(layout.classes, (Node(binaries, CodingMatrix(matrix, row_counts), branches),))


def unfold_layout(layout: Layout) -> Layout:
    """Return the layout with each code replaced by the tree that has the same partitions.

    Classes are in the order of the tree. Raises SchemeError for a code that is not a tree.
    """
    classes: list[int] = []
    nodes: list[tuple[Node, list[BranchRef]]] = []
    top: list[BranchRef] = []
    # Items to place: a branch of the old layout, or a pair (node, partition of its code).
    waiting: list[tuple[BranchRef | tuple[int, int], list[BranchRef]]] = []
    waiting.append((NodeRef(0) if layout.nodes else ClassRef(0), top))
    while waiting:
        item, siblings = waiting.pop()
        if isinstance(item, ClassRef):
            siblings.append(ClassRef(len(classes)))
            classes.append(item.index)
            continue
        if isinstance(item, NodeRef):
            position = item.index
            partition = int(_require_tree(layout.nodes[position]).order[0])
        else:
            position, partition = item
        node = layout.nodes[position]
        children: list[BranchRef] = []
        siblings.append(NodeRef(len(nodes)))
        below = _require_tree(node).children_of(partition)
        nodes.append((Node((node.binaries[partition],), one_model_code(len(below)), ()), children))
        waiting.extend(
            (node.branches[~child] if child < 0 else (position, child), children)
            for child in reversed(below)
        )
    return Layout(
        tuple([layout.classes[index] for index in classes]),
        tuple([node._replace(branches=tuple(children)) for node, children in nodes]),
    )


def _require_tree(node: Node) -> TreeShape:
    tree = node.code.tree
    if tree is None:
        raise SchemeError(
            f"the code of {node.binaries[0]} and its {len(node.branches)} branches is not a tree: "
            "its partitions do not nest"
        )
    return tree
