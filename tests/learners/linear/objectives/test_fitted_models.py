"""Fitted estimators made from coefficients."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from polytomy.learners.linear import objectives as fitted_models
from polytomy.learners.linear.objectives import FittedModels, find_objective


def fitted_models_of(estimator, X):
    return FittedModels(estimator, find_objective(estimator), X)


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_a_model_has_every_attribute_that_a_fit_gives(kind: type) -> None:
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    made = fitted_models_of(kind(), X).make(np.array([2.0, -1.0]), 7, seed=None)
    assert set(vars(made)) == set(vars(kind().fit(X, y)))
    np.testing.assert_array_equal(made.decision_function(X), [-1.0, 1.0])


def test_the_intercept_is_the_constant_feature_times_its_coefficient() -> None:
    X = np.array([[0.0], [1.0]])
    made = fitted_models_of(LinearSVC(intercept_scaling=3.0), X).make(
        np.array([2.0, -1.0]), 7, seed=None
    )
    assert made.intercept_.tolist() == [-3.0]


def test_making_models_changes_neither_the_estimator_nor_another_model() -> None:
    estimator, X = LinearSVC(), np.eye(2)
    models = fitted_models_of(estimator, X)
    one = models.make(np.zeros(3), 1, seed=1)
    other = models.make(np.ones(3), 1, seed=2)
    assert not hasattr(estimator, "coef_")
    assert one.random_state != other.random_state
    assert (one.coef_ == 0).all()


def test_a_large_array_in_single_precision_is_not_copied(monkeypatch):
    X = np.ones((6, 2), dtype=np.float32)
    assert fitted_models_of(LinearSVC(), X).numbers.dtype == np.float64
    monkeypatch.setattr(fitted_models, "_MANY_VALUES", 12)
    assert fitted_models_of(LinearSVC(), X).numbers is X
