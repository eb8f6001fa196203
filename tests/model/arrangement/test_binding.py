"""Matching the labels of a scheme with the classes of the data."""

import numpy as np
import pytest

from polytomy.errors import ControlWarning, SchemeError
from polytomy.model.arrangement import bind_classes
from polytomy.scheme import parse


@pytest.mark.parametrize(
    ("text", "classes", "positions"),
    [
        ("m {b a}", ["a", "b"], [1, 0]),
        ("m {2 n {1 3}}", np.array([1, 2, 3]), [1, 0, 2]),
        ("m {2 n {1 3}}", np.array(["1", "2", "3"]), [1, 0, 2]),
        ('m {"2" "1"}', np.array([1, 2]), [1, 0]),
        ("m {True False}", np.array([False, True]), [1, 0]),
        ("m {0 1}", np.array([False, True]), [0, 1]),
        ("m {1 0}", np.array([0.0, 1.0]), [1, 0]),
        ('m {1 "1"}', np.array([1, "1"], dtype=object), [0, 1]),
    ],
)
def test_labels_match_by_value_then_as_text(text, classes, positions):
    assert bind_classes(parse(text), classes).tolist() == positions


def test_a_class_the_scheme_does_not_name_is_an_error():
    with pytest.raises(SchemeError, match=r"does not name class 'c'; it names classes 'a', 'b'"):
        bind_classes(parse("m {a b}"), ["a", "b", "c"])


def test_a_class_without_samples_is_a_warning():
    with pytest.warns(ControlWarning, match="class 'c' of the scheme has no samples"):
        assert bind_classes(parse("m {a n {c b}}"), ["a", "b"]).tolist() == [0, 2]


def test_two_classes_cannot_match_the_same_label():
    with pytest.raises(SchemeError, match="match the same class of the scheme"):
        bind_classes(parse("m {1 n {2 3}}"), np.array([1, "1", 2, 3], dtype=object))
