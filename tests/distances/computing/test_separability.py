import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from polytomy.distances import separability
from polytomy.errors import ArgumentError


def made(seed=0, n_features=3, sizes=(20, 30, 25)):
    random = np.random.default_rng(seed)
    X = np.concatenate([random.normal(2 * i, 1, (n, n_features)) for i, n in enumerate(sizes)])
    return X, np.repeat(np.arange(len(sizes)), sizes)


def test_equal_classes_are_not_separable():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(600, 2)), np.repeat([0, 1, 2], 200)
    X[y == 2] += 8
    found = separability(X, y)
    assert found[0, 1] < 0.1
    assert found[0, 2] > 0.99


@pytest.mark.parametrize("estimator", [LinearDiscriminantAnalysis(), LogisticRegression()])
def test_any_classifier_can_be_used(estimator):
    X, y = made(8, sizes=(150, 150, 150))
    by_default, by_other = separability(X, y), separability(X, y, estimator=estimator)
    np.testing.assert_allclose(by_default.matrix, by_other.matrix, atol=0.03)


def test_a_classifier_without_probabilities_counts_its_confusions():
    X, y = made(9, n_features=1, sizes=(200, 200))
    found = separability(X, y, estimator=LinearSVC(), cv=4)[0, 1]
    # Two normals at a distance of 2: each side is wrong with probability 0.159.
    assert found == pytest.approx(1 - 2 * 0.159, abs=0.1)


def test_a_constant_feature_changes_nothing():
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


def test_more_folds_than_samples_leave_one_out():
    X, y = made(12, sizes=(4, 5))
    assert separability(X, y, cv=50).matrix.tolist() == separability(X, y, cv=5).matrix.tolist()


def test_rounding_in_constant_features_has_no_effect():
    # The second feature is 0.1 but for one sample: where that one is held out, all differences from
    # the class means are rounding.
    X, y = made(5, sizes=(30, 20, 7))
    X = np.column_stack([X, np.full(len(X), 0.1)])
    X[3, -1] = 0.7
    without = separability(X[:, :-1], y).matrix
    assert np.abs(separability(X, y).matrix - without).max() < 0.1


def test_cv_must_be_a_whole_number():
    with pytest.raises(ArgumentError, match=r"cv=2\.5 is not a whole number"):
        separability([[0.0], [1.0]], [0, 1], cv=2.5)


def test_at_least_two_folds_are_needed():
    with pytest.raises(ArgumentError, match=r"cv=1 is too few\. Use 2 or more"):
        separability([[0.0], [1.0]], [0, 1], cv=1)
