import numpy as np
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    StratifiedKFold,
)

from polytomy.calibration.folds import (
    CannotCalibrateError,
    RoutedSplitter,
    check_folds,
    count_folds,
    fold_masks,
    row_numbers,
    splits_within,
)
from polytomy.errors import ArgumentError
from polytomy.learners.problems import BinaryProblem

X = np.zeros((20, 1))
PROBLEM = BinaryProblem("p", np.arange(0, 20, 2), np.arange(10) >= 6)


def folds(cv, problem=PROBLEM, seed=0):
    return [
        (problem.keep(is_kept), test)
        for is_kept, test in fold_masks(problem.rows, problem.is_positive, X, cv, seed)
    ]


@pytest.mark.parametrize("cv", [2, 3, 5, KFold(3), StratifiedKFold(2)])
def test_every_sample_is_held_out_once_and_not_trained_on(cv):
    held_out = []
    for training, test in folds(cv):
        assert not set(training.rows) & set(PROBLEM.rows[test])
        assert training.n_samples + len(test) == PROBLEM.n_samples
        held_out.extend(test)
    assert sorted(held_out) == list(range(10))


def test_there_are_no_more_folds_than_the_smaller_side_allows():
    assert len(folds(9)) == 4
    assert len(folds(StratifiedKFold(9))) == 4


def test_a_list_of_splits_means_rows_of_the_whole_data():
    # The first twelve rows have one side only: nothing can be trained on them.
    splits = [(np.arange(10, 20), np.arange(10)), (np.arange(12), np.arange(12, 20))]
    ((training, test),) = folds(splits)
    assert training.rows.tolist() == [10, 12, 14, 16, 18]
    assert training.is_positive.tolist() == [False, True, True, True, True]
    assert test.tolist() == [0, 1, 2, 3, 4]


def test_a_side_of_one_sample_has_no_folds():
    single = BinaryProblem("p", np.arange(5), np.arange(5) == 0)
    with pytest.raises(CannotCalibrateError, match=r"its \+1 side has a single sample"):
        folds(2, single)


@pytest.mark.parametrize("cv", [1, 0, True, "5", None, iter([])])
def test_values_of_cv_without_folds_are_refused(cv):
    with pytest.raises(ArgumentError, match=r"must be a number of folds, two or more"):
        check_folds(cv)


def test_a_list_of_masks_means_rows_too():
    first = np.arange(20) < 10
    by_mask = folds([(~first, first)])
    by_row = folds([(np.flatnonzero(~first), np.flatnonzero(first))])
    assert by_mask[0][0].rows.tolist() == by_row[0][0].rows.tolist()
    assert by_mask[0][1].tolist() == by_row[0][1].tolist()


def test_a_splitter_of_the_whole_data_is_refused_with_advice():
    whole = PredefinedSplit(np.arange(20) % 2)
    with pytest.raises(CannotCalibrateError, match="give a list of splits of all data"):
        folds(whole)


@pytest.mark.parametrize("n_folds", [2, 3, 4])
def test_a_number_of_folds_gives_those_of_stratified_k_fold(n_folds):
    targets = PROBLEM.is_positive.astype(int)
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=7)
    expected = [test.tolist() for _, test in splitter.split(np.zeros((10, 1)), targets)]
    assert [test.tolist() for _, test in folds(n_folds, seed=7)] == expected


def test_groups_are_held_out_together():
    groups = np.arange(20) // 4
    for training, test in folds(RoutedSplitter(GroupKFold(3), {"groups": groups})):
        assert not set(groups[training.rows]) & set(groups[PROBLEM.rows[test]])


@pytest.mark.parametrize(
    ("cv", "expected"),
    [
        (5, 5),
        (KFold(3), 3),
        (RoutedSplitter(GroupKFold(4), {"groups": np.arange(20)}), 4),
        ([(np.arange(10), np.arange(10, 20))], 1),
        (LeaveOneOut(), 99),
    ],
)
def test_folds_are_counted_if_cv_can_tell(cv, expected):
    assert count_folds(cv, unknown=99) == expected


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
