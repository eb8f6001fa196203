"""What a solver is: a method with a name, the codes that it takes, and how it solves them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polytomy.inputs.arguments import count_things
from polytomy.onnx_graph import Graph, Value
from polytomy.scheme import CodingMatrix, Scheme

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class Structure(NamedTuple):
    """A structure that a code may have, and the reason why a code has not.

    Attributes
    ----------
    title : name for tables
    name : name of a code with this structure, including the article
    is_met_by : function of a code that returns whether it has the structure
    why_not : function of a code without the structure that returns the reason, as a clause

    Examples
    --------
    >>> code = CodingMatrix([[-1, 1, 1], [-1, -1, 1], [1, -1, 1]])
    >>> print(f"needs {TREE.name}; {TREE.why_not(code)}")
    needs a tree; a tree over 3 classes has 2 splits, the code has 3 partitions
    """

    title: str
    name: str
    is_met_by: Callable[[CodingMatrix], bool]
    why_not: Callable[[CodingMatrix], str]

    def __str__(self) -> str:
        return self.title


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


ANY_CODE = Structure("any code", "any code", lambda _: True, str)
ONE_VS_ONE = Structure(
    "one-vs-one", "a one-vs-one code", lambda code: code.is_one_vs_one, _why_not_one_vs_one
)
TREE = Structure("tree", "a tree", lambda code: code.is_tree, _why_not_tree)
ADJACENT = Structure(
    "adjacent", "an adjacent code", lambda code: code.is_adjacent, _why_not_adjacent
)
EQUIANGULAR = Structure(
    "equiangular", "an equiangular code", lambda code: code.is_equiangular, _why_not_equiangular
)


@dataclass(frozen=True, slots=True)
class Method:
    """A method that computes class probabilities or scores from decision values.

    Attributes
    ----------
    name : as users write it
    function : function of a code and decisions of shape (n_samples, n_rows) that returns an array
        of shape (n_samples, n_classes)
        It may also take `weights`, `loss` or `algorithm`, the options of `decode`. NaN in the
        decisions means no answer.
    summary : one line that says what it returns, for tables and help
    reference : the publication it comes from
    gives_probabilities : whether it returns probabilities, so that `solve` accepts it, or scores
    needs : the structure that a code must have
    uses_only_signs : whether only the signs of decisions matter, so that binaries need no
        calibration
    function_of_scheme : function of a nested scheme and decisions, optional
        By default, probabilities of the nodes are multiplied down the tree, and scores are those of
        the flat code.
    to_onnx : function of a Graph, decisions (a Value) and a code that returns the same as
        `function` as a Value, optional
    can_export : function of a scheme, and of whether all answers are inside (−1, 1), that returns
        whether `to_onnx` holds for it; by default it holds for every scheme
    """

    name: str
    function: Callable[..., NDArray[np.float64]]
    summary: str = ""
    reference: str = ""
    gives_probabilities: bool = True
    needs: Structure = ANY_CODE
    uses_only_signs: bool = False
    function_of_scheme: Callable[[Scheme, NDArray[np.float64]], NDArray[np.float64]] | None = None
    to_onnx: Callable[[Graph, Value, CodingMatrix], Value] | None = None
    can_export: Callable[[Scheme, bool], bool] | None = None

    @property
    def options(self) -> frozenset[str]:
        """The options of `decode` that the function takes: algorithm, weights, loss."""
        return frozenset(list(signature(self.function).parameters)[2:])

    @property
    def uses_flat_code(self) -> bool:
        """Whether a nested scheme is scored as one flat code instead of node by node."""
        return not self.gives_probabilities and self.function_of_scheme is None

    @property
    def exports_all(self) -> bool:
        """Whether the method can be exported for every scheme that it takes."""
        return self.to_onnx is not None and self.can_export is None

    def exports(self, scheme: Scheme, is_inside: bool) -> bool:
        """Return whether the method can be exported for a scheme; see `can_export`."""
        if self.to_onnx is None or self.can_export is None:
            return self.to_onnx is not None
        return self.can_export(scheme, is_inside)
