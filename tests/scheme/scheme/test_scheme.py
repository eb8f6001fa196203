import copy
import pickle

import pytest
from hypothesis import given

from polytomy.errors import SchemeError
from polytomy.scheme import BinaryName, ClassRef, CodingMatrix, Node, NodeRef, Scheme, parse
from strategies import schemes


@given(schemes(max_sides=4))
def test_copies_and_pickles_are_equal(scheme):
    assert copy.deepcopy(scheme) == scheme
    assert pickle.loads(pickle.dumps(scheme)) == scheme


def test_the_parts_of_a_mixture():
    scheme = parse("m 0/1; n 0/2; o 1/2; {a left {b c} d}")
    assert scheme.nodes[0].branches == (ClassRef(0), NodeRef(1), ClassRef(3))
    assert not scheme.is_flat
    assert not scheme.is_tree
    assert scheme.depth == 2
    assert [p.negative_classes for p in scheme.partitions] == [("a",), ("a",), ("b", "c"), ("b",)]
    assert [p.positive_classes for p in scheme.partitions] == [("b", "c"), ("d",), ("d",), ("c",)]
    assert repr(scheme) == "<Scheme: mixture, 4 classes, 4 partitions>"
    assert repr(scheme.partitions[2]) == "<Partition o: b c / d>"
    with pytest.raises(SchemeError, match=r"2 nested codes; use scheme.flatten\(\).code"):
        _ = scheme.code


def test_a_tree_may_have_nodes_of_any_width():
    assert parse("m {a n {b c d}}").is_tree
    assert not parse("m 1 / 0 / 2; {a b c}").is_tree


def test_a_single_class_is_a_scheme_without_partitions():
    scheme = parse("corn")
    assert scheme.classes == ("corn",)
    assert scheme.partitions == ()
    assert scheme.code.shape == (0, 1)
    assert scheme.is_flat
    assert scheme.is_tree
    assert scheme.depth == 0
    assert scheme.flatten() == scheme.to_tree() == scheme
    assert str(scheme) == "corn"
    assert scheme.draw() == scheme.draw(matrix=True) == "corn"


def test_a_scheme_cannot_be_changed():
    scheme = parse("m {a b}")
    with pytest.raises(AttributeError, match="cannot assign to field 'classes'"):
        scheme.classes = ("x", "y")
    with pytest.raises(AttributeError, match="cannot delete field 'classes'"):
        del scheme.classes


def test_schemes_differ_in_names_labels_and_codes():
    texts = ["m {a b}", "n {a b}", '"m" {a b}', "m {b a}", "m 1/0; {a b}", "m {a 1}", 'm {a "1"}']
    assert len({parse(text) for text in texts}) == len(texts)
    assert parse("m {a b}") == parse("m 0/1; {a b}")
    assert parse("m {a b}") != "m {a b}"
    assert parse("m {a b c}") == parse("m 0/1/2; {a b c}") != parse("m 0/2/1; {a b c}")


TWO = CodingMatrix([[-1, 1]])
PAIR = (ClassRef(0), ClassRef(1))


@pytest.mark.parametrize(
    ("classes", "nodes", "words"),
    [
        ([], [], "a scheme needs at least one class"),
        (["a", "a"], [Node((BinaryName("m"),), TWO, PAIR)], "class 'a' is given twice"),
        (
            ["a", None],
            [Node((BinaryName("m"),), TWO, PAIR)],
            "None of type NoneType cannot be a class",
        ),
        (["a", "b"], [], "not one tree in preorder"),
        (["a"], [Node((BinaryName("m"),), TWO, PAIR)], "not one tree in preorder"),
        (["a", "b"], [Node((BinaryName("m"),), TWO, (ClassRef(1), ClassRef(0)))], "not one tree"),
        (["a", "b"], [Node((BinaryName("m"),), TWO, (ClassRef(0), NodeRef(0)))], "not one tree"),
        (["a"], [Node((BinaryName("m"),), TWO, (ClassRef(0),))], "1 branches for 2 columns"),
        (["a", "b"], [Node((), TWO, PAIR)], "0 binaries for 1 partition"),
        (["a", "b"], [Node((BinaryName("m n"),), TWO, PAIR)], "a binary named 'm n'"),
        (["a", "b"], [Node((BinaryName("7"),), TWO, PAIR)], "a binary named '7'"),
        (["a", "b"], [Node((BinaryName(".", True),), TWO, PAIR)], 'the specification "."'),
        ("ab", [Node((BinaryName("m"),), TWO, PAIR)], "is a single string. Use a list of labels"),
        (
            ["a", "b"],
            [Node((BinaryName("m"),), CodingMatrix([[1, -1], [-1, 1]], [2]), PAIR)],
            "a partition of two sides in two rows; use one row",
        ),
    ],
)
def test_invalid_schemes_are_refused(classes, nodes, words):
    with pytest.raises(SchemeError, match=words):
        Scheme(classes, nodes)


def test_from_code_needs_a_class_for_every_column():
    with pytest.raises(SchemeError, match="3 classes do not fit a code of 2 columns"):
        Scheme.from_code(TWO, ["a", "b", "c"], [BinaryName("m")])


def test_a_chain_of_any_depth_can_be_compared_copied_and_printed():
    depth = 25_000
    text = "".join(f"m{{a{i} " for i in range(depth)) + "end" + "}" * depth
    scheme = parse(text)
    assert scheme.depth == depth
    assert scheme == parse(str(scheme))
    assert hash(scheme) == hash(copy.copy(scheme))
    assert pickle.loads(pickle.dumps(scheme)) == scheme
    assert scheme.partitions[-1].positive_classes == ("end",)
    assert len(scheme.partitions[0].positive) == depth
    assert scheme.draw().endswith(" lines")
    with pytest.raises(SchemeError, match="over the limit of 536,870,912 entries"):
        scheme.flatten()


def test_one_partition_is_shown_in_the_singular():
    assert repr(parse("m {a b}")) == "<Scheme: tree, 2 classes, 1 partition>"
    assert repr(parse("m {a b}").code) == "CodingMatrix(1 partition, 2 classes)"
