"""Values and labels as JSON."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.errors import ModelFileError
from polytomy.persistence.own.fields import Fields
from polytomy.persistence.own.values import (
    NotPlainError,
    labels_to_json,
    read_labels,
    read_value,
    value_to_json,
)

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(SCALARS, inner, max_size=3)
    ),
    max_leaves=10,
)


def _read(kind, values):
    return read_labels(Fields({"type": kind, "values": values}, "classes"))


@given(VALUES)
def test_a_value_reads_back_as_itself(value):
    again = read_value(json.loads(json.dumps(value_to_json(value), allow_nan=False)))
    assert repr(again) == repr(value)


def test_scalars_of_numpy_become_those_of_python():
    assert value_to_json([np.int64(3), np.float32(0.5), np.True_]) == [3, 0.5, True]


@pytest.mark.parametrize("value", [object(), {1, 2}, np.zeros(2), [len], b"bytes"])
def test_other_values_are_not_plain(value):
    with pytest.raises(NotPlainError, match="is not a plain value"):
        value_to_json(value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "unknown type"),
        ({"float": "1"}, "unknown type"),
        ({"dict": [1]}, "unknown type"),
        ({"dict": [[[], 1]]}, "unknown type"),
        ({"tuple": 3}, "unknown type"),
        (float("inf"), "too large"),
        (json.loads("[" * 30 + "]" * 30), "nested too deeply"),
    ],
)
def test_json_that_is_not_a_value_is_refused(value, words):
    with pytest.raises(ModelFileError, match=words):
        read_value(value)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, -1]),
        np.array([0, 255], dtype=np.uint8),
        np.array([0.5, -1.0], dtype=">f4"),
        np.array([False, True]),
        np.array(["ash", "δρῦς"]),
        np.array(["a", 1, 2.5], dtype=object),
    ],
)
def test_labels_read_back_with_their_type(labels):
    again = read_labels(Fields(json.loads(json.dumps(labels_to_json(labels))), "classes"))
    assert again.dtype == labels.dtype
    assert again.tolist() == labels.tolist()


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        ("<c16", [1], "a list of labels of one type"),
        ("<U3", ["a", 1], "a list of labels of one type"),
        ("<i8", [True], "a list of labels of one type"),
        ("", [1], "a list of labels of one type"),
        ("<i3", [1], "a list of labels of one type"),
        ("<U99999999999", ["a", "a"], "a list of different labels"),
        ("<U3", ["a", "a\0"], "a list of different labels"),
        ("<f8", [1, 1.0], "a list of different labels"),
        ("|i1", [1, 128], r"a list of labels of type \|i1"),
        ("|u1", [-1], r"a list of labels of type \|u1"),
        ("<f4", [1e300], "a list of labels of type <f4"),
        ("<f8", [10**400], "a list of labels of type <f8"),
        ("|O", ["a", float("inf")], r"a list of labels of type \|O"),
    ],
)
def test_labels_that_do_not_fit_their_type_are_refused(kind, values, words):
    with pytest.raises(ModelFileError, match=f"values of classes is not {words}"):
        _read(kind, values)


def test_a_declared_length_of_text_is_not_allocated():
    assert _read("<U99999999999", ["ab", "c"]).dtype == np.dtype("<U2")
