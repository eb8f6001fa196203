"""SchemeSearchCV and scheme="auto" as a user meets them."""

import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import polytomy as pt
from polytomy import PolytomyClassifier
from polytomy.errors import ArgumentError, ClassOrderWarning
from polytomy.search import SchemeSearchCV

CANDIDATES = ["one-vs-one", "tree"]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


@parametrize_with_checks(
    [SchemeSearchCV(GaussianNB(), CANDIDATES, cv=2), SchemeSearchCV(SVC(), ["tree"], cv=2)],
    expected_failed_checks=lambda search: (
        {
            "check_sample_weight_equivalence_on_dense_data": "gamma='scale' ignores weights.",
            "check_sample_weight_equivalence_on_sparse_data": "As above.",
        }
        if isinstance(search.estimator, SVC)
        else {}
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_winner_answers_and_the_results_are_a_table(iris):
    X, y = iris
    search = SchemeSearchCV(LogisticRegression(max_iter=500), CANDIDATES, cv=3, random_state=0)
    search.fit(X, y)
    winner = PolytomyClassifier(
        LogisticRegression(max_iter=500), search.best_candidate_.scheme, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(search.predict_proba(X), winner.predict_proba(X))
    assert (search.predict(X) == winner.predict(X)).all()
    np.testing.assert_allclose(search.predict_log_proba(X), np.log(winner.predict_proba(X)))
    np.testing.assert_allclose(search.decisions(X), winner.decisions(X))
    assert pt.parse(str(search.best_scheme_)) == winner.scheme_
    table = search.frame()
    assert set(table["candidate"]) == set(CANDIDATES)
    assert table["is_chosen"].sum() == 1
    assert sorted(table["rank"]) == [1, 2]
    assert {"mean_log_loss", "std_uncertainty_coefficient", "mean_fit_time"} <= set(table)
    assert set(search.pareto_) == set(table["candidate"][table["is_pareto"]])


def test_the_options_of_a_classifier_count(iris):
    X, y = iris
    template = PolytomyClassifier(GaussianNB(), class_weight={"setosa": 3.0}, solver="divergence")
    search = SchemeSearchCV(template, ["one-vs-one"], cv=2, random_state=1).fit(X, y)
    assert search.best_estimator_.class_weight == {"setosa": 3.0}
    assert search.best_candidate_.solver == "divergence"
    assert template.scheme == "one-vs-one"
    assert not hasattr(template, "binaries_")


def test_one_random_state_fixes_the_search(iris):
    X, y = iris
    searches = [
        SchemeSearchCV(SVC(), ["tree", "random-tree", "random"], cv=2, random_state=3).fit(X, y)
        for _ in range(2)
    ]
    for name in ("mean_log_loss", "rank"):
        np.testing.assert_array_equal(*[each.cv_results_[name] for each in searches])
    np.testing.assert_array_equal(*[each.predict_proba(X) for each in searches])


def test_without_refit_there_are_results_but_no_answers(iris):
    X, y = iris
    search = SchemeSearchCV(GaussianNB(), CANDIDATES, cv=2, refit=False).fit(X, y)
    assert len(search.frame()) == 2
    with pytest.raises(NotFittedError):
        search.predict(X)
    with pytest.raises(NotFittedError):
        _ = search.best_scheme_


def test_votes_can_be_searched_for_accuracy(iris):
    X, y = iris
    pairs = [("one-vs-one", "voting"), ("one-vs-rest", "hamming")]
    search = SchemeSearchCV(GaussianNB(), pairs, scoring="accuracy", cv=2).fit(X, y)
    assert not hasattr(search, "predict_proba")
    assert search.score(X, y) > 0.9


def test_weights_are_routed(iris):
    X, y = iris
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    plain = SchemeSearchCV(GaussianNB(), CANDIDATES, cv=2, random_state=0)
    plain.fit(X, y, sample_weight=weight)
    with config_context(enable_metadata_routing=True):
        inner = GaussianNB().set_fit_request(sample_weight=True)
        routed = SchemeSearchCV(inner, CANDIDATES, cv=2, random_state=0)
        routed.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(plain.predict_proba(X), routed.predict_proba(X))


def test_it_works_in_cross_validation_and_clones(iris):
    X, y = iris
    search = SchemeSearchCV(GaussianNB(), CANDIDATES, cv=2, random_state=0)
    assert cross_val_score(clone(search), X, y, cv=3).mean() > 0.9


def test_verbose_tells_of_each_fold(iris, capsys):
    SchemeSearchCV(GaussianNB(), CANDIDATES, cv=2, verbose=1).fit(*iris)
    assert "fold 1: 2 of 2 candidates left, best" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scoring": ()}, "scoring is empty"),
        ({"scoring": "f1"}, "scoring must be one of .*; got 'f1'"),
        ({"candidates": [("adjacent", "price")]}, "one-vs-one code"),
        ({"cv": 1}, "cv=1 must be"),
    ],
)
def test_bad_options(options, words, iris):
    with pytest.raises(ArgumentError, match=words):
        SchemeSearchCV(GaussianNB(), **options).fit(*iris)


# -- scheme="auto" --------------------------------------------------------------------------------


def test_auto_chooses_a_scheme_and_says_which():
    X, y = load_digits(n_class=5, return_X_y=True)
    classifier = PolytomyClassifier(GaussianNB(), "auto", random_state=0).fit(X[::3], y[::3])
    again = PolytomyClassifier(GaussianNB(), classifier.scheme_, random_state=0)
    again.fit(X[::3], y[::3])
    np.testing.assert_array_equal(classifier.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize("n_classes", [1, 2])
def test_auto_has_nothing_to_choose_below_three_classes(n_classes, iris):
    X, y = iris
    few = np.isin(y, np.unique(y)[:n_classes])
    classifier = PolytomyClassifier(GaussianNB(), "auto").fit(X[few], y[few])
    assert classifier.score(X[few], y[few]) > 0.99


def test_auto_needs_the_data(iris):
    X, y = iris
    with pytest.raises(ArgumentError, match="which only fit has"):
        PolytomyClassifier(GaussianNB(), "auto").partial_fit(X, y, classes=np.unique(y))


def test_candidates_that_need_an_order_warn_once_or_take_it(iris):
    X, y = iris
    labels = np.array(["low", "medium", "high"])[np.unique(y, return_inverse=True)[1]]
    order = ["low", "medium", "high"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SchemeSearchCV(GaussianNB(), ["adjacent", "tree", "one-vs-one"], cv=3).fit(X, labels)
    (warning,) = [each for each in caught if issubclass(each.category, ClassOrderWarning)]
    assert str(warning.message).startswith('"adjacent" and "tree" need the classes in order')
    for search in (
        SchemeSearchCV(GaussianNB(), ["adjacent"], cv=3, class_order=order),
        SchemeSearchCV(PolytomyClassifier(GaussianNB(), class_order=order), ["adjacent"], cv=3),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error", ClassOrderWarning)
            search.fit(X, labels)
        assert list(search.best_scheme_.classes) == order
        assert search.classes_.tolist() == sorted(order)


def test_a_known_order_makes_adjacent_a_default_candidate(iris):
    X, y = iris
    plain = SchemeSearchCV(GaussianNB(), cv=2, refit=False).fit(X, y)
    ordered = SchemeSearchCV(GaussianNB(), cv=2, refit=False, class_order=np.unique(y)).fit(X, y)
    names = [set(search.cv_results_["candidate"]) for search in (plain, ordered)]
    assert names[1] - names[0] == {"adjacent"}
