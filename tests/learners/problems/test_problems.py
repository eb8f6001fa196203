"""Binary problems: the rows and sides of a dichotomy, and balanced weights."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.class_weight import compute_sample_weight

from polytomy.inputs.rows import group_rows
from polytomy.learners.problems import BinaryProblem, balance_sides, binary_problem

indices_of_classes = st.lists(st.integers(-1, 4), max_size=40).map(
    lambda indices: np.array(indices, dtype=np.intp)
)


@given(indices_of_classes, st.lists(st.sampled_from([-1, 0, 1]), min_size=5, max_size=5))
def test_a_problem_has_the_rows_of_its_classes_in_the_order_of_the_data(class_indices, sides):
    sides = np.array(sides)
    negative, positive = np.flatnonzero(sides == -1), np.flatnonzero(sides == 1)
    problem = binary_problem(group_rows(class_indices, 5), negative, positive, name="p")
    side_of_sample = np.append(sides, 0)[class_indices]  # index −1 looks up the appended zero
    is_in = side_of_sample != 0
    np.testing.assert_array_equal(problem.rows, np.flatnonzero(is_in))
    np.testing.assert_array_equal(problem.targets, side_of_sample[is_in])
    assert problem.n_samples == is_in.sum()
    assert problem.n_positive == np.sum(side_of_sample == 1)
    assert problem.n_negative == np.sum(side_of_sample == -1)
    assert problem.smaller_side == min(problem.n_positive, problem.n_negative)


def test_keeping_samples_keeps_their_sides():
    problem = BinaryProblem("p", np.array([2, 5, 7]), np.array([True, False, True]))
    kept = problem.keep(np.array([False, True, True]))
    assert kept.name == "p"
    assert kept.rows.tolist() == [5, 7]
    assert kept.targets.tolist() == [-1, 1]


def test_a_pickled_problem_is_the_same():
    problem = BinaryProblem("p", np.array([2, 5]), np.array([True, False]))
    again = pickle.loads(pickle.dumps(problem))
    assert again.name == "p"
    assert again.targets.tolist() == [1, -1]


@pytest.mark.parametrize("n_positive", [1, 3, 8])
def test_balanced_sides_have_the_weights_of_scikit_learn(n_positive):
    is_positive = np.arange(9) < n_positive
    rows = np.arange(9) + 4
    weight = balance_sides(BinaryProblem("p", rows, is_positive), None, n_rows=15)
    np.testing.assert_allclose(weight[rows], compute_sample_weight("balanced", is_positive))
    np.testing.assert_array_equal(np.delete(weight, rows), np.ones(6))


def test_balancing_keeps_the_total_and_the_ratios_within_a_side():
    before = np.array([1.0, 2.0, 3.0, 6.0, 100.0])
    problem = BinaryProblem("p", np.arange(4), np.array([True, True, False, False]))
    after = balance_sides(problem, before, n_rows=5)
    np.testing.assert_allclose(after, [2.0, 4.0, 2.0, 4.0, 100.0])
    np.testing.assert_array_equal(before, [1, 2, 3, 6, 100])


def test_balancing_with_an_empty_side_changes_nothing():
    problem = BinaryProblem("p", np.arange(2), np.array([True, True]))
    np.testing.assert_array_equal(balance_sides(problem, None, n_rows=2), [1, 1])
