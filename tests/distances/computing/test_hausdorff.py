import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import directed_hausdorff

from polytomy.distances import hausdorff, robust_hausdorff
from polytomy.errors import ArgumentError, DataError


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


def test_large_data_has_the_distances_of_scipy():
    random = np.random.default_rng(0)
    sizes = [5000, 4000, 10, 1]
    X = np.concatenate([random.normal(i, 1, (size, 12)) for i, size in enumerate(sizes)])
    y = np.repeat(["d", "b", "c", "a"], sizes)
    found = hausdorff(X, y)
    assert found.classes == ("a", "b", "c", "d")
    parts = [X[y == label] for label in found.classes]
    np.testing.assert_allclose(found.matrix, by_scipy(parts), rtol=1e-14)


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
