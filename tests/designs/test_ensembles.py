import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from polytomy import PolytomyClassifier
from polytomy.designs import one_vs_one, random_tree, tree_ensemble
from polytomy.errors import ArgumentError, SchemeError
from polytomy.scheme import parse
from polytomy.scheme.ensemble import SchemeEnsemble


@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(1, 8))
def test_dichotomies_are_counted_once(seed, n_classes, n_trees):
    ensemble = tree_ensemble(n_classes, n_trees, random_state=seed)
    found = set()
    for tree in ensemble.schemes:
        for row in tree.flatten().code.matrix[:, np.argsort(tree.flatten().classes)]:
            found.add(frozenset([tuple(row.tolist()), tuple((-row).tolist())]))
    assert ensemble.n_dichotomies == len(found)


@pytest.mark.parametrize("solver", ["least-squares", "voting"])
def test_a_classifier_averages_the_members_and_trains_what_they_share_once(solver):
    X, y = load_iris(return_X_y=True)
    ensemble = SchemeEnsemble([parse("m {0 n {1 2}}"), parse("m {n {2 1} 0}"), one_vs_one(3)])
    classifier = PolytomyClassifier(GaussianNB(), ensemble, solver).fit(X, y)
    # 0 / 1 2 and 1 / 2 of the trees, and the two other pairs.
    assert len(classifier.binaries_) == ensemble.n_dichotomies == 4
    alone = [
        PolytomyClassifier(GaussianNB(), scheme, solver).fit(X, y) for scheme in ensemble.schemes
    ]
    score = "decision_function" if solver == "voting" else "predict_proba"
    expected = np.mean([getattr(each, score)(X) for each in alone], axis=0)
    np.testing.assert_allclose(getattr(classifier, score)(X), expected, atol=1e-12)
    assert classifier.decisions(X).shape == (150, 4)
    one = classifier.with_scheme(ensemble.schemes[1])
    np.testing.assert_allclose(one.decisions(X), alone[1].decisions(X), atol=1e-12)


def test_trees_can_be_followed_to_their_winners():
    X, y = load_iris(return_X_y=True)
    ensemble = tree_ensemble(3, 5, random_state=0)
    classifier = PolytomyClassifier(GaussianNB(), ensemble, "greedy").fit(X, y)
    alone = [
        PolytomyClassifier(GaussianNB(), tree, "greedy").fit(X, y) for tree in ensemble.schemes
    ]
    expected = np.mean([each.decision_function(X) for each in alone], axis=0)
    np.testing.assert_allclose(classifier.decision_function(X), expected, atol=1e-12)


def test_one_class_needs_no_binaries():
    ensemble = tree_ensemble(["a"], 3)
    assert ensemble.n_dichotomies == 0
    assert PolytomyClassifier(GaussianNB(), ensemble).fit([[1.0]], ["a"]).predict([[2.0]]) == ["a"]


def test_it_prints_as_the_texts_of_its_schemes():
    one, other = parse("m {a b}"), parse("n {b a}")
    assert str(SchemeEnsemble([one, other])) == "# 1\nm {a b}\n\n# 2\nn {b a}"


def test_it_is_a_value_that_cannot_be_changed():
    ensemble = tree_ensemble(4, 3, random_state=0)
    for other in (copy.deepcopy(ensemble), pickle.loads(pickle.dumps(ensemble))):
        assert other == ensemble
        assert hash(other) == hash(ensemble)
    assert len(ensemble) == 3
    assert ensemble.classes == ensemble.schemes[0].classes
    assert ensemble != tree_ensemble(4, 3, random_state=1)
    assert ensemble != 3
    with pytest.raises(AttributeError, match="an ensemble cannot be changed: schemes"):
        ensemble.schemes = ()
    with pytest.raises(AttributeError, match="an ensemble cannot be changed: schemes"):
        del ensemble.schemes


def test_trees_come_from_any_function():
    calls = []

    def make(classes, random_state):
        calls.append(classes)
        return random_tree(classes, random_state=random_state)

    tree_ensemble(["a", "b", "c"], 3, make=make, random_state=0)
    assert calls == [("a", "b", "c")] * 3


@pytest.mark.parametrize(
    ("schemes", "words"),
    [
        ([], "an ensemble needs a scheme or more"),
        (["tree"], "member 0 of the ensemble is 'tree', not a scheme"),
        ([parse("m {a b}"), parse("m {a c}")], r"member 1 .* has other classes .*: 'b', 'c'"),
    ],
)
def test_what_is_no_ensemble_is_refused(schemes, words):
    with pytest.raises(SchemeError, match=words):
        SchemeEnsemble(schemes)


def test_trees_are_needed():
    with pytest.raises(ArgumentError, match="n_trees=0 is too few"):
        tree_ensemble(3, 0)
