"""Scores of prediction sets, and the cost of predictions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polytomy.errors import ArgumentError
from polytomy.metrics import class_coverage, mean_cost, mean_set_size, set_coverage

Y = np.array(["a", "b", "b", "c"])
SETS = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]], dtype=bool)


@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_scores_of_several_levels_are_those_of_each_by_definition(seed, n_levels):
    random = np.random.default_rng(seed)
    y = np.concatenate([[0, 1, 2], random.integers(0, 3, 12)])
    sets = random.random((15, 3, n_levels)) < 0.5
    weight = random.integers(1, 4, 15)
    copies = np.repeat(np.arange(15), weight)
    together = (
        set_coverage(y, sets, sample_weight=weight),
        mean_set_size(sets, sample_weight=weight),
        class_coverage(y, sets, sample_weight=weight),
    )
    for level in range(n_levels):
        own = sets[copies, :, level]
        inside = [own[i, k] for i, k in enumerate(y[copies])]
        assert together[0][level] == pytest.approx(np.mean(inside))
        assert together[1][level] == pytest.approx(own.sum() / len(own))
        for k in range(3):
            expected = np.mean(
                [hit for hit, true in zip(inside, y[copies], strict=True) if true == k]
            )
            assert together[2][k, level] == pytest.approx(expected)
        assert set_coverage(y[copies], own) == pytest.approx(together[0][level])


def test_small_sets_are_counted():
    assert set_coverage(Y, SETS) == 0.75
    assert mean_set_size(SETS) == 1.5
    np.testing.assert_array_equal(class_coverage(Y, SETS), [1.0, 0.5, 1.0])
    found = class_coverage(Y[:3], SETS[:3], classes=["a", "b", "c"])
    np.testing.assert_array_equal(found, [1.0, 0.5, np.nan])


def test_the_mean_cost_is_that_of_each_prediction():
    matrix = [[0, 1, 2], [3, 0, 4], [5, 6, 0]]
    assert mean_cost(Y, ["a", "a", "c", "b"], matrix) == (0 + 3 + 4 + 6) / 4
    found = mean_cost(Y, ["a", "?", "b", "?"], matrix, reject_cost=2, sample_weight=[1, 2, 1, 1])
    assert found == (0 + 4 + 0 + 2) / 5


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: set_coverage(Y, SETS[:2]), "sets has 2 rows, but y has 4 labels"),
        (lambda: set_coverage(Y, SETS[:, :2]), "sets has 2 columns, but y has 3 different"),
        (lambda: set_coverage(Y, SETS * 0.5), "sets must be True or False for each class"),
        (lambda: set_coverage(Y, Y), r"sets has shape \(4,\)"),
        (lambda: mean_set_size(np.empty((0, 3))), r"sets has shape \(0, 3\)"),
        (lambda: set_coverage(Y, SETS, ["a", "b", "d"]), "Label 'c' of y is not one of the"),
        (lambda: set_coverage([1, "a"], SETS[:2, :2]), "The labels of y cannot be sorted"),
        (lambda: mean_cost(Y, Y, np.eye(2)), "matrix has 2 columns, but y has 3"),
        (lambda: mean_cost(Y, Y, np.ones((3, 2))), r"matrix has shape \(3, 2\); 3 classes need"),
        (lambda: mean_cost(Y, ["?"] * 4, np.eye(3)), "Pass its cost as reject_cost"),
    ],
)
def test_wrong_arguments_are_refused(call, words):
    with pytest.raises(ArgumentError, match=words):
        call()
