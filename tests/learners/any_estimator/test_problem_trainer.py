"""Fitting to some rows of the data."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from polytomy.errors import ArgumentError
from polytomy.learners.any_estimator import ProblemTrainer
from polytomy.learners.preparation import check_neighbours, parameters_with_weights
from polytomy.learners.problems import SidesProblem
from polytomy.learners.workload import FitArguments, TrainingOptions

X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.arange(30) % 3
ROWS = np.array([1, 2, 5, 6, 9, 12, 13, 20, 21, 28])


def fit(estimator, samples, sample_weight=None, **fit_params):
    problem = SidesProblem("m", ROWS, Y[ROWS], 3)
    options = TrainingOptions(arguments=FitArguments(sample_weight, fit_params))
    trainer = ProblemTrainer.prepare(estimator, samples, problem, options, None, None)
    return trainer.fit(problem, problem.sides)


def test_a_model_sees_its_own_rows_and_their_weights_alone():
    weight = np.linspace(0.1, 2, 30)
    found = fit(LogisticRegression(), X, weight).predict_proba(X)
    expected = LogisticRegression().fit(X[ROWS], Y[ROWS], sample_weight=weight[ROWS])
    np.testing.assert_allclose(found, expected.predict_proba(X))


def test_of_a_kernel_matrix_columns_are_taken_too():
    kernel = X @ X.T
    found = fit(SVC(kernel="precomputed"), kernel)
    expected = SVC(kernel="linear").fit(X[ROWS], Y[ROWS])
    np.testing.assert_allclose(
        found.decision_function(kernel[:, ROWS]), expected.decision_function(X), atol=1e-6
    )


def test_without_weights_parameters_are_passed_as_they_are():
    assert parameters_with_weights(LogisticRegression(), {"a": 1}, None) == {"a": 1}


def test_an_error_says_what_was_trained():
    with pytest.raises(TypeError) as caught:
        fit(LogisticRegression(), X, colour="red")
    assert caught.value.__notes__ == ['while training the LogisticRegression of partition "m"']


def test_more_neighbours_than_samples_are_an_error():
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(31)).fit(X, Y)
    with pytest.raises(ArgumentError, match='Partition "m" has 30 samples, fewer than the n_neigh'):
        check_neighbours(model, "m")
    check_neighbours(KNeighborsClassifier(30).fit(X, Y), "m")
