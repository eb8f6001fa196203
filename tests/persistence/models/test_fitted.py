"""Classifiers made from binaries that were trained elsewhere."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from polytomy import PolytomyClassifier, designs
from polytomy.errors import ModelFileError
from polytomy.persistence.models import arrange_in_order, compose_classifier, fitted_classifier

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def original():
    classifier = PolytomyClassifier(LogisticRegression(), final_calibration=None)
    return classifier.fit(X, Y).composition_


def test_the_same_parts_give_the_same_classifier(original):
    classifier = compose_classifier(original.scheme, original.binaries, "least-squares", 4)
    np.testing.assert_array_equal(classifier.predict_proba(X), original.scores(X))
    for own, other in zip(classifier.composition_.dichotomies, original.dichotomies, strict=True):
        assert own[:4] == other[:4]
    assert classifier.n_features_in_ == 4
    assert classifier.final_calibration is None


def test_names_for_other_features_are_refused(original):
    with pytest.raises(ModelFileError, match="2 names for 4 features"):
        fitted_classifier(original, n_features=4, feature_names=["a", "b"])


def test_ties_are_broken_by_the_order_in_the_scheme(original):
    scheme = designs.one_vs_one([2, 0, 1])
    classifier = compose_classifier(scheme, original.binaries, "hamming", 4)
    assert classifier.composition_.tie_order == (2, 0, 1)
    assert classifier.classes_.tolist() == [0, 1, 2]
    arrangement = arrange_in_order(scheme, classifier.classes_)
    assert arrangement.columns.tolist() == [0, 1, 2]
    assert arrangement.positions.tolist() == [1, 2, 0]


def test_labels_are_text_if_some_are(original):
    scheme = designs.one_vs_one(["a", 10, 9])
    classifier = compose_classifier(scheme, original.binaries, "least-squares", 4)
    assert classifier.classes_.tolist() == ["10", "9", "a"]
