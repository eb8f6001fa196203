"""Fields of text files that should be numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.datasets.columns import is_text, why_not_a_number


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["", " ", "\t"]))
def test_every_finite_number_is_a_number(value, margin):
    field = f"{margin}{value!r}{margin}"
    assert why_not_a_number(field) is None
    assert not is_text(field)


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("", "the value is missing"),
        ("  ", "the value is missing"),
        ("N/A", "the value is missing (N/A)"),
        ("-inf", "-inf is not a finite number"),
        ("1e999", "1e999 is too large for a 64-bit number"),
        ("0x1f", '"0x1f" is not a number'),
        ("1_000", '"1_000" is not a number'),
        ("y" * 50, f'"{"y" * 40}…" is not a number'),
    ],
)
def test_the_reason_says_what_is_wrong(field, reason):
    assert why_not_a_number(field) == reason


@given(st.text())
def test_text_is_never_a_number(field):
    if is_text(field):
        assert why_not_a_number(field) is not None
