"""Schemes from hierarchies: dicts, lists and paths, as people write them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy import designs, parse
from polytomy.errors import ArgumentError, SchemeError


@pytest.mark.parametrize(
    "hierarchy",
    [
        {"field": ["corn", "wheat"], "forest": ["pine", "oak", "elm"]},
        {"field": {"corn": {}, "wheat": None}, "forest": {"pine": [], "oak": (), "elm": None}},
        {"field": ("corn", "wheat"), "forest": [{"pine": None}, "oak", "elm"]},
        [{"field": ["corn", "wheat"]}, {"forest": ["pine", "oak", "elm"]}],
        {"land": {"field": ["corn", "wheat"], "forest": ["pine", "oak", "elm"]}},
        {"field": np.array(["corn", "wheat"]), "forest": {"pine": 0, "oak": 1, "elm": 2}.keys()},
    ],
)
def test_a_hierarchy_may_be_written_in_several_ways(hierarchy):
    expected = parse("land {field {corn wheat} forest {pine oak elm}}")
    assert designs.from_hierarchy(hierarchy, name="land") == expected


def test_a_branch_without_siblings_is_put_in_the_place_of_its_node():
    scheme = designs.from_hierarchy({"a": {"b": {"c": ["x"]}}, "d": {"e": ["y", "z"]}}, name="m")
    assert scheme == parse("m {x e {y z}}")


def test_lists_without_names_are_numbered():
    scheme = designs.from_hierarchy([["a", "b", "c"], ["d", ["e", "f"]]], name="m")
    assert scheme == parse("m {m.00 {a b c} m.01 {d m.01.01 {e f}}}")


def test_pairs_make_the_same_tree_as_from_tree():
    nested = "end"
    for level in range(200):
        nested = [[f"a{level}", f"b{level}"], nested]
    assert designs.from_hierarchy(nested, name="tree") == designs.from_tree(nested)


def test_labels_may_be_numbers():
    assert designs.from_hierarchy({"even": [0, 2], "odd": [1, 3]}).classes == (0, 2, 1, 3)
    ranges = {"even": range(0, 4, 2), "odd": np.arange(1, 4, 2)}
    assert designs.from_hierarchy(ranges).classes == (0, 2, 1, 3)


@pytest.mark.parametrize("nodes", ["one-vs-one", "one-vs-rest", "adjacent"])
def test_a_code_may_stand_at_wide_nodes(nodes):
    scheme = designs.from_hierarchy({"field": ["corn", "wheat", "rye"], "lake": None}, nodes=nodes)
    assert scheme == parse(f"hierarchy {{@{nodes} field {{corn wheat rye}} lake}}")


def test_keys_that_cannot_be_names_are_changed():
    scheme = designs.from_hierarchy({"red soil": [1, 2], "7": [3, 4], "@x": [5, 6], '"': [7, 8]})
    assert scheme.node_names[1:] == ("red_soil", "node-7", "x", "_")
    assert parse(str(scheme)) == scheme


@pytest.mark.parametrize(
    ("hierarchy", "words"),
    [
        ([], r"hierarchy is empty\. Give it a class, or remove it"),
        ({"a": [[], "x"]}, r"a\.00 is empty\. Give it a class, or remove it"),
        ({"a": ["x", "y"], "b": ["x", "z"]}, "class 'x' is given twice"),
        ({"a": {"x"}, "b": "y"}, r"hierarchy has the set \{'x'\}, which has no order. Use a list"),
    ],
)
def test_invalid_hierarchies_are_refused(hierarchy, words):
    with pytest.raises((ArgumentError, SchemeError), match=words):
        designs.from_hierarchy(hierarchy)


def test_an_unknown_design_is_corrected():
    with pytest.raises(
        ArgumentError,
        match=r'nodes="one-vs-none" is not one of one-vs-one, .* Did you mean "one-vs-one"',
    ):
        designs.from_hierarchy(["a", "b", "c"], nodes="one-vs-none")


def test_a_hierarchy_of_any_depth_can_be_read():
    nested = "end"
    for level in range(20_000):
        nested = [level, nested]
    assert designs.from_hierarchy(nested).depth == 20_000


def test_paths_name_the_nodes_by_what_they_start_with():
    paths = ["comp/sys/mac", "comp/sys/ibm", "comp/graphics", "sci/med", "misc", "sci/space"]
    expected = parse(
        "hierarchy {comp {comp/sys {comp/sys/mac comp/sys/ibm} comp/graphics} "
        "sci {sci/med sci/space} misc}"
    )
    assert designs.from_paths(paths) == expected
    dotted = [path.replace("/", ".") for path in paths]
    assert designs.from_paths(dotted, separator=".").classes[:2] == ("comp.sys.mac", "comp.sys.ibm")


@pytest.mark.parametrize("paths", [["a", "a/b", "a/c", "d"], ["a/b", "a", "a/c", "d"]])
def test_a_path_that_others_start_with_is_a_class_among_them(paths):
    scheme = designs.from_paths(paths)
    assert set(scheme.classes) == set(paths)
    assert scheme.node_names == ("hierarchy", "a")


@given(
    st.lists(
        st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join),
        min_size=1,
        unique=True,
    )
)
def test_every_path_is_a_class(paths):
    scheme = designs.from_paths(paths)
    assert sorted(scheme.classes) == sorted(paths)
    for partition in scheme.partitions:
        name = str(partition.binary)
        below = [path for side in partition.side_classes for path in side]
        if name != "hierarchy":
            assert all(path == name or path.startswith(name + "/") for path in below)


@pytest.mark.parametrize(
    ("paths", "separator", "words"),
    [
        (["a/b", "a/b"], "/", "has 'a/b' twice"),
        ("a/b", "/", "must be a list of strings"),
        (["a", 1], "/", "labels are strings, such as .* got 1"),
        (["a"], "", "separator must not be empty"),
    ],
)
def test_paths_that_are_none_are_refused(paths, separator, words):
    with pytest.raises(ArgumentError, match=words):
        designs.from_paths(paths, separator=separator)


def test_a_hierarchy_that_contains_itself_is_refused(monkeypatch):
    monkeypatch.setattr("polytomy.designs.trees._MOST_BRANCHES", 1000)  # a million take seconds
    endless = ["corn"]
    endless.append({"field": endless})
    with pytest.raises(ArgumentError, match="hierarchy has a dict or list that contains itself"):
        designs.from_hierarchy(endless)
    pair = ["a", "b"]  # twice, but not in itself
    with pytest.raises(SchemeError, match="class 'a' is given twice"):
        designs.from_hierarchy({"left": pair, "right": pair})
