"""The order of labels: given, natural for numbers, and a warning where there is none."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.errors import ArgumentError, ClassOrderWarning
from polytomy.inputs.label_order import (
    find_class_order,
    has_natural_order,
    match_class_order,
    order_labels,
    read_categories,
    sort_naturally,
)

LEVELS = ["high", "low", "medium"]


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=9, unique=True))
def test_numbers_written_as_text_are_sorted_by_value_without_a_warning(numbers):
    texts = sorted(map(str, numbers))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert order_labels(texts, ["tree"]) == [str(n) for n in sorted(numbers)]


@pytest.mark.parametrize(
    "labels", [[3, 1, 2], [0.5, 1.5, 2.5], [False, True], ["b", "a"], ["1", "2", "1e1"]]
)
def test_numbers_and_two_classes_need_no_order(labels):
    assert has_natural_order(labels)


@pytest.mark.parametrize("labels", [LEVELS, ["1", "2", "x"], ["inf", "1", "2"], ["1", "2", ""]])
def test_other_text_has_no_natural_order_and_stays_as_it_is(labels):
    assert not has_natural_order(labels)
    assert sort_naturally(labels) == labels


def test_one_warning_names_the_users_of_the_order_and_the_remedy():
    names = ["draw", "eight", "eleven", "fifteen", "five", "four"]
    with pytest.warns(ClassOrderWarning) as caught:
        assert order_labels(names, ["adjacent", "tree", "adjacent"]) == names
    assert [str(each.message) for each in caught] == [
        '"adjacent" and "tree" need the classes in order, and text labels have only their '
        "alphabetical order: draw, eight, eleven, fifteen, five, …. Set class_order to all labels, "
        "from first to last."
    ]


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (["low", "high"], "class_order does not have 'medium'. List each label of the data"),
        (
            ["low", "medium", "hi", np.str_("top")],
            "class_order does not have 'high'; it has unknown labels: 'hi', 'top'. List",
        ),
        (["low", "medium", "high", "low"], "class_order repeats 'low'. List"),
        ([["low"], "medium", "high"], "class_order does not have 'low'; it has unknown labels: ["),
        ("low", "class_order must be a list of all labels, from first to last; got 'low'."),
        ({"low", "medium", "high"}, "class_order must be a list"),
        (3, "class_order must be a list"),
        (np.array(3), "class_order must be a list"),
    ],
)
def test_an_order_that_is_not_one_of_the_labels_is_an_error(order, words):
    with pytest.raises(ArgumentError) as caught:
        match_class_order(order, LEVELS)
    assert str(caught.value).startswith(words)


def test_an_order_may_have_more_labels_where_that_is_allowed():
    order = ["none", "low", "medium", "high"]
    assert match_class_order(order, LEVELS, allows_more=True) == order
    assert match_class_order(["0", "1", "2"], [2, 1], allows_more=True) == ["0", 1, 2]
    with pytest.raises(ArgumentError, match="class_order repeats 'none'"):
        match_class_order([*order, "none"], LEVELS, allows_more=True)
    with pytest.raises(ArgumentError, match="class_order does not have 'high', 'medium'"):
        match_class_order(["none", "low"], LEVELS, allows_more=True)


def test_labels_match_by_value_and_then_by_their_text():
    assert match_class_order(["3", "1", "2"], [1, 2, 3]) == [3, 1, 2]
    assert match_class_order([3, 1, 2], ["1", "2", "3"]) == ["3", "1", "2"]
    assert match_class_order(["1", 1], [1, "1"]) == ["1", 1]


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (pd.Categorical([3, 1], [3, 2, 1], ordered=True), [3, 2, 1]),
        (pd.CategoricalIndex(["b"], ["b", "a"], ordered=True), ["b", "a"]),
        (pl.Series(["b"], dtype=pl.Enum(["b", "a"])), ["b", "a"]),
        (pd.Categorical(["b"], ["b", "a"]), None),
        (pl.Series(["b"], dtype=pl.Categorical()), None),
        (np.array(["b", "a"]), None),
        (None, None),
    ],
)
def test_only_ordered_categories_are_read(y, expected):
    assert read_categories(y) == expected


@given(st.permutations(range(6)), st.sets(st.integers(0, 5), min_size=1))
def test_classes_are_in_the_order_of_their_categories(categories, present):
    classes = sorted(present)
    order = find_class_order(classes, None, categories)
    assert order == sorted(classes, key=categories.index)
    assert find_class_order([*classes, 9], None, categories) is None  # not one of them
    assert find_class_order(classes, classes, categories) == classes
