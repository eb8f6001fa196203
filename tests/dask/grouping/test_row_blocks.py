import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polytomy.dask.grouping import RowBlock, join_blocks, take_scored, weight_rows


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_blocks_of_any_rows_are_joined_in_the_order_of_the_data(owners, random):
    n_rows = len(owners)
    X = np.arange(2 * n_rows, dtype=float).reshape(n_rows, 2)
    classes = np.array([random.randrange(3) for _ in owners])
    blocks = []
    for owner in range(4):
        # Some rows belong to a second block as well.
        mask = [each == owner or random.random() < 0.2 for each in owners]
        rows = np.flatnonzero(mask)
        blocks.append(RowBlock(X[rows], rows, classes[rows], rows / 2.0))
    joined = join_blocks(blocks)
    np.testing.assert_array_equal(joined.rows, np.arange(n_rows))
    np.testing.assert_array_equal(joined.X, X)
    np.testing.assert_array_equal(joined.class_indices, classes)
    np.testing.assert_array_equal(joined.weight, np.arange(n_rows) / 2.0)
    assert joined.fold_of is None


def test_only_scored_rows_are_joined_for_scoring():
    one = RowBlock(np.eye(2), np.array([0, 3]), np.zeros(2, int), is_scored=np.array([True, False]))
    two = RowBlock(np.ones((1, 2)), np.array([1]), np.ones(1, int), is_scored=np.array([True]))
    found = join_blocks([take_scored(one), take_scored(two)])
    assert found.rows.tolist() == [0, 1]
    assert found.without_samples().X is None


def test_rows_without_weight_are_left_out():
    block = RowBlock(
        np.arange(4.0)[:, np.newaxis],
        np.arange(4),
        np.array([0, 0, 1, 2]),
        np.array([1.0, 0, 2, 3]),
    )
    found = weight_rows(block, np.array([5.0, 0.5, 0.0]))
    assert found.rows.tolist() == [0, 2]
    assert found.weight.tolist() == [5.0, 1.0]
    assert found.X.ravel().tolist() == [0.0, 2.0]
