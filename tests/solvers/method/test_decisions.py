"""Which decision values are allowed, and what the errors say about others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from polytomy.errors import ArgumentError
from polytomy.solvers.method import check_decisions

legal = st.one_of(st.floats(-1, 1), st.just(np.nan))


@given(hnp.arrays(np.float64, st.tuples(st.integers(0, 5), st.integers(0, 5)), elements=legal))
def test_legal_values_are_returned_as_they_are(values):
    assert check_decisions(values, values.shape[1]) is values


@given(hnp.arrays(np.float32, (3, 4), elements=st.floats(-1, 1, width=32)))
def test_single_precision_becomes_double(values):
    checked = check_decisions(values, 4)
    assert checked.dtype == np.float64
    np.testing.assert_array_equal(checked, values)


@pytest.mark.parametrize(
    "given_as",
    [
        [[1, 0], [-1, 1]],
        ((1.0, 0.0), (-1.0, 1.0)),
        np.array([[1, 0], [-1, 1]], dtype=np.int8),
        np.asfortranarray([[1.0, 0.0], [-1.0, 1.0]]),
        np.array([[1, 0], [-1, 1]], dtype=object),
    ],
)
def test_any_array_of_numbers_is_accepted(given_as):
    checked = check_decisions(given_as, 2)
    assert checked.dtype == np.float64
    assert checked.flags.c_contiguous
    np.testing.assert_array_equal(checked, [[1, 0], [-1, 1]])


def test_none_among_numbers_means_no_answer():
    np.testing.assert_array_equal(check_decisions([[None, 0.5]], 2), [[np.nan, 0.5]])


@pytest.mark.parametrize(
    ("overshoot", "dtype"), [(1e-9, np.float64), (9e-7, np.float32), (7e-3, np.float16)]
)
def test_values_beyond_the_ends_by_rounding_are_clipped(overshoot, dtype):
    beyond = np.array([[1 + overshoot, -1 - overshoot, np.nan]], dtype=dtype)
    assert (np.abs(beyond[0, :2]) > 1).all()
    np.testing.assert_array_equal(check_decisions(beyond, 3), [[1, -1, np.nan]])


@pytest.mark.parametrize(
    ("decisions", "words"),
    [
        (
            [[0.0, 0.5], [0.0, 1.5]],
            "decisions must lie in [-1, 1]; sample 1 has 1.5 for partition 1. Give "
            "P(+1) - P(-1) of calibrated binaries; NaN means no answer.",
        ),
        (
            [[np.nan, -np.inf], [2.0, 0.0]],
            "decisions must lie in [-1, 1]; sample 0 has -inf for partition 1 (2 values are "
            "outside). Give P(+1) - P(-1) of calibrated binaries; NaN means no answer.",
        ),
        (
            [[1 + 1e-8, 0.0]],
            "decisions must lie in [-1, 1]; sample 0 has 1.00000001 for partition 0. Give "
            "P(+1) - P(-1) of calibrated binaries; NaN means no answer.",
        ),
        (
            [0.5, 0.5],
            "decisions must have shape (n_samples, 2); got (2,). Give one row per sample and one "
            "column per partition, in the order of the code.",
        ),
        (
            [[0.5, 0.5, 0.5]],
            "decisions must have shape (n_samples, 2); got (1, 3). Give one row per sample and one "
            "column per partition, in the order of the code.",
        ),
        (
            [[0.5, 0.5j]],
            "decisions must be real numbers in [-1, 1], with rows of the same length: got type "
            "complex128. Give P(+1) - P(-1) of each binary; NaN means no answer.",
        ),
        (
            [["a", "b"]],
            "decisions must be real numbers in [-1, 1], with rows of the same length: got type "
            "<U1. Give P(+1) - P(-1) of each binary; NaN means no answer.",
        ),
        (
            np.array([["a", 0.5]], dtype=object),
            "decisions must be real numbers in [-1, 1], with rows of the same length: could not "
            "convert string to float: 'a'. Give P(+1) - P(-1) of each binary; NaN means no answer.",
        ),
    ],
)
def test_errors_name_the_value_the_reason_and_the_way_out(decisions, words):
    with pytest.raises(ArgumentError) as error:
        check_decisions(decisions, 2)
    assert str(error.value) == words


def test_rows_of_different_lengths_are_not_an_array():
    with pytest.raises(ArgumentError, match=r"with rows of the same length: ") as error:
        check_decisions([[0.1, 0.2], [0.3]], 2)
    assert str(error.value).endswith(". Give P(+1) - P(-1) of each binary; NaN means no answer.")
    assert ".. " not in str(error.value)


def test_the_sides_of_a_partition_have_probabilities_that_sum_to_one():
    counts = np.array([1, 3])
    words = (
        r"decisions of partition 1 must be 2 q - 1, with probabilities q of its 3 sides that sum"
    )
    with pytest.raises(ArgumentError, match=words + r".*; sample 1 has \[0.5, 0.0, -0.5\]"):
        check_decisions([[0, 0, -0.5, -0.5], [0, 0.5, 0, -0.5]], 2, counts)
    with pytest.raises(ArgumentError, match="NaN in all of these columns means no answer"):
        check_decisions([[0, 0, -0.5, np.nan]], 2, counts)
    off_by_rounding = [[np.nan, 1e-7, -0.5, -0.5], [0.3, np.nan, np.nan, np.nan]]
    checked = check_decisions(off_by_rounding, 2, counts)
    assert (1 + checked[0, 1:]).sum() == pytest.approx(2, abs=1e-15)
    assert np.isnan(checked[1]).tolist() == [False, True, True, True]


def test_a_partition_of_many_sides_has_a_column_for_each():
    words = r"shape \(n_samples, 4\); got \(1, 2\)\. .* two sides has a column for each side\.$"
    with pytest.raises(ArgumentError, match=words):
        check_decisions([[0, 0]], 2, np.array([1, 3]))
