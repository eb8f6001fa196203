import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("distributed")

from polytomy.calibration.folds import Folds, deal_rows
from polytomy.dask.grouping import (
    Layout,
    ScoredChoice,
    choose_rows,
    cut_piece,
    deal_folds,
    group_part,
    join_blocks,
    join_class,
    pick_rows,
    summarise_part,
)
from polytomy.errors import DataError

labels = st.lists(st.lists(st.integers(0, 3), max_size=12), min_size=1, max_size=5).filter(any)


def group(parts, weights=None):
    """Return parts of samples that are their own row numbers, grouped by class."""
    start, grouped = 0, []
    for number, y in enumerate(parts):
        X = np.arange(start, start + len(y), dtype=float)[:, np.newaxis]
        weight = None if weights is None else weights[start : start + len(y)]
        grouped.append(group_part(X, np.array(y, dtype=int), weight, number))
        start += len(y)
    return grouped, Layout.of([summarise_part(part) for part in grouped])


def join(grouped, layout, k, folds=None, choice=None):
    parts = layout.parts_of(k)
    pieces = [
        cut_piece(grouped[part], int(layout.places[part, k]), k, int(layout.first_rows[part]))
        for part in parts
    ]
    return join_class(pieces, folds, choice, None)


@given(labels)
def test_joined_classes_have_their_rows_in_order_however_the_data_is_divided(parts):
    grouped, layout = group(parts)
    y = np.concatenate([np.array(part, dtype=int) for part in parts])
    np.testing.assert_array_equal(layout.classes, np.unique(y))
    assert layout.n_rows == len(y)
    for k, label in enumerate(layout.classes):
        block = join(grouped, layout, k)
        np.testing.assert_array_equal(block.rows, np.flatnonzero(y == label))
        np.testing.assert_array_equal(block.X[:, 0], block.rows)


@given(labels, st.integers(2, 5), st.integers(0, 99))
def test_folds_are_those_of_data_in_one_place(parts, n_folds, seed):
    _, layout = group(parts)
    y = np.concatenate([np.array(part, dtype=int) for part in parts])
    class_indices = np.searchsorted(layout.classes, y)
    expected = deal_rows(class_indices, n_folds, seed)
    for k, dealt in enumerate(deal_folds(layout.class_sizes, n_folds, seed)):
        np.testing.assert_array_equal(dealt, expected[class_indices == k])


@given(labels, st.integers(1, 30), st.integers(0, 9))
def test_a_sample_does_not_depend_on_how_the_data_is_divided(parts, n_rows, seed):
    y = [label for part in parts for label in part]
    samples = []
    for division in (parts, [y]):
        grouped, layout = group(division)
        chosen = choose_rows(layout, n_rows, seed)
        picked = [
            pick_rows(grouped[part], layout.places[part], own, int(layout.first_rows[part]))
            for part, own in chosen.items()
        ]
        samples.append((join_blocks(picked), layout.classes))
    (one, classes), (other, _) = samples
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.rows, one.X[:, 0])
    np.testing.assert_array_equal(classes[one.class_indices], np.array(y)[one.rows])
    assert (np.diff(one.rows) > 0).all()
    np.testing.assert_array_equal(classes[np.unique(one.class_indices)], np.unique(y))
    if len(y) <= n_rows:
        assert len(one.rows) == len(y)


@given(labels, st.integers(0, 99))
def test_rows_to_score_are_held_out_by_a_fold_that_knows_their_class(parts, seed):
    y = np.concatenate([np.array(part, dtype=int) for part in parts])
    weight = np.random.default_rng(seed).integers(2, size=len(y)).astype(float)
    weight[0] = 1.0
    grouped, layout = group(parts, weight)
    class_indices = np.searchsorted(layout.classes, y)
    folds = Folds.from_numbers(deal_rows(class_indices, 3, seed))
    found = []
    for k, dealt in enumerate(deal_folds(layout.class_sizes, 3, seed)):
        block = join(grouped, layout, k, dealt, ScoredChoice(3, None, [seed, k]))
        found += block.rows[block.is_scored].tolist()
    expected = [
        row
        for row in folds.scored.tolist()
        if weight[row] > 0
        and any(
            weight[other] > 0 and y[other] == y[row] and folds.fold_of[other] != folds.fold_of[row]
            for other in range(len(y))
        )
    ]
    assert sorted(found) == expected


def test_no_more_rows_are_scored_than_allowed():
    grouped, layout = group([[0] * 50])
    folds = np.arange(50, dtype=np.int16) % 5
    block = join(grouped, layout, 0, folds, ScoredChoice(2, 7, [0, 0]))
    assert np.count_nonzero(block.is_scored) == 7
    assert set(block.fold_of[block.is_scored].tolist()) <= {0, 1}
    assert set(block.fold_of.tolist()) == {-1, 0, 1}


def test_errors_name_the_part():
    with pytest.raises(ValueError, match="Found input variables") as caught:
        group_part(np.ones((3, 1)), np.ones(2), None, 4)
    assert caught.value.__notes__ == ["in part 4 of the data"]


def test_labels_that_cannot_be_compared_are_refused():
    parts = [
        group_part(np.ones((2, 1)), np.array([0, 1]), None, 0),
        group_part(np.ones((2, 1)), np.array(["a", "b"]), None, 1),
    ]
    with pytest.raises(DataError, match="y has numbers in some parts and text in others"):
        Layout.of([summarise_part(part) for part in parts])


def test_parts_with_different_features_are_refused():
    parts = [group_part(np.ones((2, n)), np.array([0, 1]), None, n) for n in (1, 2)]
    with pytest.raises(DataError, match="different numbers of features: 1 and 2"):
        Layout.of([summarise_part(part) for part in parts])


def test_data_without_rows_or_weight_is_refused():
    empty = group_part(np.empty((0, 2)), np.empty(0), None, 0)
    with pytest.raises(DataError, match="the data has no rows"):
        Layout.of([summarise_part(empty)])
    part = group_part(np.ones((2, 1)), np.array([0, 1]), np.zeros(2), 0)
    with pytest.raises(DataError, match="sample_weight is zero for all samples"):
        Layout.of([summarise_part(part)])
