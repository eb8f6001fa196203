"""Classifiers made from binaries that were trained elsewhere."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from polytomy import PolytomyClassifier, designs
from polytomy.errors import ModelFileError
from polytomy.persistence.fitted import (
    arrange_in_order,
    compose_trained,
    fitted_classifier,
    order_in_scheme,
)

X, Y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def original():
    classifier = PolytomyClassifier(LogisticRegression(), final_calibration=None)
    return classifier.fit(X, Y).composition_


def test_the_same_parts_give_the_same_classifier(original):
    again = compose_trained(
        original.binaries,
        original.dichotomies,
        original.classes,
        original.scheme,
        "least-squares",
    )
    classifier = fitted_classifier(again, n_features=4)
    np.testing.assert_array_equal(classifier.predict_proba(X), original.scores(X))
    assert classifier.n_features_in_ == 4
    assert classifier.final_calibration is None


def test_parts_that_do_not_fit_are_a_damaged_file(original):
    with pytest.raises(ModelFileError, match="dichotom"):
        compose_trained(
            original.binaries[:2],
            original.dichotomies,
            original.classes,
            original.scheme,
            "least-squares",
        )
    with pytest.raises(ModelFileError, match="2 names for 4 features"):
        fitted_classifier(original, n_features=4, feature_names=["a", "b"])


def test_the_order_in_the_scheme_is_that_of_its_classes():
    arrangement = arrange_in_order(designs.one_vs_one([2, 0, 1]), np.array([0, 1, 2]))
    assert order_in_scheme(arrangement) == [2, 0, 1]
    assert arrangement.columns.tolist() == [0, 1, 2]
