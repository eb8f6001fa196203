"""Conformity, class frequencies, priors and costs in saved models."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from persistence.round_trips import LABELS, X, assert_same, reload
from persistence.saved_archives import unpack
from polytomy import PolytomyClassifier
from polytomy.persistence import read_info, save

LEVELS = [0.8, 0.9, 0.95]
PRIOR = [0.1, 0.7, 0.2]
COSTS = [[0, 1, 1], [1, 0, 1], [9, 9, 0]]


@pytest.fixture(scope="module")
def classifier():
    weight = np.where(LABELS == "setosa", 2.0, 1.0)
    return PolytomyClassifier(LogisticRegression(max_iter=500), random_state=0).fit(
        X, LABELS, weight
    )


@pytest.mark.parametrize("score", ["lac", "aps", "raps"])
@pytest.mark.parametrize("per_class", [False, True])
def test_sets_are_the_same_after_loading(classifier, score, per_class, tmp_path):
    again = reload(classifier, tmp_path)
    expected = classifier.predict_set(X, LEVELS, score, per_class=per_class)
    np.testing.assert_array_equal(
        again.predict_set(X, LEVELS, score, per_class=per_class), expected
    )


def test_prior_and_costs_are_the_same_after_loading(classifier, tmp_path):
    careful = classifier.with_prior(PRIOR).with_cost(COSTS, 0.25, "?")
    again = reload(careful, tmp_path)
    assert_same(careful, again)
    np.testing.assert_array_equal(again.predict_proba(X), careful.predict_proba(X))
    np.testing.assert_array_equal(again.predict_cost(X), careful.predict_cost(X))
    np.testing.assert_array_equal(again.predict_set(X), careful.predict_set(X))
    np.testing.assert_array_equal(again.prior_, careful.prior_)
    back = again.with_prior(None).with_cost()
    np.testing.assert_array_equal(back.predict_proba(X), classifier.predict_proba(X))
    np.testing.assert_array_equal(back.prior_, classifier.prior_)
    np.testing.assert_array_equal(again.estimate_prior(X), classifier.estimate_prior(X))
    assert str(again.explain(X[:3])) == str(careful.explain(X[:3]))


@pytest.mark.parametrize("label", ["?", -1, float("nan"), 0.5])
def test_a_label_for_no_prediction_keeps_its_type(classifier, label, tmp_path):
    again = reload(classifier.with_cost(reject_cost=0.05, reject_label=label), tmp_path)
    kept = again.composition_.costs.reject_label
    assert type(kept) is type(label)
    assert kept == label or kept != kept


def test_the_description_tells_what_there_is(classifier, tmp_path):
    path = tmp_path / "m.polytomy"
    for model in (classifier, classifier.with_prior(PRIOR), classifier.with_cost(COSTS)):
        save(model, path)
        info = read_info(path)
        assert info.has_sets
        assert info.has_prior == (model.composition_.prior is not None)
        assert info.has_costs == (model.composition_.costs is not None)


def test_a_million_rows_would_take_a_megabyte(tmp_path):
    random = np.random.default_rng(0)
    samples, labels = random.normal(size=(60_000, 1)), random.integers(0, 20, 60_000)
    estimator = LogisticRegression(max_iter=2, tol=1.0)
    classifier = PolytomyClassifier(
        estimator, "one-vs-rest", final_calibration="bias", cv=2, random_state=0
    ).fit(samples, labels)
    save(classifier, tmp_path / "m.polytomy")
    members = unpack((tmp_path / "m.polytomy").read_bytes())[1]
    assert len(members["float16.npy"]) <= 2**20 + 1000
