import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.class_weight import compute_sample_weight

from polytomy.binary.problems import BinaryProblem, balance_sides, binary_problem
from polytomy.inputs.class_indices import group_rows

codes_of_classes = st.lists(st.integers(-1, 4), max_size=40).map(
    lambda codes: np.array(codes, dtype=np.intp)
)


@given(codes_of_classes)
@settings(deadline=None)
def test_rows_of_a_class_are_where_its_code_stands(codes):
    rows_of_class = group_rows(codes, 5)
    assert len(rows_of_class) == 5
    for k, rows in enumerate(rows_of_class):
        np.testing.assert_array_equal(rows, np.flatnonzero(codes == k))


@given(codes_of_classes, st.lists(st.sampled_from([-1, 0, 1]), min_size=5, max_size=5))
@settings(deadline=None)
def test_a_problem_is_a_masked_view_of_the_data(codes, sides):
    sides = np.array(sides)
    negative, positive = np.flatnonzero(sides == -1), np.flatnonzero(sides == 1)
    problem = binary_problem(group_rows(codes, 5), negative, positive, name="p")
    side_of_sample = np.append(sides, 0)[codes]  # code -1 looks up the appended zero
    takes_part = side_of_sample != 0
    np.testing.assert_array_equal(problem.rows, np.flatnonzero(takes_part))
    np.testing.assert_array_equal(problem.targets, side_of_sample[takes_part])
    assert problem.n_samples == takes_part.sum()
    assert problem.n_positive == np.sum(side_of_sample == 1)
    assert problem.n_negative == np.sum(side_of_sample == -1)
    assert problem.smaller_side == min(problem.n_positive, problem.n_negative)


def test_keeping_some_samples():
    problem = BinaryProblem("p", np.array([2, 5, 7]), np.array([True, False, True]))
    kept = problem.keep(np.array([False, True, True]))
    assert kept.name == "p"
    assert kept.rows.tolist() == [5, 7]
    assert kept.targets.tolist() == [-1, 1]


def test_a_problem_can_be_sent_to_a_worker():
    problem = BinaryProblem("p", np.array([2, 5]), np.array([True, False]))
    again = pickle.loads(pickle.dumps(problem))
    assert again.name == "p"
    assert again.targets.tolist() == [1, -1]


@pytest.mark.parametrize("n_positive", [1, 3, 8])
def test_balanced_sides_weigh_as_scikit_learn_balances_classes(n_positive):
    is_positive = np.arange(9) < n_positive
    rows = np.arange(9) + 4
    weight = balance_sides(BinaryProblem("p", rows, is_positive), None, n_rows=15)
    np.testing.assert_allclose(weight[rows], compute_sample_weight("balanced", is_positive))
    np.testing.assert_array_equal(np.delete(weight, rows), np.ones(6))


def test_balanced_sides_keep_the_weights_within_a_side_and_the_total():
    before = np.array([1.0, 2.0, 3.0, 6.0, 100.0])
    problem = BinaryProblem("p", np.arange(4), np.array([True, True, False, False]))
    after = balance_sides(problem, before, n_rows=5)
    np.testing.assert_allclose(after, [2.0, 4.0, 2.0, 4.0, 100.0])
    np.testing.assert_array_equal(before, [1, 2, 3, 6, 100])


def test_an_empty_side_cannot_be_balanced():
    problem = BinaryProblem("p", np.arange(2), np.array([True, True]))
    np.testing.assert_array_equal(balance_sides(problem, None, n_rows=2), [1, 1])
