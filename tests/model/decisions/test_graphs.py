"""Priors and costs in ONNX models."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import polytomy as pt
from onnx_sessions import run_model
from polytomy.errors import ArgumentError
from polytomy.export import to_onnx

pytest.importorskip("onnx")
COSTS = [[0, 1, 2], [3, 0, 1], [9, 9, 0]]


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = np.eye(3)[y] + rng.normal(size=(200, 3))
    return pt.PolytomyClassifier(LogisticRegression(), random_state=0).fit(X, y), X


def check_same(classifier, X):
    found = run_model(to_onnx(classifier, dtype="float64"), X)
    np.testing.assert_array_equal(found["label"], classifier.predict(X))
    np.testing.assert_allclose(found["probabilities"], classifier.predict_proba(X), atol=1e-9)
    return found


def test_a_prior_is_part_of_the_model(fitted):
    classifier, X = fitted
    check_same(classifier.with_prior([0.7, 0.2, 0.1]), X)
    check_same(classifier.with_prior([0.0, 0.2, 0.8]), X)


def test_costs_are_part_of_the_model(fitted):
    classifier, X = fitted
    check_same(classifier.with_cost(COSTS), X)
    found = check_same(classifier.with_prior([0.7, 0.2, 0.1]).with_cost(COSTS, 0.8), X)
    assert (found["label"] == -1).any()


def test_the_limit_of_novelty_is_part_of_the_model(fitted):
    classifier, X = fitted
    novelty = np.sort(classifier.novelty(X))
    for limit in (novelty[0] / 2, novelty[len(X) // 2 : len(X) // 2 + 2].mean(), 1.0):
        found = check_same(classifier.with_cost(COSTS, 9.0, reject_novelty=limit), X)
        assert np.count_nonzero(found["label"] == -1) == np.count_nonzero(novelty > limit)


def test_a_label_of_another_type_cannot_be_exported(fitted):
    classifier, _ = fitted
    message = 'reject_label="\\?" cannot be exported, because the labels, such as 0, are of another'
    with pytest.raises(ArgumentError, match=message):
        to_onnx(classifier.with_cost(reject_cost=0.5, reject_label="?"))
