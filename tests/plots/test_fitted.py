"""Classifiers inside pipelines and searches."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from polytomy import PolytomyClassifier, SchemeSearchCV
from polytomy.errors import ArgumentError
from polytomy.plots.fitted import ask_probabilities, find_fitted, name_estimator

X = np.random.default_rng(0).normal(size=(30, 2))
Y = np.repeat([0, 1, 2], 10)


def classifier(**options):
    return PolytomyClassifier("gaussian-nb", "one-vs-rest", final_calibration=None, **options)


def test_the_answers_of_binaries_are_those_of_the_transformed_samples():
    pipeline = make_pipeline(FunctionTransformer(lambda X: 3 * X), classifier()).fit(X, Y)
    expected = classifier().fit(3 * X, Y).decisions(3 * X)
    np.testing.assert_allclose(find_fitted(pipeline).decisions(X), expected)


def test_searches_and_pipelines_can_be_nested():
    inner = make_pipeline(FunctionTransformer(lambda X: 3 * X), classifier())
    search = GridSearchCV(inner, {"polytomyclassifier__solver": ["least-squares"]}, cv=2)
    outer = make_pipeline(FunctionTransformer(lambda X: X + 1), search).fit(X, Y)
    found = find_fitted(outer)
    assert [step.func(np.array([1.0])) for step in found.before] == [2.0, 3.0]
    assert isinstance(found.classifier, PolytomyClassifier)


def test_a_scheme_search_has_its_best_classifier():
    search = SchemeSearchCV("gaussian-nb", ["one-vs-rest"], cv=2).fit(X, Y)
    assert find_fitted(search).classifier is search.best_estimator_


@pytest.mark.parametrize(
    "estimator",
    [
        PolytomyClassifier(),
        SchemeSearchCV(),
        LogisticRegression(),
        make_pipeline(FunctionTransformer(), PolytomyClassifier()),
        GridSearchCV(PolytomyClassifier(), {}),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_an_estimator_that_is_not_fitted_is_refused(estimator):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        find_fitted(estimator)


def test_a_search_that_trained_nothing_is_refused():
    search = SchemeSearchCV("gaussian-nb", ["one-vs-rest"], cv=2, refit=False).fit(X, Y)
    with pytest.raises(NotFittedError, match=r"did not train its chosen model\. Fit it with refit"):
        find_fitted(search)


@pytest.mark.parametrize("estimator", [LogisticRegression().fit(X, Y), "one-vs-one", None])
def test_what_is_not_a_classifier_of_polytomy_is_refused(estimator):
    with pytest.raises(ArgumentError) as caught:
        find_fitted(estimator)
    assert str(caught.value) == (
        "estimator must be a fitted PolytomyClassifier, or a pipeline or search of one; got "
        f"{type(estimator).__name__}."
    )


def test_a_classifier_without_probabilities_is_refused_with_the_reason():
    voting = classifier(solver="voting").fit(X, Y)
    with pytest.raises(ArgumentError, match=r'estimator gives no probabilities: .*solver="voting"'):
        ask_probabilities(voting, X)


def test_a_pipeline_has_the_name_of_its_last_step():
    assert name_estimator(make_pipeline(FunctionTransformer(), LogisticRegression())) == (
        "LogisticRegression"
    )
