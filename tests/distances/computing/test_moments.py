import numpy as np
import pytest
from scipy.sparse import csr_array

from polytomy.distances import (
    centroid,
)


def made(seed=0, n_features=3, sizes=(20, 30, 25)):
    random = np.random.default_rng(seed)
    X = np.concatenate([random.normal(2 * i, 1, (n, n_features)) for i, n in enumerate(sizes)])
    return X, np.repeat(np.arange(len(sizes)), sizes)


def test_the_centroid_distance_is_the_papers_formula():
    X, y = made(3)
    found = centroid(X, y)
    means = [X[y == i].mean(axis=0) for i in range(3)]
    spreads = [np.sqrt(X[y == i].var(axis=0, ddof=1).sum()) for i in range(3)]
    for i in range(3):
        for j in range(i):
            length = np.linalg.norm(means[i] - means[j])
            assert found[i, j] == pytest.approx(length / np.sqrt(spreads[i] * spreads[j]))


def test_a_single_sample_has_the_pooled_spread():
    # Within: two of four deviate by 1, two by 3; 20 / (3 − 1 + 1 − 1 …) by hand.
    X = [[-1.0], [1.0], [7.0], [13.0], [20.0]]
    y = ["a", "a", "b", "b", "c"]
    within = np.sqrt((1 + 1 + 9 + 9) / 2)
    spread_a = np.sqrt(2)
    assert centroid(X, y)["a", "c"] == pytest.approx(20 / np.sqrt(spread_a * within))


def test_without_any_spread_it_is_the_distance_between_the_means():
    assert centroid([[0.0, 0.0], [3.0, 4.0]], [0, 1])[0, 1] == pytest.approx(5)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_equal_samples_have_no_spread_despite_rounding(kind):
    # The mean of three times 0.1 is not 0.1; of one sample it is.
    others = [[0.0], [2.0]]
    three = centroid(kind([[0.1]] * 3 + others), [0, 0, 0, 1, 1])
    one = centroid(kind([[0.1], *others]), [0, 1, 1])
    assert three[0, 1] < 1
    # Spread within all classes: two samples at distance 2, of which the first class has none.
    assert one[0, 1] == pytest.approx(0.9 / np.sqrt(2))
    assert three[0, 1] == pytest.approx(0.9 / np.sqrt(np.sqrt(2) * np.sqrt(2 / 3)))


def test_the_centroid_distance_is_exact_far_from_the_origin():
    X, y = made(4)
    near, far = centroid(X, y).matrix, centroid(X + 1e8, y).matrix
    np.testing.assert_allclose(near, far, rtol=1e-6)
