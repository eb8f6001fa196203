"""Partitions: the classes on each side."""

import pytest
from hypothesis import given

from polytomy.errors import SchemeError
from polytomy.scheme import ClassRef, parse
from strategies import schemes


@given(schemes(max_sides=4))
def test_the_classes_below_a_node_are_those_of_its_branches(scheme):
    def below(branch):
        if isinstance(branch, ClassRef):
            return [branch.index]
        return [i for child in scheme.nodes[branch.index].branches for i in below(child)]

    for partition in scheme.partitions:
        node = scheme.nodes[partition.node]
        number = scheme.partitions.index(partition) - sum(
            other.node < partition.node for other in scheme.partitions
        )
        sides = node.code.sides[number]
        assert partition.n_sides == len(partition.sides)
        for side, classes in enumerate(partition.sides):
            branches = [b for b, own in zip(node.branches, sides, strict=True) if own == side]
            assert list(classes) == [i for branch in branches for i in below(branch)]
        if partition.n_sides == 2:
            assert partition.sides == (partition.negative, partition.positive)


def test_a_partition_of_three_sides_has_no_negative_and_positive_one():
    scheme = parse("m 0 / 1 2 / 3; n 1 / 2; {a b c d}")
    assert scheme.n_partitions == 2
    assert scheme.n_rows == 4
    assert not scheme.is_binary
    assert scheme.partitions[0].side_classes == (("a",), ("b", "c"), ("d",))
    assert scheme.partitions[1].row == 3
    assert repr(scheme.partitions[0]) == "<Partition m: a / b c / d>"
    with pytest.raises(
        SchemeError, match="partition m has 3 sides, but only two are supported here"
    ):
        _ = scheme.partitions[0].negative


def test_rows_are_named_by_partition_and_side():
    wide, pair = parse('"svc" 0 / 1 / 2; m 0 / 1; {a b c}').partitions
    assert wide.row_names == ['"svc"/0', '"svc"/1', '"svc"/2']
    assert pair.row_names == ["m"]
