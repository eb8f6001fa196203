"""Ensembles by name: as the scheme of a classifier, and where no single scheme will do."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import polytomy as pt
from polytomy import designs
from polytomy.errors import ArgumentError


@pytest.mark.parametrize("name", designs.ENSEMBLES)
def test_a_classifier_takes_the_name(name):
    X, y = load_iris(return_X_y=True)
    classifier = pt.PolytomyClassifier(LogisticRegression(max_iter=500), name, random_state=0)
    classifier.fit(X, y)
    assert isinstance(classifier.scheme_, pt.SchemeEnsemble)
    assert len(classifier.scheme_) == 10
    again = designs.ENSEMBLES[name](X, y, random_state=0)
    assert classifier.scheme_ == again
    members = [
        pt.PolytomyClassifier(LogisticRegression(max_iter=500), scheme, random_state=0)
        .fit(X, y)
        .predict_proba(X)
        for scheme in again.schemes
    ]
    np.testing.assert_allclose(classifier.predict_proba(X), np.mean(members, axis=0), atol=1e-9)


def test_random_pair_trees_look_at_the_data():
    # Two pairs of classes far from each other: every tree tells them apart first, but those whose
    # first two classes come from the same pair.
    X = np.repeat([0.0, 1.0, 100.0, 101.0], 10)[:, np.newaxis]
    y = np.repeat(["a", "b", "c", "d"], 10)
    trees = designs.random_pair_trees(X, y, 12, random_state=0)
    assert (
        trees.n_dichotomies < designs.tree_ensemble(list("abcd"), 12, random_state=0).n_dichotomies
    )


def test_a_single_scheme_of_an_ensemble_is_refused():
    with pytest.raises(ArgumentError, match="'random-trees' is several schemes"):
        designs.design("random-trees", 4)
    X, y = load_iris(return_X_y=True)
    fitted = pt.PolytomyClassifier(LogisticRegression(max_iter=500), "tree").fit(X, y)
    with pytest.raises(ArgumentError, match="makes a scheme from the data"):
        fitted.with_scheme("random-pair-trees")
