"""Weights of partitions: what is allowed, and how they are scaled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from polytomy.errors import ArgumentError
from polytomy.solvers.method import scale_weights


@given(hnp.arrays(np.float64, 5, elements=st.floats(0.01, 1e6)))
def test_ratios_are_kept_and_the_largest_becomes_one(weights: Any) -> None:
    checked = scale_weights(weights, (5,))
    assert checked.max() == 1
    np.testing.assert_allclose(checked * weights.max(), weights, rtol=1e-15)


def test_weights_may_be_zero_all_of_them_too() -> None:
    np.testing.assert_array_equal(scale_weights([0, 4, 2], (3,)), [0, 1, 0.5])
    np.testing.assert_array_equal(scale_weights([[0, 0]], (1, 2)), [[0, 0]])


def test_a_tiny_weight_is_raised_so_that_products_of_weights_do_not_vanish() -> None:
    checked = scale_weights([5e-324, 0.0, 1e300], (3,))
    assert checked[0] > 0
    assert checked[0] ** 3 > 0
    assert checked[1] == 0


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (
            [1, 2],
            "weights must have shape (3,); got (2,). Give one for each partition of the code, in "
            "the order of its rows.",
        ),
        (
            [1, -2, 1],
            "weights must be finite and not negative; partition 1 has -2. Use 0 to leave a "
            "partition out.",
        ),
        (
            [1, 1, np.nan],
            "weights must be finite and not negative; partition 2 has nan. Use 0 to leave a "
            "partition out.",
        ),
    ],
)
def test_invalid_weights_are_refused(weights: Any, words: str) -> None:
    with pytest.raises(ArgumentError) as error:
        scale_weights(weights, (3,))
    assert str(error.value) == words
    assert error.value.parameter == "weights"


def test_weights_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"^weights cannot be read as an array of numbers: "):
        scale_weights(["a", "b", "c"], (3,))
