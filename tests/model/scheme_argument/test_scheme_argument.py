"""The option scheme: names, texts, paths, schemes, matrices and callables."""

import warnings
from pathlib import Path

import numpy as np
import pytest

from polytomy import designs
from polytomy.designs import DATA_DESIGNS, DESIGNS, ENSEMBLES, design, from_matrix
from polytomy.errors import ArgumentError, ClassOrderWarning, CodeError, ControlError, SchemeError
from polytomy.model.scheme_argument import needs_data, scheme_from
from polytomy.scheme import CodingMatrix, parse

CLASSES = np.array(["a", "b", "c"])
TEXT = "m {a n {b c}}"
MATRIX = [[-1, 1, 1], [0, -1, 1]]


@pytest.mark.parametrize("name", DESIGNS)
def test_a_name_is_a_design_of_the_classes(name):
    scheme = scheme_from(name, CLASSES, random_state=3)
    assert set(scheme.classes) == {"a", "b", "c"}
    assert scheme == scheme_from(name, CLASSES, random_state=3)


def test_a_dict_is_a_hierarchy_of_the_classes():
    hierarchy = {"first": ["a", "b"], "c": None}
    assert scheme_from(hierarchy, CLASSES) == designs.from_hierarchy(hierarchy)


def test_labels_that_are_paths_make_a_hierarchy():
    paths = np.array(["comp/mac", "comp/pc", "comp/sys/x", "comp/sys/y", "sci"])
    assert scheme_from("paths", paths) == designs.from_paths(paths)
    with pytest.raises(ArgumentError, match='"paths" needs labels with "/" between their parts'):
        scheme_from("paths", CLASSES)


def test_text_path_scheme_matrix_and_callable_give_the_same_scheme(tmp_path):
    scheme = parse(TEXT)
    file = tmp_path / "land.control"
    file.write_text(TEXT)
    assert scheme_from(TEXT, CLASSES) == scheme
    assert scheme_from(file, CLASSES) == scheme
    assert scheme_from(str(file), CLASSES) == scheme
    assert scheme_from(scheme, CLASSES) is scheme
    for matrix in (MATRIX, np.array(MATRIX, dtype=float), CodingMatrix(MATRIX)):
        assert scheme_from(matrix, CLASSES) == designs.from_matrix(MATRIX, CLASSES)
    X, y = np.zeros((3, 1)), CLASSES
    assert scheme_from(lambda X, y: designs.adjacent(np.unique(y)), CLASSES, X=X, y=y) == (
        designs.adjacent(CLASSES)
    )
    assert scheme_from(lambda X, y: "tree", CLASSES, X=X, y=y) == designs.balanced_tree(CLASSES)


@pytest.mark.parametrize(
    ("argument", "error", "words"),
    [
        ("one-vs-on", ArgumentError, 'Did you mean "one-vs-one"'),
        ("nothing.control", ArgumentError, "is neither a file nor a design"),
        (Path("nothing.control"), FileNotFoundError, "nothing.control"),
        ("m {a b", ControlError, "scheme:1:3: '{' is not closed"),
        (None, ArgumentError, "scheme must be the name of a design, .*; got None"),
        (3, ArgumentError, "a callable or a list of schemes; got 3"),
        ([1, -1], ArgumentError, "a two-dimensional coding matrix"),
        ([[1, 2, 3]], CodeError, "2"),
        ([[1, -1]], ArgumentError, "the matrix has 2 columns, but there are 3"),
        ([["a", "b"], "c"], ArgumentError, 'scheme="a" is neither a file nor a design'),
        ([], ArgumentError, "scheme is an empty list"),
        (["tree", "auto"], ArgumentError, 'scheme="auto" compares designs itself'),
        (["tree", 3], ArgumentError, "a callable or a list of schemes; got 3"),
        (["tree", "m {a b}"], SchemeError, "member 1 of the ensemble does not have the classes"),
        ([["a", "b"], ["c", "d"]], CodeError, "a"),
        (lambda X, y: None, ArgumentError, "a callable or a list of schemes; got None"),
        (lambda X, y: len, ArgumentError, "which is not a scheme"),
    ],
)
def test_anything_that_is_not_a_scheme_is_refused(argument, error, words):
    with pytest.raises(error, match=words):
        scheme_from(argument, CLASSES, X=np.zeros((3, 1)), y=CLASSES)


def test_a_list_of_schemes_is_an_ensemble_and_lists_inside_it_are_flattened(tmp_path):
    file = tmp_path / "a.control"
    file.write_text(TEXT)
    X, y = np.array([[0.0], [1.0], [5.0]]), CLASSES
    given = ["one-vs-one", file, parse(TEXT), CodingMatrix(MATRIX), lambda X, y: "tree"]
    found = scheme_from(given, CLASSES, X=X, y=y)
    assert found.schemes == tuple(scheme_from(each, CLASSES, X=X, y=y) for each in given)
    assert scheme_from(tuple(given), CLASSES, X=X, y=y) == found
    matrices = [np.array(MATRIX), np.array(MATRIX)]
    assert scheme_from(matrices, CLASSES).schemes == (from_matrix(MATRIX, CLASSES),) * 2
    three = scheme_from("pool", CLASSES, X=X, y=y)
    assert [each.n_partitions for each in three.schemes] == [3, 3, 2]
    pool = ["one-vs-one", "orthogonal", "empirical-tree"]
    assert scheme_from(pool, CLASSES, X=X, y=y) == three
    nested = scheme_from(["tree", ["pool", "adjacent"]], CLASSES, X=X, y=y)
    assert nested.schemes[1:4] == three.schemes
    assert len(nested) == 5
    assert needs_data(pool, CLASSES)
    assert not needs_data(pool[:2], CLASSES)


def test_a_callable_needs_the_data():
    with pytest.raises(ArgumentError, match=r"which only fit has\. Pass a Scheme"):
        scheme_from(lambda X, y: "tree", CLASSES)


LEVELS = ["high", "low", "medium"]
ORDER = ["low", "medium", "high"]


@pytest.mark.parametrize("name", ["adjacent", "chain", "chain-backward", "tree"])
def test_designs_that_use_the_order_of_classes_take_the_given_one(name):
    scheme = scheme_from(name, LEVELS, class_order=ORDER)
    assert scheme == design(name, ORDER)
    with pytest.warns(ClassOrderWarning, match=f'"{name}" needs the classes in order'):
        assert scheme_from(name, LEVELS) == design(name, LEVELS)


def test_the_order_applies_to_the_columns_of_a_matrix_and_to_functions():
    matrix = [[-1, 1, 1], [-1, -1, 1]]
    assert scheme_from(matrix, LEVELS, class_order=ORDER) == from_matrix(matrix, ORDER)
    made = scheme_from(lambda X, y: "tree", LEVELS, X=1, y=1, class_order=ORDER)
    assert made == design("tree", ORDER)


def test_other_designs_ignore_the_order_but_it_is_checked():
    assert scheme_from("one-vs-one", LEVELS, class_order=ORDER) == design("one-vs-one", LEVELS)
    with pytest.raises(ArgumentError, match="class_order does not have 'high'"):
        scheme_from("one-vs-one", LEVELS, class_order=ORDER[:2])


def test_the_warning_can_be_left_to_the_caller():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheme_from("tree", LEVELS, warns_of_order=False)
        scheme_from("one-vs-one", LEVELS)
        scheme_from("tree", ["1", "2", "3"])


ARGUMENTS = [*DESIGNS, *DATA_DESIGNS, *ENSEMBLES, "auto", "ordered", TEXT, parse(TEXT), MATRIX]


@pytest.mark.parametrize("argument", [*ARGUMENTS, lambda X, y: TEXT])
def test_schemes_that_need_data_are_known_before_they_are_made(argument):
    if needs_data(argument, CLASSES):
        with pytest.raises(ArgumentError, match=r"only fit has|designs itself"):
            scheme_from(argument, CLASSES)
    else:
        scheme_from(argument, CLASSES, random_state=0)


def test_an_order_that_is_known_needs_no_data():
    assert not needs_data("ordered", ["a", "b", "c"], class_order=["c", "a", "b"])
    assert not needs_data("ordered", [0, 1, 2])
