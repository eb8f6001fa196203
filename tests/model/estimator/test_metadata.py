"""Metadata routing: which arguments of a fit reach which estimator and splitter."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError
from polytomy.model.estimator import take_groups

TREE = "first {0 second {1 2}}"


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


class GroupWatcher(ClassifierMixin, BaseEstimator):
    """Has margins, and remembers in a list of the class which groups it was fitted to."""

    seen: ClassVar[list[set[float]]] = []

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        GroupWatcher.seen.append(set(X[:, 0]))
        return self

    def decision_function(self, X):
        # No group is in the training part of the fold that holds it out.
        assert not set(X[:, 0]) & GroupWatcher.seen[-1]
        return X[:, 1]

    def predict(self, X):
        return self.classes_[(X[:, 1] > 0).astype(int)]


@pytest.mark.parametrize("is_routed", [False, True])
def test_groups_stay_together_in_the_folds_of_each_binary(is_routed):
    rng = np.random.default_rng(1)
    groups, y = np.arange(90) % 9, np.repeat([0, 1, 2], 30)
    X = np.column_stack([groups, rng.normal(size=90)])
    GroupWatcher.seen.clear()
    with config_context(enable_metadata_routing=is_routed):
        splitter = GroupKFold(3).set_split_request(groups=True) if is_routed else GroupKFold(3)
        PolytomyClassifier(GroupWatcher(), cv=splitter).fit(X, y, groups=groups)
    # Each of three binaries is trained once on all nine groups, and three times on six of them.
    sizes = [len(groups) for groups in GroupWatcher.seen]
    assert sorted(sizes) == [6] * 9 + [9] * 3


def test_there_are_no_more_folds_than_groups(iris):
    X, y = iris
    classifier = PolytomyClassifier(SVC(), cv=GroupKFold(5))
    classifier.fit(X, y, groups=np.arange(len(y)) % 2)
    assert not any(binary.shortcoming for binary in classifier.binaries_)


def test_each_named_estimator_gets_the_arguments_it_requests(iris):
    X, y = iris
    weight = np.random.default_rng(2).uniform(0.1, 9.0, len(y))
    with config_context(enable_metadata_routing=True):
        classifier = PolytomyClassifier(
            GaussianNB().set_fit_request(sample_weight=False),
            TREE,
            models={"second": GaussianNB().set_fit_request(sample_weight=True)},
        ).fit(X, y, sample_weight=weight)
    first = GaussianNB().fit(X, y != 0)
    second = GaussianNB().fit(X[y > 0], y[y > 0] == 2, weight[y > 0])
    expected = [2 * each.predict_proba(X)[:, 1] - 1 for each in (first, second)]
    np.testing.assert_allclose(classifier.decisions(X), np.transpose(expected), atol=1e-12)


def test_a_named_estimator_must_request_or_refuse_weights(iris):
    X, y = iris
    with config_context(enable_metadata_routing=True):
        classifier = PolytomyClassifier(
            SVC().set_fit_request(sample_weight=True), TREE, models={"second": GaussianNB()}
        )
        with pytest.raises(UnsetMetadataPassedError, match=r"GaussianNB\.fit"):
            classifier.fit(X, y, sample_weight=np.ones(len(y)))


def test_named_estimators_get_weights_in_batches_too(iris):
    X, y = iris
    weight = np.random.default_rng(3).uniform(0.1, 9.0, len(y))
    with config_context(enable_metadata_routing=True):
        classifier = PolytomyClassifier(
            GaussianNB().set_partial_fit_request(sample_weight=False),
            TREE,
            models={"second": GaussianNB().set_partial_fit_request(sample_weight=True)},
            reservoir_size=0,
        ).partial_fit(X, y, classes=[0, 1, 2], sample_weight=weight)
    second = GaussianNB().fit(X[y > 0], y[y > 0] == 2, weight[y > 0])
    expected = 2 * second.predict_proba(X)[:, 1] - 1
    np.testing.assert_allclose(classifier.decisions(X)[:, 1], expected, atol=1e-12)


@pytest.mark.parametrize("is_routed", [False, True])
def test_class_weights_reach_a_pipeline_without_requests(is_routed, iris):
    X, y = iris
    class_weight = {1: 5.0}
    with config_context(enable_metadata_routing=is_routed):
        pipeline = make_pipeline(StandardScaler(), LogisticRegression())
        classifier = PolytomyClassifier(pipeline, TREE, class_weight=class_weight).fit(X, y)
    part, is_positive = StandardScaler().fit_transform(X[y > 0]), y[y > 0] == 2
    plain = LogisticRegression().fit(part, is_positive, np.where(is_positive, 1.0, 5.0))
    expected = 2 * plain.predict_proba(part)[:, 1] - 1
    np.testing.assert_allclose(classifier.decisions(X[y > 0])[:, 1], expected, atol=1e-6)


class Recorder(ClassifierMixin, BaseEstimator):
    def fit(self, X, y, sample_weight=None, secret=None):
        self.classes_ = np.unique(y)
        self.sample_weight_, self.secret_ = sample_weight, secret
        return self

    def predict(self, X):
        return np.ones(len(X))


def test_requested_metadata_is_divided_among_the_binaries():
    X, y = load_iris(return_X_y=True)
    weights, secret = np.arange(1.0, len(X) + 1), np.arange(len(X))
    with config_context(enable_metadata_routing=True):
        inner = Recorder().set_fit_request(sample_weight=True, secret=True)
        classifier = PolytomyClassifier(inner, "one-vs-one")
        classifier.set_fit_request(sample_weight=True)
        classifier.fit(X, y, sample_weight=weights, secret=secret)
    first = classifier.binaries_[0].estimator
    assert (first.sample_weight_ == weights[:100]).all()
    assert (first.secret_ == secret[:100]).all()
    classifier = PolytomyClassifier(Recorder()).fit(X, y, sample_weight=weights, secret=secret)
    assert (classifier.binaries_[2].estimator.secret_ == secret[50:]).all()


def test_a_splitter_that_needs_groups_gets_them_or_says_so():
    arguments = {"groups": 1, "depth": 2}
    assert take_groups(GroupKFold(3), arguments) == {"groups": 1}
    assert arguments == {"depth": 2}
    assert take_groups(KFold(3), {}) == {}
    with pytest.raises(ArgumentError) as caught:
        take_groups(GroupKFold(3), {})
    assert caught.value.parameter == "cv"
    assert str(caught.value).endswith(" needs groups. Pass them: fit(X, y, groups=…).")
