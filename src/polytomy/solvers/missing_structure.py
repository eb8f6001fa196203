"""Why a code lacks a structure, in words: for the errors of algorithms that need it."""

from __future__ import annotations

import numpy as np

from polytomy.codes import CodingMatrix

__all__ = ["why_not_adjacent", "why_not_equiangular", "why_not_one_vs_one", "why_not_tree"]


def why_not_tree(code: CodingMatrix) -> str:
    """Return what keeps a code from being a tree.

    Examples
    --------
    >>> why_not_tree(CodingMatrix([[-1, 1, 1], [-1, -1, 1], [1, -1, 1]]))
    '3 partitions are not the 2 splits of a tree over 3 classes'
    """
    n_splits = code.n_classes - 1
    if code.n_partitions != n_splits:
        return (
            f"{_count(code.n_partitions, 'partition')} are not the {_count(n_splits, 'split')} "
            f"of a tree over {code.n_classes} classes"
        )
    return "its partitions do not nest: they are not the splits of one tree"


def why_not_adjacent(code: CodingMatrix) -> str:
    """Return what keeps a code from being adjacent."""
    if not code.is_strict:
        return _absent_class(code)
    return "in no order of the classes does every partition cut them in two runs"


def why_not_equiangular(code: CodingMatrix) -> str:
    """Return what keeps a code from being equiangular.

    Examples
    --------
    >>> why_not_equiangular(CodingMatrix([[-1, 1, 1], [-1, -1, 1]]))
    'classes 0 and 1 agree in 1 partition, classes 0 and 2 in 0'
    """
    if not code.is_strict:
        return _absent_class(code)
    matrix = code.matrix.astype(np.int64)
    gram = matrix.T @ matrix
    pairs = np.column_stack(np.triu_indices(code.n_classes, 1))
    agreements = (code.n_partitions + gram[pairs[:, 0], pairs[:, 1]]) // 2
    other = int(np.argmax(agreements != agreements[0]))
    (a, b), (c, d) = pairs[0], pairs[other]
    return (
        f"classes {a} and {b} agree in {_count(agreements[0], 'partition')}, "
        f"classes {c} and {d} in {agreements[other]}"
    )


def why_not_one_vs_one(code: CodingMatrix) -> str:
    """Return what keeps a code from holding every pair of classes and nothing else.

    Examples
    --------
    >>> why_not_one_vs_one(CodingMatrix([[-1, 1, 0], [0, -1, 1]]))
    'no partition sets class 0 against class 2'
    """
    n_members = np.count_nonzero(code.matrix, axis=1)
    if not code.is_pairwise:
        partition = int(np.argmax(n_members != 2))
        return f"partition {partition} has {n_members[partition]} classes, not two"
    is_met = np.zeros((code.n_classes, code.n_classes), dtype=bool)
    is_met[code.matrix.argmin(axis=1), code.matrix.argmax(axis=1)] = True
    first, second = np.argwhere(~(is_met | is_met.T | np.eye(code.n_classes, dtype=bool)))[0]
    return f"no partition sets class {first} against class {second}"


def _absent_class(code: CodingMatrix) -> str:
    partition, absent = np.argwhere(code.matrix == 0)[0]
    return f"partition {partition} leaves class {absent} out"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
