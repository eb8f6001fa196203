"""Checks of values from JSON, which say where the first wrong value is."""

import pytest

from polytomy.errors import DataError
from polytomy.trials.store import (
    Damage,
    OptionalField,
    check_count,
    check_fraction,
    check_matrix,
    check_object,
    check_text,
    check_whole_number,
    damage_as_data_error,
    list_of,
    number_between,
    object_of,
    or_none,
    parse_json,
    values_of,
)

PERSON = {"name": check_text, "age": OptionalField(or_none(check_count))}
TEAM = object_of({"members": list_of(object_of(PERSON)), "notes": values_of(check_text)})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "[] is not an object"),
        ({"members": []}, "notes: it is missing"),
        ({"members": {}, "notes": {}}, "members: {} is not a list"),
        ({"members": [{"name": "a"}, {"name": 1}], "notes": {}}, "members, 1, name: 1 is not text"),
        (
            {"members": [{"name": "a", "age": -1}], "notes": {}},
            "members, 0, age: -1 is not between",
        ),
        ({"members": [], "notes": {"x": None}}, "notes, x: null is not text"),
    ],
)
def test_damage_has_the_place_of_the_value(value, words):
    with pytest.raises(Damage) as caught:
        TEAM(value)
    assert str(caught.value).startswith(words)


def test_optional_fields_may_be_missing_and_none():
    check_object({"name": "a"}, PERSON)
    check_object({"name": "a", "age": None, "more": object}, PERSON)
    TEAM({"members": [{"name": "a", "age": 3}], "notes": {"x": "y"}})


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (check_count, [0, 7], [-1, 1.0, True, "1", None, 10**16]),
        (check_whole_number, [-7, 0], [0.5, False, "1"]),
        (check_fraction, [0.5, 1e-9], [0, 1, -0.5, "0.5", float("nan")]),
        (number_between(0, 2), [0, 1.5, 2], [2.1, float("nan"), float("inf"), True, [1]]),
        (check_text, ["", "é"], [1, None, ["a"], "\ud800"]),
    ],
)
def test_each_check_accepts_its_values_and_no_others(check, good, bad):
    for value in good:
        check(value)
    for value in bad:
        with pytest.raises(Damage):
            check(value)


@pytest.mark.parametrize("value", [[[1], [2, 3]], [[1, 2]], [1, 2], [[1, 2], [3, "4"]], None])
def test_a_matrix_has_rows_of_one_length(value):
    check_matrix([[1, 2], [3, 4]], 2, 2, check_count)
    with pytest.raises(Damage):
        check_matrix(value, 2, 2, check_count)


def test_damage_becomes_a_data_error():
    with pytest.raises(DataError, match=r"^notes: it is missing$"), damage_as_data_error():
        TEAM({"members": []})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is not JSON, or it is incomplete"),
        (b"\xff\xff", "it is not JSON, or it is incomplete"),
        (b'{"a": 1', "it is not JSON, or it is incomplete"),
        (b'{"a": ' + b"1" * 5000 + b"}", "it is not JSON, or it is incomplete"),
        (b'{"a": -Infinity}', "-Infinity is not a JSON number"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b"7", "7 is not an object"),
    ],
    ids=range(7),
)
def test_only_an_object_of_json_is_parsed(content, words):
    with pytest.raises(DataError) as caught:
        parse_json(content)
    assert str(caught.value) == words
