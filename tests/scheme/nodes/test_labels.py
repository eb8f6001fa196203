import numpy as np
import pytest
from hypothesis import given

from polytomy.errors import SchemeError
from polytomy.language.parser import Word
from polytomy.scheme import parse
from polytomy.scheme.nodes import label_to_word, normalize_label, word_to_label
from strategies import labels


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("7", 7), ("-1", -1), ("1.5", 1.5), ("-0.5", -0.5), ("True", True), ("False", False),
        ("07", "07"), ("+1", "+1"), ("1e5", "1e5"), ("1e+20", 1e20), ("1_0", "1_0"), ("nan", "nan"),
        ("inf", "inf"), ("-0", "-0"), ("1.", "1."), (str(2**64), str(2**64)), ("true", "true"),
        (str(2**64 - 1), 2**64 - 1), ("1e+999", "1e+999"), ("corn", "corn"), ("٣", "٣"),
        ("9" * 5000, "9" * 5000),
    ],
)  # fmt: skip
def test_an_unquoted_word_is_the_value_it_usually_spells(text, label):
    value = word_to_label(Word(text, False, 0, 0))
    assert value == label
    assert type(value) is type(label)


@given(labels)
def test_every_label_reads_back_as_itself(label):
    back = word_to_label(label_to_word(label))
    assert back == label
    assert type(back) is type(label)


def test_quotes_make_a_string():
    assert parse('m {"7" 7.0}').classes == ("7", 7.0)


def test_numbers_that_are_equal_are_one_class():
    with pytest.raises(Exception, match=r"class 1.0 is already used at 1:4"):
        parse("m {1 1.0}")


@pytest.mark.parametrize(
    ("value", "label"),
    [(np.int8(3), 3), (np.float32(0.5), 0.5), (np.bool_(True), True), (np.str_("a"), "a")],
)
def test_numpy_scalars_become_plain_values(value, label):
    assert normalize_label(value) == label
    assert type(normalize_label(value)) is type(label)


@pytest.mark.parametrize(
    "value",
    [None, (1, 2), b"a", float("nan"), float("inf"), 2**64, 1j, "\ud800", np.datetime64("2020")],
)
def test_invalid_labels_are_refused(value):
    with pytest.raises(SchemeError, match=r"cannot be a class label|is not valid text"):
        normalize_label(value)
