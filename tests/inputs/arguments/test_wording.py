"""Parts of sentences."""

import pytest

from polytomy.inputs.arguments import count_things


@pytest.mark.parametrize(
    ("number", "words", "expected"),
    [
        (1, ("row",), "1 row"),
        (0, ("row",), "0 rows"),
        (2, ("row",), "2 rows"),
        (1, ("class", "classes"), "1 class"),
        (5, ("class", "classes"), "5 classes"),
    ],
)
def test_a_noun_agrees_with_its_number(number, words, expected):
    assert count_things(number, *words) == expected
