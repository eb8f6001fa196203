import numpy as np
import pytest
from sklearn.model_selection import KFold, PredefinedSplit, StratifiedKFold

from polytomy.binary.problems import BinaryProblem
from polytomy.calibration.folds import CannotCalibrateError, check_folds, fold_masks
from polytomy.errors import ArgumentError

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
def test_what_gives_no_folds_is_refused(cv):
    with pytest.raises(ArgumentError, match=r"must be a number of folds, two or more"):
        check_folds(cv)


def test_a_list_of_masks_means_rows_too():
    first = np.arange(20) < 10
    by_mask = folds([(~first, first)])
    by_row = folds([(np.flatnonzero(~first), np.flatnonzero(first))])
    assert by_mask[0][0].rows.tolist() == by_row[0][0].rows.tolist()
    assert by_mask[0][1].tolist() == by_row[0][1].tolist()


def test_a_splitter_of_the_whole_data_says_what_to_do():
    whole = PredefinedSplit(np.arange(20) % 2)
    with pytest.raises(CannotCalibrateError, match="give a list of splits of the whole data"):
        folds(whole)
