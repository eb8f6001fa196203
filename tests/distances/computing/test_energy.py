import numpy as np
import pytest
from scipy.stats import energy_distance

from polytomy.distances import energy
from polytomy.errors import ArgumentError


def made(seed=0, n_features=3, sizes=(20, 30, 25)):
    random = np.random.default_rng(seed)
    X = np.concatenate([random.normal(2 * i, 1, (n, n_features)) for i, n in enumerate(sizes)])
    return X, np.repeat(np.arange(len(sizes)), sizes)


def test_a_sample_of_each_class_does_not_depend_on_the_names_of_the_classes():
    X, y = made(1, sizes=(200, 300, 100))
    names = np.array(["q", "p", "r"])
    found = energy(X, names[y], max_samples=50).reordered(names)
    np.testing.assert_allclose(found.matrix, energy(X, y, max_samples=50).matrix, rtol=1e-12)


def test_in_one_dimension_it_equals_that_of_scipy():
    X, y = made(5, n_features=1)
    found = energy(X, y)
    for i in range(3):
        for j in range(i):
            expected = energy_distance(X[y == i, 0], X[y == j, 0])
            assert found[i, j] == pytest.approx(expected, rel=1e-9)


def test_equal_samples_have_no_energy_between_them():
    X = np.random.default_rng(0).random((40, 2))
    assert energy(np.concatenate([X, X]), [0] * 40 + [1] * 40)[0, 1] == pytest.approx(0, abs=1e-7)


def test_a_subsample_gives_nearly_the_same_distance():
    X, y = made(6, sizes=(400, 300))
    whole, part = energy(X, y, max_samples=None), energy(X, y, max_samples=150)
    assert part[0, 1] != whole[0, 1]
    assert part[0, 1] == pytest.approx(whole[0, 1], rel=0.2)
    assert energy(X, y, max_samples=150)[0, 1] == part[0, 1]


def test_max_samples_must_be_a_whole_number():
    with pytest.raises(ArgumentError, match=r"max_samples=1\.5 is not a whole number"):
        energy([[0.0], [1.0]], [0, 1], max_samples=1.5)


def test_at_least_one_sample_is_needed():
    with pytest.raises(ArgumentError, match=r"max_samples=0 is too few\. Use 1 or more"):
        energy([[0.0], [1.0]], [0, 1], max_samples=0)
