"""The option scheme: names, texts, paths, schemes, matrices and callables."""

from pathlib import Path

import numpy as np
import pytest

from polytomy import designs
from polytomy.codes import CodingMatrix
from polytomy.composition import scheme_from
from polytomy.designs import DESIGNS
from polytomy.errors import ArgumentError, CodeError, ControlError
from polytomy.scheme import parse

CLASSES = np.array(["a", "b", "c"])
TEXT = "m {a n {b c}}"
MATRIX = [[-1, 1, 1], [0, -1, 1]]


@pytest.mark.parametrize("name", DESIGNS)
def test_a_name_is_a_design_of_the_classes(name):
    scheme = scheme_from(name, CLASSES, random_state=3)
    assert set(scheme.classes) == {"a", "b", "c"}
    assert scheme == scheme_from(name, CLASSES, random_state=3)


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
        (3, ArgumentError, "coding matrix or a callable; got 3"),
        ([1, -1], ArgumentError, "a two-dimensional coding matrix"),
        ([[1, 2, 3]], CodeError, "2"),
        ([[1, -1]], ArgumentError, "the matrix has 2 columns, but there are 3"),
        (lambda X, y: None, ArgumentError, "coding matrix or a callable; got None"),
        (lambda X, y: len, ArgumentError, "which is not a scheme"),
    ],
)
def test_anything_that_is_not_a_scheme_is_refused(argument, error, words):
    with pytest.raises(error, match=words):
        scheme_from(argument, CLASSES, X=np.zeros((3, 1)), y=CLASSES)


def test_a_callable_needs_the_data():
    with pytest.raises(ArgumentError, match=r"which only fit has\. Pass a Scheme"):
        scheme_from(lambda X, y: "tree", CLASSES)
