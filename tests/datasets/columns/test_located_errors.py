"""Positions in data files."""

import pytest

from polytomy.datasets.columns import error_at
from polytomy.errors import Argument


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({}, "a.csv: bad"),
        ({"line": 3}, "a.csv, line 3: bad"),
        ({"row": 3, "column": 0}, "a.csv, row 3, column 1: bad"),
        ({"line": 3, "column": 1, "names": ["x", "y"]}, 'a.csv, line 3, column 2 ("y"): bad'),
        ({"line": 3, "column": 2, "names": ["x", "y"]}, "a.csv, line 3, column 3: bad"),
    ],
)
def test_the_place_comes_before_the_message(place, text):
    assert str(error_at("a.csv", "bad", **place)) == text


def test_arguments_stay_parts_of_the_message():
    error = error_at("a.csv", "use ", Argument("header", True), line=1)
    assert error.parameter == "header"
    assert error.worded(lambda argument: "--header") == "a.csv, line 1: use --header"
