"""Trees from nested lists, by halving, and at random."""

from collections import Counter
from math import ceil, comb, log2
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from polytomy import designs
from polytomy.errors import ArgumentError, SchemeError
from polytomy.scheme import ClassRef, parse, read

PAPER = Path(__file__).parents[2] / "paper"


def nested_of(scheme):
    """Return the nested lists that a scheme was made from."""
    built = {}
    for position in range(len(scheme.nodes) - 1, -1, -1):
        built[position] = [
            scheme.classes[branch.index] if isinstance(branch, ClassRef) else built[branch.index]
            for branch in scheme.nodes[position].branches
        ]
    return built[0] if built else scheme.classes[0]


def names_of(scheme):
    return [str(partition.binary) for partition in scheme.partitions]


shapes = st.recursive(
    st.just("leaf"), lambda inner: st.lists(inner, min_size=2, max_size=4), max_leaves=20
)


def labelled(shape, labels):
    return next(labels) if shape == "leaf" else [labelled(inner, labels) for inner in shape]


def as_tuples(nested):
    return tuple(map(as_tuples, nested)) if isinstance(nested, list) else nested


@given(shapes.map(lambda shape: labelled(shape, iter(range(100)))))
def test_the_scheme_has_the_shape_of_the_lists(nested):
    scheme = designs.from_tree(nested)
    assert nested_of(scheme) == nested
    assert designs.from_tree(as_tuples(nested)) == scheme
    assert parse(str(scheme)) == scheme
    for node in scheme.nodes:
        assert len(node.binaries) == comb(len(node.branches), 2)


def test_the_first_member_is_on_the_negative_side():
    (partition,) = designs.from_tree(["corn", "oak"]).partitions
    assert (partition.negative_classes, partition.positive_classes) == (("corn",), ("oak",))


def test_a_long_list_gets_the_design_of_wide():
    nested = [["a", "b", "c"], "d"]
    assert designs.from_tree(nested).nodes[1].code.is_one_vs_one
    rest = designs.from_tree(nested, wide="one-vs-rest", name="land")
    assert (rest.nodes[1].code.matrix == 2 * np.eye(3) - 1).all()
    assert names_of(rest) == ["land", "land.00-00", "land.00-01", "land.00-02"]


def test_names_are_the_path_from_the_root():
    scheme = designs.from_tree([["a", ["b", "c"]], ["d", "e"]], name="land")
    assert names_of(scheme) == ["land", "land.00", "land.00.01", "land.01"]


def test_a_label_alone_is_a_scheme_of_one_class():
    assert designs.from_tree("corn") == parse("corn")


@pytest.mark.parametrize("side", [0, 1])
def test_lists_may_be_nested_5000_deep(side):
    depth = 5000
    nested = "end"
    for level in range(depth):
        nested = [nested, level] if side == 0 else [level, nested]
    scheme = designs.from_tree(nested)
    assert (scheme.depth, len(scheme.classes)) == (depth, depth + 1)
    assert scheme.classes[0 if side == 0 else -1] == "end"
    assert parse(str(scheme)) == scheme
    # A path of 5000 steps would make the names grow without end.
    assert max(map(len, names_of(scheme))) <= 240
    assert len(set(names_of(scheme))) == depth


def single_lists(depth):
    nested = ["a", "b"]
    for _ in range(depth):
        nested = [nested]
    return nested


@pytest.mark.parametrize(
    ("nested", "words"),
    [
        (
            [],
            "branch 0 of tree is a list of 0, which cannot be divided. Give it two members or more",
        ),
        (["a"], "branch 0 of tree is a list of 1, which cannot be divided"),
        ([["a", "b"], ["c"]], "branch 1 of tree is a list of 1, which cannot be divided"),
        ([["a", ["b"]], "c"], "branch 1 of tree.00 is a list of 1, which cannot be divided"),
        (single_lists(5000), "or put a label in its place"),
    ],
    ids=["none", "one", "inner", "deeper", "deepest"],
)
def test_a_list_that_cannot_be_divided_is_refused_with_its_position(nested, words):
    with pytest.raises(ArgumentError, match=words):
        designs.from_tree(nested)


@pytest.mark.parametrize("nested", [["a", ["b", "a"]], [["a", "b"], ["c", "b"]]])
def test_a_repeated_label_is_refused(nested):
    with pytest.raises(SchemeError, match="is given twice; list each class once"):
        designs.from_tree(nested)


def test_values_that_are_neither_lists_nor_labels_are_refused():
    with pytest.raises(SchemeError, match="of type ndarray cannot be a class label"):
        designs.from_tree(np.array([["a", "b"], ["c", "d"]]))
    with pytest.raises(SchemeError, match="of type dict cannot be a class label"):
        designs.from_tree([{"a": 1}, "b"])


def test_an_unknown_design_for_long_lists_is_refused():
    with pytest.raises(ArgumentError, match='wide="tree" is not one of one-vs-one, one-vs-rest'):
        designs.from_tree(["a", "b"], wide="tree")


# -- by halving -----------------------------------------------------------------------------------


def test_the_balanced_tree_of_seven_is_the_one_the_paper_prints():
    scheme = designs.balanced_tree(7, name="shuttle_hier")
    assert nested_of(scheme) == [[0, [1, 2]], [[3, 4], [5, 6]]]
    assert scheme == read(PAPER / "shuttle_hier.control")


@given(st.integers(2, 300))
def test_a_balanced_tree_halves_the_classes_in_their_order(n_classes):
    scheme = designs.balanced_tree(n_classes)
    assert scheme.is_tree
    assert scheme.classes == tuple(range(n_classes))
    assert scheme.depth == ceil(log2(n_classes))
    for partition in scheme.partitions:
        assert len(partition.positive) - len(partition.negative) in (0, 1)


# -- at random ------------------------------------------------------------------------------------


def unordered(nested):
    return frozenset(map(unordered, nested)) if isinstance(nested, list) else nested


def test_every_tree_of_four_classes_is_as_likely_as_any_other():
    generator = np.random.default_rng(20040704)
    drawn = [nested_of(designs.random_tree(4, random_state=generator)) for _ in range(6000)]
    shapes = Counter(unordered(nested) for nested in drawn)
    assert len(shapes) == 15  # (2·4 − 3)!! = 1·3·5
    assert chisquare(list(shapes.values())).pvalue > 0.001
    # Each of the three binaries may have its sides either way round.
    sided = Counter(map(str, drawn))
    assert len(sided) == 15 * 2**3
    assert chisquare(list(sided.values())).pvalue > 0.001


@given(st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_a_random_tree_is_a_tree_over_all_classes(n_classes, seed):
    scheme = designs.random_tree(n_classes, random_state=seed)
    assert scheme.is_tree
    assert sorted(scheme.classes) == list(range(n_classes))
    assert scheme.n_partitions == n_classes - 1
    assert designs.random_tree(n_classes, random_state=seed) == scheme
    assert designs.random_tree(n_classes, random_state=np.random.default_rng(seed)) == scheme


def test_random_trees_differ_without_a_seed():
    assert len({designs.random_tree(20) for _ in range(5)}) > 1


def test_a_random_tree_has_the_given_name():
    assert names_of(designs.random_tree(2, random_state=0, name="own")) == ["own"]
