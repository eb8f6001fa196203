"""Targets that are numbers, and levels."""

import numpy as np
import pytest

from polytomy.errors import ArgumentError
from polytomy.inputs.numbers import (
    check_confidence_levels,
    check_levels,
    check_range,
    check_targets,
    refuse_labels,
)


def test_targets_become_floats():
    for values in ([1, 2], np.array([1, 2], np.int8), np.array([True, False]), [1.5, "2"]):
        assert check_targets(values, "y").dtype == np.float64


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_named(value):
    with pytest.raises(ArgumentError, match=rf"z\[1\] is {value}, not a finite number"):
        check_targets([1.0, value], "z")


def test_text_is_refused_wherever_it_stands():
    for y in (["a", "b"], np.array([1.0, "b"], dtype=object), np.array(["1", "2"])):
        with pytest.raises(ArgumentError, match="Use PolytomyClassifier for labels"):
            refuse_labels(y)
    refuse_labels([1, 2])
    refuse_labels(np.array([[1.0], [2.0]]))  # a column is scikit-learn's to warn about


def test_a_range_that_overflows_is_refused():
    check_range(np.array([-8e307, 8e307]))
    with pytest.raises(ArgumentError, match=r"y ranges from -1e[+]308 to 1e[+]308"):
        check_range(np.array([-1e308, 1e308]))


def test_levels_are_probabilities():
    np.testing.assert_array_equal(check_levels("levels", [0, 0.5, 1]), [0, 0.5, 1])
    for bad in (-0.1, 1.1, np.nan):
        with pytest.raises(ArgumentError, match="Use numbers from 0 to 1"):
            check_levels("levels", [0.5, bad])
    with pytest.raises(ArgumentError, match="levels cannot be read as an array of numbers"):
        check_levels("levels", "high")


def test_confidence_levels_are_strictly_between_zero_and_one():
    assert check_confidence_levels("confidence_level", 0.9) == 0.9
    for bad in (0, 1, -1, 95, np.nan):
        with pytest.raises(ArgumentError, match=r"is not between 0 and 1\. Use 0.9, for example"):
            check_confidence_levels("confidence_level", bad)
    with pytest.raises(ArgumentError, match="must be a number, or a list of numbers"):
        check_confidence_levels("confidence_level", [])
