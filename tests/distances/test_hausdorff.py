import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist, directed_hausdorff

from polytomy.distances import hausdorff, robust_hausdorff
from polytomy.errors import ArgumentError, DataError
from polytomy.routines.distances import compiled as compiled_distances
from polytomy.routines.distances import reference as reference_distances

TWINS = [reference_distances.hausdorff_matrix, compiled_distances.hausdorff_matrix]


def by_scipy(parts):
    directed = np.array([[directed_hausdorff(a, b)[0] for b in parts] for a in parts])
    return np.maximum(directed, directed.T)


def clouds(seed, n_classes=4, n_features=3, offset=0.0, most=40):
    random = np.random.default_rng(seed)
    return [
        offset + random.normal(random.normal(size=n_features), 1 + random.random(),
                               (random.integers(1, most), n_features))
        for _ in range(n_classes)
    ]  # fmt: skip


def joined(parts):
    y = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return np.concatenate(parts), y


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 5, 16, 33])
@pytest.mark.parametrize("seed", range(3))
def test_the_distance_equals_that_of_scipy(twin, n_features, seed):
    parts = clouds(seed, n_features=n_features)
    X, y = joined(parts)
    starts = np.searchsorted(y, np.arange(len(parts) + 1))
    np.testing.assert_allclose(twin(X, starts), by_scipy(parts), rtol=1e-14)


@pytest.mark.parametrize("twin", TWINS)
def test_it_is_exact_far_from_the_origin(twin):
    # With |x|² + |y|² − 2xy all but three digits would be lost.
    parts = clouds(7, offset=1e6, n_features=5)
    X, y = joined(parts)
    starts = np.searchsorted(y, np.arange(len(parts) + 1))
    np.testing.assert_allclose(twin(X, starts), by_scipy(parts), rtol=1e-14)


@pytest.mark.parametrize("twin", TWINS)
@given(
    arrays(np.float64, st.tuples(st.integers(2, 30), st.integers(1, 4)), elements=st.floats(-5, 5)),
    st.data(),
)
def test_twins_are_equal_to_the_definition(twin, X, data):
    cut = data.draw(st.integers(1, len(X) - 1))
    far = cdist(X[:cut], X[cut:])
    expected = max(far.min(axis=1).max(), far.min(axis=0).max())
    found = twin(X, np.array([0, cut, len(X)]))
    np.testing.assert_allclose(found, [[0, expected], [expected, 0]], rtol=1e-13, atol=1e-150)


def test_the_compiled_routine_computes_large_data():
    random = np.random.default_rng(0)
    sizes = [5000, 4000, 10, 1]
    X = np.concatenate([random.normal(i, 1, (size, 12)) for i, size in enumerate(sizes)])
    y = np.repeat(["d", "b", "c", "a"], sizes)
    found = hausdorff(X, y)
    assert found.classes == ("a", "b", "c", "d")
    parts = [X[y == label] for label in found.classes]
    np.testing.assert_allclose(found.matrix, by_scipy(parts), rtol=1e-14)


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("n_features", [1, 3, 8])
def test_sets_of_every_size_around_a_block_agree_with_scipy(twin, n_features):
    random = np.random.default_rng(n_features)
    parts = [random.normal(size=(size, n_features)) for size in (*range(1, 18), 65)]
    X, y = joined(parts)
    starts = np.searchsorted(y, np.arange(len(parts) + 1))
    np.testing.assert_allclose(twin(X, starts), by_scipy(parts), rtol=1e-14)


@pytest.mark.parametrize("twin", TWINS)
def test_clusters_in_a_row_agree_with_scipy(twin):
    # The points that ended searches are of use for one cluster only, and then for another.
    random = np.random.default_rng(3)
    parts = [
        (np.arange(300) // 30 * gap)[:, np.newaxis] + random.random((300, 2)) for gap in (5, 7, 9)
    ]
    X, y = joined([random.permutation(part) for part in parts])
    np.testing.assert_allclose(
        twin(X, np.array([0, 300, 600, 900])), by_scipy([X[y == i] for i in range(3)]), rtol=1e-14
    )


@given(st.integers(0, 10**6))
def test_it_is_a_metric_of_sets(seed):
    X, y = joined(clouds(seed, most=8))
    D = hausdorff(X, y).matrix
    assert (np.diag(D) == 0).all()
    assert (D == D.T).all()
    assert (D[:, :, np.newaxis] <= D[:, np.newaxis] + D.T[np.newaxis] + 1e-12).all()


def test_equal_sets_are_at_distance_zero():
    X = np.random.default_rng(0).random((20, 3))
    assert hausdorff(np.concatenate([X, X[::-1]]), [0] * 20 + [1] * 20)[0, 1] == 0


@given(st.integers(0, 10**6))
def test_the_order_of_samples_and_the_names_of_classes_do_not_matter(seed):
    X, y = joined(clouds(seed, most=8))
    random = np.random.default_rng(seed)
    order, names = random.permutation(len(X)), random.permutation(["p", "q", "r", "s"])
    D, other = hausdorff(X, y), hausdorff(X[order], names[y][order])
    assert (other.reordered(names).matrix == D.matrix).all()


def test_motions_do_not_change_it_and_scales_multiply_it():
    X, y = joined(clouds(3))
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    D = hausdorff(X, y).matrix
    np.testing.assert_allclose(hausdorff(X @ turn + 5, y).matrix, D, rtol=1e-12)
    np.testing.assert_allclose(hausdorff(-3 * X, y).matrix, 3 * D, rtol=1e-12)


def test_the_default_is_the_euclidean_metric_of_scipy():
    X, y = joined(clouds(11))
    again = hausdorff(X, y, metric="minkowski")
    np.testing.assert_allclose(hausdorff(X, y).matrix, again.matrix, rtol=1e-13)


# -- with a quantile ----------------------------------------------------------------------------


@given(st.integers(0, 10**6))
def test_with_all_samples_the_robust_distance_is_the_hausdorff_distance(seed):
    X, y = joined(clouds(seed, most=8))
    np.testing.assert_allclose(
        robust_hausdorff(X, y, quantile=1).matrix, hausdorff(X, y).matrix, rtol=1e-13
    )


@given(st.integers(0, 10**6), st.floats(0.01, 1), st.floats(0.01, 1))
def test_a_larger_quantile_never_gives_a_smaller_distance(seed, one, other):
    X, y = joined(clouds(seed, most=8))
    low, high = (robust_hausdorff(X, y, quantile=q).matrix for q in sorted([one, other]))
    assert (low <= high * (1 + 1e-12)).all()


def test_an_outlier_determines_the_hausdorff_distance_but_not_the_robust_one():
    random = np.random.default_rng(0)
    X, y = random.random((200, 2)), np.repeat([0, 1], 100)
    without = robust_hausdorff(X, y)[0, 1]
    X[0] = 100
    assert hausdorff(X, y)[0, 1] > 100
    assert robust_hausdorff(X, y)[0, 1] < 2 * without


# -- what cannot be -----------------------------------------------------------------------------


@pytest.mark.parametrize("distance", [hausdorff, robust_hausdorff])
def test_one_class_has_no_distances(distance):
    with pytest.raises(DataError, match="y has only one class, 'a'; distances need at least two"):
        distance([[0.0], [1.0]], ["a", "a"])


@pytest.mark.parametrize("quantile", [0, -1, 1.5, float("nan"), "0.5", None])
def test_invalid_quantiles_are_refused(quantile):
    with pytest.raises(ArgumentError, match="is not above 0 and at most 1"):
        robust_hausdorff([[0.0], [1.0]], [0, 1], quantile=quantile)
