import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import polytomy as pt
from polytomy import PolytomyClassifier, designs
from polytomy.designs import one_vs_one, random_tree, tree_ensemble
from polytomy.errors import ArgumentError
from polytomy.scheme import SchemeEnsemble, parse


@pytest.mark.parametrize("solver", ["least-squares", "voting"])
def test_a_classifier_averages_the_members_and_trains_what_they_share_once(solver):
    X, y = load_iris(return_X_y=True)
    ensemble = SchemeEnsemble([parse("m {0 n {1 2}}"), parse("m {n {2 1} 0}"), one_vs_one(3)])
    options = {"solver": solver, "final_calibration": None}
    classifier = PolytomyClassifier(GaussianNB(), ensemble, **options).fit(X, y)
    # 0 / 1 2 and 1 / 2 of the trees, and the two other pairs.
    assert len(classifier.binaries_) == ensemble.n_dichotomies == 4
    alone = [
        PolytomyClassifier(GaussianNB(), scheme, **options).fit(X, y) for scheme in ensemble.schemes
    ]
    score = "decision_function" if solver == "voting" else "predict_proba"
    expected = np.mean([getattr(each, score)(X) for each in alone], axis=0)
    np.testing.assert_allclose(getattr(classifier, score)(X), expected, atol=1e-12)
    assert classifier.decisions(X).shape == (150, 4)
    one = classifier.with_scheme(ensemble.schemes[1])
    np.testing.assert_allclose(one.decisions(X), alone[1].decisions(X), atol=1e-12)


def test_an_ensemble_of_trees_can_be_solved_greedily():
    X, y = load_iris(return_X_y=True)
    ensemble = tree_ensemble(3, 5, random_state=0)
    classifier = PolytomyClassifier(GaussianNB(), ensemble, solver="greedy").fit(X, y)
    alone = [
        PolytomyClassifier(GaussianNB(), tree, solver="greedy").fit(X, y)
        for tree in ensemble.schemes
    ]
    expected = np.mean([each.decision_function(X) for each in alone], axis=0)
    np.testing.assert_allclose(classifier.decision_function(X), expected, atol=1e-12)


def test_one_class_needs_no_binaries():
    ensemble = tree_ensemble(["a"], 3)
    assert ensemble.n_dichotomies == 0
    assert PolytomyClassifier(GaussianNB(), ensemble).fit([[1.0]], ["a"]).predict([[2.0]]) == ["a"]


@pytest.mark.parametrize("name", designs.ENSEMBLES)
def test_a_classifier_accepts_the_name_of_an_ensemble(name):
    X, y = load_iris(return_X_y=True)
    estimator = LogisticRegression(max_iter=500)
    options = {"final_calibration": None, "random_state": 0}
    classifier = pt.PolytomyClassifier(estimator, name, **options).fit(X, y)
    assert isinstance(classifier.scheme_, pt.SchemeEnsemble)
    assert len(classifier.scheme_) == (10 if name.startswith("random") else 3)
    again = designs.ENSEMBLES[name](X, y, random_state=0)
    assert classifier.scheme_ == again
    members = [
        pt.PolytomyClassifier(estimator, scheme, **options).fit(X, y).predict_proba(X)
        for scheme in again.schemes
    ]
    np.testing.assert_allclose(classifier.predict_proba(X), np.mean(members, axis=0), atol=1e-9)


def test_random_pair_trees_share_more_dichotomies_than_random_ones():
    # Two pairs of classes far from each other: every tree tells them apart first, but those whose
    # first two classes come from the same pair.
    X = np.repeat([0.0, 1.0, 100.0, 101.0], 10)[:, np.newaxis]
    y = np.repeat(["a", "b", "c", "d"], 10)
    trees = designs.random_pair_trees(X, y, 12, random_state=0)
    assert (
        trees.n_dichotomies < designs.tree_ensemble(list("abcd"), 12, random_state=0).n_dichotomies
    )


def test_trees_come_from_any_function():
    calls = []

    def make(classes, random_state):
        calls.append(classes)
        return random_tree(classes, random_state=random_state)

    tree_ensemble(["a", "b", "c"], 3, make=make, random_state=0)
    assert calls == [("a", "b", "c")] * 3


def test_trees_are_needed():
    with pytest.raises(ArgumentError, match="n_trees=0 is too few"):
        tree_ensemble(3, 0)


def test_random_trees_are_a_tree_ensemble_over_the_classes_of_the_data():
    found = designs.random_trees([[0.0], [1.0], [2.0]], ["b", "a", "c"], 4, random_state=0)
    assert found == tree_ensemble(["a", "b", "c"], 4, random_state=0)
