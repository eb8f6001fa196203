"""Out-of-fold probabilities of a classifier of bins."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from polytomy import PolytomyClassifier, PolytomyRegressor
from polytomy.regression import BinnedDistribution
from polytomy.regression.regressor import (
    find_probabilities,
    forget_probabilities,
    locate,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
BINS = np.digitize(X[:, 0], [-0.5, 0.5])


@pytest.fixture
def classifier():
    return PolytomyClassifier(
        LogisticRegression(), "ordered", keep_out_of_fold=True, random_state=0
    ).fit(X, BINS)


def test_probabilities_are_found_and_forgotten(classifier):
    proba = find_probabilities(classifier, 60)
    np.testing.assert_array_equal(proba, classifier.out_of_fold_proba_)
    before = classifier.predict_proba(X)
    light = forget_probabilities(classifier)
    assert find_probabilities(light, 60) is None
    np.testing.assert_array_equal(light.predict_proba(X), before)
    assert light.keep_out_of_fold is False


def test_one_bin_is_certain():
    only = PolytomyClassifier(LogisticRegression()).fit(X, np.zeros(60, int))
    np.testing.assert_array_equal(find_probabilities(only, 60), np.ones((60, 1)))


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_rows_are_measured_by_distance_prediction_and_crps(statistic):
    distribution = BinnedDistribution([0.0, 1.0, 3.0], RNG.dirichlet([1, 1], 5))
    y = np.linspace(0.1, 2.9, 5)
    measured = PolytomyRegressor(statistic=statistic)._measure(distribution, y)
    np.testing.assert_allclose(measured[:, 0], np.abs(distribution.cdf(y) - 0.5))
    np.testing.assert_array_equal(measured[:, 1], locate(distribution, statistic))
    np.testing.assert_array_equal(measured[:, 2], distribution.crps(y))
