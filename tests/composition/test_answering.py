"""What a fitted classifier has and answers, and why it has not."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import SVC

from polytomy import PolytomyClassifier, SchemeSearchCV


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_a_missing_predict_proba_says_why_and_what_to_do(iris):
    classifier = PolytomyClassifier(LogisticRegression(), solver="voting").fit(*iris)
    assert not hasattr(classifier, "predict_proba")
    with pytest.raises(AttributeError) as caught:
        classifier.predict_proba(iris[0])
    assert str(caught.value) == (
        "This 'PolytomyClassifier' has no attribute 'predict_proba': "
        'solver="voting" gives scores, not probabilities. Use decision_function, or '
        'with_solver("least-squares").'
    )


def test_a_missing_partial_fit_says_why_and_what_to_do(iris):
    with pytest.raises(AttributeError) as caught:
        PolytomyClassifier(SVC()).partial_fit(*iris)
    assert str(caught.value) == (
        "This 'PolytomyClassifier' has no attribute 'partial_fit': 'SVC' object has no attribute "
        "'partial_fit'. Use an estimator such as SGDClassifier()."
    )
    assert hasattr(PolytomyClassifier(SGDClassifier()), "partial_fit")


def test_a_search_says_why_its_winner_has_no_probabilities(iris):
    candidates = [("one-vs-one", "voting")]
    search = SchemeSearchCV(LogisticRegression(), candidates, scoring="accuracy", cv=2)
    assert hasattr(search, "predict_proba")  # nobody knows yet
    search.fit(*iris)
    with pytest.raises(AttributeError, match='the chosen solver, "voting", gives scores'):
        search.predict_proba(iris[0])
    assert search.decision_function(iris[0]).shape == (150, 3)


def test_a_solver_set_after_the_fit_counts_from_the_next_fit_on(iris):
    classifier = PolytomyClassifier(LogisticRegression()).fit(*iris)
    expected = classifier.predict_proba(iris[0])
    classifier.set_params(solver="voting")
    np.testing.assert_array_equal(classifier.predict_proba(iris[0]), expected)
    assert not hasattr(classifier.fit(*iris), "predict_proba")


@pytest.mark.parametrize("name", ["scheme_", "binaries_", "estimators_", "composition_"])
def test_nothing_is_fitted_before_the_fit(name, iris):
    classifier = PolytomyClassifier()
    assert not hasattr(classifier, name)
    with pytest.raises(NotFittedError):
        classifier.predict(iris[0])
    assert hasattr(classifier.fit(*iris), name)


def test_estimators_are_in_the_order_of_the_partitions(iris):
    X, y = iris
    classifier = PolytomyClassifier(LogisticRegression(), "one-vs-rest").fit(X, y)
    assert len(classifier.estimators_) == 3
    for label, estimator in enumerate(classifier.estimators_):
        own = LogisticRegression().fit(X, y == label)
        np.testing.assert_allclose(estimator.coef_, own.coef_)
    swapped = classifier.with_scheme("x 0 1 / 2; y 1 / 0 2; z 0 / 1 2; {0 1 2}")
    expected = [classifier.estimators_[k] for k in (2, 1, 0)]
    assert all(a is b for a, b in zip(swapped.estimators_, expected, strict=True))


def test_an_estimator_may_be_a_specification(iris):
    X, y = iris
    text = PolytomyClassifier("svc C=10", random_state=0).fit(X, y)
    plain = PolytomyClassifier(SVC(C=10), random_state=0).fit(X, y)
    np.testing.assert_array_equal(text.predict_proba(X), plain.predict_proba(X))
    found = SchemeSearchCV("logistic-regression C=10", ["one-vs-rest"], cv=2).fit(X, y)
    assert found.best_estimator_.estimators_[0].C == 10
