"""Folds that all binaries share: who is held out, who is trained on, and which rows are scored."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from polytomy.calibration.folds import (
    RoutedSplitter,
    deal_classes,
    deal_rows,
    make_folds,
)
from polytomy.errors import ArgumentError

labels = st.lists(st.integers(0, 5), min_size=1, max_size=60).map(np.array)
seeds = st.integers(0, 2**31 - 1)


def make(classes, cv, seed=0):
    return make_folds(np.zeros((len(classes), 1)), classes, cv, seed)


def is_trained_on_the_others(folds):
    """Whether each fold trains on all rows but its own."""
    return all(
        np.array_equal(mask, folds.fold_of != fold) for fold, mask in enumerate(folds.is_trained_on)
    )


@given(labels, st.integers(2, 12), seeds)
def test_rows_are_dealt_evenly_in_every_class_and_in_total(classes, n_folds, seed):
    fold_of = deal_rows(classes, n_folds, seed)
    assert fold_of.min() >= 0
    assert fold_of.max() < n_folds
    is_common = np.bincount(classes)[classes] >= n_folds
    for chosen in (is_common, *(is_common & (classes == c) for c in np.unique(classes))):
        sizes = np.bincount(fold_of[chosen], minlength=n_folds)
        assert sizes.max() - sizes.min() <= 1


@given(labels, st.integers(2, 12), seeds)
def test_rare_classes_of_equal_size_are_held_out_in_the_same_folds(classes, n_folds, seed):
    fold_of = deal_rows(classes, n_folds, seed)
    for size in range(1, n_folds):
        for rare in np.flatnonzero(np.bincount(classes) == size):
            assert sorted(fold_of[classes == rare]) == list(range(size))


@given(labels, st.integers(2, 70), seeds)
def test_a_number_of_folds_holds_out_each_row_once_and_trains_on_all_others(classes, cv, seed):
    folds = make(classes, cv, seed)
    assert folds.n_folds == min(cv, np.bincount(classes).max())
    assert sorted(set(folds.fold_of)) == list(range(folds.n_folds))
    assert is_trained_on_the_others(folds)
    np.testing.assert_array_equal(folds.scored, np.arange(len(classes)))


def test_the_seed_fixes_the_folds_and_another_seed_changes_them():
    classes = np.arange(100) % 4
    np.testing.assert_array_equal(make(classes, 5, 7).fold_of, make(classes, 5, 7).fold_of)
    assert (make(classes, 5, 7).fold_of != make(classes, 5, 8).fold_of).any()
    splitter = StratifiedKFold(5, shuffle=True)
    np.testing.assert_array_equal(
        make(classes, splitter, 7).fold_of, make(classes, splitter, 7).fold_of
    )
    assert splitter.random_state is None


@pytest.mark.parametrize("dtype", [np.intp, np.int16])
@given(sizes=st.lists(st.integers(3, 30), max_size=5), seed=st.integers(0, 2**32 - 1))
def test_a_class_is_shuffled_as_a_new_generator_would(dtype, sizes, seed):
    generator, start = np.random.RandomState(seed), 0
    dealt = deal_classes(sizes, 3, seed, dtype)
    assert len(dealt) == len(sizes)
    for folds, size in zip(dealt, sizes, strict=True):
        expected = np.arange(start, start + size) % 3
        generator.shuffle(expected)
        assert folds.dtype == dtype
        np.testing.assert_array_equal(folds, expected)
        start += size


@pytest.mark.parametrize("cv", [KFold(4), StratifiedKFold(3), LeaveOneOut()])
def test_a_splitter_is_asked_once_for_all_rows(cv):
    classes = np.random.default_rng(0).integers(0, 3, 30)
    folds = make(classes, cv)
    expected = [test.tolist() for _, test in cv.split(np.zeros((30, 1)), classes)]
    found = [np.flatnonzero(folds.fold_of == fold).tolist() for fold in range(folds.n_folds)]
    assert found == expected
    assert is_trained_on_the_others(folds)


def test_a_group_is_never_both_trained_on_and_held_out():
    rng = np.random.default_rng(0)
    groups, classes = rng.integers(0, 9, 80), rng.integers(0, 3, 80)
    folds = make(classes, RoutedSplitter(GroupKFold(4), {"groups": groups}))
    assert folds.n_folds == 4
    assert (folds.fold_of >= 0).all()
    for fold, mask in enumerate(folds.is_trained_on):
        assert not set(groups[mask]) & set(groups[folds.fold_of == fold])


def test_there_are_no_more_folds_than_groups():
    groups = np.arange(30) % 3
    folds = make(np.arange(30) % 2, RoutedSplitter(GroupKFold(5), {"groups": groups}))
    assert folds.n_folds == 3


def test_of_several_splits_that_hold_out_a_row_the_first_wins():
    folds = make(np.zeros(5, int), [([0, 1], [2, 3]), ([0, 4], [3]), ([2, 3], [3, 4])])
    # The second split holds out no row of its own, so no model is trained for it.
    assert folds.fold_of.tolist() == [-1, -1, 0, 0, 1]
    assert folds.is_trained_on.tolist() == [
        [True, True, False, False, False],
        [False, False, True, True, False],
    ]
    assert folds.scored.tolist() == [2, 3, 4]


def test_a_list_may_have_masks():
    mask = np.array([True, False, True, False])
    by_mask, by_row = (
        make(np.zeros(4, int), [(mask, ~mask)]),
        make(np.zeros(4, int), [([0, 2], [1, 3])]),
    )
    np.testing.assert_array_equal(by_mask.fold_of, by_row.fold_of)
    np.testing.assert_array_equal(by_mask.is_trained_on, by_row.is_trained_on)


def test_rows_that_a_splitter_never_holds_out_are_not_scored():
    classes = np.arange(40) % 2
    folds = make(classes, StratifiedShuffleSplit(1, test_size=10, random_state=0))
    assert np.count_nonzero(folds.fold_of == -1) == 30
    np.testing.assert_array_equal(folds.scored, np.flatnonzero(folds.fold_of >= 0))
    assert not folds.is_trained_on[0, folds.scored].any()


def test_a_fixed_division_of_the_data_is_taken_as_it_is():
    given_folds = np.array([-1, 0, 1, 0, 1, 2])
    folds = make(np.array([0, 0, 0, 1, 1, 1]), PredefinedSplit(given_folds))
    np.testing.assert_array_equal(folds.fold_of, given_folds)


def test_a_class_with_fewer_rows_than_folds_is_no_reason_to_warn(recwarn):
    folds = make(np.array([0] * 10 + [1]), StratifiedKFold(5))
    assert folds.n_folds == 5
    assert not recwarn.list


def test_a_splitter_that_cannot_split_is_an_error_with_its_reason():
    class Refuses:
        def split(self, X, y):
            raise ValueError("too wet")

    with pytest.raises(ArgumentError) as caught:
        make(np.zeros(4, int), Refuses())
    assert caught.value.parameter == "cv"
    assert str(caught.value).endswith(
        " cannot split the training data (too wet). Use a number of folds, or a list of (training "
        "rows, held-out rows)."
    )


def test_rows_that_do_not_exist_are_refused():
    with pytest.raises(ArgumentError, match="does not have"):
        make(np.zeros(4, int), [([0, 1], [4])])


@given(labels, st.integers(2, 9), st.integers(1, 80))
def test_the_first_folds_are_as_few_as_hold_out_enough_rows(classes, cv, n_rows):
    folds = make(classes, cv)
    fewer = folds.first(n_rows)
    sizes = np.bincount(folds.fold_of, minlength=folds.n_folds)
    assert sizes[: fewer.n_folds].sum() >= min(n_rows, len(classes))
    assert fewer.n_folds == 1 or sizes[: fewer.n_folds - 1].sum() < n_rows
    is_left = folds.fold_of < fewer.n_folds
    np.testing.assert_array_equal(fewer.fold_of, np.where(is_left, folds.fold_of, -1))
    np.testing.assert_array_equal(fewer.is_trained_on, folds.is_trained_on[: fewer.n_folds])
    np.testing.assert_array_equal(fewer.scored, np.flatnonzero(is_left))


@given(labels, st.data())
def test_scored_rows_are_a_reproducible_choice_of_those_that_may_be_kept(classes, data):
    folds = make(classes, 3)
    size = len(classes)
    is_kept = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    most = data.draw(st.integers(1, size))
    fewer, again = (folds.keep_scored(is_kept, most, seed=3) for _ in range(2))
    np.testing.assert_array_equal(fewer.scored, again.scored)
    assert len(fewer.scored) == min(most, np.count_nonzero(is_kept))
    assert set(fewer.scored) <= set(np.flatnonzero(is_kept))
    assert (np.diff(fewer.scored) > 0).all()
    # The folds themselves stay: the rows are still trained on, and held out.
    np.testing.assert_array_equal(fewer.fold_of, folds.fold_of)
    np.testing.assert_array_equal(fewer.is_trained_on, folds.is_trained_on)
