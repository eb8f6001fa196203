"""Every design takes labels of any kind and number, and refuses what is no list of classes."""

import enum

import numpy as np
import pandas as pd
import pytest

from polytomy import designs
from polytomy.errors import ArgumentError, PolytomyError, SchemeError

ALL = sorted(designs.DESIGNS)


class Crop(enum.StrEnum):
    CORN = "corn"
    WHEAT = "wheat"


class Grade(int, enum.Enum):  # prints as Grade.LOW, unlike an IntEnum
    LOW = 1
    HIGH = 2


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        (["corn", "wheat", "oak"], ("corn", "wheat", "oak")),
        (("corn", 7, 2.5), ("corn", 7, 2.5)),
        (range(5, 8), (5, 6, 7)),
        (3, (0, 1, 2)),
        (np.int64(3), (0, 1, 2)),
        ([np.int8(4), np.float32(0.5), np.str_("a"), np.bool_(True)], (4, 0.5, "a", True)),
        (np.array([3, 1, 2]), (3, 1, 2)),
        (np.array(["b", "a", "c"]), ("b", "a", "c")),
        (np.array(["b", 1], dtype=object), ("b", 1)),
        (pd.Index(["b", "a", "c"]), ("b", "a", "c")),
        (pd.Index([2, 1, 5]), (2, 1, 5)),
        (pd.Series([1.5, 0.5]), (1.5, 0.5)),
        (pd.Categorical(["b", "a"]), ("b", "a")),
        ({"b": 0, "a": 1}, ("b", "a")),
        ({"b": 0, "a": 1}.keys(), ("b", "a")),
        (list(Crop), ("corn", "wheat")),
        (list(Grade), (1, 2)),
        ([True, False], (True, False)),
        (["7", 7, " ", "", "a b", "#", "é"], ("7", 7, " ", "", "a b", "#", "é")),
        (["only"], ("only",)),
        (1, (0,)),
    ],
    ids=repr,
)
def test_labels_of_any_kind_are_the_classes(name, classes, labels):
    found = designs.design(name, classes).classes
    in_order = found if name != "random-tree" else tuple(sorted(found, key=labels.index))
    assert in_order == labels
    assert {type(label) for label in found} == {type(label) for label in labels}


def test_a_generator_of_labels_is_read_once():
    assert designs.adjacent(label for label in "bac").classes == ("b", "a", "c")


@pytest.mark.parametrize("name", ALL)
def test_one_class_needs_no_binary(name):
    scheme = designs.design(name, ["corn"])
    assert (scheme.classes, scheme.n_partitions) == (("corn",), 0)


@pytest.mark.parametrize("name", ALL)
def test_each_binary_separates_two_classes(name):
    scheme = designs.design(name, ["corn", "oak"])
    assert scheme.n_partitions == (2 if name == "one-vs-rest" else 1)
    for partition in scheme.partitions:
        assert {*partition.negative_classes, *partition.positive_classes} == {"corn", "oak"}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("classes", "error", "words"),
    [
        (["a", "b", "a"], SchemeError, "class 'a' is given twice; list each class once"),
        ([1, "1", True], SchemeError, "class True equals 1; list each class once"),
        ([0, 0.0], SchemeError, "class 0.0 equals 0; list each class once"),
        (np.array([1, 2, 2]), SchemeError, "class 2 is given twice"),
        ([], ArgumentError, "classes is empty. Give at least one class."),
        (0, ArgumentError, "classes is empty"),
        (-1, ArgumentError, "classes is empty"),
        (10**12, ArgumentError, "classes=1000000000000 is too many. The limit is 1,048,576"),
        ("abc", SchemeError, 'classes="abc" is a single string. Use a list of labels'),
        (b"abc", SchemeError, "classes=b'abc' is a single string"),
        ({"a", "b"}, ArgumentError, "classes is a set, which has no order. Use sorted"),
        (frozenset("ab"), ArgumentError, "classes is a set"),
        (3.0, ArgumentError, "must be a list of labels or a number of classes; got float"),
        (None, ArgumentError, "got NoneType"),
        (True, ArgumentError, "got bool"),
        (np.array(3), ArgumentError, "got ndarray"),
        ([["a", "b"], ["c"]], SchemeError, "of type list cannot be a class label"),
        (np.eye(2), SchemeError, "of type ndarray cannot be a class label"),
        (["a", None], SchemeError, "None of type NoneType cannot be a class label"),
        (["a", float("nan")], SchemeError, "a label must be a string, a bool or a finite"),
        (["a", "\ud800"], SchemeError, "is not valid text: it has a lone surrogate"),
    ],
)  # fmt: skip
def test_invalid_classes_are_refused(name, classes, error, words):
    with pytest.raises(error, match=words) as caught:
        designs.design(name, classes)
    assert isinstance(caught.value, PolytomyError)
    assert isinstance(caught.value, ValueError)
