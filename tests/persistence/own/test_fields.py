"""Fields of JSON objects: read with their types and ranges checked."""

import pytest

from polytomy.errors import ModelFileError
from polytomy.persistence.own.fields import Fields, is_finite_number

FIELDS = Fields(
    {
        "text": "a",
        "integer": 3,
        "number": 1.5,
        "items": [1, "a"],
        "texts": ["a", "b"],
        "integers": [0, 7],
        "object": {"inner": 1},
        "objects": [{"a": 0}, {"a": 1}],
        "null": None,
        "true": True,
        "huge": 10**400,
        "infinite": float("inf"),
    },
    "the pool",
)


def test_fields_of_the_expected_type_are_returned():
    assert FIELDS.text("text") == "a"
    assert FIELDS.text("missing", "default") == "default"
    assert FIELDS.integer("integer", least=3, most=3) == 3
    assert (FIELDS.number("number"), FIELDS.number("integer")) == (1.5, 3.0)
    assert FIELDS.boolean("true") is True
    assert FIELDS.items("items") == [1, "a"]
    assert FIELDS.texts("texts") == ["a", "b"]
    assert FIELDS.integers("integers", least=0, most=7) == [0, 7]
    assert FIELDS.fields("object").integer("inner", least=0) == 1
    assert [each.integer("a", least=0) for each in FIELDS.all_fields("objects")] == [0, 1]
    assert FIELDS.raw("missing") is None


def test_null_counts_as_missing():
    assert "text" in FIELDS
    assert "null" not in FIELDS
    assert "missing" not in FIELDS


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (lambda: FIELDS.text("integer"), "integer of the pool is not text"),
        (lambda: FIELDS.text("missing"), "missing of the pool is not text"),
        (
            lambda: FIELDS.integer("integer", least=4),
            "is not an integer from 4 to 90071",
        ),
        (lambda: FIELDS.integer("integer", least=0, most=2), "is not an integer from 0 to 2"),
        (lambda: FIELDS.integer("true", least=0), "true of the pool is not an integer from 0"),
        (lambda: FIELDS.integer("number", least=0), "number of the pool is not an integer"),
        (lambda: FIELDS.number("text"), "text of the pool is not a finite number"),
        (lambda: FIELDS.number("true"), "true of the pool is not a finite number"),
        (lambda: FIELDS.number("huge"), "huge of the pool is not a finite number"),
        (lambda: FIELDS.number("infinite"), "infinite of the pool is not a finite number"),
        (lambda: FIELDS.boolean("integer"), "integer of the pool is not true or false"),
        (lambda: FIELDS.boolean("null"), "null of the pool is not true or false"),
        (lambda: FIELDS.items("text"), "text of the pool is not a list"),
        (lambda: FIELDS.texts("items"), "items of the pool is not a list of texts"),
        (lambda: FIELDS.integers("items", least=0), "is not a list of integers from 0 to 90"),
        (lambda: FIELDS.integers("integers", least=1), "is not a list of integers from 1 to 90"),
        (lambda: FIELDS.fields("text"), "text of the pool is not an object"),
        (lambda: list(FIELDS.all_fields("items")), "items 0 of the pool is not an object"),
        (lambda: FIELDS.fields("object").text("inner"), "inner of object of the pool is not text"),
        (lambda: Fields([], "the model"), "the model is not an object"),
    ],
)
def test_other_fields_are_refused_by_name(read, words):
    with pytest.raises(ModelFileError, match=words):
        read()


@pytest.mark.parametrize("value", [0, -3, 1.5, 2**1000, 1e308])
def test_numbers_that_a_float_holds_are_finite(value):
    assert is_finite_number(value)


@pytest.mark.parametrize(
    "value", [None, True, "1", [1], 10**400, -(10**400), float("nan"), float("-inf")]
)
def test_other_values_are_not_finite_numbers(value):
    assert not is_finite_number(value)
