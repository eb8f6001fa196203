"""Folds on which candidates are compared."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, StratifiedKFold

from polytomy.errors import ArgumentError
from polytomy.selection.race import comparison_folds


@given(st.lists(st.integers(0, 3), min_size=4, max_size=30), st.integers(2, 6), st.integers(0, 9))
def test_folds_hold_out_each_sample_once_and_train_on_every_class(labels, n_folds, seed):
    y = np.array([0, 0, *labels])
    folds = comparison_folds(n_folds, None, y, random_state=seed)
    counts = dict(zip(*np.unique(y, return_counts=True), strict=True))
    held_out = np.concatenate([test for _, test in folds])
    alone = [i for i, label in enumerate(y) if counts[label] == 1]
    assert sorted(held_out) == sorted(set(range(len(y))) - set(alone))
    for training, test in folds:
        assert set(y[training]) == set(y)
        assert not set(training) & set(test)
        assert len(training) + len(test) == len(y)
        for label, count in counts.items():
            if count > 1:
                assert np.count_nonzero(y[test] == label) <= -(-count // len(folds))


def test_splitters_and_lists_give_their_own_folds():
    y = np.repeat(["a", "b"], 6)
    X = np.zeros((12, 1))
    splitter = StratifiedKFold(3)
    expected = list(splitter.split(X, y))
    for cv in splitter, expected:
        for one, other in zip(comparison_folds(cv, X, y), expected, strict=True):
            np.testing.assert_array_equal(one[0], other[0])
            np.testing.assert_array_equal(one[1], other[1])
    with pytest.raises(ArgumentError, match="fold 1 of cv trains without some of the classes"):
        comparison_folds([(range(6), range(6, 12))], X, y)
    with pytest.raises(ArgumentError, match="every class has only one sample"):
        comparison_folds(2, X[:2], y[5:7])
    with pytest.raises(ArgumentError, match="has no splits"):
        comparison_folds([], X, y)


@given(st.integers(2, 8), st.integers(0, 9))
def test_the_folds_of_a_number_have_equal_sizes(n_folds, seed):
    y = np.repeat(np.arange(5), 8)
    sizes = [len(held_out) for _, held_out in comparison_folds(n_folds, None, y, seed)]
    assert len(sizes) == n_folds
    assert max(sizes) - min(sizes) <= 1


def test_an_incomplete_fold_is_an_error():
    y = np.repeat(["a", "b", "c"], [4, 4, 1])
    X = np.zeros((9, 1))
    with pytest.raises(ArgumentError, match="fold 3 of cv trains without some of the classes"):
        comparison_folds(KFold(3), X, y)


def test_a_mask_is_a_list_of_rows():
    y = np.array(["a", "b"] * 3)
    mask = np.arange(6) < 4
    ((training, held_out),) = comparison_folds([(mask, ~mask)], np.zeros((6, 1)), y)
    assert training.tolist() == [0, 1, 2, 3]
    assert held_out.tolist() == [4, 5]
