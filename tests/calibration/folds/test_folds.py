import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import (
    GroupKFold,
    KFold,
)

from polytomy import PolytomyClassifier
from polytomy.calibration.folds import (
    RoutedSplitter,
    check_folds,
    row_numbers,
    splits_within,
)
from polytomy.errors import ArgumentError


@pytest.mark.parametrize("cv", [1, 0, True, "5", iter([])])
def test_values_of_cv_without_folds_are_refused(cv):
    with pytest.raises(ArgumentError, match=r"must be a number of folds, two or more"):
        check_folds(cv)


def test_none_is_five_folds():
    X, y = load_iris(return_X_y=True)
    found, expected = (
        PolytomyClassifier(random_state=0, cv=cv).fit(X, y).predict_proba(X) for cv in (None, 5)
    )
    np.testing.assert_array_equal(found, expected)


def test_a_split_is_given_by_numbers_or_by_a_mask():
    assert row_numbers([3, 1], 5).tolist() == [3, 1]
    assert row_numbers([False, True, False, True, False], 5).tolist() == [1, 3]


@pytest.mark.parametrize("rows", [[5], [-1], [0.5], [True, False]])
def test_rows_that_the_data_does_not_have_are_refused(rows):
    with pytest.raises(ArgumentError) as error:
        row_numbers(rows, 5)
    assert str(error.value) == (
        "cv has a split with rows that X, of 5 rows, does not have. Give row numbers from 0, or a "
        "mask."
    )


def test_a_list_of_splits_is_restricted_to_some_rows_and_renumbered():
    rows = np.array([1, 3, 4])
    ((training, test),) = splits_within([([0, 1, 4], [2, 3])], rows, n_rows=5)
    assert training.tolist() == [0, 2]
    assert test.tolist() == [1]
    splitter = KFold(3)
    assert splits_within(splitter, rows, n_rows=5) is splitter
    assert splits_within(4, rows, n_rows=5) == 4


def test_the_arguments_of_a_splitter_are_cut_to_some_rows():
    splitter = GroupKFold(2)
    routed = RoutedSplitter(splitter, {"groups": np.array([5, 6, 7, 8]), "depth": 3})
    cut = splits_within(routed, np.array([0, 3]), n_rows=4)
    assert cut.splitter is splitter
    assert cut.parameters["groups"].tolist() == [5, 8]
    assert cut.parameters["depth"] == 3
