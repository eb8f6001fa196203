"""The reasons why a code lacks a structure are true and can be checked by hand."""

from __future__ import annotations

from typing import Any

import pytest

from polytomy.scheme import CodingMatrix
from polytomy.solvers.method import (
    ANY_CODE,
    ONE_VS_ONE,
    TREE,
    Structure,
)
from solver_strategies import pair_matrix

ONE_VS_REST = [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]]


@pytest.mark.parametrize(
    ("structure", "matrix"),
    [
        (TREE, [[-1, 1, 1], [0, -1, 1]]),
        (ONE_VS_ONE, pair_matrix(4)),
        (ANY_CODE, [[1, -1, 0], [1, -1, -1], [1, 1, -1]]),
    ],
    ids=lambda value: value.name if isinstance(value, Structure) else "",
)
def test_a_code_of_the_structure_meets_it(structure: Structure, matrix: Any) -> None:
    assert structure.is_met_by(CodingMatrix(matrix))


@pytest.mark.parametrize(
    ("structure", "matrix", "reason"),
    [
        (TREE, ONE_VS_REST, "a tree over 3 classes has 2 splits, the code has 3 partitions"),
        (
            TREE,
            [[-1, 1, 1], [-1, -1, 1]],
            "the partitions do not nest, so they are not the splits of one tree",
        ),
        (ONE_VS_ONE, [[1, -1, 0], [1, -1, -1], [1, 1, -1]], "partition 1 has three classes"),
        (ONE_VS_ONE, [[1, -1, 0], [0, 1, -1]], "no partition compares classes 0 and 2"),
    ],
)
def test_a_code_without_the_structure_is_told_why(
    structure: Structure, matrix: Any, reason: str
) -> None:
    code = CodingMatrix(matrix)
    assert not structure.is_met_by(code)
    assert structure.why_not(code) == reason


def test_many_classes_are_counted_in_digits() -> None:
    twelve = CodingMatrix([[-1] * k + [1] * (12 - k) for k in range(1, 12)])
    assert ONE_VS_ONE.why_not(twelve) == "partition 0 has 12 classes"


def test_partitions_of_many_sides_have_no_structure_of_binary_ones():
    code = CodingMatrix.from_sides([[0, 1, -1], [0, 1, 2]])
    assert not ONE_VS_ONE.is_met_by(code)
    assert ONE_VS_ONE.why_not(code) == "partition 1 has three sides"
