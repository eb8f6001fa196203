import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from polytomy.errors import DataError
from polytomy.inputs.class_samples import group_samples


def test_rows_are_sorted_by_class_and_know_their_original_position():
    X = np.arange(12.0).reshape(6, 2)
    y = ["b", "a", "c", "a", "b", "b"]
    samples = group_samples(X, y)
    assert samples.classes == ("a", "b", "c")
    assert samples.counts.tolist() == [2, 3, 1]
    assert (samples.rows == X[samples.order]).all()
    assert [samples.classes[code] for code in samples.class_indices] == [
        y[i] for i in samples.order
    ]
    assert (samples.of_class(1) == X[[0, 4, 5]]).all()


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (np.array([3, 1, 3]), (1, 3)),
        (np.array(["x", "b", "x"]), ("b", "x")),
        (np.array(["x", 1, "x"], dtype=object), ("x", 1)),
        (["x", 1, "x"], ("x", 1)),
        ([True, False, True], (False, True)),
        (pd.Series(["x", "b", "x"]), ("b", "x")),
    ],
)
def test_labels_of_any_kind_are_kept(y, classes):
    assert group_samples(np.zeros((3, 1)), y).classes == classes


def test_frames_and_sparse_data_are_accepted():
    X = np.arange(6.0).reshape(3, 2)
    for kind in (pd.DataFrame, csr_array):
        samples = group_samples(kind(X), [1, 0, 1])
        rows = samples.rows.toarray() if samples.is_sparse else samples.rows
        assert (rows == X[[1, 0, 2]]).all()
        np.testing.assert_allclose(samples.means(), [[2, 3], [2, 3]])


def test_entries_that_a_sparse_matrix_has_twice_are_added():
    twice = csr_array((np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1]), np.array([0, 2, 3])))
    samples = group_samples(twice, [0, 1])
    assert samples.rows.nnz == 2
    assert samples.rows.toarray().tolist() == [[3, 0], [0, 3]]
    assert twice.nnz == 3  # what was given is left as it is


def test_data_of_zeros_only_is_accepted():
    assert group_samples(csr_array((2, 3)), [0, 1]).rows.shape == (2, 3)


def test_ranks_are_a_random_order_within_each_class():
    y = np.random.default_rng(0).integers(3, size=60)
    samples = group_samples(np.zeros((60, 1)), y)
    ranks = samples.draw_ranks(np.random.default_rng(1))
    for part in np.split(ranks, samples.starts[1:-1]):
        assert sorted(part) == list(range(len(part)))
    # They belong to the rows, not to the names of the classes.
    renamed = group_samples(np.zeros((60, 1)), np.array(["b", "c", "a"])[y])
    again = renamed.draw_ranks(np.random.default_rng(1))
    assert (ranks[np.argsort(samples.order)] == again[np.argsort(renamed.order)]).all()


def test_some_of_the_samples_keep_their_classes():
    X = np.arange(6.0)[:, np.newaxis]
    samples = group_samples(X, ["b", "a", "c", "a", "b", "b"])
    few = samples.take(np.array([0, 2, 4, 5]))
    assert few.rows.ravel().tolist() == [1, 0, 5, 2]
    assert few.counts.tolist() == [1, 2, 1]
    assert few.order.tolist() == [1, 0, 5, 2]


def test_scaled_features_have_unit_variance_and_constant_ones_stay():
    X = np.random.default_rng(0).normal(5, 3, (50, 3))
    X[:, 1] = 7
    scaled = group_samples(X, np.arange(50) % 2).scaled()
    np.testing.assert_allclose(scaled.rows.std(axis=0), [1, 0, 1])
    np.testing.assert_allclose(scaled.rows.mean(axis=0), 0, atol=1e-12)
    sparse = group_samples(csr_array(X), np.arange(50) % 2).scaled()
    np.testing.assert_allclose((sparse.rows.toarray() ** 2).mean(axis=0), 1)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([["a"], ["b"]], [0, 1], "values that are not numbers"),
        ([1.0, 2.0], [0, 1], r"X has shape \(2,\); it needs one row for each sample"),
        (np.zeros((0, 2)), [], r"X has shape \(0, 2\); it needs at least one sample"),
        (np.zeros((2, 0)), [0, 1], r"X has shape \(2, 0\)"),
        ([[0.0, 1.0], [2.0, np.nan]], [0, 1], "X has nan in row 1, column 1"),
        (csr_array([[0.0, np.inf], [2.0, 0.0]]), [0, 1], "X has inf in row 0, column 1"),
        ([[0.0], [1.0]], [0, 1, 1], "X has 2 rows, but y has 3 labels"),
        ([[0.0], [1.0]], [[0], [1]], r"y has shape \(2, 1\); it needs one label for each sample"),
        ([[0.0], [1.0]], [0.0, np.nan], "y has the label nan"),
        ([[0.0], [1.0]], ["a", None], "y has the label None"),
        ([[0.0], [1.0]], pd.array(["a", None], dtype="string"), "y has the label <NA>"),
        ([[0.0, 1.0], [2.0]], [0, 1], "values that are not numbers"),
        ([[1j], [2.0]], [0, 1], "values that are not numbers"),
        (csr_array([[1j], [2.0]]), [0, 1], "values that are not numbers"),
        ([[-1e200], [2.0]], [0, 1], r"values up to 1e\+200, whose squares overflow or underflow"),
        ([[1e-200], [0.0]], [0, 1], r"values up to 1e-200, .* Scale the features"),
    ],
)
def test_data_that_cannot_be_used_is_refused_with_the_reason(X, y, words):
    with pytest.raises(DataError, match=words):
        group_samples(X, y)
