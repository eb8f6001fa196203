"""Code structures that methods and algorithms need, and the reasons why a code has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from polytomy.inputs.wording import count_things
from polytomy.scheme.coding_matrix import CodingMatrix

__all__ = ["ADJACENT", "ANY_CODE", "EQUIANGULAR", "ONE_VS_ONE", "TREE", "Structure"]

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class Structure(NamedTuple):
    """A structure that a code may have.

    Attributes
    ----------
    name : name of a code with this structure, including the article
    is_met_by : function of a code that returns whether it has the structure
    why_not : function of a code without the structure that returns the reason, as a clause

    Examples
    --------
    >>> code = CodingMatrix([[-1, 1, 1], [-1, -1, 1], [1, -1, 1]])
    >>> print(f"needs {TREE.name}; {TREE.why_not(code)}")
    needs a tree; a tree over 3 classes has 2 splits, the code has 3 partitions
    """

    name: str
    is_met_by: Callable[[CodingMatrix], bool]
    why_not: Callable[[CodingMatrix], str]


def _name_wide_partition(code: CodingMatrix) -> str:
    partition = int(np.argmax(code.rows_per_partition > 1))
    return f"partition {partition} has {_in_words(int(code.rows_per_partition[partition]))} sides"


def _in_words(number: int) -> str:
    return _WORDS[number] if number < len(_WORDS) else str(number)


def _why_not_tree(code: CodingMatrix) -> str:
    n_splits = code.n_classes - 1
    if code.is_binary and code.n_partitions != n_splits:
        return (
            f"a tree over {code.n_classes} classes has {count_things(n_splits, 'split')}, the code "
            f"has {count_things(code.n_partitions, 'partition')}"
        )
    return "the partitions do not nest, so they are not the splits of one tree"


def _why_not_adjacent(code: CodingMatrix) -> str:
    if not code.is_binary:
        return _name_wide_partition(code)
    if not code.is_strict:
        return _name_left_out_class(code)
    return "no order of the classes lets every partition cut them into two runs"


def _why_not_equiangular(code: CodingMatrix) -> str:
    if not code.is_binary:
        return _name_wide_partition(code)
    if not code.is_strict:
        return _name_left_out_class(code)
    matrix = code.matrix.astype(np.int64)
    gram = matrix.T @ matrix
    pairs = np.column_stack(np.triu_indices(code.n_classes, 1))
    agreements = (code.n_partitions + gram[pairs[:, 0], pairs[:, 1]]) // 2
    other = int(np.argmax(agreements != agreements[0]))
    (a, b), (c, d) = pairs[0], pairs[other]
    return (
        f"classes {a} and {b} agree in {count_things(agreements[0], 'partition')}, "
        f"classes {c} and {d} in {agreements[other]}"
    )


def _why_not_one_vs_one(code: CodingMatrix) -> str:
    if not code.is_binary:
        return _name_wide_partition(code)
    if code.pairs is None:
        sizes = np.count_nonzero(code.matrix, axis=1)
        partition = int(np.argmax(sizes != 2))
        return f"partition {partition} has {_in_words(int(sizes[partition]))} classes"
    negative, positive = code.pairs
    is_compared = np.eye(code.n_classes, dtype=np.bool_)
    is_compared[negative, positive] = is_compared[positive, negative] = True
    first, second = np.argwhere(~is_compared)[0]
    return f"no partition compares classes {first} and {second}"


def _name_left_out_class(code: CodingMatrix) -> str:
    partition, absent = np.argwhere(code.matrix == 0)[0]
    return f"partition {partition} leaves class {absent} out"


ANY_CODE = Structure("any code", lambda _: True, str)
ONE_VS_ONE = Structure("a one-vs-one code", lambda code: code.is_one_vs_one, _why_not_one_vs_one)
TREE = Structure("a tree", lambda code: code.is_tree, _why_not_tree)
ADJACENT = Structure("an adjacent code", lambda code: code.is_adjacent, _why_not_adjacent)
EQUIANGULAR = Structure(
    "an equiangular code", lambda code: code.is_equiangular, _why_not_equiangular
)
