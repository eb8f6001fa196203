import copy
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy import designs
from polytomy.codes import CodingMatrix
from polytomy.errors import ControlWarning, SchemeError
from polytomy.scheme import BinaryName, ClassRef, Node, NodeRef, Scheme, parse
from polytomy.scheme.expand import SHORT_FORMS
from strategies import schemes


def parse_quietly(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ControlWarning)
        return parse(text)


@given(schemes())
def test_printing_then_parsing_returns_the_same_scheme(scheme):
    again = parse_quietly(str(scheme))
    assert again == scheme
    assert hash(again) == hash(scheme)
    assert [type(label) for label in again.classes] == [type(label) for label in scheme.classes]
    assert parse_quietly(scheme.compact()) == scheme


@given(schemes())
def test_copies_and_pickles_are_equal(scheme):
    assert copy.deepcopy(scheme) == scheme
    assert pickle.loads(pickle.dumps(scheme)) == scheme


@given(schemes())
def test_flattening_keeps_classes_binaries_and_sides(scheme):
    flat = scheme.flatten()
    assert flat.is_flat
    assert flat.classes == scheme.classes
    assert flat.flatten() == flat
    assert flat.n_partitions == scheme.n_partitions == len(scheme.partitions)
    for before, after, row in zip(
        scheme.partitions, flat.partitions, flat.code.matrix, strict=True
    ):
        assert before.binary == after.binary
        assert (before.negative, before.positive) == (after.negative, after.positive)
        assert np.flatnonzero(row == -1).tolist() == list(before.negative)
        assert np.flatnonzero(row == 1).tolist() == list(before.positive)


@given(schemes())
def test_the_classes_below_a_node_are_those_of_its_branches(scheme):
    def below(branch):
        if isinstance(branch, ClassRef):
            return [branch.index]
        return [i for child in scheme.nodes[branch.index].branches for i in below(child)]

    for partition in scheme.partitions:
        node = scheme.nodes[partition.node]
        row = node.code.matrix[partition.row]
        for value, side in ((-1, partition.negative), (1, partition.positive)):
            branches = [b for b, sign in zip(node.branches, row, strict=True) if sign == value]
            assert list(side) == [i for branch in branches for i in below(branch)]


@given(st.integers(2, 30), st.integers(0, 2**32 - 1))
def test_a_tree_comes_back_from_its_flat_code(n_classes, seed):
    tree = designs.random_tree(n_classes, random_state=seed)
    flat = tree.flatten()
    assert flat.code.is_tree
    assert flat.to_tree() == tree
    # In whatever order rows stand, the tree is the same but for the order of its classes.
    shuffled = np.random.default_rng(seed).permutation(flat.n_partitions)
    binaries = [flat.nodes[0].binaries[i] for i in shuffled]
    code = CodingMatrix(flat.code.matrix[shuffled])
    assert Scheme.from_code(code, flat.classes, binaries).to_tree() == tree


def test_a_code_that_is_no_tree_says_so():
    with pytest.raises(SchemeError, match="is not a tree: its partitions are not the splits"):
        designs.one_vs_one(3).to_tree()


def test_a_mixture_of_trees_unfolds_node_by_node():
    scheme = parse("a 0 / 1 2; b 1 / 2; {x m {y z} w}")
    assert str(scheme.to_tree()) == "a {\n  x\n  b {\n    m {y z}\n    w\n  }\n}"


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
    with pytest.raises(AttributeError, match="a scheme cannot be changed: classes"):
        scheme.classes = ("x", "y")
    with pytest.raises(AttributeError, match="a scheme cannot be changed: classes"):
        del scheme.classes


def test_schemes_differ_in_names_labels_and_codes():
    texts = ["m {a b}", "n {a b}", '"m" {a b}', "m {b a}", "m 1/0; {a b}", "m {a 1}", 'm {a "1"}']
    assert len({parse(text) for text in texts}) == len(texts)
    assert parse("m {a b}") == parse("m 0/1; {a b}")
    assert parse("m {a b}") != "m {a b}"


TWO = CodingMatrix([[-1, 1]])
PAIR = (ClassRef(0), ClassRef(1))


@pytest.mark.parametrize(
    ("classes", "nodes", "words"),
    [
        ([], [], "a scheme needs a class or more"),
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
        (["a", "b"], [Node((), TWO, PAIR)], "0 binaries for 1 partitions"),
        (["a", "b"], [Node((BinaryName("m n"),), TWO, PAIR)], "a binary named 'm n'"),
        (["a", "b"], [Node((BinaryName("7"),), TWO, PAIR)], "a binary named '7'"),
        (["a", "b"], [Node((BinaryName(".", True),), TWO, PAIR)], 'the specification "."'),
        ("ab", [Node((BinaryName("m"),), TWO, PAIR)], "is one text; give a list of labels"),
    ],
)
def test_what_is_no_scheme_is_refused(classes, nodes, words):
    with pytest.raises(SchemeError, match=words):
        Scheme(classes, nodes)


def test_from_code_needs_a_class_for_every_column():
    with pytest.raises(SchemeError, match="3 classes are given for 2 columns"):
        Scheme.from_code(TWO, ["a", "b", "c"], [BinaryName("m")])


def test_a_chain_of_any_depth_can_be_compared_copied_and_printed():
    depth = 50_000
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


def test_short_forms_are_found_where_the_code_and_the_names_are_theirs():
    designs = '  @adjacent {a b c}\n  @orthogonal "svc" {d e f g}\n  @one-vs-rest x {h i j}\n'
    text = "@one-vs-one {\n" + designs + "}"
    assert parse(text).compact() == text
    scheme = parse("m 0/1; n 0/2; o 1/2; {a b c}")
    assert scheme.compact() == str(scheme)


@pytest.mark.parametrize("name", SHORT_FORMS)
@pytest.mark.parametrize("n_classes", [3, 4, 7, 9])
def test_every_design_has_a_short_form(name, n_classes):
    text = f"@{name} {{{' '.join(map(str, range(n_classes)))}}}"
    scheme = parse_quietly(text)
    assert parse_quietly(scheme.compact()) == scheme
    assert scheme.compact().startswith("@")
