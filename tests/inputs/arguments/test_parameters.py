"""Parameters: allowed values, and messages that list them."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.errors import ArgumentError
from polytomy.inputs.arguments import (
    Parameter,
    check_parameters,
    is_boolean,
    is_count,
    is_job_count,
    is_nonnegative_number,
    is_random_state,
)

COLOUR = Parameter("colour", "a number", is_nonnegative_number, ("red", "green"), allows_none=True)


@pytest.mark.parametrize("value", ["red", "green", 0, 2.5, None])
def test_allowed_values_pass(value):
    COLOUR.check(value)


@pytest.mark.parametrize(
    ("parameter", "value", "words"),
    [
        (COLOUR, -1, 'colour must be "red", "green", a number or None; got -1.'),
        (
            COLOUR,
            "gren",
            'colour must be "red", "green", a number or None; got \'gren\'. Did you mean "green"?',
        ),
        (Parameter("size", "a number", is_count), None, "size must be a number; got None."),
        (Parameter("kind", choices=("a",)), ["a"], "kind must be \"a\"; got ['a']."),
    ],
)
def test_other_values_are_refused_with_a_list_of_the_allowed_ones(parameter, value, words):
    with pytest.raises(ArgumentError) as caught:
        parameter.check(value)
    assert str(caught.value) == words
    assert caught.value.parameter == parameter.name


@given(st.one_of(st.text(max_size=8), st.integers(), st.floats(), st.none(), st.booleans()))
def test_a_value_either_passes_or_is_quoted(value):
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    if value is None or value in ("red", "green") or is_number:
        COLOUR.check(value)
    else:
        with pytest.raises(ArgumentError) as caught:
            COLOUR.check(value)
        assert f"; got {value!r}." in str(caught.value)


def test_an_array_is_not_one_of_the_choices():
    with pytest.raises(ArgumentError, match=r"got array\(\['red', 'red'\]"):
        Parameter("colour", choices=("red",)).check(np.array(["red", "red"]))


def test_every_parameter_of_an_owner_is_checked():
    owner = SimpleNamespace(colour="red", size=-1)
    checks = {"colour": COLOUR.check, "size": Parameter("size", "a count", is_count).check}
    with pytest.raises(ArgumentError, match="size must be a count; got -1"):
        check_parameters(owner, checks)
    owner.size = 1
    check_parameters(owner, checks)


VALUES = {
    "True": True,
    "np.True_": np.True_,
    "0": 0,
    "1": 1,
    "-1": -1,
    "np.int8(3)": np.int8(3),
    "0.5": 0.5,
    "-0.5": -0.5,
    "nan": float("nan"),
    "2**32": 2**32,
    "RandomState": np.random.RandomState(0),
    "'1'": "1",
}


@pytest.mark.parametrize(
    ("is_valid", "valid"),
    [
        (is_boolean, {"True", "np.True_"}),
        (is_count, {"True", "np.True_", "0", "1", "np.int8(3)", "2**32"}),
        (is_job_count, {"1", "-1", "np.int8(3)", "2**32"}),
        (is_nonnegative_number, {"0", "1", "np.int8(3)", "0.5", "2**32"}),
        (is_random_state, {"0", "1", "np.int8(3)", "RandomState"}),
    ],
)
def test_each_check_accepts_its_own_values_only(is_valid, valid):
    assert {name for name, value in VALUES.items() if is_valid(value)} == valid
