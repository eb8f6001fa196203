"""Centroid, energy and separability, and the choice among all measures."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import energy_distance
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from polytomy.distances import (
    DISTANCES,
    ClassDistances,
    centroid,
    distances_from,
    energy,
    separability,
)
from polytomy.distances import hausdorff as hausdorff_distance
from polytomy.errors import ArgumentError, DataError


def made(seed=0, n_features=3, sizes=(20, 30, 25)):
    random = np.random.default_rng(seed)
    X = np.concatenate([random.normal(2 * i, 1, (n, n_features)) for i, n in enumerate(sizes)])
    return X, np.repeat(np.arange(len(sizes)), sizes)


@pytest.mark.parametrize("name", DISTANCES)
def test_every_measure_is_symmetric_and_zero_on_its_diagonal(name):
    X, y = made()
    found = DISTANCES[name](X, y)
    assert found.classes == (0, 1, 2)
    assert (found.matrix == found.matrix.T).all()
    assert (np.diag(found.matrix) == 0).all()
    assert found[0, 2] > found[0, 1] > 0


@pytest.mark.parametrize("name", DISTANCES)
def test_the_names_of_classes_do_not_count(name):
    X, y = made(1)
    names = np.array(["q", "p", "r"])
    found = DISTANCES[name](X, names[y]).reordered(names)
    np.testing.assert_allclose(found.matrix, DISTANCES[name](X, y).matrix, rtol=1e-12)


@pytest.mark.parametrize("name", sorted(DISTANCES.keys() - {"separability"}))
def test_the_order_of_samples_does_not_count(name):
    X, y = made(1)
    order = np.random.default_rng(2).permutation(len(X))
    found = DISTANCES[name](X[order], y[order])
    np.testing.assert_allclose(found.matrix, DISTANCES[name](X, y).matrix, rtol=1e-12)


def test_a_sample_of_each_class_does_not_depend_on_the_names_of_the_classes():
    X, y = made(1, sizes=(200, 300, 100))
    names = np.array(["q", "p", "r"])
    found = energy(X, names[y], max_samples=50).reordered(names)
    np.testing.assert_allclose(found.matrix, energy(X, y, max_samples=50).matrix, rtol=1e-12)


@pytest.mark.parametrize("name", DISTANCES)
def test_classes_of_one_sample_have_distances(name):
    X, y = made(sizes=(1, 8, 1))
    assert (DISTANCES[name](X, y).matrix[~np.eye(3, dtype=bool)] > 0).all()


@pytest.mark.parametrize("name", DISTANCES)
def test_one_class_has_no_distances(name):
    with pytest.raises(DataError, match="y has one class, 5; distances are between two or more"):
        DISTANCES[name]([[0.0], [1.0]], [5, 5])


@pytest.mark.parametrize("name", ["centroid", "energy"])
def test_sparse_data_has_the_same_distances(name):
    X, y = made()
    X *= np.random.default_rng(0).random(X.shape) < 0.4
    expected = DISTANCES[name](X, y).matrix
    np.testing.assert_allclose(DISTANCES[name](csr_array(X), y).matrix, expected, rtol=1e-9)


# -- centroid -----------------------------------------------------------------------------------


def test_the_centroid_distance_is_the_papers_formula():
    X, y = made(3)
    found = centroid(X, y)
    means = [X[y == i].mean(axis=0) for i in range(3)]
    spreads = [np.sqrt(X[y == i].var(axis=0, ddof=1).sum()) for i in range(3)]
    for i in range(3):
        for j in range(i):
            length = np.linalg.norm(means[i] - means[j])
            assert found[i, j] == pytest.approx(length / np.sqrt(spreads[i] * spreads[j]))


def test_a_single_sample_is_given_the_spread_within_the_classes():
    # Within: two of four deviate by 1, two by 3; 20 / (3 − 1 + 1 − 1 …) by hand.
    X = [[-1.0], [1.0], [7.0], [13.0], [20.0]]
    y = ["a", "a", "b", "b", "c"]
    within = np.sqrt((1 + 1 + 9 + 9) / 2)
    spread_a = np.sqrt(2)
    assert centroid(X, y)["a", "c"] == pytest.approx(20 / np.sqrt(spread_a * within))


def test_without_any_spread_it_is_the_distance_of_the_means():
    assert centroid([[0.0, 0.0], [3.0, 4.0]], [0, 1])[0, 1] == pytest.approx(5)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_equal_samples_have_no_spread_whatever_rounding_makes_of_their_mean(kind):
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


# -- energy -------------------------------------------------------------------------------------


def test_in_one_dimension_it_is_that_of_scipy():
    X, y = made(5, n_features=1)
    found = energy(X, y)
    for i in range(3):
        for j in range(i):
            expected = energy_distance(X[y == i, 0], X[y == j, 0])
            assert found[i, j] == pytest.approx(expected, rel=1e-9)


def test_equal_samples_have_no_energy_between_them():
    X = np.random.default_rng(0).random((40, 2))
    assert energy(np.concatenate([X, X]), [0] * 40 + [1] * 40)[0, 1] == pytest.approx(0, abs=1e-7)


def test_some_of_the_samples_say_nearly_the_same():
    X, y = made(6, sizes=(400, 300))
    whole, part = energy(X, y, max_samples=None), energy(X, y, max_samples=150)
    assert part[0, 1] != whole[0, 1]
    assert part[0, 1] == pytest.approx(whole[0, 1], rel=0.2)
    assert energy(X, y, max_samples=150)[0, 1] == part[0, 1]


@pytest.mark.parametrize("measure", [energy, separability])
def test_seeds_are_those_of_the_other_functions(measure):
    X, y = made(2)
    one, other = (measure(X, y, random_state=np.random.default_rng(5)) for _ in range(2))
    assert (one.matrix == other.matrix).all()
    with pytest.raises(ArgumentError, match="random_state='a' is no source of randomness"):
        measure(X, y, random_state="a")


def test_numbers_of_samples_are_whole():
    with pytest.raises(ArgumentError, match=r"max_samples=1\.5 is not a whole number"):
        energy([[0.0], [1.0]], [0, 1], max_samples=1.5)


def test_samples_are_needed():
    with pytest.raises(ArgumentError, match=r"max_samples=0 is too few\. Give 1 or more"):
        energy([[0.0], [1.0]], [0, 1], max_samples=0)


# -- separability -------------------------------------------------------------------------------


def test_classes_without_difference_are_not_told_apart():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(600, 2)), np.repeat([0, 1, 2], 200)
    X[y == 2] += 8
    found = separability(X, y)
    assert found[0, 1] < 0.1
    assert found[0, 2] > 0.99


@pytest.mark.parametrize("estimator", [LinearDiscriminantAnalysis(), LogisticRegression()])
def test_any_classifier_can_be_asked(estimator):
    X, y = made(8, sizes=(150, 150, 150))
    by_default, by_other = separability(X, y), separability(X, y, estimator=estimator)
    np.testing.assert_allclose(by_default.matrix, by_other.matrix, atol=0.03)


def test_a_classifier_without_probabilities_counts_its_confusions():
    X, y = made(9, n_features=1, sizes=(200, 200))
    found = separability(X, y, estimator=LinearSVC(), cv=4)[0, 1]
    # Two normals at a distance of 2: each side is wrong with probability 0.159.
    assert found == pytest.approx(1 - 2 * 0.159, abs=0.1)


def test_a_constant_feature_does_no_harm():
    X, y = made(10)
    with_constant = np.column_stack([X, np.full(len(X), 3.0)])
    np.testing.assert_allclose(
        separability(with_constant, y).matrix, separability(X, y).matrix, atol=1e-9
    )


def test_sparse_data_is_projected_or_left_to_the_estimator():
    random = np.random.default_rng(11)
    y = np.repeat([0, 1, 2], 60)
    X = (random.random((180, 400)) < 0.05) * 1.0
    X[y == 2, :60] += random.random((60, 60)) < 0.3
    for options in ({}, {"estimator": LogisticRegression()}):
        found = separability(csr_array(X), y, **options)
        assert found[0, 1] < 0.35
        assert found[0, 2] > 0.75


def test_more_folds_than_samples_hold_out_one_by_one():
    X, y = made(12, sizes=(4, 5))
    assert separability(X, y, cv=50).matrix.tolist() == separability(X, y, cv=5).matrix.tolist()


def test_rounding_in_constant_features_decides_nothing():
    # The second feature is 0.1 but for one sample: where that one is held out, all differences from
    # the class means are rounding.
    X, y = made(5, sizes=(30, 20, 7))
    X = np.column_stack([X, np.full(len(X), 0.1)])
    X[3, -1] = 0.7
    without = separability(X[:, :-1], y).matrix
    assert np.abs(separability(X, y).matrix - without).max() < 0.1


def test_folds_are_a_whole_number():
    with pytest.raises(ArgumentError, match=r"cv=2\.5 is not a whole number"):
        separability([[0.0], [1.0]], [0, 1], cv=2.5)


def test_two_folds_are_needed():
    with pytest.raises(ArgumentError, match=r"cv=1 is too few\. Give 2 or more"):
        separability([[0.0], [1.0]], [0, 1], cv=1)


# -- the option ---------------------------------------------------------------------------------


def test_a_distance_is_given_by_name_value_matrix_or_function():
    X, y = made()
    expected = hausdorff_distance(X, y)
    for argument in ("hausdorff", expected, expected.matrix, hausdorff_distance,
                     lambda X, y: "hausdorff"):  # fmt: skip
        found = distances_from(argument, X, y)
        assert found.classes == (0, 1, 2)
        assert (found.matrix == expected.matrix).all()


def test_distances_of_more_classes_are_cut_to_those_of_the_data():
    known = ClassDistances("cab", [[0, 1, 2], [1, 0, 3], [2, 3, 0]])
    assert distances_from(known, None, ["b", "a", "b"]).matrix.tolist() == [[0, 3], [3, 0]]


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("hausdorf", r"distance='hausdorf' is not one of hausdorff, .*Did you mean 'hausdorff'\?"),
        ([[0, 1], [1, 0]], r"has shape \(2, 2\); 3 classes need \(3, 3\)"),
        (lambda X, y: len, "returned .*, which is no distances"),
    ],
)
def test_what_is_no_distance_is_refused(argument, words):
    with pytest.raises(ArgumentError, match=words):
        distances_from(argument, *made())
