"""Predictions and attributes of a fitted classifier, and reasons for missing ones."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

import polytomy as pt
from polytomy import PolytomyClassifier, SchemeSearchCV, metrics
from polytomy.errors import ArgumentError, SchemeError


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(120, centers=4, cluster_std=2.5, random_state=3)
    return X, np.array(["corn", "oak", "pine", "wheat"])[y]


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


def test_a_solver_set_after_the_fit_counts_from_the_next_fit_on(iris):
    classifier = PolytomyClassifier(LogisticRegression()).fit(*iris)
    expected = classifier.predict_proba(iris[0])
    classifier.set_params(solver="voting")
    np.testing.assert_array_equal(classifier.predict_proba(iris[0]), expected)
    assert not hasattr(classifier.fit(*iris), "predict_proba")


@pytest.mark.parametrize("name", ["scheme_", "binaries_", "estimators_", "composition_"])
def test_fitted_attributes_do_not_exist_before_the_fit(name, iris):
    classifier = PolytomyClassifier()
    assert not hasattr(classifier, name)
    with pytest.raises(NotFittedError):
        classifier.predict(iris[0])
    assert hasattr(classifier.fit(*iris), name)


def test_estimators_are_in_the_order_of_the_partitions(iris):
    X, y = iris
    exact = LogisticRegression(solver="newton-cholesky", tol=1e-12)
    classifier = PolytomyClassifier(exact, "one-vs-rest").fit(X, y)
    assert len(classifier.estimators_) == 3
    for label, estimator in enumerate(classifier.estimators_):
        own = clone(exact).fit(X, y == label)
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


# -- the same binaries, composed differently ------------------------------------------------------


def test_with_solver_needs_no_refit(blobs):
    X, y = blobs
    classifier = PolytomyClassifier(SVC(), random_state=0).fit(X, y)
    voting = classifier.with_solver("voting")
    assert all(a is b for a, b in zip(voting.binaries_, classifier.binaries_, strict=True))
    assert not hasattr(voting, "predict_proba")
    assert voting.decision_function(X).shape == (len(X), 4)
    expected = pt.decode(classifier.scheme_, classifier.decisions(X), "voting")
    assert (voting.predict(X) == classifier.classes_[expected.argmax(axis=1)]).all()
    own = classifier.with_solver(lambda scheme, decisions: pt.solve(scheme, decisions))
    assert (own.predict_proba(X) == classifier.predict_proba(X)).all()
    with pytest.raises(ArgumentError, match="votin"):
        classifier.with_solver("votin")


def test_with_scheme_uses_the_same_binaries_in_another_scheme(blobs):
    X, y = blobs
    tree = PolytomyClassifier(GaussianNB(), "t {u {corn wheat} v {oak pine}}").fit(X, y)
    flat = tree.with_scheme(tree.scheme_.flatten())
    np.testing.assert_allclose(flat.predict_proba(X), tree.predict_proba(X), atol=1e-9)
    mirrored = tree.with_scheme("t {v {pine oak} u {wheat corn}}")
    np.testing.assert_allclose(mirrored.predict_proba(X), tree.predict_proba(X), atol=1e-9)
    assert mirrored.scheme_ != tree.scheme_
    with pytest.raises(
        SchemeError, match="no binary was trained for <Partition one-vs-rest-00: oak"
    ):
        tree.with_scheme("one-vs-rest")


def test_with_scheme_matches_labels_as_fit_does(iris):
    X, y = iris[0], np.unique(iris[1], return_inverse=True)[1].astype(str)
    classifier = PolytomyClassifier(GaussianNB()).fit(X, y)
    other = classifier.with_scheme("a 0/1; b 0/2; c 1/2; {2 1 0}")
    np.testing.assert_allclose(other.predict_proba(X), classifier.predict_proba(X), atol=1e-12)


def test_the_greedy_solver_follows_the_winner_at_each_node(blobs):
    X, y = blobs
    classifier = PolytomyClassifier(
        GaussianNB(), "t {u {corn wheat} v {oak pine}}", solver="greedy"
    )
    classifier.fit(X, y)
    top, left, right = classifier.decisions(X).T
    expected = np.where(
        top > 0, np.where(right > 0, "pine", "oak"), np.where(left > 0, "wheat", "corn")
    )
    assert (classifier.predict(X) == expected).all()
    flat = classifier.with_scheme(classifier.scheme_.flatten())
    assert (flat.predict(X) == expected).all()


def test_training_further_does_not_change_copies(iris):
    X, y = iris
    classifier = PolytomyClassifier(GaussianNB(), "one-vs-one")
    classifier.partial_fit(X[::2], y[::2], classes=np.unique(y))
    others = classifier.with_solver("voting"), classifier.with_scheme("one-vs-one")
    before = [other.decisions(X) for other in others]
    classifier.partial_fit(X[1::2], y[1::2])
    for other, answers in zip(others, before, strict=True):
        np.testing.assert_array_equal(other.decisions(X), answers)
        assert not np.array_equal(classifier.decisions(X), answers)


def test_a_pickled_classifier_gives_the_same_answers_and_a_clone_is_not_fitted(iris):
    X, y = iris
    classifier = PolytomyClassifier(SVC(), "tree", random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(classifier))
    assert (again.predict_proba(X) == classifier.predict_proba(X)).all()
    assert clone(classifier).get_params()["scheme"] == "tree"
    assert not hasattr(clone(classifier), "classes_")


@pytest.mark.parametrize("final_calibration", ["bias", "decoder", LogisticRegression()], ids=str)
def test_a_copy_keeps_the_final_calibration_and_the_out_of_fold_scores(
    iris, final_calibration, tmp_path
):
    X, y = iris
    classifier = PolytomyClassifier(
        final_calibration=final_calibration, keep_out_of_fold=True, random_state=0
    ).fit(X, y)
    joblib.dump(classifier, tmp_path / "m.joblib")
    for again in (
        pickle.loads(pickle.dumps(classifier)),
        joblib.load(tmp_path / "m.joblib"),
        copy.deepcopy(classifier),
    ):
        np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
        np.testing.assert_array_equal(again.out_of_fold_proba_, classifier.out_of_fold_proba_)
        assert again.out_of_fold_score_ == classifier.out_of_fold_score_
        changed, expected = again.with_solver("divergence"), classifier.with_solver("divergence")
        np.testing.assert_array_equal(changed.predict_proba(X), expected.predict_proba(X))
        assert changed.out_of_fold_score_ == expected.out_of_fold_score_


def test_prediction_does_not_make_a_pickle_larger(blobs):
    X, y = blobs
    classifier = PolytomyClassifier().fit(X, y)
    before = pickle.dumps(classifier)
    expected = classifier.predict_proba(X)
    assert pickle.dumps(classifier) == before
    np.testing.assert_array_equal(pickle.loads(before).predict_proba(X), expected)


def test_the_out_of_fold_score_has_the_measures_of_the_library(iris):
    X, y = iris
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    classifier = PolytomyClassifier(random_state=0, keep_out_of_fold=True)
    proba = classifier.fit(X, y, sample_weight=weight).out_of_fold_proba_
    predicted = proba.argmax(axis=1)
    assert classifier.out_of_fold_score_ == pytest.approx(
        {
            "log_loss": metrics.log_loss(y, proba, sample_weight=weight),
            "brier_score": metrics.brier_score(y, proba, sample_weight=weight),
            "accuracy": np.average(predicted == y, weights=weight),
            "uncertainty_coefficient": metrics.uncertainty_coefficient(
                y, predicted, sample_weight=weight
            ),
        }
    )
